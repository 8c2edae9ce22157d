"""Controls of a car: what is not given is held, the rack moves on from where it is, limits are refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from car_drives import STEP_S, car_of, settled

from hodograph.core.errors import HodographError, MechanismError
from hodograph.core.frames import Array
from hodograph.multibody import State, build
from hodograph.multibody.car import mechanism_of, read_vehicle
from hodograph.multibody.car.car import Car
from hodograph.multibody.car.energy import steering_power_w
from hodograph.twin import slalom
from hodograph.vehicles.driveline import OpenDifferential

RACK, FRONT, REAR, DRIVE = range(4)  # inputs of the XBW


def standing(inputs: Array) -> State:
    """A state of which only the inputs matter."""
    none = np.zeros(0)
    return State(0.0, none, none, none, none, inputs=inputs)


def held(rack_m: float = 0.0, rate_mps: float = 0.0, brake_pa: float = 0.0) -> State:
    """The XBW's inputs."""
    inputs = np.zeros((4, 3))
    inputs[RACK, :2] = rack_m, rate_mps
    inputs[FRONT, 0] = brake_pa
    return standing(inputs)


def test_what_is_not_given_stays() -> None:
    table = car_of("xbw").schedule({"brake_rear_pa": np.full(5, 1e6)}, start=held(0.02, 0.5, 3e5))
    np.testing.assert_array_equal(table[:, RACK], np.tile([0.02, 0.0, 0.0], (5, 1)))
    np.testing.assert_array_equal(table[:, FRONT, 0], np.full(5, 3e5))
    np.testing.assert_array_equal(table[:, REAR, 0], np.full(5, 1e6))


@pytest.mark.parametrize("block", [1, 2, 3, 10, 50])
def test_rates_of_the_rack_fit_its_motion_however_few_steps_a_call_has(block: int) -> None:
    """Second order or better, also for one step per call; it was zero there."""
    car = car_of("xbw")
    t = STEP_S * np.arange(1, 51)
    state, rows = held(0.0, 0.06), []
    for first in range(0, 50, block):
        table = car.schedule({"rack_m": 0.02 * np.sin(3.0 * t[first : first + block])}, start=state)
        rows.append(table[:, RACK])
        state = standing(table[-1])
    rack = np.concatenate(rows)
    np.testing.assert_allclose(rack[:, 1], 0.06 * np.cos(3.0 * t), atol=0.06 * 2e-4)  # (ω h)²/3 is 5e-5
    np.testing.assert_allclose(rack[:, 2], -0.18 * np.sin(3.0 * t), atol=0.18 * 0.02)  # ω h is 1.2e-2


def test_a_rack_that_is_moved_in_one_step_has_a_rate() -> None:
    table = car_of("xbw").schedule({"rack_m": np.array([0.001])}, start=held())
    np.testing.assert_allclose(table[0, RACK, 1:], [1.5 * 0.001 / STEP_S, 0.001 / STEP_S**2])


