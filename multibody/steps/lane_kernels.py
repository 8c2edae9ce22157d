"""The augmented-Lagrangian step for four states side by side: every array has a last axis of four lanes.

The inner statements are written out for the four lanes with the shared factors loaded first, so that the compiler packs
them into SIMD registers. Indices are walked once for all four. Each lane has its own branch
of every angle; Newton goes on until the slowest lane has converged.
"""

from __future__ import annotations

from math import cos, sin
from typing import Any

import numpy as np

from hodograph.core.frames import Array
from hodograph.multibody.forces.load_kernels import add_tangents, generalised_forces
from hodograph.multibody.forces.rolling_kernels import carry_states, rolling_forces, rolling_tangents
from hodograph.multibody.model.constraint_kernels import SWITCH, set_guides
from hodograph.multibody.model.tables import ConstraintRows, Factor, Index, LaneWork, Mass, Tables
from hodograph.multibody.steps.augmented_kernels import STALLED
from hodograph.numerics.compiling import inlined_inner, inner, njit

ZERO, ONE = np.uint64(0), np.uint32(1)
LANES = 4


@inlined_inner
def add_jacobian4(rows: ConstraintRows, factor: Factor, jac: Array, penalty: Array, w: Array) -> None:
    """w += Jᵀ diag(penalty) J in all lanes."""
    start, run = rows.start, factor.jacobian
    r = ZERO
    for i in range(len(penalty)):
        p = penalty[i]
        end = start[i + 1]
        for a in range(start[i], end):
            x0, x1, x2, x3 = p * jac[a, 0], p * jac[a, 1], p * jac[a, 2], p * jac[a, 3]
            b = a
            while b < end:
                to, length = run[r, 0], run[r, 1]
                for k in range(length):
                    d, c = to + k, b + k
                    e0, e1, e2, e3 = (
                        w[d, 0] + x0 * jac[c, 0],
                        w[d, 1] + x1 * jac[c, 1],
                        w[d, 2] + x2 * jac[c, 2],
                        w[d, 3] + x3 * jac[c, 3],
                    )
                    w[d, 0], w[d, 1], w[d, 2], w[d, 3] = e0, e1, e2, e3
                b += length
                r += ONE


@inlined_inner
def add_mass4(mass: Mass, factor: Factor, q: Array, w: Array) -> None:
    """w = mass matrix in all lanes."""
    constant = factor.mass
    for k in range(len(constant)):
        c = constant[k]
        w[k, 0] = c
        w[k, 1] = c
        w[k, 2] = c
        w[k, 3] = c
    for k in range(len(mass.wheel_inertia)):
        half = 0.5 * mass.wheel_inertia[k]
        a, b = mass.wheel[k, 0], mass.wheel[k, 1]
        for d in range(3):
            for lane in range(LANES):
                w[mass.wheel_dest[k, d], lane] += half * q[b + d, lane]
                w[mass.wheel_dest[k, 3 + d], lane] -= half * q[a + d, lane]


@inlined_inner
def factorise4(factor: Factor, w: Array) -> None:
    """LDLᵀ in all lanes, as linear.factorise."""
    start, run = factor.start, factor.update
    r = ZERO
    for k in range(len(start) - 1):
        first, end = start[k], start[k + 1]
        i0, i1, i2, i3 = 1.0 / w[first, 0], 1.0 / w[first, 1], 1.0 / w[first, 2], 1.0 / w[first, 3]
        w[first, 0], w[first, 1], w[first, 2], w[first, 3] = i0, i1, i2, i3
        for x in range(first + ONE, end):
            s0, s1, s2, s3 = w[x, 0] * i0, w[x, 1] * i1, w[x, 2] * i2, w[x, 3] * i3
            y = x
            while y < end:
                to, length = run[r, 0], run[r, 1]
                for j in range(length):
                    d, c = to + j, y + j
                    e0, e1, e2, e3 = (
                        w[d, 0] - s0 * w[c, 0],
                        w[d, 1] - s1 * w[c, 1],
                        w[d, 2] - s2 * w[c, 2],
                        w[d, 3] - s3 * w[c, 3],
                    )
                    w[d, 0], w[d, 1], w[d, 2], w[d, 3] = e0, e1, e2, e3
                y += length
                r += ONE
        for x in range(first + ONE, end):
            e0, e1, e2, e3 = w[x, 0] * i0, w[x, 1] * i1, w[x, 2] * i2, w[x, 3] * i3
            w[x, 0], w[x, 1], w[x, 2], w[x, 3] = e0, e1, e2, e3


