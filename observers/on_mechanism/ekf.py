"""The extended Kalman filters on a mechanism: direct and error-state, any transition matrix, with disturbances.

dekf: Euler, constant F, full correction. error_ekf: index-3 step, constant F, correction along the tangent. The exact
variants differ by F, the ones with force estimation by the disturbance states.
"""

from __future__ import annotations

from math import log
from typing import Any, NamedTuple

from hodograph.core.frames import Array
from hodograph.multibody.model.constraint_kernels import choose_branches
from hodograph.multibody.motion.dynamics_kernels import (
    acceleration_problem,
    configure,
    factor_kinematics,
    position_problem,
    velocity_problem,
)
from hodograph.numerics.compiling import inner, merged, njit
from hodograph.numerics.dense import finite, innovation_var, joseph_row, propagate, tidy
from hodograph.numerics.verdicts import GATED, INVALID, USED
from hodograph.observers.on_mechanism.counts import FAILED_STEPS, GATED_ROWS, LAST_NIS, LOG_LIKELIHOOD, NIS_ROWS, NIS_SUM
from hodograph.observers.on_mechanism.plant import (
    CONSTANT,
    EXACT,
    TOLERANCE,
    Linear,
    Node,
    Plant,
    linearise,
    linearise_kinematics,
    process_noise,
    process_noise_exact,
    reduced_mass,
    settle,
    step,
    transition,
)
from hodograph.sensors.kernels import ACCELERATION, SensorTable, difference, measure, measure_jacobians

TWO_PI_LOG = 1.8378770664093453
LEAST, MOST = 0.01, 10.0  # bounds of an adapted noise over its start


class EkfSetting(NamedTuple):
    """What kind of EKF; see `plant` for integrators and transitions."""

    integrator: int
    transition: int
    tangent: int  # 1: error-state correction along the tangent, accelerations kept; 2: then the position problem
    as_acceleration: int  # 1: disturbances are estimated as acceleration errors, fed back as Rᵀ M R · error
    adaptive: int  # 1: the plant noise follows the corrections over a window; 2: as published
    gate: float  # chi-square limit of one row; inf: off


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
    cost: Array  # (6,) of the stepper
    before: Array  # (N,) diagonal of P before the correction
    window: Array  # (51, N) noise seen in the last 50 corrections; then their count, steps since, noise at the start


@merged
def predict_ekf(
    plant: Plant, force: Any, s: EkfSetting, node: Node, linear: Linear, rows: Rows, t_s: float, h: float
) -> bool:
    """x by the integrator, P by F P Fᵀ + Q; False when the step failed."""
    n, f = len(node.P), len(linear.null)
    if s.transition != CONSTANT:
        linearise(plant, force, node, t_s, linear)
        if s.as_acceleration == 1:
            for i in range(f):
                for j in range(f):
                    linear.A[f + i, 2 * f + j] = 1.0 if i == j else 0.0
    if s.transition == EXACT:
        process_noise_exact(plant, h, linear)
    else:
        process_noise(plant, h, linear)
    transition(plant, s.transition, h, linear)
    if s.as_acceleration == 1:
        for i in range(n):
            for j in range(n):
                linear.Q[i, j] = 0.0
        for k in range(n - 2 * f):
            linear.Q[2 * f + k, 2 * f + k] = plant.noise_theta[k]
    propagate(linear.F, node.P, linear.Q, linear.T)
    rows.window[len(rows.window) - 1, 1] += 1.0
    ok = step(plant, force, s.integrator, node, t_s, h, linear.change, rows.cost)
    if not ok:
        node.counts[FAILED_STEPS] += 1.0
    return ok


@inner
def chain_rows(
    plant: Plant,
    force: Any,
    sensors: SensorTable,
    first: int,
    end: int,
    node: Node,
    linear: Linear,
    rows: Rows,
    t_s: float,
) -> None:
    """H (rows, [z, zd, θ]) of the sensor rows at the node, through R, −S Φ_q_dot R and the accelerations."""
    n, f, d = len(node.q), len(linear.null), len(node.theta)
    with_accelerations = False
    for i in range(first, end):
        if sensors.kind[i] == ACCELERATION:
            with_accelerations = True
    if with_accelerations:
        linearise(plant, force, node, t_s, linear)
    else:
        linearise_kinematics(plant, node, t_s, linear)
    for i in range(first, end):
        measure_jacobians(sensors, i, node.q, node.qd, node.qdd, rows.h_q, rows.h_qd, rows.h_qdd)
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


