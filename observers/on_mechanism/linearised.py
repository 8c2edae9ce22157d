"""A mechanism's plant linearised at a node: the exact derivatives, F over a step, and the noise that enters meanwhile.

F and Q belong to x = [z, zd, θ]; what a disturbance adds follows from its kind (see `plant`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hodograph.core.frames import Array
from hodograph.multibody.model.constraint_kernels import choose_branches
from hodograph.multibody.model.linear_kernels import mass_times
from hodograph.multibody.motion.derivative_kernels import acceleration_derivatives
from hodograph.multibody.motion.dynamics_kernels import (
    complete,
    configure,
    factor_kinematics,
    matrix_r,
    null_space,
    rate_change,
    saddle,
)
from hodograph.numerics.compiling import inner, merged
from hodograph.numerics.dense import multiply
from hodograph.observers.memory import Room
from hodograph.observers.on_mechanism.plant import (
    BODY_FORCE,
    ENTRY,
    Node,
    Plant,
    load_disturbances,
    put_entry,
)
from hodograph.sensors.kernels import add_gradient, affine

if TYPE_CHECKING:
    from hodograph.observers.on_mechanism.problem import Problem

CONSTANT, FIRST_ORDER, EXACT = 0, 1, 2
ORDER = 6  # of the series of F and Q: a triple integrator is exact from the fifth term on


class Linear(NamedTuple):
    """The linearised plant: rows k are derivatives to z_k, zd_k, θ_k of all coordinates."""

    null: Array  # (f, n) dq/dz
    velocity: Array  # (f, n) dqd/dz
    by_z: Array  # (f, n) dqdd/dz
    by_zd: Array  # (f, n)
    by_theta: Array  # (d, n)
    mass: Array  # (f, f) Rᵀ M R
    A: Array  # (N, N) continuous transition
    F: Array  # (N, N)
    Q: Array  # (N, N)
    T: Array  # (N, N) spare
    zeros: Array  # (n,)
    change: Array  # (n,) expected of the accelerations over the next step
    spare_qdd: Array  # (n,)
    spare_multiplier: Array  # (rows,)
    spare_force: Array  # (n,)
    spare_change: Array  # (n,)


def make_linear(problem: Problem, room: Room, *, kept: bool = False) -> Linear:
    """Buffers of the linearisation. `kept`: a filter needs it from one step to the next, so it lies in the room."""
    n, f, d = problem.model.n, len(problem.model.independent), len(problem.uncertainty.disturbances)
    N = 2 * f + d

    def array(*shape: int) -> Array:
        return room.zeros(*shape) if kept else np.zeros(shape)

    return Linear(
        null=array(f, n), velocity=array(f, n), by_z=array(f, n), by_zd=array(f, n), by_theta=array(d, n),
        mass=np.zeros((f, f)), A=np.zeros((N, N)), F=np.zeros((N, N)), Q=room.zeros(N, N), T=np.zeros((N, N)),
        zeros=np.zeros(max(n, 2)), change=np.zeros(n), spare_qdd=np.zeros(n),
        spare_multiplier=np.zeros(problem.model.rows), spare_force=np.zeros(n), spare_change=np.zeros(n),
    )  # fmt: skip


@inner
def turned(plant: Plant, k: int, q: Array, dq: Array, theta: float, out: Array) -> None:
    """out = θ · the change of columns[k] of a BODY_FORCE along dq, its axis turning with the body."""
    u = plant.unknowns
    x, y, z = affine(u.axis, k, q, 1.0)
    a, b, c = affine(u.axis, k, dq, 0.0)
    square = x * x + y * y + z * z
    along, share = (a * x + b * y + c * z) / square, theta / square**0.5
    for i in range(len(q)):
        out[i] = 0.0
    add_gradient(u.place, k, share * (a - along * x), share * (b - along * y), share * (c - along * z), out)


@inner
def entry_effect(plant: Plant, node: Node, k: int, t_s: float, linear: Linear) -> None:
    """linear.by_theta[k] = d qdd / dθ of a table's entry, by a central difference of the accelerations."""
    step = 1e-4 * max(abs(plant.unknowns.nominal[k]), 1e-2)
    n = len(node.q)
    configure(plant.tables, plant.work, t_s, node.q)
    factor_kinematics(plant.tables, plant.work)
    for side in range(2):
        put_entry(plant, k, node.theta[k] + (step if side == 0 else -step))
        matrix_r(
            plant.tables, plant.work, plant.force, t_s, node.q, node.qd, linear.spare_qdd, linear.spare_multiplier
        )  # fmt: skip
        for i in range(n):
            before = 0.0 if side == 0 else linear.by_theta[k, i]
            linear.by_theta[k, i] = before + (linear.spare_qdd[i] if side == 0 else -linear.spare_qdd[i]) / (2.0 * step)
    put_entry(plant, k, node.theta[k])


