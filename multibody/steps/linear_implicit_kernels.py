"""Linearly implicit Euler in dependent and in independent coordinates (Carpinelli 2014, sections 3.2-3.4).

Its cost is fixed. Differences from print: the multipliers solved for are h·λ; positions move with the new velocity (the
old one leaves stiff modes undamped); the reaction acts along the constraint normal at the predicted position.
"""

from __future__ import annotations

from typing import Any

from hodograph.core.frames import Array
from hodograph.multibody.forces.load_kernels import add_tangents, force_change
from hodograph.multibody.forces.rolling_kernels import rolling_change, rolling_tangents
from hodograph.multibody.model.constraint_kernels import choose_branches, evaluate, rates, set_guides
from hodograph.multibody.model.linear_kernels import (
    add_jacobian,
    add_mass,
    factorise,
    jacobian_times,
    mass_times,
    norm,
    refresh_mass,
    solve,
    solve_dense,
)
from hodograph.multibody.model.tables import Tables, Work
from hodograph.multibody.motion.dynamics_kernels import (
    acceleration_problem,
    complete,
    configure,
    factor_kinematics,
    null_space,
    position_problem,
    reactions,
    total_force,
    velocity_problem,
)
from hodograph.multibody.steps.recording_kernels import follow, keep
from hodograph.numerics.compiling import inner, njit


@inner
def settle(tables: Tables, work: Work, gap: Array, x: Array, multiplier: Array) -> None:
    """x += W⁻¹ Jᵀ p gap, and the multipliers that go with it; J is the one in the factor."""
    rhs, penalty = work.rhs, tables.factor.penalty
    start, col, jac = tables.rows.start, tables.rows.col, work.jac0
    for i in range(len(rhs)):
        rhs[i] = 0.0
    for i in range(len(gap)):
        y = penalty[i] * gap[i]
        multiplier[i] -= y
        for a in range(start[i], start[i + 1]):
            rhs[col[a]] += jac[a] * y
    solve(tables.factor, work.w, rhs)
    for i in range(len(x)):
        x[i] += rhs[i]


@inner
def dependent_step(
    tables: Tables,
    work: Work,
    force: Any,
    t_s: float,
    h: float,
    q: Array,
    qd: Array,
    qdd: Array,
    multiplier: Array,
    cost: Array,
) -> bool:
    """One linear solve for the velocities (Carpinelli 2014, 3.21), two for the projection of the positions.

    Unlike Carpinelli 2014, 3.29, which projects once in the metric of the mass, these use the factor of the step.
    """
    rows, n, m = tables.rows, len(q), len(multiplier)
    work.a[:] = 0.0
    refresh_mass(tables.mass, q, work.mass)
    work.clock[0] = t_s - h  # deflections are carried over the whole step: that is what holds a car at standstill
    total_force(tables, work, force, t_s, q, qd)
    work.clock[0] = t_s
    force_change(tables.loads, tables.mass, work.inputs, q, qd, qd, work.a, work.b)
    add_mass(tables.mass, tables.factor, q, work.w)
    add_tangents(tables.loads, q, qd, h * h, h, work.probe[0], work.w)
    rolling_tangents(tables.rolling, work.wheels, work.road, work.inputs, h, q, qd, h * h, h, work.w)
    rolling_change(tables, work, h, q, qd, qd, work.a, work.b)
    for i in range(n):
        work.b[i] = h * work.force[i] + h * h * work.b[i]
        work.c[i] = q[i] + h * qd[i]
    choose_branches(rows, work.c, work.branch)
    set_guides(rows, t_s + h, work.inputs, work.guide)
    evaluate(rows, work.c, work.branch, work.guide, work.jac, work.phi)
    for a in range(len(work.jac)):
        work.jac0[a] = work.jac[a]
    add_jacobian(rows, tables.factor, work.jac, tables.factor.penalty, work.w)
    factorise(tables.factor, work.w)
    rates(rows, work.jac, work.guide, qd, work.target)
    for i in range(m):
        work.target[i] = -work.target[i]
        work.tau[i] = tables.factor.penalty[i] * work.target[i]
    solve(tables.factor, work.w, work.b)
    for _ in range(2):
        jacobian_times(rows, work.jac0, work.b, work.rate)
        for i in range(m):
            work.rate[i] = work.target[i] - work.rate[i]
        settle(tables, work, work.rate, work.b, work.tau)
    for i in range(n):
        qdd[i] = work.b[i] / h
        qd[i] += work.b[i]
        q[i] += h * qd[i]
    for i in range(m):
        multiplier[i] = work.tau[i] / h
    for _ in range(2):
        evaluate(rows, q, work.branch, work.guide, work.jac, work.phi)
        for i in range(m):
            work.rate[i] = -work.phi[i]
        settle(tables, work, work.rate, q, work.tau)
    cost[0] += 1.0
    cost[1] += 1.0
    cost[2] += 1.0
    return norm(q) < 1e100


