"""Tyres as data: TMeasy and Magic Formula.

Curves are given at the nominal load and at twice of it; between and beyond, forces and slopes are quadratic in load
(degressive), slips and curvature linear. Slips are those of ISO 8855 tests: sx = (r_D Ω − v_x)/reference,
sy = −v_y/reference, the reference speed being |r_D Ω| for TMeasy and |v_x| for the Magic Formula (κ and tan α there).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite
from typing import Literal

from hodograph.core.display import short_repr

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

    initial_slope_n: Pair  # slope of the force at zero slip
    peak_slip: Pair  # slip of the largest force
    peak_n: Pair  # largest force
    sliding_slip: Pair  # slip from which on the tyre only slides
    sliding_n: Pair  # force when it only slides

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

    Pacejka 2006. `peak_n` is D, `slip_stiffness_n` is B·C·D, `curvature` is E, each at [nominal load, twice the nominal
    load]; `shape` is C, `shift_slip` S_H, `shift_force` S_V per load.
    """

    slip_stiffness_n: Pair  # B·C·D: slope of the force at zero slip
    peak_n: Pair  # D: largest force
    shape: float  # C
    curvature: Pair = (0.0, 0.0)  # E, at most 1
    shift_slip: float = 0.0  # S_H, added to the slip, of a tyre on the left
    shift_force: float = 0.0  # S_V per wheel load, of a tyre on the left

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
    nominal_load_n: float  # wheel load to which the first number of each pair belongs; the second is for twice of it
    stiffness_x_npm: float  # of the carcass, along
    stiffness_y_npm: float  # of the carcass, across
    damping_x_nspm: float  # of the carcass, along
    damping_y_nspm: float  # of the carcass, across
    camber_slip: float = 0.1  # lateral slip that one radian of camber is worth
    trail_m: float = 0.0  # pneumatic trail at the nominal load without slip
    trail_zero_slip: float = 0.2  # lateral slip where it has vanished
    dynamic_radius_share: float = 2.0 / 3.0  # of the unloaded radius; the rest is the loaded one
    rolling_resistance: float = 0.015  # moment over load and radius
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

    longitudinal: TMeasyCurve  # force along over longitudinal slip
    lateral: TMeasyCurve  # force across over lateral slip
    slip_weights: Pair | None = None  # ŝ_x, ŝ_y that slips are divided by when combined; by default from the curves
    kind: Literal["tmeasy"] = "tmeasy"  # few parameters that can be read off a measured curve

    __repr__ = short_repr

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

    longitudinal: MagicCurve  # force along over κ
    lateral: MagicCurve  # force across over tan α
    kind: Literal["magic_formula"] = "magic_formula"  # Magic Formula with load dependence

    __repr__ = short_repr


Tyre = TMeasyTyre | MagicFormulaTyre
