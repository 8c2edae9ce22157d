"""A mechanism as the plant of a filter: stepping, settling on the constraints, and its exact linearisation.

The state of a filter is x = [z, zd, θ]: independent coordinates, their velocities, and disturbances. A disturbance
wanders (random walk, or back to zero with rate `decay`) and acts as its kind says: a generalised force θ_k · columns[k]
(an unknown force, the strength of gravity), a force along an axis that a body carries, an entry of a table of forces
or of the road that is off by θ_k, or an error of a sensor (see `common.sensed`).
"""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hodograph.core.frames import Array
from hodograph.multibody.forces.rolling_kernels import commit
from hodograph.multibody.model.constraint_kernels import choose_branches
from hodograph.multibody.model.linear_kernels import mass_times
from hodograph.multibody.model.tables import Index, Tables, Work
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
from hodograph.numerics.compiling import inlined_inner, inner, merged
from hodograph.numerics.dense import multiply
from hodograph.observers.memory import Room
from hodograph.sensors.kernels import Forms, add_gradient, affine

if TYPE_CHECKING:
    from hodograph.observers.on_mechanism.problem import Problem

EULER, TRAPEZOIDAL, INDEX3 = 0, 1, 2
CONSTANT, FIRST_ORDER, EXACT = 0, 1, 2
FORCE, BODY_FORCE, ENTRY, BIAS, SCALE, LATENCY = 0, 1, 2, 3, 4, 5
"""Kinds of disturbances."""
TYRES, SPRINGS, COORDINATE_SPRINGS, ROAD = 0, 1, 2, 3
"""Tables whose entries can be disturbed."""
TOLERANCE = 1e-13
SPARE, START_Q, START_QD, START_QDD = 0, 14, 15, 16
"""Rows of `Work.stage` that the trapezoidal rule uses: the last iterate, and the start of the step."""
ROUNDING = 1e-11
"""A fixed point that comes no nearer than this has arrived, whatever was asked for."""
STRIDE, MOST_STRIDES = 0.5, 200.0
"""A correction beyond this (rad or m) is gone in strides, lest a linkage snaps into its other assembly."""
HELD_S = 0.1
"""An input goes on with its last rate so long after it was read, then it is held."""
ORDER = 6  # of the series of F and Q: a triple integrator is exact from the fifth term on


class Unknowns(NamedTuple):
    """What each of d disturbances acts on, by its kind."""

    kind: Index  # (d,)
    columns: Array  # (d, n) generalised force per unit; of a BODY_FORCE as of the last load
    place: Forms  # BODY_FORCE: where it acts …
    axis: Forms  # … and the direction that the body carries
    entry: Index  # (d, 3) ENTRY: table, row, column
    nominal: Array  # (d,) what stands there
    rows: Index  # (d, 2) BIAS, SCALE, LATENCY: first sensor row and end
    density: Array  # (d,) spectral density
    decay: Array  # (d,) 1/s, 0 for a random walk


class Plant(NamedTuple):
    """Model, buffers, disturbances and process noise; constant while a filter runs, but for the buffers."""

    tables: Tables
    work: Work
    force: Any  # the user force, compiled
    unknowns: Unknowns
    input_age_s: Array  # (1 + inputs,) since each was read
    noise_zdd: Array  # (f,) spectral density of the acceleration noise
    noise_theta: Array  # (d,) spectral density of the disturbances; an adaptive filter changes it
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
    counts: Array  # (8,) see counts
    x: Array  # (N,) [z, zd, θ], written when a prediction or a correction is done


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


def make_unknowns(problem: Problem) -> Unknowns:
    """The disturbances of a problem as the kernels walk them; entries of tables show what stands there."""
    model, disturbances = problem.model, problem.uncertainty.disturbances
    d = len(disturbances)
    return Unknowns(
        kind=np.array([one.kind for one in disturbances], dtype=np.uint32),
        columns=np.array([one.column or (0.0,) * model.n for one in disturbances]).reshape(d, model.n),
        place=problem.forms([one.place for one in disturbances]),
        axis=problem.forms([one.axis for one in disturbances]),
        entry=np.array([one.entry for one in disturbances], dtype=np.uint32).reshape(d, 3),
        nominal=np.zeros(d),
        rows=np.array([problem.rows_of(one) for one in disturbances], dtype=np.uint32).reshape(d, 2),
        density=np.array([one.density for one in disturbances], dtype=np.float64),
        decay=np.array([0.0 if one.time_constant_s is None else 1.0 / one.time_constant_s for one in disturbances]),
    )


