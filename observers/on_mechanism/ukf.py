"""The unscented filters on a mechanism: each point is settled on the constraints, stepped and measured in full."""

from __future__ import annotations

from typing import Any, NamedTuple

from hodograph.core.frames import Array
from hodograph.numerics.compiling import inner, merged, njit
from hodograph.numerics.dense import cholesky, finite, tidy
from hodograph.numerics.verdicts import USED
from hodograph.observers.on_mechanism.counts import FAILED_STEPS
from hodograph.observers.on_mechanism.ekf import Rows, keep_prior, write_state
from hodograph.observers.on_mechanism.plant import (
    TRAPEZOIDAL,
    Linear,
    Node,
    Plant,
    accelerate,
    linearise,
    process_noise,
    process_noise_exact,
    rest,
    step,
)
from hodograph.observers.on_mechanism.unscented import (
    Points,
    Weights,
    condition,
    covariance,
    covariance_of,
    deviations,
    draw,
    mean_about_first,
    square_root,
)
from hodograph.sensors.kernels import ACCELERATION, SensorTable, difference, measure


class UkfSetting(NamedTuple):
    """What kind of UKF."""

    integrator: int
    reuse: int  # 1: measure with the propagated points, which lack the plant noise (as published)
    square_root: int  # 1: keep the factor of P, never P itself
    gate: float
    weights: Weights


class Swarm(NamedTuple):
    """All points as mechanism states, and one to probe with."""

    q: Array  # (2l+1, n)
    qd: Array
    qdd: Array
    probe: Node


@inner
def place(plant: Plant, node: Node, probe: Node, x: Array, t_s: float) -> bool:
    """The probe at state x, put to rest on the constraints from the node's position."""
    z, f = plant.work.independent, len(plant.work.independent)
    for i in range(len(node.q)):
        probe.q[i], probe.qd[i] = node.q[i], node.qd[i]
    for k in range(f):
        probe.q[z[k]], probe.qd[z[k]] = x[k], x[f + k]
    for k in range(len(node.theta)):
        probe.theta[k] = x[2 * f + k]
    return rest(plant, probe, t_s)


@merged
def keep(probe: Node, swarm: Swarm, i: int) -> None:
    """Store the probe as point i."""
    for j in range(len(probe.q)):
        swarm.q[i, j], swarm.qd[i, j], swarm.qdd[i, j] = probe.q[j], probe.qd[j], probe.qdd[j]


@inner
def put_mean(plant: Plant, node: Node, x: Array, t_s: float) -> bool:
    """The node at state x, at rest on the constraints; its accelerations are left alone."""
    z, f = plant.work.independent, len(plant.work.independent)
    for k in range(f):
        node.q[z[k]], node.qd[z[k]] = x[k], x[f + k]
    for k in range(len(node.theta)):
        node.theta[k] = x[2 * f + k]
    return rest(plant, node, t_s)


@merged
def regress(p: Points, w: Weights, L: Array, F: Array) -> None:
    """F of statistical linearisation: (Σ w (X_i − x)(x_i − x₀)ᵀ) P⁻¹ of points x₀ ± spread · columns of L.

    With the half differences of opposite points E this is F L = E; `smooth` then is the unscented RTS smoother.
    """
    n = len(F)
    for i in range(n):
        for k in range(n - 1, -1, -1):
            s = w.other * w.spread * (p.X[1 + k, i] - p.X[1 + n + k, i])
            for j in range(k + 1, n):
                s -= F[i, j] * L[j, k]
            F[i, k] = s / L[k, k]


@merged
def predict_ukf(
    plant: Plant,
    force: Any,
    s: UkfSetting,
    node: Node,
    linear: Linear,
    rows: Rows,
    p: Points,
    swarm: Swarm,
    t_s: float,
    h: float,
) -> bool:
    """Every point one step ahead; mean, covariance (or its factor) and the plant noise. Leaves F in `linear`."""
    n = len(node.P)
    if s.square_root == 0 and not tidy(node.P, node.L, node.counts):
        return False
    if len(node.theta) > 0:  # the noise of disturbances reaches z and zd within the step
        linearise(plant, force, node, t_s, linear)
        process_noise_exact(plant, h, linear)
    else:
        process_noise(plant, h, linear)
    write_state(plant, node, p.x)
    draw(p.x, node.L, s.weights.spread, p.T)
    for j in range(len(node.q)):
        linear.change[j] = 0.0
    for i in range(2 * n + 1):
        ok = place(plant, node, swarm.probe, p.T[i], t_s)
        if ok:
            accelerate(plant, force, swarm.probe, t_s)
            ok = step(plant, force, s.integrator, swarm.probe, t_s, h, linear.change, rows.cost)
        if not ok:
            node.counts[FAILED_STEPS] += 1.0
            return False
        write_state(plant, swarm.probe, p.X[i])
        keep(swarm.probe, swarm, i)
        if i == 0 and s.integrator == TRAPEZOIDAL:  # the other points go much as the first did
            for j in range(len(node.q)):
                linear.change[j] = swarm.probe.qdd[j] - plant.work.stage[16, j]
    mean_about_first(p.X, s.weights, p.x)
    deviations(p.X, p.x, p.T)
    regress(p, s.weights, node.L, linear.F)
    if s.square_root == 1:
        for i in range(n):
            linear.Q[i, i] += 1e-30
        if not cholesky(linear.Q, linear.T):
            return False
        square_root(p.T, s.weights, linear.T, p.D, node.L)
        from_factor(node.L, node.P)
    else:
        covariance_of(p.T, s.weights, node.P)
        for i in range(n):
            for j in range(n):
                node.P[i, j] += linear.Q[i, j]
    for j in range(len(node.q)):
        node.q[j], node.qd[j], node.qdd[j] = swarm.q[0, j], swarm.qd[0, j], swarm.qdd[0, j]
    return put_mean(plant, node, p.x, t_s + h)


