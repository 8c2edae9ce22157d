"""Analytic roads: the sum of a table of features, its height and its normal."""

from __future__ import annotations

from math import cos, pi, sin, sqrt

from hodograph.core.frames import Array
from hodograph.multibody.forces.columns import (
    PLANE,
    ROAD_CENTRE_X,
    ROAD_CENTRE_Y,
    ROAD_EDGE,
    ROAD_HEIGHT,
    ROAD_KIND,
    ROAD_LENGTH,
    ROAD_PHASE,
    ROAD_WIDTH_ACROSS,
    ROAD_X,
    ROAD_Y,
    SINE,
)
from hodograph.numerics.compiling import inlined_inner, njit


@inlined_inner
def bump_at(row: Array, x_m: float, y_m: float) -> tuple[float, float, float]:
    """Height and its derivatives of half a cosine wave along (c, s), with sides that fall as half a wave as well."""
    c, s = row[ROAD_X], row[ROAD_Y]
    dx, dy = x_m - row[ROAD_CENTRE_X], y_m - row[ROAD_CENTRE_Y]
    along, across = c * dx + s * dy, c * dy - s * dx
    length, width = row[ROAD_LENGTH], row[ROAD_WIDTH_ACROSS]
    if abs(along) >= 0.5 * length:
        return 0.0, 0.0, 0.0
    angle = 2.0 * pi * along / length
    wave, wave_rate = 0.5 * (1.0 + cos(angle)), -pi / length * sin(angle)
    side, side_rate = 1.0, 0.0
    if width > 0.0:
        edge = row[ROAD_EDGE]
        out = abs(across) - (0.5 * width - edge)
        if out >= edge:
            return 0.0, 0.0, 0.0
        if out > 0.0:
            side = 0.5 * (1.0 + cos(pi * out / edge))
            side_rate = -0.5 * pi / edge * sin(pi * out / edge)
            if across < 0.0:
                side_rate = -side_rate
    h = row[ROAD_HEIGHT]
    u, v = h * wave_rate * side, h * wave * side_rate
    return h * wave * side, u * c - v * s, u * s + v * c


@njit
def road_at(features: Array, x_m: float, y_m: float) -> tuple[float, float, float, float]:
    """(z_m, nx, ny, nz): height and upward unit normal at (x, y); features has shape (k, ROAD_WIDTH)."""
    z, zx, zy = 0.0, 0.0, 0.0
    for k in range(len(features)):
        row = features[k]
        if row[ROAD_KIND] == PLANE:
            z += row[ROAD_HEIGHT] + row[ROAD_X] * x_m + row[ROAD_Y] * y_m
            zx += row[ROAD_X]
            zy += row[ROAD_Y]
        elif row[ROAD_KIND] == SINE:
            angle = row[ROAD_X] * x_m + row[ROAD_Y] * y_m + row[ROAD_PHASE]
            z += row[ROAD_HEIGHT] * sin(angle)
            rate = row[ROAD_HEIGHT] * cos(angle)
            zx += rate * row[ROAD_X]
            zy += rate * row[ROAD_Y]
        else:
            h, hx, hy = bump_at(row, x_m, y_m)
            z += h
            zx += hx
            zy += hy
    nz = 1.0 / sqrt(1.0 + zx * zx + zy * zy)
    return z, -zx * nz, -zy * nz, nz
