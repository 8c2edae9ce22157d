"""What one wants to know of a vehicle before driving it, and what looks wrong: the work behind `hodograph doctor`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import degrees
from typing import Any, Literal, TypeVar

import numpy as np

from hodograph.core.display import cut, short_repr
from hodograph.core.errors import MechanismError
from hodograph.multibody.car.car import Car
from hodograph.multibody.car.curves import (
    CornerFigures,
    SteerCurves,
    corner_figures,
    corner_frequency_hz,
    steer_curves,
)
from hodograph.multibody.car.modes import RideMode, ride_modes
from hodograph.multibody.car.statics import StaticLoads, static_loads
from hodograph.multibody.model.build import Model
from hodograph.vehicles.car import CORNERS, Vehicle

Level = Literal["ok", "note", "warning"]
OnStage = Callable[[str], None]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing checked: `ok`, a `note` worth knowing, or a `warning` that somebody should look at."""

    level: Level
    topic: str
    text: str


@dataclass(frozen=True, slots=True)
class Standing:
    """The car settled on a flat road, against its design position."""

    wheel_n: Mapping[str, float]
    rise_m: float  # of the body origin
    roll_rad: float
    pitch_rad: float

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class VehicleReport:
    """What `examine` finds."""

    vehicle: Vehicle
    model: Model
    design: StaticLoads
    standing: Standing | None  # None when it does not come to rest
    corners: Mapping[str, CornerFigures]
    steer: SteerCurves | None  # None when it jams
    modes: tuple[RideMode, ...]
    findings: tuple[Finding, ...]

    def __repr__(self) -> str:
        return f"VehicleReport({cut(self.vehicle.name)}: findings {len(self.findings)}, warnings {self.warnings})"

    @property
    def warnings(self) -> int:
        """How many findings are warnings."""
        return sum(finding.level == "warning" for finding in self.findings)

    def roll_stiffness_nmprad(self, axle: str) -> float:
        """Of an axle, springs and bar, tyres rigid."""
        left, right = (self.corners[f"{axle[0]}{side}"] for side in "lr")
        half_m = abs(self.vehicle.corner(left.name).axle.wheel_centre_m[1])
        return half_m**2 * sum(c.wheel_rate_npm + c.bar_rate_npm for c in (left, right))

    def sprung_kg(self, corner: str) -> float:
        """What the spring of a corner carries, as a mass: spring load through the motion ratio."""
        return self.design.spring_n[corner] * self.corners[corner].motion_ratio / self.vehicle.gravity_mps2


def examine(vehicle: Vehicle, on_stage: OnStage = lambda stage: None) -> VehicleReport:
    """Build, settle, sweep and linearise a vehicle; `MechanismError` names the part when it cannot be built."""
    on_stage("building")
    design = static_loads(vehicle)
    car = Car(vehicle)
    on_stage("sweeping the suspension")
    corners = {name: corner_figures(vehicle, name, design.spring_n[name]) for name in CORNERS}
    failed: list[Finding] = []
    steer = _tried("steering", failed, lambda: steer_curves(vehicle))
    on_stage("settling on a flat road")
    standing = _tried("static loads", failed, lambda: _standing(car))
    on_stage("linearising")
    modes = _tried("ride", failed, lambda: ride_modes(car)) or ()
    bare = VehicleReport(vehicle, car.model, design, standing, corners, steer, modes, ())
    return replace(bare, findings=(*_findings(bare), *failed))


def _tried(topic: str, failed: list[Finding], work: Callable[[], T]) -> T | None:
    """What a part of the examination gives; when it fails, that is a finding and the rest goes on."""
    try:
        return work()
    except MechanismError as error:
        failed.append(Finding("warning", topic, str(error)))
        return None


def _standing(car: Car) -> Standing:
    state = car.settle()
    q, index = state.q, car.model.index
    rise = q[index("O.z")] - car.model.start_q[index("O.z")]
    return Standing(
        car.loads_n(state), float(rise), float(np.arcsin(q[index("ey.z")])), float(-np.arcsin(q[index("ex.z")]))
    )


def _findings(r: VehicleReport) -> Iterator[Finding]:
    yield from _size(r)
    yield from _topology(r)
    yield from _loads(r)
    yield from _ride(r)
    yield from _geometry(r)
    yield from _steering(r)


