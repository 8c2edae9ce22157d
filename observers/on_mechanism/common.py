"""What all filters on a mechanism share: the arrays they work on, what a sensor should read, inputs, a new start."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hodograph.core.frames import Array
from hodograph.multibody.model.tables import FRESH
from hodograph.numerics.compiling import inner
from hodograph.numerics.dense import finite, tidy
from hodograph.numerics.verdicts import INVALID
from hodograph.observers.memory import Room
from hodograph.observers.on_mechanism.linearised import Linear, linearise, linearise_kinematics, make_linear
from hodograph.observers.on_mechanism.plant import (
    BIAS,
    LATENCY,
    SCALE,
    Node,
    Plant,
    Unknowns,
    make_node,
    make_plant,
    settle,
    write_state,
)
from hodograph.observers.tables import NOTED
from hodograph.sensors.kernels import ACCELERATION, SensorTable, measure, measure_jacobians, rate

if TYPE_CHECKING:
    from hodograph.observers.on_mechanism.problem import Problem

MOST_SPEED = 1e4
"""A velocity that was lost leaves at most so many times its variance at the start."""
NO_NEWS = 1e100
"""Variance of a reading that says nothing; gains would be 0 · ∞ with an infinite one."""
FIXED_POINT_TOLERANCE = 1e-7
"""The trapezoidal rule ends when its coordinates change by less. An iteration contracts a hundred times or more, so
what is left is below 1e-9. Iterating to the end moves a UKF on the four-bar by 1e-7 rad and costs a fifth more time."""


class Rows(NamedTuple):
    """Buffers of a correction."""

    H: Array  # (m, N)
    h_q: Array  # (n,)
    h_qd: Array
    h_qdd: Array
    K: Array  # (N,)
    g: Array  # (N,)
    dx: Array  # (N,)
    innovation: Array  # (m,) of the last correction, NaN where there was none
    innovation_var: Array  # (m,)
    cost: Array  # (7,) of the stepper
    before: Array  # (N,) diagonal of P before the correction


class Common(NamedTuple):
    """The arrays of a filter on a mechanism."""

    plant: Plant
    sensors: SensorTable
    node: Node
    linear: Linear
    rows: Rows
    gate: float  # chi-square limit of one row; inf: off
    start_var: Array  # (N,)


def make_rows(n: int, m: int, size: int) -> Rows:
    """Buffers for n coordinates, m sensor rows and a state of `size`."""
    return Rows(
        H=np.zeros((m, size)), h_q=np.zeros(n), h_qd=np.zeros(n), h_qdd=np.zeros(n), K=np.zeros(size), g=np.zeros(size),
        dx=np.zeros(size), innovation=np.full(m, np.nan), innovation_var=np.full(m, np.nan), cost=np.zeros(7),
        before=np.zeros(size),
    )  # fmt: skip


def make_common(
    problem: Problem, gate: float, room: Room, *, still_start: bool = False, linear_kept: bool = False
) -> Common:
    """The arrays for a problem; those that are part of the state lie in the room."""
    node = make_node(problem, room, still_start=still_start)
    return Common(
        plant=make_plant(problem, room, FIXED_POINT_TOLERANCE),
        sensors=problem.sensors.table,
        node=node,
        linear=make_linear(problem, room, kept=linear_kept),
        rows=make_rows(problem.model.n, len(problem.sensors.rows), problem.size),
        gate=gate,
        start_var=np.diag(problem.initial_P()).copy(),
    )


def vital_of(c: Common) -> int:
    """How many numbers of the room, from the node's first on, must be finite: the node, wheels, inputs and clock."""
    work = c.plant.work
    return sum(part.size for part in (*c.node, work.wheels, work.inputs, work.clock))


@inner
def errors_of(c: Common, i: int, theta: Array) -> tuple[float, float, float]:
    """Bias, factor and delay that the disturbances give row i."""
    u, bias, factor, delay_s = c.plant.unknowns, 0.0, 1.0, 0.0
    for k in range(len(theta)):
        if u.rows[k, 0] <= i < u.rows[k, 1]:
            if u.kind[k] == BIAS:
                bias += theta[k]
            elif u.kind[k] == SCALE:
                factor += theta[k]
            elif u.kind[k] == LATENCY:
                delay_s += theta[k]
    return bias, factor, delay_s


@inner
def sensed(c: Common, i: int, q: Array, qd: Array, qdd: Array, theta: Array, tau: float) -> float:
    """What row i should read at τ after the node, by the rate of its measurement, with its disturbances."""
    value = measure(c.sensors, i, q, qd, qdd)
    if tau == 0.0 and len(theta) == 0:
        return value
    bias, factor, delay_s = errors_of(c, i, theta)
    if tau != delay_s:
        measure_jacobians(c.sensors, i, q, qd, qdd, c.rows.h_q, c.rows.h_qd, c.rows.h_qdd)
        value += (tau - delay_s) * rate(c.rows.h_q, c.rows.h_qd, qd, qdd)
    return factor * value + bias


@inner
def needs_accelerations(sensors: SensorTable, first: int, end: int) -> bool:
    """Whether a row reads qdd."""
    found = False
    for i in range(first, end):
        found = found or sensors.kind[i] == ACCELERATION
    return found