@inner
def update_rows(sensors: SensorTable, first: int, end: int, values: Array, gate: float, node: Node, rows: Rows) -> int:
    """Sequential scalar updates of P and dx, row by row, each gated by itself; returns the verdict."""
    n = len(node.P)
    used, gated = 0, 0
    for i in range(n):
        rows.dx[i] = 0.0
    for i in range(first, end):
        rows.innovation[i] = values[i - first] - values[i - first]
        if not abs(values[i - first]) < 1e150:
            continue
        y = difference(sensors, i, values[i - first], measure(sensors, i, node.q, node.qd, node.qdd))
        for k in range(n):
            y -= rows.H[i, k] * rows.dx[k]
        S = innovation_var(node.P, rows.H[i], sensors.var[i])
        rows.innovation[i], rows.innovation_var[i] = y, S
        nis = y * y / S
        if not nis <= gate:
            gated += 1
            node.counts[GATED_ROWS] += 1.0
            continue
        node.counts[NIS_SUM] += nis
        node.counts[NIS_ROWS] += 1.0
        node.counts[LAST_NIS] = nis
        node.counts[LOG_LIKELIHOOD] -= 0.5 * (nis + log(S) + TWO_PI_LOG)
        joseph_row(node.P, rows.H[i], sensors.var[i], rows.K, rows.g)
        for k in range(n):
            rows.dx[k] += rows.K[k] * y
        used += 1
    if used > 0:
        return USED
    return GATED if gated > 0 else INVALID


@merged
def apply_full(plant: Plant, force: Any, node: Node, dx: Array, t_s: float) -> bool:
    """Add dx to z, zd and θ, then position and velocity problem and exact accelerations."""
    z, f = plant.work.independent, len(plant.work.independent)
    for k in range(f):
        node.q[z[k]] += dx[k]
        node.qd[z[k]] += dx[f + k]
    for k in range(len(node.theta)):
        node.theta[k] += dx[2 * f + k]
    return settle(plant, force, node, t_s)


@merged
def apply_tangent(plant: Plant, s: EkfSetting, node: Node, linear: Linear, dx: Array, t_s: float) -> bool:
    """q + R dz, velocity problem there; accelerations kept, or corrected by the estimated acceleration error."""
    tables, work = plant.tables, plant.work
    z, n, f = work.independent, len(node.q), len(work.independent)
    if s.as_acceleration == 1:
        reduced_mass(plant, linear)
        for i in range(f):
            for j in range(f):
                node.theta[i] += linear.mass[i, j] * dx[2 * f + j]
    else:
        for k in range(len(node.theta)):
            node.theta[k] += dx[2 * f + k]
    for k in range(f):
        for i in range(n):
            node.q[i] += linear.null[k, i] * dx[k]
        node.qd[z[k]] += dx[f + k]
    choose_branches(tables.rows, node.q, work.branch)
    if s.tangent == 2:
        if position_problem(tables, work, t_s, node.q, TOLERANCE, 60.0) < 0:
            return False
    else:
        configure(tables, work, t_s, node.q)
        factor_kinematics(tables, work)
    velocity_problem(tables, work, node.qd)
    if s.as_acceleration == 1:
        for k in range(f):
            node.qdd[z[k]] += dx[2 * f + k]
        acceleration_problem(tables, work, node.q, node.qd, node.qdd)
    return True


