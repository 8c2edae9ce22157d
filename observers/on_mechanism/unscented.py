"""The unscented transform for any plant: points, moments, conditioning on readings row by row, and square roots.

Weights are those of the scaled transform with λ = α²(l + κ) − l (Sanjurjo 2016, section 3.4.3, lacks the last l). Means
are taken about the first point, so large negative centre weights do no harm. Points are rows of X (2l + 1, l).
"""

from __future__ import annotations

from math import log
from typing import NamedTuple

import numpy as np

from hodograph.core.frames import Array
from hodograph.numerics.compiling import inner
from hodograph.numerics.verdicts import GATED, INVALID, USED
from hodograph.observers.counts import GATED_ROWS, LAST_NIS, LOG_LIKELIHOOD, NIS_ROWS, NIS_SUM

TWO_PI_LOG = 1.8378770664093453


class Weights(NamedTuple):
    """Spread sqrt(l + λ), centre weights of mean and covariance, and the weight of every other point."""

    spread: float
    centre_mean: float
    centre_cov: float
    other: float


class Points(NamedTuple):
    """Buffers of one transform: l states, m rows."""

    X: Array  # (2l+1, l)
    Z: Array  # (2l+1, m)
    x: Array  # (l,) mean
    z: Array  # (m,) expected reading
    D: Array  # (k, l) deviations, k ≥ 3l+1, for the square-root form
    Y: Array  # (m, m) covariance of the readings
    C: Array  # (m, l) cross covariance, then gains
    K: Array  # (l,)
    T: Array  # (2l+1, l) deviations
    U: Array  # (2l+1, m)


@inner
def draw(x: Array, L: Array, spread: float, X: Array) -> None:
    """Points x, x ± spread · columns of L (Sanjurjo 2016, 3.87-3.89)."""
    n = len(x)
    for j in range(n):
        X[0, j] = x[j]
    for k in range(n):
        for j in range(n):
            d = spread * L[j, k] if j >= k else 0.0
            X[1 + k, j] = x[j] + d
            X[1 + n + k, j] = x[j] - d


@inner
def mean_about_first(X: Array, w: Weights, x: Array) -> None:
    """x = X₀ + Σ w (X_i − X₀), which equals Sanjurjo 2016, 3.91, corrected."""
    points, n = X.shape
    for j in range(n):
        x[j] = 0.0
    for i in range(1, points):
        for j in range(n):
            x[j] += X[i, j] - X[0, j]
    for j in range(n):
        x[j] = X[0, j] + w.other * x[j]


@inner
def deviations(X: Array, x: Array, T: Array) -> None:
    """T = X − x row by row."""
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            T[i, j] = X[i, j] - x[j]


@inner
def covariance(T: Array, U: Array, w: Weights, out: Array) -> None:
    """out (a, b) = Σ Wc T_i U_iᵀ of deviations T (points, a), U (points, b) (Sanjurjo 2016, 3.95, 3.96, corrected)."""
    points, a = T.shape
    b = U.shape[1]
    for j in range(a):
        for k in range(b):
            out[j, k] = w.centre_cov * T[0, j] * U[0, k]
    for i in range(1, points):
        for j in range(a):
            t = w.other * T[i, j]
            for k in range(b):
                out[j, k] += t * U[i, k]


@inner
def downdate(L: Array, v: Array) -> bool:
    """L Lᵀ − v vᵀ as a lower factor, in place; v is spent. False when that is not positive definite."""
    n = len(v)
    for k in range(n):
        d = L[k, k] * L[k, k] - v[k] * v[k]
        if not d > 0.0:
            return False
        r = d**0.5
        c, s = r / L[k, k], v[k] / L[k, k]
        L[k, k] = r
        for i in range(k + 1, n):
            L[i, k] = (L[i, k] - s * v[i]) / c
            v[i] = c * v[i] - s * L[i, k]
    return True


@inner
def covariance_of(T: Array, w: Weights, out: Array) -> None:
    """out (a, a) = Σ Wc T_i T_iᵀ of deviations T (points, a) (Sanjurjo 2016, 3.92, 3.95, corrected).

    Half the work of `covariance`.
    """
    points, a = T.shape
    for j in range(a):
        for k in range(j + 1):
            out[j, k] = w.centre_cov * T[0, j] * T[0, k]
    for i in range(1, points):
        for j in range(a):
            t = w.other * T[i, j]
            for k in range(j + 1):
                out[j, k] += t * T[i, k]
    for j in range(a):
        for k in range(j):
            out[k, j] = out[j, k]


