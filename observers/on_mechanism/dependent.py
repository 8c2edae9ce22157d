"""The filters on all coordinates x = [q, qd, θ], for which constraints are measurements without error.

SCKF (seed 002, eq. 3.100-3.110): first the sensors, then the constraints in rounds whose noise fades. DIEKFpm (3.111):
sensors and constraints together, iterated from the prior. See `constrained` for how P survives the constraints.
"""

from __future__ import annotations

from math import exp
from typing import Any

from hodograph.core.frames import Array
from hodograph.multibody.model.constraint_kernels import choose_branches
from hodograph.multibody.motion.dynamics_kernels import lagrange
from hodograph.numerics.compiling import inner, merged, njit
from hodograph.numerics.dense import finite, joseph_row, propagate, tidy
from hodograph.numerics.verdicts import USED
from hodograph.observers.on_mechanism.constrained import (
    ROUNDS,
    Wide,
    constrain,
    copy,
    hold,
    lean,
    move,
    narrow,
    place,
    read,
    release,
    stand,
    violation,
    widen,
)
from hodograph.observers.on_mechanism.counts import FAILED_STEPS
from hodograph.observers.on_mechanism.ekf import Rows, update_rows, write_state
from hodograph.observers.on_mechanism.plant import Linear, Node, Plant, load_disturbances, process_noise
from hodograph.sensors.kernels import ACCELERATION, SensorTable, difference, measure, measure_jacobians

LOOSE = 1e-3  # an iterated update ends when the constraints hold to this, as published
FULL_STEPS = 5  # then steps are halved
SECOND_ORDER = 0.5


@merged
def heun(plant: Plant, force: Any, node: Node, linear: Linear, wide: Wide, t_s: float, h: float) -> None:
    """q and qd one step on: forward Euler, accelerations there, then the mean of both derivatives."""
    tables, work, n = plant.tables, plant.work, len(node.q)
    for i in range(n):
        wide.x[i], wide.x[n + i], wide.row[i] = node.q[i], node.qd[i], node.qdd[i]
        node.q[i] += h * wide.x[n + i]
        node.qd[i] += h * wide.row[i]
    load_disturbances(plant, node)
    choose_branches(tables.rows, node.q, work.branch)
    lagrange(tables, work, force, t_s + h, node.q, node.qd, linear.zeros[:2], node.qdd, node.multiplier)
    for i in range(n):
        node.q[i] = wide.x[i] + 0.5 * h * (wide.x[n + i] + node.qd[i])
        node.qd[i] = wide.x[n + i] + 0.5 * h * (wide.row[i] + node.qdd[i])


@merged
def predict_dependent(
    plant: Plant, force: Any, node: Node, linear: Linear, P: Array, rows: Rows, wide: Wide, t_s: float, h: float
) -> bool:
    """Heun's rule on all coordinates, F with the accelerations' derivatives, then the constraints.

    Forward Euler (3.100) would be off by h²/2 qdd in each step, a bias that sensors better than that expose.
    """
    n, f, z = len(node.q), len(linear.null), plant.work.independent
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
        stays = exp(-plant.decay[k] * h)
        wide.F[2 * n + k, 2 * n + k] = stays
        node.theta[k] *= stays
    propagate(wide.F, P, wide.Q, wide.spare)
    heun(plant, force, node, linear, wide, t_s, h)
    return finish(plant, force, node, linear, P, rows, wide, t_s + h)


@inner
def finish(plant: Plant, force: Any, node: Node, linear: Linear, P: Array, rows: Rows, wide: Wide, t_s: float) -> bool:
    """Impose the constraints, keep the core of P, and linearise for what comes next."""
    release(P, wide.free)
    copy(P, wide.prior)
    if not hold(plant, node, P, rows, wide, t_s):
        return False
    narrow(plant, P, len(node.q), node.P)
    if not tidy(node.P, node.L, node.counts):
        return False
    stand(plant, force, node, linear, wide, t_s)
    return finite(node.q) and finite(node.qd) and finite(node.qdd)


