"""Four cars side by side move as four cars one by one; steppers keep nothing of other states."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hodograph.multibody.car.car import Car
from hodograph.multibody.model.build import State
from hodograph.multibody.steps.lanes import LaneStepper
from hodograph.multibody.steps.stepper import Refresh, StepOptions, Stepper

TIGHT = StepOptions(tolerance=1e-12, max_iterations=30, refresh=Refresh.EVERY_STEP)


@pytest.fixture(scope="module")
def car() -> Car:
    return Car.of("xbw")


def _inputs(stepper: Stepper | LaneStepper, values: dict[str, float]) -> None:
    for name, value in values.items():
        stepper.set_input(name, value)


@pytest.mark.parametrize(
    ("speeds_mps", "inputs"),
    [
        ((6.0, 8.0, 8.1, 12.0), {"rack_m": 0.0, "drive_nm": 150.0}),
        ((1.0, 0.3, 2.0, 0.0), {"rack_m": 0.0, "brake_front_pa": 3e6, "brake_rear_pa": 2e6}),
    ],
    ids=["driven", "braked to a stop"],
)
def test_lanes_of_the_car_agree_with_single_steps(
    car: Car, speeds_mps: tuple[float, ...], inputs: dict[str, float]
) -> None:
    settled = car.settle()
    states = [car.moving(settled, speed) for speed in speeds_mps]
    lanes = LaneStepper(car.model, TIGHT)
    _inputs(lanes, inputs)
    together, cost = lanes.step(states, 4e-3, 150)
    assert cost.residual < 1e-8
    for state, after in zip(states, together, strict=True):
        alone = Stepper(car.model, options=TIGHT)
        _inputs(alone, inputs)
        last = alone.run(state, 4e-3, 150).last
        for name, tolerance in (("q", 1e-8), ("qd", 1e-6), ("wheels", 1e-8)):
            assert np.abs(getattr(after, name) - getattr(last, name)).max() < tolerance, name


def test_a_lost_lane_is_told_whichever_it_is(car: Car) -> None:
    from hodograph.core.errors import MechanismError

    state = car.moving(car.settle(), 5.0)
    lost = replace(state, q=np.full_like(state.q, np.nan))
    for lane in range(4):
        states: list[State] = [state] * 4
        states[lane] = lost
        with pytest.raises(MechanismError, match="does not converge"):
            LaneStepper(car.model, TIGHT).step(states, 4e-3)


def test_a_stepper_recovers_from_a_lost_state(car: Car) -> None:
    from hodograph.core.errors import MechanismError

    state = car.moving(car.settle(), 5.0)
    for refresh in Refresh:
        stepper = Stepper(car.model, options=replace(TIGHT, refresh=refresh))
        wanted = stepper.run(state, 4e-3, 5).last
        for broken in ("q", "qdd"):
            with pytest.raises(MechanismError):
                stepper.run(replace(state, **{broken: np.full_like(state.q, np.nan)}), 4e-3, 1)
        again = stepper.run(state, 4e-3, 5).last
        assert np.abs(again.q - wanted.q).max() < 1e-9


def test_settling_and_repair_know_nothing_of_the_drive_before(car: Car) -> None:
    fresh = car.settle()
    n = 200
    car.drive(car.moving(fresh, 8.0), {"rack_m": np.full(n, 0.01), "brake_front_pa": np.full(n, 1e6)})
    again = car.settle()
    assert np.array_equal(again.q, fresh.q)
    assert np.array_equal(again.wheels, fresh.wheels)
    other = replace(fresh, wheels=fresh.wheels + 1e-3)
    car.stepper.run(other, 4e-3, 1)
    assert np.array_equal(car.stepper.repair(fresh).wheels, fresh.wheels)