@inner
def linearise_kinematics(plant: Plant, node: Node, t_s: float, linear: Linear) -> None:
    """R and dqd/dz = −S Φ_q_dot R at the node (Sanjurjo 2016, 3.125); leaves the kinematic factor behind."""
    tables, work = plant.tables, plant.work
    choose_branches(tables.rows, node.q, work.branch)
    configure(tables, work, t_s, node.q)
    factor_kinematics(tables, work)
    null_space(tables, work, linear.null)
    for k in range(len(work.independent)):
        rate_change(tables, work, node.q, node.qd, linear.null[k], work.tau)
        for i in range(len(work.tau)):
            work.tau[i] = -work.tau[i]
        complete(tables, work, work.tau)
        for i in range(len(node.q)):
            linear.velocity[k, i] = work.rhs[i]


@inner
def answer(plant: Plant, force: Array, out: Array) -> None:
    """out = the accelerations that a generalised force adds; needs the mass factor of the last linearisation."""
    work = plant.work
    for i in range(len(work.target)):
        work.target[i] = 0.0
        work.dtau[i] = 0.0
    for i in range(len(out)):
        out[i] = 0.0
    saddle(plant.tables, work, force, work.target, out, work.dtau)


@inner
def linearise_entries(plant: Plant, node: Node, t_s: float, linear: Linear) -> None:
    """by_theta of the disturbances that are entries of tables."""
    for k in range(len(node.theta)):
        if plant.unknowns.kind[k] == ENTRY:
            entry_effect(plant, node, k, t_s, linear)


@inner
def linearise_forces(plant: Plant, node: Node, linear: Linear) -> None:
    """by_theta of the disturbances that are forces, and what turning their axes adds to by_z."""
    f, n = len(linear.null), len(node.q)
    for k in range(len(node.theta)):
        if plant.unknowns.kind[k] <= BODY_FORCE:
            answer(plant, plant.unknowns.columns[k], linear.by_theta[k])
        if plant.unknowns.kind[k] == BODY_FORCE:
            for j in range(f):
                turned(plant, k, node.q, linear.null[j], node.theta[k], linear.spare_force)
                answer(plant, linear.spare_force, linear.spare_change)
                for i in range(n):
                    linear.by_z[j, i] += linear.spare_change[i]


@inner
def linearise(plant: Plant, node: Node, t_s: float, linear: Linear) -> None:
    """All derivatives at the node, accelerations included, and A of d[z, zd, θ]/dt."""
    tables, work = plant.tables, plant.work
    n, f, d = len(node.q), len(work.independent), len(node.theta)
    load_disturbances(plant, node)
    choose_branches(tables.rows, node.q, work.branch)
    if d > 0:
        linearise_entries(plant, node, t_s, linear)
    for i in range(n):
        linear.spare_qdd[i] = node.qdd[i]
    for i in range(len(node.multiplier)):
        linear.spare_multiplier[i] = node.multiplier[i]
    acceleration_derivatives(
        tables, work, plant.force, t_s, node.q, node.qd, linear.zeros, linear.spare_qdd, linear.spare_multiplier,
        linear.velocity, linear.by_z, linear.by_zd,
    )  # fmt: skip
    for k in range(f):
        for i in range(n):
            linear.null[k, i] = work.null[k, i]
    if d > 0:
        linearise_forces(plant, node, linear)
    A, z = linear.A, work.independent
    for i in range(len(A)):
        for j in range(len(A)):
            A[i, j] = 0.0
    for i in range(f):
        A[i, f + i] = 1.0
        for j in range(f):
            A[f + i, j] = linear.by_z[j, z[i]]
            A[f + i, f + j] = linear.by_zd[j, z[i]]
        for j in range(d):
            A[f + i, 2 * f + j] = linear.by_theta[j, z[i]]
    for k in range(d):
        A[2 * f + k, 2 * f + k] = -plant.unknowns.decay[k]