@inner
def solve4(factor: Factor, w: Array, b: Array) -> None:
    """Solve in all lanes, as linear.solve."""
    order, start, row = factor.order, factor.start, factor.row
    n = np.uint64(len(order))
    for k in range(ZERO, n):
        o = order[k]
        x0, x1, x2, x3 = b[o, 0], b[o, 1], b[o, 2], b[o, 3]
        for y in range(start[k] + ONE, start[k + ONE]):
            r = row[y]
            e0, e1, e2, e3 = (
                b[r, 0] - w[y, 0] * x0,
                b[r, 1] - w[y, 1] * x1,
                b[r, 2] - w[y, 2] * x2,
                b[r, 3] - w[y, 3] * x3,
            )
            b[r, 0], b[r, 1], b[r, 2], b[r, 3] = e0, e1, e2, e3
    k_back = n
    for _ in range(n):
        k_back -= ONE
        o, f = order[k_back], start[k_back]
        x0, x1, x2, x3 = b[o, 0] * w[f, 0], b[o, 1] * w[f, 1], b[o, 2] * w[f, 2], b[o, 3] * w[f, 3]
        for y in range(f + ONE, start[k_back + ONE]):
            r = row[y]
            x0 -= w[y, 0] * b[r, 0]
            x1 -= w[y, 1] * b[r, 1]
            x2 -= w[y, 2] * b[r, 2]
            x3 -= w[y, 3] * b[r, 3]
        b[o, 0], b[o, 1], b[o, 2], b[o, 3] = x0, x1, x2, x3


