"""The continuous EKF as the published toolbox has it, step for step; for `bench linkages --as-published` only.

Forward Euler for the Riccati equation, F without the leading terms of eq. 3.67 and with half of 3.68, the correction at
half weight. It loses its covariance's sign as soon as H P Hᵀ > σ²; `kernels.cekf` does not.
"""

from __future__ import annotations

from typing import Any

from hodograph.core.frames import Array
from hodograph.multibody.model.linear_kernels import mass_times
from hodograph.numerics.compiling import inner, njit
from hodograph.numerics.dense import multiply
from hodograph.observers.on_mechanism.cekf import Riccati, divide
from hodograph.observers.on_mechanism.counts import FAILED_STEPS
from hodograph.observers.on_mechanism.ekf import Rows, chain_rows, write_state
from hodograph.observers.on_mechanism.plant import Linear, Node, Plant, linearise_kinematics, reduced_mass, settle
from hodograph.sensors.kernels import SensorTable, difference, measure

NEWTON_TOLERANCE, NEWTON_LIMIT = 1e-10, 1000


@inner
def printed_columns(plant: Plant, linear: Linear, r: Riccati, factor: float, first: int) -> None:
    """Columns first… of the lower half of r.A = −Mbar⁻¹ Rᵀ factor M linear.velocityᵀ (eq. 3.67 with M, 3.68)."""
    work, f, n = plant.work, len(linear.null), len(linear.zeros)
    reduced_mass(plant, linear)
    for k in range(f):
        mass_times(plant.tables.mass, work.mass, linear.velocity[k], work.c)
        for i in range(f):
            s = 0.0
            for j in range(n):
                s -= factor * linear.null[i, j] * work.c[j]
            r.U[i, k] = s
            r.T[i, k] = linear.mass[i, k]
    divide(r.T[:f, :f], r.U[:f, :f])
    for i in range(f):
        for k in range(f):
            r.A[f + i, first + k] = r.U[i, k]


@inner
def printed_transition(plant: Plant, node: Node, trial: Node, linear: Linear, r: Riccati, t_s: float) -> None:
    """r.A with F21 = −2 Mbar⁻¹ Rᵀ M R_q R zdd and F22 = −Mbar⁻¹ Rᵀ M Rdot."""
    n, f, z = len(node.q), len(linear.null), plant.work.independent
    linearise_kinematics(plant, node, t_s, linear)
    for i in range(n):
        trial.q[i], trial.qd[i] = node.q[i], 0.0
        for k in range(f):
            trial.qd[i] += linear.null[k, i] * node.qdd[z[k]]
    for i in range(len(r.A)):
        for j in range(len(r.A)):
            r.A[i, j] = 1.0 if j == f + i else 0.0
    linearise_kinematics(plant, trial, t_s, linear)  # R_q R zdd is Rdot with zdd in place of zd
    printed_columns(plant, linear, r, 2.0, 0)
    linearise_kinematics(plant, node, t_s, linear)
    printed_columns(plant, linear, r, 1.0, f)


@inner
def euler_riccati(
    plant: Plant, sensors: SensorTable, values: Array, rows: Rows, node: Node, r: Riccati, share: float, h: float
) -> None:
    """P + h (A P + P Aᵀ + S − P Hᵀ Rc⁻¹ H P), Rc = σ² share; rows whose value is NaN are left out."""
    n, f = len(node.P), len(plant.noise_zdd)
    multiply(r.A, node.P, r.T)
    for i in range(n):
        for j in range(n):
            r.U[i, j] = r.T[i, j] + r.T[j, i]
    for k in range(f):
        r.U[f + k, f + k] += plant.noise_zdd[k]
    for a in range(len(values)):
        if values[a] == values[a]:
            for i in range(n):
                s = 0.0
                for j in range(n):
                    s += node.P[i, j] * rows.H[a, j]
                rows.g[i] = s
            for i in range(n):
                for j in range(n):
                    r.U[i, j] -= rows.g[i] * rows.g[j] / (sensors.var[a] * share)
    for i in range(n):
        for j in range(n):
            node.P[i, j] += h * r.U[i, j]