@merged
def adapt(plant: Plant, s: EkfSetting, node: Node, linear: Linear, rows: Rows) -> None:
    """Plant noise of the disturbances from the last 50 corrections: the mean of Q + (dx² + P⁺ − P⁻) / steps, bounded.

    As published: the mean of |dx² + P⁺ − (P⁻ − Q)|. That takes the scatter of dx² for noise, and where corrections are
    rare the noise feeds itself until the filter is lost.
    """
    n, f, window = len(node.P), len(linear.null), rows.window
    length = len(window) - 1
    slot, steps = int(window[length, 0]) % length, max(window[length, 1], 1.0)
    window[length, 0] += 1.0
    window[length, 1] = 0.0
    filled = window[length, 0] >= length
    for k in range(n - 2 * f):
        i = 2 * f + k
        if window[length, 0] == 1.0:
            window[length, i] = plant.noise_theta[k]
        more = rows.dx[i] ** 2 + node.P[i, i] - rows.before[i]
        window[slot, i] = abs(more + linear.Q[i, i]) if s.adaptive == 2 else more / steps + linear.Q[i, i]
        if filled:
            total = 0.0
            for j in range(length):
                total += window[j, i]
            start = window[length, i]
            mean = total / length
            plant.noise_theta[k] = mean if s.adaptive == 2 else min(max(mean, LEAST * start), MOST * start)


@merged
def correct_ekf(
    plant: Plant,
    force: Any,
    s: EkfSetting,
    sensors: SensorTable,
    first: int,
    end: int,
    values: Array,
    node: Node,
    linear: Linear,
    rows: Rows,
    t_s: float,
) -> int:
    """One reading: rows first…end, NaN = the sensor did not say. Returns the verdict, −1 when the state is lost."""
    chain_rows(plant, force, sensors, first, end, node, linear, rows, t_s)
    for i in range(len(node.P)):
        rows.before[i] = node.P[i, i]
    verdict = update_rows(sensors, first, end, values, s.gate, node, rows)
    if verdict != USED:
        return verdict
    if not (finite(rows.dx) and tidy(node.P, node.L, node.counts)):
        return -1
    if s.adaptive > 0:
        adapt(plant, s, node, linear, rows)
    if s.tangent > 0:
        if not apply_tangent(plant, s, node, linear, rows.dx, t_s):
            return -1
    elif not apply_full(plant, force, node, rows.dx, t_s):
        return -1
    return verdict if finite(node.q) and finite(node.qd) else -1


@njit
def run_ekf(
    plant: Plant,
    force: Any,
    s: EkfSetting,
    sensors: SensorTable,
    readings: Array,
    first: int,
    end: int,
    node: Node,
    linear: Linear,
    rows: Rows,
    t_s: float,
    h: float,
    out_x: Array,
    out_P: Array,
    out_F: Array,
    out_prior: Array,
    out_P_prior: Array,
) -> int:
    """All steps of a grid inside the kernel: readings (steps, m), NaN where none came.

    Outputs x (steps, N) and P (steps, N, N) after each correction; F, prior x and prior P are kept for smoothing when
    their arrays are as long. Returns the steps done, fewer when the state was lost. With `end` > 0 only the correction
    by rows first…end, readings (1, end − first), is done and its verdict returned: one entry compiles once.
    """
    steps, m = len(readings), len(readings[0])
    last = end if end > 0 else m
    for k in range(steps):
        now = t_s + k * h
        if end == 0 and not predict_ekf(plant, force, s, node, linear, rows, now, h):
            return k
        if len(out_F) == steps:
            keep_prior(plant, node, linear, out_F[k], out_prior[k], out_P_prior[k])
        some = False
        for i in range(m):
            some = some or readings[k, i] == readings[k, i]
        if some or end > 0:
            code = correct_ekf(plant, force, s, sensors, first, last, readings[k], node, linear, rows, now + h)
            if end > 0:
                return code
            if code < 0:
                return k
        write_state(plant, node, out_x[k])
        for i in range(len(node.P)):
            for j in range(len(node.P)):
                out_P[k, i, j] = node.P[i, j]
    return steps


@inner
def write_state(plant: Plant, node: Node, x: Array) -> None:
    """x = [z, zd, θ] of the node."""
    z, f = plant.work.independent, len(plant.work.independent)
    for k in range(f):
        x[k] = node.q[z[k]]
        x[f + k] = node.qd[z[k]]
    for k in range(len(node.theta)):
        x[2 * f + k] = node.theta[k]


@merged
def keep_prior(plant: Plant, node: Node, linear: Linear, F: Array, x: Array, P: Array) -> None:
    """What a smoother needs of a prediction: its F, and the state and covariance before any reading."""
    for i in range(len(node.P)):
        for j in range(len(node.P)):
            F[i, j] = linear.F[i, j]
            P[i, j] = node.P[i, j]
    write_state(plant, node, x)