@inlined_inner
def form4(rows: ConstraintRows, k: int, y: Array) -> tuple[float, float, float, float]:
    """Shared form k in all lanes."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for t in range(rows.form_start[k], rows.form_start[k + 1]):
        c, j = rows.form_val[t], rows.form_col[t]
        s0 += c * y[j, 0]
        s1 += c * y[j, 1]
        s2 += c * y[j, 2]
        s3 += c * y[j, 3]
    return s0, s1, s2, s3


@inlined_inner
def slot_product4(
    rows: ConstraintRows, a: int, f: tuple[float, ...], g: tuple[float, ...], h: tuple[float, ...], y: Array
) -> tuple[float, float, float, float]:
    """As constraints.slot_product, in all lanes."""
    share, v = rows.share[a], rows.share_val[a]
    if share == 0:
        s0, s1, s2, s3 = v * f[0], v * f[1], v * f[2], v * f[3]
    elif share == 1:
        s0, s1, s2, s3 = v * g[0], v * g[1], v * g[2], v * g[3]
    else:
        s0, s1, s2, s3 = v * h[0], v * h[1], v * h[2], v * h[3]
    for t in range(rows.tri_start[a], rows.tri_start[a + 1]):
        c, j = rows.tri_val[t], rows.tri_col[t]
        s0 += c * y[j, 0]
        s1 += c * y[j, 1]
        s2 += c * y[j, 2]
        s3 += c * y[j, 3]
    return s0, s1, s2, s3


@inner
def evaluate4(rows: ConstraintRows, q: Array, branch: Index, guide: Array, jac: Array, phi: Array) -> None:
    """Jacobian slots and constraint values in all lanes, as constraints.evaluate."""
    start, col, lin = rows.start, rows.col, rows.lin
    const = rows.const
    for i in range(len(const)):
        v0, v1, v2, v3 = 0.0, 0.0, 0.0, 0.0
        f, g, h = form4(rows, 3 * i, q), form4(rows, 3 * i + 1, q), form4(rows, 3 * i + 2, q)
        for a in range(start[i], start[i + 1]):
            x = lin[a]
            y0, y1, y2, y3 = slot_product4(rows, a, f, g, h, q)
            y0, y1, y2, y3 = x + y0, x + y1, x + y2, x + y3
            jac[a, 0], jac[a, 1], jac[a, 2], jac[a, 3] = y0, y1, y2, y3
            j = col[a]
            v0 += (x + y0) * q[j, 0]
            v1 += (x + y1) * q[j, 1]
            v2 += (x + y2) * q[j, 2]
            v3 += (x + y3) * q[j, 3]
        c = const[i]
        phi[i, 0], phi[i, 1], phi[i, 2], phi[i, 3] = 0.5 * v0 - c, 0.5 * v1 - c, 0.5 * v2 - c, 0.5 * v3 - c
    for k in range(len(rows.amplitude)):
        for lane in range(LANES):
            angle = q[rows.angle[k, 2], lane]
            s, c = rows.amplitude[k] * sin(angle), rows.amplitude[k] * cos(angle)
            if branch[k, lane] == 1:
                phi[rows.angle[k, 0], lane] -= s
                jac[rows.angle[k, 3], lane] = -c
                idle = rows.angle[k, 1]
            else:
                phi[rows.angle[k, 1], lane] -= c
                jac[rows.angle[k, 4], lane] = s
                idle = rows.angle[k, 0]
            phi[idle, lane] = 0.0
            for a in range(start[idle], start[idle + 1]):
                jac[a, lane] = 0.0
    for k in range(len(rows.guide)):
        for lane in range(LANES):
            phi[rows.guide[k, 0], lane] -= guide[k, 0]


@inlined_inner
def jacobian_times4(rows: ConstraintRows, jac: Array, x: Array, offset: Array, out: Array) -> None:
    """out = J x + offset in all lanes."""
    start, col = rows.start, rows.col
    for i in range(len(out)):
        s0, s1, s2, s3 = offset[i, 0], offset[i, 1], offset[i, 2], offset[i, 3]
        for a in range(start[i], start[i + 1]):
            j = col[a]
            s0 += jac[a, 0] * x[j, 0]
            s1 += jac[a, 1] * x[j, 1]
            s2 += jac[a, 2] * x[j, 2]
            s3 += jac[a, 3] * x[j, 3]
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = s0, s1, s2, s3


@inlined_inner
def subtract_transposed4(rows: ConstraintRows, jac: Array, y: Array, weight: Array, out: Array) -> None:
    """out −= Jᵀ (weight · y) in all lanes."""
    start, col = rows.start, rows.col
    for i in range(len(y)):
        c = weight[i]
        y0, y1, y2, y3 = c * y[i, 0], c * y[i, 1], c * y[i, 2], c * y[i, 3]
        for a in range(start[i], start[i + 1]):
            j = col[a]
            e0, e1, e2, e3 = (
                out[j, 0] - jac[a, 0] * y0,
                out[j, 1] - jac[a, 1] * y1,
                out[j, 2] - jac[a, 2] * y2,
                out[j, 3] - jac[a, 3] * y3,
            )
            out[j, 0], out[j, 1], out[j, 2], out[j, 3] = e0, e1, e2, e3


@inlined_inner
def inertia4(mass: Mass, q: Array, qdd: Array, quarter: float, force: Array, out: Array) -> None:
    """out = quarter · (force − M qdd) in all lanes."""
    start, col, val = mass.start, mass.col, mass.val
    for i in range(len(out)):
        s0, s1, s2, s3 = force[i, 0], force[i, 1], force[i, 2], force[i, 3]
        for k in range(start[i], start[i + 1]):
            c, j = val[k], col[k]
            s0 -= c * qdd[j, 0]
            s1 -= c * qdd[j, 1]
            s2 -= c * qdd[j, 2]
            s3 -= c * qdd[j, 3]
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = quarter * s0, quarter * s1, quarter * s2, quarter * s3
    for k in range(len(mass.wheel_inertia)):
        half = 0.5 * mass.wheel_inertia[k] * quarter
        a, b, spin = mass.wheel[k, 0], mass.wheel[k, 1], mass.wheel[k, 2]
        for d in range(3):
            for lane in range(LANES):
                out[a + d, lane] -= half * q[b + d, lane] * qdd[spin, lane]
                out[b + d, lane] += half * q[a + d, lane] * qdd[spin, lane]
                out[spin, lane] -= half * (q[b + d, lane] * qdd[a + d, lane] - q[a + d, lane] * qdd[b + d, lane])


@inner
def convective4(rows: ConstraintRows, q: Array, qd: Array, branch: Index, guide: Array, out: Array) -> None:
    """out = Φ_q_dot qd + Φ_t_dot in all lanes, as constraints.accelerations."""
    start, col = rows.start, rows.col
    for i in range(len(out)):
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        f, g, h = form4(rows, 3 * i, qd), form4(rows, 3 * i + 1, qd), form4(rows, 3 * i + 2, qd)
        for a in range(start[i], start[i + 1]):
            u0, u1, u2, u3 = slot_product4(rows, a, f, g, h, qd)
            j = col[a]
            s0 += u0 * qd[j, 0]
            s1 += u1 * qd[j, 1]
            s2 += u2 * qd[j, 2]
            s3 += u3 * qd[j, 3]
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = s0, s1, s2, s3
    for k in range(len(rows.amplitude)):
        i = rows.angle[k, 2]
        for lane in range(LANES):
            speed2 = rows.amplitude[k] * qd[i, lane] * qd[i, lane]
            if branch[k, lane] == 1:
                out[rows.angle[k, 0], lane] += speed2 * sin(q[i, lane])
                out[rows.angle[k, 1], lane] = 0.0
            else:
                out[rows.angle[k, 1], lane] += speed2 * cos(q[i, lane])
                out[rows.angle[k, 0], lane] = 0.0
    for k in range(len(rows.guide)):
        for lane in range(LANES):
            out[rows.guide[k, 0], lane] -= guide[k, 2]


@inlined_inner
def forces4(tables: Tables, work: LaneWork, force: Any, t_s: float, h: float, q: Array, qd: Array) -> None:
    """work.force in all lanes; a model without springs, wheels and user force has the same in each."""
    for lane in range(LANES):
        for i in range(len(work.one_q)):
            work.one_q[i] = q[i, lane]
            work.one_qd[i] = qd[i, lane]
        generalised_forces(tables.loads, tables.mass, work.inputs, work.applied, work.one_q, work.one_qd, work.one)
        if len(tables.rolling.wheel) + len(tables.rolling.aero_par) > 0:
            rolling_forces(
                tables.rolling, work.wheels[lane], work.road, work.inputs, h, work.one_q, work.one_qd, work.one
            )
        force(t_s, work.one_q, work.one_qd, work.parameters, work.one)
        for i in range(len(work.one_q)):
            work.force[i, lane] = work.one[i]


@inlined_inner
def tangents4(tables: Tables, work: LaneWork, h: float, q: Array, qd: Array) -> None:
    """w += h²/4 K + h/2 C in all lanes."""
    if len(tables.loads.spring_par) + len(tables.loads.scalar_par) + len(tables.rolling.wheel) == 0:
        return
    for lane in range(LANES):
        for i in range(len(work.one_q)):
            work.one_q[i] = q[i, lane]
            work.one_qd[i] = qd[i, lane]
        for k in range(len(work.one_w)):
            work.one_w[k] = 0.0
        add_tangents(tables.loads, work.one_q, work.one_qd, 0.25 * h * h, 0.5 * h, work.one, work.one_w)
        rolling_tangents(
            tables.rolling, work.wheels[lane], work.road, work.inputs, h, work.one_q, work.one_qd, 0.25 * h * h,
            0.5 * h, work.one_w,
        )  # fmt: skip
        for k in range(len(work.one_w)):
            work.w[k, lane] += work.one_w[k]


@inlined_inner
def largest4(x: Array) -> float:
    """The largest Euclidean length among the lanes."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for i in range(len(x)):
        s0 += x[i, 0] * x[i, 0]
        s1 += x[i, 1] * x[i, 1]
        s2 += x[i, 2] * x[i, 2]
        s3 += x[i, 3] * x[i, 3]
    if not s0 + s1 + s2 + s3 < 1e200:  # max would lose a NaN
        return 1e200
    return float(max(max(s0, s1), max(s2, s3)) ** 0.5)


