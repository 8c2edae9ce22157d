"""The Magic Formula over its initial slope, for every tyre model here: y = sin(C atan((1−E) X + E atan X)), X = ρ/C.

Carpinelli 2014, 4.17, after Pacejka 2006. ρ = slope · slip / peak is the slip on the scale on which a linear tyre would
reach its peak at 1.
"""

from __future__ import annotations

from math import atan, cos, sin

from hodograph.numerics.compiling import inlined_inner


@inlined_inner
def magic_share(shape: float, curvature: float, rho: float) -> float:
    """Force over that of a linear tyre: y/ρ for ρ ≥ 0; 1 at zero."""
    if rho < 1e-7:
        return 1.0
    x = rho / shape
    return sin(shape * atan((1.0 - curvature) * x + curvature * atan(x))) / rho


@inlined_inner
def magic_slope(shape: float, curvature: float, rho: float) -> float:
    """Slope over that of a linear tyre: dy/dρ for ρ ≥ 0; 1 at zero."""
    x = rho / shape
    bent = (1.0 - curvature) * x + curvature * atan(x)
    by_x = (1.0 - curvature) + curvature / (1.0 + x * x)
    return cos(shape * atan(bent)) / (1.0 + bent * bent) * by_x