@inner
def gains(sensors: SensorTable, values: Array, rows: Rows, node: Node, r: Riccati, share: float) -> None:
    """Rows a of r.V = P Hᵀ Rc⁻¹, zero where nothing was read; needs no more rows than the state has."""
    for a in range(len(values)):
        for i in range(len(node.P)):
            s = 0.0
            for j in range(len(node.P)):
                s += node.P[i, j] * rows.H[a, j]
            r.V[a, i] = s / (sensors.var[a] * share) if values[a] == values[a] else 0.0


@inner
def residual(
    plant: Plant, sensors: SensorTable, values: Array, node: Node, trial: Node, rows: Rows, r: Riccati, h: float
) -> float:
    """rows.dx = x' − x − h/2 (f + f' + K (o − h')) of the trapezoidal rule at the trial; returns its largest entry."""
    f, z = len(plant.noise_zdd), plant.work.independent
    for k in range(f):
        i = z[k]
        rows.dx[k] = trial.q[i] - node.q[i] - 0.5 * h * (node.qd[i] + trial.qd[i])
        rows.dx[f + k] = trial.qd[i] - node.qd[i] - 0.5 * h * (node.qdd[i] + trial.qdd[i])
    for a in range(len(values)):
        if values[a] == values[a]:
            y = difference(sensors, a, values[a], measure(sensors, a, trial.q, trial.qd, trial.qdd))
            for i in range(len(node.P)):
                rows.dx[i] -= 0.5 * h * r.V[a, i] * y
    worst = 0.0
    for i in range(len(node.P)):
        worst = max(worst, abs(rows.dx[i]))
    return worst


@inner
def newton_step(plant: Plant, trial: Node, rows: Rows, r: Riccati, m: int, h: float) -> None:
    """trial −= (I − h/2 [0 I; 0 0] + h/2 K H)⁻¹ rows.dx, in z and zd."""
    n, f, z = len(r.A), len(plant.noise_zdd), plant.work.independent
    for i in range(n):
        for j in range(n):
            s = (1.0 if i == j else 0.0) - (0.5 * h if j == f + i else 0.0)
            for a in range(m):
                s += 0.5 * h * r.V[a, i] * rows.H[a, j]
            r.T[i, j] = s
            r.U[i, j] = rows.dx[i] if j == 0 else 0.0
    divide(r.T, r.U)
    for k in range(f):
        trial.q[z[k]] -= r.U[k, 0]
        trial.qd[z[k]] -= r.U[f + k, 0]


@njit
def run_cekf_published(
    plant: Plant,
    force: Any,
    share: float,
    sensors: SensorTable,
    readings: Array,
    node: Node,
    trial: Node,
    linear: Linear,
    rows: Rows,
    r: Riccati,
    t_s: float,
    h: float,
    out_x: Array,
    out_P: Array,
) -> int:
    """All steps of a grid; returns the steps done. H of the Riccati equation is at the old state, that of the gain at
    the state predicted by forward Euler.
    """
    n, f, m = len(node.q), len(plant.noise_zdd), len(readings[0])
    for k in range(len(readings)):
        now, values = t_s + k * h, readings[k]
        printed_transition(plant, node, trial, linear, r, now)
        chain_rows(plant, force, sensors, 0, m, node, linear, rows, now)
        euler_riccati(plant, sensors, values, rows, node, r, share, h)
        for i in range(n):
            trial.q[i], trial.qd[i] = node.q[i] + h * node.qd[i], node.qd[i] + h * node.qdd[i]
        if not settle(plant, force, trial, now + h):
            return k
        chain_rows(plant, force, sensors, 0, m, trial, linear, rows, now + h)
        gains(sensors, values, rows, node, r, share)
        found = False
        for _ in range(NEWTON_LIMIT):
            worst = residual(plant, sensors, values, node, trial, rows, r, h)
            found = worst <= NEWTON_TOLERANCE
            if found or not worst < 1e100:
                break
            newton_step(plant, trial, rows, r, m, h)
            if not settle(plant, force, trial, now + h):
                break
        if not found:
            node.counts[FAILED_STEPS] += 1.0
            return k
        for i in range(n):
            node.q[i], node.qd[i], node.qdd[i] = trial.q[i], trial.qd[i], trial.qdd[i]
        write_state(plant, node, out_x[k])
        for i in range(2 * f):
            for j in range(2 * f):
                out_P[k, i, j] = node.P[i, j]
    return len(readings)
