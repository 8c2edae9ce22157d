"""Scalar laws of what turns a wheel or holds it, and of the air."""

from __future__ import annotations

from math import sqrt, tanh

from hodograph.core.frames import Array
from hodograph.multibody.forces.columns import (
    AERO_DRAG,
    AERO_LIFT_FRONT,
    AERO_LIFT_REAR,
    BRAKE_DAMPING,
    BRAKE_FRICTION_RADIUS,
    BRAKE_PAD,
    BRAKE_STIFFNESS,
    DIFFERENTIAL_COAST,
    DIFFERENTIAL_DRIVE,
    DIFFERENTIAL_KIND,
    DIFFERENTIAL_PRELOAD,
    DIFFERENTIAL_SPEED,
    OPEN,
)
from hodograph.numerics.compiling import njit

ROLLING_SPEED_MPS = 0.05
"""Rolling resistance grows to its full value over a few times this speed, and pushes nobody at rest."""


@njit
def brake_limit(par: Array, pressure_pa: float) -> float:
    """Sliding torque T_sl = 2 μ F_n R_eq (Sanjurjo 2016, 5.26), the pad force F_n a cubic of the line pressure."""
    p = max(pressure_pa, 0.0)
    k = BRAKE_PAD
    force = par[k] + p * (par[k + 1] + p * (par[k + 2] + p * par[k + 3]))
    limit: float = max(force, 0.0) * par[BRAKE_FRICTION_RADIUS]
    return limit


@njit
def brake_torque(
    par: Array, pressure_pa: float, omega_radps: float, theta0_rad: float, tau_s: float
) -> tuple[float, float, float]:
    """(torque_nm, theta1_rad, slope_nmspr): torque against the rotation, wind-up after tau, d torque / d omega.

    A spring and damper of wind-up theta in series with a slider that gives way at T_sl, by return mapping: if the trial
    theta0 + omega·tau would need more than T_sl, the slider moves and the spring gets only as far as T_sl takes it.
    Unlike Sanjurjo 2016, 5.24 and 5.25, which blend stiction and sliding by speed: that has no true stiction, because
    its weight falls with any speed, needs the anchor to be moved by hand, and at low speed yields less than T_sl.
    """
    limit = brake_limit(par, pressure_pa)
    k, c = par[BRAKE_STIFFNESS], par[BRAKE_DAMPING]
    slope = k * tau_s + c
    torque = k * theta0_rad + slope * omega_radps
    if limit > 0.0 and abs(torque) <= limit:
        return torque, theta0_rad + omega_radps * tau_s, slope
    if torque < 0.0:
        limit = -limit
    if slope <= 0.0:
        return limit, limit / k, 0.0
    return limit, theta0_rad + (limit - k * theta0_rad) * tau_s / slope, 0.0


@njit
def differential(
    par: Array, torque_nm: float, omega_left_radps: float, omega_right_radps: float
) -> tuple[float, float, float]:
    """(t_left_nm, t_right_nm, slope_nmspr): the axle's torque shared between its wheels; the slower one gains.

    Limited slip in closed form: half of T_lock = max(C1 |T|, C0) (Magri 2024, 5.6) goes from the faster to the slower
    wheel, C1 by drive or coast. slope = d t_left / d(omega_right − omega_left), and the negative of the same for the
    right.
    """
    half = 0.5 * torque_nm
    if par[DIFFERENTIAL_KIND] == OPEN:
        return half, half, 0.0
    ratio = par[DIFFERENTIAL_DRIVE] if torque_nm >= 0.0 else par[DIFFERENTIAL_COAST]
    lock = 0.5 * max(ratio * abs(torque_nm), par[DIFFERENTIAL_PRELOAD])
    share = tanh((omega_right_radps - omega_left_radps) / par[DIFFERENTIAL_SPEED])
    moved = lock * share
    return half + moved, half - moved, lock * (1.0 - share * share) / par[DIFFERENTIAL_SPEED]


@njit
def rolling_resistance(coefficient: float, fz_n: float, radius_m: float, omega_radps: float) -> tuple[float, float]:
    """(torque_nm, slope_nmspr): C_rr F_z r against the rotation, smooth through zero; d torque / d omega.

    Sanjurjo 2016, 5.42.
    """
    full = coefficient * max(fz_n, 0.0) * radius_m
    roll = radius_m * omega_radps
    inverse = 1.0 / sqrt(roll * roll + ROLLING_SPEED_MPS * ROLLING_SPEED_MPS)
    share = roll * inverse
    return full * share, full * radius_m * inverse * (1.0 - share * share)


@njit
def aero_force(par: Array, vx_mps: float, vy_mps: float) -> tuple[float, float, float, float]:
    """(fx_n, fy_n, lift_front_n, lift_rear_n) on a body moving with (vx, vy) through the air, in body axes.

    Drag is against the motion; lift (upward, negative = downforce) acts over each axle and counts forward flow only.
    """
    drag = par[AERO_DRAG] * sqrt(vx_mps * vx_mps + vy_mps * vy_mps)
    flow = vx_mps * abs(vx_mps) if vx_mps > 0.0 else 0.0
    return -drag * vx_mps, -drag * vy_mps, par[AERO_LIFT_FRONT] * flow, par[AERO_LIFT_REAR] * flow