@merged
def transition(plant: Plant, kind: int, h: float, linear: Linear) -> None:
    """F over h: constant (Sanjurjo 2016, 3.81), first order in h with the exact Jacobian, or e^(A h)."""
    F, A, T, n, f = linear.F, linear.A, linear.T, len(linear.F), len(linear.null)
    for i in range(n):
        for j in range(n):
            F[i, j] = 1.0 if i == j else 0.0
    if kind == CONSTANT:
        for i in range(f):
            F[i, f + i] = h
    elif kind == FIRST_ORDER:
        for i in range(n):
            for j in range(n):
                F[i, j] += h * A[i, j]
        for i in range(f):
            for j in range(n):
                F[i, j] += 0.5 * h * h * A[f + i, j]
    else:
        for order in range(ORDER, 0, -1):  # I + hA (I + hA/2 (I + hA/3 …
            multiply(A, F, T)
            for i in range(n):
                for j in range(n):
                    F[i, j] = (1.0 if i == j else 0.0) + h / order * T[i, j]


@merged
def process_noise(plant: Plant, h: float, linear: Linear) -> None:
    """Q over h of double integrators, exactly (Sanjurjo 2016, 3.128), and of the disturbances by themselves."""
    Q, n, f = linear.Q, len(linear.Q), len(linear.null)
    for i in range(n):
        for j in range(n):
            Q[i, j] = 0.0
    for i in range(f):
        density = plant.noise_zdd[i]
        Q[i, i] = density * h * h * h / 3.0
        Q[i, f + i] = Q[f + i, i] = density * h * h / 2.0
        Q[f + i, f + i] = density * h
    for k in range(len(plant.noise_theta)):
        Q[2 * f + k, 2 * f + k] = plant.noise_theta[k] * h


@inner
def process_noise_exact(plant: Plant, h: float, linear: Linear) -> None:
    """Q = ∫ e^(A s) S e^(Aᵀ s) ds over h, with the A of the last linearisation; spends F and T.

    Sanjurjo 2016, 3.127, by its series: the terms are M₀ = S h, M_k = (A M_(k−1) + its transpose) h/(k + 1).
    """
    Q, A, M, T, n, f = linear.Q, linear.A, linear.F, linear.T, len(linear.Q), len(linear.null)
    for i in range(n):
        for j in range(n):
            M[i, j] = 0.0
            Q[i, j] = 0.0
    for i in range(n):
        if i >= f:
            M[i, i] = h * (plant.noise_zdd[i - f] if i < 2 * f else plant.noise_theta[i - 2 * f])
        Q[i, i] = M[i, i]
    for order in range(2, ORDER + 1):
        multiply(A, M, T)
        for i in range(n):
            for j in range(i + 1):
                term = h / order * (T[i, j] + T[j, i])
                M[i, j] = M[j, i] = term
                Q[i, j] += term
                if i != j:
                    Q[j, i] += term


@inner
def reduced_mass(plant: Plant, linear: Linear) -> None:
    """linear.mass = Rᵀ M R with the R and the mass matrix of the last linearisation."""
    work, f, n = plant.work, len(linear.null), len(linear.zeros)
    for k in range(f):
        mass_times(plant.tables.mass, work.mass, linear.null[k], work.c)
        for j in range(f):
            s = 0.0
            for i in range(n):
                s += linear.null[j, i] * work.c[i]
            linear.mass[k, j] = s
