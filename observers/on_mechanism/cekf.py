"""The continuous EKF: dx/dt = f + P Hᵀ Rc⁻¹ (o − h), dP/dt = A P + P Aᵀ + S − P Hᵀ Rc⁻¹ H P, with Rc = σ² h.

The Riccati equation is not stepped but solved: its flow over a tiny time is doubled until it spans the step, each
doubling composing P ↦ Q + Φ P (I + G P)⁻¹ Φᵀ with itself. That keeps P positive however large the gain is, so slow
sensors and gyroscopes on the cranks work. The term of the readings acts over the step that ends with them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hodograph.core.frames import Array
from hodograph.numerics.compiling import inner, merged, njit
from hodograph.numerics.dense import finite, innovation_var, joseph_row, multiply, tidy
from hodograph.numerics.verdicts import GATED, INVALID, USED
from hodograph.observers.on_mechanism.counts import FAILED_STEPS, GATED_ROWS, LAST_NIS, NIS_ROWS, NIS_SUM
from hodograph.observers.on_mechanism.ekf import Rows, apply_full, chain_rows, write_state
from hodograph.observers.on_mechanism.plant import Linear, Node, Plant, begin_step, end_step, linearise, trapezoidal
from hodograph.sensors.kernels import SensorTable, difference, measure

DOUBLINGS = 24


class Riccati(NamedTuple):
    """The flow and what the last step started from, all (N, N) but `h` (1,)."""

    phi: Array
    G: Array
    Q: Array
    T: Array
    U: Array
    V: Array
    W: Array
    A: Array
    P: Array  # before the last step
    J: Array  # Σ Hᵀ σ⁻² H of the readings of the last step
    h: Array


@inner
def add_sandwich(A: Array, B: Array, out: Array) -> None:
    """out += A Bᵀ, made symmetric."""
    n = len(A)
    for i in range(n):
        for j in range(i + 1):
            s, t = 0.0, 0.0
            for k in range(n):
                s += A[i, k] * B[j, k]
                t += A[j, k] * B[i, k]
            mean = 0.5 * (s + t)
            out[i, j] += mean
            if i != j:
                out[j, i] += mean


@inner
def divide(A: Array, B: Array) -> None:
    """B = A⁻¹ B by elimination with pivoting; A is spent."""
    n = len(A)
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[best, k]):
                best = i
        if best != k:
            for j in range(n):
                A[k, j], A[best, j] = A[best, j], A[k, j]
                B[k, j], B[best, j] = B[best, j], B[k, j]
        for i in range(k + 1, n):
            t = A[i, k] / A[k, k]
            for j in range(k, n):
                A[i, j] -= t * A[k, j]
            for j in range(n):
                B[i, j] -= t * B[k, j]
    for j in range(n):
        for i in range(n - 1, -1, -1):
            s = B[i, j]
            for k in range(i + 1, n):
                s -= A[i, k] * B[k, j]
            B[i, j] = s / A[i, i]


@inner
def flow(plant: Plant, r: Riccati, P: Array) -> None:
    """P over the last step, from r.P, with A, the plant noise and the information r.J of its readings."""
    n, h, f, d = len(P), r.h[0], len(plant.noise_zdd), len(plant.noise_theta)
    tiny = h / 2.0**DOUBLINGS
    multiply(r.A, r.A, r.T)
    for i in range(n):
        for j in range(n):
            r.phi[i, j] = (1.0 if i == j else 0.0) + tiny * r.A[i, j] + 0.5 * tiny * tiny * r.T[i, j]
            r.G[i, j] = r.J[i, j] * tiny / h
            r.Q[i, j] = 0.0
    for i in range(f):
        r.Q[f + i, f + i] = plant.noise_zdd[i] * tiny
    for k in range(d):
        r.Q[2 * f + k, 2 * f + k] = plant.noise_theta[k] * tiny
    for _ in range(DOUBLINGS):
        multiply(r.Q, r.G, r.T)  # I + Q G
        multiply(r.G, r.Q, r.W)  # I + G Q = (I + Q G)ᵀ
        for i in range(n):
            r.T[i, i] += 1.0
            r.W[i, i] += 1.0
            for j in range(n):
                r.U[i, j] = r.Q[i, j]
                r.V[i, j] = r.G[i, j]
        for i in range(n):
            for j in range(n):
                P[i, j] = r.T[i, j]
        divide(r.T, r.U)  # (I + Q G)⁻¹ Q = Q (I + G Q)⁻¹
        divide(r.W, r.V)  # (I + G Q)⁻¹ G = G (I + Q G)⁻¹
        multiply(r.phi, r.U, r.T)
        add_sandwich(r.T, r.phi, r.Q)
        for i in range(n):
            for j in range(n):
                r.T[i, j] = r.phi[j, i]
        multiply(r.T, r.V, r.U)
        add_sandwich(r.U, r.T, r.G)
        for i in range(n):
            for j in range(n):
                r.V[i, j] = r.phi[i, j]
                r.U[i, j] = P[i, j]
        divide(r.U, r.V)  # (I + Q G)⁻¹ Φ
        multiply(r.phi, r.V, r.T)
        for i in range(n):
            for j in range(n):
                r.phi[i, j] = r.T[i, j]
    multiply(r.G, r.P, r.T)
    for i in range(n):
        r.T[i, i] += 1.0
        for j in range(n):
            r.U[i, j] = r.phi[j, i]
            P[i, j] = r.Q[i, j]
    divide(r.T, r.U)  # (I + G P)⁻¹ Φᵀ
    multiply(r.P, r.U, r.T)
    multiply(r.phi, r.T, r.U)
    for i in range(n):
        for j in range(n):
            P[i, j] += 0.5 * (r.U[i, j] + r.U[j, i])


@merged
def predict_cekf(
    plant: Plant, force: Any, node: Node, linear: Linear, rows: Rows, r: Riccati, t_s: float, h: float
) -> bool:
    """The state by the trapezoidal rule, P by the Riccati flow without readings."""
    linearise(plant, force, node, t_s, linear)
    r.h[0] = h
    for i in range(len(r.A)):
        for j in range(len(r.A)):
            r.A[i, j], r.P[i, j], r.J[i, j] = linear.A[i, j], node.P[i, j], 0.0
    flow(plant, r, node.P)
    begin_step(plant, node, h)
    ok = trapezoidal(plant, force, node, t_s, h, linear.change)
    end_step(plant, node, h)
    if not ok:
        node.counts[FAILED_STEPS] += 1.0
        return False
    return tidy(node.P, node.L, node.counts)


@merged
def correct_cekf(
    plant: Plant,
    force: Any,
    gate: float,
    sensors: SensorTable,
    first: int,
    end: int,
    values: Array,
    node: Node,
    linear: Linear,
    rows: Rows,
    r: Riccati,
    t_s: float,
) -> int:
    """The step anew with the readings that came at its end: P by the flow, x by the gain at full weight.

    K h = P Hᵀ Rc⁻¹ h with P at the end of the readings' own flow, which is P⁻ Hᵀ (H P⁻ Hᵀ + σ²)⁻¹.
    """
    n = len(node.P)
    if r.h[0] == 0.0:
        r.h[0] = 1e-9
        for i in range(n):
            for j in range(n):
                r.P[i, j] = node.P[i, j]
    chain_rows(plant, force, sensors, first, end, node, linear, rows, t_s)
    used, gated = 0, 0
    for j in range(n):
        rows.dx[j] = 0.0
        for k in range(n):
            r.V[j, k] = node.P[j, k]
    for i in range(first, end):
        rows.innovation[i] = values[i - first] - values[i - first]
        if not abs(values[i - first]) < 1e150:
            continue
        y = difference(sensors, i, values[i - first], measure(sensors, i, node.q, node.qd, node.qdd))
        for k in range(n):
            y -= rows.H[i, k] * rows.dx[k]
        S = innovation_var(r.V, rows.H[i], sensors.var[i])
        rows.innovation[i], rows.innovation_var[i] = y, S
        if not y * y / S <= gate:
            gated += 1
            node.counts[GATED_ROWS] += 1.0
            continue
        used += 1
        node.counts[NIS_SUM] += y * y / S
        node.counts[NIS_ROWS] += 1.0
        node.counts[LAST_NIS] = y * y / S
        for j in range(n):
            for k in range(n):
                r.J[j, k] += rows.H[i, j] * rows.H[i, k] / sensors.var[i]
        joseph_row(r.V, rows.H[i], sensors.var[i], rows.K, rows.g)
        for j in range(n):
            rows.dx[j] += rows.K[j] * y
    if used == 0:
        return GATED if gated > 0 else INVALID
    flow(plant, r, node.P)
    if not tidy(node.P, node.L, node.counts):
        return -1
    if not (finite(rows.dx) and apply_full(plant, force, node, rows.dx, t_s)):
        return -1
    return USED


@njit
def run_cekf(
    plant: Plant,
    force: Any,
    gate: float,
    sensors: SensorTable,
    readings: Array,
    first: int,
    end: int,
    node: Node,
    linear: Linear,
    rows: Rows,
    r: Riccati,
    t_s: float,
    h: float,
    out_x: Array,
    out_P: Array,
) -> int:
    """All steps of a grid inside the kernel, or one correction, as `run_ekf`."""
    steps, m = len(readings), len(readings[0])
    last = end if end > 0 else m
    for k in range(steps):
        now = t_s + k * h
        if end == 0 and not predict_cekf(plant, force, node, linear, rows, r, now, h):
            return k
        some = False
        for i in range(m):
            some = some or readings[k, i] == readings[k, i]
        if some or end > 0:
            code = correct_cekf(plant, force, gate, sensors, first, last, readings[k], node, linear, rows, r, now + h)
            if end > 0:
                return code
            if code < 0:
                return k
        write_state(plant, node, out_x[k])
        for i in range(len(node.P)):
            for j in range(len(node.P)):
                out_P[k, i, j] = node.P[i, j]
    return steps