@inlined_inner
def pull_back4(tables: Tables, work: LaneWork, penalty: Array, gap: Array, x: Array) -> None:
    """x −= W⁻¹ Jᵀ p gap in all lanes (Sanjurjo 2016, 3.50, 3.51)."""
    rhs = work.rhs
    rhs[:, :] = 0.0
    subtract_transposed4(tables.rows, work.jac0, gap, penalty, rhs)
    solve4(tables.factor, work.w, rhs)
    for i in range(len(x)):
        for lane in range(LANES):
            x[i, lane] += rhs[i, lane]


@inlined_inner
def predict4(
    rows: ConstraintRows, work: LaneWork, t_s: float, h: float, q: Array, qd: Array, qdd: Array, multiplier: Array
) -> None:
    """Extrapolated acceleration; branches chosen lane by lane, their multipliers handed over."""
    before, control = work.before, work.control
    trend = abs(control[1] - t_s) < 1e-6 * h and control[0] == h
    for i in range(len(q)):
        for lane in range(LANES):
            guess = qdd[i, lane]
            if trend:
                guess += qdd[i, lane] - before[i, lane]
            speed = qd[i, lane] + 0.5 * h * (qdd[i, lane] + guess)
            before[i, lane] = qdd[i, lane]
            q[i, lane] += 0.5 * h * (qd[i, lane] + speed)
            qd[i, lane] = speed
            qdd[i, lane] = guess
    control[0], control[1] = h, t_s + h
    for k in range(len(rows.amplitude)):
        sine, cosine = rows.angle[k, 0], rows.angle[k, 1]
        for lane in range(LANES):
            angle = q[rows.angle[k, 2], lane]
            s = sin(angle)
            best = 1 if abs(s) < SWITCH else 0
            if work.branch[k, lane] != best:
                c = cos(angle)
                if best == 1:
                    multiplier[sine, lane] = -multiplier[cosine, lane] * s / c
                    multiplier[cosine, lane] = 0.0
                else:
                    multiplier[cosine, lane] = -multiplier[sine, lane] * c / s
                    multiplier[sine, lane] = 0.0
                work.branch[k, lane] = best


