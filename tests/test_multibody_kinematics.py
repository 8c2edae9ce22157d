"""R, S, sensitivities and exact derivatives against differences at visited states; kernels against numpy twins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hodograph.multibody import (
    Angle,
    Bar,
    Formulation,
    Guided,
    Integrator,
    Mechanism,
    Model,
    Point,
    State,
    Stepper,
    build,
    from_independent,
    mass_matrix,
    matrices_r_s,
    sensitivity,
    shipped_mechanism,
    shipped_mechanisms,
    user_force,
    velocity_sensitivity,
)
from hodograph.multibody.model import linear_kernels as linear
from hodograph.multibody.model.assembly import dense_jacobian
from hodograph.multibody.model.constraint_kernels import accelerations
from hodograph.multibody.motion import dynamics_kernels as dynamics


def visited(model: Model) -> tuple[Stepper, list[State]]:
    """A few states of a simulation, the corner with a turned rack and a spinning wheel."""
    stepper = Stepper(model)
    qd = np.zeros(model.n)
    if "spin" in model.names:
        qd[model.index("spin")] = 40.0
        stepper.set_input("rack_m", 0.02)
    state, states = stepper.start(qd), []
    for _ in range(3):
        state = stepper.repair(stepper.run(state, 2e-3, 60).last)
        states.append(state)
    return stepper, states


@pytest.fixture(scope="module", params=shipped_mechanisms())
def model(request: pytest.FixtureRequest) -> Model:
    return build(shipped_mechanism(request.param))


def test_r_and_s(model: Model) -> None:
    stepper, states = visited(model)
    for state in states:
        jacobian, active = dense_jacobian(model.tables.rows, state.q)
        r, s = matrices_r_s(model, state.t_s, state.q, work=stepper.work)
        assert np.abs(jacobian @ r).max() < 1e-9
        assert np.abs(r[model.independent] - np.eye(len(model.independent))).max() < 1e-12
        assert np.abs((jacobian @ s)[np.ix_(active, active)] - np.eye(int(active.sum()))).max() < 1e-8
        assert np.abs(s[model.independent]).max() < 1e-9


def differences(model: Model, stepper: Stepper, state: State, force: object) -> tuple[np.ndarray, ...]:
    z, zd = state.q[model.independent], state.qd[model.independent]
    f, step = len(z), 1e-6
    out = [np.zeros((model.n, f)) for _ in range(4)]

    def at(z_: np.ndarray, zd_: np.ndarray) -> State:
        return from_independent(model, state.t_s, z_, zd_, state.q, work=stepper.work, force=force)

    for k in range(f):
        d = np.zeros(f)
        d[k] = step
        a, b = at(z + d, zd), at(z - d, zd)
        for which, (x, y) in enumerate(((a.q, b.q), (a.qd, b.qd), (a.qdd, b.qdd))):
            out[which][:, k] = (x - y) / (2 * step)
        a, b = at(z, zd + d), at(z, zd - d)
        out[3][:, k] = (a.qdd - b.qdd) / (2 * step)
    return tuple(out)


def test_exact_derivatives_at_visited_states(model: Model) -> None:
    stepper, states = visited(model)
    for state in states:
        exact = sensitivity(model, state, work=stepper.work)
        pairs = zip(
            (exact.r, exact.qd_z, exact.qdd_z, exact.qdd_zd),
            differences(model, stepper, state, stepper.force),
            strict=True,
        )
        for ours, by_difference in pairs:
            assert np.abs(ours - by_difference).max() < 1e-7 * max(1.0, np.abs(by_difference).max())
        assert np.abs(velocity_sensitivity(model, state, work=stepper.work) - exact.qd_z).max() < 1e-10 * max(
            1.0, np.abs(exact.qd_z).max()
        )


@pytest.mark.parametrize(("t_s", "position"), [(0.005, 7.03), (3.5, 4.17), (7.5, -18.6)])
def test_published_exact_jacobian_of_the_fourbar(t_s: float, position: float) -> None:
    """Values of the linkage benchmark, g = 9.81: dzdd/dz = 7.03, 4.17, −18.6 at 0.005, 3.5 and 7.5 s."""
    model = build(shipped_mechanism("fourbar"))
    stepper = Stepper(model, Formulation.MATRIX_R, Integrator.TRAPEZOIDAL)
    state = stepper.run(stepper.start(), 0.005, round(t_s / 0.005)).last
    value = float(sensitivity(model, state).zdd_z[0, 0])
    assert value == pytest.approx(position, rel=5e-3)


def test_user_force_acts_and_is_differentiated() -> None:
    model = build(shipped_mechanism("double_pendulum"))
    joint = model.index("theta2")

    @user_force
    def friction(t_s, q, qd, parameters, force):  # type: ignore[no-untyped-def]
        force[5] -= parameters[0] * qd[5] + parameters[1] * q[5]

    assert joint == 5
    stepper = Stepper(model, force=friction, parameters=np.array([0.4, 2.0]))
    state = stepper.repair(stepper.run(stepper.start(), 2e-3, 100).last)
    exact = sensitivity(model, state, work=stepper.work, force=friction)
    _, _, by_z, by_zd = differences(model, stepper, state, friction)
    assert np.abs(exact.qdd_z - by_z).max() < 1e-6 * np.abs(by_z).max()
    assert np.abs(exact.qdd_zd - by_zd).max() < 1e-6 * np.abs(by_zd).max()
    free = Stepper(model)
    assert np.abs(free.run(free.start(), 2e-3, 100).last.q - state.q).max() > 1e-3


def test_applied_force_of_the_caller_equals_a_user_force() -> None:
    model = build(shipped_mechanism("pendulum"))
    stepper = Stepper(model)
    push = np.zeros(model.n)
    push[model.index("P.y")] = 0.5 * 9.81  # half the weight at the tip: no torque about A
    stepper.apply(push)
    state = stepper.run(stepper.start(), 1e-3, 100).last
    assert abs(state.q[model.index("theta")]) < 1e-12


def test_guided_crank_and_its_accelerations() -> None:
    """A crank driven at θ = 1 + 2 t + 0.3 sin 5 t: no freedom left; Φ_t_dot matters (Sanjurjo 2016, 3.40 corrected)."""
    mechanism = replace(
        shipped_mechanism("fourbar"),
        constraints={"motor": Guided("theta", offset=np.pi / 3, rate=2.0, amplitude=0.3, frequency_radps=5.0)},
        independent=(),
        degrees_of_freedom=0,
    )
    model = build(mechanism)
    stepper = Stepper(model)
    run = stepper.run(stepper.start(), 1e-3, 500)
    theta = model.index("theta")
    assert np.abs(run.q[:, theta] - (np.pi / 3 + 2.0 * run.t_s + 0.3 * np.sin(5.0 * run.t_s))).max() < 1e-10
    assert np.abs(run.qd[:, theta] - (2.0 + 1.5 * np.cos(5.0 * run.t_s))).max() < 1e-8
    assert np.abs(run.qdd[:, theta] + 7.5 * np.sin(5.0 * run.t_s)).max() < 1e-5
    free = Stepper(build(shipped_mechanism("fourbar")))
    assert free.model.degrees_of_freedom == 1


def test_independent_coordinates_are_chosen_anew() -> None:
    """A pendulum in x, y alone: x fails at the side, y at the bottom; the motion goes through both."""
    mechanism = Mechanism(
        schema=1, name="swing", space="planar", gravity_mps2=(0.0, -9.81),
        points={"A": Point((0.0, 0.0), fixed=True), "P": Point((1.0, 0.0))},
        bodies={"bar": Bar(("A", "P"), 1.0)},
    )  # fmt: skip
    model = build(mechanism)
    assert [model.names[i] for i in model.independent] == ["P.y"]
    stepper = Stepper(model, Formulation.MATRIX_R, Integrator.RK4)
    run = stepper.run(stepper.start(), 1e-3, 2000)
    other = Stepper(build(shipped_mechanism("pendulum")), Formulation.MATRIX_R, Integrator.RK4)
    exact = other.run(other.start(), 1e-3, 2000)
    assert run.q[:, 1].min() < -0.999
    assert np.abs(run.q[:, :2] - exact.q[:, :2]).max() < 1e-7


def test_angle_switches_between_sine_and_cosine() -> None:
    model = build(shipped_mechanism("pendulum"))
    stepper = Stepper(model)
    qd = np.zeros(model.n)
    qd[model.independent] = 9.0  # over the top, many turns
    start = from_independent(model, 0.0, model.start_q[model.independent], np.array([9.0]), model.start_q)
    run = stepper.run(stepper.repair(start), 1e-3, 3000)
    theta = run.q[:, model.index("theta")]
    assert theta[-1] > 2 * np.pi
    assert np.abs(run.q[:, 0] - np.cos(theta)).max() < 1e-10
    assert np.abs(run.q[:, 1] - np.sin(theta)).max() < 1e-10
    assert run.cost.residual < 1e-10


def test_torque_on_the_angle_survives_the_switch() -> None:
    """A massless angle that carries a torque: its multiplier must be handed over when the row changes."""
    from hodograph.multibody import Torque

    mechanism = replace(shipped_mechanism("pendulum"), forces={"motor": Torque(8.0, coordinate="theta")})
    model = build(mechanism)
    stepper, exact = Stepper(model), Stepper(model, Formulation.MATRIX_R, Integrator.RK4)
    a, b = stepper.run(stepper.start(), 1e-3, 1500), exact.run(exact.start(), 1e-3, 1500)
    assert b.q[-1, 2] > 6 * np.pi
    assert np.abs(a.q - b.q).max() < 5e-3
    assert a.cost.iterations < 2.2 * a.cost.steps


def test_spatial_angle_of_a_moving_frame() -> None:
    model = build(shipped_mechanism("spatial_fourbar"))
    stepper = Stepper(model)
    run = stepper.run(stepper.start(), 1e-3, 800)
    b = run.q[:, [model.index("B.y"), model.index("B.z")]]
    theta = run.q[:, model.index("theta")]
    assert np.abs(b - 0.3 * np.column_stack([np.cos(theta), np.sin(theta)])).max() < 1e-9


def test_planar_angle_between_two_bars() -> None:
    base = shipped_mechanism("double_pendulum")
    mechanism = replace(
        base,
        angles={"theta1": Angle("A>P1", initial_rad=0.0), "elbow": Angle("P1>P2", x_axis="A>P1", initial_rad=0.0)},
        independent=("theta1", "elbow"),
    )
    relative, absolute = Stepper(build(mechanism)), Stepper(build(base))
    a, b = relative.run(relative.start(), 1e-3, 600), absolute.run(absolute.start(), 1e-3, 600)
    assert np.abs(a.q[:, 4] - b.q[:, 4]).max() < 1e-8
    assert np.abs(a.q[:, 4] + a.q[:, 5] - b.q[:, 5]).max() < 1e-8


@pytest.mark.parametrize("name", ["fivebar", "double_wishbone"])
def test_kernels_equal_their_numpy_twins(name: str) -> None:
    model = build(shipped_mechanism(name))
    stepper, states = visited(model)
    state, work, tables = states[-1], stepper.work, model.tables
    jacobian, active = dense_jacobian(tables.rows, state.q)
    dynamics.configure(tables, work, state.t_s, state.q)
    dynamics.factor_mass(tables, work, state.q)
    mass = mass_matrix(model, state.q)
    matrix = mass + jacobian.T @ (tables.factor.penalty[:, None] * jacobian)
    rng = np.random.default_rng(1)
    rhs = rng.standard_normal(model.n)
    x = rhs.copy()
    linear.solve(tables.factor, work.w, x)
    assert np.abs(matrix @ x - rhs).max() < 1e-6
    out = np.zeros(model.n)
    linear.mass_times(tables.mass, work.mass, rhs, out)
    assert np.abs(out - mass @ rhs).max() < 1e-12 * np.abs(mass).max() * model.n
    gamma = np.zeros(model.rows)
    accelerations(tables.rows, state.q, state.qd, work.branch, work.guide, gamma)
    step = 1e-6
    ahead, _ = dense_jacobian(tables.rows, state.q + step * state.qd)
    back, _ = dense_jacobian(tables.rows, state.q - step * state.qd)
    by_difference = ((ahead - back) / (2 * step)) @ state.qd
    free = np.setdiff1d(np.flatnonzero(active), tables.rows.guide[:, 0])
    assert np.abs(gamma - by_difference)[free].max() < 1e-7 * max(1.0, np.abs(by_difference).max())


def test_lagrange_solves_the_saddle_point_exactly() -> None:
    model = build(shipped_mechanism("double_wishbone"))
    stepper, states = visited(model)
    state = states[0]
    jacobian, active = dense_jacobian(model.tables.rows, state.q)
    dynamics.configure(model.tables, stepper.work, state.t_s, state.q)
    dynamics.total_force(model.tables, stepper.work, stepper.force, state.t_s, state.q, state.qd)
    residual = mass_matrix(model, state.q) @ state.qdd + jacobian.T @ state.multipliers - stepper.work.force
    assert np.abs(residual).max() < 1e-6 * np.abs(stepper.work.force).max()
    assert active.sum() == model.constraints