def make_plant(problem: Problem, room: Room, fixed_point_tolerance: float) -> Plant:
    """Model, noise and disturbances; what one step leaves for the next lies in the room."""
    model, start, unknowns = problem.model, problem.start, make_unknowns(problem)
    fresh, tables = model.work(), model.tables
    if len(start.wheels):
        fresh.wheels[:, : start.wheels.shape[1]] = start.wheels
    if len(start.inputs):
        fresh.inputs[1:] = start.inputs
    fresh.clock[0] = start.t_s
    work = fresh._replace(
        wheels=room.array(fresh.wheels),
        inputs=room.array(fresh.inputs),
        clock=room.array(fresh.clock),
        branch=room.index(fresh.branch),
        control=room.array(fresh.control),
        before=room.array(fresh.before),
        road=problem.road.table() if problem.road is not None else fresh.road,
    )
    if (unknowns.kind == ENTRY).any():  # the model is shared, so entries that change are ours
        tables = tables._replace(
            rolling=tables.rolling._replace(tyre=tables.rolling.tyre.copy()),
            loads=tables.loads._replace(
                spring_par=tables.loads.spring_par.copy(), scalar_par=tables.loads.scalar_par.copy()
            ),
        )
        by_number = (tables.rolling.tyre, tables.loads.spring_par, tables.loads.scalar_par, work.road)
        for k in np.flatnonzero(unknowns.kind == ENTRY):
            table, row, column = unknowns.entry[k]
            unknowns.nominal[k] = by_number[table][row, column]
    return Plant(
        tables=tables,
        work=work,
        force=problem.force,
        unknowns=unknowns,
        input_age_s=room.zeros(1 + len(model.inputs)),
        noise_zdd=np.full(len(model.independent), problem.uncertainty.density_zdd),
        noise_theta=room.array(unknowns.density),
        explicit=np.array([fixed_point_tolerance, 100.0]),
        augmented=problem.newton.newton(),
        penalty=tables.factor.penalty,
    )


def make_node(problem: Problem, room: Room, *, still_start: bool = False) -> Node:
    """The node at the start; it lies in the room. `still_start`: without accelerations and multipliers."""
    start, P = problem.start, problem.initial_P()
    moving = 0.0 if still_start else 1.0
    return Node(
        q=room.array(start.q),
        qd=room.array(start.qd),
        qdd=room.array(moving * start.qdd),
        multiplier=room.array(moving * start.multipliers),
        theta=room.zeros(len(problem.uncertainty.disturbances)),
        P=room.array(P),
        L=room.array(np.linalg.cholesky(P).astype(np.float64)),
        counts=room.zeros(8),
        x=room.array(problem.initial_x()),
    )


def own(node: Node) -> Node:
    """A copy of a node in arrays of its own, for a point or a trial."""
    return Node(*(array.copy() for array in node))


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
def load_disturbances(plant: Plant, node: Node) -> None:
    """The disturbances become the applied force of the model, or move the entries of its tables."""
    applied, u = plant.work.applied, plant.unknowns
    for i in range(len(applied)):
        applied[i] = 0.0
    for k in range(len(node.theta)):
        if u.kind[k] == ENTRY:
            put_entry(plant, k, node.theta[k])
        if u.kind[k] == BODY_FORCE:
            turn_column(plant, k, node.q)
        if u.kind[k] <= BODY_FORCE:
            for i in range(len(applied)):
                applied[i] += node.theta[k] * u.columns[k, i]


@inner
def turn_column(plant: Plant, k: int, q: Array) -> None:
    """columns[k] of a force of 1 N along an axis that a body carries: its unit vector times the place's Jacobian."""
    u = plant.unknowns
    x, y, z = affine(u.axis, k, q, 1.0)
    length = (x * x + y * y + z * z) ** 0.5
    for i in range(len(q)):
        u.columns[k, i] = 0.0
    add_gradient(u.place, k, x / length, y / length, z / length, u.columns[k])


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
def put_entry(plant: Plant, k: int, theta: float) -> None:
    """The entry of disturbance k is its nominal value plus θ."""
    entry, value = plant.unknowns.entry[k], plant.unknowns.nominal[k] + theta
    table, row, column = entry[0], entry[1], entry[2]
    if table == TYRES:
        plant.tables.rolling.tyre[row, column] = value
    elif table == SPRINGS:
        plant.tables.loads.spring_par[row, column] = value
    elif table == COORDINATE_SPRINGS:
        plant.tables.loads.scalar_par[row, column] = value
    else:
        plant.work.road[row, column] = value


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
def rest(plant: Plant, node: Node, t_s: float) -> bool:
    """Dependent coordinates and velocities from the independent ones in q and qd; accelerations are left alone."""
    choose_branches(plant.tables.rows, node.q, plant.work.branch)
    if position_problem(plant.tables, plant.work, t_s, node.q, TOLERANCE, 60.0) < 0:
        return False
    velocity_problem(plant.tables, plant.work, node.qd)
    return True


@inner
def travel(plant: Plant, q: Array, t_s: float, target: Array) -> bool:
    """z moves to `target` (f,), in strides short enough that the dependent coordinates stay on their branch.

    The last stride leaves it to the caller to put q on the constraints; as a rule it is the only one.
    """
    z, far = plant.work.independent, 0.0
    for k in range(len(z)):
        far = max(far, abs(target[k] - q[z[k]]))
    for left in range(int(min(far / STRIDE, MOST_STRIDES)), 0, -1):
        for k in range(len(z)):
            q[z[k]] += (target[k] - q[z[k]]) / (left + 1.0)
        choose_branches(plant.tables.rows, q, plant.work.branch)
        if position_problem(plant.tables, plant.work, t_s, q, TOLERANCE, 60.0) < 0:
            return False
    for k in range(len(z)):
        q[z[k]] = target[k]
    return True


