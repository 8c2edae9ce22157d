"""Accelerations and multipliers, mass-metric projections, and the kinematic problems, all with one sparse factor.

M + Jᵀ p J with large p is positive definite even where M is singular (a massless angle) and has the pattern of the
step matrix. Solving with it and updating the multipliers converges to the exact saddle-point solution; p only sets the
pace, two rounds as a rule. With Jᵀ s J + Σ_z e eᵀ the same factor gives R, S and the position problem.
"""

from __future__ import annotations

from math import cos, sin
from typing import Any

from hodograph.core.frames import Array
from hodograph.multibody.forces.load_kernels import generalised_forces
from hodograph.multibody.forces.rolling_kernels import rolling_forces
from hodograph.multibody.model.constraint_kernels import accelerations, bilinear, evaluate, rates, set_guides
from hodograph.multibody.model.linear_kernels import (
    add_jacobian,
    add_mass,
    add_transposed,
    factorise,
    jacobian_times,
    mass_times,
    norm,
    refresh_mass,
    solve,
    solve_dense,
)
from hodograph.multibody.model.tables import Tables, Work
from hodograph.numerics.compiling import inner, njit

ROUNDS = 6
SETTLED = 1e-14
REFINED = 1e-13


@njit
def configure(tables: Tables, work: Work, t_s: float, q: Array) -> None:
    """Constraints, guides and mass matrix at (t, q)."""
    set_guides(tables.rows, t_s, work.inputs, work.guide)
    evaluate(tables.rows, q, work.branch, work.guide, work.jac, work.phi)
    refresh_mass(tables.mass, q, work.mass)


@njit
def factor_mass(tables: Tables, work: Work, q: Array) -> float:
    """Factorise M + Jᵀ p J at the configured q; returns the smallest pivot."""
    add_mass(tables.mass, tables.factor, q, work.w)
    add_jacobian(tables.rows, tables.factor, work.jac, tables.factor.penalty, work.w)
    for a in range(len(work.jac)):
        work.jac0[a] = work.jac[a]
    return factorise(tables.factor, work.w)


@inner
def saddle(tables: Tables, work: Work, load: Array, target: Array, x: Array, multiplier: Array) -> int:
    """Solve M x + J₀ᵀ y = load, J₀ x = target with the factor of M + J₀ᵀ p J₀; x and y hold the first guess."""
    penalty, rhs = tables.factor.penalty, work.rhs
    rows, start, col, jac = tables.rows, tables.rows.start, tables.rows.col, work.jac0
    best = 1e300
    for rounds in range(ROUNDS):
        mass_times(tables.mass, work.mass, x, rhs)
        for i in range(len(rhs)):
            rhs[i] = load[i] - rhs[i]
        for i in range(len(penalty)):
            gap = target[i]
            for a in range(start[i], start[i + 1]):
                gap -= jac[a] * x[col[a]]
            pull = penalty[i] * gap - multiplier[i]
            for a in range(start[i], start[i + 1]):
                rhs[col[a]] += jac[a] * pull
        solve(tables.factor, work.w, rhs)
        change, size = 0.0, 0.0
        for i in range(len(x)):
            x[i] += rhs[i]
            change += rhs[i] * rhs[i]
            size += x[i] * x[i]
        jacobian_times(rows, jac, x, work.rate)
        for i in range(len(penalty)):
            multiplier[i] += penalty[i] * (work.rate[i] - target[i])
        if change <= SETTLED * SETTLED * size or change >= 0.25 * best:
            return rounds + 1
        best = change
    return ROUNDS


@njit
def total_force(tables: Tables, work: Work, force: Any, t_s: float, q: Array, qd: Array) -> None:
    """work.force = every force at (t, q, qd), the user's included."""
    generalised_forces(tables.loads, tables.mass, work.inputs, work.applied, q, qd, work.force)
    if len(tables.rolling.wheel) + len(tables.rolling.aero_par) > 0:
        tau_s = max(0.0, t_s - work.clock[0])
        rolling_forces(tables.rolling, work.wheels, work.road, work.inputs, tau_s, q, qd, work.force)
    force(t_s, q, qd, work.parameters, work.force)


