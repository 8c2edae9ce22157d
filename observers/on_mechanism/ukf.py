"""The unscented filters on a mechanism: each point is settled on the constraints, stepped and measured in full."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hodograph.core.frames import Array
from hodograph.numerics.compiling import inner, merged, njit
from hodograph.numerics.dense import cholesky, finite, tidy
from hodograph.numerics.verdicts import USED
from hodograph.observers.counts import FAILED_STEPS
from hodograph.observers.filter import Filter
from hodograph.observers.loop import loop
from hodograph.observers.memory import Room
from hodograph.observers.on_mechanism.common import (
    FIXED_POINT_TOLERANCE,
    Common,
    delayed,
    make_common,
    needs_accelerations,
    renew_node,
    sensed,
    take_input,
    variance,
    vital_of,
)
from hodograph.observers.on_mechanism.linearised import linearise, process_noise, process_noise_exact
from hodograph.observers.on_mechanism.plant import (
    INDEX3,
    TRAPEZOIDAL,
    Node,
    Plant,
    accelerate,
    arrive,
    carry_inputs,
    load_disturbances,
    own,
    rest,
    step,
    travel,
    write_state,
)
from hodograph.observers.on_mechanism.unscented import (
    Points,
    Weights,
    condition,
    covariance,
    covariance_of,
    deviations,
    draw,
    make_points,
    mean_about_first,
    square_root,
)
from hodograph.observers.tables import LOST, Core, Events, Output
from hodograph.sensors.kernels import difference

if TYPE_CHECKING:
    from hodograph.observers.on_mechanism.problem import Problem
    from hodograph.observers.on_mechanism.recipes import Ukf

STEP_BEGIN = 16
"""Row of the stages where the trapezoidal rule keeps the accelerations that its step began with."""


class UkfSetting(NamedTuple):
    """What kind of UKF."""

    integrator: int
    reuse: int  # 1: measure with the propagated points, which lack the plant noise (as published)
    square_root: int  # 1: keep the factor of P, never P itself
    weights: Weights


class Swarm(NamedTuple):
    """All points as mechanism states, and one to probe with."""

    q: Array  # (2l+1, n)
    qd: Array
    qdd: Array
    probe: Node


class UkfArrays(NamedTuple):
    """All that a UKF works on."""

    c: Common
    setting: UkfSetting
    points: Points
    swarm: Swarm


def make_ukf(problem: Problem, recipe: Ukf, gate: float, room: Room) -> Filter:
    """A UKF of a recipe."""
    c = make_common(problem, gate, room)
    size, vital = problem.size, vital_of(c)
    setting = UkfSetting(
        integrator=int(recipe.steps),
        reuse=int(recipe.reuse),
        square_root=int(recipe.square_root),
        weights=recipe.weights(size),
    )
    # weights of 1/α² magnify what the fixed-point iteration leaves: points that lie close need it done to the end
    c.plant.explicit[0] = max(FIXED_POINT_TOLERANCE * recipe.alpha**2, 1e-13)
    probe = own(c.node)
    if setting.integrator != INDEX3:  # the reactions of the points serve nobody else
        probe = probe._replace(multiplier=np.zeros(0))
    many = np.zeros((2 * size + 1, problem.model.n))
    points = make_points(size, len(problem.sensors.rows))
    if recipe.reuse:  # the next correction measures with the points of the last prediction
        swarm = Swarm(q=room.array(many), qd=room.array(many), qdd=room.array(many), probe=probe)
        points = points._replace(X=room.array(points.X))
    else:
        swarm = Swarm(q=many.copy(), qd=many.copy(), qdd=many.copy(), probe=probe)
    arrays = UkfArrays(c, setting, points, swarm)
    return Filter(arrays, run_ukf, x=c.node.x, P=c.node.P, F=c.linear.F, counts=c.node.counts, vital=vital)


@inner
def place(plant: Plant, node: Node, probe: Node, x: Array, t_s: float) -> bool:
    """The probe at state x, put to rest on the constraints from the node's position."""
    for i in range(len(node.q)):
        probe.q[i], probe.qd[i] = node.q[i], node.qd[i]
    return put_mean(plant, probe, x, t_s)


@merged
def keep(probe: Node, swarm: Swarm, i: int) -> None:
    """Store the probe as point i."""
    for j in range(len(probe.q)):
        swarm.q[i, j], swarm.qd[i, j], swarm.qdd[i, j] = probe.q[j], probe.qd[j], probe.qdd[j]


@inner
def put_mean(plant: Plant, node: Node, x: Array, t_s: float) -> bool:
    """The node moved to state x, at rest on the constraints; its accelerations are left alone."""
    z, f = plant.work.independent, len(plant.work.independent)
    if not travel(plant, node.q, t_s, x[:f]):
        return False
    for k in range(f):
        node.qd[z[k]] = x[f + k]
    for k in range(len(node.theta)):
        node.theta[k] = x[2 * f + k]
    return rest(plant, node, t_s)


