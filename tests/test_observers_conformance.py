"""Every observer of ours through the conformance suite; filterpy as second oracle; the CEKF against CARE."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.linalg import solve_continuous_are

from hodograph.core.reading import Reading
from hodograph.multibody.mechanism import CoordinateSpring, Linear, Mechanism, Particle, Point
from hodograph.multibody.model import build
from hodograph.multibody.stepper import Stepper
from hodograph.observers.conformance import (
    CHECKS,
    DENSITY,
    STEP_NS,
    KalmanReference,
    LinearCase,
    Make,
    check_consistent,
    check_equals_kalman,
    rail,
    simulate,
)
from hodograph.observers.mechanism import MechanismEngine, Problem, observer
from hodograph.observers.plant import Uncertainty
from hodograph.observers.protocol import Observer
from hodograph.observers.recipes import RECIPES
from hodograph.sensors import Encoder, Quality, mount

PLAIN = [
    name for name in RECIPES if not name.startswith(("force", "gravity", "shaping", "error_ekf_fe", "error_ekf_ad"))
]
APPROXIMATE = {"cekf": 3e-2}


def maker(name: str) -> Make:
    def make(case: LinearCase) -> Observer:
        return observer(case.problem, name, gate=36.0)

    return make


@pytest.mark.parametrize("check", CHECKS, ids=lambda c: c.__name__)
@pytest.mark.parametrize("name", PLAIN)
def test_conforms(name: str, check: Callable[..., None], soak: bool) -> None:
    if check is check_equals_kalman:
        check_equals_kalman(maker(name), APPROXIMATE.get(name, 1e-10))
    elif check is check_consistent:
        check_consistent(maker(name), 100 if soak or name in ("dekf", "ukf_tr") else 25)
    else:
        check(maker(name))


def test_the_oracle_agrees_with_filterpy() -> None:
    kalman = pytest.importorskip("filterpy.kalman")
    case = rail()
    theirs = kalman.KalmanFilter(dim_x=2, dim_z=1)
    theirs.x, theirs.P, theirs.F, theirs.Q = case.x0.copy(), case.P0.copy(), case.F, case.Q
    ours = KalmanReference(case)
    _, readings = simulate(case, 100, 1)
    done = 0
    for reading in readings:
        while done < reading.t_ns // STEP_NS:
            ours.predict()
            theirs.predict()
            done += 1
        ours.update(reading.stream, reading.values[0])
        row = np.array([[1.0, 0.0]]) if reading.stream == "position" else np.array([[0.0, 1.0]])
        theirs.update(reading.values[0], R=case.R[reading.stream], H=row)
        assert np.allclose(ours.x, theirs.x.ravel(), atol=1e-12)
        assert np.allclose(ours.P, theirs.P, atol=1e-12)


def oscillator() -> Problem:
    mechanism = Mechanism(
        1, "oscillator", "planar", (0.0, 0.0), {"P": Point((0.0, 0.0))}, {"body": Particle("P", 2.0)},
        constraints={"rail": Linear({"P.y": 1.0}, 0.0)}, independent=("P.x",),
        forces={"spring": CoordinateSpring("P.x", 50.0, 1.0, 0.0)},
    )  # fmt: skip
    model = build(mechanism)
    sensors = mount(model, [Encoder("position", "P.x", Quality(0.1))])
    return Problem(model, sensors, Uncertainty(DENSITY, 0.3, 0.5), Stepper(model).start(), 0.01)


def test_the_covariance_of_the_cekf_is_that_of_care() -> None:
    problem = oscillator()
    made = MechanismEngine(problem, RECIPES["cekf"], np.inf)
    run = made.run(np.zeros((3000, 1)))
    A = np.array([[0.0, 1.0], [-25.0, -0.5]])
    density = 0.1**2 * problem.step_s
    care = solve_continuous_are(A.T, np.array([[1.0], [0.0]]), np.diag([0.0, DENSITY]), np.array([[density]]))
    assert np.allclose(run.P[-1], care, rtol=1e-8, atol=1e-12)


def test_a_lost_state_resets_and_is_counted() -> None:
    problem = oscillator()
    made = observer(problem, "error_ekf")
    engine = made.engine
    assert isinstance(engine, MechanismEngine)
    engine.node.P[:] = np.nan
    made.predict_to(STEP_NS)
    made.correct(Reading(2 * STEP_NS, "position", (0.1,)))
    assert engine.node.counts[1] >= 1.0
    assert np.isfinite(made.estimate.x).all()
    assert np.linalg.eigvalsh(made.estimate.P).min() > 0.0