@inner
def step4(
    tables: Tables,
    work: LaneWork,
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
    """One step of four states in place; the factor is made at the predicted positions, and again where it stalls.

    Sanjurjo 2016, 3.43-3.49.
    """
    rows, rhs, mu, phi, gap = tables.rows, work.rhs, work.mu, work.phi, work.gap
    quarter, per_h, per_h2 = 0.25 * h * h, 2.0 / h, 4.0 / (h * h)
    predict4(rows, work, t_s, h, q, qd, qdd, multiplier)
    for i in range(len(mu)):
        for lane in range(LANES):
            mu[i, lane] = quarter * multiplier[i, lane]
    converged, last, iterations, size, need = False, 1e300, 0, 0.0, True
    while iterations < int(options[1]):
        evaluate4(rows, q, work.branch, work.guide, work.jac, phi)
        forces4(tables, work, force, t_s + h, h, q, qd)
        if need:
            add_mass4(tables.mass, tables.factor, q, work.w)
            tangents4(tables, work, h, q, qd)
            add_jacobian4(rows, tables.factor, work.jac, penalty, work.w)
            for a in range(len(work.jac)):
                for lane in range(LANES):
                    work.jac0[a, lane] = work.jac[a, lane]
            factorise4(tables.factor, work.w)
            need = False
        inertia4(tables.mass, q, qdd, quarter, work.force, rhs)
        subtract_transposed4(rows, work.jac, mu, work.ones, rhs)
        subtract_transposed4(rows, work.jac0, phi, penalty, rhs)
        solve4(tables.factor, work.w, rhs)
        for i in range(len(q)):
            for lane in range(LANES):
                q[i, lane] += rhs[i, lane]
                qd[i, lane] += per_h * rhs[i, lane]
                qdd[i, lane] += per_h2 * rhs[i, lane]
        jacobian_times4(rows, work.jac0, rhs, phi, gap)
        for i in range(len(mu)):
            p = penalty[i]
            for lane in range(LANES):
                mu[i, lane] += p * gap[i, lane]
        iterations += 1
        size = largest4(rhs)
        contraction = size / last if iterations > 1 else 1.0
        if size <= options[0] or (contraction < 0.1 and 2.0 * contraction * size <= options[0]):
            converged = True
            break
        if not size < 1e100:
            break
        need = iterations > 1 and contraction > STALLED
        last = size
    if not converged and size <= options[4]:
        converged = True
        cost[6] += 1.0
    evaluate4(rows, q, work.branch, work.guide, work.jac, phi)
    cost[0] += iterations
    cost[3] = max(cost[3], largest4(phi))
    project4(tables, work, options, penalty, q, qd, qdd)
    for i in range(len(mu)):
        for lane in range(LANES):
            multiplier[i, lane] = mu[i, lane] * per_h2
    if len(tables.rolling.wheel) > 0:
        forces4(tables, work, force, t_s + h, h, q, qd)
        for lane in range(LANES):
            carry_states(work.wheels[lane])
    return converged


@inner
def project4(tables: Tables, work: LaneWork, options: Array, penalty: Array, q: Array, qd: Array, qdd: Array) -> None:
    """Velocity and acceleration projections in all lanes (Sanjurjo 2016, 3.50, 3.51)."""
    rows, gap, target = tables.rows, work.gap, work.target
    target[:, :] = 0.0
    for k in range(len(rows.guide)):
        for lane in range(LANES):
            target[rows.guide[k, 0], lane] = -work.guide[k, 1]
    for _ in range(3):
        jacobian_times4(rows, work.jac, qd, target, gap)
        if largest4(gap) <= options[3]:
            break
        pull_back4(tables, work, penalty, gap, qd)
    convective4(rows, q, qd, work.branch, work.guide, target)
    for _ in range(3):
        jacobian_times4(rows, work.jac, qdd, target, gap)
        if largest4(gap) <= 100.0 * options[3]:
            break
        pull_back4(tables, work, penalty, gap, qdd)


@njit
def run4(
    tables: Tables,
    work: LaneWork,
    force: Any,
    options: Array,
    penalty: Array,
    t_s: float,
    h: float,
    steps: int,
    q: Array,
    qd: Array,
    qdd: Array,
    multiplier: Array,
    cost: Array,
) -> int:
    """`steps` steps of four states; returns the steps done, fewer when one failed."""
    for k in range(steps):
        set_guides(tables.rows, t_s + (k + 1) * h, work.inputs, work.guide)
        if not step4(tables, work, force, options, penalty, t_s + k * h, h, q, qd, qdd, multiplier, cost):
            return k
    return steps
