"""Index-3 augmented Lagrangian step with the trapezoidal rule and projections (Sanjurjo 2016, section 3.3.2).

Newton on positions and multipliers. The factor may be frozen (Bae n.d., section 5): the Jacobian inside it, J₀, then
also carries the penalty term, so that the iteration stays the chord method of the saddle-point system and a stiff
penalty does not spoil it: W dq = h²/4 (Q − M qdd) − Jᵀ μ − J₀ᵀ p Φ, μ += p (Φ + J₀ dq).
"""

from __future__ import annotations

from typing import Any

from hodograph.core.frames import Array
from hodograph.multibody.forces.load_kernels import add_tangents, generalised_forces
from hodograph.multibody.forces.rolling_kernels import rolling_forces, rolling_tangents
from hodograph.multibody.model.constraint_kernels import accelerations, carry_multipliers, evaluate, rates, set_guides
from hodograph.multibody.model.linear_kernels import (
    add_jacobian,
    add_mass,
    factorise,
    mass_times,
    norm,
    refresh_mass,
    solve,
)
from hodograph.multibody.model.tables import Tables, Work
from hodograph.multibody.steps.recording_kernels import follow, keep
from hodograph.numerics.compiling import inlined_inner, inner, njit

EVERY_ITERATION, EVERY_STEP, WHEN_SLOW = 0, 1, 2
STALLED = 0.5
TRUSTED, TRUSTED_WITH_WHEELS = 1e-6, 1e-4
"""A factor that reduces the moves of Newton by less than this is renewed also within its step."""


@inlined_inner
def refactor(tables: Tables, work: Work, penalty: Array, h: float, q: Array, qd: Array) -> None:
    """W = M + h/2 C + h²/4 K + Jᵀ p J at the evaluated q (Sanjurjo 2016, 3.49, with p = h²/4 α)."""
    w = work.w
    add_mass(tables.mass, tables.factor, q, w)
    add_tangents(tables.loads, q, qd, 0.25 * h * h, 0.5 * h, work.probe[0], w)
    if len(tables.rolling.wheel) > 0:
        rolling_tangents(
            tables.rolling, work.wheels, work.road, work.inputs, h, q, qd, 0.25 * h * h, 0.5 * h, w
        )  # fmt: skip
    add_jacobian(tables.rows, tables.factor, work.jac, penalty, w)
    jac, jac0 = work.jac, work.jac0
    for a in range(len(jac)):
        jac0[a] = jac[a]
    factorise(tables.factor, w)


@inlined_inner
def correction(tables: Tables, work: Work, penalty: Array, quarter: float, qdd: Array) -> None:
    """work.rhs = W⁻¹ (h²/4 (Q − M qdd) − Jᵀ μ − J₀ᵀ p Φ) (Sanjurjo 2016, 3.47, 3.48, with μ = h²/4 λ*)."""
    rhs, force, phi, mu = work.rhs, work.force, work.phi, work.mu
    mass_start, mass_col, mass_val = tables.mass.start, tables.mass.col, work.mass
    start, col, jac, jac0 = tables.rows.start, tables.rows.col, work.jac, work.jac0
    for i in range(len(rhs)):
        s = force[i]
        for k in range(mass_start[i], mass_start[i + 1]):
            s -= mass_val[k] * qdd[mass_col[k]]
        rhs[i] = quarter * s
    for i in range(len(phi)):
        y, z = mu[i], penalty[i] * phi[i]
        for a in range(start[i], start[i + 1]):
            rhs[col[a]] -= jac[a] * y + jac0[a] * z
    solve(tables.factor, work.w, rhs)


@inlined_inner
def pull_back(tables: Tables, work: Work, penalty: Array, gap: Array, x: Array) -> None:
    """x −= W⁻¹ J₀ᵀ p gap: projection of velocities or accelerations (Sanjurjo 2016, 3.50, 3.51)."""
    rhs = work.rhs
    start, col, jac0 = tables.rows.start, tables.rows.col, work.jac0
    for i in range(len(rhs)):
        rhs[i] = 0.0
    for i in range(len(gap)):
        y = penalty[i] * gap[i]
        for a in range(start[i], start[i + 1]):
            rhs[col[a]] -= jac0[a] * y
    solve(tables.factor, work.w, rhs)
    for i in range(len(x)):
        x[i] += rhs[i]


