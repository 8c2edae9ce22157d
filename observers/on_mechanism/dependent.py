"""The filters on all coordinates x = [q, qd, θ], for which constraints are measurements without error.

SCKF (Sanjurjo 2016, section 3.4.4): first the sensors, then the constraints in rounds whose noise fades. DIEKFpm
(Sanjurjo 2016, section 3.4.5): sensors and constraints together, iterated from the prior. See `constrained` for how P
survives the constraints.
"""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hodograph.core.frames import Array
from hodograph.multibody.model.constraint_kernels import choose_branches
from hodograph.multibody.motion.dynamics_kernels import lagrange
from hodograph.numerics.compiling import inner, merged, njit
from hodograph.numerics.dense import finite, joseph_row, propagate, tidy
from hodograph.numerics.verdicts import USED
from hodograph.observers.counts import FAILED_STEPS
from hodograph.observers.filter import Filter
from hodograph.observers.loop import loop
from hodograph.observers.memory import Room
from hodograph.observers.on_mechanism.common import (
    Common,
    Rows,
    disturb_row,
    make_common,
    make_rows,
    needs_accelerations,
    renew_node,
    sensed,
    take_input,
    variance,
    vital_of,
)
from hodograph.observers.on_mechanism.constrained import (
    ROUNDS,
    Wide,
    constrain,
    copy,
    hold,
    lean,
    make_wide,
    move,
    narrow,
    place,
    read,
    release,
    stand,
    violation,
    widen,
)
from hodograph.observers.on_mechanism.ekf import update_rows
from hodograph.observers.on_mechanism.linearised import Linear, process_noise
from hodograph.observers.on_mechanism.plant import Node, Plant, arrive, carry_inputs, load_disturbances, write_state
from hodograph.observers.tables import LOST, STEP, Core, Events, Output
from hodograph.sensors.kernels import ACCELERATION, difference, measure_jacobians

if TYPE_CHECKING:
    from hodograph.observers.on_mechanism.problem import Problem
    from hodograph.observers.on_mechanism.recipes import Dependent

LOOSE = 1e-3  # an iterated update ends when the constraints hold to this, as published
FULL_STEPS = 5  # then steps are halved
SECOND_ORDER = 0.5


class DependentArrays(NamedTuple):
    """All that a filter on all coordinates works on; the common node keeps the core of P."""

    c: Common
    full: Node  # the same node with P of all of x
    wide: Wide
    var: Array  # (m,) noise of the rows of a reading, with what their linearisation is worth
    stood: Array  # (1,) 1 when linear and tangent are those of the node
    iterated: int  # 1: DIEKFpm


def make_dependent(problem: Problem, recipe: Dependent, gate: float, room: Room) -> Filter:
    """SCKF or DIEKFpm; there is no F of the core, so nothing to smooth back over."""
    c = make_common(problem, gate, room, linear_kept=True)
    vital = vital_of(c)
    full = 2 * problem.model.n + len(problem.uncertainty.disturbances)
    c = c._replace(rows=make_rows(problem.model.n, len(problem.sensors.rows), full))
    square = np.zeros((full, full))
    arrays = DependentArrays(
        c,
        full=c.node._replace(P=square, L=square.copy()),
        wide=make_wide(problem, room),
        var=np.zeros(len(problem.sensors.rows)),
        stood=room.zeros(1),
        iterated=int(recipe.iterated),
    )
    return Filter(
        arrays, run_dependent, x=c.node.x, P=c.node.P, F=c.linear.F, counts=c.node.counts, vital=vital, traced=False
    )


@merged
def heun(plant: Plant, node: Node, linear: Linear, wide: Wide, t_s: float, h: float) -> None:
    """q and qd one step on: forward Euler, accelerations there, then the mean of both derivatives."""
    tables, work, n = plant.tables, plant.work, len(node.q)
    for i in range(n):
        wide.x[i], wide.x[n + i], wide.row[i] = node.q[i], node.qd[i], node.qdd[i]
        node.q[i] += h * wide.x[n + i]
        node.qd[i] += h * wide.row[i]
    load_disturbances(plant, node)
    choose_branches(tables.rows, node.q, work.branch)
    lagrange(tables, work, plant.force, t_s + h, node.q, node.qd, linear.zeros[:2], node.qdd, node.multiplier)
    for i in range(n):
        node.q[i] = wide.x[i] + 0.5 * h * (wide.x[n + i] + node.qd[i])
        node.qd[i] = wide.x[n + i] + 0.5 * h * (wide.row[i] + node.qdd[i])