@merged
def regress(p: Points, w: Weights, L: Array, F: Array) -> None:
    """F of statistical linearisation: (Σ w (X_i − x)(x_i − x₀)ᵀ) P⁻¹ of points x₀ ± spread · columns of L.

    With the half differences of opposite points E this is F L = E; `smooth` then is the unscented RTS smoother (Särkkä
    2008).
    """
    n = len(F)
    for i in range(n):
        for k in range(n - 1, -1, -1):
            s = w.other * w.spread * (p.X[1 + k, i] - p.X[1 + n + k, i])
            for j in range(k + 1, n):
                s -= F[i, j] * L[j, k]
            F[i, k] = s / L[k, k]


@merged
def predict_ukf(a: UkfArrays, t_s: float, h: float) -> bool:
    """Every point one step ahead; mean, covariance (or its factor) and the plant noise. Leaves F in `linear`.

    Sanjurjo 2016, 3.90-3.92.
    """
    c, s, p, swarm = a.c, a.setting, a.points, a.swarm
    plant, node, linear, n = c.plant, c.node, c.linear, len(c.node.P)
    carry_inputs(plant, h)
    if s.square_root == 0 and not tidy(node.P, node.L, node.counts):
        return False
    if len(node.theta) > 0:  # the noise of disturbances reaches z and zd within the step
        linearise(plant, node, t_s, linear)
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
            accelerate(plant, swarm.probe, t_s)
            ok = step(plant, s.integrator, swarm.probe, t_s, h, linear.change, c.rows.cost)
        if not ok:
            node.counts[FAILED_STEPS] += 1.0
            return False
        write_state(plant, swarm.probe, p.X[i])
        keep(swarm.probe, swarm, i)
        if i == 0 and s.integrator == TRAPEZOIDAL:  # the other points go much as the first did
            for j in range(len(node.q)):
                linear.change[j] = swarm.probe.qdd[j] - plant.work.stage[STEP_BEGIN, j]
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
    ok = put_mean(plant, node, p.x, t_s + h)
    load_disturbances(plant, node)
    arrive(plant, node, t_s + h, h)
    return ok


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
def correct_ukf(a: UkfArrays, first: int, values: Array, var: Array, tau: float, t_s: float) -> int:
    """One reading through all points (Sanjurjo 2016, 3.93-3.99, corrected); rows beyond the sensors' are inputs."""
    c, s, p, swarm = a.c, a.setting, a.points, a.swarm
    plant, node, rows, n, m = c.plant, c.node, c.rows, len(c.node.P), len(values)
    if first >= len(c.sensors.kind):
        return take_input(plant, first - len(c.sensors.kind), values, tau)
    accelerations = needs_accelerations(c.sensors, first, first + m) or delayed(plant.unknowns)
    write_state(plant, node, p.x)
    if s.reuse == 0:
        if s.square_root == 0 and not tidy(node.P, node.L, node.counts):
            return LOST
        draw(p.x, node.L, s.weights.spread, p.X)
        for i in range(2 * n + 1):
            if not place(plant, node, swarm.probe, p.X[i], t_s):
                return LOST
            if accelerations or tau != 0.0:
                accelerate(plant, swarm.probe, t_s)
            keep(swarm.probe, swarm, i)
    f = len(plant.work.independent)
    for i in range(2 * n + 1):
        for r in range(m):
            p.Z[i, r] = sensed(c, first + r, swarm.q[i], swarm.qd[i], swarm.qdd[i], p.X[i, 2 * f :], tau)
    Z, z, U, Y, C = p.Z[:, :m], p.z[:m], p.U[:, :m], p.Y[:m, :m], p.C[:m]
    mean_about_first(Z, s.weights, z)
    deviations(p.X, p.x, p.T)
    deviations(Z, z, U)
    covariance_of(U, s.weights, Y)
    covariance(U, p.T, s.weights, C)
    for r in range(m):
        Y[r, r] += variance(c, first + r, var[r])
        z[r] = difference(c.sensors, first + r, values[r], z[r])
        rows.innovation[first + r] = values[r] - values[r]
    part = Points(X=p.X, Z=Z, x=p.x, z=z, D=p.D, Y=Y, C=C, K=p.K, T=p.T, U=U)
    verdict = condition(
        part, z, values, c.gate, s.square_root, node.L if s.square_root == 1 else node.P, node.counts,
        rows.innovation[first : first + m], rows.innovation_var[first : first + m],
    )  # fmt: skip
    if verdict != USED:
        return verdict
    if s.square_root == 1:
        from_factor(node.L, node.P)
    elif not tidy(node.P, node.L, node.counts):
        return LOST
    if not (finite(p.x) and put_mean(plant, node, p.x, t_s)):
        return LOST
    accelerate(plant, node, t_s)
    write_state(plant, node, node.x)
    return verdict


@merged
def renew_ukf(a: UkfArrays, t_s: float, lost: int) -> bool:
    """See `common.renew_node`."""
    return renew_node(a.c, t_s, lost)


@njit
def run_ukf(a: UkfArrays, core: Core, events: Events, out: Output, until: int) -> int:
    """The loop over readings, with these three."""
    return loop(a, predict_ukf, correct_ukf, renew_ukf, core, events, out, until)
