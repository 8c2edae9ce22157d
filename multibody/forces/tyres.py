"""Tyres in numbers: their rows for the kernels, and their closed formulas for users and tests.

Their data are `hodograph.vehicles.tyres`. Slips are sx = (r_D Ω − v_x)/reference, sy = −v_y/reference.
"""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import ArrayLike

from hodograph.core.frames import Array
from hodograph.core.kinds import unknown_kind
from hodograph.multibody.forces.columns import MAGIC_FORMULA, TMEASY, TYRE_CURVE_X, TYRE_CURVE_Y, TYRE_HAT_X, TYRE_WIDTH
from hodograph.vehicles.tyres import MagicCurve, MagicFormulaTyre, Pair, TMeasyCurve, TMeasyTyre, Tyre


def _quadratic(pair: Pair) -> list[float]:
    """Columns a, b, q_max of q (a − b q), which is pair[0] at q = 1 and pair[1] at 2; it never falls beyond."""
    a, b = 2.0 * pair[0] - 0.5 * pair[1], pair[0] - 0.5 * pair[1]
    return [a, b, max(2.0, 0.5 * a / b) if b > 0.0 else inf]


def _linear(pair: Pair) -> list[float]:
    return [2.0 * pair[0] - pair[1], pair[1] - pair[0]]


def _kind_number(tyre: Tyre) -> int:
    if isinstance(tyre, TMeasyTyre):
        return TMEASY
    if isinstance(tyre, MagicFormulaTyre):
        return MAGIC_FORMULA
    raise unknown_kind("tyre", tyre, Tyre)


def tyre_row(tyre: Tyre, *, mirrored: bool = False) -> Array:
    """The tyre as the kernels read it, shape (TYRE_WIDTH,); `mirrored` for the other side of the car."""
    row = np.zeros(TYRE_WIDTH)
    row[:16] = [
        _kind_number(tyre), tyre.nominal_load_n, tyre.radius_m, tyre.stiffness_npm,
        tyre.damping_nspm, tyre.dynamic_radius_share, tyre.rolling_resistance, tyre.stiffness_x_npm,
        tyre.stiffness_y_npm, tyre.damping_x_nspm, tyre.damping_y_nspm, tyre.standstill_speed_mps, tyre.camber_slip,
        tyre.trail_m, tyre.trail_zero_slip, tyre.friction,
    ]  # fmt: skip
    if isinstance(tyre, TMeasyTyre):
        row[TYRE_HAT_X : TYRE_HAT_X + 2] = tyre.weights
    for start, curve, side in ((TYRE_CURVE_X, tyre.longitudinal, 1.0), (TYRE_CURVE_Y, tyre.lateral, -1.0)):
        columns = _curve_columns(curve, side if mirrored else 1.0)
        row[start : start + len(columns)] = columns
    return row


def _curve_columns(curve: TMeasyCurve | MagicCurve, side: float) -> list[float]:
    if isinstance(curve, TMeasyCurve):
        return [
            *_quadratic(curve.initial_slope_n), *_quadratic(curve.peak_n), *_quadratic(curve.sliding_n),
            *_linear(curve.peak_slip), *_linear(curve.sliding_slip),
        ]  # fmt: skip
    if isinstance(curve, MagicCurve):
        return [
            *_quadratic(curve.slip_stiffness_n), *_quadratic(curve.peak_n), curve.shape, *_linear(curve.curvature),
            side * curve.shift_slip, side * curve.shift_force,
        ]  # fmt: skip
    raise unknown_kind("tyre curve", curve, TMeasyCurve | MagicCurve)


def _initial_slope_n(curve: TMeasyCurve | MagicCurve) -> Pair:
    if isinstance(curve, TMeasyCurve):
        return curve.initial_slope_n
    if isinstance(curve, MagicCurve):
        return curve.slip_stiffness_n
    raise unknown_kind("tyre curve", curve, TMeasyCurve | MagicCurve)


def _at_load(pair: Pair, q: Array) -> Array:
    """Quadratic in the load ratio q through zero and both values; from its top (but not before q = 2) it stays."""
    a, b, most = _quadratic(pair)
    q = np.minimum(q, most)
    return q * (a - b * q)


def _along(pair: Pair, q: Array) -> Array:
    return pair[0] + (pair[1] - pair[0]) * (np.minimum(q, 2.0) - 1.0)


