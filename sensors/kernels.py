"""One walk over the rows of all sensors on a mechanism: value and Jacobians to q, qd, qdd.

Every row is made of two affine directions b(q) and c(q): a place or segment and an axis. That covers encoders, rates,
points, distances, gyroscopes (ω about an axis = ḃ·c of two perpendicular directions of the body) and accelerometers.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from hodograph.core.frames import Array
from hodograph.multibody.model.tables import Index
from hodograph.numerics.compiling import inner, njit

POSITION, VELOCITY, RATE, ACCELERATION, DISTANCE = 0, 1, 2, 3, 4


class Forms(NamedTuple):
    """For each of m rows three affine forms of the coordinates, as terms (coordinate, axis) with factors."""

    start: Index  # (m+1,)
    term: Index  # (terms, 2)
    val: Array
    const: Array  # (m, 3)


class SensorTable(NamedTuple):
    """Rows (m,) of sensors, each made of the two directions b and c."""

    kind: Index  # (m,)
    b: Forms
    c: Forms
    gravity: Array  # (3,)
    bias: Array  # (m,)
    var: Array  # (m,)
    period: Array  # (m,) 0, or 2π where the row lives on a circle


@inner
def affine(form: Forms, i: int, x: Array, of_place: float) -> tuple[float, float, float]:
    """The three components at x; `of_place` 0 leaves the constant out, as for velocities."""
    u, v, w = of_place * form.const[i, 0], of_place * form.const[i, 1], of_place * form.const[i, 2]
    for k in range(form.start[i], form.start[i + 1]):
        axis, y = form.term[k, 1], form.val[k] * x[form.term[k, 0]]
        if axis == 0:
            u += y
        elif axis == 1:
            v += y
        else:
            w += y
    return u, v, w


@inner
def add_gradient(form: Forms, i: int, u: float, v: float, w: float, out: Array) -> None:
    """out += (u, v, w) · d(form)/dx."""
    for k in range(form.start[i], form.start[i + 1]):
        axis = form.term[k, 1]
        out[form.term[k, 0]] += form.val[k] * (u if axis == 0 else (v if axis == 1 else w))


@njit
def measure(s: SensorTable, i: int, q: Array, qd: Array, qdd: Array) -> float:
    """What row i would read at this state, bias included."""
    kind = s.kind[i]
    value: float = s.bias[i]
    u, v, w = affine(s.b, i, q, 1.0)
    if kind == DISTANCE:
        return value + sqrt(u * u + v * v + w * w)
    x, y, z = affine(s.c, i, q, 1.0)
    if kind == POSITION:
        return value + u * x + v * y + w * z
    if kind == ACCELERATION:
        a, b, c = affine(s.b, i, qdd, 0.0)
        a, b, c = a - s.gravity[0], b - s.gravity[1], c - s.gravity[2]
        value += (a * x + b * y + c * z) / sqrt(x * x + y * y + z * z)
        return value
    a, b, c = affine(s.b, i, qd, 0.0)
    if kind == VELOCITY:
        return value + a * x + b * y + c * z
    return value + (a * x + b * y + c * z) / (u * u + v * v + w * w)


@njit
def measure_jacobians(
    s: SensorTable, i: int, q: Array, qd: Array, qdd: Array, h_q: Array, h_qd: Array, h_qdd: Array
) -> None:
    """Gradients of row i to q, qd and qdd, each (n,)."""
    for k in range(len(h_q)):
        h_q[k], h_qd[k], h_qdd[k] = 0.0, 0.0, 0.0
    kind = s.kind[i]
    u, v, w = affine(s.b, i, q, 1.0)
    x, y, z = affine(s.c, i, q, 1.0)
    bb = u * u + v * v + w * w
    if kind == DISTANCE:
        length = bb**0.5
        add_gradient(s.b, i, u / length, v / length, w / length, h_q)
    elif kind == POSITION:
        add_gradient(s.b, i, x, y, z, h_q)
        add_gradient(s.c, i, u, v, w, h_q)
    elif kind == ACCELERATION:
        a, b, c = affine(s.b, i, qdd, 0.0)
        a, b, c = a - s.gravity[0], b - s.gravity[1], c - s.gravity[2]
        length = (x * x + y * y + z * z) ** 0.5
        along = (a * x + b * y + c * z) / (length * length * length)
        add_gradient(s.b, i, x / length, y / length, z / length, h_qdd)
        a, b, c = a / length - along * x, b / length - along * y, c / length - along * z
        add_gradient(s.c, i, a, b, c, h_q)
    else:
        a, b, c = affine(s.b, i, qd, 0.0)
        scale = 1.0 if kind == VELOCITY else 1.0 / bb
        add_gradient(s.b, i, scale * x, scale * y, scale * z, h_qd)
        add_gradient(s.c, i, scale * a, scale * b, scale * c, h_q)
        if kind == RATE:
            fall = -2.0 * (a * x + b * y + c * z) * scale * scale
            add_gradient(s.b, i, fall * u, fall * v, fall * w, h_q)


@inner
def difference(s: SensorTable, i: int, read: float, expected: float) -> float:
    """Reading minus expectation; the short way round where the row lives on a circle."""
    d = read - expected
    period = s.period[i]
    if period > 0.0:
        d -= period * np.floor(d / period + 0.5)
    return d


@inner
def rate(h_q: Array, h_qd: Array, qd: Array, qdd: Array) -> float:
    """ḣ of a row from its gradients; accelerations are held."""
    s = 0.0
    for k in range(len(qd)):
        s += h_q[k] * qd[k] + h_qd[k] * qdd[k]
    return s