@merged
def settle(plant: Plant, node: Node, t_s: float) -> bool:
    """Dependent coordinates and velocities from the independent ones in q and qd, then exact accelerations."""
    if not rest(plant, node, t_s):
        return False
    accelerate(plant, node, t_s)
    return True


@inner
def accelerate(plant: Plant, node: Node, t_s: float) -> None:
    """Exact accelerations of a node that has just been put to rest on its constraints."""
    load_disturbances(plant, node)
    matrix_r(plant.tables, plant.work, plant.force, t_s, node.q, node.qd, node.qdd, node.multiplier)


@inner
def trapezoidal(plant: Plant, node: Node, t_s: float, h: float, change: Array) -> bool:
    """One step of the trapezoidal rule over matrix R by fixed-point iteration, loads already in place.

    `change` (n,) is by how much the accelerations are expected to change, 0 where nobody knows: it only saves time.
    """
    work, n = plant.work, len(node.q)
    q, qd, qdd, before = work.stage[START_Q], work.stage[START_QD], work.stage[START_QDD], work.stage[SPARE]
    for i in range(n):
        q[i], qd[i], qdd[i] = node.q[i], node.qd[i], node.qdd[i]
        node.qd[i] += h * (qdd[i] + 0.5 * change[i])
        node.q[i] += 0.5 * h * (qd[i] + node.qd[i])
        before[i] = q[i]
    last = 1e300
    for iteration in range(int(plant.explicit[1])):
        if not rest(plant, node, t_s + h):
            return False
        matrix_r(plant.tables, work, plant.force, t_s + h, node.q, node.qd, node.qdd, node.multiplier)
        moved = 0.0
        for i in range(n):
            moved += (node.q[i] - before[i]) ** 2
            before[i] = node.q[i]
        moved = moved**0.5
        if iteration > 0 and (moved <= plant.explicit[0] or (moved <= ROUNDING and moved >= 0.25 * last)):
            return True
        last = moved
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
        node.theta[k] *= mean_decay(plant.unknowns.decay[k] * h)
    load_disturbances(plant, node)


@merged
def end_step(plant: Plant, node: Node, h: float) -> None:
    """The disturbances at the end of a step."""
    for k in range(len(node.theta)):
        node.theta[k] *= exp(-plant.unknowns.decay[k] * h) / mean_decay(plant.unknowns.decay[k] * h)


@inner
def step(plant: Plant, integrator: int, node: Node, t_s: float, h: float, change: Array, cost: Array) -> bool:
    """Advance q, qd, qdd, θ by h."""
    begin_step(plant, node, h)
    ok = True
    if integrator == EULER:
        for i in range(len(node.q)):
            node.q[i] += h * node.qd[i]
            node.qd[i] += h * node.qdd[i]
        ok = rest(plant, node, t_s + h)
        if ok:
            matrix_r(plant.tables, plant.work, plant.force, t_s + h, node.q, node.qd, node.qdd, node.multiplier)
    elif integrator == TRAPEZOIDAL:
        ok = trapezoidal(plant, node, t_s, h, change)
    else:
        ok = augmented_step(
            plant.tables, plant.work, plant.force, plant.augmented, plant.penalty, t_s, h, node.q, node.qd, node.qdd,
            node.multiplier, cost,
        )  # fmt: skip
    end_step(plant, node, h)
    return ok


@inlined_inner
def mean_decay(x: float) -> float:
    """(1 − e⁻ˣ)/x, the mean of a decay over a step."""
    return (1.0 - exp(-x)) / x if x > 1e-3 else 1.0 - x / 2.0 + x * x / 6.0 - x * x * x / 24.0


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


@inlined_inner
def carry_inputs(plant: Plant, h: float) -> None:
    """The inputs at the end of a step: with their rate and acceleration while those are fresh, then held."""
    inputs, age_s = plant.work.inputs, plant.input_age_s
    for i in range(1, len(inputs)):
        if age_s[i] >= HELD_S:
            inputs[i, 1], inputs[i, 2] = 0.0, 0.0
        inputs[i, 0] += h * inputs[i, 1] + 0.5 * h * h * inputs[i, 2]
        inputs[i, 1] += h * inputs[i, 2]
        age_s[i] += h


@inlined_inner
def arrive(plant: Plant, node: Node, t_s: float, h: float) -> None:
    """A step of h has ended at t: the wheels move on, and x is what the node says."""
    if len(plant.work.wheels) > 0:
        commit(plant.tables, plant.work, t_s, h, node.q, node.qd)
    plant.work.clock[0] = t_s
    write_state(plant, node, node.x)


@inlined_inner
def write_state(plant: Plant, node: Node, x: Array) -> None:
    """x = [z, zd, θ] of the node."""
    z, f = plant.work.independent, len(plant.work.independent)
    for k in range(f):
        x[k] = node.q[z[k]]
        x[f + k] = node.qd[z[k]]
    for k in range(len(node.theta)):
        x[2 * f + k] = node.theta[k]
