"""Filters on all coordinates x = [q, qd, θ], whose constraints Φ and Φ_dot are measurements without error.

SCKF (seed 002, eq. 3.100-3.110): first the sensors, then the constraints, in rounds whose noise fades. DIEKFpm (3.111):
sensors and constraints together, iterated from the prior. A state that obeys the constraints has a covariance of rank
2f, P = Tᵀ p T with the tangent T = d[q, qd, θ]/d[z, zd, θ], and it is kept as its core p.

Where a correction has moved the state along T the constraints have turned: read with such a P they would be news about
the motion, and each round would take variance from it. So before constraints are imposed the dependent coordinates get
a variance that dwarfs P (as in the toolbox of 2023): they give way, z and zd stay. And every round starts from the same
P, so that only the last linearisation counts.
"""

from __future__ import annotations

from math import exp, sin
from math import cos as cosine
from typing import Any, NamedTuple

from hodograph.multibody.compiling import inner, njit
from hodograph.multibody.kernels.constraints import choose_branches, rates
from hodograph.multibody.kernels.dynamics import configure, lagrange
from hodograph.multibody.tables import Array
from hodograph.observers.kernels.algebra import finite, innovation_var, joseph_row, propagate, tidy
from hodograph.observers.kernels.ekf import USED, Rows, update_rows, write_state
from hodograph.observers.kernels.plant import Linear, Node, Plant, linearise, load_disturbances, process_noise
from hodograph.sensors.kernels import ACCELERATION, SensorTable, difference, measure, measure_jacobians

FREEDOM = 100.0  # variance of the dependent coordinates over the largest in P
WEAKENING, FADING = 0.1, 10.0  # ξ₀ = 0.1 Φ_x P Φ_xᵀ, ξ ← ξ e⁻¹⁰ (eq. 3.106, 3.110)
TOLERANCE = 1e-11
ROUNDS = 30
SETTLED = 1e-9  # last step of an iterated update, in standard deviations of the prior


class Wide(NamedTuple):
    """Buffers of a filter on M = 2n + d coordinates; N = 2f + d."""

    T: Array  # (N, M) tangent
    F: Array  # (M, M)
    Q: Array  # (M, M)
    prior: Array  # (M, M) what each round starts from
    spare: Array  # (M, M)
    x: Array  # (M,) prior of an iterated update
    row: Array  # (M,) one constraint
    free: Array  # (n,) 1 for dependent coordinates
    heard: Array  # (m,) readings that passed the gate


@inner
def stand(plant: Plant, force: Any, node: Node, linear: Linear, wide: Wide, t_s: float) -> None:
    """Linearise at a consistent node: exact accelerations, their derivatives, and the tangent."""
    linearise(plant, force, node, t_s, linear)
    n, f = len(node.q), len(linear.null)
    for i in range(n):
        node.qdd[i] = linear.spare_qdd[i]
    for k in range(f):
        for i in range(n):
            wide.T[k, i] = wide.T[f + k, n + i] = linear.null[k, i]
            wide.T[k, n + i] = linear.velocity[k, i]
    for k in range(len(node.theta)):
        wide.T[2 * f + k, 2 * n + k] = 1.0


@inner
def widen(core: Array, wide: Wide, out: Array) -> None:
    """out = Tᵀ core T."""
    size, full = wide.T.shape
    for a in range(size):
        for j in range(full):
            s = 0.0
            for b in range(size):
                s += core[a, b] * wide.T[b, j]
            wide.spare[a, j] = s
    for i in range(full):
        for j in range(i + 1):
            s = 0.0
            for a in range(size):
                s += wide.T[a, i] * wide.spare[a, j]
            out[i, j] = out[j, i] = s


@inner
def narrow(plant: Plant, P: Array, n: int, core: Array) -> None:
    """core = the rows and columns of z, zd and θ of P."""
    z, f = plant.work.independent, len(plant.work.independent)
    for i in range(len(core)):
        a = z[i] if i < f else (n + z[i - f] if i < 2 * f else 2 * n + i - 2 * f)
        for j in range(len(core)):
            b = z[j] if j < f else (n + z[j - f] if j < 2 * f else 2 * n + j - 2 * f)
            core[i, j] = P[a, b]