def _judge(topic: str, text: str, value: float, low: float, high: float, *, level: Level = "warning") -> Finding:
    """Within [low, high] it is ok; outside the text says what is usual."""
    if low <= value <= high:
        return Finding("ok", topic, text)
    return Finding(level, topic, f"{text}; usual is {low:g} to {high:g}")


def _size(r: VehicleReport) -> Iterator[Finding]:
    v = r.vehicle
    tracks = [2.0 * axle.wheel_centre_m[1] for axle in (v.front, v.rear)]
    yield _judge("units", f"wheelbase {v.wheelbase_m:.3f} m", v.wheelbase_m, 1.0, 4.5)
    for name, track in zip(("front", "rear"), tracks, strict=True):
        yield _judge("units", f"{name} track {track:.3f} m", track, 0.7, 2.3)
    height = v.body.origin_height_m + float(r.design.cg_m[2])
    yield _judge("units", f"centre of gravity {height:.3f} m above the road", height, 0.1, 1.2)
    yaw = v.body.inertia_kgm2[2] / (v.body.mass_kg * v.wheelbase_m**2)
    yield _judge("units", f"yaw inertia of the chassis {yaw:.3f} m L²", yaw, 0.05, 0.45)
    unlike = [name for name, axle in (("front", v.front), ("rear", v.rear)) if not axle.symmetric]
    off_m = v.body.cg_m[1]
    if unlike or abs(off_m) > 1e-9:
        told = [f"{name} axle has a right side of its own" for name in unlike]
        told += [f"chassis centre of gravity {1e3 * off_m:+.0f} mm to the left"] if abs(off_m) > 1e-9 else []
        yield Finding("note", "symmetry", "; ".join(told))
    else:
        yield Finding("ok", "symmetry", "left and right are mirror images")


def _topology(r: VehicleReport) -> Iterator[Finding]:
    m = r.model
    yield Finding(
        "ok", "topology",
        f"{len(m.mechanism.bodies)} bodies, {m.n} coordinates, {m.constraints} constraints, "
        f"{m.degrees_of_freedom} degrees of freedom",
    )  # fmt: skip
    for name in ("fl", "rl"):
        moved_mm = 1e3 * r.corners[name].seat_moved_m
        if moved_mm > 5.0:
            yield Finding(
                "note", "topology", f"{_axle(name)} spring seat lies {moved_mm:.0f} mm off the plane of its arm; "
                "arms are flat, it was moved there",
            )  # fmt: skip


def _axle(corner: str) -> str:
    return "front" if corner[0] == "f" else "rear"


def _loads(r: VehicleReport) -> Iterator[Finding]:
    share = 100.0 * r.design.front_share
    yield _judge("static loads", f"{share:.1f} % of the weight in front", share, 30.0, 70.0)
    yield from _unloaded(r)
    for name in CORNERS:
        spring, needed_n = r.vehicle.corner(name).axle.spring, r.design.spring_n[name]
        given_n = spring.load_n
        if spring.free_length_m is not None:
            given_n = spring.rate_npm * (spring.free_length_m - r.corners[name].spring_m)
        if given_n is not None and abs(given_n - needed_n) > 0.1 * abs(needed_n):
            text = f"{name} spring: {given_n:.0f} N in the design position, {needed_n:.0f} N would carry the car there"
            yield Finding("warning", "static loads", text)
    if r.standing is not None:
        yield from _standing_loads(r, r.standing)


def _unloaded(r: VehicleReport) -> Iterator[Finding]:
    """Wheels that would have to hang on to the road, springs that would have to pull."""
    x, y, _ = r.design.cg_m
    where = f"the centre of gravity of the whole car is at x = {x:.3f} m, y = {y:.3f} m; is body.cg_m right?"
    for what, loads_n in (("wheel", r.design.wheel_n), ("spring", r.design.spring_n)):
        for name in CORNERS:
            if not loads_n[name] > 0.0:
                text = f"{name} {what} would carry {loads_n[name]:.0f} N in the design position, so the car cannot "
                yield Finding("warning", "static loads", f"{text}stand there; {where}")


