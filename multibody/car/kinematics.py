"""What a suspension does with its wheel: pose over bump and rack travel of one corner on a chassis that stands still.

Newton on the constraints of the corner's own model; bump is the height of the point of the knuckle that touches the
road in the design position. Magri 2024, ch. 2, does it as for a Stewart-Gough platform.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos

import numpy as np

from hodograph.core.display import cut, short_repr
from hodograph.core.errors import MechanismError
from hodograph.core.frames import Array
from hodograph.multibody.car.assemble import (
    Parts,
    add_chassis,
    add_corner,
    add_rack,
    axes_names,
    finished,
    line_ends,
)
from hodograph.multibody.model.algebra import place_at
from hodograph.multibody.model.build import Model, build
from hodograph.multibody.model.constraint_kernels import evaluate, set_guides
from hodograph.vehicles.car import Corner, Vehicle

TOLERANCE_M = 1e-12
LARGEST_STEP_M = 0.01
LARGEST_JUMP = 0.15
"""A coordinate that moves by more within such a step has jumped to another way of closing the suspension."""


@dataclass(frozen=True, slots=True)
class WheelPose:
    """Where the wheel of a corner is, in the body axes; angles of the wheel's axis.

    `toe_rad` is positive for toe-in and `camber_rad` negative when the top leans inwards, on both sides.
    """

    bump_m: float
    rack_m: float
    centre_m: Array  # (3,)
    contact_m: Array  # (3,) lowest point of the wheel
    axes: Array  # (3, 3) of the knuckle, in columns
    turned: Array  # (3, 3) rotation since the design position
    toe_rad: float
    camber_rad: float
    steer_rad: float  # of the wheel to the left, toe included
    kingpin_m: Array  # (2, 3) lower and upper point of the steering axis
    spring_m: float  # length
    damper_m: float
    bar_m: float  # of the link of the anti-roll bar, or of the spring it acts along

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class SteeringAxis:
    """Angles of the steering axis, and where it meets the road relative to the contact point."""

    caster_rad: float  # positive: its top leans back
    kingpin_rad: float  # positive: its top leans in
    scrub_radius_m: float  # positive: it meets the road inboard of the contact
    trail_m: float  # positive: it meets the road ahead of the contact

    __repr__ = short_repr


def corner_model(vehicle: Vehicle, name: str) -> Model:
    """The model of one corner on a fixed chassis (with the rack at the front): spin and bump are free."""
    parts = Parts(vehicle.body.origin_height_m)
    add_chassis(parts, vehicle, fixed=True)
    if name[0] == "f":
        add_rack(parts, vehicle)
    corner = vehicle.corner(name)
    add_corner(parts, corner)
    line_ends(parts, corner, "spring", corner.axle.spring)
    line_ends(parts, corner, "damper", corner.axle.damper)
    if corner.axle.anti_roll_bar is not None:
        line_ends(parts, corner, "bar", corner.axle.anti_roll_bar)
    return build(finished(parts, vehicle, f"{vehicle.name} {name}", degrees_of_freedom=2))


@dataclass(slots=True)
class CornerKinematics:
    """Solves the pose of one corner; remembers its model. Poses far away are reached in steps of 10 mm."""

    vehicle: Vehicle
    corner: Corner
    model: Model
    _start: Array
    _ground: Array

    def __repr__(self) -> str:
        return f"CornerKinematics({self.corner.name} of {cut(self.vehicle.name)})"

    @staticmethod
    def of(vehicle: Vehicle, name: str) -> CornerKinematics:
        """For the corner fl, fr, rl or rr of a vehicle."""
        model = corner_model(vehicle, name)
        corner = vehicle.corner(name)
        kin = CornerKinematics(vehicle, corner, model, model.start_q, np.zeros(3))
        arm = np.array([0.0, 0.0, -kin.height_m])
        kin._ground = np.asarray(kin.axes(model.start_q).T @ arm, dtype=np.float64)
        return kin

    @property
    def height_m(self) -> float:
        """Height of the wheel centre above the road in the design position."""
        return self.vehicle.body.origin_height_m + self.corner.axle.wheel_centre_m[2]

    def axes(self, q: Array) -> Array:
        """Axes of the knuckle in columns (3, 3)."""
        first = [self.model.index(f"{v}.x") for v in axes_names(self.corner.name)]
        return np.column_stack([q[i : i + 3] for i in first])

    def pose(self, bump_m: float, rack_m: float = 0.0) -> WheelPose:
        """The pose at a bump and rack travel; `MechanismError` when the suspension cannot get there."""
        steps = max(1, int(np.ceil(max(abs(bump_m), abs(rack_m)) / LARGEST_STEP_M)))
        q = self._start
        for k in range(1, steps + 1):
            q = self._newton(q, bump_m * k / steps, rack_m * k / steps)
        return self._pose(q, bump_m, rack_m)

    def sweep(self, bumps_m: Sequence[float] | Array, rack_m: float = 0.0) -> list[WheelPose]:
        """Poses at several bumps, each found from the one before."""
        return self._along([(float(b), rack_m) for b in bumps_m])

    def steer(self, racks_m: Sequence[float] | Array, bump_m: float = 0.0) -> list[WheelPose]:
        """Poses at several rack travels, each found from the one before."""
        return self._along([(bump_m, float(r)) for r in racks_m])

    def steering_axis(self, pose: WheelPose) -> SteeringAxis:
        """Caster, kingpin inclination, scrub radius and trail at a pose."""
        low, high = pose.kingpin_m
        up = (high - low) / (high[2] - low[2])
        meets = low + (pose.contact_m[2] - low[2]) * up - pose.contact_m
        side = self.corner.sign
        return SteeringAxis(
            float(np.arctan(-up[0])), float(np.arctan(-side * up[1])), float(-side * meets[1]), float(meets[0])
        )

    def _along(self, targets: list[tuple[float, float]]) -> list[WheelPose]:
        poses = []
        bump, rack, q = 0.0, 0.0, self._start
        for next_bump, next_rack in targets:
            steps = max(1, int(np.ceil(max(abs(next_bump - bump), abs(next_rack - rack)) / LARGEST_STEP_M)))
            for k in range(1, steps + 1):
                share = k / steps
                q = self._newton(q, bump + share * (next_bump - bump), rack + share * (next_rack - rack))
            bump, rack = next_bump, next_rack
            poses.append(self._pose(q, bump, rack))
        return poses

    def _newton(self, q: Array, bump_m: float, rack_m: float) -> Array:
        """All constraints, the height of the road point and the spin at zero: a square system."""
        rows, n = self.model.tables.rows, self.model.n
        inputs = np.zeros((1 + len(self.model.inputs), 3))
        if "rack_m" in self.model.inputs:
            inputs[self.model.input_index("rack_m"), 0] = rack_m
        guide, branch = np.zeros((len(rows.guide), 3)), np.ones(0, dtype=np.uint32)
        set_guides(rows, 0.0, inputs, guide)
        jac, phi = np.zeros(len(rows.col)), np.zeros(n)
        dense = np.zeros((n, n))
        row_of = np.repeat(np.arange(len(rows.const)), np.diff(rows.start))
        height = [self.model.index(f"{p}.z") for p in (f"{self.corner.name}_W", *axes_names(self.corner.name))]
        weights = np.array([1.0, *self._ground])
        dense[n - 2, height] = weights
        dense[n - 1, self.model.index(f"{self.corner.name}_spin")] = 1.0
        before, q = q, q.copy()
        for _ in range(30):
            evaluate(rows, q, branch, guide, jac, phi[: n - 2])
            dense[row_of, rows.col] = jac
            phi[n - 2] = weights @ q[height] - bump_m - self._design_ground_z
            phi[n - 1] = q[self.model.index(f"{self.corner.name}_spin")]
            try:
                step = np.linalg.solve(dense, phi)
            except np.linalg.LinAlgError:
                break
            q -= step
            if np.abs(q - before).max() > LARGEST_JUMP:
                break
            if np.abs(step).max() < TOLERANCE_M:
                return q
        raise MechanismError(
            f"{self.model.mechanism.name}: no position at {1e3 * bump_m:.1f} mm bump, {1e3 * rack_m:.1f} mm rack"
        )

    @property
    def _design_ground_z(self) -> float:
        return float(self._start[self.model.index(f"{self.corner.name}_W.z")]) - self.height_m

    def _pose(self, q: Array, bump_m: float, rack_m: float) -> WheelPose:
        name, side = self.corner.name, self.corner.sign
        lift = np.array([0.0, 0.0, self.vehicle.body.origin_height_m])
        axes = self.axes(q)
        axis = axes[:, 1]
        forward = np.cross(axis, np.array([0.0, 0.0, 1.0]))
        up = np.cross(forward / np.linalg.norm(forward), axis)
        centre = self._at(f"{name}_W", q) - lift
        heading = float(np.arctan2(-axis[0], axis[1]))
        kind = self.corner.axle.suspension.kind
        top = f"{name}_upper_ball" if kind == "double_wishbone" else f"{name}_strut_top"
        return WheelPose(
            bump_m, rack_m, centre, centre - self.height_m / cos(self.corner.camber_rad) * up, axes,
            axes @ self.axes(self._start).T,
            -side * heading, float(-side * np.arcsin(axis[2])), heading,
            np.array([self._at(f"{name}_lower_ball", q) - lift, self._at(top, q) - lift]),
            self._length(f"{name}_spring", q), self._length(f"{name}_damper", q), self._length(f"{name}_bar", q),
        )  # fmt: skip

    def _at(self, place: str, q: Array) -> Array:
        return place_at(self.model.coordinates.place(place, "kinematics"), q)

    def _length(self, line: str, q: Array) -> float:
        """Of a line, or of the spring when the line has no ends of its own."""
        if f"{line}_lower" not in self.model.mechanism.stations:
            line = f"{self.corner.name}_spring"
        return float(np.linalg.norm(self._at(f"{line}_upper", q) - self._at(f"{line}_lower", q)))


def cardan_xzy_rad(turned: Array) -> tuple[float, float, float]:
    """Angles (thx, thy, thz) of a rotation Rx(thx) Rz(thz) Ry(thy) (Magri 2024, 3.50)."""
    thz = np.arcsin(-turned[0, 1])
    return float(np.arctan2(turned[2, 1], turned[1, 1])), float(np.arctan2(turned[0, 2], turned[0, 0])), float(thz)


def roll_centre_height_m(ahead: WheelPose, back: WheelPose, at: WheelPose) -> float:
    """Height of the roll centre over the contact points, from poses at slightly more and less bump."""
    d = ahead.contact_m - back.contact_m
    return float(at.contact_m[1] * d[1] / d[2])
