"""SCKF and DIEKFpm: constraints that hold, a covariance that lives, and every row of the linkage benchmark."""

from __future__ import annotations

from math import inf, pi

import numpy as np
import pytest

from hodograph.bench.linkages.config import RATES_HZ, SENSORS
from hodograph.bench.linkages.grid import Case, Source, engine_of, readings_of, score
from hodograph.bench.linkages.truth import truth_of
from hodograph.core.reading import Verdict
from hodograph.multibody.model.build import build
from hodograph.multibody.model.mechanism import shipped_mechanism
from hodograph.multibody.motion.kinematics import constraint_norms, from_independent
from hodograph.observers.on_mechanism.mechanism import MechanismEngine, engine
from hodograph.observers.on_mechanism.problem import Problem
from hodograph.observers.on_mechanism.recipes import RECIPES
from hodograph.observers.on_mechanism.uncertainty import Uncertainty, gravity_error
from hodograph.sensors import Accelerometer, Encoder, Gyroscope, Quality, mount

NAMES = ("sckf", "diekf_pm")


def problem(std_z: float = 0.1, off_rad: float = 0.0, *, accelerometer: bool = False) -> Problem:
    model = build(shipped_mechanism("fourbar"))
    sensors = [Encoder("encoder", "theta", Quality(0.01)), Gyroscope("gyro", "coupler", Quality(0.01))]
    if accelerometer:
        sensors = [Accelerometer("acc", "P2", (1.0, 0.0), Quality(0.05), "coupler"), *sensors]
    start = from_independent(model, 0.0, np.array([pi / 3.0 + off_rad]), np.array([0.5]), model.start_q)
    return Problem(model, mount(model, sensors), Uncertainty(0.1, std_z, 0.1), start)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("off_rad", [0.05, 0.4, 1.2])
def test_constraints_hold_and_the_motion_stays_uncertain(name: str, off_rad: float) -> None:
    p = problem(std_z=0.5)
    made = engine(p, name)
    for _ in range(5):
        made.advance(p.step_s)
        assert made.update("encoder", (float(made.x[0]) + off_rad,)) is Verdict.USED
        assert max(constraint_norms(p.model, made.state)) < 1e-10
        off_rad *= -0.5
    encoder_only = 0.01**2 / 5.0
    assert made.P[0, 0] > 0.8 * encoder_only, "the constraints took variance from the motion"
    assert made.P[0, 0] < 1.2 * 0.01**2


@pytest.mark.parametrize("name", NAMES)
def test_a_linear_reading_of_the_angle_gives_what_independent_coordinates_give(name: str) -> None:
    p = problem()
    grid = np.full((100, 2), np.nan)
    moved = engine(p, "error_ekf_ej").run(grid).x[4::5, 0]
    grid[4::5, 0] = moved + 0.03 * np.sin(np.arange(20))
    a, b = engine(p, name).run(grid), engine(p, "error_ekf_ej").run(grid)
    assert np.abs(a.x[:, 0] - b.x[:, 0]).max() < 1e-4
    assert np.allclose(a.P, b.P, rtol=0.01, atol=1e-7)


@pytest.mark.parametrize("name", NAMES)
def test_step_by_step_equals_the_grid(name: str) -> None:
    p = problem()
    grid = np.full((40, 2), np.nan)
    grid[3::4, 1] = -0.1
    whole, single = engine(p, name), engine(p, name)
    run = whole.run(grid)
    for row in grid:
        single.advance(p.step_s)
        if np.isfinite(row[1]):
            before = single.snapshot()
            single.update("encoder", (1.0,))
            single.restore(before)
            assert single.update("gyro", (float(row[1]),)) is Verdict.USED
    assert np.allclose(single.x, run.x[-1], atol=1e-12)
    assert np.allclose(single.P, run.P[-1], atol=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_accelerometers_and_a_named_parameter(name: str) -> None:
    """Gravity as a state beside all coordinates: found from an encoder and an accelerometer."""
    p = problem(accelerometer=True)
    truth = engine(p, "error_ekf_ej").run(np.full((400, 3), np.nan)).x
    lighter = build(shipped_mechanism("fourbar"))
    light = Problem(
        lighter, p.sensors, Uncertainty(1e-6, 0.1, 0.1, (gravity_error(lighter, 1e-8, 1.0),)), p.start, p.step_s
    )
    made = engine(light, name)
    made.node.theta[0] = -1.0
    grid = np.full((400, 3), np.nan)
    state = p.start
    for k in range(400):
        state = from_independent(p.model, 0.0, truth[k, :1], truth[k, 1:2], state.q)
        grid[k] = p.sensors.h(state.q, state.qd, state.qdd)
    run = made.run(grid)
    assert run.done == 400
    assert abs(run.x[-1, 2]) < 0.05
    assert np.linalg.eigvalsh(run.P[-1]).min() > 0.0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("config", ["nd2017", "head2023"])
@pytest.mark.parametrize("mechanism", ["fourbar", "fivebar"])
def test_no_row_of_the_benchmark_is_lost(name: str, config: str, mechanism: str, soak: bool) -> None:
    for sensors in SENSORS:
        for level in ("high", "low") if soak else ("high",):
            for rate in RATES_HZ if soak else (200, 50, 10):
                s = score(Case(mechanism, sensors, name, rate, level, config), Source())
                assert not s.diverged, s.case
                assert s.rms_rad < 0.08, s


def test_the_band_of_the_sckf_is_honest() -> None:
    """Of the errors after the start nearly all lie within three of its deviations, though the model is wrong."""
    case = Case("fourbar", "encoder_crank", "sckf", 50, "low")
    run = engine_of(case).run(readings_of(case, Source()))
    error = run.x[:, 0] - truth_of("fourbar", "nd2017").z[:, 0]
    assert (np.abs(error[200:]) < 3.0 * np.sqrt(run.P[200:, 0, 0])).mean() > 0.97


def test_bad_readings_leave_an_iterated_update_alone() -> None:
    p = problem()
    made = MechanismEngine(p, RECIPES["diekf_pm"], 25.0)
    made.advance(p.step_s)
    before = made.x
    assert made.update("encoder", (float(before[0]) + 30.0,)) is Verdict.GATED
    assert np.array_equal(made.x, before)
    assert made.update("encoder", (float("nan"),)) is Verdict.INVALID
    assert MechanismEngine(p, RECIPES["diekf_pm"], inf).update("nobody", (1.0,)) is Verdict.INVALID
