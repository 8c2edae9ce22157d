"""Springs, dampers, stops, bars, tyres, brakes, drive and air of a vehicle as forces of its mechanism."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hodograph.multibody.car.assemble import CHASSIS_AXES, Parts, finished, frame_parts, line_ends
from hodograph.multibody.car.statics import static_loads
from hodograph.multibody.forces.loads import AntiRoll, Curve, SpringDamper
from hodograph.multibody.forces.rolling import AirForce, AxleDrive, TyreContact, WheelBrake
from hodograph.multibody.model.mechanism import Mechanism
from hodograph.vehicles.car import CORNERS, Corner, Spring, Stop, Vehicle

KNEE_M = 0.002
"""Curves are interpolated smoothly; a knot this far before a stop keeps its bend local."""


def mechanism_of(vehicle: Vehicle) -> Mechanism:
    """The whole car on its tyres: inputs `rack_m`, `brake_front_pa`, `brake_rear_pa`, `drive_nm`; the road is at z = 0.

    Two driven axles have the inputs `drive_front_nm` and `drive_rear_nm` instead.
    """
    parts = frame_parts(vehicle)
    given = all(s.free_length_m is not None or s.load_n is not None for s in _springs(vehicle))
    loads: Mapping[str, float] = {} if given else static_loads(vehicle).spring_n
    for name in CORNERS:
        corner = vehicle.corner(name)
        add_spring(parts, corner, loads.get(name))
        parts.forces[f"{name}_tyre"] = TyreContact(f"{name}_wheel", corner.axle.tyre, mirrored=corner.side == "right")
        if corner.axle.brake is not None:
            pressure = f"brake_{'front' if name[0] == 'f' else 'rear'}_pa"
            parts.forces[f"{name}_brake"] = WheelBrake(f"{name}_wheel", corner.axle.brake, pressure)
    for axle in ("front", "rear"):
        _add_bar(parts, vehicle, axle)
    _add_drive(parts, vehicle)
    _add_air(parts, vehicle)
    return finished(parts, vehicle, vehicle.name, degrees_of_freedom=14)


def _springs(vehicle: Vehicle) -> list[Spring]:
    return [vehicle.corner(name).axle.spring for name in CORNERS]


def add_spring(parts: Parts, corner: Corner, needed_n: float | None) -> None:
    """Spring, damper and stops of a corner: one force when they share a line, else two (stops go with the damper).

    `needed_n` is the compression that the design position needs, for a spring that does not say its own.
    """
    axle, name = corner.axle, corner.name
    spring, damper = axle.spring, axle.damper
    ends, damper_ends = line_ends(parts, corner, "spring", spring), line_ends(parts, corner, "damper", damper)
    design_m = _distance_m(parts, ends)
    load_n = spring.load_n if spring.load_n is not None else needed_n
    free_m = spring.free_length_m if spring.free_length_m is not None else design_m + (load_n or 0.0) / spring.rate_npm
    if damper_ends == ends:
        curve = stop_curve(spring.rate_npm, design_m - free_m, axle.bump_stop, axle.rebound_stop)
        parts.forces[f"{name}_spring"] = SpringDamper(
            ends, spring.rate_npm, damper.damping_nspm, free_m, curve, damper.curve
        )
        return
    parts.forces[f"{name}_spring"] = SpringDamper(ends, spring.rate_npm, free_length_m=free_m)
    curve = stop_curve(0.0, 0.0, axle.bump_stop, axle.rebound_stop)
    parts.forces[f"{name}_damper"] = SpringDamper(
        damper_ends, 0.0, damper.damping_nspm, stiffness_curve=curve, damping_curve=damper.curve
    )


def _distance_m(parts: Parts, ends: tuple[str, str]) -> float:
    a, b = (np.array(parts.stations[end].position_m) for end in ends)
    return float(np.linalg.norm(b - a))


def stop_curve(rate_npm: float, design_m: float, bump: Stop | None, rebound: Stop | None) -> Curve:
    """Force over elongation of a spring with stops, `design_m` being its elongation in the design position.

    Without stops no curve: the rate says it all.
    """
    if bump is None and rebound is None:
        return ()
    knots = [(design_m, 0.0)]
    for stop, way in ((bump, -1.0), (rebound, 1.0)):
        if stop is None:
            knots += [(design_m + way * far_m, 0.0) for far_m in (0.1, 0.2)]
            continue
        knots += [(design_m + way * (stop.clearance_m - KNEE_M), 0.0)] if stop.clearance_m > 2.0 * KNEE_M else []
        knots += [(design_m + way * (stop.clearance_m + x), way * f) for x, f in stop.curve]
    return tuple((e, rate_npm * e + extra) for e, extra in sorted(knots))


def _add_bar(parts: Parts, vehicle: Vehicle, axle: str) -> None:
    left, right = (vehicle.corner(f"{axle[0]}{side}") for side in "lr")
    bar, other = left.axle.anti_roll_bar, right.axle.anti_roll_bar
    if bar is not None and other is not None:
        parts.forces[f"{axle}_bar"] = AntiRoll(
            line_ends(parts, left, "bar", bar), line_ends(parts, right, "bar", other), bar.rate_npm
        )


def _add_drive(parts: Parts, vehicle: Vehicle) -> None:
    driven = [axle for axle in ("front", "rear") if getattr(vehicle.drive, axle) is not None]
    for axle in driven:
        torque = "drive_nm" if len(driven) == 1 else f"drive_{axle}_nm"
        wheels = (f"{axle[0]}l_wheel", f"{axle[0]}r_wheel")
        x, y, z = CHASSIS_AXES
        parts.forces[f"{axle}_drive"] = AxleDrive(wheels, torque, getattr(vehicle.drive, axle), (y, z, x))
    if vehicle.drive.wheel_torques:
        x, y, z = CHASSIS_AXES
        for name in CORNERS:
            parts.forces[f"{name}_torque"] = AxleDrive((f"{name}_wheel",), f"{name}_torque_nm", reaction=(y, z, x))


def _add_air(parts: Parts, vehicle: Vehicle) -> None:
    if vehicle.aero is None:
        return
    at = parts.station("air_centre", "chassis", vehicle.aero.centre_m)
    front = parts.station("air_front", "chassis", (vehicle.wheelbase_m, 0.0, 0.0))
    rear = parts.station("air_rear", "chassis", (0.0, 0.0, 0.0))
    parts.forces["air"] = AirForce(at, front, rear, CHASSIS_AXES, vehicle.aero.aerodynamics)
