"""The car again, in exudyn: rigid bodies with Euler parameters, joints between them, laws of force written anew.

Built from what the vehicle file says (masses, inertias, hard points, curves), not from our mechanism: every arm, link,
knuckle and wheel is a rigid body about its own centre of gravity; arms hang on hinges, knuckles on ball joints, struts
slide in a joint that holds two translations. Only the preload of the springs comes from our statics. The road has no
friction, as under the floating pans of a shaker rig.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.interpolate import PchipInterpolator

from hodograph.core.frames import Array
from hodograph.vehicles.car import CORNERS, Corner, Vehicle
from hodograph.vehicles.suspension import Arm, DoubleWishbone, Rod

KNEE_M = 0.002


def _unit(x: Array) -> Array:
    return x / np.linalg.norm(x)


def _law(points: Any) -> Callable[[float], float]:
    """A curve through its points without overshoot, straight beyond its ends."""
    x, y = np.array(points).T
    smooth = PchipInterpolator(x, y)
    ends = [(x[k], y[k], float(smooth.derivative()(x[k]))) for k in (0, -1)]

    def law(at: float) -> float:
        for (x0, y0, slope), beyond in zip(ends, (at < x[0], at > x[-1]), strict=True):
            if beyond:
                return y0 + slope * (at - x0)
        return float(smooth(at))

    return law


def _stops(corner: Corner, design_m: float) -> Callable[[float], float]:
    """Force of both stops over the elongation of the damper from its design length."""
    knots = [(0.0, 0.0)]
    for stop, way in ((corner.axle.bump_stop, -1.0), (corner.axle.rebound_stop, 1.0)):
        assert stop is not None
        knots.append((way * (stop.clearance_m - KNEE_M), 0.0))
        knots += [(way * (stop.clearance_m + x), way * f) for x, f in stop.curve]
    law = _law(sorted(knots))
    return lambda length_m: law(length_m - design_m)


@dataclass(slots=True)
class ExudynCar:
    """Corners of a vehicle on a chassis that is free or held; `lift_m` above the design height."""

    vehicle: Vehicle
    preload_n: dict[str, float]
    corners: tuple[str, ...] = CORNERS
    lift_m: float = 0.0
    exu: Any = field(init=False)
    mbs: Any = field(init=False)
    bodies: dict[str, Any] = field(init=False, default_factory=dict)
    centres: dict[str, Array] = field(init=False, default_factory=dict)
    springs: dict[str, Any] = field(init=False, default_factory=dict)
    sensors: dict[str, Any] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        import exudyn

        self.exu = exudyn
        self.mbs = exudyn.SystemContainer().AddSystem()
        free = self.corners == CORNERS
        chassis = self.vehicle.body
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            if free:
                self._body("chassis", chassis.mass_kg, chassis.cg_m, chassis.inertia_kgm2, chassis.products_kgm2)
            else:
                self.bodies["chassis"] = self.mbs.CreateGround()
                self.centres["chassis"] = np.array([0.0, 0.0, -self._height_m])
            self._rack()
            for name in self.corners:
                self._corner(self.vehicle.corner(name))
            if free:
                self._bars()
                for name, at in (("front", (2.4, 0.0, 0.0)), ("rear", (0.0, 0.0, 0.0)), ("left", (0.0, 1.0, 0.0))):
                    self._watch(name, "chassis", at)
            self.mbs.Assemble()

    @property
    def _height_m(self) -> float:
        """Of the body origin above the road at the start."""
        return self.vehicle.body.origin_height_m + self.lift_m

    def _at(self, point_m: Any) -> Array:
        """A point of the vehicle file in exudyn's ground axes."""
        return np.array(point_m, dtype=np.float64) + np.array([0.0, 0.0, self._height_m])

    def _local(self, body: str, point_m: Any) -> Array:
        return np.asarray(np.array(point_m, dtype=np.float64) - self.centres[body])

    def _body(
        self, name: str, mass_kg: float, cg_m: Any, moments: Any, products: Any = (0.0, 0.0, 0.0), axes: Any = None
    ) -> None:
        """A rigid body; moments and products are along `axes` (columns), products are ∫ xy dm and so on."""
        from exudyn.rigidBodyUtilities import RigidBodyInertia

        xy, xz, yz = products
        tensor = np.diag(moments) - np.array([[0.0, xy, xz], [xy, 0.0, yz], [xz, yz, 0.0]])
        turn = np.eye(3) if axes is None else axes
        self.centres[name] = np.array(cg_m, dtype=np.float64)
        self.bodies[name] = self.mbs.CreateRigidBody(
            referencePosition=list(self._at(cg_m)),
            inertia=RigidBodyInertia(mass=mass_kg, com=[0.0, 0.0, 0.0], inertiaTensor=turn @ tensor @ turn.T),
            gravity=[0.0, 0.0, -self.vehicle.gravity_mps2],
        )

    def _ball(self, a: str, b: str, at: Any) -> None:
        self.mbs.CreateSphericalJoint(itemNumbers=[self.bodies[a], self.bodies[b]], position=list(self._at(at)))

    def _hinge(self, a: str, b: str, at: Any, axis: Array) -> None:
        self.mbs.CreateRevoluteJoint(
            itemNumbers=[self.bodies[a], self.bodies[b]], position=list(self._at(at)), axis=list(axis)
        )

    def _watch(self, name: str, body: str, at: Any) -> None:
        from exudyn.itemInterface import SensorBody

        self.sensors[name] = self.mbs.AddSensor(
            SensorBody(
                bodyNumber=self.bodies[body], storeInternal=True, localPosition=list(self._local(body, at)),
                outputVariableType=self.exu.OutputVariableType.Position,
            )
        )  # fmt: skip

    def _rack(self) -> None:
        """The rack stands still in the chassis."""
        s = self.vehicle.steering
        middle = np.array(self.vehicle.corner("fl").axle.suspension.link_inner_m) * np.array([1.0, 0.0, 1.0])
        self._body("rack", s.mass_kg, middle, s.inertia_kgm2)
        self.mbs.CreateGenericJoint(
            itemNumbers=[self.bodies["chassis"], self.bodies["rack"]], position=list(self._at(middle))
        )

    def _arm(self, corner: Corner, which: str, arm: Arm) -> None:
        s, name = corner.axle.suspension, f"{corner.name}_{which}_arm"
        front, rear, ball = (np.array(getattr(s, f"{which}_{end}_m")) for end in ("front", "rear", "ball"))
        along = _unit(front - rear)
        out = _unit(ball - front - ((ball - front) @ along) * along)
        axes = np.column_stack([along, out, np.cross(along, out)])
        cg = front + arm.cg_m[0] * along + arm.cg_m[1] * out
        self._body(name, arm.mass_kg, cg, arm.inertia_kgm2, (arm.product_kgm2, 0.0, 0.0), axes)
        self._hinge("chassis", name, front, along)
        self._ball(name, f"{corner.name}_knuckle", ball)

    def _rod(self, corner: Corner, rod: Rod) -> None:
        s, name = corner.axle.suspension, f"{corner.name}_rod"
        inner, outer = np.array(s.link_inner_m), np.array(s.link_outer_m)
        along = _unit(outer - inner)
        across = _unit(np.cross(along, [0.0, 0.0, 1.0]))
        moment = rod.mass_kg * float((outer - inner) @ (outer - inner)) / 12.0
        axes = np.column_stack([along, across, np.cross(along, across)])
        self._body(name, rod.mass_kg, (inner + outer) / 2.0, (1e-3 * moment, moment, moment), axes=axes)
        self._ball("rack", name, inner)
        self._ball(name, f"{corner.name}_knuckle", outer)

    def _corner(self, corner: Corner) -> None:
        name, axle, s = corner.name, corner.axle, corner.axle.suspension
        knuckle, centre = f"{name}_knuckle", np.array(axle.wheel_centre_m)
        k, w = s.knuckle, axle.wheel
        self._body(knuckle, k.mass_kg, centre + np.array(k.cg_m), k.inertia_kgm2, k.products_kgm2)
        cz, sz = np.cos(corner.toe_rad), np.sin(corner.toe_rad)
        cx, sx = np.cos(corner.camber_rad), np.sin(corner.camber_rad)
        spin = np.array([-sz * cx, cz * cx, sx])
        ahead = _unit(np.cross(spin, [0.0, 0.0, 1.0]))
        axes = np.column_stack([ahead, spin, np.cross(ahead, spin)])
        across = w.transverse_inertia_kgm2
        self._body(
            f"{name}_wheel", w.mass_kg, centre + corner.sign * w.offset_m * spin, (across, w.spin_inertia_kgm2, across),
            axes=axes,
        )  # fmt: skip
        self._hinge(knuckle, f"{name}_wheel", centre, spin)
        self._arm(corner, "lower", s.lower_arm)
        if isinstance(s, DoubleWishbone):
            self._arm(corner, "upper", s.upper_arm)
        else:
            top = np.array(s.strut_top_m)
            along = _unit(top - np.array(s.strut_bottom_m))
            side = _unit(np.cross([0.0, 1.0, 0.0], along))
            self.mbs.CreateGenericJoint(
                itemNumbers=[self.bodies[knuckle], self.bodies["chassis"]], position=list(self._at(top)),
                rotationMatrixAxes=np.column_stack([side, np.cross(along, side), along]),
                constrainedAxes=[1, 1, 0, 0, 0, 0],
            )  # fmt: skip
        if s.link is not None:
            self._rod(corner, s.link)
        else:
            self.mbs.CreateDistanceConstraint(
                itemNumbers=[self.bodies["chassis"], self.bodies[knuckle]],
                localPosition0=list(self._local("chassis", s.link_inner_m)),
                localPosition1=list(self._local(knuckle, s.link_outer_m)),
            )
        self._spring(corner)
        self._tyre(corner, spin)
        self._watch(name, knuckle, centre)

    def _seats(self, corner: Corner) -> tuple[str, Array, Array]:
        """Body and place of the lower seat, place of the upper one; a seat on an arm lies in the arm's plane."""
        spring, s = corner.axle.spring, corner.axle.suspension
        lower = np.array(spring.lower_m)
        if spring.on != "knuckle":
            which = spring.on.removesuffix("_arm")
            front, rear, ball = (np.array(getattr(s, f"{which}_{end}_m")) for end in ("front", "rear", "ball"))
            normal = _unit(np.cross(front - rear, ball - rear))
            lower = lower - ((lower - front) @ normal) * normal
        return f"{corner.name}_{spring.on}", lower, np.array(spring.upper_m)

    def _spring(self, corner: Corner) -> None:
        """Spring, stops and damper on one line, as one law."""
        body, lower, upper = self._seats(corner)
        design_m = float(np.linalg.norm(upper - lower))
        stops, damper = _stops(corner, design_m), _law(corner.axle.damper.curve)
        rate, preload = corner.axle.spring.rate_npm, self.preload_n[corner.name]

        def pull(mbs: Any, t: float, item: int, stretch_m: float, speed: float, k: float, d: float, f: float) -> float:
            return rate * stretch_m - preload + stops(design_m + stretch_m) + damper(speed)

        self.springs[corner.name] = self.mbs.CreateSpringDamper(
            itemNumbers=[self.bodies[body], self.bodies["chassis"]],
            localPosition0=list(self._local(body, lower)), localPosition1=list(self._local("chassis", upper)),
            referenceLength=design_m, stiffness=rate, damping=1.0, springForceUserFunction=pull,
        )  # fmt: skip

    def _bars(self) -> None:
        """Anti-roll bars: more length on one side pulls there and lets go on the other."""
        for axle, sides in ((self.vehicle.front, ("fl", "fr")), (self.vehicle.rear, ("rl", "rr"))):
            assert axle.anti_roll_bar is not None
            rate = axle.anti_roll_bar.rate_npm
            for own, other in (sides, sides[::-1]):
                body, lower, upper = self._seats(self.vehicle.corner(own))
                other_design_m = float(np.linalg.norm(np.subtract(*self._seats(self.vehicle.corner(other))[1:])))

                def pull(
                    mbs: Any, t: float, item: int, stretch_m: float, speed: float, k: float, d: float, f: float,
                    other: str = other, other_design_m: float = other_design_m, rate: float = rate,
                ) -> float:  # fmt: skip
                    length = mbs.GetObjectOutput(self.springs[other], self.exu.OutputVariableType.Distance)
                    return rate * (stretch_m - (float(length) - other_design_m))

                self.mbs.CreateSpringDamper(
                    itemNumbers=[self.bodies[body], self.bodies["chassis"]],
                    localPosition0=list(self._local(body, lower)), localPosition1=list(self._local("chassis", upper)),
                    stiffness=rate, springForceUserFunction=pull,
                )  # fmt: skip

    def _tyre(self, corner: Corner, spin: Array) -> None:
        """Spring and damper along the normal of a road without friction, where the disc is nearest to it."""
        tyre, knuckle = corner.axle.tyre, f"{corner.name}_knuckle"
        radius, rate, damping = tyre.radius_m, tyre.stiffness_npm, tyre.damping_nspm

        def push(mbs: Any, t: float, item: int, d: Any, turn: Any, v: Any, omega: Any, *_: Any) -> list[float]:
            (ca, cb, cc), (sa, sb, sc) = np.cos(turn), np.sin(turn)
            about_x = np.array([[1.0, 0.0, 0.0], [0.0, ca, -sa], [0.0, sa, ca]])
            about_y = np.array([[cb, 0.0, sb], [0.0, 1.0, 0.0], [-sb, 0.0, cb]])
            about_z = np.array([[cc, -sc, 0.0], [sc, cc, 0.0], [0.0, 0.0, 1.0]])
            axis = about_x @ about_y @ about_z @ spin
            up = np.array([0.0, 0.0, 1.0]) - axis[2] * axis
            up /= np.linalg.norm(up)
            r = d[2] / up[2]
            depth = radius - r
            arm = -r * up
            sinking = -(v[2] + np.cross(omega, arm)[2]) / up[2]
            fading = damping * min(1.0, depth / 2e-3)  # comes in over 2 mm, as ours
            load = max(0.0, rate * depth + fading * sinking) if depth > 0.0 else 0.0
            torque = np.cross(arm, [0.0, 0.0, load])
            return [0.0, 0.0, -load, -torque[0], -torque[1], -torque[2]]  # what pulls the two ends together

        ground = self.mbs.CreateGround()
        self.mbs.CreateRigidBodySpringDamper(
            itemNumbers=[ground, self.bodies[knuckle]], localPosition0=[0.0, 0.0, 0.0],
            localPosition1=list(self._local(knuckle, corner.axle.wheel_centre_m)), useIntrinsicFormulation=False,
            springForceTorqueUserFunction=push,
        )  # fmt: skip

    def run(self, h_s: float, steps: int, every: int = 1) -> dict[str, Array]:
        """Positions (k, 3) of what is watched (wheel centres; front, rear and left of the chassis) over time."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # exudyn renames its settings and keeps the old names
            settings = self.exu.SimulationSettings()
            time = settings.timeIntegration
            time.numberOfSteps, time.endTime, time.verboseMode = steps, h_s * steps, 0
            time.generalizedAlpha.spectralRadius = 0.9
            time.newton.relativeTolerance, time.newton.absoluteTolerance = 1e-8, 1e-9
            settings.solutionSettings.writeSolutionToFile = False
            settings.solutionSettings.sensorsWritePeriod = h_s * every
            settings.displayStatistics = False
            self.mbs.SolveDynamic(settings)
        return {name: np.array(self.mbs.GetSensorStoredData(s))[:, 1:4] for name, s in self.sensors.items()}