@njit
def lagrange(
    tables: Tables,
    work: Work,
    force: Any,
    t_s: float,
    q: Array,
    qd: Array,
    stabilise: Array,
    qdd: Array,
    multiplier: Array,
) -> int:
    """Index-1 accelerations with Baumgarte terms: Φ_q qdd = −(Φ_q_dot qd + Φ_t_dot) − 2ζω Φ_dot − ω² Φ.

    Carpinelli 2014, 3.4. stabilise = (2ζω, ω²); zeros give the exact accelerations (Simeon 1996, 4). Leaves the factor
    of M + Jᵀ p J behind.
    """
    configure(tables, work, t_s, q)
    factor_mass(tables, work, q)
    total_force(tables, work, force, t_s, q, qd)
    accelerations(tables.rows, q, qd, work.branch, work.guide, work.mu)
    if stabilise[0] != 0.0 or stabilise[1] != 0.0:
        rates(tables.rows, work.jac, work.guide, qd, work.rate)
        for i in range(len(work.mu)):
            work.mu[i] += stabilise[0] * work.rate[i] + stabilise[1] * work.phi[i]
    for i in range(len(work.mu)):
        work.mu[i] = -work.mu[i]
    return saddle(tables, work, work.force, work.mu, qdd, multiplier)


@inner
def penalised(
    tables: Tables,
    work: Work,
    force: Any,
    t_s: float,
    q: Array,
    qd: Array,
    stabilise: Array,
    weight: float,
    qdd: Array,
    multiplier: Array,
) -> int:
    """Penalty accelerations: (M + Jᵀ α J) qdd = Q − Jᵀ α (Φ_q_dot qd + Φ_t_dot + 2ζω Φ_dot + ω² Φ), α = weight · p."""
    configure(tables, work, t_s, q)
    add_mass(tables.mass, tables.factor, q, work.w)
    penalty = tables.factor.penalty
    for i in range(len(penalty)):
        work.mu[i] = weight * penalty[i]
    add_jacobian(tables.rows, tables.factor, work.jac, work.mu, work.w)
    factorise(tables.factor, work.w)
    total_force(tables, work, force, t_s, q, qd)
    accelerations(tables.rows, q, qd, work.branch, work.guide, multiplier)
    rates(tables.rows, work.jac, work.guide, qd, work.rate)
    for i in range(len(penalty)):
        multiplier[i] = work.mu[i] * (multiplier[i] + stabilise[0] * work.rate[i] + stabilise[1] * work.phi[i])
        work.rate[i] = -multiplier[i]
    for i in range(len(qdd)):
        qdd[i] = work.force[i]
    add_transposed(tables.rows, work.jac, work.rate, qdd)
    solve(tables.factor, work.w, qdd)
    jacobian_times(tables.rows, work.jac, qdd, work.rate)
    for i in range(len(penalty)):
        multiplier[i] += work.mu[i] * work.rate[i]
    return 1


@njit
def project_positions(
    tables: Tables, work: Work, t_s: float, q: Array, tolerance: float, limit: float, rtol: float, atol: float
) -> tuple[int, float]:
    """Nearest q on the constraints in the metric of the mass (Simeon 1996, 12a, 13).

    Newton with the factor of the first iterate, renewed when it converges slowly. Returns the iterations (−1: failed)
    and the first move in the weighted norm of Simeon 1996, 15.
    """
    n = len(q)
    anchor, load, move, tau, dtau = work.a, work.b, work.c, work.tau, work.dtau
    for i in range(n):
        anchor[i] = q[i]
    for i in range(len(tau)):
        tau[i] = 0.0
    first, last = 0.0, 1e300
    for iteration in range(int(limit)):
        configure(tables, work, t_s, q)
        error = norm(work.phi)
        if error <= tolerance:
            return iteration, first
        if not error < 1e100:
            return -1, first
        if iteration == 0 or error > 0.1 * last:
            factor_mass(tables, work, q)
        last = error
        for i in range(n):
            move[i] = q[i] - anchor[i]
        mass_times(tables.mass, work.mass, move, load)
        add_transposed(tables.rows, work.jac, tau, load)
        for i in range(n):
            load[i] = -load[i]
            move[i] = 0.0
        for i in range(len(tau)):
            work.target[i] = -work.phi[i]
            dtau[i] = 0.0
        saddle(tables, work, load, work.target, move, dtau)
        for i in range(len(tau)):
            tau[i] += dtau[i]
        for i in range(n):
            q[i] += move[i]
            if iteration == 0:
                first += (move[i] / (rtol * abs(anchor[i]) + atol)) ** 2
        if iteration == 0:
            first = (first / n) ** 0.5
    configure(tables, work, t_s, q)
    return (int(limit) if norm(work.phi) <= tolerance else -1), first