@inner
def release(P: Array, free: Array) -> None:
    """Let the dependent coordinates give way to the constraints."""
    largest, n = 0.0, len(free)
    for i in range(2 * n):
        largest = max(largest, P[i, i])
    for i in range(n):
        P[i, i] += FREEDOM * largest * free[i]
        P[n + i, n + i] += FREEDOM * largest * free[i]


@inner
def violation(plant: Plant, node: Node, t_s: float) -> float:
    """Norm of Φ and Φ_dot at the node; leaves both with the Jacobian behind."""
    tables, work = plant.tables, plant.work
    choose_branches(tables.rows, node.q, work.branch)
    configure(tables, work, t_s, node.q)
    rates(tables.rows, work.jac, work.guide, node.qd, work.rate)
    total = 0.0
    for i in range(len(work.phi)):
        total += work.phi[i] * work.phi[i] + work.rate[i] * work.rate[i]
    norm: float = total**0.5
    return norm


@inner
def constraint_row(plant: Plant, node: Node, i: int, of_rate: int, row: Array) -> float:
    """row = dΦ_i/dx or dΦ_dot_i/dx after `violation`, all zero for an idle row; returns the value."""
    rows, work, n = plant.tables.rows, plant.work, len(node.q)
    for j in range(len(row)):
        row[j] = 0.0
    shift = n if of_rate == 1 else 0
    for a in range(rows.start[i], rows.start[i + 1]):
        row[shift + rows.col[a]] += work.jac[a]
    if of_rate == 0:
        value: float = work.phi[i]
        return value
    for k in range(len(work.branch)):
        angle = rows.angle[k, 2]
        moved = rows.amplitude[k] * node.qd[angle]
        if work.branch[k] == 1:
            if rows.angle[k, 0] == i:
                row[angle] += moved * sin(node.q[angle])
            elif rows.angle[k, 1] == i:
                return 0.0
        elif rows.angle[k, 1] == i:
            row[angle] += moved * cosine(node.q[angle])
        elif rows.angle[k, 0] == i:
            return 0.0
    for a in range(rows.start[i], rows.start[i + 1]):
        for t in range(rows.tri_start[a], rows.tri_start[a + 1]):
            row[rows.tri_col[t]] += rows.tri_val[t] * node.qd[rows.col[a]]
    rate: float = work.rate[i]
    return rate


@inner
def constrain(plant: Plant, node: Node, P: Array, rows: Rows, wide: Wide, weakening: float) -> None:
    """Φ and Φ_dot as measurements, row by row: updates P and rows.dx, which starts as prior minus node (eq. 3.107-9)."""
    for of_rate in range(2):
        for i in range(len(plant.work.phi)):
            gap = -constraint_row(plant, node, i, of_rate, wide.row)
            spread, scale = innovation_var(P, wide.row, 0.0), 0.0
            for j in range(len(P)):
                scale += wide.row[j] * wide.row[j] * P[j, j]
                gap -= wide.row[j] * rows.dx[j]
            if not spread > 1e-11 * scale:
                continue  # idle, or told by other rows already
            joseph_row(P, wide.row, weakening * spread, rows.K, rows.g)
            for j in range(len(P)):
                rows.dx[j] += rows.K[j] * gap


@inner
def move(node: Node, dx: Array, share: float) -> None:
    """node += share · dx."""
    n = len(node.q)
    for i in range(n):
        node.q[i] += share * dx[i]
        node.qd[i] += share * dx[n + i]
    for k in range(len(node.theta)):
        node.theta[k] += share * dx[2 * n + k]


@inner
def copy(source: Array, target: Array) -> None:
    """target = source, both (M, M)."""
    for i in range(len(source)):
        for j in range(len(source)):
            target[i, j] = source[i, j]


@inner
def impose(plant: Plant, node: Node, P: Array, rows: Rows, wide: Wide, t_s: float) -> bool:
    """The smoothly constrained update: rounds of constraints with fading noise, each from the same P, until they hold."""
    release(P, wide.free)
    copy(P, wide.prior)
    weakening = WEAKENING
    for _ in range(ROUNDS):
        if not violation(plant, node, t_s) < 1e100:
            return False
        copy(wide.prior, P)
        for j in range(len(P)):
            rows.dx[j] = 0.0
        constrain(plant, node, P, rows, wide, weakening)
        move(node, rows.dx, 1.0)
        weakening *= exp(-FADING)
        if violation(plant, node, t_s) <= TOLERANCE:
            return True
    return False


