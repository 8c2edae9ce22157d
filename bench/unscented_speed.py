"""How fast the generic unscented filter is beside filterpy's, interleaved in the same run."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

import numba
import numpy as np

from hodograph.core.frames import Array
from hodograph.observers.families import make_points
from hodograph.observers.on_mechanism.recipes import Steps, Ukf
from hodograph.observers.on_mechanism.unscented import generic_cycle

PLANT_FUNCTION = numba.types.void(numba.float64, numba.float64[::1], numba.float64[::1], numba.float64[::1])
"""Signature of a compiled plant or measurement: (dt_s, x, parameters, out)."""

STATES, ROWS = 28, 14


def plant_function(function: Callable[..., None]) -> Any:
    """Compile f(dt_s, x, parameters, out) for the generic unscented filter; it must not allocate."""
    return numba.cfunc(PLANT_FUNCTION)(function)


def _swing(dt_s: float, x: Any, parameters: Any, out: Any) -> None:
    half = len(x) // 2
    for i in range(half):
        out[i] = x[i] + dt_s * x[half + i]
        pull = x[i] - 0.5 * (x[i - 1] if i > 0 else 0.0)
        out[half + i] = x[half + i] - dt_s * parameters[0] * pull * (1.0 - 0.1 * x[i] * x[i])


def _look(dt_s: float, x: Any, parameters: Any, out: Any) -> None:
    for i in range(len(out)):
        out[i] = x[i] + 0.1 * x[i] * x[i] * parameters[0] * 0.01


@dataclass(frozen=True, slots=True)
class Ukf28:
    """Microseconds of CPU time of one prediction and correction, the best of all rounds; their ratio."""

    ours_us: float
    theirs_us: float
    ratio: float


def ukf28_timings(rounds: int = 9, repeats: int = 100) -> Ukf28 | None:
    """Predict and update with 28 states, 57 points and the full measurement transform; None without filterpy."""
    if importlib.util.find_spec("filterpy") is None:
        return None
    ours, theirs = _ours(), _theirs()
    for work in (ours, theirs):
        work()
    ours_us, theirs_us = [], []
    for _ in range(rounds):
        ours_us.append(_us(ours, repeats))
        theirs_us.append(_us(theirs, repeats))
    return Ukf28(min(ours_us), min(theirs_us), min(theirs_us) / min(ours_us))


def _us(work: Callable[[], None], repeats: int) -> float:
    begin = time.process_time()
    for _ in range(repeats):
        work()
    return 1e6 * (time.process_time() - begin) / repeats


def _values(k: int) -> Array:
    return np.asarray(0.1 * np.sin(0.3 * k + np.arange(ROWS)), dtype=np.float64)


def _ours() -> Callable[[], None]:
    weights = Ukf(Steps.EULER, alpha=0.5).weights(STATES)
    points = make_points(STATES, ROWS)
    x, P, L = np.zeros(STATES), np.eye(STATES), np.eye(STATES)
    Q, var, parameters = 1e-4 * np.eye(STATES), np.full(ROWS, 1e-2), np.array([9.0])
    y, S, counts = np.zeros(ROWS), np.zeros(ROWS), np.zeros(8)
    f, h = plant_function(_swing), plant_function(_look)
    step = [0]

    def work() -> None:
        step[0] += 1
        generic_cycle(f, h, parameters, 0.01, weights, points, x, P, L, Q, _values(step[0]), var, inf, y, S, counts)

    return work


def _theirs() -> Callable[[], None]:
    from filterpy.kalman import MerweScaledSigmaPoints, UnscentedKalmanFilter

    half = STATES // 2

    def f(x: Array, dt_s: float) -> Array:
        before = np.concatenate([[0.0], x[: half - 1]])
        pull = (x[:half] - 0.5 * before) * (1.0 - 0.1 * x[:half] ** 2)
        return np.concatenate([x[:half] + dt_s * x[half:], x[half:] - dt_s * 9.0 * pull])

    def h(x: Array) -> Array:
        seen: Array = x[:ROWS] + 0.1 * x[:ROWS] ** 2 * 0.09
        return seen

    points = MerweScaledSigmaPoints(STATES, alpha=0.5, beta=2.0, kappa=0.0)
    ukf = UnscentedKalmanFilter(dim_x=STATES, dim_z=ROWS, dt=0.01, hx=h, fx=f, points=points)
    ukf.P, ukf.Q, ukf.R = np.eye(STATES), 1e-4 * np.eye(STATES), 1e-2 * np.eye(ROWS)
    step = [0]

    def work() -> None:
        step[0] += 1
        ukf.predict()
        ukf.update(_values(step[0]))

    return work