@inner
def reduced_matrix(tables: Tables, work: Work, h: float, q: Array, qd: Array, x: Array, out: Array) -> None:
    """out = (M + h C + h² K) x with the exact tangents of the forces."""
    n = len(q)
    for i in range(n):
        work.stage[0, i] = h * h * x[i]
        work.stage[1, i] = h * x[i]
    force_change(tables.loads, tables.mass, work.inputs, q, qd, work.stage[0], work.stage[1], work.stage[2])
    rolling_change(tables, work, h, q, qd, work.stage[0], work.stage[1], work.stage[2])
    mass_times(tables.mass, work.mass, x, out)
    for i in range(n):
        out[i] -= work.stage[2, i]


@inner
def independent_step(
    tables: Tables,
    work: Work,
    force: Any,
    t_s: float,
    h: float,
    q: Array,
    qd: Array,
    qdd: Array,
    multiplier: Array,
    cost: Array,
) -> bool:
    """Switch to independent velocities for this step (Carpinelli 2014, 3.26); one factor for R, S and the closing."""
    n, f = len(q), len(work.independent)
    choose_branches(tables.rows, q, work.branch)
    configure(tables, work, t_s, q)
    factor_kinematics(tables, work)
    velocity_problem(tables, work, qd)
    null_space(tables, work, work.null)
    for i in range(n):
        qdd[i] = 0.0
        work.a[i] = 0.0
    acceleration_problem(tables, work, q, qd, qdd)
    work.clock[0] = t_s - h  # deflections are carried over the whole step: that is what holds a car at standstill
    total_force(tables, work, force, t_s, q, qd)
    work.clock[0] = t_s
    force_change(tables.loads, tables.mass, work.inputs, q, qd, qd, work.a, work.b)
    rolling_change(tables, work, h, q, qd, qd, work.a, work.b)
    reduced_matrix(tables, work, h, q, qd, qdd, work.c)
    for i in range(n):
        work.b[i] = h * work.force[i] + h * h * work.b[i] - h * work.c[i]
    for k in range(f):
        reduced_matrix(tables, work, h, q, qd, work.null[k], work.c)
        s = 0.0
        for i in range(n):
            s += work.null[k, i] * work.b[i]
        work.reduced_rhs[k] = s
        for j in range(f):
            s = 0.0
            for i in range(n):
                s += work.null[j, i] * work.c[i]
            work.reduced[j, k] = s
    solve_dense(work.reduced, work.reduced_rhs)
    for k in range(f):
        for i in range(n):
            qdd[i] += work.null[k, i] * work.reduced_rhs[k] / h
    reactions(tables, work, qdd, multiplier)
    for i in range(n):
        qd[i] += h * qdd[i]
        q[i] += h * qd[i]
    cost[0] += 1.0
    cost[1] += 1.0
    cost[2] += 1.0
    return close_by_chord(tables, work, t_s + h, q, cost)


@inner
def close_by_chord(tables: Tables, work: Work, t_s: float, q: Array, cost: Array) -> bool:
    """Back onto the constraints with the factor at hand, which is one step old; Newton proper if that is too slow."""
    last = 1e300
    set_guides(tables.rows, t_s, work.inputs, work.guide)
    for _ in range(8):
        evaluate(tables.rows, q, work.branch, work.guide, work.jac, work.phi)
        error = norm(work.phi)
        if error <= 1e-12:
            return True
        if not error < 0.5 * last:
            break
        last = error
        for i in range(len(work.phi)):
            work.target[i] = -work.phi[i]
        complete(tables, work, work.target)
        for i in range(len(q)):
            q[i] += work.rhs[i]
    choose_branches(tables.rows, q, work.branch)
    cost[1] += 2.0
    return position_problem(tables, work, t_s, q, 1e-12, 20.0) >= 0


@njit
def run_linear_implicit(
    tables: Tables,
    work: Work,
    force: Any,
    reduced: bool,
    t_s: float,
    h: float,
    done: int,
    steps: int,
    every: int,
    q: Array,
    qd: Array,
    qdd: Array,
    multiplier: Array,
    schedule: Array,
    record: Array,
    wheel_record: Array,
    cost: Array,
) -> int:
    """Steps `done` to `steps` of a run that began at t, in dependent or (reduced) independent coordinates.

    Returns the steps done, fewer when one failed.
    """
    for k in range(done, steps):
        follow(work, schedule, k)
        if reduced:
            ok = independent_step(tables, work, force, t_s + k * h, h, q, qd, qdd, multiplier, cost)
        else:
            ok = dependent_step(tables, work, force, t_s + k * h, h, q, qd, qdd, multiplier, cost)
        if not ok:
            return k
        configure(tables, work, t_s + (k + 1) * h, q)
        cost[3] = max(cost[3], norm(work.phi))
        keep(tables, work, t_s + (k + 1) * h, h, k, every, q, qd, qdd, record, wheel_record)
    return steps
