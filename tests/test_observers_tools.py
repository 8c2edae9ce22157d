"""Observability, whiteness, noise from a standstill, likelihood tuning, and the unscented transform."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hodograph.acquisition.log import LogReader, LogWriter
from hodograph.bench.unscented_speed import Q_VAR, R_VAR, STEP_S, STIFFNESS, swing_engine
from hodograph.core import Channel, StreamSchema
from hodograph.core.errors import MechanismError
from hodograph.core.frames import Array
from hodograph.core.reading import Reading, Verdict
from hodograph.multibody.model.build import build
from hodograph.multibody.model.mechanism import shipped_mechanism
from hodograph.multibody.motion.kinematics import from_independent
from hodograph.multibody.steps.stepper import Stepper
from hodograph.observers.conformance import DENSITY, POSITION_STD, RATE_STD, STEP_NS, pushed_rail, rail, simulate
from hodograph.observers.on_mechanism.mechanism import MechanismEngine
from hodograph.observers.on_mechanism.problem import Problem
from hodograph.observers.on_mechanism.recipes import RECIPES, Steps, Ukf
from hodograph.observers.on_mechanism.uncertainty import Uncertainty, gravity_error, unknown_point_forces
from hodograph.observers.tools import (
    grid_of,
    noise_from_standstill,
    observability,
    statistical_observability,
    tune,
    tune_plant_noise,
    whiteness,
    with_noise,
)
from hodograph.sensors import Encoder, Gyroscope, Quality, mount

MOVES_NS = 40_000_000_000


def test_a_gyroscope_on_the_crank_sees_the_angle_only_through_gravity() -> None:
    model = build(shipped_mechanism("fourbar"))
    state = from_independent(model, 0.0, np.array([1.0]), np.array([0.5]), model.start_q)
    encoder = observability(model, mount(model, [Encoder("e", "theta", Quality(0.1))]), state)
    gyro = observability(model, mount(model, [Gyroscope("g", "crank", Quality(0.1))]), state)
    assert encoder == pytest.approx(0.0, abs=1e-9)
    assert 0.0 < gyro < 3.0


def test_statistical_linearisation_equals_the_matrix_in_the_linear_case() -> None:
    F, H = np.array([[1.0, 0.1], [-0.3, 0.9]]), np.array([[1.0, 0.0]])
    found = statistical_observability(lambda x: F @ x, lambda x: H @ x, np.array([0.3, 0.2]), np.diag([0.1, 0.2]))
    matrix = np.vstack([H, H @ F])
    assert found == pytest.approx(float(np.log10(np.linalg.cond(matrix))), rel=1e-9)
    blind = statistical_observability(lambda x: x, lambda x: H @ x, np.zeros(2), np.eye(2))
    assert blind == float("inf")


def test_whiteness_tells_white_from_coloured() -> None:
    rng = np.random.default_rng(3)
    white = rng.standard_normal(2000)
    good = whiteness(white, np.ones(2000), 100.0)
    assert good.white
    assert good.nis_bounds[0] < good.mean_nis < good.nis_bounds[1]
    assert not whiteness(np.convolve(white, np.ones(5), "same"), np.ones(2000), 100.0).white
    with pytest.raises(ValueError, match="too few"):
        whiteness(white[:10], np.ones(10), 100.0)


def test_noise_from_a_standstill_ignores_a_drift() -> None:
    rng = np.random.default_rng(4)
    samples = rng.standard_normal((5000, 2)) * [0.1, 2.0] + np.linspace(0.0, 30.0, 5000)[:, None]
    samples[17] = np.nan
    assert np.sqrt(np.diag(noise_from_standstill(samples))) == pytest.approx([0.1, 2.0], rel=0.05)


def test_tuning_finds_the_noise_that_was_put_in() -> None:
    case = rail()
    grids = []
    for seed in range(3):
        _, readings = simulate(case, 400, seed)
        grid = np.full((400, 2), np.nan)
        for reading in readings:
            grid[reading.t_ns // 10_000_000 - 1, 0 if reading.stream == "position" else 1] = reading.values[0]
        grids.append(grid)

    def make(parameters: np.ndarray) -> MechanismEngine:
        p = case.problem
        uncertainty = Uncertainty(float(parameters[0]), p.uncertainty.std_z, p.uncertainty.std_zd)
        return MechanismEngine(Problem(p.model, p.sensors, uncertainty, p.start, p.step_s), RECIPES["dekf"], np.inf)

    found = tune(make, grids, np.array([DENSITY * 30.0]))
    assert found.log_likelihood > found.log_likelihood_start
    assert DENSITY / 2.5 < found.parameters[0] < DENSITY * 2.5


@pytest.fixture
def log(tmp_path: Path) -> LogReader:
    """Two minutes of a particle on a rail: the first half minute it stands still."""
    case = rail()
    schemas = {
        "position": StreamSchema("position", (Channel("p_m", "m"),)),
        "rate": StreamSchema("rate", (Channel("v_mps", "m/s"),)),
    }
    rng = np.random.default_rng(8)
    with LogWriter.create(tmp_path / "rail.drive") as writer:
        for schema in schemas.values():
            writer.add_stream(schema)
        for k in range(3000):
            writer.append(Reading(k * STEP_NS, "position", (float(rng.normal(0.0, POSITION_STD)),)))
            writer.append(Reading(k * STEP_NS, "rate", (float(rng.normal(0.0, RATE_STD)),)))
        for reading in simulate(case, 2000, 11)[1]:
            writer.append(replace(reading, t_ns=reading.t_ns + MOVES_NS))
    return LogReader(tmp_path / "rail.drive")


def test_noise_and_plant_noise_from_a_log(log: LogReader) -> None:
    still = log.numpy("position", t_max_ns=MOVES_NS - 1)
    assert noise_from_standstill(still)[0, 0] ** 0.5 == pytest.approx(POSITION_STD, rel=0.05)
    p = rail().problem
    wrong = replace(p, uncertainty=replace(p.uncertainty, density_zdd=30.0 * DENSITY))
    better, found = tune_plant_noise(wrong, "dekf", log.readings(t_min_ns=MOVES_NS), start_ns=MOVES_NS)
    assert found.log_likelihood > found.log_likelihood_start
    assert DENSITY / 2.5 < better.uncertainty.density_zdd < DENSITY * 2.5
    with pytest.raises(ValueError, match="no reading"):
        tune_plant_noise(wrong, "dekf", [])


def test_a_grid_of_readings_takes_latency_off_and_leaves_strangers_out() -> None:
    model = build(shipped_mechanism("fourbar"))
    sensors = mount(model, [Encoder("e", "theta", Quality(0.1)), Gyroscope("g", "crank", Quality(0.1, latency_s=0.01))])
    problem = Problem(model, sensors, Uncertainty(0.1, 0.1, 0.1), Stepper(model).start(), 0.005)
    grid = grid_of(
        problem,
        [
            Reading(1_000_000_000, "e", (9.0,)),  # before the first step
            Reading(1_005_000_000, "e", (1.0,)),
            Reading(1_020_000_000, "g", (2.0,)),
            Reading(1_020_000_000, "nobody", (3.0,)),
            Reading(1_020_000_000, "e", (3.0, 4.0)),
        ],
        start_ns=1_000_000_000,
    )
    assert grid.shape == (2, 2)
    assert grid[0, 0] == 1.0
    assert grid[1, 1] == 2.0
    assert np.isnan(grid).sum() == 2
    assert grid_of(problem, []).shape == (0, 2)


def test_other_plant_noise_needs_a_density_for_each_disturbance() -> None:
    problem = pushed_rail().problem
    changed = with_noise(problem, np.array([1.0, 2.0])).uncertainty
    assert (changed.density_zdd, changed.disturbances[0].density) == (1.0, 2.0)
    with pytest.raises(ValueError, match="want 2"):
        with_noise(problem, np.array([1.0]))


def test_point_forces_scale_with_the_weight_they_carry() -> None:
    model = build(shipped_mechanism("fourbar"))
    forces = unknown_point_forces(model, 1e-4, 0.1)
    assert [f.name for f in forces] == ["force_P1.x", "force_P1.y", "force_P2.x", "force_P2.y"]
    assert [f.std for f in forces] == pytest.approx([0.1 * 9.81 * m for m in (5.0, 5.0, 6.5, 6.5)])
    assert forces[3].density == pytest.approx(1e-4 * (9.81 * 6.5) ** 2)
    with pytest.raises(MechanismError, match="carries weight"):
        unknown_point_forces(rail().problem.model, 1e-4, 0.1)


def test_the_unscented_filter_of_the_benchmark_equals_its_numpy_twin() -> None:
    def swing(x: Array) -> list[float]:
        return [x[0] + STEP_S * x[1], x[1] - STEP_S * STIFFNESS * x[0] * (1.0 - 0.1 * x[0] ** 2)]

    def look(x: Array) -> list[float]:
        return [x[0] + 0.009 * x[0] ** 2]

    w = Ukf(Steps.EULER, alpha=0.7).weights(2)
    mean_weights = np.array([1.0 - 4.0 * w.other, *[w.other] * 4])
    cov_weights = np.array([w.centre_cov, *[w.other] * 4])
    x, P, value = np.array([0.4, 0.1]), np.diag([0.1, 0.2]), 0.3
    engine = swing_engine(x, P, 1, alpha=0.7)
    engine.advance(STEP_S)
    assert engine.update("positions", (value,)) is Verdict.USED
    for f, rows in ((swing, 2), (look, 1)):
        L = w.spread * np.linalg.cholesky(P)
        drawn = np.vstack([x, x + L.T, x - L.T])
        out = np.array([f(point) for point in drawn])
        expected = mean_weights @ out
        off = out - expected
        if rows == 2:
            x, P = expected, (cov_weights[:, None] * off).T @ off + Q_VAR * np.eye(2)
    S = (cov_weights[:, None] * off).T @ off + R_VAR
    K = (cov_weights[:, None] * (drawn - x)).T @ off / S
    assert engine.x == pytest.approx(x + K[:, 0] * (value - expected)[0], rel=1e-12)
    assert pytest.approx(P - S[0, 0] * K @ K.T, rel=1e-12) == engine.P


def test_the_gravity_column_is_the_weight() -> None:
    model = build(shipped_mechanism("fourbar"))
    column = np.array(gravity_error(model, 0.0, 1.0).column)
    assert np.allclose(9.81 * column, model.tables.loads.steady, atol=1e-12)