@inner
def accepted(S: float, y: float, gate: float, counts: Array) -> bool:
    """The chi-square gate of one row; keeps the sums of what passed."""
    nis = y * y / S
    counts[LAST_NIS] = nis
    if not (S > 0.0 and nis <= gate):
        counts[GATED_ROWS] += 1.0
        return False
    counts[NIS_SUM] += nis
    counts[NIS_ROWS] += 1.0
    counts[LOG_LIKELIHOOD] -= 0.5 * (nis + log(S) + TWO_PI_LOG)
    return True


@inner
def absorb(p: Points, i: int, innovation: Array) -> None:
    """Gain p.K and mean p.x of row i; what the later rows then still have to say."""
    m, n = p.C.shape
    S, y = p.Y[i, i], innovation[i]
    for j in range(n):
        p.K[j] = p.C[i, j] / S
        p.x[j] += p.K[j] * y
    for r in range(i + 1, m):
        pull = p.Y[r, i] / S
        innovation[r] -= pull * y
        for j in range(n):
            p.C[r, j] -= pull * p.C[i, j]
        for c in range(i + 1, m):
            p.Y[r, c] -= pull * p.Y[i, c]


@inner
def condition(
    p: Points,
    innovation: Array,
    values: Array,
    gate: float,
    root: int,
    P: Array,
    counts: Array,
    kept: Array,
    S_kept: Array,
) -> int:
    """Condition the joint Gaussian of state and readings on each row in turn: exactly the batch update, gated by row.

    Sanjurjo 2016, 3.97-3.99, corrected. p.C holds the cross covariance (m, l), p.Y (m, m) that of the readings with
    their noise. p.x becomes the new mean; P is the covariance, or its lower factor when `root` is 1. Rows without value
    (NaN) are left out. −1: lost.
    """
    m, n = p.C.shape
    used, gated = 0, 0
    for i in range(m):
        if not abs(values[i]) < 1e150:
            continue
        S = p.Y[i, i]
        kept[i], S_kept[i] = innovation[i], S
        if not accepted(S, innovation[i], gate, counts):
            gated += 1
            continue
        used += 1
        absorb(p, i, innovation)
        if root == 1:
            for j in range(n):
                p.K[j] *= S**0.5
            if not downdate(P, p.K):
                return -1
        else:
            for j in range(n):
                for k in range(j + 1):
                    P[j, k] -= p.K[j] * p.C[i, k]
    if used > 0:
        if root == 0:
            for j in range(n):
                for k in range(j):
                    P[k, j] = P[j, k]
        return USED
    return GATED if gated > 0 else INVALID


@inner
def triangularise(D: Array, rows: int, L: Array) -> None:
    """L lower with L Lᵀ = Σ D_i D_iᵀ over the first `rows` rows of D, by Householder reflections of D."""
    n = D.shape[1]
    for k in range(n):
        s = 0.0
        for i in range(k, rows):
            s += D[i, k] * D[i, k]
        s = s**0.5
        if s > 0.0:
            if D[k, k] > 0.0:
                s = -s
            D[k, k] -= s
            scale = 0.0
            for i in range(k, rows):
                scale += D[i, k] * D[i, k]
            for j in range(k + 1, n):
                t = 0.0
                for i in range(k, rows):
                    t += D[i, k] * D[i, j]
                t = 2.0 * t / scale
                for i in range(k, rows):
                    D[i, j] -= t * D[i, k]
        sign = -1.0 if s < 0.0 else 1.0
        L[k, k] = sign * s
        for j in range(k + 1, n):
            L[j, k] = sign * D[k, j]
            L[k, j] = 0.0


@inner
def square_root(T: Array, w: Weights, noise: Array, D: Array, L: Array) -> None:
    """L lower with L Lᵀ = Σ Wc T_i T_iᵀ + noise · noiseᵀ (lower factor); needs a centre weight ≥ 0.

    After Van der Merwe and Wan 2001, with all points in the reflections.
    """
    points, n = T.shape
    rest = w.other**0.5
    centre = w.centre_cov**0.5
    for j in range(n):
        D[0, j] = centre * T[0, j]
    for i in range(1, points):
        for j in range(n):
            D[i, j] = rest * T[i, j]
    for k in range(n):
        for j in range(n):
            D[points + k, j] = noise[j, k] if j >= k else 0.0
    triangularise(D, points + n, L)


def make_points(size: int, m: int) -> Points:
    """Buffers for a state of `size` and m rows."""
    k = 2 * size + 1
    return Points(
        X=np.zeros((k, size)), Z=np.zeros((k, m)), x=np.zeros(size), z=np.zeros(m), D=np.zeros((k + size, size)),
        Y=np.zeros((m, m)), C=np.zeros((m, size)), K=np.zeros(size), T=np.zeros((k, size)), U=np.zeros((k, m)),
    )  # fmt: skip
