"""Constraints as measurements: the parts of a filter on all coordinates x = [q, qd, θ].

A state that obeys the constraints Φ = 0, Φ_dot = 0 has a covariance of rank N = 2f + d: P = Tᵀ p T, where the rows of T
are the derivatives of x to the independent coordinates, their velocities and θ. It is kept as its core p.

Where a correction has moved the state along T, the constraints have turned. Read with such a P they would be news about
the motion, and each round of them would take variance from it until none is left. So before they are imposed the
dependent coordinates get a variance that dwarfs P (as in the toolbox of 2023): those give way, z and zd stay. And
every round starts from the same P: only the last linearisation counts.
"""

from __future__ import annotations

from math import cos, exp, sin
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hodograph.core.frames import Array
from hodograph.multibody.model.constraint_kernels import choose_branches, rates
from hodograph.multibody.motion.dynamics_kernels import configure
from hodograph.numerics.compiling import inner, merged
from hodograph.numerics.dense import innovation_var, joseph_row
from hodograph.observers.memory import Room
from hodograph.observers.on_mechanism.common import Rows
from hodograph.observers.on_mechanism.linearised import Linear, linearise, linearise_kinematics
from hodograph.observers.on_mechanism.plant import Node, Plant

if TYPE_CHECKING:
    from hodograph.observers.on_mechanism.problem import Problem

FREEDOM = 100.0  # variance of the dependent coordinates over the largest in P
WEAKENING, FADING = 0.1, 10.0  # ξ₀ = 0.1 Φ_x P Φ_xᵀ, then ξ e⁻¹⁰ from round to round (Sanjurjo 2016, 3.106, 3.110)
TOLERANCE = 1e-11
ROUNDS = 30
TOLD_ALREADY = 1e-11  # a row with less than this share of its variance left is idle or depends on others


class Wide(NamedTuple):
    """Buffers of a filter on M = 2n + d coordinates whose core has N = 2f + d; m rows of sensors."""

    T: Array  # (N, M) tangent
    F: Array  # (M, M)
    Q: Array  # (M, M)
    prior: Array  # (M, M) what each round starts from
    spare: Array  # (M, M)
    x: Array  # (M,) prior of an iterated update
    row: Array  # (M,) one constraint
    free: Array  # (n,) 1 for dependent coordinates
    heard: Array  # (m,) readings that passed the gate
    fan: Array  # (N, M) one standard deviation along each column of the core's factor
    chained: Array  # (m, N) H Tᵀ
    change: Array  # (N,)


def make_wide(problem: Problem, room: Room) -> Wide:
    """Buffers for a problem; the tangent stays from step to step, so it lies in the room."""
    n, m, size = problem.model.n, len(problem.sensors.rows), problem.size
    full = 2 * n + len(problem.uncertainty.disturbances)
    square = (full, full)
    free = np.ones(n)
    free[problem.model.independent] = 0.0
    return Wide(
        T=room.zeros(size, full), F=np.zeros(square), Q=np.zeros(square), prior=np.zeros(square),
        spare=np.zeros(square), x=np.zeros(full), row=np.zeros(full), free=free, heard=np.zeros(m),
        fan=np.zeros((size, full)),
        chained=np.zeros((m, size)), change=np.zeros(size),
    )  # fmt: skip


@inner
def tangent(node: Node, linear: Linear, wide: Wide) -> None:
    """T of the linearised kinematics."""
    n, f = len(node.q), len(linear.null)
    for k in range(f):
        for i in range(n):
            wide.T[k, i] = wide.T[f + k, n + i] = linear.null[k, i]
            wide.T[k, n + i] = linear.velocity[k, i]
    for k in range(len(node.theta)):
        wide.T[2 * f + k, 2 * n + k] = 1.0


@inner
def stand(plant: Plant, node: Node, linear: Linear, wide: Wide, t_s: float) -> None:
    """Exact accelerations at the node, their derivatives, and the tangent."""
    linearise(plant, node, t_s, linear)
    for i in range(len(node.q)):
        node.qdd[i] = linear.spare_qdd[i]
    tangent(node, linear, wide)


@inner
def lean(plant: Plant, node: Node, linear: Linear, wide: Wide, with_qdd: bool, t_s: float) -> None:
    """The tangent at the node; the accelerations and their derivatives only if wanted."""
    if with_qdd:
        stand(plant, node, linear, wide, t_s)
    else:
        linearise_kinematics(plant, node, t_s, linear)
        tangent(node, linear, wide)


@inner
def widen(core: Array, wide: Wide, out: Array) -> None:
    """out = Tᵀ core T."""
    size, full = wide.T.shape
    for a in range(size):
        for j in range(full):
            s = 0.0
            for b in range(size):
                s += core[a, b] * wide.T[b, j]
            wide.spare[a, j] = s
    for i in range(full):
        for j in range(i + 1):
            s = 0.0
            for a in range(size):
                s += wide.T[a, i] * wide.spare[a, j]
            out[i, j] = out[j, i] = s


@merged
def narrow(plant: Plant, P: Array, n: int, core: Array) -> None:
    """core = the rows and columns of z, zd and θ of P."""
    z, f = plant.work.independent, len(plant.work.independent)
    for i in range(len(core)):
        a = z[i] if i < f else (n + z[i - f] if i < 2 * f else 2 * n + i - 2 * f)
        for j in range(len(core)):
            b = z[j] if j < f else (n + z[j - f] if j < 2 * f else 2 * n + j - 2 * f)
            core[i, j] = P[a, b]


