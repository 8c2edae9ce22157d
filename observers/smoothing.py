"""Smoothers over the runs of a filter: Rauch-Tung-Striebel over all of it, or always the last few steps of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hodograph.core.display import short_repr
from hodograph.core.frames import Array
from hodograph.core.layout import StateLayout
from hodograph.numerics.compiling import njit
from hodograph.observers.protocol import Transition

if TYPE_CHECKING:
    from hodograph.observers.on_mechanism.mechanism import Run


@dataclass(frozen=True, slots=True)
class Smoothed:
    """x (steps, N) and P (steps, N, N) with the knowledge of later readings."""

    x: Array
    P: Array

    __repr__ = short_repr


def smooth(run: Run) -> Smoothed:
    """Fixed-interval smoothing (Rauch et al. 1965) of a run made with `for_smoother=True`."""
    _check(run)
    x, P = run.x.copy(), run.P.copy()
    _backward(run.x, run.P, run.F, run.x_prior, run.P_prior, 0, len(x) - 1, x, P, run.layout)
    return Smoothed(x, P)


def smooth_fixed_lag(run: Run, lag: int) -> Smoothed:
    """At every step the estimate of `lag` steps ago, smoothed with what came since; bounded work, fit for on board."""
    _check(run)
    if lag < 1:
        raise ValueError(f"lag must be at least one step, got {lag}")
    x, P = run.x.copy(), run.P.copy()
    work_x, work_P = run.x.copy(), run.P.copy()
    for now in range(len(x)):
        begin = max(0, now - lag)
        work_x[now], work_P[now] = run.x[now], run.P[now]
        _backward(run.x, run.P, run.F, run.x_prior, run.P_prior, begin, now, work_x, work_P, run.layout)
        x[begin], P[begin] = work_x[begin], work_P[begin]
    begin = max(0, len(x) - lag)
    x[begin:], P[begin:] = work_x[begin:], work_P[begin:]
    return Smoothed(x, P)


def smooth_back(steps: Sequence[Transition], x: Array, P: Array, layout: StateLayout) -> tuple[Array, Array]:
    """State and covariance at the beginning of the first of `steps`, with what is known (x, P) at the end of the last.

    This is what a fixed-lag smoother on board does at every instant it is asked.
    """
    count, n = len(steps), len(x)
    xs, Ps = np.array([*(s.x for s in steps), x]), np.array([*(s.P for s in steps), P])
    F, x_prior, P_prior = np.zeros((count + 1, n, n)), np.zeros((count + 1, n)), np.zeros((count + 1, n, n))
    for k, step in enumerate(steps):
        F[k + 1], x_prior[k + 1], P_prior[k + 1] = step.F, step.x_prior, step.P_prior
    out_x, out_P = xs.copy(), Ps.copy()
    _backward(xs, Ps, F, x_prior, P_prior, 0, count, out_x, out_P, layout)
    return out_x[0], out_P[0]


def _check(run: Run) -> None:
    if len(run.F) != len(run.x) or run.done < len(run.x):
        raise ValueError("smoothing needs a complete run made with for_smoother=True")


def _backward(
    x: Array,
    P: Array,
    F: Array,
    x_prior: Array,
    P_prior: Array,
    begin: int,
    end: int,
    out_x: Array,
    out_P: Array,
    layout: StateLayout,
) -> None:
    """RTS from `end` back to `begin`; out must hold the filtered values at `end`.

    Angles go the short way round and stay beside the filtered ones, which may count turns.
    """
    n = x.shape[1]
    spare = (np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n)))
    period = np.where(layout.circular_rows, 2.0 * np.pi, 0.0)
    _rts(_Forward(x=x, P=P, F=F, x_prior=x_prior, P_prior=P_prior), begin, end, out_x, out_P, spare, period)


class _Forward(NamedTuple):
    """What the filter left: states and covariances, and the predictions between them."""

    x: Array
    P: Array
    F: Array
    x_prior: Array
    P_prior: Array


Spare = tuple[Array, Array, Array, Array]


@njit
def _rts(run: _Forward, begin: int, end: int, out_x: Array, out_P: Array, spare: Spare, period: Array) -> None:
    x, P, F, x_prior, P_prior = run.x, run.P, run.F, run.x_prior, run.P_prior
    n = x.shape[1]
    L, C, D, E = spare
    for step in range(end - begin):
        k = end - 1 - step
        # gain G = P Fᵀ P_prior⁻¹, by Cholesky: solve P_prior Gᵀ = F P
        prior = P_prior[k + 1]
        for j in range(n):
            s = prior[j, j]
            for m in range(j):
                s -= L[j, m] * L[j, m]
            L[j, j] = max(s, 1e-300) ** 0.5
            for i in range(j + 1, n):
                s = prior[i, j]
                for m in range(j):
                    s -= L[i, m] * L[j, m]
                L[i, j] = s / L[j, j]
        for i in range(n):
            for j in range(n):
                s = 0.0
                for m in range(n):
                    s += F[k + 1, i, m] * P[k, m, j]
                C[i, j] = s
        for j in range(n):
            for i in range(n):
                s = C[i, j]
                for m in range(i):
                    s -= L[i, m] * C[m, j]
                C[i, j] = s / L[i, i]
            for i in range(n - 1, -1, -1):
                s = C[i, j]
                for m in range(i + 1, n):
                    s -= L[m, i] * C[m, j]
                C[i, j] = s / L[i, i]
        for i in range(n):
            s = x[k, i]
            for m in range(n):
                gap = out_x[k + 1, m] - x_prior[k + 1, m]
                if period[m] > 0.0:
                    gap -= period[m] * np.floor(gap / period[m] + 0.5)
                s += C[m, i] * gap
            out_x[k, i] = s
            for j in range(n):
                D[i, j] = out_P[k + 1, i, j] - prior[i, j]
        for i in range(n):
            for j in range(n):
                s = 0.0
                for m in range(n):
                    s += D[i, m] * C[m, j]
                E[i, j] = s
        for i in range(n):
            for j in range(n):
                s = P[k, i, j]
                for m in range(n):
                    s += C[m, i] * E[m, j]
                out_P[k, i, j] = s