@inner
def frozen_projection(tables: Tables, work: Work, penalty: Array, gap0: Array, x: Array, tolerance: float) -> bool:
    """The nearest x with J x + gap0 = 0 in the metric of the mass, by a factor that is some steps old.

    As Simeon 1996, 12b, by chords. The direction must be the Jacobian of now: with the old one every projection would
    push the motion a little.
    """
    rows, rhs, dx, eta, rate = tables.rows, work.rhs, work.a, work.tau, work.rate
    start, col, jac, jac0 = rows.start, rows.col, work.jac, work.jac0
    for i in range(len(dx)):
        dx[i] = 0.0
    for i in range(len(eta)):
        eta[i] = 0.0
    last = 1e300
    for _ in range(8):
        mass_times(tables.mass, work.mass, dx, rhs)
        for i in range(len(rhs)):
            rhs[i] = -rhs[i]
        for i in range(len(eta)):
            gap = gap0[i]
            for a in range(start[i], start[i + 1]):
                gap += jac[a] * x[col[a]]
            rate[i] = gap
            y = penalty[i] * gap
            for a in range(start[i], start[i + 1]):
                rhs[col[a]] -= jac[a] * eta[i] + jac0[a] * y
        solve(tables.factor, work.w, rhs)
        change = norm(rhs)
        for i in range(len(dx)):
            dx[i] += rhs[i]
            x[i] += rhs[i]
        for i in range(len(eta)):
            y = rate[i]
            for a in range(start[i], start[i + 1]):
                y += jac0[a] * rhs[col[a]]
            eta[i] += penalty[i] * y
        if change <= tolerance:
            return True
        if change > 0.5 * last:
            return False
        last = change
    return False


