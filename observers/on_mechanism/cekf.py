"""The continuous EKF: dx/dt = f + P Hᵀ Rc⁻¹ (o − h), dP/dt = A P + P Aᵀ + S − P Hᵀ Rc⁻¹ H P, with Rc = σ² h.

Sanjurjo 2016, 3.69-3.72, gain and covariance corrected.
The Riccati equation is not stepped but solved: its flow over a tiny time is doubled until it spans the step, each
doubling composing P ↦ Q + Φ P (I + G P)⁻¹ Φᵀ with itself. That keeps P positive however large the gain is, so slow
sensors and gyroscopes on the cranks work. The term of the readings acts over the step that ends with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hodograph.core.frames import Array
from hodograph.numerics.compiling import inner, merged, njit
from hodograph.numerics.dense import finite, innovation_var, joseph_row, multiply, tidy
from hodograph.numerics.verdicts import GATED, INVALID, USED
from hodograph.observers.counts import FAILED_STEPS, GATED_ROWS, LAST_NIS, NIS_ROWS, NIS_SUM
from hodograph.observers.filter import Filter
from hodograph.observers.loop import loop
from hodograph.observers.memory import Room
from hodograph.observers.on_mechanism.common import (
    Common,
    chain_rows,
    make_common,
    renew_node,
    sensed,
    take_input,
    variance,
    vital_of,
)
from hodograph.observers.on_mechanism.ekf import apply_full
from hodograph.observers.on_mechanism.linearised import linearise
from hodograph.observers.on_mechanism.plant import (
    Plant,
    arrive,
    begin_step,
    carry_inputs,
    end_step,
    trapezoidal,
    write_state,
)
from hodograph.observers.tables import LOST, Core, Events, Output
from hodograph.sensors.kernels import difference

if TYPE_CHECKING:
    from hodograph.observers.on_mechanism.problem import Problem

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
    h: Array  # length of the last step, 0 where there was none


class CekfArrays(NamedTuple):
    """All that a CEKF works on."""

    c: Common
    riccati: Riccati


def make_riccati(size: int, room: Room) -> Riccati:
    """Buffers of a Riccati equation; what the last step started from is part of the state."""
    square = (size, size)
    return Riccati(
        phi=np.zeros(square), G=np.zeros(square), Q=np.zeros(square), T=np.zeros(square), U=np.zeros(square),
        V=np.zeros(square), W=np.zeros(square), A=room.zeros(size, size), P=room.zeros(size, size),
        J=room.zeros(size, size), h=room.zeros(1),
    )  # fmt: skip


def make_cekf(problem: Problem, gate: float, room: Room) -> Filter:
    """A CEKF; its corrections are part of the flow, so there is no prediction to smooth back over."""
    c = make_common(problem, gate, room)
    vital = vital_of(c)
    arrays = CekfArrays(c, make_riccati(problem.size, room))
    return Filter(
        arrays, run_cekf, x=c.node.x, P=c.node.P, F=c.linear.F, counts=c.node.counts, vital=vital, traced=False
    )


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
def predict_cekf(a: CekfArrays, t_s: float, h: float) -> bool:
    """The state by the trapezoidal rule, P by the Riccati flow without readings (Sanjurjo 2016, 3.73)."""
    plant, node, linear, r = a.c.plant, a.c.node, a.c.linear, a.riccati
    carry_inputs(plant, h)
    linearise(plant, node, t_s, linear)
    r.h[0] = h
    for i in range(len(r.A)):
        for j in range(len(r.A)):
            r.A[i, j], r.P[i, j], r.J[i, j] = linear.A[i, j], node.P[i, j], 0.0
    flow(plant, r, node.P)
    begin_step(plant, node, h)
    ok = trapezoidal(plant, node, t_s, h, linear.change)
    end_step(plant, node, h)
    arrive(plant, node, t_s + h, h)
    if not ok:
        node.counts[FAILED_STEPS] += 1.0
        return False
    return tidy(node.P, node.L, node.counts)


@merged
def correct_cekf(a: CekfArrays, first: int, values: Array, var: Array, tau: float, t_s: float) -> int:
    """The step anew with the readings that came at its end: P by the flow, x by the gain at full weight.

    K h = P Hᵀ Rc⁻¹ h with P at the end of the readings' own flow, which is P⁻ Hᵀ (H P⁻ Hᵀ + σ²)⁻¹.
    """
    c, r, node, rows = a.c, a.riccati, a.c.node, a.c.rows
    if first >= len(c.sensors.kind):
        return take_input(c.plant, first - len(c.sensors.kind), values, tau)
    n = len(node.P)
    if r.h[0] == 0.0:
        r.h[0] = 1e-9
        for i in range(n):
            for j in range(n):
                r.P[i, j] = node.P[i, j]
    chain_rows(c, node, first, first + len(values), tau, t_s)
    used, gated = 0, 0
    for j in range(n):
        rows.dx[j] = 0.0
        for k in range(n):
            r.V[j, k] = node.P[j, k]
    for b in range(len(values)):
        i = first + b
        rows.innovation[i] = values[b] - values[b]
        if not abs(values[b]) < 1e150:
            continue
        y = difference(c.sensors, i, values[b], sensed(c, i, node.q, node.qd, node.qdd, node.theta, tau))
        for k in range(n):
            y -= rows.H[i, k] * rows.dx[k]
        noise = variance(c, i, var[b])
        S = innovation_var(r.V, rows.H[i], noise)
        rows.innovation[i], rows.innovation_var[i] = y, S
        node.counts[LAST_NIS] = y * y / S
        if not y * y / S <= c.gate:
            gated += 1
            node.counts[GATED_ROWS] += 1.0
            continue
        used += 1
        node.counts[NIS_SUM] += y * y / S
        node.counts[NIS_ROWS] += 1.0
        for j in range(n):
            for k in range(n):
                r.J[j, k] += rows.H[i, j] * rows.H[i, k] / noise
        joseph_row(r.V, rows.H[i], noise, rows.K, rows.g)
        for j in range(n):
            rows.dx[j] += rows.K[j] * y
    if used == 0:
        return GATED if gated > 0 else INVALID
    flow(c.plant, r, node.P)
    if not tidy(node.P, node.L, node.counts):
        return LOST
    if not (finite(rows.dx) and apply_full(c, t_s)):
        return LOST
    write_state(c.plant, node, node.x)
    return USED


@merged
def renew_cekf(a: CekfArrays, t_s: float, lost: int) -> bool:
    """As `common.renew_node`; the last step is not what led to this P, so readings start one of their own."""
    r = a.riccati
    r.h[0] = 0.0
    for i in range(len(r.A)):
        for j in range(len(r.A)):
            r.A[i, j], r.J[i, j] = 0.0, 0.0
    return renew_node(a.c, t_s, lost)


@njit
def run_cekf(a: CekfArrays, core: Core, events: Events, out: Output, until: int) -> int:
    """The loop over readings, with these three."""
    return loop(a, predict_cekf, correct_cekf, renew_cekf, core, events, out, until)
