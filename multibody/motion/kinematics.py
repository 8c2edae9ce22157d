"""Position, velocity and acceleration problems, matrices R and S, and consistent states for one model."""

from __future__ import annotations

import numpy as np

from hodograph.core.errors import MechanismError
from hodograph.core.frames import Array
from hodograph.multibody.model.assembly import best_independent, dense_jacobian
from hodograph.multibody.model.build import Model, State
from hodograph.multibody.model.constraint_kernels import choose_branches, rates
from hodograph.multibody.model.linear_kernels import refresh_mass
from hodograph.multibody.model.tables import WHEEL_STATES, Index, Work
from hodograph.multibody.motion import dynamics_kernels as dynamics
from hodograph.numerics.compiling import NO_FORCE

POSITION_TOLERANCE = 1e-13


def start_state(model: Model, qd: Array | None = None, *, work: Work | None = None, force: object = NO_FORCE) -> State:
    """The start position with consistent velocities (by default at rest) and exact accelerations."""
    qd = np.zeros(model.n) if qd is None else qd
    return consistent(model, 0.0, model.start_q, qd, work=work, force=force)


def consistent(
    model: Model, t_s: float, q: Array, qd: Array, *, work: Work | None = None, force: object = NO_FORCE
) -> State:
    """The nearest state on the constraints in the metric of the mass, with exact accelerations (Simeon 1996, 12a, 12b).

    Also repairs a state after a filter's correction.
    """
    work = work or model.work()
    q, qd = q.copy(), qd.copy()
    choose_branches(model.tables.rows, q, work.branch)
    iterations, _ = dynamics.project_positions(model.tables, work, t_s, q, 1e-12, 50.0, 0.0, 1.0)
    if iterations < 0:
        raise MechanismError(f"{model.mechanism.name}: no consistent position near the given one")
    dynamics.project_velocities(model.tables, work, t_s, q, qd)
    qdd, multipliers = np.zeros(model.n), np.zeros(model.rows)
    work.clock[0] = t_s
    dynamics.lagrange(model.tables, work, force, t_s, q, qd, np.zeros(2), qdd, multipliers)
    return State(t_s, q, qd, qdd, multipliers, work.wheels[:, :WHEEL_STATES].copy())


def from_independent(
    model: Model, t_s: float, z: Array, zd: Array, near_q: Array, *, work: Work | None = None, force: object = NO_FORCE
) -> State:
    """The state with independent coordinates z and velocities zd (f,), dependent ones by Newton from `near_q`."""
    work = work or model.work()
    q, qd = near_q.copy(), np.zeros(model.n)
    q[work.independent], qd[work.independent] = z, zd
    choose_branches(model.tables.rows, q, work.branch)
    if dynamics.position_problem(model.tables, work, t_s, q, POSITION_TOLERANCE, 100.0) < 0:
        raise MechanismError(
            f"{model.mechanism.name}: no position with these independent coordinates near the given one"
        )
    dynamics.velocity_problem(model.tables, work, qd)
    qdd, multipliers = np.zeros(model.n), np.zeros(model.rows)
    work.clock[0] = t_s
    dynamics.matrix_r(model.tables, work, force, t_s, q, qd, qdd, multipliers)
    return State(t_s, q, qd, qdd, multipliers, work.wheels[:, :WHEEL_STATES].copy())


def matrices_r_s(model: Model, t_s: float, q: Array, *, work: Work | None = None) -> tuple[Array, Array]:
    """R (n, f) and S (n, rows): qd = R zd − S Φ_t (Sanjurjo 2016, 3.54); columns of S for idle angle rows are zero."""
    work = work or model.work()
    _factor(model, work, t_s, q)
    r = np.zeros((len(work.independent), model.n))
    dynamics.null_space(model.tables, work, r)
    s = np.zeros((model.n, model.rows))
    for i in range(model.rows):
        gap = np.zeros(model.rows)
        gap[i] = 1.0
        dynamics.complete(model.tables, work, gap)
        s[:, i] = work.rhs
    return r.T.copy(), s


def _factor(model: Model, work: Work, t_s: float, q: Array) -> None:
    choose_branches(model.tables.rows, q, work.branch)
    dynamics.configure(model.tables, work, t_s, q)
    if not dynamics.factor_kinematics(model.tables, work) > 1e-14:
        raise MechanismError(f"{model.mechanism.name}: the independent coordinates do not determine the motion here")


def velocity_sensitivity(model: Model, state: State, *, work: Work | None = None) -> Array:
    """dqd/dz at constant zd (n, f): −S Φ_q_dot R, Φ_q_dot including the sines and cosines (Sanjurjo 2016, 3.125)."""
    work = work or model.work()
    _factor(model, work, state.t_s, state.q)
    f = len(work.independent)
    r = np.zeros((f, model.n))
    dynamics.null_space(model.tables, work, r)
    out = np.zeros((model.n, f))
    for k in range(f):
        dynamics.rate_change(model.tables, work, state.q, state.qd, r[k], work.tau)
        dynamics.complete(model.tables, work, -work.tau)
        out[:, k] = work.rhs
    return out


def reselect(model: Model, t_s: float, q: Array) -> Index:
    """The independent coordinates that are best conditioned at q."""
    from scipy.linalg import null_space

    jacobian, active = dense_jacobian(model.tables.rows, q, t_s)
    own = jacobian[active]
    own = own / np.linalg.norm(own, axis=1, keepdims=True)
    return best_independent(null_space(own, rcond=1e-9)) if len(own) else model.independent


def constraint_norms(model: Model, state: State, *, work: Work | None = None) -> tuple[float, float]:
    """Euclidean norms of Φ and of Φ_q qd + Φ_t."""
    work = work or model.work()
    choose_branches(model.tables.rows, state.q, work.branch)
    dynamics.configure(model.tables, work, state.t_s, state.q)
    rates(model.tables.rows, work.jac, work.guide, state.qd, work.rate)
    return float(np.linalg.norm(work.phi)), float(np.linalg.norm(work.rate))


def mass_matrix(model: Model, q: Array) -> Array:
    """The dense mass matrix (n, n) at q."""
    mass, values = model.tables.mass, model.tables.mass.val.copy()
    refresh_mass(mass, q, values)
    dense = np.zeros((model.n, model.n))
    dense[np.repeat(np.arange(model.n), np.diff(mass.start)), mass.col] = values
    return dense
