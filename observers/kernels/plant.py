"""A mechanism as the plant of a filter: stepping, settling on the constraints, and its exact linearisation.

The state of a filter is x = [z, zd, θ]: independent coordinates, their velocities, and disturbances. A disturbance is
a generalised force θ_k · columns[k] that wanders (random walk, or back to zero with rate `decay`): an unknown force on
a degree of freedom, or a named parameter such as the strength of gravity.
"""

from __future__ import annotations

from math import exp
from typing import Any, NamedTuple

from hodograph.core.frames import Array
from hodograph.multibody.model.constraint_kernels import choose_branches
from hodograph.multibody.model.linear_kernels import mass_times
from hodograph.multibody.model.tables import Tables, Work
from hodograph.multibody.motion.derivative_kernels import acceleration_derivatives
from hodograph.multibody.motion.dynamics_kernels import (
    complete,
    configure,
    factor_kinematics,
    matrix_r,
    null_space,
    position_problem,
    rate_change,
    saddle,
    velocity_problem,
)
from hodograph.multibody.steps.augmented_kernels import augmented_step
from hodograph.numerics.compiling import inner, merged
from hodograph.numerics.dense import multiply

EULER, TRAPEZOIDAL, INDEX3 = 0, 1, 2
CONSTANT, FIRST_ORDER, EXACT = 0, 1, 2
TOLERANCE = 1e-13
ORDER = 6  # of the series of F and Q: a triple integrator is exact from the fifth term on


class Plant(NamedTuple):
    """Model, buffers, disturbances and process noise; constant while a filter runs, but for the buffers."""

    tables: Tables
    work: Work
    columns: Array  # (d, n) generalised force per unit of each disturbance
    decay: Array  # (d,) 1/s, 0 for a random walk
    noise_zdd: Array  # (f,) spectral density of the acceleration noise
    noise_theta: Array  # (d,) spectral density of the disturbances
    explicit: Array  # (2,) tolerance and iterations of the trapezoidal rule
    augmented: Array  # options of the index-3 step
    penalty: Array  # (rows,) of the index-3 step, already times h²/4 of the nominal step


class Node(NamedTuple):
    """What a filter knows at one moment; everything that a rewind must restore."""

    q: Array  # (n,)
    qd: Array
    qdd: Array
    multiplier: Array  # (rows,)
    theta: Array  # (d,)
    P: Array  # (N, N)
    L: Array  # (N, N) lower factor of P, where a filter keeps one
    counts: Array  # (8,) see algebra


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


@inner
def load_disturbances(plant: Plant, node: Node) -> None:
    """The disturbances become the applied force of the model."""
    applied = plant.work.applied
    for i in range(len(applied)):
        applied[i] = 0.0
    for k in range(len(node.theta)):
        for i in range(len(applied)):
            applied[i] += node.theta[k] * plant.columns[k, i]


@inner
def rest(plant: Plant, node: Node, t_s: float) -> bool:
    """Dependent coordinates and velocities from the independent ones in q and qd; accelerations are left alone."""
    choose_branches(plant.tables.rows, node.q, plant.work.branch)
    if position_problem(plant.tables, plant.work, t_s, node.q, TOLERANCE, 60.0) < 0:
        return False
    velocity_problem(plant.tables, plant.work, node.qd)
    return True


@merged
def settle(plant: Plant, force: Any, node: Node, t_s: float) -> bool:
    """Dependent coordinates and velocities from the independent ones in q and qd, then exact accelerations."""
    if not rest(plant, node, t_s):
        return False
    accelerate(plant, force, node, t_s)
    return True


@inner
def accelerate(plant: Plant, force: Any, node: Node, t_s: float) -> None:
    """Exact accelerations of a node that has just been put to rest on its constraints."""
    load_disturbances(plant, node)
    matrix_r(plant.tables, plant.work, force, t_s, node.q, node.qd, node.qdd, node.multiplier)


@inner
def trapezoidal(plant: Plant, force: Any, node: Node, t_s: float, h: float, change: Array) -> bool:
    """One step of the trapezoidal rule over matrix R by fixed-point iteration, loads already in place.

    `change` (n,) is by how much the accelerations are expected to change, 0 where nobody knows: it only saves time.
    """
    work, n = plant.work, len(node.q)
    q, qd, qdd, before = work.stage[14], work.stage[15], work.stage[16], work.stage[0]
    for i in range(n):
        q[i], qd[i], qdd[i] = node.q[i], node.qd[i], node.qdd[i]
        node.qd[i] += h * (qdd[i] + 0.5 * change[i])
        node.q[i] += 0.5 * h * (qd[i] + node.qd[i])
        before[i] = q[i]
    for iteration in range(int(plant.explicit[1])):
        if not rest(plant, node, t_s + h):
            return False
        matrix_r(plant.tables, work, force, t_s + h, node.q, node.qd, node.qdd, node.multiplier)
        moved = 0.0
        for i in range(n):
            moved += (node.q[i] - before[i]) ** 2
            before[i] = node.q[i]
        if iteration > 0 and moved**0.5 <= plant.explicit[0]:
            return True
        if not moved < 1e100:
            return False
        for i in range(n):
            node.qd[i] = qd[i] + 0.5 * h * (qdd[i] + node.qdd[i])
            node.q[i] = q[i] + 0.5 * h * (qd[i] + node.qd[i])
    return False


