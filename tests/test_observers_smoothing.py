"""Smoothers: equal to the textbook in the linear case, for extended and unscented filters, and live with a lag."""

from __future__ import annotations

import numpy as np
import pytest

from hodograph.bench.linkages.grid import Case, Source, problem_of, readings_of
from hodograph.bench.linkages.truth import truth_of
from hodograph.core.frames import Array
from hodograph.core.reading import Reading, Verdict
from hodograph.observers.conformance import STEP_NS, STREAMS, LinearCase, falling_rail, rail, simulate
from hodograph.observers.on_mechanism.mechanism import engine, observer
from hodograph.observers.smoothing import smooth, smooth_fixed_lag


def grid_and_readings(case: LinearCase, steps: int, seed: int) -> tuple[Array, list[Reading]]:
    grid = np.full((steps, 2), np.nan)
    _, readings = simulate(case, steps, seed)
    for reading in readings:
        grid[reading.t_ns // STEP_NS - 1, STREAMS.index(reading.stream)] = reading.values[0]
    return grid, readings


def batch_least_squares(case: LinearCase, grid: Array) -> Array:
    """All states at once from the whole linear problem, (steps, n): what a fixed-interval smoother must give."""
    steps, n = len(grid), len(case.x0)
    information, right = np.zeros(((steps + 1) * n, (steps + 1) * n)), np.zeros((steps + 1) * n)
    information[:n, :n] = np.linalg.inv(case.P0)
    right[:n] = information[:n, :n] @ case.x0
    W = np.linalg.inv(case.Q)
    for k in range(steps):
        J = np.hstack([-case.F, np.eye(n)])
        here = slice(k * n, (k + 2) * n)
        information[here, here] += J.T @ W @ J
        right[here] += J.T @ W @ case.drift
        for row, stream in enumerate(STREAMS):
            if np.isfinite(grid[k, row]):
                information[(k + 1) * n + row, (k + 1) * n + row] += 1.0 / case.R[stream]
                right[(k + 1) * n + row] += grid[k, row] / case.R[stream]
    return np.linalg.solve(information, right).reshape(steps + 1, n)[1:]


@pytest.mark.parametrize("name", ["dekf", "error_ekf_ej", "ukf_tr", "ukf_fe", "srukf"])
def test_a_smoother_solves_the_whole_problem_at_once(name: str) -> None:
    case = rail()
    grid, _ = grid_and_readings(case, 80, 21)
    smoothed = smooth(engine(case.problem, name).run(grid, for_smoother=True))
    assert np.allclose(smoothed.x, batch_least_squares(case, grid), atol=1e-7)


@pytest.mark.parametrize("name", ["gravity_ekf", "gravity_ukf"])
def test_a_smoother_with_a_parameter_does_too(name: str) -> None:
    case = falling_rail()
    grid, _ = grid_and_readings(case, 80, 22)
    smoothed = smooth(engine(case.problem, name).run(grid, for_smoother=True))
    assert np.allclose(smoothed.x, batch_least_squares(case, grid), atol=1e-6)


def test_the_unscented_smoother_on_the_four_bar() -> None:
    case = Case("fourbar", "encoder_crank", "gravity_ukf", 50, "high")
    run = engine(problem_of(case), case.observer).run(readings_of(case, Source(None, 3)), for_smoother=True)
    z = truth_of("fourbar", "nd2017").z
    filtered, smoothed = (np.sqrt(((x[:, :1] - z) ** 2).mean()) for x in (run.x, smooth(run).x))
    assert smoothed < 0.45 * filtered


@pytest.mark.parametrize("name", ["dekf", "ukf_tr"])
def test_the_live_lag_equals_the_fixed_lag_over_a_run(name: str) -> None:
    case, lag = rail(), 10
    grid, readings = grid_and_readings(case, 60, 23)
    whole = smooth_fixed_lag(engine(case.problem, name).run(grid, for_smoother=True), lag)
    live = observer(case.problem, name, gate=np.inf, lag_s=lag * 0.01)
    for k in range(1, 61):
        live.predict_to(k * STEP_NS)
        for reading in (r for r in readings if r.t_ns == k * STEP_NS):
            assert live.correct(reading) is Verdict.USED
        late = live.lagged
        assert late.t_ns == max(0, k - lag) * STEP_NS
        if k > lag:
            assert np.allclose(late.x, whole.x[k - lag - 1], atol=1e-9)
            assert np.allclose(late.P, whole.P[k - lag - 1], atol=1e-9)
            assert late.P[0, 0] <= live.estimate.P[0, 0] * 1.5


def test_a_late_reading_is_in_the_lagged_estimate_too() -> None:
    case = rail()
    _, readings = grid_and_readings(case, 60, 24)
    in_time, late = (observer(case.problem, "error_ekf_ej", gate=np.inf, lag_s=0.2) for _ in range(2))
    for reading in readings:
        in_time.correct(reading)
    held = readings[-5]
    for reading in readings[:-5] + readings[-4:]:
        late.correct(reading)
    before = late.lagged
    assert late.correct(held) is Verdict.LATE
    assert late.lagged.t_ns == in_time.lagged.t_ns
    assert np.allclose(late.lagged.x, in_time.lagged.x, atol=1e-9)
    assert np.abs(late.lagged.x - before.x).max() > 1e-6


def test_who_cannot_be_smoothed_says_so() -> None:
    case = rail()
    with pytest.raises(ValueError, match="cannot be smoothed"):
        observer(case.problem, "cekf", lag_s=0.1)
    with pytest.raises(ValueError, match="lag_s must lie in"):
        observer(case.problem, "dekf", lag_s=-1.0)
    with pytest.raises(ValueError, match="complete run"):
        smooth(engine(case.problem, "cekf").run(np.zeros((3, 2)), for_smoother=True))
