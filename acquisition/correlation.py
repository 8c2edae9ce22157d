"""Correlation of two sampled signals that both have holes, over all lags, and how much of it chance may explain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

from hodograph.core import Array

Mask = NDArray[np.bool_]


def masked_correlation(xa: Array, ok_a: Mask, xb: Array, ok_b: Mask) -> tuple[Array, Array]:
    """Correlation and number of shared samples at each lag -(nb-1) … na-1 of `xb` against `xa` (0 where masked)."""
    size = next_fast_len(xa.size + xb.size - 1, real=True)
    xa = np.where(ok_a, xa - xa[ok_a].mean(), 0.0) if ok_a.any() else xa  # centred: sums of squares keep their digits
    xb = np.where(ok_b, xb - xb[ok_b].mean(), 0.0) if ok_b.any() else xb

    def spectrum(x: Array) -> NDArray[np.complex128]:
        return np.asarray(rfft(x, size))

    fa, ma, qa = spectrum(xa), spectrum(ok_a.astype(float)), spectrum(xa * xa)
    fb, mb, qb = (np.conj(spectrum(x)) for x in (xb, ok_b.astype(float), xb * xb))

    def correlate(p: NDArray[np.complex128], q: NDArray[np.complex128]) -> Array:
        full = np.asarray(irfft(p * q, size))
        return np.concatenate([full[size - (xb.size - 1) :], full[: xa.size]])

    count = np.rint(correlate(ma, mb))
    safe = np.maximum(count, 1.0)
    sum_a, sum_b = correlate(fa, mb), correlate(ma, fb)
    covariance = correlate(fa, fb) - sum_a * sum_b / safe
    var_a = correlate(qa, mb) - sum_a**2 / safe
    var_b = correlate(ma, qb) - sum_b**2 / safe
    floor = 1e-9 * float(xa @ xa) * float(xb @ xb)  # below is rounding, not signal
    product = np.maximum(var_a, 0.0) * np.maximum(var_b, 0.0)
    correlation = np.where(product > floor, covariance / np.sqrt(np.maximum(product, floor or 1.0)), 0.0)
    return np.clip(correlation, -1.0, 1.0), count


def samples_per_independent(xa: Array, ok_a: Mask, xb: Array, ok_b: Mask) -> float:
    """How many neighbouring samples carry the information of one: the sum of the autocorrelations' product.

    Bartlett 1946.
    """
    total = 1.0
    for lag in range(1, min(xa.size, xb.size) // 2):
        product = _autocorrelation(xa, ok_a, lag) * _autocorrelation(xb, ok_b, lag)
        if product < 0.05:
            break
        total += 2 * product
    return total


def _autocorrelation(x: Array, ok: Mask, lag: int) -> float:
    both = ok[lag:] & ok[:-lag]
    if np.count_nonzero(both) < 3:
        return 0.0
    p, q = x[lag:][both], x[:-lag][both]
    p, q = p - p.mean(), q - q.mean()
    return float(p @ q / np.sqrt(max(float(p @ p) * float(q @ q), 1e-300)))


def peak_width_s(correlation: Array, k: int, step_s: float) -> float:
    """Lags about the peak that belong to it: until the correlation has changed sign twice, at least four steps."""
    signs = np.sign(correlation[k:]) * np.sign(correlation[k])
    changes = np.flatnonzero(np.diff(signs) != 0)
    return step_s * max(4, int(changes[1]) + 1 if changes.size > 1 else 4)
