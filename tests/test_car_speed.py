"""The benchmark of the car: that it drives what it says, counts what it says, and prints what the contract says."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from hodograph.bench.car_peers import PEERS, peer_times_us
from hodograph.bench.car_speed import (
    SIGMA_POINTS,
    CarSpeed,
    SigmaTimes,
    StepTimes,
    _one_round,
    multiply_adds,
    require_kept,
    sigma57,
    sigma_states,
    step_times,
    stop_and_go,
)
from hodograph.cli.main import app
from hodograph.core.errors import MechanismError
from hodograph.multibody.car.car import Car, Drive
from hodograph.multibody.motion.kinematics import constraint_norms
from hodograph.multibody.steps.stepper import StepCost

KEYS = [
    "step_us_median", "step_us_p99", "step_us_p999", "newton_iterations_mean", "sigma57_ms", "limit_us", "peers",
]  # fmt: skip


@pytest.fixture(scope="module")
def car() -> Car:
    return Car.of("xbw")


@pytest.fixture(scope="module")
def drive(car: Car) -> Drive:
    return car.drive(car.settle(braked=True), stop_and_go(car))


def test_the_manoeuvre_goes_stops_goes_and_stops(drive: Drive) -> None:
    speed_mps, t_s = np.abs(drive.body_mps[:, 0]), drive.t_s
    assert speed_mps[t_s < 0.9].max() < 1e-3
    assert speed_mps[(t_s > 5.0) & (t_s < 14.0)].min() > 7.0
    assert np.ptp(drive.acceleration_mps2[(t_s > 6.0) & (t_s < 13.0), 1]) > 4.0  # the slalom
    assert speed_mps[(t_s > 19.0) & (t_s < 21.0)].max() < 1e-3
    assert speed_mps[(t_s > 23.0) & (t_s < 25.0)].min() > 1.0
    assert speed_mps[t_s > 29.0].max() < 1e-3
    assert drive.cost.capped == 0


def test_timed_steps_are_the_steps_of_a_drive(car: Car) -> None:
    start, controls = car.settle(braked=True), stop_and_go(car)
    took_us, iterations = np.zeros(len(controls["rack_m"])), np.zeros(len(controls["rack_m"]))
    cost = _one_round(car, start, car.schedule(controls), took_us, iterations)
    car.stepper.forget()
    drive = car.drive(start, controls)
    assert took_us.min() > 0.0
    assert iterations.sum() == cost[0] == drive.cost.iterations
    assert cost[3] == drive.cost.residual <= 1e-8


def test_step_times_leave_the_first_round_out(car: Car) -> None:
    times = step_times(car, rounds=2)
    assert times.took_us.shape == (2, 7500)
    assert times.cost.residual <= 1e-8
    assert times.quantile_us(0.5) <= times.quantile_us(0.99) <= times.quantile_us(0.999)
    assert 0.0 < times.clock_us < times.quantile_us(0.5)


def test_sigma_points_are_57_different_consistent_cars(car: Car, drive: Drive) -> None:
    points = sigma_states(car, drive.last)
    assert len(points) == SIGMA_POINTS
    assert len({point.q.tobytes() + point.qd.tobytes() for point in points}) == SIGMA_POINTS
    assert max(constraint_norms(car.model, point, work=car.stepper.work)[0] for point in points) < 1e-10
    times = sigma57(car, moments=1, rounds=2)
    assert times.took_ms.shape == (1, 2)
    assert times.took_ms.min() > 0.0
    assert 0.0 < times.residual <= 1e-8
    assert (times.steps, times.capped) == (15 * 4, 0)


@pytest.mark.parametrize("worst_m", [1.1e-8, np.nan])
def test_a_benchmark_that_leaves_its_constraints_raises(car: Car, worst_m: float) -> None:
    require_kept(car, np.array([0.0, 0.0, 0.0, 1e-9, 0.0, 0.0, 0.0]))
    with pytest.raises(MechanismError, match="constraints are left by"):
        require_kept(car, np.array([0.0, 0.0, 0.0, worst_m, 0.0, 0.0, 0.0]))


def test_multiply_adds_are_counted_as_the_kernels_do_them(car: Car) -> None:
    cost = StepCost(10, 20, 10, 20, 0.0, 0, 0)
    counted = multiply_adds(car, cost)
    factor = car.model.tables.factor
    below = [int(end) - int(first) - 1 for first, end in zip(factor.start, factor.start[1:], strict=False)]
    assert counted["factor"] == sum(c * (c + 1) // 2 + 2 * c for c in below)
    twice = multiply_adds(car, replace(cost, iterations=40))
    assert twice["factor"] == counted["factor"]
    assert twice["solves"] == pytest.approx(counted["solves"] * 6.0 / 4.0)


def _made_up(peers_us: dict[str, float | None]) -> CarSpeed:
    cost = StepCost(4, 5, 4, 5, 1e-10, 0, 0)
    steps = StepTimes(np.array([[20.0, 30.0, 20.0, 90.0]]), np.array([1.0, 1.0, 1.0, 2.0]), cost, 0.3)
    return CarSpeed(steps, SigmaTimes(np.full((2, 3), 1.5), 1e-9, 30, 0), {"all": 64000.0}, 6400.0, peers_us)


def test_json_has_the_keys_of_the_contract_and_null_for_a_missing_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    peers: dict[str, float | None] = dict.fromkeys(PEERS)
    peers["mujoco_step_us"] = 20.0
    monkeypatch.setattr("hodograph.bench.car_speed.measure_car", lambda car: _made_up(peers))
    result = CliRunner().invoke(app, ["bench", "car", "--json"])
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert list(report) == KEYS
    assert report["step_us_median"] == 25.0
    assert report["newton_iterations_mean"] == 1.25
    assert report["limit_us"] == 10.0
    assert report["peers"]["pinocchio_aba_us"] is None
    assert result.stderr.count("pinocchio is not installed") == 1
    assert "mujoco is not" not in result.stderr


def test_peers_that_are_installed_give_times() -> None:
    from importlib.util import find_spec

    times = peer_times_us(rounds=1)
    assert list(times) == list(PEERS)
    for name, package in (("mujoco_step_us", "mujoco"), ("pinocchio_aba_us", "pinocchio")):
        assert (times[name] is None) == (find_spec(package) is None)
        assert times[name] is None or times[name] > 0.0