@inner
def sensor_rows(
    plant: Plant, sensors: SensorTable, first: int, end: int, node: Node, linear: Linear, rows: Rows
) -> None:
    """H (rows, [q, qd, θ]); accelerations follow through z, zd and θ as last linearised."""
    n, f, z = len(node.q), len(linear.null), plant.work.independent
    for i in range(first, end):
        measure_jacobians(sensors, i, node.q, node.qd, node.qdd, rows.h_q, rows.h_qd, rows.h_qdd)
        for j in range(n):
            rows.H[i, j], rows.H[i, n + j] = rows.h_q[j], rows.h_qd[j]
        for k in range(len(node.theta)):
            rows.H[i, 2 * n + k] = 0.0
        if sensors.kind[i] != ACCELERATION:
            continue
        for j in range(n):
            for k in range(f):
                rows.H[i, z[k]] += rows.h_qdd[j] * linear.by_z[k, j]
                rows.H[i, n + z[k]] += rows.h_qdd[j] * linear.by_zd[k, j]
            for k in range(len(node.theta)):
                rows.H[i, 2 * n + k] += rows.h_qdd[j] * linear.by_theta[k, j]


@inner
def chain(rows: Rows, wide: Wide, i: int, out: Array) -> None:
    """out = row i of H Tᵀ."""
    for k in range(len(out)):
        s = 0.0
        for j in range(wide.T.shape[1]):
            s += rows.H[i, j] * wide.T[k, j]
        out[k] = s


@inner
def reads_accelerations(sensors: SensorTable, first: int, end: int) -> bool:
    """Whether a row needs qdd."""
    found = False
    for i in range(first, end):
        found = found or sensors.kind[i] == ACCELERATION
    return found


@merged
def doubt(
    plant: Plant,
    force: Any,
    sensors: SensorTable,
    noisy: SensorTable,
    first: int,
    end: int,
    node: Node,
    linear: Linear,
    rows: Rows,
    wide: Wide,
    t_s: float,
) -> None:
    """noisy.var = σ² + ½ tr(h_xx P h_xx P): a row is not trusted beyond what its linearisation over P is worth.

    h_xx from the change of H Tᵀ over one standard deviation along each column of the core's factor.
    """
    size, L = len(node.P), node.L
    with_qdd = reads_accelerations(sensors, first, end)
    read(node, wide.x)
    sensor_rows(plant, sensors, first, end, node, linear, rows)
    for i in range(first, end):
        chain(rows, wide, i, wide.chained[i])
        noisy.var[i] = sensors.var[i]
    for k in range(size):
        for j in range(len(wide.x)):
            s = 0.0
            for b in range(size):
                s += L[b, k] * wide.T[b, j]
            wide.fan[k, j] = s
    for k in range(size):
        place(node, wide.x)
        move(node, wide.fan[k], 1.0)
        lean(plant, force, node, linear, wide, with_qdd, t_s)
        sensor_rows(plant, sensors, first, end, node, linear, rows)
        for i in range(first, end):
            chain(rows, wide, i, wide.change)
            for c in range(size):
                s = 0.0
                for b in range(size):
                    s += (wide.change[b] - wide.chained[i, b]) * L[b, c]
                noisy.var[i] += SECOND_ORDER * s * s
    place(node, wide.x)
    lean(plant, force, node, linear, wide, with_qdd, t_s)


@merged
def reread(sensors: SensorTable, first: int, end: int, node: Node, P: Array, rows: Rows, wide: Wide) -> None:
    """The readings once more with the linearisation at the node; rows.dx starts as prior minus node."""
    for i in range(first, end):
        if not abs(wide.heard[i]) < 1e150:
            continue
        y = difference(sensors, i, wide.heard[i], measure(sensors, i, node.q, node.qd, node.qdd))
        for j in range(len(P)):
            y -= rows.H[i, j] * rows.dx[j]
        joseph_row(P, rows.H[i], sensors.var[i], rows.K, rows.g)
        for j in range(len(P)):
            rows.dx[j] += rows.K[j] * y


