"""A mechanism as the plant of a filter: stepping, settling on the constraints, and its exact linearisation.

The state of a filter is x = [z, zd, θ]: independent coordinates, their velocities, and disturbances. A disturbance is
a generalised force θ_k · columns[k] that wanders (random walk, or back to zero with rate `decay`): an unknown force on
a degree of freedom, or a named parameter such as the strength of gravity.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hodograph.multibody.compiling import inner
from hodograph.multibody.kernels.augmented import augmented_step
from hodograph.multibody.kernels.constraints import choose_branches
from hodograph.multibody.kernels.derivatives import acceleration_derivatives
from hodograph.multibody.kernels.dynamics import (
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
from hodograph.multibody.kernels.explicit import trapezoidal_step
from hodograph.multibody.kernels.linear import mass_times
from hodograph.multibody.tables import Array, Tables, Work

EULER, TRAPEZOIDAL, INDEX3 = 0, 1, 2
CONSTANT, FIRST_ORDER, EXACT = 0, 1, 2
TOLERANCE = 1e-13


class Plant(NamedTuple):
    """Model, buffers, disturbances and process noise; constant while a filter runs, but for the buffers."""

    tables: Tables
    work: Work
    columns: Array  # (d, n) generalised force per unit of each disturbance
    decay: Array  # (d,) 1/s, 0 for a random walk
    noise_zdd: Array  # (f,) spectral density of the acceleration noise
    noise_theta: Array  # (d,) spectral density of the disturbances
    explicit: Array  # options of the trapezoidal rule, see multibody.kernels.explicit
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
    if position_problem(plant.tables, plant.work, t_s, node.q, TOLERANCE, 60) < 0:
        return False
    velocity_problem(plant.tables, plant.work, node.qd)
    return True


@inner
def settle(plant: Plant, force: Any, node: Node, t_s: float) -> bool:
    """Dependent coordinates and velocities from the independent ones in q and qd, then exact accelerations."""
    if not rest(plant, node, t_s):
        return False
    load_disturbances(plant, node)
    matrix_r(plant.tables, plant.work, force, t_s, node.q, node.qd, node.qdd, node.multiplier)
    return True


@inner
def step(plant: Plant, force: Any, integrator: int, node: Node, t_s: float, h: float, cost: Array) -> bool:
    """Advance q, qd, qdd, θ by h."""
    load_disturbances(plant, node)
    tables, work = plant.tables, plant.work
    ok = True
    if integrator == EULER:
        for i in range(len(node.q)):
            node.q[i] += h * node.qd[i]
            node.qd[i] += h * node.qdd[i]
        ok = settle(plant, force, node, t_s + h)
    elif integrator == TRAPEZOIDAL:
        ok = trapezoidal_step(
            tables, work, force, plant.explicit, t_s, h, node.q, node.qd, node.qdd, node.multiplier, cost
        )
    else:
        ok = augmented_step(
            tables,
            work,
            force,
            plant.augmented,
            plant.penalty,
            t_s,
            h,
            node.q,
            node.qd,
            node.qdd,
            node.multiplier,
            cost,
        )
    for k in range(len(node.theta)):
        node.theta[k] *= 1.0 - plant.decay[k] * h + 0.5 * (plant.decay[k] * h) ** 2
    return ok


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


@inner
def transition(plant: Plant, kind: int, h: float, linear: Linear) -> None:
    """F over h: constant (seed 002, eq. 3.81), first order in h with the exact Jacobian, or to second order."""
    F, A, n, f = linear.F, linear.A, len(linear.F), len(linear.null)
    for i in range(n):
        for j in range(n):
            F[i, j] = 1.0 if i == j else 0.0
    if kind == CONSTANT:
        for i in range(f):
            F[i, f + i] = h
        return
    for i in range(n):
        for j in range(n):
            F[i, j] += h * A[i, j]
    if kind == FIRST_ORDER:
        for i in range(f):
            for j in range(n):
                F[i, j] += 0.5 * h * h * A[f + i, j]
        return
    for i in range(n):
        for j in range(n):
            s = 0.0
            for k in range(n):
                s += A[i, k] * A[k, j]
            F[i, j] += 0.5 * h * h * s


@inner
def process_noise(plant: Plant, h: float, linear: Linear) -> None:
    """Q over h of double (z) and triple (θ) integrators, exactly (Van Loan); θ couples through A if that is filled."""
    Q, A, n, f, d = linear.Q, linear.A, len(linear.Q), len(linear.null), len(plant.columns)
    for i in range(n):
        for j in range(n):
            Q[i, j] = 0.0
    for i in range(f):
        density = plant.noise_zdd[i]
        Q[i, i] = density * h * h * h / 3.0
        Q[i, f + i] = Q[f + i, i] = density * h * h / 2.0
        Q[f + i, f + i] = density * h
    for k in range(d):
        density, t = plant.noise_theta[k], 2 * f + k
        Q[t, t] += density * h
        for i in range(f):
            b = A[f + i, t]
            Q[i, t] += density * b * h**3 / 6.0
            Q[t, i] = Q[i, t]
            Q[f + i, t] += density * b * h**2 / 2.0
            Q[t, f + i] = Q[f + i, t]
            for j in range(f):
                bb = b * A[f + j, t] * density
                Q[i, j] += bb * h**5 / 20.0
                Q[i, f + j] += bb * h**4 / 8.0
                Q[f + j, i] += bb * h**4 / 8.0
                Q[f + i, f + j] += bb * h**3 / 3.0


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
