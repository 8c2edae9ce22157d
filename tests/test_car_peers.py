"""The car against the same in exudyn (tests/exudyn_samples.py): a corner dropped, the whole car dropped, its modes."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from hodograph.core.frames import Array
from hodograph.multibody.car.assemble import Parts, add_chassis, add_corner, add_rack, finished
from hodograph.multibody.car.car import Car
from hodograph.multibody.car.forces import add_spring
from hodograph.multibody.car.modes import RideMode, ride_modes
from hodograph.multibody.car.statics import static_loads
from hodograph.multibody.car.vehicle import read_vehicle
from hodograph.multibody.forces.rolling import TyreContact
from hodograph.multibody.model.build import State, build
from hodograph.multibody.steps.stepper import StepOptions, Stepper
from hodograph.vehicles.car import CORNERS, Axle, Vehicle

pytestmark = pytest.mark.skipif(find_spec("exudyn") is None, reason="exudyn, the peer, is not installed")
FRICTIONLESS = 1e-6
EXACT = StepOptions(tolerance=1e-11)


def _slippery(axle: Axle) -> Axle:
    return replace(axle, tyre=replace(axle.tyre, friction=FRICTIONLESS, rolling_resistance=0.0))


def _on_ice() -> Vehicle:
    vehicle = read_vehicle("xbw")
    return replace(vehicle, front=_slippery(vehicle.front), rear=_slippery(vehicle.rear))


def _worst_share(ours: Array, theirs: Array) -> float:
    return float(np.abs(ours - theirs).max() / np.ptp(theirs))


@pytest.mark.parametrize(("name", "lift_m"), [("fl", 0.015), ("rr", 0.015)])
def test_a_corner_dropped_on_its_wheel_moves_as_in_exudyn(name: str, lift_m: float) -> None:
    from exudyn_samples import ExudynCar

    vehicle = _on_ice()
    corner, preload_n = vehicle.corner(name), dict(static_loads(vehicle).spring_n)
    parts = Parts(vehicle.body.origin_height_m + lift_m)
    add_chassis(parts, vehicle, fixed=True)
    if name[0] == "f":
        add_rack(parts, vehicle)
    add_corner(parts, corner)
    add_spring(parts, corner, preload_n[name])
    parts.forces["tyre"] = TyreContact(f"{name}_wheel", corner.axle.tyre)
    model = build(finished(parts, vehicle, name, degrees_of_freedom=2))
    stepper = Stepper(model, options=EXACT)
    run = stepper.run(stepper.start(), 2e-4, 1500, 5)
    theirs = ExudynCar(vehicle, preload_n, (name,), lift_m).run(2e-4, 1500, 5)[name][1:]
    first = model.index(f"{name}_W.x")
    travel = run.q[:, first + 2]
    assert np.ptp(theirs[:, 2]) > 0.015
    assert theirs[:, 2].min() < corner.axle.tyre.radius_m - 0.005  # it did come down on the road
    assert _worst_share(travel, theirs[:, 2]) < 0.002
    assert np.abs(run.q[:, first : first + 2] - theirs[:, :2]).max() < 0.01 * np.ptp(theirs[:, 2])


def _heights(car: Car, q: Array) -> dict[str, Array]:
    origin, nose, side = (q[:, car.model.index(f"{name}.z")] for name in ("O", "ex", "ey"))
    seen = {c: q[:, car.model.index(f"{c}_W.z")] for c in CORNERS}
    return seen | {"front": origin + 2.4 * nose, "rear": origin, "left": origin + side}


def test_the_whole_car_dropped_from_20_mm_moves_as_in_exudyn() -> None:
    from exudyn_samples import ExudynCar

    vehicle = _on_ice()
    car = Car(vehicle, EXACT)
    q = car.model.start_q.copy()
    for name in car.model.names:
        if name.endswith("W.z") or name in ("O.z", "RL.z"):
            q[car.model.index(name)] += 0.02
    n = car.model.n
    start = car.stepper.repair(State(0.0, q, np.zeros(n), np.zeros(n), np.zeros(car.model.rows)))
    ours = _heights(car, car.stepper.run(start, 5e-4, 1200, 10).q)
    theirs = ExudynCar(vehicle, dict(static_loads(vehicle).spring_n), lift_m=0.02).run(5e-4, 1200, 10)
    for name, heights in ours.items():
        assert _worst_share(heights, theirs[name][1:, 2]) < 0.01, name


def _identified(heights: Array, dt_s: float) -> Array:
    """Poles (rad/s) of free vibrations (samples, channels) about a constant, by the shift between delayed copies."""
    delays, order = 6, 2 * 7 + 1
    moved = heights - heights.mean(axis=0)
    rows = len(moved) - delays
    hankel = np.hstack([moved[k : k + rows] for k in range(delays)])
    hankel = np.hstack([hankel / np.abs(hankel).max(), np.ones((rows, 1))])
    u, s, _ = np.linalg.svd(hankel, full_matrices=False)
    states = u[:, :order] * s[:order]
    shift = np.linalg.lstsq(states[:-1], states[1:], rcond=None)[0]
    return np.asarray(np.log(np.linalg.eigvals(shift).astype(complex)) / dt_s)


def _lightly_damped(axle: Axle) -> Axle:
    return replace(axle, damper=replace(axle.damper, curve=((-1.0, -600.0), (0.0, 0.0), (1.0, 600.0))))


def test_ride_frequencies_and_damping_agree_with_exudyn() -> None:
    """exudyn's car gets small errors of the springs' preload and swings into its new equilibrium.

    With a quarter of the damping, and that linear, the poles can be read from its motion.
    """
    from exudyn_samples import ExudynCar

    vehicle = _on_ice()
    vehicle = replace(vehicle, front=_lightly_damped(vehicle.front), rear=_lightly_damped(vehicle.rear))
    preload_n = dict(static_loads(vehicle).spring_n)
    for name, error_n in zip(CORNERS, (6.0, 1.0, -3.0, 5.0), strict=True):
        preload_n[name] += error_n
    run = ExudynCar(vehicle, preload_n).run(5e-4, 2000, 8)
    poles = _identified(np.column_stack([p[:, 2] for p in run.values()]), 4e-3)
    theirs = poles[poles.imag > 1.0]
    modes = ride_modes(Car(vehicle))
    ours = np.array([_pole(mode) for mode in modes])
    assert [mode.name for mode in modes[:3]] == ["heave", "pitch", "roll"]
    assert len(ours) == len(theirs) == 7
    distance = np.abs(ours[:, None] - theirs[None, :]) / np.abs(ours[:, None])
    for k, j in zip(*linear_sum_assignment(distance), strict=True):
        assert distance[k, j] < 0.01, (modes[k].name, ours[k], theirs[j])  # of frequency and damping together


def _pole(mode: RideMode) -> complex:
    omega = 2.0 * np.pi * mode.frequency_hz
    return complex(-mode.damping_ratio * omega, omega * np.sqrt(1.0 - mode.damping_ratio**2))
