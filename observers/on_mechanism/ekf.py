"""The extended Kalman filters on a mechanism: direct and error-state, any transition matrix, with disturbances.

dekf (Sanjurjo 2016, section 3.4.2): Euler, constant F, full correction. error_ekf (Sanjurjo 2016, section 3.4.6):
index-3 step, constant F, correction along the tangent. The exact variants differ by F, the ones with force estimation
by the disturbance states.
"""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hodograph.core.frames import Array
from hodograph.multibody.model.constraint_kernels import choose_branches
from hodograph.multibody.motion.dynamics_kernels import (
    acceleration_problem,
    configure,
    factor_kinematics,
    velocity_problem,
)
from hodograph.numerics.compiling import inner, merged, njit
from hodograph.numerics.dense import finite, innovation_var, joseph_row, propagate, tidy
from hodograph.numerics.verdicts import GATED, INVALID, USED
from hodograph.observers.counts import (
    FAILED_STEPS,
    GATED_ROWS,
    LAST_NIS,
    LOG_LIKELIHOOD,
    NIS_ROWS,
    NIS_SUM,
)
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
from hodograph.observers.on_mechanism.linearised import (
    CONSTANT,
    EXACT,
    linearise,
    process_noise,
    process_noise_exact,
    reduced_mass,
    transition,
)
from hodograph.observers.on_mechanism.plant import (
    STRIDE,
    Node,
    accelerate,
    arrive,
    carry_inputs,
    settle,
    step,
    travel,
    write_state,
)
from hodograph.observers.tables import LOST, Core, Events, Output
from hodograph.sensors.kernels import difference

if TYPE_CHECKING:
    from hodograph.observers.on_mechanism.problem import Problem
    from hodograph.observers.on_mechanism.recipes import Ekf

TWO_PI_LOG = 1.8378770664093453
LEAST, MOST = 0.01, 10.0  # bounds of an adapted noise over its start
WINDOW = 50  # corrections that an adapted noise looks back on
COUNT, SINCE = 0, 1  # in the last row of the window: corrections so far, steps since the last


class EkfSetting(NamedTuple):
    """What kind of EKF; see `plant` for integrators and transitions."""

    integrator: int
    transition: int
    tangent: int  # 1: error-state correction along the tangent, accelerations kept
    as_acceleration: int  # 1: disturbances are estimated as acceleration errors, fed back as Rᵀ M R · error
    adaptive: int  # 1: the plant noise follows the corrections over a window; 2: as published


class EkfArrays(NamedTuple):
    """All that an EKF works on."""

    c: Common
    setting: EkfSetting
    window: Array  # (WINDOW + 1, N) noise seen in the last corrections; then counts, and the noise at the start


def make_ekf(problem: Problem, recipe: Ekf, gate: float, room: Room) -> Filter:
    """An EKF of a recipe."""
    f, d = len(problem.model.independent), len(problem.uncertainty.disturbances)
    if recipe.acceleration_error and d != f:
        raise ValueError(f"an acceleration error of {f} degrees of freedom needs {f} disturbances, got {d}")
    c = make_common(problem, gate, room, still_start=recipe.still_start)
    window = np.zeros((WINDOW + 1, problem.size))
    setting = EkfSetting(
        integrator=int(recipe.steps),
        transition=int(recipe.transition),
        tangent=int(recipe.tangent),
        as_acceleration=int(recipe.acceleration_error),
        adaptive=int(recipe.adaptive) * (2 if recipe.unbounded else 1),
    )
    arrays = EkfArrays(c, setting, room.array(window) if recipe.adaptive else window)
    return Filter(arrays, run_ekf, x=c.node.x, P=c.node.P, F=c.linear.F, counts=c.node.counts, vital=vital_of(c))


@merged
def predict_ekf(a: EkfArrays, t_s: float, h: float) -> bool:
    """x by the integrator, P by F P Fᵀ + Q (Sanjurjo 2016, 3.78, 3.79, 3.113); False when the step failed."""
    c, s = a.c, a.setting
    plant, node, linear = c.plant, c.node, c.linear
    n, f = len(node.P), len(linear.null)
    carry_inputs(plant, h)
    if s.transition != CONSTANT:
        linearise(plant, node, t_s, linear)
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
    a.window[WINDOW, SINCE] += 1.0
    if not step(plant, s.integrator, node, t_s, h, linear.change, c.rows.cost):
        node.counts[FAILED_STEPS] += 1.0
        return False
    arrive(plant, node, t_s + h, h)
    return True


@inner
def update_rows(c: Common, node: Node, first: int, values: Array, var: Array, tau: float) -> int:
    """Sequential scalar updates of the node's P and of dx, row by row, each gated by itself; returns the verdict.

    Sanjurjo 2016, 5.76-5.80, P in Joseph form.
    """
    rows, n = c.rows, len(node.P)
    used, gated = 0, 0
    for i in range(n):
        rows.dx[i] = 0.0
    for a in range(len(values)):
        i = first + a
        rows.innovation[i] = values[a] - values[a]
        if not abs(values[a]) < 1e150:
            continue
        y = difference(c.sensors, i, values[a], sensed(c, i, node.q, node.qd, node.qdd, node.theta, tau))
        for k in range(n):
            y -= rows.H[i, k] * rows.dx[k]
        noise = variance(c, i, var[a])
        S = innovation_var(node.P, rows.H[i], noise)
        rows.innovation[i], rows.innovation_var[i] = y, S
        nis = y * y / S
        node.counts[LAST_NIS] = nis
        if not nis <= c.gate:
            gated += 1
            node.counts[GATED_ROWS] += 1.0
            continue
        node.counts[NIS_SUM] += nis
        node.counts[NIS_ROWS] += 1.0
        node.counts[LOG_LIKELIHOOD] -= 0.5 * (nis + log(S) + TWO_PI_LOG)
        joseph_row(node.P, rows.H[i], noise, rows.K, rows.g)
        for k in range(n):
            rows.dx[k] += rows.K[k] * y
        used += 1
    if used > 0:
        return USED
    return GATED if gated > 0 else INVALID