@njit
def project_velocities(tables: Tables, work: Work, t_s: float, q: Array, qd: Array) -> None:
    """Nearest qd that satisfies Φ_q qd + Φ_t = 0 in the metric of the mass (Simeon 1996, 12b); q is kept."""
    configure(tables, work, t_s, q)
    factor_mass(tables, work, q)
    mass_times(tables.mass, work.mass, qd, work.b)
    for i in range(len(work.phi)):
        work.target[i] = 0.0
        work.dtau[i] = 0.0
    for k in range(len(work.guide)):
        work.target[tables.rows.guide[k, 0]] = work.guide[k, 1]
    saddle(tables, work, work.b, work.target, qd, work.dtau)


@njit
def factor_kinematics(tables: Tables, work: Work) -> float:
    """Factorise Jᵀ s J + Σ_z e eᵀ at the configured q; returns the smallest pivot."""
    w, diagonal = work.w, tables.factor.diagonal
    for k in range(len(w)):
        w[k] = 0.0
    add_jacobian(tables.rows, tables.factor, work.jac, tables.factor.scale, w)
    for k in range(len(work.independent)):
        w[diagonal[work.independent[k]]] += 1.0
    for a in range(len(work.jac)):
        work.jac0[a] = work.jac[a]
    return factorise(tables.factor, w)


@njit
def complete(tables: Tables, work: Work, gap: Array) -> None:
    """work.rhs = the change x with J₀ x = gap that leaves the independent coordinates alone."""
    rhs, scale = work.rhs, tables.factor.scale
    start, col = tables.rows.start, tables.rows.col
    for i in range(len(rhs)):
        rhs[i] = 0.0
    for i in range(len(gap)):
        weighted = scale[i] * gap[i]
        for a in range(start[i], start[i + 1]):
            rhs[col[a]] += work.jac0[a] * weighted
    solve(tables.factor, work.w, rhs)


@njit
def position_problem(tables: Tables, work: Work, t_s: float, q: Array, tolerance: float, limit: float) -> int:
    """Dependent coordinates from the independent ones, Newton from the given q; iterations, or −1 when it fails.

    Sanjurjo 2016, 3.38. Leaves the factor of the kinematic matrix at the solution behind.
    """
    last = 1e300
    fresh = False
    for iteration in range(int(limit)):
        configure(tables, work, t_s, q)
        error = norm(work.phi)
        if not error < 1e100:
            return -1
        if error <= tolerance or (error <= 1e3 * tolerance and error >= 0.5 * last):
            if not fresh or iteration > 0:
                factor_kinematics(tables, work)
            return iteration
        if iteration == 0 or error > 0.01 * last:
            factor_kinematics(tables, work)
            fresh = True
        last = error
        for i in range(len(work.phi)):
            work.target[i] = -work.phi[i]
        complete(tables, work, work.target)
        for i in range(len(q)):
            q[i] += work.rhs[i]
    configure(tables, work, t_s, q)
    factor_kinematics(tables, work)
    return int(limit) if norm(work.phi) <= 1e3 * tolerance else -1


@njit
def velocity_problem(tables: Tables, work: Work, qd: Array) -> None:
    """Dependent velocities from the independent ones in qd (Sanjurjo 2016, 3.39); needs the kinematic factor at q."""
    for _ in range(2):
        rates(tables.rows, work.jac0, work.guide, qd, work.rate)
        if norm(work.rate) <= REFINED:
            break
        for i in range(len(work.rate)):
            work.target[i] = -work.rate[i]
        complete(tables, work, work.target)
        for i in range(len(qd)):
            qd[i] += work.rhs[i]


