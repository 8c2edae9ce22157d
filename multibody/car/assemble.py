"""From a vehicle to a mechanism: 67 coordinates, 53 constraints, 14 degrees of freedom, whatever the suspension.

Only the chassis, the rack and the four knuckles have coordinates: a point and three vectors (the rack shares those of
the chassis). Hard points are stations, arms are laminae on three of them, links bars on two.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hodograph.core.frames import Array
from hodograph.core.kinds import unknown_kind
from hodograph.multibody.model.mechanism import (
    Bar,
    Body,
    ConstantDistance,
    Constraint,
    DotProduct,
    Force,
    Lamina,
    Mechanism,
    Point,
    RigidBody,
    Station,
    Vector,
    Wheel,
)
from hodograph.vehicles.car import CORNERS, AntiRollBar, Corner, Damper, Spring, Vehicle
from hodograph.vehicles.checks import Vec3
from hodograph.vehicles.suspension import Arm as ArmData
from hodograph.vehicles.suspension import DoubleWishbone, MacPherson, Rod, arm_axes

CHASSIS_AXES = ("ex", "ey", "ez")


@dataclass(slots=True)
class Parts:
    """A mechanism in the making; positions are shifted up by `lift_m`, so that the road lies at z = 0."""

    lift_m: float
    points: dict[str, Point] = field(default_factory=dict)
    vectors: dict[str, Vector] = field(default_factory=dict)
    stations: dict[str, Station] = field(default_factory=dict)
    bodies: dict[str, Body] = field(default_factory=dict)
    constraints: dict[str, Constraint] = field(default_factory=dict)
    forces: dict[str, Force] = field(default_factory=dict)

    def lifted(self, position_m: Vec3 | Array) -> Vec3:
        """A position in the axes of the mechanism."""
        return (float(position_m[0]), float(position_m[1]), float(position_m[2]) + self.lift_m)

    def station(self, name: str, body: str, position_m: Vec3 | Array) -> str:
        """Put a station on a body; returns its name."""
        self.stations[name] = Station(body, self.lifted(position_m))
        return name


def axes_names(corner: str) -> tuple[str, str, str]:
    """Names of a knuckle's vectors; the second is the spin axis, pointing left."""
    return (f"{corner}_ex", f"{corner}_ey", f"{corner}_ez")


def knuckle_axes(corner: Corner) -> Array:
    """Axes of a knuckle in columns (3, 3): Rz(toe) Rx(camber), so that the second is the spin axis of the wheel."""
    cz, sz, cx, sx = (f(a) for a in (corner.toe_rad, corner.camber_rad) for f in (np.cos, np.sin))
    about_z = np.array([[cz, -sz, 0.0], [sz, cz, 0.0], [0.0, 0.0, 1.0]])
    about_x = np.array([[1.0, 0.0, 0.0], [0.0, cx, -sx], [0.0, sx, cx]])
    return np.asarray(about_z @ about_x, dtype=np.float64)


def add_chassis(parts: Parts, vehicle: Vehicle, *, fixed: bool = False) -> None:
    """The body: point O and vectors ex, ey, ez; `fixed` holds it to the ground."""
    parts.points["O"] = Point(parts.lifted((0.0, 0.0, 0.0)), fixed)
    for k, name in enumerate(CHASSIS_AXES):
        parts.vectors[name] = Vector(tuple(float(i == k) for i in range(3)), fixed)
    c = vehicle.body
    parts.bodies["chassis"] = RigidBody(
        ("O",), c.mass_kg, parts.lifted(c.cg_m), c.inertia_kgm2, CHASSIS_AXES, c.products_kgm2
    )


def add_rack(parts: Parts, vehicle: Vehicle) -> None:
    """The rack: point RL (inner joint of the left tie rod), slides along the body's y by the input `rack_m`."""
    left = vehicle.corner("fl").axle.suspension.link_inner_m
    right = vehicle.corner("fr").axle.suspension.link_inner_m
    s = vehicle.steering
    middle = (np.array(left) + np.array(right)) / 2.0 if s.cg_m is None else s.cg_m
    parts.points["RL"] = Point(parts.lifted(left))
    parts.bodies["rack"] = RigidBody(("RL",), s.mass_kg, parts.lifted(middle), s.inertia_kgm2, CHASSIS_AXES)
    parts.station("RR", "rack", right)
    for axis in "xz":
        parts.constraints[f"rack_{axis}"] = DotProduct("O>RL", f"e{axis}")
    parts.constraints["rack"] = DotProduct("O>RL", "ey", input="rack_m")


def add_corner(parts: Parts, corner: Corner) -> None:
    """Knuckle, wheel, arms and link of one corner, and what holds them together."""
    name, axle = corner.name, corner.axle
    axes = knuckle_axes(corner)
    parts.points[f"{name}_W"] = Point(parts.lifted(axle.wheel_centre_m))
    for k, vector in enumerate(axes_names(name)):
        parts.vectors[vector] = Vector(tuple(map(float, axes[:, k])))
    suspension = axle.suspension
    knuckle = suspension.knuckle
    cg = np.array(axle.wheel_centre_m) + np.array(knuckle.cg_m)
    parts.bodies[f"{name}_knuckle"] = RigidBody(
        (f"{name}_W",), knuckle.mass_kg, parts.lifted(cg), knuckle.inertia_kgm2, axes_names(name), knuckle.products_kgm2
    )
    x, y, z = axes_names(name)
    w = axle.wheel
    parts.bodies[f"{name}_wheel"] = Wheel(
        f"{name}_W", y, z, x, f"{name}_spin", w.mass_kg, corner.sign * w.offset_m, w.spin_inertia_kgm2,
        w.transverse_inertia_kgm2,
    )  # fmt: skip
    _add_arm(parts, name, "lower", suspension.lower_arm, suspension.lower_front_m, suspension.lower_rear_m,
             suspension.lower_ball_m)  # fmt: skip
    if isinstance(suspension, DoubleWishbone):
        _add_arm(parts, name, "upper", suspension.upper_arm, suspension.upper_front_m, suspension.upper_rear_m,
                 suspension.upper_ball_m)  # fmt: skip
    elif isinstance(suspension, MacPherson):
        _add_strut(parts, name, suspension)
    else:
        raise unknown_kind(f"suspension of {name}", suspension, DoubleWishbone | MacPherson)
    _add_link(parts, name, suspension.link, suspension.link_inner_m, suspension.link_outer_m)