def steady_force(
    tyre: Tyre, fz_n: ArrayLike, sx: ArrayLike, sy: ArrayLike, gamma_rad: ArrayLike = 0.0
) -> tuple[Array, Array]:
    """Longitudinal and lateral force at constant slip, by the closed formulas; arguments are broadcast.

    sx = (r_D Ω − v_x)/reference and sy = −v_y/reference, so that positive slip gives positive force.
    """
    q = np.maximum(np.asarray(fz_n, dtype=np.float64), 0.0) / tyre.nominal_load_n
    slip_x = np.asarray(sx, dtype=np.float64)
    slip_y = np.asarray(sy, dtype=np.float64) + tyre.camber_slip * np.sin(gamma_rad)
    q, slip_x, slip_y = np.broadcast_arrays(q, slip_x, slip_y)
    with np.errstate(divide="ignore", invalid="ignore"):
        if isinstance(tyre, TMeasyTyre):
            fx, fy = _tmeasy(tyre, q, slip_x, slip_y)
        elif isinstance(tyre, MagicFormulaTyre):
            fx, fy = _magic(tyre, q, slip_x, slip_y)
        else:
            raise unknown_kind("tyre", tyre, Tyre)
    grounded = q > 0.0
    return np.where(grounded, fx, 0.0), np.where(grounded, fy, 0.0)


def _tmeasy(tyre: TMeasyTyre, q: Array, slip_x: Array, slip_y: Array) -> tuple[Array, Array]:
    x, y, mu = tyre.longitudinal, tyre.lateral, tyre.friction
    hat_x, hat_y = tyre.weights
    sx, sy = slip_x / hat_x, slip_y / hat_y
    s = np.hypot(sx, sy)
    cos = np.where(s > 0.0, sx / s, np.sqrt(0.5))
    sin = np.where(s > 0.0, sy / s, np.sqrt(0.5))
    slope = np.hypot(_at_load(x.initial_slope_n, q) * hat_x * cos, _at_load(y.initial_slope_n, q) * hat_y * sin)
    f_m = mu * np.hypot(_at_load(x.peak_n, q) * cos, _at_load(y.peak_n, q) * sin)
    f_s = np.minimum(mu * np.hypot(_at_load(x.sliding_n, q) * cos, _at_load(y.sliding_n, q) * sin), f_m)
    s_m = mu * np.hypot(_along(x.peak_slip, q) / hat_x * cos, _along(y.peak_slip, q) / hat_y * sin)
    s_s = mu * np.hypot(_along(x.sliding_slip, q) / hat_x * cos, _along(y.sliding_slip, q) / hat_y * sin)
    part = s / s_m
    rising = s_m * slope * part / (1.0 + part * (part + slope * s_m / f_m - 2.0))
    part = (s - s_m) / (s_s - s_m)
    falling = f_m - (f_m - f_s) * part**2 * (3.0 - 2.0 * part)
    force = np.where(s < s_m, rising, np.where(s < s_s, falling, f_s))
    return force * cos * (s > 0.0), force * sin * (s > 0.0)


def _magic(tyre: MagicFormulaTyre, q: Array, slip_x: Array, slip_y: Array) -> tuple[Array, Array]:
    x, y, mu = tyre.longitudinal, tyre.lateral, tyre.friction
    d_x, d_y = mu * _at_load(x.peak_n, q), mu * _at_load(y.peak_n, q)
    c_x, c_y = _at_load(x.slip_stiffness_n, q), _at_load(y.slip_stiffness_n, q)
    theta_x, theta_y = (slip_x + x.shift_slip) * c_x / d_x, (slip_y + y.shift_slip) * c_y / d_y
    rho = np.hypot(theta_x, theta_y)
    cos, sin = np.where(rho > 0.0, theta_x / rho, 0.0), np.where(rho > 0.0, theta_y / rho, 0.0)
    load = mu * q * tyre.nominal_load_n
    fx = cos * _magic_formula(d_x, x.shape, _along(x.curvature, q), rho / x.shape) + x.shift_force * load
    fy = sin * _magic_formula(d_y, y.shape, _along(y.curvature, q), rho / y.shape) + y.shift_force * load
    over = np.maximum(1.0, np.hypot(fx, fy) ** 2 / np.maximum(np.hypot(d_x * fx, d_y * fy), 1e-300))
    return fx / over, fy / over


def _magic_formula(d: Array, c: float, e: Array, bx: Array) -> Array:
    """D sin(C atan(B x − E (B x − atan(B x))))."""
    return d * np.sin(c * np.arctan(bx - e * (bx - np.arctan(bx))))


def cornering_stiffness_npr(tyre: Tyre, fz_n: ArrayLike) -> Array:
    """Initial slope of the lateral force over the slip angle (N/rad) at a load."""
    return _at_load(
        _initial_slope_n(tyre.lateral), np.maximum(np.asarray(fz_n, dtype=np.float64), 0.0) / tyre.nominal_load_n
    )


def lateral_peak_n(tyre: Tyre, fz_n: ArrayLike) -> Array:
    """Largest lateral force (N) at a load, on the road the tyre is described for."""
    q = np.maximum(np.asarray(fz_n, dtype=np.float64), 0.0) / tyre.nominal_load_n
    return tyre.friction * _at_load(tyre.lateral.peak_n, q)


def slip_stiffness_n(tyre: Tyre, fz_n: ArrayLike) -> Array:
    """Initial slope of the longitudinal force over the slip (N) at a load."""
    return _at_load(
        _initial_slope_n(tyre.longitudinal), np.maximum(np.asarray(fz_n, dtype=np.float64), 0.0) / tyre.nominal_load_n
    )
