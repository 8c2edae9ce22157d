"""Filters on all coordinates [q, qd]: constraints Φ and Φ_dot are measurements with noise that fades.

SCKF: after each step and each reading the constraints are imposed by repeated one-row updates whose noise
0.1 Φ_x P Φ_xᵀ falls from round to round. DIEKFpm: sensors and constraints together, the whole update iterated from the
prior with the linearisation of the last round. Plant noise acts along the motion (through R), so it does not fight the
constraints; a small even noise covers their curvature.
"""

from __future__ import annotations

from math import exp
from typing import Any, NamedTuple

from hodograph.multibody.compiling import njit
from hodograph.multibody.kernels.constraints import choose_branches, rates
from hodograph.multibody.kernels.dynamics import configure, rate_change
from hodograph.multibody.tables import Array
from hodograph.observers.kernels.algebra import (
    GATED_ROWS,
    LAST_NIS,
    NIS_ROWS,
    NIS_SUM,
    finite,
    innovation_var,
    joseph_row,
    propagate,
    tidy,
)
from hodograph.observers.kernels.ekf import GATED, INVALID, USED, Rows, write_state
from hodograph.observers.kernels.plant import Linear, Node, Plant, linearise, settle
from hodograph.sensors.kernels import SensorTable, difference, measure, measure_jacobians

LOOSE = 1e-2
ROUNDS = 8
FADING = 2.0
EVEN_NOISE = 1e-8


class Copies(NamedTuple):
    """Prior of an iterated update, and rows of the constraints."""

    P: Array  # (2n, 2n)
    q: Array  # (n,)
    qd: Array
    unit: Array  # (n,)
    row: Array  # (2n,)
    gap: Array  # (2n,)
    turned: Array  # (rows, n) d(Φ_q qd)/dq


@njit
def look(plant: Plant, node: Node, copies: Copies, t_s: float) -> float:
    """Constraints, their rates and the derivatives of both at the node; returns the norm of Φ and Φ_dot."""
    tables, work, n = plant.tables, plant.work, len(node.q)
    choose_branches(tables.rows, node.q, work.branch)
    configure(tables, work, t_s, node.q)
    rates(tables.rows, work.jac, work.guide, node.qd, work.rate)
    total: float = 0.0
    for i in range(len(work.phi)):
        total += work.phi[i] ** 2 + work.rate[i] ** 2
    for k in range(n):
        for j in range(n):
            copies.unit[j] = 1.0 if j == k else 0.0
        rate_change(tables, work, node.q, node.qd, copies.unit, work.tau)
        for i in range(len(work.tau)):
            copies.turned[i, k] = work.tau[i]
    size: float = total**0.5
    return size


@njit
def constraint_row(plant: Plant, copies: Copies, i: int, of_rate: int) -> float:
    """copies.row = derivative of Φ_i or of its rate to [q, qd]; returns its value. All zero for idle rows."""
    rows, work, n = plant.tables.rows, plant.work, len(copies.unit)
    for j in range(2 * n):
        copies.row[j] = 0.0
    shift = n if of_rate == 1 else 0
    for a in range(rows.start[i], rows.start[i + 1]):
        copies.row[shift + rows.col[a]] += work.jac[a]
    if of_rate == 0:
        value: float = work.phi[i]
        return value
    for j in range(n):
        copies.row[j] += copies.turned[i, j]
    rate: float = work.rate[i]
    return rate


@njit
def remember(node: Node, copies: Copies) -> None:
    """The node becomes the prior of an iterated update."""
    n = len(node.q)
    for i in range(n):
        copies.q[i], copies.qd[i] = node.q[i], node.qd[i]
    for i in range(2 * n):
        for j in range(2 * n):
            copies.P[i, j] = node.P[i, j]


@njit
def from_prior(node: Node, rows: Rows, copies: Copies) -> None:
    """Start the update again: prior P, no correction yet, copies.gap = prior minus point of linearisation."""
    n = len(node.q)
    for i in range(n):
        copies.gap[i], copies.gap[n + i] = copies.q[i] - node.q[i], copies.qd[i] - node.qd[i]
    for i in range(2 * n):
        rows.dx[i] = 0.0
        for j in range(2 * n):
            node.P[i, j] = copies.P[i, j]


@njit
def constrain(plant: Plant, node: Node, rows: Rows, copies: Copies, round_: int) -> None:
    """One-row updates with Φ and Φ_dot as linearised by `look`; their noise fades with the rounds."""
    size = len(node.P)
    for of_rate in range(2):
        for i in range(len(plant.work.phi)):
            gap = -constraint_row(plant, copies, i, of_rate)
            spread = innovation_var(node.P, copies.row, 0.0)
            scale = 0.0
            for j in range(size):
                scale += copies.row[j] ** 2 * node.P[j, j]
            if not spread > 1e-11 * scale:
                continue
            for j in range(size):
                gap -= copies.row[j] * (rows.dx[j] + copies.gap[j])
            joseph_row(node.P, copies.row, max(0.1 * exp(-FADING * round_), 1e-6) * spread, rows.K, rows.g)
            for j in range(size):
                rows.dx[j] += rows.K[j] * gap