@inner
def from_factor(L: Array, P: Array) -> None:
    """P = L Lᵀ."""
    n = len(P)
    for i in range(n):
        for j in range(i + 1):
            s = 0.0
            for k in range(j + 1):
                s += L[i, k] * L[j, k]
            P[i, j], P[j, i] = s, s


@merged
def correct_ukf(
    plant: Plant,
    force: Any,
    s: UkfSetting,
    sensors: SensorTable,
    first: int,
    end: int,
    values: Array,
    node: Node,
    rows: Rows,
    p: Points,
    swarm: Swarm,
    t_s: float,
) -> int:
    """One reading through all points; returns the verdict, −1 when the state is lost."""
    n, m = len(node.P), end - first
    accelerations = False
    for i in range(first, end):
        accelerations = accelerations or sensors.kind[i] == ACCELERATION
    write_state(plant, node, p.x)
    if s.reuse == 0:
        if s.square_root == 0 and not tidy(node.P, node.L, node.counts):
            return -1
        draw(p.x, node.L, s.weights.spread, p.X)
        for i in range(2 * n + 1):
            if not place(plant, node, swarm.probe, p.X[i], t_s):
                return -1
            if accelerations:
                accelerate(plant, force, swarm.probe, t_s)
            keep(swarm.probe, swarm, i)
    for i in range(2 * n + 1):
        for r in range(m):
            p.Z[i, r] = measure(sensors, first + r, swarm.q[i], swarm.qd[i], swarm.qdd[i])
    Z, z, U, Y, C = p.Z[:, :m], p.z[:m], p.U[:, :m], p.Y[:m, :m], p.C[:m]
    mean_about_first(Z, s.weights, z)
    deviations(p.X, p.x, p.T)
    deviations(Z, z, U)
    covariance_of(U, s.weights, Y)
    covariance(U, p.T, s.weights, C)
    for r in range(m):
        Y[r, r] += sensors.var[first + r]
        z[r] = difference(sensors, first + r, values[r], z[r])
        rows.innovation[first + r] = values[r] - values[r]
    part = Points(p.X, Z, p.x, z, p.D, Y, C, p.K, p.T, U)
    verdict = condition(
        part, z, values, s.gate, s.square_root, node.L if s.square_root == 1 else node.P, node.counts,
        rows.innovation[first:end], rows.innovation_var[first:end],
    )  # fmt: skip
    if verdict != USED:
        return verdict
    if s.square_root == 1:
        from_factor(node.L, node.P)
    elif not tidy(node.P, node.L, node.counts):
        return -1
    if not (finite(p.x) and put_mean(plant, node, p.x, t_s)):
        return -1
    accelerate(plant, force, node, t_s)
    return verdict


@njit
def run_ukf(
    plant: Plant,
    force: Any,
    s: UkfSetting,
    sensors: SensorTable,
    readings: Array,
    first: int,
    end: int,
    node: Node,
    linear: Linear,
    rows: Rows,
    p: Points,
    swarm: Swarm,
    t_s: float,
    h: float,
    out_x: Array,
    out_P: Array,
    out_F: Array,
    out_prior: Array,
    out_P_prior: Array,
) -> int:
    """All steps of a grid inside the kernel, or one correction, as `run_ekf`."""
    steps, m = len(readings), len(readings[0])
    last = end if end > 0 else m
    for k in range(steps):
        now = t_s + k * h
        if end == 0 and not predict_ukf(plant, force, s, node, linear, rows, p, swarm, now, h):
            return k
        if len(out_F) == steps:
            keep_prior(plant, node, linear, out_F[k], out_prior[k], out_P_prior[k])
        some = False
        for i in range(m):
            some = some or readings[k, i] == readings[k, i]
        if some or end > 0:
            code = correct_ukf(plant, force, s, sensors, first, last, readings[k], node, rows, p, swarm, now + h)
            if end > 0:
                return code
            if code < 0:
                return k
        write_state(plant, node, out_x[k])
        for i in range(len(node.P)):
            for j in range(len(node.P)):
                out_P[k, i, j] = node.P[i, j]
    return steps
