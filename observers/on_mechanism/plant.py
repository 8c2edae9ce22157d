"""A mechanism as the plant of a filter: its unknowns, inputs and steps, and settling on the constraints.

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
from hodograph.multibody.model.tables import Index, Tables, Work
from hodograph.multibody.motion.dynamics_kernels import (
    matrix_r,
    position_problem,
    velocity_problem,
)
from hodograph.multibody.steps.augmented_kernels import augmented_step
from hodograph.numerics.compiling import inlined_inner, inner, merged
from hodograph.observers.memory import Room
from hodograph.sensors.kernels import Forms, add_gradient, affine

if TYPE_CHECKING:
    from hodograph.observers.on_mechanism.problem import Problem

EULER, TRAPEZOIDAL, INDEX3 = 0, 1, 2
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
