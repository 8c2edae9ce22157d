"""The car obeys the laws of mechanics: equilibrium, energy, momentum, mirror symmetry."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from car_drives import (
    STEP_S,
    VEHICLES,
    car_of,
    momentum,
    pulse,
    settled,
    slalom,
    symmetric,
    times_s,
    without_air,
)

from hodograph.multibody import State, StepOptions
from hodograph.multibody.car import CORNERS, read_vehicle, static_loads
from hodograph.multibody.car.car import Car
from hodograph.multibody.car.energy import EnergyAccount, energy_account
from hodograph.multibody.motion.dynamics_kernels import lagrange
from hodograph.multibody.motion.energy import potential_j, spring_length_m


@pytest.mark.parametrize("name", VEHICLES)
def test_static_loads_carry_the_weight_at_its_place(name: str) -> None:
    """Loads of the settled car: their sum is the weight, their moments put the centre of gravity where masses do."""
    car, state = car_of(name), settled(name)
    loads = car.loads_n(state)
    weight_n = car.vehicle.gravity_mps2 * car.model.inertia.total_kg
    assert sum(loads.values()) == pytest.approx(weight_n, rel=1e-6)
    _, centre, _ = momentum(car, state.q, np.zeros(car.model.n))
    contact = {c: _contact_m(car, state, c) for c in CORNERS}
    for axis in (0, 1):
        assert sum(loads[c] * contact[c][axis] for c in CORNERS) / weight_n == pytest.approx(centre[axis], abs=1e-5)
    front = (loads["fl"] + loads["fr"]) / weight_n
    assert front == pytest.approx(static_loads(car.vehicle).front_share, abs=1e-3)
    assert front == pytest.approx(static_loads(car.vehicle).cg_m[0] / car.vehicle.wheelbase_m, abs=1e-3)


def _contact_m(car: Car, state: State, corner: str) -> np.ndarray:
    centre = car.model.position_m(f"{corner}_W", state.q)
    axis = state.q[car.model.index(f"{corner}_ey.x") :][:3]
    up = np.array([0.0, 0.0, 1.0]) - axis[2] * axis
    return np.asarray(centre - centre[2] / up[2] * up)


def _account(name: str, h_s: float) -> EnergyAccount:
    car = car_of(name)
    controls = slalom(10.0, h_s)
    drive = car.drive(car.moving(settled(name), 15.0), controls, h_s)
    assert np.abs(drive.acceleration_mps2[:, 1]).max() > 3.0
    assert drive.acceleration_mps2[:, 0].min() < -2.0
    return energy_account(car, drive)


@pytest.mark.parametrize("name", VEHICLES)
def test_energy_balance_of_ten_seconds_with_steering_drive_and_brakes(name: str) -> None:
    """What the car gains is what all forces put in: the rest is below 1e-3 of the turnover and falls with h²."""
    account, finer = _account(name, STEP_S), _account(name, STEP_S / 2.0)
    assert np.abs(account.residual_j).max() < 1e-3 * account.turnover_j  # the requirement
    assert np.abs(account.residual_j).max() < 1e-5 * account.turnover_j  # what it does
    assert np.abs(finer.residual_j).max() < 0.35 * np.abs(account.residual_j).max()
    for kind in ("dampers", "rolling_resistance", "brakes", "air"):
        assert account.power_w[kind].max() < 1e-3 * np.abs(account.power_w[kind]).max(), kind
    for kind, work in account.work_j.items():  # the manoeuvre exercises every kind
        assert np.abs(work).max() > 1e-6 * account.turnover_j, kind
    assert account.work_j["tyres_slip"][-1] < 0.0
    assert account.work_j["drive"][-1] > 0.0


def test_energy_counts_the_bars() -> None:
    """Of a body that rolls on its wheels, bars hold ½ k twist² more."""
    car, loads = car_of("xbw"), car_of("xbw").model.tables.loads
    q = settled("xbw").q.copy()
    q[car.model.index("ez.y")] += 0.05  # moves the seats on the chassis; constraints do not matter for an energy
    twists = np.array(
        [
            np.subtract(*(spring_length_m(loads, int(s), q[None])[0] - loads.spring_par[s, 1] for s in pair))
            for pair in loads.bar
        ]
    )
    assert np.abs(twists).min() > 1e-3
    bare = replace(car.model, tables=car.model.tables._replace(loads=loads._replace(bar_par=0.0 * loads.bar_par)))
    stored = potential_j(car.model, q[None])[0] - potential_j(bare, q[None])[0]
    assert stored == pytest.approx(0.5 * loads.bar_par @ twists**2, rel=1e-9)


def test_energy_of_curves_is_the_integral_of_their_force() -> None:
    """Stored energy of springs with stops: its slope over a displacement is the force that the kernels give."""
    car, state = car_of("race_car"), settled("race_car")
    for bump_m in (-0.12, -0.05, 0.0, 0.04, 0.09):
        q = state.q.copy()
        q[[car.model.index(f"{c}_W.z") for c in CORNERS]] += bump_m
        step = np.zeros(car.model.n)
        step[car.model.index("fl_W.z")] = 1e-5
        slope = np.subtract(*(potential_j(car.model, (q + sign * step)[None])[0] for sign in (1.0, -1.0))) / 2e-5
        work = car.stepper.work
        zero = np.zeros(car.model.n)
        work.wheels[:] = 0.0
        lifted = q.copy()
        lifted[[car.model.index(f"{p}.z") for p in car.model.mechanism.points]] += 5.0  # off the road: springs alone
        rows = np.zeros(car.model.rows)
        lagrange(car.model.tables, work, car.stepper.force, 0.0, lifted, zero, np.zeros(2), zero.copy(), rows)
        assert -slope == pytest.approx(work.force[car.model.index("fl_W.z")], rel=1e-5, abs=1e-3)


def _thrown(car: Car, start: State) -> State:
    """Five metres up, moving, turning about all axes, every wheel spinning differently."""
    model = car.model
    q, qd = start.q.copy(), np.zeros(model.n)
    turn, velocity = np.array([0.5, -0.4, 0.8]), np.array([12.0, 2.0, 3.0])
    for name in model.mechanism.points:
        i = model.index(f"{name}.x")
        q[i + 2] += 5.0
        qd[i : i + 3] = velocity + np.cross(turn, q[i : i + 3])
    for name in model.mechanism.vectors:
        i = model.index(f"{name}.x")
        qd[i : i + 3] = np.cross(turn, q[i : i + 3])
    for corner, spin in zip(CORNERS, (60.0, -30.0, 90.0, 50.0), strict=True):
        qd[model.index(f"{corner}_spin")] = spin
    return car.stepper.repair(State(0.0, q, qd, np.zeros(model.n), np.zeros(model.rows)))


@pytest.mark.parametrize("name", VEHICLES)
def test_momentum_in_free_flight(name: str) -> None:
    """In the air and without air only gravity acts: drive, brakes, steering, differential and springs are internal.

    The centre of gravity follows its parabola to rounding. The angular momentum about it is kept up to the error of
    the step, which falls with h²: rotation is integrated in nine coordinates, whose trapezoidal rule is no isometry.
    """
    car, turned = without_air(name), []
    car.stepper.options = StepOptions(tolerance=1e-11)
    start = _thrown(car, settled(name))
    before = momentum(car, start.q, start.qd)
    for h_s in (STEP_S, STEP_S / 2.0):
        t = times_s(0.8, h_s)
        push = pulse(t, 0.1, 0.7, 0.2)
        controls = {
            "rack_m": 0.01 * push,
            "drive_nm": 300.0 * push,
            "brake_front_pa": 5e5 * push,
            "brake_rear_pa": 3e5 * push,
        }
        car.stepper.forget()
        drive = car.drive(start, controls, h_s)
        assert drive.load_n.max() == 0.0
        after = momentum(car, drive.last.q, drive.last.qd)
        gravity = np.array([0.0, 0.0, -car.vehicle.gravity_mps2])
        mass_kg = car.model.inertia.total_kg
        np.testing.assert_allclose(after[0], before[0] + mass_kg * gravity * t[-1], rtol=0.0, atol=1e-8 * mass_kg)
        fall = before[1] + before[0] / mass_kg * t[-1] + 0.5 * gravity * t[-1] ** 2
        np.testing.assert_allclose(after[1], fall, rtol=0.0, atol=1e-9)
        turned.append(float(np.linalg.norm(after[2] - before[2]) / np.linalg.norm(before[2])))
    assert turned[0] < 3e-5
    assert turned[1] < 0.4 * turned[0]


@pytest.mark.parametrize("name", VEHICLES)
def test_left_and_right_manoeuvres_mirror(name: str) -> None:
    """On a symmetric car, mirrored steering gives the mirrored drive to 1e-9 (Newton converged to rounding)."""
    car = Car(symmetric(read_vehicle(name)), StepOptions(tolerance=1e-12))
    start = car.moving(car.settle(), 15.0)
    controls = slalom(5.0)
    left = car.drive(start, controls)
    right = car.drive(start, {**controls, "rack_m": -controls["rack_m"]})
    assert np.abs(left.position_m[:, 1]).max() > 1.0
    np.testing.assert_allclose(left.position_m, right.position_m * [1, -1, 1], rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(left.rpy_rad, right.rpy_rad * [-1, 1, -1], rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(left.rates_radps, right.rates_radps * [-1, 1, -1], rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(left.body_mps, right.body_mps * [1, -1, 1], rtol=0.0, atol=1e-9)
    weight_n = sum(car.loads_n(start).values())
    np.testing.assert_allclose(left.load_n / weight_n, right.load_n[:, [1, 0, 3, 2]] / weight_n, rtol=0.0, atol=1e-9)