@inner
def delayed(unknowns: Unknowns) -> bool:
    """Whether the delay of a sensor is estimated, so that what it reads depends on how fast that changes."""
    found = False
    for k in range(len(unknowns.kind)):
        found = found or unknowns.kind[k] == LATENCY
    return found


@inner
def chain_rows(c: Common, node: Node, first: int, end: int, tau: float, t_s: float) -> None:
    """H (rows, [z, zd, θ]) of the sensor rows at the node, through R, −S Φ_q_dot R and the accelerations.

    Sanjurjo 2016, 3.120, 3.121; accelerations are added.
    """
    linear, rows = c.linear, c.rows
    n, f, d = len(node.q), len(linear.null), len(node.theta)
    with_accelerations = needs_accelerations(c.sensors, first, end)
    if with_accelerations:
        linearise(c.plant, node, t_s, linear)
    else:
        linearise_kinematics(c.plant, node, t_s, linear)
    for i in range(first, end):
        measure_jacobians(c.sensors, i, node.q, node.qd, node.qdd, rows.h_q, rows.h_qd, rows.h_qdd)
        for k in range(f):
            by_z, by_zd = 0.0, 0.0
            for j in range(n):
                by_z += rows.h_q[j] * linear.null[k, j] + rows.h_qd[j] * linear.velocity[k, j]
                by_zd += rows.h_qd[j] * linear.null[k, j]
            if with_accelerations:
                for j in range(n):
                    by_z += rows.h_qdd[j] * linear.by_z[k, j]
                    by_zd += rows.h_qdd[j] * linear.by_zd[k, j]
            rows.H[i, k], rows.H[i, f + k] = by_z, by_zd
        for k in range(d):
            s = 0.0
            if with_accelerations:
                for j in range(n):
                    s += rows.h_qdd[j] * linear.by_theta[k, j]
            rows.H[i, 2 * f + k] = s
        if tau != 0.0 or d > 0:
            disturb_row(c, node, i, f, 2 * f, tau)


@inner
def disturb_row(c: Common, node: Node, i: int, rates: int, first_theta: int, tau: float) -> None:
    """Row i of H, h_q and h_qd at hand, at τ after the node and with the sensor's own disturbances.

    Over τ a position moves by τ · its velocity, so H to a velocity (`rates` columns on) gains τ · H to its position.
    """
    u, H = c.plant.unknowns, c.rows.H[i]
    _, factor, delay_s = errors_of(c, i, node.theta)
    speed = rate(c.rows.h_q, c.rows.h_qd, node.qd, node.qdd)
    for k in range(rates):
        H[k], H[rates + k] = factor * H[k], factor * (H[rates + k] + (tau - delay_s) * H[k])
    for k in range(len(node.theta)):
        H[first_theta + k] *= factor
        if u.rows[k, 0] <= i < u.rows[k, 1]:
            if u.kind[k] == BIAS:
                H[first_theta + k] = 1.0
            elif u.kind[k] == SCALE:
                value = measure(c.sensors, i, node.q, node.qd, node.qdd)
                H[first_theta + k] = value + (tau - delay_s) * speed
            elif u.kind[k] == LATENCY:
                H[first_theta + k] = -factor * speed


@inner
def variance(c: Common, i: int, given: float) -> float:
    """That of the reading where it says so, else that of the sensor."""
    return min(given, NO_NEWS) if given > 0.0 else c.sensors.var[i]


@inner
def take_input(plant: Plant, i: int, values: Array, tau: float) -> int:
    """Input i at τ after the node: its value, or value, rate and acceleration; NOTED, or INVALID."""
    good = finite(values) and i < len(plant.work.inputs)
    if not good:
        return INVALID
    rising = values[1] if len(values) > 1 else 0.0
    bending = values[2] if len(values) > 2 else 0.0
    row = plant.work.inputs[i]
    row[0] = values[0] - tau * rising + 0.5 * tau * tau * bending
    row[1], row[2] = rising - tau * bending, bending
    plant.input_age_s[i] = -tau
    return NOTED


@inner
def renew_node(c: Common, t_s: float, lost: int) -> bool:
    """The loop has changed P, or time has passed over the node. `lost`: from the position, at rest, disturbances zero.

    What the velocities were becomes variance: nobody knows how much of them was true.
    """
    node, plant, f = c.node, c.plant, len(c.linear.null)
    if lost == 1:
        for k in range(f):
            speed = node.qd[plant.work.independent[k]]
            node.P[f + k, f + k] += min(speed * speed, MOST_SPEED * c.start_var[f + k])
        for i in range(len(node.qd)):
            node.qd[i], node.qdd[i] = 0.0, 0.0
        for k in range(len(node.theta)):
            node.theta[k] = 0.0
        for i in range(len(node.multiplier)):
            node.multiplier[i] = 0.0
        for i in range(len(plant.work.control)):
            plant.work.control[i] = FRESH[i]
    plant.work.clock[0] = t_s
    ok = settle(plant, node, t_s)
    write_state(plant, node, node.x)
    return ok and finite(node.qd) and finite(node.qdd) and tidy(node.P, node.L, node.counts)