@njit
def arrive(node: Node, rows: Rows, copies: Copies) -> None:
    """The node at prior plus correction."""
    n = len(node.q)
    for i in range(n):
        node.q[i] = copies.q[i] + rows.dx[i]
        node.qd[i] = copies.qd[i] + rows.dx[n + i]


@njit
def impose(plant: Plant, node: Node, rows: Rows, copies: Copies, t_s: float) -> bool:
    """The constraints as measurements: rounds from the same prior with ever less noise, until they hold."""
    remember(node, copies)
    for round_ in range(ROUNDS):
        error = look(plant, node, copies, t_s)
        if not error < 1e100:
            return False
        from_prior(node, rows, copies)
        constrain(plant, node, rows, copies, round_)
        arrive(node, rows, copies)
    for j in range(len(node.P)):
        node.P[j, j] += 1e-14
    return look(plant, node, copies, t_s) <= LOOSE


@njit
def loosen(node: Node, move2: float, rate2: float) -> None:
    """Room for curvature: what moves by `move2` (mean square) along the tangent leaves the constraints by as much."""
    n = len(node.q)
    for i in range(n):
        node.P[i, i] += move2 * move2
        node.P[n + i, n + i] += move2 * rate2


@njit
def loosen_prior(node: Node) -> None:
    """The same for the spread that P itself claims."""
    n = len(node.q)
    move2, rate2 = 0.0, 0.0
    for i in range(n):
        move2 += node.P[i, i]
        rate2 += node.P[n + i, n + i]
    loosen(node, move2, rate2)


@njit
def predict_dependent(
    plant: Plant, force: Any, node: Node, linear: Linear, rows: Rows, copies: Copies, t_s: float, h: float
) -> bool:
    """Forward Euler on all coordinates, F with the exact accelerations, then the constraints."""
    n, f, z = len(node.q), len(linear.null), plant.work.independent
    for i in range(2 * n):
        for j in range(2 * n):
            linear.F[i, j] = 1.0 if i == j else 0.0
            linear.Q[i, j] = EVEN_NOISE if i == j else 0.0
    spread(plant, force, node, linear, t_s)
    for i in range(n):
        linear.F[i, n + i] += h
        for k in range(f):
            linear.F[n + i, z[k]] += h * linear.by_z[k, i]
            linear.F[n + i, n + z[k]] += h * linear.by_zd[k, i]
        for j in range(n):
            along = 0.0
            for k in range(f):
                along += linear.null[k, i] * linear.null[k, j] * plant.noise_zdd[k]
            linear.Q[i, j] += along * h * h * h / 3.0
            linear.Q[i, n + j] += along * h * h / 2.0
            linear.Q[n + j, i] += along * h * h / 2.0
            linear.Q[n + i, n + j] += along * h
    propagate(linear.F, node.P, linear.Q, linear.T)
    for i in range(n):
        node.q[i] += h * node.qd[i]
        node.qd[i] += h * node.qdd[i]
    if not (impose(plant, node, rows, copies, t_s + h) and tidy(node.P, node.L, node.counts)):
        return False
    return settle(plant, force, node, t_s + h)


@njit
def spread(plant: Plant, force: Any, node: Node, linear: Linear, t_s: float) -> None:
    """Derivatives of the accelerations without touching A, which here has another size."""
    small = linear.A[: 2 * len(linear.null), : 2 * len(linear.null)]
    part = Linear(
        linear.null, linear.velocity, linear.by_z, linear.by_zd, linear.by_theta, linear.mass, small, linear.F,
        linear.Q, linear.T, linear.zeros, linear.spare_qdd, linear.spare_multiplier,
    )  # fmt: skip
    linearise(plant, force, node, t_s, part)


@njit
def sensor_rows(
    plant: Plant, sensors: SensorTable, first: int, end: int, node: Node, linear: Linear, rows: Rows
) -> None:
    """H (rows, [q, qd]); accelerations follow through z and zd."""
    n, f, z = len(node.q), len(linear.null), plant.work.independent
    for i in range(first, end):
        measure_jacobians(sensors, i, node.q, node.qd, node.qdd, rows.h_q, rows.h_qd, rows.h_qdd)
        for j in range(n):
            rows.H[i, j], rows.H[i, n + j] = rows.h_q[j], rows.h_qd[j]
        for k in range(f):
            for j in range(n):
                rows.H[i, z[k]] += rows.h_qdd[j] * linear.by_z[k, j]
                rows.H[i, n + z[k]] += rows.h_qdd[j] * linear.by_zd[k, j]


