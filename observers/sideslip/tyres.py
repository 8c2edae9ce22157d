"""Lateral force of an axle with two wheels, and its slopes: Magic Formula, load transfer, friction circle."""

from __future__ import annotations

from math import atan2, sqrt
from typing import NamedTuple

from hodograph.multibody.forces.magic_kernels import magic_share, magic_slope
from hodograph.numerics.compiling import inner

V_FLOOR_MPS = 1.0
"""Slip angles are formed with at least this speed."""
LEAST_LOAD = 0.02
"""Of the static load: what a lifted wheel still carries."""
MOST_USED = 0.9
"""Of the friction that driving or braking may take."""


class AxleTyre(NamedTuple):
    """One tyre of an axle at its static load: N/rad, coefficient of friction, Magic Formula C, degression."""

    stiffness_npr: float
    friction: float
    shape: float
    load_sensitivity: float
    load_0_n: float


class AxleMotion(NamedTuple):
    """How an axle moves: `arm_m` ahead of the centre of gravity (rear: < 0), in the axes of the body."""

    arm_m: float
    track_m: float
    v_x_mps: float
    v_y_mps: float  # of the centre of gravity
    yaw_rate_radps: float
    steer_rad: float


class AxleLoad(NamedTuple):
    """What an axle carries: its load, what moved from the left wheel to the right one, its longitudinal force."""

    load_n: float
    shift_n: float
    fx_n: float


@inner
def wheel_force(alpha: float, load_n: float, fx_n: float, tyre: AxleTyre) -> tuple[float, float, float]:
    """(F, dF/dα, dF/dload) of one wheel; what it pulls or brakes is taken off the friction circle."""
    x = load_n / tyre.load_0_n
    fade = 1.0 - tyre.load_sensitivity * (x - 1.0)
    scale, scale_by_x = x * fade, fade - x * tyre.load_sensitivity
    peak = tyre.friction * tyre.load_0_n * scale
    used = min(abs(fx_n) / peak, MOST_USED)
    ellipse = sqrt(1.0 - used * used)
    # the circle lowers the peak and leaves the slope at the origin
    slope_0 = tyre.stiffness_npr * scale
    rho = slope_0 * alpha / (peak * ellipse)
    force = slope_0 * alpha * magic_share(tyre.shape, 0.0, abs(rho))
    slope = slope_0 * magic_slope(tyre.shape, 0.0, abs(rho))
    by_scale = force / scale
    if used < MOST_USED:  # a larger load widens the circle: dF/dD = (F − α dF/dα)/D at a given slope
        by_scale += (force - alpha * slope) * used * used / (ellipse * ellipse) / scale
    return force, slope, by_scale * scale_by_x / tyre.load_0_n


@inner
def axle_force(m: AxleMotion, load: AxleLoad, tyre: AxleTyre) -> tuple[float, float, float, float, float]:
    """(F, dF/dv_y, dF/dr, dF/dsteer, dF/dshift) of both wheels."""
    force = by_v = by_r = by_steer = by_shift = 0.0
    for side in (1.0, -1.0):  # left, right
        load_n, by_load = 0.5 * load.load_n - side * load.shift_n, -side
        if load_n < LEAST_LOAD * tyre.load_0_n:
            load_n, by_load = LEAST_LOAD * tyre.load_0_n, 0.0
        v_x = max(m.v_x_mps - side * 0.5 * m.track_m * m.yaw_rate_radps, V_FLOOR_MPS)
        v_x_by_r = -side * 0.5 * m.track_m if v_x > V_FLOOR_MPS else 0.0
        v_y = m.v_y_mps + m.arm_m * m.yaw_rate_radps
        square = v_x * v_x + v_y * v_y
        f, slope, slope_load = wheel_force(m.steer_rad - atan2(v_y, v_x), load_n, 0.5 * load.fx_n, tyre)
        force += f
        by_v -= slope * v_x / square
        by_r -= slope * (v_x * m.arm_m - v_y * v_x_by_r) / square
        by_steer += slope
        by_shift += slope_load * by_load
    return force, by_v, by_r, by_steer, by_shift