@inlined_inner
def augmented_step(
    tables: Tables,
    work: Work,
    force: Any,
    options: Array,
    penalty: Array,
    t_s: float,
    h: float,
    q: Array,
    qd: Array,
    qdd: Array,
    multiplier: Array,
    cost: Array,
) -> bool:
    """One step to t + h, in place; options = (tolerance, cap of iterations, refresh, projection tolerance, accepted).

    Sanjurjo 2016, 3.43-3.46, 3.50, 3.51; 3.46 as corrected. The predictor extrapolates the acceleration of the step
    before. work.control = (contraction of the last step, its size, …, its end at [7]) is memory that saves iterations
    and changes results within the tolerance only. When Newton has not converged at the cap, a last move within the
    accepted one passes, counted in cost[6]; else False.
    """
    rows, mu, phi, rate = tables.rows, work.mu, work.phi, work.rate
    tolerance, limit, refresh = options[0], int(options[1]), int(options[2])
    quarter, per_h, per_h2 = 0.25 * h * h, 2.0 / h, 4.0 / (h * h)
    n, m = len(q), len(mu)
    start, col, jac0 = rows.start, rows.col, work.jac0
    before = work.before
    trend = abs(work.control[7] - t_s) < 1e-6 * h and work.control[1] == h
    for i in range(n):
        guess = qdd[i]
        if trend:
            guess += qdd[i] - before[i]
        speed = qd[i] + 0.5 * h * (qdd[i] + guess)
        before[i] = qdd[i]
        q[i] += 0.5 * h * (qd[i] + speed)
        qd[i] = speed
        qdd[i] = guess
    switched = carry_multipliers(rows, q, work.branch, multiplier)
    for i in range(m):
        mu[i] = quarter * multiplier[i]
    set_guides(rows, t_s + h, work.inputs, work.guide)
    need = refresh != WHEN_SLOW or work.control[1] != h or switched > 0
    contraction, last = work.control[0], 1e300
    converged = False
    iterations = 0
    first_move = 1.0
    size = 0.0
    while iterations < limit:
        evaluate(rows, q, work.branch, work.guide, work.jac, phi)
        refresh_mass(tables.mass, q, work.mass)
        generalised_forces(tables.loads, tables.mass, work.inputs, work.applied, q, qd, work.force)
        if len(tables.rolling.wheel) + len(tables.rolling.aero_par) > 0:
            rolling_forces(tables.rolling, work.wheels, work.road, work.inputs, h, q, qd, work.force)
        force(t_s + h, q, qd, work.parameters, work.force)
        if need:
            refactor(tables, work, penalty, h, q, qd)
            work.control[1] = h
            cost[1] += 1.0
            need = refresh == EVERY_ITERATION
        correction(tables, work, penalty, quarter, qdd)
        dq = work.rhs
        size = 0.0
        for i in range(n):
            d = dq[i]
            q[i] += d
            qd[i] += per_h * d
            qdd[i] += per_h2 * d
            size += d * d
        size = size**0.5
        if iterations == 0 or refresh == EVERY_ITERATION:
            first_move = 10.0 * size + 1e-6  # how far a projection with this factor misses, relative to its gap
        for i in range(m):
            y = phi[i]
            for a in range(start[i], start[i + 1]):
                y += jac0[a] * dq[col[a]]
            mu[i] += penalty[i] * y
        iterations += 1
        if iterations > 1:
            contraction = size / last
            # A factor made while a brake still slid or a wheel was in the air may be far off where the step ends; kept
            # to the end, it would let the iteration swing to and fro for ever.
            if contraction > (0.3 if refresh == WHEN_SLOW else STALLED):
                need = True
        if size <= tolerance or (contraction < 0.1 and 2.0 * contraction * size <= tolerance):
            converged = True
            break
        if not size < 1e100:
            break
        last = size
    if not converged and size <= options[4]:
        converged = True
        cost[6] += 1.0
    cost[0] += iterations
    cost[2] += iterations
    if not converged:
        work.control[1] = 0.0  # whatever is in the factor, the next step makes a new one
        return False
    # How far the contraction of this step is trusted in the next one. Wheels meet events: less far.
    trusted = TRUSTED_WITH_WHEELS if len(tables.rolling.wheel) > 0 else TRUSTED
    work.control[0] = max(contraction, trusted) if iterations > 1 else min(2.0 * max(contraction, trusted), 1.0)
    evaluate(rows, q, work.branch, work.guide, work.jac, phi)
    if refresh == WHEN_SLOW:
        for i in range(m):
            work.target[i] = 0.0
        for k in range(len(work.guide)):
            work.target[rows.guide[k, 0]] = -work.guide[k, 1]
        if not frozen_projection(tables, work, penalty, work.target, qd, options[3]):
            refactor(tables, work, penalty, h, q, qd)
            cost[1] += 1.0
            frozen_projection(tables, work, penalty, work.target, qd, options[3])
        accelerations(rows, q, qd, work.branch, work.guide, work.target)
        frozen_projection(tables, work, penalty, work.target, qdd, 100.0 * options[3])
    else:
        for _ in range(3):
            rates(rows, work.jac, work.guide, qd, rate)
            gap = norm(rate)
            if gap <= options[3]:
                break
            pull_back(tables, work, penalty, rate, qd)
            if first_move * gap <= options[3]:
                break
        accelerations(rows, q, qd, work.branch, work.guide, work.target)
        for _ in range(3):
            for i in range(m):
                y = work.target[i]
                for a in range(start[i], start[i + 1]):
                    y += work.jac[a] * qdd[col[a]]
                rate[i] = y
            gap = norm(rate)
            if gap <= 100.0 * options[3]:
                break
            pull_back(tables, work, penalty, rate, qdd)
            if first_move * gap <= 100.0 * options[3]:
                break
    work.control[7] = t_s + h
    for i in range(m):
        multiplier[i] = mu[i] * per_h2
    open_by = norm(phi)
    if not open_by <= cost[3]:
        cost[3] = open_by
    return True


@njit
def run_augmented(
    tables: Tables,
    work: Work,
    force: Any,
    options: Array,
    penalty: Array,
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
    """Steps `done` to `steps` of a run that began at t; returns the steps done, fewer when one failed.

    Every `every`-th state goes to record (k, 3, n) and wheel_record; row k of the schedule are the inputs of step k.
    """
    for k in range(done, steps):
        follow(work, schedule, k)
        if not augmented_step(tables, work, force, options, penalty, t_s + k * h, h, q, qd, qdd, multiplier, cost):
            return k
        keep(tables, work, t_s + (k + 1) * h, h, k, every, q, qd, qdd, record, wheel_record)
    return steps
