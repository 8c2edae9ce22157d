"""The continuous EKF as the published toolbox has it, step for step; for `bench linkages --as-published` only.

Forward Euler for the Riccati equation, F as in Sanjurjo 2016, 3.67 (with the M that print lacks) and 3.68: without the
leading terms of the one and with half of the other. The correction has half weight. It loses its covariance's sign as
soon as H P Hᵀ > σ²; `cekf` does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hodograph.core.frames import Array
from hodograph.multibody.model.linear_kernels import mass_times
from hodograph.numerics.compiling import inner, merged, njit
from hodograph.numerics.dense import multiply
from hodograph.numerics.verdicts import INVALID, USED
from hodograph.observers.counts import FAILED_STEPS
from hodograph.observers.filter import Filter
from hodograph.observers.loop import loop
from hodograph.observers.memory import Room
from hodograph.observers.on_mechanism.cekf import Riccati, divide, make_riccati
from hodograph.observers.on_mechanism.common import Common, Rows, chain_rows, make_common, renew_node, vital_of
from hodograph.observers.on_mechanism.linearised import Linear, linearise_kinematics, reduced_mass
from hodograph.observers.on_mechanism.plant import Node, Plant, carry_inputs, own, settle, write_state
from hodograph.observers.tables import LOST, Core, Events, Output
from hodograph.sensors.kernels import SensorTable, difference, measure

if TYPE_CHECKING:
    from hodograph.observers.on_mechanism.problem import Problem
    from hodograph.observers.on_mechanism.recipes import PublishedCekf

NEWTON_TOLERANCE, NEWTON_LIMIT = 1e-10, 1000


class PublishedArrays(NamedTuple):
    """All that the published CEKF works on."""

    c: Common
    riccati: Riccati
    trial: Node
    begin: Node  # the state before the last step, for the step anew with the readings that came at its end
    step: Array  # (2,) when the last step began and how long it was
    silence: Array  # (m,) no readings
    share: float  # the spectral density of a sensor is its variance times this


def make_cekf_published(problem: Problem, recipe: PublishedCekf, room: Room) -> Filter:
    """The CEKF as published; never gated."""
    c = make_common(problem, np.inf, room)
    vital = vital_of(c)
    rows = len(problem.sensors.rows)
    riccati = make_riccati(problem.size, room)
    arrays = PublishedArrays(
        c,
        riccati._replace(V=np.zeros((rows, problem.size))),
        trial=own(c.node),
        begin=Node(*(room.array(part) for part in c.node)),
        step=room.zeros(2),
        silence=np.full(rows, np.nan),
        share=problem.step_s if recipe.per_step else 1.0,
    )
    return Filter(
        arrays, run_cekf_published, x=c.node.x, P=c.node.P, F=c.linear.F, counts=c.node.counts, vital=vital,
        traced=False,
    )  # fmt: skip


@inner
def printed_columns(plant: Plant, linear: Linear, r: Riccati, factor: float, first: int) -> None:
    """Columns first… of the lower half of r.A = −Mbar⁻¹ Rᵀ factor M linear.velocityᵀ (Sanjurjo 2016, 3.67, 3.68)."""
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
    """P + h (A P + P Aᵀ + S − P Hᵀ Rc⁻¹ H P), Rc = σ² share; rows whose value is NaN are left out.

    Sanjurjo 2016, 3.72 corrected, 3.73.
    """
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
    """Rows a of r.V (m, N) = P Hᵀ Rc⁻¹ (Sanjurjo 2016, 3.71 corrected), zero where nothing was read."""
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
    """rows.dx = x' − x − h/2 (f + f' + K (o − h')) of the trapezoidal rule at the trial; returns its largest entry.

    Sanjurjo 2016, 3.76, at half the weight of 3.69 and 3.70.
    """
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


@inner
def same(source: Node, target: Node) -> None:
    """target = source."""
    for i in range(len(source.q)):
        target.q[i], target.qd[i], target.qdd[i] = source.q[i], source.qd[i], source.qdd[i]
    for i in range(len(source.multiplier)):
        target.multiplier[i] = source.multiplier[i]
    for i in range(len(source.theta)):
        target.theta[i] = source.theta[i]
    for i in range(len(source.P)):
        for j in range(len(source.P)):
            target.P[i, j] = source.P[i, j]


@inner
def whole_step(a: PublishedArrays, values: Array, t_s: float, h: float) -> bool:
    """A step with the readings at its end. H of the Riccati equation is at the old state, that of the gain at the state
    predicted by forward Euler.
    """
    c, r, trial = a.c, a.riccati, a.trial
    plant, node, linear, rows, m, n = c.plant, c.node, c.linear, c.rows, len(values), len(c.node.q)
    printed_transition(plant, node, trial, linear, r, t_s)
    chain_rows(c, node, 0, m, 0.0, t_s)
    euler_riccati(plant, c.sensors, values, rows, node, r, a.share, h)
    for i in range(n):
        trial.q[i], trial.qd[i] = node.q[i] + h * node.qd[i], node.qd[i] + h * node.qdd[i]
    if not settle(plant, trial, t_s + h):
        return False
    chain_rows(c, trial, 0, m, 0.0, t_s + h)
    gains(c.sensors, values, rows, node, r, a.share)
    found = False
    for _ in range(NEWTON_LIMIT):
        worst = residual(plant, c.sensors, values, node, trial, rows, r, h)
        found = worst <= NEWTON_TOLERANCE
        if found or not worst < 1e100:
            break
        newton_step(plant, trial, rows, r, m, h)
        if not settle(plant, trial, t_s + h):
            break
    if not found:
        node.counts[FAILED_STEPS] += 1.0
        return False
    for i in range(n):
        node.q[i], node.qd[i], node.qdd[i] = trial.q[i], trial.qd[i], trial.qdd[i]
    write_state(plant, node, node.x)
    return True


@merged
def predict_cekf_published(a: PublishedArrays, t_s: float, h: float) -> bool:
    """A step without readings; where it began is kept."""
    same(a.c.node, a.begin)
    a.step[0], a.step[1] = t_s, h
    carry_inputs(a.c.plant, h)
    return whole_step(a, a.silence, t_s, h)


@merged
def correct_cekf_published(a: PublishedArrays, first: int, values: Array, var: Array, tau: float, t_s: float) -> int:
    """The last step anew with its readings: it takes all rows at once, as they were published."""
    if first != 0 or len(values) != len(a.silence) or a.step[1] == 0.0:
        return INVALID
    same(a.begin, a.c.node)
    return USED if whole_step(a, values, a.step[0], a.step[1]) else LOST


@merged
def renew_cekf_published(a: PublishedArrays, t_s: float, lost: int) -> bool:
    """As `common.renew_node`; there is no last step to take anew."""
    a.step[1] = 0.0
    return renew_node(a.c, t_s, lost)


@njit
def run_cekf_published(a: PublishedArrays, core: Core, events: Events, out: Output, until: int) -> int:
    """The loop over readings, with these three."""
    return loop(
        a, predict_cekf_published, correct_cekf_published, renew_cekf_published, core, events, out, until
    )  # fmt: skip