@merged
def apply_full(c: Common, t_s: float) -> bool:
    """Add dx to z, zd and θ, then position and velocity problem and exact accelerations."""
    node, dx = c.node, c.rows.dx
    z, f = c.plant.work.independent, len(c.plant.work.independent)
    for k in range(f):
        c.rows.g[k] = node.q[z[k]] + dx[k]
        node.qd[z[k]] += dx[f + k]
    for k in range(len(node.theta)):
        node.theta[k] += dx[2 * f + k]
    return travel(c.plant, node.q, t_s, c.rows.g[:f]) and settle(c.plant, node, t_s)


@merged
def apply_tangent(c: Common, s: EkfSetting, t_s: float) -> bool:
    """q + R dz, velocity problem there; accelerations kept, or corrected by the estimated acceleration error.

    With disturbances they are made anew: the step takes the mean of old and new ones, and half the effect of a
    disturbance that has just been found would be missing. (Sanjurjo 2016, 3.119)
    """
    tables, work, node, linear, dx = c.plant.tables, c.plant.work, c.node, c.linear, c.rows.dx
    z, n, f = work.independent, len(node.q), len(work.independent)
    if s.as_acceleration == 1:
        reduced_mass(c.plant, linear)
        for i in range(f):
            for j in range(f):
                node.theta[i] += linear.mass[i, j] * dx[2 * f + j]
    else:
        for k in range(len(node.theta)):
            node.theta[k] += dx[2 * f + k]
    far = False
    for k in range(f):
        far = far or abs(dx[k]) > STRIDE
        c.rows.g[k] = node.q[z[k]] + dx[k]
        node.qd[z[k]] += dx[f + k]
    if far:
        if not travel(c.plant, node.q, t_s, c.rows.g[:f]):
            return False
    else:
        for k in range(f):
            for i in range(n):
                node.q[i] += linear.null[k, i] * dx[k]
    choose_branches(tables.rows, node.q, work.branch)
    configure(tables, work, t_s, node.q)
    factor_kinematics(tables, work)
    velocity_problem(tables, work, node.qd)
    if s.as_acceleration == 1:
        for k in range(f):
            node.qdd[z[k]] += dx[2 * f + k]
        acceleration_problem(tables, work, node.q, node.qd, node.qdd)
    elif len(node.theta) > 0:
        accelerate(c.plant, node, t_s)
    return True


@merged
def adapt(a: EkfArrays) -> None:
    """Plant noise of the disturbances from the last 50 corrections: the mean of Q + (dx² + P⁺ − P⁻) / steps, bounded.

    As published: the mean of |dx² + P⁺ − (P⁻ − Q)|. That takes the scatter of dx² for noise, and where corrections are
    rare the noise feeds itself until the filter is lost.
    """
    plant, node, linear, rows, window = a.c.plant, a.c.node, a.c.linear, a.c.rows, a.window
    n, f, book = len(node.P), len(linear.null), window[WINDOW]
    slot, steps = int(book[COUNT]) % WINDOW, max(book[SINCE], 1.0)
    book[COUNT] += 1.0
    book[SINCE] = 0.0
    filled = book[COUNT] >= WINDOW
    for k in range(n - 2 * f):
        i = 2 * f + k
        if book[COUNT] == 1.0:
            book[i] = plant.noise_theta[k]
        more = rows.dx[i] ** 2 + node.P[i, i] - rows.before[i]
        window[slot, i] = abs(more + linear.Q[i, i]) if a.setting.adaptive == 2 else more / steps + linear.Q[i, i]
        if filled:
            total = 0.0
            for j in range(WINDOW):
                total += window[j, i]
            start = book[i]
            mean = total / WINDOW
            plant.noise_theta[k] = mean if a.setting.adaptive == 2 else min(max(mean, LEAST * start), MOST * start)


@merged
def correct_ekf(a: EkfArrays, first: int, values: Array, var: Array, tau: float, t_s: float) -> int:
    """One reading from row `first` on, NaN = the sensor did not say; rows beyond the sensors' are inputs.

    Sanjurjo 2016, 3.82-3.86, 3.114-3.118.
    """
    c, s, node = a.c, a.setting, a.c.node
    if first >= len(c.sensors.kind):
        return take_input(c.plant, first - len(c.sensors.kind), values, tau)
    chain_rows(c, node, first, first + len(values), tau, t_s)
    for i in range(len(node.P)):
        c.rows.before[i] = node.P[i, i]
    verdict = update_rows(c, node, first, values, var, tau)
    if verdict != USED:
        return verdict
    if not (finite(c.rows.dx) and tidy(node.P, node.L, node.counts)):
        return LOST
    if s.adaptive > 0:
        adapt(a)
    ok = apply_tangent(c, s, t_s) if s.tangent > 0 else apply_full(c, t_s)
    write_state(c.plant, node, node.x)
    return verdict if ok and finite(node.q) and finite(node.qd) else LOST


@merged
def renew_ekf(a: EkfArrays, t_s: float, lost: int) -> bool:
    """See `common.renew_node`."""
    return renew_node(a.c, t_s, lost)


@njit
def run_ekf(a: EkfArrays, core: Core, events: Events, out: Output, until: int) -> int:
    """The loop over readings, with these three."""
    return loop(a, predict_ekf, correct_ekf, renew_ekf, core, events, out, until)
