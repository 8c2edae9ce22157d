"""Suspension curves and figures of a vehicle: what a kinematics and compliance rig would plot, without compliance."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi, sqrt

import numpy as np

from hodograph.core.display import short_repr
from hodograph.core.errors import MechanismError
from hodograph.core.frames import Array
from hodograph.multibody.car.assemble import seat_in_plane_m
from hodograph.multibody.car.kinematics import CornerKinematics, SteeringAxis, roll_centre_height_m
from hodograph.vehicles.car import Stop, Vehicle

FULL_TRAVEL_M = 0.08
PROBE_M = 1e-4
POINTS = 41


@dataclass(frozen=True, slots=True)
class BumpCurves:
    """Over wheel travel, (k,) each, from droop to bump. Track counts outwards, wheelbase forwards, at the contact."""

    bump_m: Array
    toe_rad: Array
    camber_rad: Array
    track_m: Array
    wheelbase_m: Array
    motion_ratio: Array

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class CornerFigures:
    """One corner in its design position; rates at the wheel, per metre of bump."""

    name: str
    curves: BumpCurves
    axis: SteeringAxis
    motion_ratio: float  # spring travel over bump
    wheel_rate_npm: float  # of the spring at the wheel
    ride_rate_npm: float  # spring and tyre in series
    bar_rate_npm: float  # of the anti-roll bar at the wheel, both sides in opposite travel
    toe_gain_radpm: float
    camber_gain_radpm: float
    roll_centre_m: float  # above the road
    bump_travel_m: float
    rebound_travel_m: float
    reached: bool  # whether both stops are met before the geometry ends
    spring_m: float  # length of the spring
    seat_moved_m: float  # how far the spring seat was moved into the plane of its arm

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class SteerCurves:
    """Over rack travel, (k,): steer angles of both front wheels, positive to the left; camber of the left one."""

    rack_m: Array
    left_rad: Array
    right_rad: Array
    camber_left_rad: Array
    ackermann: float  # share of full Ackermann at three quarters of the travel
    gain_radpm: float  # mean steer angle per metre of rack in the middle
    limit_m: float  # travel that the geometry allows, at most the one of the rack

    __repr__ = short_repr


def corner_figures(vehicle: Vehicle, name: str, load_n: float) -> CornerFigures:
    """Figures of a corner whose spring carries `load_n` in the design position."""
    kin = CornerKinematics.of(vehicle, name)
    axle = kin.corner.axle
    up, down = _travel_m(kin, axle.bump_stop, 1.0), _travel_m(kin, axle.rebound_stop, -1.0)
    here, ahead, back = kin.pose(0.0), kin.pose(PROBE_M), kin.pose(-PROBE_M)
    ratio = -(ahead.spring_m - back.spring_m) / (2.0 * PROBE_M)
    bend = (ahead.spring_m - 2.0 * here.spring_m + back.spring_m) / PROBE_M**2
    rate = axle.spring.rate_npm * ratio**2 - load_n * bend  # d(spring · ratio)/d(bump)
    tyre = axle.tyre.stiffness_npm
    bar = axle.anti_roll_bar
    bar_ratio = -(ahead.bar_m - back.bar_m) / (2.0 * PROBE_M)
    seat_m = axle.spring.lower_m
    moved = float(np.linalg.norm(np.array(seat_m) - seat_in_plane_m(kin.corner, axle.spring.on, seat_m)))
    return CornerFigures(
        name,
        _curves(kin, down[0], up[0]),
        kin.steering_axis(here),
        ratio,
        rate,
        rate * tyre / (rate + tyre),
        2.0 * bar.rate_npm * bar_ratio**2 if bar is not None else 0.0,
        (ahead.toe_rad - back.toe_rad) / (2.0 * PROBE_M),
        (ahead.camber_rad - back.camber_rad) / (2.0 * PROBE_M),
        roll_centre_height_m(ahead, back, here),
        up[0],
        -down[0],
        up[1] and down[1],
        here.spring_m,
        moved,
    )


def corner_frequency_hz(rate_npm: float, sprung_kg: float) -> float:
    """Frequency of a mass, which must be positive, on a rate."""
    return sqrt(max(rate_npm, 0.0) / sprung_kg) / (2.0 * pi)


def _travel_m(kin: CornerKinematics, stop: Stop | None, way: float) -> tuple[float, bool]:
    """Bump (or, with way −1, droop) at which the stop is pressed to its last knot, and whether it is reached."""
    if stop is None:
        limit = FULL_TRAVEL_M
        stroke = np.inf
    else:
        limit = 4.0 * FULL_TRAVEL_M
        stroke = stop.clearance_m + stop.curve[-1][0]
    start = kin.pose(0.0).damper_m
    steps = np.arange(0.0025, limit + 1e-9, 0.0025)
    reached = 0.0
    for bump in steps:
        try:
            pose = kin.pose(way * float(bump))
        except MechanismError:
            return way * reached, stop is None
        reached = float(bump)
        if way * (start - pose.damper_m) >= stroke:
            return way * reached, True
    return way * reached, stop is None


def _curves(kin: CornerKinematics, low_m: float, high_m: float) -> BumpCurves:
    bump = np.linspace(low_m, high_m, POINTS)
    poses = kin.sweep(bump)
    here, side = kin.pose(0.0), kin.corner.sign
    contact = np.array([pose.contact_m - here.contact_m for pose in poses])
    spring = np.array([pose.spring_m for pose in poses])
    return BumpCurves(
        bump,
        np.array([pose.toe_rad for pose in poses]),
        np.array([pose.camber_rad for pose in poses]),
        side * contact[:, 1],
        contact[:, 0],
        -np.gradient(spring, bump, edge_order=2),
    )


def steer_curves(vehicle: Vehicle) -> SteerCurves:
    """Both front wheels over the travel of the rack, as far as the geometry goes."""
    left, right = (CornerKinematics.of(vehicle, corner) for corner in ("fl", "fr"))
    limit = vehicle.steering.travel_m
    while limit > 0.2 * vehicle.steering.travel_m:
        try:
            rack = np.linspace(-limit, limit, POINTS)
            poses = left.steer(rack), right.steer(rack)
            break
        except MechanismError:
            limit *= 0.95
    else:
        raise MechanismError(f"{vehicle.name}: the steering jams at less than a fifth of the rack's travel")
    a, b = (np.array([pose.steer_rad for pose in side]) for side in poses)
    h = 1e-4
    gain = sum(k.pose(0.0, h).steer_rad - k.pose(0.0, -h).steer_rad for k in (left, right)) / (4.0 * h)
    camber = np.array([pose.camber_rad for pose in poses[0]])
    return SteerCurves(rack, a, b, camber, _ackermann(vehicle, left, right, 0.75 * limit), gain, limit)


def _ackermann(vehicle: Vehicle, left: CornerKinematics, right: CornerKinematics, rack_m: float) -> float:
    """Share of full Ackermann geometry: (cot outer − cot inner) over track by wheelbase."""
    a, b = left.pose(0.0, rack_m), right.pose(0.0, rack_m)
    inner, outer = (a.steer_rad, b.steer_rad) if a.steer_rad > 0.0 else (-b.steer_rad, -a.steer_rad)
    track_m = abs(a.kingpin_m[0, 1] - b.kingpin_m[0, 1])
    return float((1.0 / np.tan(outer) - 1.0 / np.tan(inner)) * vehicle.wheelbase_m / track_m)