@merged
def predict_dependent(a: DependentArrays, t_s: float, h: float) -> bool:
    """Heun's rule on all coordinates, F with the accelerations' derivatives, then the constraints.

    Unlike Sanjurjo 2016, 3.100: forward Euler would be off by h²/2 qdd in each step, a bias that sensors better than
    that expose.
    """
    plant, node, linear, wide, P = a.c.plant, a.c.node, a.c.linear, a.wide, a.full.P
    n, f, z = len(node.q), len(linear.null), plant.work.independent
    carry_inputs(plant, h)
    process_noise(plant, h, linear)
    widen(linear.Q, wide, wide.Q)
    widen(node.P, wide, P)
    for i in range(len(P)):
        for j in range(len(P)):
            wide.F[i, j] = 1.0 if i == j else 0.0
    for i in range(n):
        wide.F[i, n + i] = h
        for k in range(f):
            wide.F[n + i, z[k]] += h * linear.by_z[k, i]
            wide.F[n + i, n + z[k]] += h * linear.by_zd[k, i]
        for k in range(len(node.theta)):
            wide.F[n + i, 2 * n + k] = h * linear.by_theta[k, i]
        for j in range(len(P)):
            wide.F[i, j] += 0.5 * h * (wide.F[n + i, j] - (1.0 if j == n + i else 0.0))
    for k in range(len(node.theta)):
        stays = exp(-plant.unknowns.decay[k] * h)
        wide.F[2 * n + k, 2 * n + k] = stays
        node.theta[k] *= stays
    propagate(wide.F, P, wide.Q, wide.spare)
    heun(plant, node, linear, wide, t_s, h)
    if not finish(plant, node, linear, P, a.c.rows, wide, t_s + h):
        node.counts[FAILED_STEPS] += 1.0
        return False
    arrive(plant, node, t_s + h, h)
    return True


@inner
def finish(plant: Plant, node: Node, linear: Linear, P: Array, rows: Rows, wide: Wide, t_s: float) -> bool:
    """Impose the constraints, keep the core of P, and linearise for what comes next."""
    release(P, wide.free)
    copy(P, wide.prior)
    if not hold(plant, node, P, rows, wide, t_s):
        return False
    narrow(plant, P, len(node.q), node.P)
    if not tidy(node.P, node.L, node.counts):
        return False
    stand(plant, node, linear, wide, t_s)
    return finite(node.q) and finite(node.qd) and finite(node.qdd)


@inner
def sensor_rows(c: Common, first: int, end: int, tau: float) -> None:
    """H (rows, [q, qd, θ]); accelerations follow through z, zd and θ as last linearised."""
    plant, node, linear, rows = c.plant, c.node, c.linear, c.rows
    n, f, z = len(node.q), len(linear.null), plant.work.independent
    for i in range(first, end):
        measure_jacobians(c.sensors, i, node.q, node.qd, node.qdd, rows.h_q, rows.h_qd, rows.h_qdd)
        for j in range(n):
            rows.H[i, j], rows.H[i, n + j] = rows.h_q[j], rows.h_qd[j]
        for k in range(len(node.theta)):
            rows.H[i, 2 * n + k] = 0.0
        if c.sensors.kind[i] == ACCELERATION:
            for j in range(n):
                for k in range(f):
                    rows.H[i, z[k]] += rows.h_qdd[j] * linear.by_z[k, j]
                    rows.H[i, n + z[k]] += rows.h_qdd[j] * linear.by_zd[k, j]
                for k in range(len(node.theta)):
                    rows.H[i, 2 * n + k] += rows.h_qdd[j] * linear.by_theta[k, j]
        if tau != 0.0 or len(node.theta) > 0:
            disturb_row(c, node, i, n, 2 * n, tau)


@inner
def chain(rows: Rows, wide: Wide, i: int, out: Array) -> None:
    """out = row i of H Tᵀ."""
    for k in range(len(out)):
        s = 0.0
        for j in range(wide.T.shape[1]):
            s += rows.H[i, j] * wide.T[k, j]
        out[k] = s


@merged
def doubt(a: DependentArrays, first: int, end: int, var: Array, tau: float, t_s: float) -> None:
    """a.var = σ² + ½ tr(h_xx P h_xx P): a row is not trusted beyond what its linearisation over P is worth.

    h_xx from the change of H Tᵀ over one standard deviation along each column of the core's factor.
    """
    c, wide, node = a.c, a.wide, a.c.node
    size, L = len(node.P), node.L
    with_qdd = needs_accelerations(c.sensors, first, end)
    read(node, wide.x)
    sensor_rows(c, first, end, tau)
    for i in range(first, end):
        chain(c.rows, wide, i, wide.chained[i])
        a.var[i] = variance(c, i, var[i - first])
    for k in range(size):
        for j in range(len(wide.x)):
            s = 0.0
            for b in range(size):
                s += L[b, k] * wide.T[b, j]
            wide.fan[k, j] = s
    for k in range(size):
        place(node, wide.x)
        move(node, wide.fan[k], 1.0)
        lean(c.plant, node, c.linear, wide, with_qdd, t_s)
        sensor_rows(c, first, end, tau)
        for i in range(first, end):
            chain(c.rows, wide, i, wide.change)
            for column in range(size):
                s = 0.0
                for b in range(size):
                    s += (wide.change[b] - wide.chained[i, b]) * L[b, column]
                a.var[i] += SECOND_ORDER * s * s
    place(node, wide.x)
    lean(c.plant, node, c.linear, wide, with_qdd, t_s)


