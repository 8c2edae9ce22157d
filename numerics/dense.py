"""Small dense algebra: products, propagation, one-row updates in Joseph form, Cholesky, and a bounded repair."""

from __future__ import annotations

from hodograph.core.frames import Array
from hodograph.numerics.compiling import inner

ATTEMPTS = 8


@inner
def multiply(A: Array, B: Array, out: Array) -> None:
    """out = A B of square matrices; zeros of A cost nothing."""
    n = len(A)
    for i in range(n):
        for j in range(n):
            out[i, j] = 0.0
        for k in range(n):
            a = A[i, k]
            if a != 0.0:
                for j in range(n):
                    out[i, j] += a * B[k, j]


@inner
def propagate(F: Array, P: Array, Q: Array, T: Array) -> None:
    """P = F P Fᵀ + Q, exactly symmetric; T (n, n) is spare."""
    n = len(P)
    for i in range(n):
        for j in range(n):
            s = 0.0
            for k in range(n):
                s += F[i, k] * P[k, j]
            T[i, j] = s
    for i in range(n):
        for j in range(i + 1):
            s = Q[i, j]
            for k in range(n):
                s += T[i, k] * F[j, k]
            P[i, j] = s
            P[j, i] = s


@inner
def joseph_row(P: Array, H: Array, var: float, K: Array, g: Array) -> float:
    """K = P Hᵀ/S and P = (I − K H) P (I − K H)ᵀ + K var Kᵀ for one row; returns S. Costs O(n²); g (n,) is spare."""
    n = len(H)
    S = var
    for i in range(n):
        s = 0.0
        for j in range(n):
            s += P[i, j] * H[j]
        g[i] = s
        S += H[i] * s
    for i in range(n):
        K[i] = g[i] / S
    for i in range(n):
        for j in range(n):
            P[i, j] -= K[i] * g[j]
    for i in range(n):
        s = 0.0
        for j in range(n):
            s += P[i, j] * H[j]
        g[i] = s
    for i in range(n):
        for j in range(n):
            P[i, j] += K[j] * (var * K[i] - g[i])
    for i in range(n):
        for j in range(i):
            mean = 0.5 * (P[i, j] + P[j, i])
            P[i, j], P[j, i] = mean, mean
    return S


@inner
def innovation_var(P: Array, H: Array, var: float) -> float:
    """H P Hᵀ + var."""
    S = var
    for i in range(len(H)):
        for j in range(len(H)):
            S += H[i] * P[i, j] * H[j]
    return S


@inner
def cholesky(P: Array, L: Array) -> bool:
    """Lower factor of P; False when P is not positive definite (or not finite)."""
    n = len(P)
    for j in range(n):
        s = P[j, j]
        for k in range(j):
            s -= L[j, k] * L[j, k]
        if not (s > 0.0 and s < 1e300):
            return False
        d = s**0.5
        L[j, j] = d
        for i in range(j + 1, n):
            s = P[i, j]
            for k in range(j):
                s -= L[i, k] * L[j, k]
            L[i, j] = s / d
            L[j, i] = 0.0
    return True


@inner
def tidy(P: Array, L: Array, counts: Array) -> bool:
    """Keep P symmetric positive definite: L is its factor afterwards. Adds to the diagonal at most ATTEMPTS times.

    Each repair adds 1 to counts[0]; False when P is beyond repair.
    """
    n = len(P)
    if cholesky(P, L):
        return True
    counts[0] += 1.0
    for i in range(n):
        for j in range(i):
            mean = 0.5 * (P[i, j] + P[j, i])
            P[i, j], P[j, i] = mean, mean
    more = 1e-14
    for _ in range(ATTEMPTS):
        for i in range(n):
            if not (abs(P[i, i]) < 1e300):
                return False
            P[i, i] += more * abs(P[i, i]) + 1e-300
        if cholesky(P, L):
            return True
        more *= 30.0
    return False


@inner
def finite(x: Array) -> bool:
    """Whether every entry is a number of sane size."""
    good = True
    for i in range(len(x)):
        good = good and abs(x[i]) < 1e150
    return good