@njit
def read_rows(
    sensors: SensorTable,
    first: int,
    end: int,
    values: Array,
    gate: float,
    node: Node,
    rows: Rows,
    offset: Array,
    count: int,
) -> int:
    """One-row updates with the sensors; `offset` is prior minus point of linearisation. Returns the verdict."""
    size = len(node.P)
    used, gated = 0, 0
    for i in range(first, end):
        if not abs(values[i - first]) < 1e150:
            continue
        y = difference(sensors, i, values[i - first], measure(sensors, i, node.q, node.qd, node.qdd))
        for j in range(size):
            y -= rows.H[i, j] * (rows.dx[j] + offset[j])
        S = innovation_var(node.P, rows.H[i], sensors.var[i])
        if count == 1:
            rows.innovation[i], rows.innovation_var[i] = y, S
        if not y * y / S <= gate:
            gated += 1
            node.counts[GATED_ROWS] += count
            continue
        used += 1
        node.counts[NIS_SUM] += count * y * y / S
        node.counts[NIS_ROWS] += count
        node.counts[LAST_NIS] = y * y / S
        joseph_row(node.P, rows.H[i], sensors.var[i], rows.K, rows.g)
        for j in range(size):
            rows.dx[j] += rows.K[j] * y
    if used > 0:
        return USED
    return GATED if gated > 0 else INVALID


@njit
def correct_dependent(
    plant: Plant,
    force: Any,
    iterated: int,
    gate: float,
    sensors: SensorTable,
    first: int,
    end: int,
    values: Array,
    node: Node,
    linear: Linear,
    rows: Rows,
    copies: Copies,
    t_s: float,
) -> int:
    """One reading, then (SCKF) or together with (DIEKFpm) the constraints."""
    for i in range(first, end):
        rows.innovation[i] = values[i - first] - values[i - first]
    loosen_prior(node)
    remember(node, copies)
    verdict = USED
    for round_ in range(ROUNDS if iterated == 1 else 1):
        spread(plant, force, node, linear, t_s)
        sensor_rows(plant, sensors, first, end, node, linear, rows)
        if not look(plant, node, copies, t_s) < 1e100:
            return -1
        from_prior(node, rows, copies)
        heard = read_rows(sensors, first, end, values, gate, node, rows, copies.gap, 1 if round_ == 0 else 0)
        if round_ == 0:
            verdict = heard
        if verdict != USED:
            from_prior(node, rows, copies)
            return verdict
        if iterated == 1:
            constrain(plant, node, rows, copies, round_)
        arrive(node, rows, copies)
        if not finite(rows.dx):
            return -1
    move2, rate2 = 0.0, 0.0
    for i in range(len(node.q)):
        move2 += rows.dx[i] ** 2
        rate2 += rows.dx[len(node.q) + i] ** 2
    if iterated == 0:
        loosen(node, move2, rate2)
    if not (impose(plant, node, rows, copies, t_s) and tidy(node.P, node.L, node.counts)):
        return -1
    return verdict if settle(plant, force, node, t_s) else -1


@njit
def run_dependent(
    plant: Plant,
    force: Any,
    iterated: int,
    gate: float,
    sensors: SensorTable,
    readings: Array,
    first: int,
    end: int,
    node: Node,
    linear: Linear,
    rows: Rows,
    copies: Copies,
    t_s: float,
    h: float,
    out_x: Array,
    out_P: Array,
) -> int:
    """All steps of a grid inside the kernel, or one correction, as `run_ekf`; outputs are those of z and zd."""
    steps, m = len(readings), len(readings[0])
    n, f, z = len(node.q), len(linear.null), plant.work.independent
    for k in range(steps):
        now = t_s + k * h
        if end == 0 and not predict_dependent(plant, force, node, linear, rows, copies, now, h):
            return k
        some = False
        for i in range(m):
            some = some or readings[k, i] == readings[k, i]
        if some or end > 0:
            code = correct_dependent(
                plant,
                force,
                iterated,
                gate,
                sensors,
                first,
                end if end > 0 else m,
                readings[k],
                node,
                linear,
                rows,
                copies,
                now + h,
            )
            if end > 0:
                return code
            if code < 0:
                return k
        write_state(plant, node, out_x[k])
        for i in range(2 * f):
            a = z[i] if i < f else n + z[i - f]
            for j in range(2 * f):
                b = z[j] if j < f else n + z[j - f]
                out_P[k, i, j] = node.P[a, b]
    return steps