@inner
def release(P: Array, free: Array) -> None:
    """Let the dependent coordinates give way to the constraints."""
    largest, n = 0.0, len(free)
    for i in range(2 * n):
        largest = max(largest, P[i, i])
    for i in range(n):
        P[i, i] += FREEDOM * largest * free[i]
        P[n + i, n + i] += FREEDOM * largest * free[i]


@inner
def violation(plant: Plant, node: Node, t_s: float) -> float:
    """Norm of Φ and Φ_dot at the node; leaves both with the Jacobian behind."""
    tables, work = plant.tables, plant.work
    choose_branches(tables.rows, node.q, work.branch)
    configure(tables, work, t_s, node.q)
    rates(tables.rows, work.jac, work.guide, node.qd, work.rate)
    total = 0.0
    for i in range(len(work.phi)):
        total += work.phi[i] * work.phi[i] + work.rate[i] * work.rate[i]
    norm: float = total**0.5
    return norm


@merged
def constraint_row(plant: Plant, node: Node, i: int, of_rate: int, row: Array) -> float:
    """row = dΦ_i/dx or dΦ_dot_i/dx after `violation`, all zero for an idle row; returns the value."""
    rows, work, n = plant.tables.rows, plant.work, len(node.q)
    for j in range(len(row)):
        row[j] = 0.0
    shift = n if of_rate == 1 else 0
    for a in range(rows.start[i], rows.start[i + 1]):
        row[shift + rows.col[a]] += work.jac[a]
    if of_rate == 0:
        value: float = work.phi[i]
        return value
    for k in range(len(work.branch)):
        angle = rows.angle[k, 2]
        moved = rows.amplitude[k] * node.qd[angle]
        if work.branch[k] == 1:
            if rows.angle[k, 0] == i:
                row[angle] += moved * sin(node.q[angle])
            elif rows.angle[k, 1] == i:
                return 0.0
        elif rows.angle[k, 1] == i:
            row[angle] += moved * cos(node.q[angle])
        elif rows.angle[k, 0] == i:
            return 0.0
    for a in range(rows.start[i], rows.start[i + 1]):
        speed = node.qd[rows.col[a]]
        for t in range(rows.tri_start[a], rows.tri_start[a + 1]):
            row[rows.tri_col[t]] += rows.tri_val[t] * speed
        if rows.share[a] < 3:
            form = 3 * i + rows.share[a]
            for t in range(rows.form_start[form], rows.form_start[form + 1]):
                row[rows.form_col[t]] += rows.share_val[a] * rows.form_val[t] * speed
    rate: float = work.rate[i]
    return rate


@inner
def constrain(plant: Plant, node: Node, P: Array, rows: Rows, wide: Wide, weakening: float) -> None:
    """Φ and Φ_dot as measurements, row by row: updates P and rows.dx, at first prior minus node.

    Sanjurjo 2016, 3.107-3.109.
    """
    for of_rate in range(2):
        for i in range(len(plant.work.phi)):
            gap = -constraint_row(plant, node, i, of_rate, wide.row)
            spread, scale = innovation_var(P, wide.row, 0.0), 0.0
            for j in range(len(P)):
                scale += wide.row[j] * wide.row[j] * P[j, j]
                gap -= wide.row[j] * rows.dx[j]
            if not spread > TOLD_ALREADY * scale:
                continue
            joseph_row(P, wide.row, weakening * spread, rows.K, rows.g)
            for j in range(len(P)):
                rows.dx[j] += rows.K[j] * gap


@inner
def read(node: Node, x: Array) -> None:
    """x = [q, qd, θ] of the node."""
    n = len(node.q)
    for i in range(n):
        x[i], x[n + i] = node.q[i], node.qd[i]
    for k in range(len(node.theta)):
        x[2 * n + k] = node.theta[k]


@inner
def place(node: Node, x: Array) -> None:
    """The node at x."""
    n = len(node.q)
    for i in range(n):
        node.q[i], node.qd[i] = x[i], x[n + i]
    for k in range(len(node.theta)):
        node.theta[k] = x[2 * n + k]


@inner
def move(node: Node, dx: Array, share: float) -> None:
    """node += share · dx."""
    n = len(node.q)
    for i in range(n):
        node.q[i] += share * dx[i]
        node.qd[i] += share * dx[n + i]
    for k in range(len(node.theta)):
        node.theta[k] += share * dx[2 * n + k]


@inner
def copy(source: Array, target: Array) -> None:
    """target = source, both (M, M)."""
    for i in range(len(source)):
        for j in range(len(source)):
            target[i, j] = source[i, j]


@inner
def hold(plant: Plant, node: Node, P: Array, rows: Rows, wide: Wide, t_s: float) -> bool:
    """Rounds of constraints with fading noise, each from wide.prior, until they hold (Sanjurjo 2016, 3.106-3.110)."""
    weakening = WEAKENING
    for _ in range(ROUNDS):
        if not violation(plant, node, t_s) < 1e100:
            return False
        copy(wide.prior, P)
        for j in range(len(P)):
            rows.dx[j] = 0.0
        constrain(plant, node, P, rows, wide, weakening)
        move(node, rows.dx, 1.0)
        weakening *= exp(-FADING)
        if violation(plant, node, t_s) <= TOLERANCE:
            return True
    return False
