"""Exact derivatives of the accelerations by forward differentiation through the equations of motion.

Along a direction of motion everything the accelerations depend on is differentiated analytically (second derivatives of
the constraints are the constant S_i, so they are free), and one more saddle-point solve gives the change of qdd. Only a
user force is differentiated by central differences along the direction.
"""

from __future__ import annotations

from math import cos, sin
from typing import Any

from hodograph.core.frames import Array
from hodograph.multibody.forces.load_kernels import force_change
from hodograph.multibody.forces.rolling_kernels import rolling_change
from hodograph.multibody.model.constraint_kernels import bilinear, shared_forms, slot_product
from hodograph.multibody.model.tables import Tables, Work
from hodograph.multibody.motion.dynamics_kernels import (
    complete,
    configure,
    factor_kinematics,
    lagrange,
    null_space,
    rate_change,
    saddle,
)
from hodograph.numerics.compiling import inner, njit


@inner
def add_curvature(tables: Tables, work: Work, q: Array, multiplier: Array, dq: Array, out: Array) -> None:
    """out −= Σ λ_i ∂²Φ_i/∂q² dq."""
    rows = tables.rows
    for i in range(len(multiplier)):
        f0, f1, f2 = shared_forms(rows, i, dq)
        for a in range(rows.start[i], rows.start[i + 1]):
            out[rows.col[a]] -= multiplier[i] * slot_product(rows, a, f0, f1, f2, dq)
    for k in range(len(work.branch)):
        i = rows.angle[k, 2]
        if work.branch[k] == 1:
            out[i] -= multiplier[rows.angle[k, 0]] * rows.amplitude[k] * sin(q[i]) * dq[i]
        else:
            out[i] -= multiplier[rows.angle[k, 1]] * rows.amplitude[k] * cos(q[i]) * dq[i]


@inner
def add_mass_change(tables: Tables, dq: Array, qdd: Array, out: Array) -> None:
    """out −= (∂M/∂q dq) qdd, which only wheels have."""
    mass = tables.mass
    for k in range(len(mass.wheel_inertia)):
        a, b, spin = mass.wheel[k, 0], mass.wheel[k, 1], mass.wheel[k, 2]
        half = 0.5 * mass.wheel_inertia[k]
        for d in range(3):
            out[a + d] -= half * dq[b + d] * qdd[spin]
            out[b + d] += half * dq[a + d] * qdd[spin]
            out[spin] -= half * (dq[b + d] * qdd[a + d] - dq[a + d] * qdd[b + d])


@inner
def convective_change(tables: Tables, work: Work, q: Array, qd: Array, dq: Array, dqd: Array, out: Array) -> None:
    """out = change of Φ_q_dot qd along (dq, dqd)."""
    rows = tables.rows
    bilinear(rows, work.branch, qd, dqd, out)
    for i in range(len(out)):
        out[i] *= 2.0
    for k in range(len(work.branch)):
        i = rows.angle[k, 2]
        s, c = rows.amplitude[k] * sin(q[i]), rows.amplitude[k] * cos(q[i])
        if work.branch[k] == 1:
            out[rows.angle[k, 0]] += c * qd[i] * qd[i] * dq[i] + 2.0 * s * qd[i] * dqd[i]
        else:
            out[rows.angle[k, 1]] += -s * qd[i] * qd[i] * dq[i] + 2.0 * c * qd[i] * dqd[i]


@inner
def user_force_change(
    work: Work, force: Any, t_s: float, q: Array, qd: Array, dq: Array, dqd: Array, out: Array
) -> None:
    """out += change of the user force along (dq, dqd), by central differences."""
    step, n = 1e-6, len(q)
    ahead, back, x, y = work.stage[0], work.stage[1], work.stage[2], work.stage[3]
    for i in range(n):
        ahead[i], back[i] = 0.0, 0.0
        x[i], y[i] = q[i] + step * dq[i], qd[i] + step * dqd[i]
    force(t_s, x, y, work.parameters, ahead)
    for i in range(n):
        x[i], y[i] = q[i] - step * dq[i], qd[i] - step * dqd[i]
    force(t_s, x, y, work.parameters, back)
    for i in range(n):
        out[i] += (ahead[i] - back[i]) / (2.0 * step)


@inner
def acceleration_change(
    tables: Tables,
    work: Work,
    force: Any,
    t_s: float,
    q: Array,
    qd: Array,
    qdd: Array,
    multiplier: Array,
    dq: Array,
    dqd: Array,
    out: Array,
) -> None:
    """out = change of qdd along (dq, dqd); needs the mass factor at q and exact accelerations and multipliers."""
    load = work.a
    force_change(tables.loads, tables.mass, work.inputs, q, qd, dq, dqd, load)
    rolling_change(tables, work, max(0.0, t_s - work.clock[0]), q, qd, dq, dqd, load)
    user_force_change(work, force, t_s, q, qd, dq, dqd, load)
    add_curvature(tables, work, q, multiplier, dq, load)
    add_mass_change(tables, dq, qdd, load)
    convective_change(tables, work, q, qd, dq, dqd, work.target)
    rate_change(tables, work, q, qdd, dq, work.tau)
    for i in range(len(work.target)):
        work.target[i] = -work.target[i] - work.tau[i]
        work.dtau[i] = 0.0
    for i in range(len(out)):
        out[i] = 0.0
    saddle(tables, work, load, work.target, out, work.dtau)


@njit
def acceleration_derivatives(
    tables: Tables,
    work: Work,
    force: Any,
    t_s: float,
    q: Array,
    qd: Array,
    zeros: Array,
    qdd: Array,
    multiplier: Array,
    velocity: Array,
    by_position: Array,
    by_velocity: Array,
) -> None:
    """Rows k of the (f, n) outputs: dqd/dz_k, dqdd/dz_k and dqdd/dzd_k of all coordinates; qdd is made exact first.

    dqd/dz is that of Sanjurjo 2016, 3.125.
    """
    f = len(work.independent)
    configure(tables, work, t_s, q)
    factor_kinematics(tables, work)
    null_space(tables, work, work.null)
    for k in range(f):
        rate_change(tables, work, q, qd, work.null[k], work.tau)
        for i in range(len(work.tau)):
            work.tau[i] = -work.tau[i]
        complete(tables, work, work.tau)
        for i in range(len(q)):
            velocity[k, i] = work.rhs[i]
    lagrange(tables, work, force, t_s, q, qd, zeros[:2], qdd, multiplier)
    for k in range(f):
        acceleration_change(tables, work, force, t_s, q, qd, qdd, multiplier, work.null[k], velocity[k], by_position[k])
        acceleration_change(tables, work, force, t_s, q, qd, qdd, multiplier, zeros, work.null[k], by_velocity[k])