@inner
def acceleration_problem(tables: Tables, work: Work, q: Array, qd: Array, qdd: Array) -> None:
    """Dependent accelerations from the independent ones (Sanjurjo 2016, 3.40); needs the kinematic factor at q."""
    accelerations(tables.rows, q, qd, work.branch, work.guide, work.tau)
    for _ in range(2):
        jacobian_times(tables.rows, work.jac0, qdd, work.rate)
        for i in range(len(work.rate)):
            work.target[i] = -work.tau[i] - work.rate[i]
        complete(tables, work, work.target)
        for i in range(len(qdd)):
            qdd[i] += work.rhs[i]


@njit
def null_space(tables: Tables, work: Work, out: Array) -> None:
    """Rows of `out` (f, n) = columns of R: velocities for unit independent velocities (Sanjurjo 2016, section 3.3.3).

    Needs the kinematic factor.
    """
    for k in range(len(work.independent)):
        x = out[k]
        for i in range(len(x)):
            x[i] = 0.0
        x[work.independent[k]] = 1.0
        for _ in range(2):
            jacobian_times(tables.rows, work.jac0, x, work.rate)
            if norm(work.rate) <= REFINED:
                break
            for i in range(len(work.rate)):
                work.target[i] = -work.rate[i]
            complete(tables, work, work.target)
            for i in range(len(x)):
                x[i] += work.rhs[i]


@njit
def matrix_r(
    tables: Tables, work: Work, force: Any, t_s: float, q: Array, qd: Array, qdd: Array, multiplier: Array
) -> None:
    """Accelerations by (Rᵀ M R) zdd = Rᵀ (Q − M S c); needs the kinematic factor at the consistent q.

    Sanjurjo 2016, 3.56, 3.59; c = −Φ_q_dot qd − Φ_t_dot. The reactions are left out when `multiplier` is empty.
    """
    n, f = len(q), len(work.independent)
    null_space(tables, work, work.null)
    for i in range(n):
        qdd[i] = 0.0
    acceleration_problem(tables, work, q, qd, qdd)
    total_force(tables, work, force, t_s, q, qd)
    mass_times(tables.mass, work.mass, qdd, work.b)
    for i in range(n):
        work.b[i] = work.force[i] - work.b[i]
    for k in range(f):
        mass_times(tables.mass, work.mass, work.null[k], work.c)
        for j in range(f):
            s = 0.0
            for i in range(n):
                s += work.null[j, i] * work.c[i]
            work.reduced[k, j] = s
        s = 0.0
        for i in range(n):
            s += work.null[k, i] * work.b[i]
        work.reduced_rhs[k] = s
    solve_dense(work.reduced, work.reduced_rhs)
    for k in range(f):
        for i in range(n):
            qdd[i] += work.null[k, i] * work.reduced_rhs[k]
    if len(multiplier) > 0:
        reactions(tables, work, qdd, multiplier)


@inner
def reactions(tables: Tables, work: Work, qdd: Array, multiplier: Array) -> None:
    """Multipliers Sᵀ (Q − M qdd); needs the kinematic factor and work.force."""
    mass_times(tables.mass, work.mass, qdd, work.rhs)
    for i in range(len(qdd)):
        work.rhs[i] = work.force[i] - work.rhs[i]
    solve(tables.factor, work.w, work.rhs)
    jacobian_times(tables.rows, work.jac0, work.rhs, multiplier)
    for i in range(len(multiplier)):
        multiplier[i] *= tables.factor.scale[i]


@njit
def rate_change(tables: Tables, work: Work, q: Array, x: Array, dq: Array, out: Array) -> None:
    """out = d(Φ_q x)/dq · dq for a fixed vector x: the second derivatives of the constraints along x and dq."""
    rows = tables.rows
    bilinear(rows, work.branch, x, dq, out)
    for k in range(len(work.branch)):
        index = rows.angle[k, 2]
        moved = rows.amplitude[k] * x[index] * dq[index]
        if work.branch[k] == 1:
            out[rows.angle[k, 0]] += moved * sin(q[index])
        else:
            out[rows.angle[k, 1]] += moved * cos(q[index])