@pytest.mark.parametrize(
    ("controls", "complaint"),
    [
        ({"rack_m": np.array([0.0, 0.061])}, "rack_m is 0.061 at step 1, beyond steering.travel_m = 0.06"),
        ({"rack_m": np.array([-0.07])}, "beyond steering.travel_m"),
        ({"brake_front_pa": np.array([1.6e7])}, "beyond front.brake.highest_pressure_pa"),
        ({"drive_nm": np.array([1.0, np.nan])}, "drive_nm is nan at step 1, not a finite number"),
        ({"drive_nm": np.zeros(3), "rack_m": np.zeros(2)}, "one value per step"),
        ({}, "give one control or more"),
    ],
)
def test_what_cannot_be_is_refused(controls: dict[str, Array], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        car_of("xbw").schedule(controls, start=held())


def test_a_steered_car_that_brakes_keeps_its_rack() -> None:
    """It once snapped to the middle within one step; and from one state, two drives do not know of each other."""
    car = car_of("xbw")
    moving = car.moving(settled("xbw"), 8.0)
    turning = car.drive(moving, {"rack_m": 0.02 * np.linspace(0.0, 1.0, 100) ** 2})
    braking = car.drive(turning.last, {"brake_front_pa": np.full(50, 5e5)})
    np.testing.assert_array_equal(braking.inputs[:, RACK, 0], np.full(50, 0.02))
    assert braking.cost.residual < 1e-8
    straight = car.drive(moving, {"brake_front_pa": np.full(50, 5e5)})
    assert np.abs(straight.inputs[:, RACK, 0]).max() == 0.0
    assert np.abs(straight.rates_radps[:, 2]).max() < 0.1 * np.abs(braking.rates_radps[:, 2]).max()


def test_the_account_of_the_steering_leaves_the_stepper_alone() -> None:
    car = car_of("xbw")
    drive = car.drive(car.moving(settled("xbw"), 8.0), {"rack_m": 0.001 * np.linspace(0.0, 1.0, 10) ** 2})
    work = car.stepper.work
    before = [np.array(a) for a in (work.inputs, work.wheels, work.clock)]
    assert np.abs(steering_power_w(car, drive)).max() > 0.0
    for old, new in zip(before, (work.inputs, work.wheels, work.clock), strict=True):
        np.testing.assert_array_equal(new, old)


def test_a_wheel_has_one_brake() -> None:
    mechanism = mechanism_of(read_vehicle("xbw"))
    name = next(name for name, force in mechanism.forces.items() if force.kind == "brake")
    with pytest.raises(MechanismError, match=r"second: wheel .* has a brake already"):
        build(replace(mechanism, forces={**mechanism.forces, "second": mechanism.forces[name]}))


def test_hands_follow_exactly() -> None:
    """Value, rate and acceleration belong together, and one long step is many short ones."""
    before, t = np.array([0.01, -0.05, 0.0]), np.linspace(0.0, 0.5, 5001)
    x, v, a = slalom.hands(before, 0.03, t).T
    np.testing.assert_allclose((x[0], v[0]), before[:2], atol=1e-15)
    np.testing.assert_allclose(np.gradient(x, t)[1:-1], v[1:-1], atol=5e-7)
    np.testing.assert_allclose(np.gradient(v, t)[1:-1], a[1:-1], atol=1e-5)
    half = slalom.hands(before, 0.03, np.array([0.25]))[0]
    np.testing.assert_allclose(slalom.hands(half, 0.03, np.array([0.25]))[0], (x[-1], v[-1], a[-1]), atol=1e-14)


def test_the_driver_pushes_and_brakes_as_hard_as_he_wants_whatever_the_car() -> None:
    """Two driven axles share the torque; the pressure is the one that brakes by so many m/s² with these brakes."""
    vehicle = read_vehicle("xbw")
    both = Car(replace(vehicle, drive=replace(vehicle.drive, front=OpenDifferential(), rear=OpenDifferential())))
    for car in (car_of("xbw"), both):
        driver = slalom.Driver(car, lambda x_m: 0.0)
        names, arm_nm = car.model.inputs, car.model.inertia.total_kg * vehicle.rear.tyre.radius_m
        pushed = driver._table(0.0, 2.0)[0, [k for k, name in enumerate(names) if name.startswith("drive")], 0]
        assert pushed.sum() == pytest.approx(2.0 * arm_nm)
        assert np.ptp(pushed) == 0.0
        pressures = driver._table(0.0, -3.0)[0, [names.index("brake_front_pa"), names.index("brake_rear_pa")], 0]
        axles = (vehicle.front, vehicle.rear)
        torques = [2.0 * a.brake.torque_nm(p) for a, p in zip(axles, pressures, strict=True) if a.brake is not None]
        assert sum(torques) == pytest.approx(3.0 * arm_nm, rel=0.1)  # a secant of the pads' curve


def test_a_slalom_without_end_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slalom, "LONGEST_S", 0.1)
    with pytest.raises(HodographError, match="not through the slalom"):
        slalom.drive_slalom(car_of("xbw"), slalom.Slalom(cones=1))


def test_torques_of_single_wheels_push_as_an_open_differential_does() -> None:
    vehicle = read_vehicle("xbw")
    car = Car(replace(vehicle, drive=replace(vehicle.drive, wheel_torques=True)))
    assert {f"{c}_torque_nm" for c in ("fl", "fr", "rl", "rr")} < set(car.model.inputs)
    start = car.moving(car.settle(), 5.0)
    n = 250
    half, none = np.full(n, 60.0), np.zeros(n)
    both = car.drive(start, {"drive_nm": 2.0 * half, "rl_torque_nm": none, "rr_torque_nm": none})
    each = car.drive(start, {"drive_nm": none, "rl_torque_nm": half, "rr_torque_nm": half})
    assert both.body_mps[-1, 0] > 5.1
    np.testing.assert_allclose(each.body_mps, both.body_mps, atol=1e-6)
    front = car.drive(start, {"drive_nm": none, "fl_torque_nm": 2.0 * half, "rl_torque_nm": none, "rr_torque_nm": none})
    assert front.rates_radps[-1, 2] < -1e-4, "a push on the left alone turns the car to the right"
