"""Tyres as data: TMeasy and Magic Formula, their rows for the kernels, and their closed formulas for users and tests.

Curves are given at the nominal load and at twice of it; between and beyond, forces and slopes are quadratic in load
(degressive), slips and curvature linear. Slips are those of ISO 8855 tests: sx = (r_D Ω − v_x)/reference,
sy = −v_y/reference, the reference speed being |r_D Ω| for TMeasy and |v_x| for the Magic Formula (κ and tan α there).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from hodograph.core.frames import Array
from hodograph.core.kinds import unknown_kind
from hodograph.multibody.forces.columns import MAGIC_FORMULA, TMEASY, TYRE_CURVE_X, TYRE_CURVE_Y, TYRE_HAT_X, TYRE_WIDTH

__all__ = [
    "TYRE_WIDTH", "MagicCurve", "MagicFormulaTyre", "TMeasyCurve", "TMeasyTyre", "Tyre", "cornering_stiffness_npr",
    "slip_stiffness_n", "steady_force", "tyre_row",
]  # fmt: skip

Pair = tuple[float, float]
"""A quantity at the nominal load and at twice the nominal load."""


def _want(name: str, value: float, low: float, high: float = inf) -> None:
    if not (isfinite(value) and low < value < high):
        wanted = f"above {low:g}" if high == inf else f"between {low:g} and {high:g}"
        raise ValueError(f"{name} is {value:g}, give a number {wanted}")


def _want_not_negative(name: str, value: float) -> None:
    if not (isfinite(value) and value >= 0.0):
        raise ValueError(f"{name} is {value:g}, give zero or more")


def _want_degressive(name: str, pair: Pair) -> None:
    for value in pair:
        _want(name, value, 0.0)
    if pair[1] > 2.0 * pair[0]:
        raise ValueError(
            f"{name} more than doubles with the load ({pair[0]:g} to {pair[1]:g}): "
            "a tyre is degressive, give [at nominal load, at twice the nominal load]"
        )


def _want_slip(name: str, pair: Pair) -> None:
    for value in pair:
        _want(name, value, 0.0)
    if pair[1] >= 2.0 * pair[0]:
        raise ValueError(f"{name} grows from {pair[0]:g} to {pair[1]:g}: keep it below twice, else it is 0 at no load")


def _line(pair: Pair, q: float) -> float:
    """Linear in the load ratio q."""
    return pair[0] + (pair[1] - pair[0]) * (q - 1.0)


@dataclass(frozen=True, slots=True)
class TMeasyCurve:
    """Force over slip in one direction, each at [nominal load, twice the nominal load].

    From `initial_slope_n` at zero slip to `peak_n` at `peak_slip`, then down to `sliding_n` at `sliding_slip`.
    """

    initial_slope_n: Pair
    peak_slip: Pair
    peak_n: Pair
    sliding_slip: Pair
    sliding_n: Pair

    def __post_init__(self) -> None:
        _want_degressive("initial_slope_n", self.initial_slope_n)
        _want_degressive("peak_n", self.peak_n)
        _want_degressive("sliding_n", self.sliding_n)
        _want_slip("peak_slip", self.peak_slip)
        _want_slip("sliding_slip", self.sliding_slip)
        for q in (0.0, 1.0, 2.0):
            peak, sliding = _line(self.peak_slip, q), _line(self.sliding_slip, q)
            if not sliding > peak:
                raise ValueError(
                    f"sliding_slip is {sliding:g} and peak_slip {peak:g} at {q:g} times the nominal load: "
                    "give a larger sliding_slip"
                )
        for k in range(2):
            if self.sliding_n[k] > self.peak_n[k]:
                raise ValueError(f"sliding_n {self.sliding_n[k]:g} is above peak_n {self.peak_n[k]:g}: swap them")
            least = 2.0 * self.peak_n[k] / self.peak_slip[k]
            if self.initial_slope_n[k] < least:
                raise ValueError(
                    f"initial_slope_n {self.initial_slope_n[k]:g} gives the curve an inflection point: "
                    f"make it at least 2 peak_n / peak_slip = {least:g}, or peak_slip larger"
                )


@dataclass(frozen=True, slots=True)
class MagicCurve:
    """Magic Formula of one direction: D sin(C atan(B x − E (B x − atan(B x)))) + S_V with x = slip + S_H.

    `peak_n` is D, `slip_stiffness_n` is B·C·D, `curvature` is E, each at [nominal load, twice the nominal load];
    `shape` is C, `shift_slip` S_H, `shift_force` S_V per load.
    """

    slip_stiffness_n: Pair
    peak_n: Pair
    shape: float
    curvature: Pair = (0.0, 0.0)
    shift_slip: float = 0.0
    shift_force: float = 0.0

    def __post_init__(self) -> None:
        _want_degressive("slip_stiffness_n", self.slip_stiffness_n)
        _want_degressive("peak_n", self.peak_n)
        if not 1.0 <= self.shape < 2.0:
            raise ValueError(f"shape (C) is {self.shape:g}, give 1 … 2: beyond 2 the sliding force turns round")
        at_no_load = 2.0 * self.curvature[0] - self.curvature[1]
        if not max(*self.curvature, at_no_load) <= 1.0:
            raise ValueError(
                f"curvature (E) is {self.curvature} and {at_no_load:g} at no load: keep it at or below 1, "
                "else the force falls before its peak"
            )
        _want("shift_slip", self.shift_slip, -0.5, 0.5)
        _want("shift_force", self.shift_force, -0.5, 0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Common:
    """What both kinds of tyre share."""

    radius_m: float  # unloaded
    stiffness_npm: float  # vertical
    damping_nspm: float  # vertical
    nominal_load_n: float
    stiffness_x_npm: float  # carcass
    stiffness_y_npm: float
    damping_x_nspm: float
    damping_y_nspm: float
    camber_slip: float = 0.1  # lateral slip that one radian of camber is worth
    trail_m: float = 0.0  # pneumatic trail at the nominal load without slip
    trail_zero_slip: float = 0.2  # lateral slip where it has vanished
    dynamic_radius_share: float = 2.0 / 3.0  # of the unloaded radius; the rest is the loaded one
    rolling_resistance: float = 0.015
    friction: float = 1.0  # of the road, relative to the one the curves were measured on
    standstill_speed_mps: float = 1e-3  # v_n: at rest the tyre creeps by this times force over slope

    def __post_init__(self) -> None:
        for name in (
            "radius_m", "stiffness_npm", "nominal_load_n", "stiffness_x_npm", "stiffness_y_npm", "trail_zero_slip",
            "friction",
        ):  # fmt: skip
            _want(name, getattr(self, name), 0.0)
        for name in ("damping_nspm", "damping_x_nspm", "damping_y_nspm", "trail_m", "rolling_resistance"):
            _want_not_negative(name, getattr(self, name))
        _want("camber_slip", self.camber_slip, -1.0, 2.0)
        _want("standstill_speed_mps", self.standstill_speed_mps, 1e-8, 0.1)
        if not 0.0 <= self.dynamic_radius_share <= 1.0:
            raise ValueError(f"dynamic_radius_share is {self.dynamic_radius_share:g}, give 0 … 1")
        if self.nominal_load_n / self.stiffness_npm > 0.5 * self.radius_m:
            raise ValueError(
                f"the nominal load would press the tyre in by {self.nominal_load_n / self.stiffness_npm:.3g} m, more "
                "than half its radius: stiffness_npm is in N/m (200000, not 200)"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class TMeasyTyre(_Common):
    """TMeasy: few parameters that can be read off a curve, also from sparse data.

    Combined slip: both slips are divided by `slip_weights` (ŝ_x, ŝ_y) and make one vector; the characteristic in its
    direction is blended from both curves. Left out, the weights follow from the curves as TMeasy proposes.
    """

    longitudinal: TMeasyCurve
    lateral: TMeasyCurve
    slip_weights: Pair | None = None
    kind: Literal["tmeasy"] = "tmeasy"

    def __post_init__(self) -> None:
        _Common.__post_init__(self)
        for weight in self.slip_weights or ():
            _want("slip_weights", weight, 0.0)

    @property
    def weights(self) -> Pair:
        """ŝ_x, ŝ_y: as given, or from the places of the peaks and of the knees of both curves."""
        if self.slip_weights is not None:
            return self.slip_weights
        x, y = self.longitudinal, self.lateral
        knee_x, knee_y = x.peak_n[0] / x.initial_slope_n[0], y.peak_n[0] / y.initial_slope_n[0]
        share = x.peak_slip[0] / (x.peak_slip[0] + y.peak_slip[0]) + knee_x / (knee_x + knee_y)
        return share, 2.0 - share


@dataclass(frozen=True, slots=True, kw_only=True)
class MagicFormulaTyre(_Common):
    """Magic Formula with load dependence, combined by similarity: the forces stay within the friction ellipse.

    The shifts are those of a tyre on the left; `tyre_row(…, mirrored=True)` mounts it on the right.
    """

    longitudinal: MagicCurve
    lateral: MagicCurve
    kind: Literal["magic_formula"] = "magic_formula"


Tyre = TMeasyTyre | MagicFormulaTyre


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


def slip_stiffness_n(tyre: Tyre, fz_n: ArrayLike) -> Array:
    """Initial slope of the longitudinal force over the slip (N) at a load."""
    return _at_load(
        _initial_slope_n(tyre.longitudinal), np.maximum(np.asarray(fz_n, dtype=np.float64), 0.0) / tyre.nominal_load_n
    )
