"""Sparse LDLᵀ along precomputed schedules: assemble, factorise, solve. The obvious numpy twins are in the tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from hodograph.core.frames import Array
from hodograph.multibody.model.tables import ConstraintRows, Factor, Mass
from hodograph.numerics.compiling import inlined, inlined_inner, inner

ZERO, ONE, TWO, THREE, FOUR = (
    np.uint64(0),
    np.uint32(1),
    np.uint32(2),
    np.uint32(3),
    np.uint32(4),
)  # unsigned sums stay unsigned: no test for negative indices


@inlined_inner
def add_multiple(w: Array, to: Any, factor: float, x: Array, first: Any, end: Any) -> None:
    """w[to …] += factor · x[first … end].

    Runs are short, so four at a time: the compiler packs those into one instruction, while a plain loop would spend its
    time outside of the long blocks it prepares for.
    """
    k = first
    while k + FOUR <= end:
        e0, e1, e2, e3 = (
            w[to] + factor * x[k],
            w[to + ONE] + factor * x[k + ONE],
            w[to + TWO] + factor * x[k + TWO],
            w[to + THREE] + factor * x[k + THREE],
        )
        w[to], w[to + ONE], w[to + TWO], w[to + THREE] = e0, e1, e2, e3
        to += FOUR
        k += FOUR
    while k < end:
        w[to] += factor * x[k]
        to += ONE
        k += ONE


@inlined_inner
def add_jacobian(rows: ConstraintRows, factor: Factor, jac: Array, penalty: Array, w: Array) -> None:
    """w += Jᵀ diag(penalty) J."""
    start, run = rows.start, factor.jacobian
    r = ZERO
    for i in range(len(penalty)):
        weight = penalty[i]
        end = start[i + 1]
        for a in range(start[i], end):
            x = weight * jac[a]
            b = a
            while b < end:
                to, end_run = run[r, 0], b + run[r, 1]
                add_multiple(w, to, x, jac, b, end_run)
                b = end_run
                r += ONE


@inlined_inner
def add_mass(mass: Mass, factor: Factor, q: Array, w: Array) -> None:
    """w = mass matrix at q (what was in w is gone)."""
    constant = factor.mass
    for k in range(len(constant)):
        w[k] = constant[k]
    for k in range(len(mass.wheel_inertia)):
        half = 0.5 * mass.wheel_inertia[k]
        a, b = mass.wheel[k, 0], mass.wheel[k, 1]
        for d in range(3):
            w[mass.wheel_dest[k, d]] += half * q[b + d]
            w[mass.wheel_dest[k, 3 + d]] -= half * q[a + d]


@inlined_inner
def factorise(factor: Factor, w: Array) -> float:
    """In place: unit lower factor below the diagonal, inverse pivots on it; returns the smallest pivot."""
    start, run = factor.start, factor.update
    smallest = 1e300
    r = ZERO
    for k in range(len(start) - 1):
        first, end = start[k], start[k + 1]
        pivot = w[first]
        smallest = min(smallest, pivot)
        inverse = 1.0 / pivot
        w[first] = inverse
        for x in range(first + ONE, end):
            scaled = w[x] * inverse
            y = x
            while y < end:
                to, end_run = run[r, 0], y + run[r, 1]
                add_multiple(w, to, -scaled, w, y, end_run)
                y = end_run
                r += ONE
        for x in range(first + ONE, end):
            w[x] *= inverse
    return smallest


@inlined
def solve(factor: Factor, w: Array, b: Array) -> None:
    """b becomes the solution; b is in the order of the coordinates."""
    order, start, row = factor.order, factor.start, factor.row
    n = np.uint64(len(order))
    for k in range(ZERO, n):
        x = b[order[k]]
        for y in range(start[k] + ONE, start[k + ONE]):
            b[row[y]] -= w[y] * x
    k_back = n
    for _ in range(n):
        k_back -= ONE
        x = b[order[k_back]] * w[start[k_back]]
        for y in range(start[k_back] + ONE, start[k_back + ONE]):
            x -= w[y] * b[row[y]]
        b[order[k_back]] = x


@inlined
def refresh_mass(mass: Mass, q: Array, val: Array) -> None:
    """The entries of the mass matrix that depend on q: of wheels with their side vectors (Sanjurjo 2016, 5.11)."""
    for k in range(len(mass.wheel_inertia)):
        half = 0.5 * mass.wheel_inertia[k]
        a, b = mass.wheel[k, 0], mass.wheel[k, 1]
        for d in range(3):
            val[mass.wheel_val[k, d]] = val[mass.wheel_val[k, 3 + d]] = half * q[b + d]
            val[mass.wheel_val[k, 6 + d]] = val[mass.wheel_val[k, 9 + d]] = -half * q[a + d]


@inlined
def mass_times(mass: Mass, val: Array, x: Array, out: Array) -> None:
    """out = M x."""
    start, col = mass.start, mass.col
    for i in range(len(out)):
        s = 0.0
        for k in range(start[i], start[i + 1]):
            s += val[k] * x[col[k]]
        out[i] = s


@inlined_inner
def jacobian_times(rows: ConstraintRows, jac: Array, x: Array, out: Array) -> None:
    """out = J x."""
    start, col = rows.start, rows.col
    for i in range(len(out)):
        s = 0.0
        for a in range(start[i], start[i + 1]):
            s += jac[a] * x[col[a]]
        out[i] = s


@inlined_inner
def add_transposed(rows: ConstraintRows, jac: Array, y: Array, out: Array) -> None:
    """out += Jᵀ y."""
    start, col = rows.start, rows.col
    for i in range(len(y)):
        for a in range(start[i], start[i + 1]):
            out[col[a]] += jac[a] * y[i]


@inlined_inner
def norm(x: Array) -> float:
    """Euclidean length."""
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[i]
    return float(s**0.5)


@inner
def solve_dense(a: Array, b: Array) -> None:
    """Small symmetric positive system in place: a is destroyed, b becomes the solution."""
    n = len(b)
    for k in range(n):
        inverse = 1.0 / a[k, k]
        for i in range(k + 1, n):
            x = a[i, k] * inverse
            for j in range(k + 1, n):
                a[i, j] -= x * a[k, j]
            b[i] -= x * b[k]
    for back in range(n):
        k = n - 1 - back
        for j in range(k + 1, n):
            b[k] -= a[k, j] * b[j]
        b[k] /= a[k, k]