def _add_arm(parts: Parts, corner: str, which: str, arm: ArmData, front_m: Vec3, rear_m: Vec3, ball_m: Vec3) -> None:
    """The arm keeps the lengths of its two legs itself; a lamina's x runs from the first place to the second: back."""
    front = parts.station(f"{corner}_{which}_front", "chassis", front_m)
    rear = parts.station(f"{corner}_{which}_rear", "chassis", rear_m)
    ball = parts.station(f"{corner}_{which}_ball", f"{corner}_knuckle", ball_m)
    x, y = arm.cg_m
    parts.bodies[f"{corner}_{which}_arm"] = Lamina(
        (front, rear, ball), arm.mass_kg, (-x, y), arm.inertia_kgm2, -arm.product_kgm2
    )


def _add_strut(parts: Parts, corner: str, suspension: MacPherson) -> None:
    """The mount stays on the strut's axis: two scalar products with directions of the knuckle across it vanish."""
    bottom, top = np.array(suspension.strut_bottom_m), np.array(suspension.strut_top_m)
    along = (top - bottom) / np.linalg.norm(top - bottom)
    across = np.array([1.0, 0.0, 0.0]) - along[0] * along
    across /= np.linalg.norm(across)
    start = parts.station(f"{corner}_strut_bottom", f"{corner}_knuckle", bottom)
    mount = parts.station(f"{corner}_strut_top", "chassis", top)
    for k, direction in enumerate((across, np.cross(along, across))):
        tip = parts.station(f"{corner}_strut_side_{k + 1}", f"{corner}_knuckle", bottom + direction)
        parts.constraints[f"{corner}_strut_{k + 1}"] = DotProduct(f"{start}>{mount}", f"{start}>{tip}", value=0.0)


def _add_link(parts: Parts, corner: str, rod: Rod | None, inner_m: Vec3, outer_m: Vec3) -> None:
    outer = parts.station(f"{corner}_link_outer", f"{corner}_knuckle", outer_m)
    if corner[0] == "f":
        inner = "RL" if corner == "fl" else "RR"
    else:
        inner = parts.station(f"{corner}_link_inner", "chassis", inner_m)
    if rod is None:
        parts.constraints[f"{corner}_link"] = ConstantDistance((inner, outer))
    else:
        parts.bodies[f"{corner}_tie_rod"] = Bar((inner, outer), rod.mass_kg)


def seat_in_plane_m(corner: Corner, on: str, position_m: Vec3) -> Array:
    """Where a seat comes to lie: on a flat arm in its plane, on a knuckle where it was given."""
    at = np.array(position_m)
    if on == "knuckle":
        return at
    s, which = corner.axle.suspension, on.removesuffix("_arm")
    front, rear, ball = (getattr(s, f"{which}_{end}_m") for end in ("front", "rear", "ball"))
    normal = arm_axes(front, rear, ball)[:, 2]
    return np.asarray(at - ((at - np.array(front)) @ normal) * normal, dtype=np.float64)


def line_ends(parts: Parts, corner: Corner, name: str, part: Spring | Damper | AntiRollBar) -> tuple[str, str]:
    """Stations at both ends of a spring, damper or bar link: its own, or those of the spring."""
    ends = (f"{corner.name}_{name}_lower", f"{corner.name}_{name}_upper")
    if part.on is None or part.lower_m is None or part.upper_m is None:
        return line_ends(parts, corner, "spring", corner.axle.spring)
    parts.station(ends[0], f"{corner.name}_{part.on}", seat_in_plane_m(corner, part.on, part.lower_m))
    parts.station(ends[1], "chassis", part.upper_m)
    return ends


def frame_parts(vehicle: Vehicle) -> Parts:
    """The car without any force but its weight."""
    parts = Parts(vehicle.body.origin_height_m)
    add_chassis(parts, vehicle)
    add_rack(parts, vehicle)
    for name in CORNERS:
        add_corner(parts, vehicle.corner(name))
        line_ends(parts, vehicle.corner(name), "spring", vehicle.corner(name).axle.spring)
    return parts


def finished(parts: Parts, vehicle: Vehicle, name: str, degrees_of_freedom: int | None = None) -> Mechanism:
    """The mechanism of these parts."""
    return Mechanism(
        schema=1,
        name=name,
        space="spatial",
        gravity_mps2=(0.0, 0.0, -vehicle.gravity_mps2),
        points=parts.points,
        bodies=parts.bodies,
        vectors=parts.vectors,
        stations=parts.stations,
        constraints=parts.constraints,
        forces=parts.forces,
        degrees_of_freedom=degrees_of_freedom,
    )