def _standing_loads(r: VehicleReport, s: Standing) -> Iterator[Finding]:
    weight_n = r.vehicle.gravity_mps2 * r.design.total_kg
    carried_n = sum(s.wheel_n.values())
    yield _judge(
        "static loads", f"{carried_n:.0f} N on the wheels for {r.design.total_kg:.1f} kg", carried_n / weight_n,
        0.999, 1.001,
    )  # fmt: skip
    left_n = s.wheel_n["fl"] + s.wheel_n["rl"]
    left = 100.0 * left_n / carried_n
    yield _judge("static loads", f"{left:.1f} % on the left", left, 45.0, 55.0)
    text = (
        f"stands {1e3 * s.rise_m:+.1f} mm from its design height, roll {degrees(s.roll_rad):+.2f}°, "
        f"pitch {degrees(s.pitch_rad):+.2f}°"
    )
    off = max(abs(s.rise_m), abs(s.roll_rad) * 0.7, abs(s.pitch_rad) * r.vehicle.wheelbase_m / 2.0)
    if off > 0.005:
        why = "check spring loads, free lengths and tyre radii, or leave the loads out to have them computed"
        yield Finding("warning", "static loads", f"{text}; {why}")
    else:
        yield Finding("ok", "static loads", text)
    for name, force in s.wheel_n.items():
        ratio = force / r.vehicle.corner(name).axle.tyre.nominal_load_n
        if not 0.4 <= ratio <= 2.0:
            yield Finding(
                "warning", "static loads", f"{name}: {force:.0f} N is {ratio:.2f} times the tyre's nominal load"
            )


def _ride(r: VehicleReport) -> Iterator[Finding]:
    for mode in r.modes:
        low, high = (0.8, 6.0) if mode.name in ("heave", "pitch", "roll") else (6.0, 25.0)
        text = f"{mode.name} {mode.undamped_hz:.2f} Hz, damped {mode.damping_ratio:.2f} of critical"
        if low <= mode.undamped_hz <= high:
            yield _judge("ride", text, mode.damping_ratio, 0.1, 0.9, level="note")
        else:
            yield Finding("warning", "ride", f"{text}; usual is {low:g} to {high:g} Hz")
    if r.modes and len(r.modes) != 7:
        yield Finding("warning", "ride", f"{len(r.modes)} ride modes instead of 7: a corner has no stiffness")
    front, rear = r.roll_stiffness_nmprad("front"), r.roll_stiffness_nmprad("rear")
    share, total = 100.0 * front / (front + rear), np.pi / 180.0 * (front + rear)
    text = f"roll stiffness {total:.0f} N m/deg, {share:.0f} % in front"
    yield _judge("ride", text, share, 35.0, 80.0, level="note")


def _geometry(r: VehicleReport) -> Iterator[Finding]:
    for name in ("fl", "rl"):
        yield from _axle_geometry(r, name)
    a = r.corners["fl"].axis
    caster, kingpin = degrees(a.caster_rad), degrees(a.kingpin_rad)
    scrub_mm, trail_mm = 1e3 * a.scrub_radius_m, 1e3 * a.trail_m
    yield _judge("geometry", f"caster {caster:.1f}°", caster, 0.0, 15.0, level="note")
    yield _judge("geometry", f"kingpin inclination {kingpin:.1f}°", kingpin, 0.0, 18.0)
    yield _judge("geometry", f"scrub radius {scrub_mm:.0f} mm", scrub_mm, -60.0, 90.0, level="note")
    yield _judge("geometry", f"mechanical trail {trail_mm:.0f} mm", trail_mm, 0.0, 60.0, level="note")


def _axle_geometry(r: VehicleReport, name: str) -> Iterator[Finding]:
    c, axle = r.corners[name], _axle(name)
    yield _judge("geometry", f"{axle} motion ratio {c.motion_ratio:.3f}", c.motion_ratio, 0.3, 1.3)
    rate = f"{axle} corner: {1e-3 * c.wheel_rate_npm:.1f} N/mm at the wheel"
    sprung_kg = r.sprung_kg(name)
    if sprung_kg > 0.0:
        frequency = corner_frequency_hz(c.ride_rate_npm, sprung_kg)
        yield _judge("geometry", f"{rate}, {frequency:.2f} Hz on its tyre", frequency, 0.8, 6.0)
    else:
        yield Finding("note", "geometry", f"{rate}; it carries nothing, so it has no frequency")
    up_mm, down_mm = 1e3 * c.bump_travel_m, 1e3 * c.rebound_travel_m
    travel = f"{axle} travel {up_mm:.0f} mm up, {down_mm:.0f} mm down"
    if c.reached:
        yield _judge("geometry", travel, min(up_mm, down_mm), 15.0, 300.0)
    else:
        yield Finding("warning", "geometry", f"{travel}: the linkage ends before the stops are met")
    toe, camber = degrees(c.toe_gain_radpm) / 1e3, degrees(c.camber_gain_radpm) / 1e3
    yield _judge("geometry", f"{axle} bump steer {toe:+.4f} °/mm", toe, -0.01, 0.01, level="note")
    yield _judge("geometry", f"{axle} camber gain {camber:+.4f} °/mm", camber, -0.08, 0.0, level="note")
    centre_mm = 1e3 * c.roll_centre_m
    yield _judge("geometry", f"{axle} roll centre {centre_mm:.0f} mm above the road", centre_mm, -50.0, 250.0)


