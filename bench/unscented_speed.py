"""How fast the unscented filter is beside filterpy's, through the loop that every observer goes through.

The plant is a chain of swings, 28 states and 14 rows; both filters in one run, interleaved.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import NamedTuple

import numpy as np

from hodograph.core.frames import Array
from hodograph.core.layout import StateLayout
from hodograph.numerics.compiling import inner, merged, njit
from hodograph.numerics.dense import tidy
from hodograph.observers.engine import Engine, Service, Stream, assemble, events_of
from hodograph.observers.filter import Filter
from hodograph.observers.loop import loop
from hodograph.observers.memory import Room
from hodograph.observers.on_mechanism.recipes import Steps, Ukf
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
)
from hodograph.observers.tables import LOST, Core, Events, Output

STATES, ROWS, STEP_S = 28, 14, 0.01
STIFFNESS, Q_VAR, R_VAR = 9.0, 1e-4, 1e-2


class SwingArrays(NamedTuple):
    """The unscented filter on the chain of swings."""

    x: Array  # (l,) positions, then velocities
    P: Array
    L: Array
    counts: Array
    weights: Weights
    points: Points
    innovation: Array  # (m,)
    innovation_var: Array


@inner
def swing(x: Array, h: float, out: Array) -> None:
    """One Euler step: every swing is pulled back, less and less with its angle, and by its neighbour."""
    half = len(x) // 2
    for i in range(half):
        out[i] = x[i] + h * x[half + i]
        pull = x[i] - 0.5 * (x[i - 1] if i > 0 else 0.0)
        out[half + i] = x[half + i] - h * STIFFNESS * pull * (1.0 - 0.1 * x[i] * x[i])


@inner
def look(x: Array, out: Array) -> None:
    """Positions, bent a little."""
    for i in range(len(out)):
        out[i] = x[i] + 0.09 * 0.1 * x[i] * x[i]


@merged
def predict_swing(a: SwingArrays, t_s: float, h: float) -> bool:
    """All points through the step."""
    p = a.points
    if not tidy(a.P, a.L, a.counts):
        return False
    draw(a.x, a.L, a.weights.spread, p.T)
    for i in range(len(p.T)):
        swing(p.T[i], h, p.X[i])
    mean_about_first(p.X, a.weights, a.x)
    deviations(p.X, a.x, p.T)
    covariance_of(p.T, a.weights, a.P)
    for i in range(len(a.x)):
        a.P[i, i] += Q_VAR
    return True


@merged
def correct_swing(a: SwingArrays, first: int, values: Array, var: Array, tau: float, t_s: float) -> int:
    """Points drawn anew, every one through the measurement."""
    p = a.points
    if not tidy(a.P, a.L, a.counts):
        return LOST
    draw(a.x, a.L, a.weights.spread, p.X)
    for i in range(len(p.X)):
        look(p.X[i], p.Z[i])
    mean_about_first(p.Z, a.weights, p.z)
    deviations(p.X, a.x, p.T)
    deviations(p.Z, p.z, p.U)
    covariance_of(p.U, a.weights, p.Y)
    covariance(p.U, p.T, a.weights, p.C)
    for i in range(len(values)):
        p.Y[i, i] += R_VAR
        p.z[i] = values[i] - p.z[i]
    for j in range(len(a.x)):
        p.x[j] = a.x[j]
    verdict = condition(p, p.z, values, inf, 0, a.P, a.counts, a.innovation, a.innovation_var)
    for j in range(len(a.x)):
        a.x[j] = p.x[j]
    return verdict


@merged
def renew_swing(a: SwingArrays, t_s: float, lost: int) -> bool:
    """Nothing hangs on P but its factor."""
    return tidy(a.P, a.L, a.counts)


@njit
def run_swing(a: SwingArrays, core: Core, events: Events, out: Output, until: int) -> int:
    """The loop over readings, with these three."""
    return loop(a, predict_swing, correct_swing, renew_swing, core, events, out, until)


def make_swing(x0: Array, P0: Array, rows: int, alpha: float, room: Room) -> Filter:
    """The filter at a start."""
    size = len(x0)
    x, P, L, counts = (
        room.array(x0),
        room.array(P0),
        room.array(np.linalg.cholesky(P0).astype(np.float64)),
        room.zeros(8),
    )
    arrays = SwingArrays(
        x=x, P=P, L=L, counts=counts, weights=Ukf(Steps.EULER, alpha=alpha).weights(size),
        points=make_points(size, rows), innovation=np.zeros(rows), innovation_var=np.zeros(rows),
    )  # fmt: skip
    return Filter(arrays, run_swing, x=x, P=P, F=np.zeros((size, size)), counts=counts, vital=size, traced=False)


def swing_engine(x0: Array, P0: Array, rows: int, alpha: float = 0.5) -> Engine:
    """An engine whose one stream is `positions`."""
    streams = {"positions": Stream(0, 0, rows)}
    layout = StateLayout(tuple(f"state_{i}" for i in range(len(x0))))
    return Engine(layout, *assemble(streams, Service(STEP_S, strict=True), partial(make_swing, x0, P0, rows, alpha)))


@dataclass(frozen=True, slots=True)
class Ukf28:
    """Microseconds of CPU time of one prediction and correction, the best of all rounds; their ratio."""

    ours_us: float
    theirs_us: float
    ratio: float


def ukf28_timings(rounds: int = 9, repeats: int = 100) -> Ukf28 | None:
    """Predict and update with 28 states, 57 points and the full measurement transform; None without filterpy.

    Both in batches of `repeats` steps, as a replay runs them.
    """
    if importlib.util.find_spec("filterpy") is None:
        return None
    ours, theirs = _ours(), _theirs()
    for work in (ours, theirs):
        work(2)
    ours_us, theirs_us = [], []
    for _ in range(rounds):
        ours_us.append(_us(ours, repeats))
        theirs_us.append(_us(theirs, repeats))
    return Ukf28(min(ours_us), min(theirs_us), min(theirs_us) / min(ours_us))


def _us(work: Callable[[int], None], repeats: int) -> float:
    begin = time.process_time()
    work(repeats)
    return 1e6 * (time.process_time() - begin) / repeats


def _values(k: int) -> Array:
    return np.asarray(0.1 * np.sin(0.3 * k + np.arange(ROWS)), dtype=np.float64)


def _ours() -> Callable[[int], None]:
    engine = swing_engine(np.zeros(STATES), np.eye(STATES), ROWS)
    stream, step_ns = engine.streams["positions"], engine.core.grid.step_ns

    def work(steps: int) -> None:
        begin = engine.step
        coming = range(begin + 1, begin + steps + 1)
        engine.process(events_of([(k * step_ns, stream, tuple(_values(k)), None) for k in coming]), begin + steps)

    return work


def _theirs() -> Callable[[int], None]:
    from filterpy.kalman import MerweScaledSigmaPoints, UnscentedKalmanFilter

    half = STATES // 2

    def f(x: Array, dt_s: float) -> Array:
        before = np.concatenate([[0.0], x[: half - 1]])
        pull = (x[:half] - 0.5 * before) * (1.0 - 0.1 * x[:half] ** 2)
        return np.concatenate([x[:half] + dt_s * x[half:], x[half:] - dt_s * STIFFNESS * pull])

    def h(x: Array) -> Array:
        seen: Array = x[:ROWS] + 0.1 * x[:ROWS] ** 2 * 0.09
        return seen

    points = MerweScaledSigmaPoints(STATES, alpha=0.5, beta=2.0, kappa=0.0)
    ukf = UnscentedKalmanFilter(dim_x=STATES, dim_z=ROWS, dt=STEP_S, hx=h, fx=f, points=points)
    ukf.P, ukf.Q, ukf.R = np.eye(STATES), Q_VAR * np.eye(STATES), R_VAR * np.eye(ROWS)
    done = [0]

    def work(steps: int) -> None:
        for _ in range(steps):
            done[0] += 1
            ukf.predict()
            ukf.update(_values(done[0]))

    return work