@merged
def reread(a: DependentArrays, first: int, end: int, tau: float) -> None:
    """The readings once more with the linearisation at the node; rows.dx starts as prior minus node."""
    c, node, rows, P = a.c, a.c.node, a.c.rows, a.full.P
    for i in range(first, end):
        if not abs(a.wide.heard[i]) < 1e150:
            continue
        expected = sensed(c, i, node.q, node.qd, node.qdd, node.theta, tau)
        y = difference(c.sensors, i, a.wide.heard[i], expected)
        for j in range(len(P)):
            y -= rows.H[i, j] * rows.dx[j]
        joseph_row(P, rows.H[i], a.var[i], rows.K, rows.g)
        for j in range(len(P)):
            rows.dx[j] += rows.K[j] * y


@merged
def iterate(a: DependentArrays, first: int, end: int, tau: float, t_s: float) -> bool:
    """The iterated update with h' = [h, Φ, Φ_dot]: Gauss-Newton from the prior, so only the last H and Φ_x count.

    Sanjurjo 2016, 3.111. As published it is over when the constraints hold loosely. Going on to the most likely point
    would be worse: where a sensor hardly sees the motion the posterior has two humps, and that point may lie in the
    wrong one.
    """
    c, wide, node, rows, P = a.c, a.wide, a.c.node, a.c.rows, a.full.P
    read(node, wide.x)
    release(P, wide.free)
    copy(P, wide.prior)
    share, with_qdd = 1.0, needs_accelerations(c.sensors, first, end)
    for round_ in range(ROUNDS):
        if with_qdd and round_ > 0:
            stand(c.plant, node, c.linear, wide, t_s)
        sensor_rows(c, first, end, tau)
        violation(c.plant, node, t_s)
        copy(wide.prior, P)
        read(node, rows.dx)
        for j in range(len(P)):
            rows.dx[j] = wide.x[j] - rows.dx[j]
        reread(a, first, end, tau)
        constrain(c.plant, node, P, rows, wide, 0.0)
        if round_ >= FULL_STEPS:
            share *= 0.5
        move(node, rows.dx, share)
        off = violation(c.plant, node, t_s)
        if not off > LOOSE:
            break
    return finite(node.q) and finite(node.qd)


@merged
def correct_dependent(a: DependentArrays, first: int, values: Array, var: Array, tau: float, t_s: float) -> int:
    """One reading, then (SCKF) or together with (DIEKFpm) the constraints; rows beyond the sensors' are inputs."""
    c, node, rows, wide = a.c, a.c.node, a.c.rows, a.wide
    if first >= len(c.sensors.kind):
        return take_input(c.plant, first - len(c.sensors.kind), values, tau)
    end = first + len(values)
    doubt(a, first, end, var, tau, t_s)
    widen(node.P, wide, a.full.P)
    sensor_rows(c, first, end, tau)
    verdict = update_rows(c, a.full, first, values, a.var[first:end], tau)
    if verdict != USED:
        return verdict
    if a.iterated == 0:
        move(node, rows.dx, 1.0)
    else:
        for i in range(first, end):
            y, S = rows.innovation[i], rows.innovation_var[i]
            wide.heard[i] = values[i - first] if y * y / S <= c.gate else 1e300  # not heard
        widen(node.P, wide, a.full.P)
        if not iterate(a, first, end, tau, t_s):
            return LOST
    if not finish(c.plant, node, c.linear, a.full.P, rows, wide, t_s):
        return LOST
    write_state(c.plant, node, node.x)
    return verdict


@merged
def renew_dependent(a: DependentArrays, t_s: float, lost: int) -> bool:
    """As `common.renew_node`, with the linearisation that the next step starts from."""
    if not renew_node(a.c, t_s, lost):
        a.stood[0] = 0.0
        return False
    stand(a.c.plant, a.c.node, a.c.linear, a.wide, t_s)
    return finite(a.c.node.qdd)


@njit
def run_dependent(a: DependentArrays, core: Core, events: Events, out: Output, until: int) -> int:
    """The loop over readings, with these three."""
    if a.stood[0] == 0.0:
        stand(a.c.plant, a.c.node, a.c.linear, a.wide, core.grid.t0_s + core.book[STEP] * core.grid.step_s)
        a.stood[0] = 1.0
    return loop(a, predict_dependent, correct_dependent, renew_dependent, core, events, out, until)