def _steering(r: VehicleReport) -> Iterator[Finding]:
    s, steering = r.steer, r.vehicle.steering
    if s is None:
        return
    most = degrees(max(np.abs(s.left_rad).max(), np.abs(s.right_rad).max()))
    yield _judge("steering", f"up to {most:.1f}° at the wheels", most, 8.0, 50.0)
    if s.limit_m < steering.travel_m - 1e-9:
        text = f"the linkage jams at {1e3 * s.limit_m:.0f} mm of {1e3 * steering.travel_m:.0f} mm rack travel"
        yield Finding("warning", "steering", text)
    yield _judge("steering", f"Ackermann {100 * s.ackermann:.0f} %", 100 * s.ackermann, -30.0, 130.0, level="note")
    ratio = 1.0 / (s.gain_radpm * steering.rack_m_per_rad)
    if ratio < 0.0:
        text = "steering wheel to the left turns the wheels to the right; change the sign of rack_m_per_rad"
        yield Finding("warning", "steering", text)
    else:
        yield _judge("steering", f"steering ratio {ratio:.1f} : 1", ratio, 5.0, 30.0, level="note")


def report_document(r: VehicleReport) -> dict[str, Any]:
    """The report as plain numbers and texts, for JSON."""
    v = r.vehicle
    return {
        "vehicle": v.name,
        "wheelbase_m": v.wheelbase_m,
        "track_m": {"front": 2.0 * v.front.wheel_centre_m[1], "rear": 2.0 * v.rear.wheel_centre_m[1]},
        "mass_kg": r.design.total_kg,
        "cg_m": r.design.cg_m.tolist(),
        "bodies": len(r.model.mechanism.bodies),
        "coordinates": r.model.n,
        "constraints": r.model.constraints,
        "degrees_of_freedom": r.model.degrees_of_freedom,
        "front_share": r.design.front_share,
        "yaw_inertia_kgm2": r.design.yaw_inertia_kgm2,
        "wheel_load_n": None if r.standing is None else dict(r.standing.wheel_n),
        "design": {"wheel_load_n": dict(r.design.wheel_n), "spring_load_n": dict(r.design.spring_n)},
        "standing": None if r.standing is None else {
            "rise_m": r.standing.rise_m, "roll_rad": r.standing.roll_rad, "pitch_rad": r.standing.pitch_rad,
        },
        "modes": [
            {"name": m.name, "undamped_hz": m.undamped_hz, "frequency_hz": m.frequency_hz, "damping": m.damping_ratio}
            for m in r.modes
        ],
        "roll_stiffness_nmprad": {axle: r.roll_stiffness_nmprad(axle) for axle in ("front", "rear")},
        "corners": {name: _corner_document(c) for name, c in r.corners.items()},
        "steering": None if r.steer is None else {
            "rack_m": r.steer.rack_m.tolist(), "left_rad": r.steer.left_rad.tolist(),
            "right_rad": r.steer.right_rad.tolist(), "ackermann": r.steer.ackermann,
            "steer_rad_per_m": r.steer.gain_radpm,
        },
        "findings": [{"level": f.level, "topic": f.topic, "text": f.text} for f in r.findings],
        "warnings": r.warnings,
    }  # fmt: skip


def _corner_document(c: CornerFigures) -> dict[str, Any]:
    names = (
        "motion_ratio", "wheel_rate_npm", "ride_rate_npm", "bar_rate_npm", "toe_gain_radpm", "camber_gain_radpm",
        "roll_centre_m", "bump_travel_m", "rebound_travel_m",
    )  # fmt: skip
    curves = {name: getattr(c.curves, name).tolist() for name in c.curves.__dataclass_fields__}
    axis = {name: getattr(c.axis, name) for name in c.axis.__dataclass_fields__}
    return {**{name: getattr(c, name) for name in names}, "steering_axis": axis, "curves": curves}