@merged
def begin_step(plant: Plant, node: Node, h: float) -> None:
    """Load the disturbances; one that returns to zero acts with its mean over the step."""
    for k in range(len(node.theta)):
        node.theta[k] *= mean_decay(plant.decay[k] * h)
    load_disturbances(plant, node)


@merged
def end_step(plant: Plant, node: Node, h: float) -> None:
    """The disturbances at the end of a step."""
    for k in range(len(node.theta)):
        node.theta[k] *= exp(-plant.decay[k] * h) / mean_decay(plant.decay[k] * h)


@inner
def step(
    plant: Plant, force: Any, integrator: int, node: Node, t_s: float, h: float, change: Array, cost: Array
) -> bool:
    """Advance q, qd, qdd, θ by h."""
    begin_step(plant, node, h)
    ok = True
    if integrator == EULER:
        for i in range(len(node.q)):
            node.q[i] += h * node.qd[i]
            node.qd[i] += h * node.qdd[i]
        ok = rest(plant, node, t_s + h)
        if ok:
            matrix_r(plant.tables, plant.work, force, t_s + h, node.q, node.qd, node.qdd, node.multiplier)
    elif integrator == TRAPEZOIDAL:
        ok = trapezoidal(plant, force, node, t_s, h, change)
    else:
        ok = augmented_step(
            plant.tables, plant.work, force, plant.augmented, plant.penalty, t_s, h, node.q, node.qd, node.qdd,
            node.multiplier, cost,
        )  # fmt: skip
    end_step(plant, node, h)
    return ok


@inner
def mean_decay(x: float) -> float:
    """(1 − e⁻ˣ)/x, the mean of a decay over a step."""
    return (1.0 - exp(-x)) / x if x > 1e-3 else 1.0 - x / 2.0 + x * x / 6.0 - x * x * x / 24.0


@inner
def linearise_kinematics(plant: Plant, node: Node, t_s: float, linear: Linear) -> None:
    """R and dqd/dz = −S Φ_q_dot R at the node; leaves the kinematic factor behind."""
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
def linearise(plant: Plant, force: Any, node: Node, t_s: float, linear: Linear) -> None:
    """All derivatives at the node, accelerations included, and A of d[z, zd, θ]/dt."""
    tables, work = plant.tables, plant.work
    n, f, d = len(node.q), len(work.independent), len(node.theta)
    load_disturbances(plant, node)
    choose_branches(tables.rows, node.q, work.branch)
    for i in range(n):
        linear.spare_qdd[i] = node.qdd[i]
    for i in range(len(node.multiplier)):
        linear.spare_multiplier[i] = node.multiplier[i]
    acceleration_derivatives(
        tables, work, force, t_s, node.q, node.qd, linear.zeros, linear.spare_qdd, linear.spare_multiplier,
        linear.velocity, linear.by_z, linear.by_zd,
    )  # fmt: skip
    for k in range(f):
        for i in range(n):
            linear.null[k, i] = work.null[k, i]
    for k in range(d):
        for i in range(len(work.target)):
            work.target[i] = 0.0
            work.dtau[i] = 0.0
        for i in range(n):
            linear.by_theta[k, i] = 0.0
        saddle(tables, work, plant.columns[k], work.target, linear.by_theta[k], work.dtau)
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
        A[2 * f + k, 2 * f + k] = -plant.decay[k]


@merged
def transition(plant: Plant, kind: int, h: float, linear: Linear) -> None:
    """F over h: constant (seed 002, eq. 3.81), first order in h with the exact Jacobian, or e^(A h)."""
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
    """Q over h of double integrators, exactly (Van Loan), and of the disturbances by themselves."""
    Q, n, f = linear.Q, len(linear.Q), len(linear.null)
    for i in range(n):
        for j in range(n):
            Q[i, j] = 0.0
    for i in range(f):
        density = plant.noise_zdd[i]
        Q[i, i] = density * h * h * h / 3.0
        Q[i, f + i] = Q[f + i, i] = density * h * h / 2.0
        Q[f + i, f + i] = density * h
    for k in range(len(plant.columns)):
        Q[2 * f + k, 2 * f + k] = plant.noise_theta[k] * h


@inner
def process_noise_exact(plant: Plant, h: float, linear: Linear) -> None:
    """Q = ∫ e^(A s) S e^(Aᵀ s) ds over h, with the A of the last linearisation; spends F and T.

    By its series: the terms are M₀ = S h, M_k = (A M_(k−1) + its transpose) h/(k + 1).
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
