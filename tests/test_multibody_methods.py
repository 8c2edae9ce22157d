"""Formulations and integrators against each other, measured orders, projections, and what a step reports."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest

from hodograph.core.errors import MechanismError
from hodograph.multibody import (
    Formulation,
    Integrator,
    Model,
    Projection,
    Refresh,
    State,
    StepOptions,
    Stepper,
    build,
    consistent,
    constraint_norms,
    energy_j,
    from_independent,
    mass_matrix,
    shipped_mechanism,
    shipped_mechanisms,
)

LIE = Integrator.LINEARLY_IMPLICIT_EULER
NO_DRIFT = StepOptions(baumgarte=(0.0, 0.0), projection=Projection.ALWAYS)
METHODS: dict[str, tuple[Formulation, Integrator, StepOptions, int]] = {
    "augmented": (Formulation.AUGMENTED_LAGRANGIAN, Integrator.TRAPEZOIDAL, StepOptions(tolerance=1e-12), 2),
    "r-euler": (Formulation.MATRIX_R, Integrator.FORWARD_EULER, StepOptions(), 1),
    "r-trapezoidal": (Formulation.MATRIX_R, Integrator.TRAPEZOIDAL, StepOptions(), 2),
    "r-rk4": (Formulation.MATRIX_R, Integrator.RK4, StepOptions(), 4),
    "r-dopri": (Formulation.MATRIX_R, Integrator.DORMAND_PRINCE, StepOptions(), 5),
    "lagrange-euler": (Formulation.LAGRANGE, Integrator.FORWARD_EULER, NO_DRIFT, 1),
    "lagrange-trapezoidal": (Formulation.LAGRANGE, Integrator.TRAPEZOIDAL, NO_DRIFT, 2),
    "lagrange-rk4": (Formulation.LAGRANGE, Integrator.RK4, NO_DRIFT, 4),
    "lagrange-dopri": (Formulation.LAGRANGE, Integrator.DORMAND_PRINCE, NO_DRIFT, 5),
    "lie-dependent": (Formulation.AUGMENTED_LAGRANGIAN, LIE, StepOptions(independent=False), 1),
    "lie-independent": (Formulation.AUGMENTED_LAGRANGIAN, LIE, StepOptions(independent=True), 1),
}


@pytest.fixture(scope="module")
def fourbar() -> Model:
    return build(shipped_mechanism("fourbar"))


def end(model: Model, name: str, h_s: float, seconds: float = 0.4) -> State:
    formulation, integrator, options, _ = METHODS[name]
    stepper = Stepper(model, formulation, integrator, options)
    steps = round(seconds / h_s)
    return stepper.run(stepper.start(moving(model)), h_s, steps, every=steps).last


def moving(model: Model) -> np.ndarray:
    qd = np.zeros(model.n)
    qd[model.independent] = 3.0
    return from_independent(model, 0.0, model.start_q[model.independent], qd[model.independent], model.start_q).qd


@pytest.mark.parametrize("name", METHODS)
def test_order_of_convergence(fourbar: Model, name: str) -> None:
    exact = end(fourbar, "r-dopri", 5e-4).q
    order = METHODS[name][3]
    coarse = {1: 2e-3, 2: 1e-2, 4: 2e-2, 5: 2.5e-2}[order]
    errors = [np.abs(end(fourbar, name, h).q - exact).max() for h in (coarse, coarse / 2)]
    measured = np.log2(errors[0] / errors[1])
    assert measured > order - 0.35, errors
    assert measured < order + 2.0, errors


@pytest.mark.parametrize("name", shipped_mechanisms())
def test_formulations_agree_and_hold_the_constraints(name: str) -> None:
    model = build(shipped_mechanism(name))
    ends = {}
    for formulation in (Formulation.MATRIX_R, Formulation.LAGRANGE, Formulation.PENALTY):
        stepper = Stepper(model, formulation, Integrator.RK4)
        run = stepper.run(stepper.start(), 1e-3, 300, every=300)
        ends[formulation] = run.last.q
        assert run.cost.residual < (1e-5 if formulation is Formulation.PENALTY else 1e-8)
    stepper = Stepper(model)
    run = stepper.run(stepper.start(), 1e-3, 300, every=300)
    assert run.cost.residual <= 1e-10
    assert max(constraint_norms(model, run.last)) < 1e-8
    scale = max(1.0, float(np.abs(run.last.q).max()))
    assert np.abs(ends[Formulation.LAGRANGE] - ends[Formulation.MATRIX_R]).max() < 1e-7 * scale
    assert np.abs(ends[Formulation.PENALTY] - ends[Formulation.MATRIX_R]).max() < 1e-4 * scale
    assert np.abs(run.last.q - ends[Formulation.MATRIX_R]).max() < 2e-4 * scale


@pytest.mark.parametrize("refresh", Refresh)
def test_a_frozen_factor_reaches_the_same_solution(fourbar: Model, refresh: Refresh) -> None:
    exact = Stepper(fourbar, options=StepOptions(tolerance=1e-13, refresh=Refresh.EVERY_ITERATION))
    other = Stepper(fourbar, options=StepOptions(tolerance=1e-12, refresh=refresh))
    a, b = exact.run(exact.start(), 5e-3, 200), other.run(other.start(), 5e-3, 200)
    assert np.abs(a.q - b.q).max() < 1e-7
    if refresh is Refresh.WHEN_SLOW:
        assert b.cost.factorisations < 100
        assert b.cost.iterations > a.cost.iterations
    else:
        assert b.cost.factorisations >= 200


@pytest.mark.parametrize("name", ["fourbar", "spatial_fourbar", "double_wishbone"])
def test_equations_of_motion_hold_after_a_step(name: str) -> None:
    model = build(shipped_mechanism(name))
    stepper = Stepper(model, options=StepOptions(projection_tolerance=1e-12))
    state = stepper.run(stepper.start(), 2e-3, 40).last
    exact = stepper.repair(state)
    assert np.abs(exact.q - state.q).max() < 1e-9
    assert np.abs(exact.qdd - state.qdd).max() < 0.05 * max(1.0, np.abs(exact.qdd).max())


def test_energy_drift_of_the_methods(fourbar: Model) -> None:
    drift = {}
    for name in ("augmented", "r-trapezoidal", "r-rk4", "lagrange-dopri"):
        formulation, integrator, options, _ = METHODS[name]
        stepper = Stepper(fourbar, formulation, integrator, options)
        start = stepper.start()
        last = stepper.run(start, 5e-3, 2000, every=2000).last
        drift[name] = abs(sum(energy_j(fourbar, last)) - sum(energy_j(fourbar, start)))
    assert drift["augmented"] < 0.5  # of about 90 J exchanged
    assert drift["r-trapezoidal"] < 0.2
    assert drift["r-rk4"] < 1e-4
    assert drift["lagrange-dopri"] < 1e-6


def test_baumgarte_keeps_the_drift_bounded(fourbar: Model) -> None:
    def residual(options: StepOptions) -> float:
        stepper = Stepper(fourbar, Formulation.LAGRANGE, Integrator.RK4, options)
        return stepper.run(stepper.start(), 1e-2, 1000, every=1000).cost.residual

    free, held = residual(StepOptions(baumgarte=(0.0, 0.0))), residual(StepOptions(baumgarte=(1.0, 10.0)))
    projected = residual(StepOptions(baumgarte=(0.0, 0.0), projection=Projection.ALWAYS))
    assert projected < 1e-11 < held < free


def test_drift_feedback_control_projects_seldom_and_as_precisely(fourbar: Model) -> None:
    def run(projection: Projection) -> tuple[np.ndarray, int, float]:
        options = StepOptions(baumgarte=(0.0, 0.0), projection=projection, rtol=1e-6, atol=1e-8)
        stepper = Stepper(fourbar, Formulation.LAGRANGE, Integrator.DORMAND_PRINCE, options)
        result = stepper.run(stepper.start(), 0.5, 20, every=20)
        return result.last.q, result.cost.projections, result.cost.residual

    q_always, always, _ = run(Projection.ALWAYS)
    q_controlled, seldom, residual = run(Projection.CONTROLLED)
    assert seldom < 0.5 * always
    assert np.abs(q_always - q_controlled).max() < 1e-3
    assert residual < 1e-5


def test_dormand_prince_controls_its_error(fourbar: Model) -> None:
    def run(rtol: float) -> tuple[np.ndarray, int]:
        options = replace(NO_DRIFT, rtol=rtol, atol=rtol)
        stepper = Stepper(fourbar, Formulation.LAGRANGE, Integrator.DORMAND_PRINCE, options)
        result = stepper.run(stepper.start(), 2.0, 1)
        return result.last.q, result.cost.evaluations

    exact, _ = run(1e-12)
    loose, cheap = run(1e-4)
    tight, dear = run(1e-8)
    assert np.abs(tight - exact).max() < 1e-5
    assert np.abs(tight - exact).max() < np.abs(loose - exact).max()
    assert cheap < dear


def test_projection_is_the_nearest_state_in_the_metric_of_the_mass() -> None:
    """M (p − q) + Gᵀ τ = 0 and M (v − u) + Gᵀ η = 0 (Simeon 1996, 12a, 12b), so M·(change) has no free part."""
    model = build(shipped_mechanism("spatial_fourbar"))
    rng = np.random.default_rng(3)
    q = model.start_q + 0.01 * rng.standard_normal(model.n)
    u = rng.standard_normal(model.n)
    state = consistent(model, 0.0, q, u)
    assert max(constraint_norms(model, state)) < 1e-10
    from hodograph.multibody import matrices_r_s

    r, _ = matrices_r_s(model, 0.0, state.q)
    mass = mass_matrix(model, state.q)
    assert np.abs(r.T @ mass @ (state.q - q)).max() < 1e-9
    assert np.abs(r.T @ mass @ (state.qd - u)).max() < 1e-9


def test_one_model_many_threads_same_result(fourbar: Model) -> None:
    results: dict[int, np.ndarray] = {}

    def work(k: int) -> None:
        stepper = Stepper(fourbar)
        results[k] = stepper.run(stepper.start(), 5e-3, 2000, every=2000).last.q

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(results[0], results[k]) for k in range(4))


@pytest.mark.parametrize("name", ["fourbar", "fivebar"])
def test_the_default_tolerance_is_tight_enough(name: str) -> None:
    """Accepting a step by the contraction seen before must not cost accuracy: far below the error of the method."""
    model = build(shipped_mechanism(name))
    usual, tight = Stepper(model), Stepper(model, options=StepOptions(tolerance=1e-13, projection_tolerance=1e-13))
    a, b = usual.run(usual.start(), 5e-3, 400), tight.run(tight.start(), 5e-3, 400)
    assert np.abs(a.q - b.q).max() < 1e-6
    assert a.cost.iterations < b.cost.iterations


def test_step_leaves_the_given_state_alone(fourbar: Model) -> None:
    stepper = Stepper(fourbar)
    start = stepper.start()
    before = start.copy()
    state, cost = stepper.step(start, 5e-3)
    assert np.array_equal(start.q, before.q)
    assert np.array_equal(start.qdd, before.qdd)
    assert state.t_s == 5e-3
    assert cost.steps == 1
    assert cost.iterations >= 1


def test_a_hopeless_step_says_so(fourbar: Model) -> None:
    stepper = Stepper(fourbar, options=StepOptions(max_iterations=5))
    with pytest.raises(MechanismError, match="does not converge"):
        stepper.run(stepper.start(), 5.0, 3)


@pytest.mark.parametrize(
    ("formulation", "integrator"),
    [(Formulation.AUGMENTED_LAGRANGIAN, Integrator.RK4), (Formulation.PENALTY, LIE)],
)
def test_methods_that_do_not_go_together(fourbar: Model, formulation: Formulation, integrator: Integrator) -> None:
    with pytest.raises(ValueError, match=r"formulation|trapezoidal"):
        Stepper(fourbar, formulation, integrator)


def test_linearly_implicit_euler_damps_what_is_stiff() -> None:
    """A mass on a stiff spring (m = 1, k = 1e8, h = 1 ms): amplification with the new velocity is 0.0995 per step."""
    from hodograph.multibody import Mechanism, Particle, Point, SpringDamper

    mechanism = Mechanism(
        schema=1, name="stiff", space="planar", gravity_mps2=(0.0, 0.0),
        points={"O": Point((0.0, 0.0), fixed=True), "P": Point((1.0, 0.0))},
        bodies={"mass": Particle("P", 1.0)},
        forces={"spring": SpringDamper(("O", "P"), stiffness_npm=1e8, free_length_m=1.0)},
    )  # fmt: skip
    model = build(mechanism)
    stepper = Stepper(model, integrator=LIE, options=StepOptions(independent=False))
    start = stepper.start()
    state = State(0.0, start.q + np.array([1e-4, 0.0]), start.qd, start.qdd, start.multipliers)
    stretch = stepper.run(state, 1e-3, 4).q[:, 0] - 1.0
    assert abs(stretch[-1]) < 1e-4 * 0.15**4