@merged
def iterate(
    plant: Plant,
    force: Any,
    sensors: SensorTable,
    first: int,
    end: int,
    node: Node,
    linear: Linear,
    P: Array,
    rows: Rows,
    wide: Wide,
    t_s: float,
) -> bool:
    """The iterated update with h' = [h, Φ, Φ_dot]: Gauss-Newton from the prior, so only the last H and Φ_x count.

    As published it is over when the constraints hold loosely. Going on to the most likely point would be worse: where
    a sensor hardly sees the motion the posterior has two humps, and that point may lie in the wrong one.
    """
    read(node, wide.x)
    release(P, wide.free)
    copy(P, wide.prior)
    share, with_qdd = 1.0, reads_accelerations(sensors, first, end)
    for round_ in range(ROUNDS):
        if with_qdd and round_ > 0:
            stand(plant, force, node, linear, wide, t_s)
        sensor_rows(plant, sensors, first, end, node, linear, rows)
        violation(plant, node, t_s)
        copy(wide.prior, P)
        read(node, rows.dx)
        for j in range(len(P)):
            rows.dx[j] = wide.x[j] - rows.dx[j]
        reread(sensors, first, end, node, P, rows, wide)
        constrain(plant, node, P, rows, wide, 0.0)
        if round_ >= FULL_STEPS:
            share *= 0.5
        move(node, rows.dx, share)
        off = violation(plant, node, t_s)
        if not off > LOOSE:
            break
    return finite(node.q) and finite(node.qd)


@merged
def correct_dependent(
    plant: Plant,
    force: Any,
    iterated: int,
    gate: float,
    sensors: SensorTable,
    noisy: SensorTable,
    first: int,
    end: int,
    values: Array,
    node: Node,
    linear: Linear,
    full: Node,
    rows: Rows,
    wide: Wide,
    t_s: float,
) -> int:
    """One reading, then (SCKF) or together with (DIEKFpm) the constraints. The verdict, −1 when the state is lost."""
    doubt(plant, force, sensors, noisy, first, end, node, linear, rows, wide, t_s)
    widen(node.P, wide, full.P)
    sensor_rows(plant, sensors, first, end, node, linear, rows)
    verdict = update_rows(noisy, first, end, values, gate, full, rows)
    if verdict != USED:
        return verdict
    if iterated == 0:
        move(node, rows.dx, 1.0)
    else:
        for i in range(first, end):
            y, S = rows.innovation[i], rows.innovation_var[i]
            wide.heard[i] = values[i - first] if y * y / S <= gate else 1e300  # not heard
        widen(node.P, wide, full.P)
        if not iterate(plant, force, noisy, first, end, node, linear, full.P, rows, wide, t_s):
            return -1
    return verdict if finish(plant, force, node, linear, full.P, rows, wide, t_s) else -1


@njit
def run_dependent(
    plant: Plant,
    force: Any,
    iterated: int,
    gate: float,
    sensors: SensorTable,
    noisy: SensorTable,
    readings: Array,
    first: int,
    end: int,
    node: Node,
    linear: Linear,
    full: Node,
    rows: Rows,
    wide: Wide,
    t_s: float,
    h: float,
    out_x: Array,
    out_P: Array,
) -> int:
    """All steps of a grid inside the kernel, or one correction, as `run_ekf`. `full` is the node with P of all x."""
    steps, m = len(readings), len(readings[0])
    last = end if end > 0 else m
    stand(plant, force, node, linear, wide, t_s)
    for k in range(steps):
        now = t_s + k * h
        if end == 0 and not predict_dependent(plant, force, node, linear, full.P, rows, wide, now, h):
            node.counts[FAILED_STEPS] += 1.0
            return k
        some = False
        for i in range(m):
            some = some or readings[k, i] == readings[k, i]
        if some or end > 0:
            code = correct_dependent(
                plant, force, iterated, gate, sensors, noisy, first, last, readings[k], node, linear, full, rows, wide,
                now + h,
            )  # fmt: skip
            if end > 0:
                return code
            if code < 0:
                return k
        write_state(plant, node, out_x[k])
        for i in range(len(node.P)):
            for j in range(len(node.P)):
                out_P[k, i, j] = node.P[i, j]
    return steps
