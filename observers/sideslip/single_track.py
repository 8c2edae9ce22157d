"""The car of the sideslip filter: one step of its state with the Jacobian, its noise, its start.

    v_y' = (F_f cos δ + F_r)/m − v_x r − g_y          r' = (l_f F_f cos δ − l_r F_r)/J_z
    F'   = (v_x/σ)(F_ss(α, loads) − F) per axle       g_y' = −g_y/τ;  offsets: random walks

Magri 2024, 4.7 and 4.8, with the gravity that a banked road and a rolled body put into y.
"""

from __future__ import annotations

from math import cos, exp, sin
from typing import Any, NamedTuple

from hodograph.core.frames import Array
from hodograph.core.units import GRAVITY_MPS2
from hodograph.numerics.compiling import inner
from hodograph.observers.sideslip.parameters import (
    ACC_0,
    FORCE_F,
    FORCE_R,
    GRAV,
    STATES,
    STEER_0,
    V_Y,
    YAW_RATE,
)
from hodograph.observers.sideslip.tyres import V_FLOOR_MPS, AxleLoad, AxleMotion, AxleTyre, axle_force

LEAST_AXLE_LOAD = 0.1
"""Of its static load stays on an axle, however hard the car brakes."""
START_STD = (0.02, 0.1, 1.0, 1.0, 0.003, 0.1)
"""1-sigma at the start: of v_y over the speed, of the yaw rate, of the axles' forces over the mass, of both offsets."""


class Inputs(NamedTuple):
    """What drives the model over a step."""

    v_x_mps: float
    steer_rad: float
    acc_x_mps2: float


@inner
def predict_state(p: Any, x: Array, u: Inputs, dt: float, f: Array, F: Array) -> None:
    """Fill f (7,) with the state after `dt` s and F (7, 7) with its Jacobian; exact in the relaxation of the forces."""
    m, base, v_x = p.mass_kg, p.cg_to_front_m + p.cg_to_rear_m, u.v_x_mps
    load_f0, load_r0 = m * GRAVITY_MPS2 * p.cg_to_rear_m / base, m * GRAVITY_MPS2 * p.cg_to_front_m / base
    along_n, force_x = m * u.acc_x_mps2 * p.cg_height_m / base, m * u.acc_x_mps2
    load_f = max(load_f0 - along_n, LEAST_AXLE_LOAD * load_f0)
    load_r = max(load_r0 + along_n, LEAST_AXLE_LOAD * load_r0)
    share = p.brake_share_front if u.acc_x_mps2 < 0.0 else p.drive_share_front
    delta = u.steer_rad - x[STEER_0]
    c, s, across = cos(delta), sin(delta), p.cg_height_m / p.track_m
    shift = (x[FORCE_F] * c + x[FORCE_R]) * across
    roll_f, roll_r = p.roll_share_front, 1.0 - p.roll_share_front
    ff, ff_v, ff_r, ff_d, ff_s = axle_force(
        AxleMotion(
            arm_m=p.cg_to_front_m,
            track_m=p.track_m,
            v_x_mps=v_x,
            v_y_mps=x[V_Y],
            yaw_rate_radps=x[YAW_RATE],
            steer_rad=delta,
        ),
        AxleLoad(load_f, roll_f * shift, share * force_x),
        AxleTyre(
            stiffness_npr=0.5 * p.stiffness_front_n_rad,
            friction=p.friction_front,
            shape=p.shape,
            load_sensitivity=p.load_sensitivity,
            load_0_n=0.5 * load_f0,
        ),
    )
    fr, fr_v, fr_r, _, fr_s = axle_force(
        AxleMotion(
            arm_m=-p.cg_to_rear_m,
            track_m=p.track_m,
            v_x_mps=v_x,
            v_y_mps=x[V_Y],
            yaw_rate_radps=x[YAW_RATE],
            steer_rad=0.0,
        ),
        AxleLoad(load_r, roll_r * shift, (1.0 - share) * force_x),
        AxleTyre(
            stiffness_npr=0.5 * p.stiffness_rear_n_rad,
            friction=p.friction_rear,
            shape=p.shape,
            load_sensitivity=p.load_sensitivity,
            load_0_n=0.5 * load_r0,
        ),
    )
    keep, fade = exp(-max(v_x, V_FLOOR_MPS) * dt / p.relaxation_m), exp(-dt / p.gravity_y_time_s)
    f[V_Y] = x[V_Y] + dt * ((x[FORCE_F] * c + x[FORCE_R]) / m - v_x * x[YAW_RATE] - x[GRAV])
    f[YAW_RATE] = x[YAW_RATE] + dt * yaw_acceleration(p, x, c)
    f[FORCE_F] = ff + (x[FORCE_F] - ff) * keep
    f[FORCE_R] = fr + (x[FORCE_R] - fr) * keep
    f[STEER_0], f[ACC_0], f[GRAV] = x[STEER_0], x[ACC_0], x[GRAV] * fade
    for i in range(STATES):
        for j in range(STATES):
            F[i, j] = 0.0
    inertia, to_front, to_rear = p.yaw_inertia_kgm2, p.cg_to_front_m, p.cg_to_rear_m
    F[V_Y, V_Y], F[V_Y, YAW_RATE], F[V_Y, GRAV] = 1.0, -dt * v_x, -dt
    F[V_Y, FORCE_F], F[V_Y, FORCE_R], F[V_Y, STEER_0] = dt * c / m, dt / m, dt * x[FORCE_F] * s / m
    F[YAW_RATE, YAW_RATE], F[YAW_RATE, FORCE_F] = 1.0, dt * to_front * c / inertia
    F[YAW_RATE, FORCE_R], F[YAW_RATE, STEER_0] = -dt * to_rear / inertia, dt * to_front * x[FORCE_F] * s / inertia
    new = 1.0 - keep
    by_f, by_r, by_0 = c * across, across, x[FORCE_F] * s * across  # of the shift
    F[FORCE_F, V_Y], F[FORCE_F, YAW_RATE] = new * ff_v, new * ff_r
    F[FORCE_F, FORCE_F], F[FORCE_F, FORCE_R] = keep + new * ff_s * roll_f * by_f, new * ff_s * roll_f * by_r
    F[FORCE_F, STEER_0] = new * (-ff_d + ff_s * roll_f * by_0)
    F[FORCE_R, V_Y], F[FORCE_R, YAW_RATE] = new * fr_v, new * fr_r
    F[FORCE_R, FORCE_F] = new * fr_s * roll_r * by_f
    F[FORCE_R, FORCE_R] = keep + new * fr_s * roll_r * by_r
    F[FORCE_R, STEER_0] = new * fr_s * roll_r * by_0
    F[STEER_0, STEER_0] = F[ACC_0, ACC_0] = 1.0
    F[GRAV, GRAV] = fade