@inner
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


@inner
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
        stays = 1.0 - plant.decay[k] * h + 0.5 * (plant.decay[k] * h) ** 2
        wide.F[2 * n + k, 2 * n + k] = stays
        node.theta[k] *= stays
    propagate(wide.F, P, wide.Q, wide.spare)
    heun(plant, force, node, linear, wide, t_s, h)
    return finish(plant, force, node, linear, P, rows, wide, t_s + h)


@inner
def finish(
    plant: Plant, force: Any, node: Node, linear: Linear, P: Array, rows: Rows, wide: Wide, t_s: float
) -> bool:
    """Impose the constraints, keep the core of P, and linearise for what comes next."""
    if not impose(plant, node, P, rows, wide, t_s):
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


@inner
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
    """The iterated update with h' = [h, Φ, Φ_dot]: Gauss-Newton from the prior, so only the last H and Φ_x count."""
    n, full = len(node.q), len(P)
    for i in range(n):
        wide.x[i], wide.x[n + i] = node.q[i], node.qd[i]
    for k in range(len(node.theta)):
        wide.x[2 * n + k] = node.theta[k]
    release(P, wide.free)
    copy(P, wide.prior)
    accelerometers = False
    for i in range(first, end):
        accelerometers = accelerometers or sensors.kind[i] == ACCELERATION
    for round_ in range(ROUNDS):
        if round_ > 0:
            if accelerometers:
                linearise(plant, force, node, t_s, linear)
                for i in range(n):
                    node.qdd[i] = linear.spare_qdd[i]
            sensor_rows(plant, sensors, first, end, node, linear, rows)
        if not violation(plant, node, t_s) < 1e100:
            return False
        copy(wide.prior, P)
        for i in range(n):
            rows.dx[i], rows.dx[n + i] = wide.x[i] - node.q[i], wide.x[n + i] - node.qd[i]
        for k in range(len(node.theta)):
            rows.dx[2 * n + k] = wide.x[2 * n + k] - node.theta[k]
        reread(sensors, first, end, node, P, rows, wide)
        constrain(plant, node, P, rows, wide, 0.0)
        step = 0.0
        for j in range(full):
            step = max(step, abs(rows.dx[j]) / (wide.prior[j, j] ** 0.5 + 1e-300))
        move(node, rows.dx, 1.0 if round_ < 10 else 0.5)
        if step <= SETTLED:
            break
    return True


@inner
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
    full: Node,
    rows: Rows,
    wide: Wide,
    t_s: float,
) -> int:
    """One reading, then (SCKF) or together with (DIEKFpm) the constraints. The verdict, −1 when the state is lost."""
    widen(node.P, wide, full.P)
    sensor_rows(plant, sensors, first, end, node, linear, rows)
    verdict = update_rows(sensors, first, end, values, gate, full, rows)
    if verdict != USED:
        return verdict
    if iterated == 0:
        move(node, rows.dx, 1.0)
    else:
        for i in range(first, end):
            y, S = rows.innovation[i], rows.innovation_var[i]
            wide.heard[i] = values[i - first] if y * y / S <= gate else 1e300  # not heard
        widen(node.P, wide, full.P)
        if not iterate(plant, force, sensors, first, end, node, linear, full.P, rows, wide, t_s):
            return -1
    return verdict if finish(plant, force, node, linear, full.P, rows, wide, t_s) else -1


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
            return k
        some = False
        for i in range(m):
            some = some or readings[k, i] == readings[k, i]
        if some or end > 0:
            code = correct_dependent(
                plant, force, iterated, gate, sensors, first, last, readings[k], node, linear, full, rows, wide, now + h
            )
            if end > 0:
                return code
            if code < 0:
                return k
        write_state(plant, node, out_x[k])
        for i in range(len(node.P)):
            for j in range(len(node.P)):
                out_P[k, i, j] = node.P[i, j]
    return steps
