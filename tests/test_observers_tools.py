"""Observability, whiteness, noise from a standstill, likelihood tuning, and the generic unscented kernels."""

from __future__ import annotations

import numpy as np
import pytest

from hodograph.multibody.kinematics import from_independent
from hodograph.multibody.mechanism import shipped_mechanism
from hodograph.multibody.model import build
from hodograph.observers.conformance import DENSITY, rail, simulate
from hodograph.observers.mechanism import MechanismEngine, Problem
from hodograph.observers.plant import Uncertainty, gravity_error
from hodograph.observers.recipes import RECIPES
from hodograph.observers.tools import (
    noise_from_standstill,
    observability,
    statistical_observability,
    tune,
    whiteness,
)
from hodograph.sensors import Encoder, Gyroscope, Quality, mount


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


def test_the_gravity_column_is_the_weight() -> None:
    model = build(shipped_mechanism("fourbar"))
    column = np.array(gravity_error(model, 0.0, 1.0).column)
    assert np.allclose(9.81 * column, model.tables.loads.steady, atol=1e-12)