@inner
def yaw_acceleration(p: Any, x: Array, cos_delta: float) -> float:
    """r' of the state."""
    front: float = p.cg_to_front_m * x[FORCE_F] * cos_delta
    moment: float = front - p.cg_to_rear_m * x[FORCE_R]
    return moment / float(p.yaw_inertia_kgm2)


@inner
def fill_noise(p: Any, dt: float, Q: Array) -> None:
    """Process noise (7, 7) of `dt` s; only its diagonal is written."""
    Q[V_Y, V_Y] = p.v_y_std_mps**2 * dt
    Q[YAW_RATE, YAW_RATE] = p.yaw_rate_std_radps**2 * dt
    Q[FORCE_F, FORCE_F] = p.force_front_std_n**2 * dt
    Q[FORCE_R, FORCE_R] = p.force_rear_std_n**2 * dt
    Q[STEER_0, STEER_0] = p.steer_offset_std_rad**2 * dt
    Q[ACC_0, ACC_0] = p.acc_y_offset_std_mps2**2 * dt
    Q[GRAV, GRAV] = p.gravity_y_std_mps2**2 * (1.0 - exp(-2.0 * dt / p.gravity_y_time_s))


@inner
def start_state(p: Any, v_x: float, acc_y: float, yaw_rate: float, x: Array, P: Array) -> None:
    """The steady state that fits a sample, and how little is known of it."""
    base = p.cg_to_front_m + p.cg_to_rear_m
    x[FORCE_F] = p.mass_kg * acc_y * p.cg_to_rear_m / base
    x[FORCE_R] = p.mass_kg * acc_y * p.cg_to_front_m / base
    x[V_Y] = p.cg_to_rear_m * yaw_rate - v_x * x[FORCE_R] / p.stiffness_rear_n_rad
    x[YAW_RATE], x[STEER_0], x[ACC_0], x[GRAV] = (
        yaw_rate, p.steer_offset_start_rad, p.acc_y_offset_start_mps2, 0.0,
    )  # fmt: skip
    for i in range(STATES):
        for j in range(STATES):
            P[i, j] = 0.0
    for i in range(GRAV):
        scale = max(v_x, 3.0) if i == V_Y else (p.mass_kg if i in (FORCE_F, FORCE_R) else 1.0)
        P[i, i] = (START_STD[i] * scale) ** 2
    P[GRAV, GRAV] = p.gravity_y_std_mps2**2
