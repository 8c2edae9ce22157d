"""A drive of a known car, made by the filter's own model with noise; for tests of the filter and the networks."""

from __future__ import annotations

import numpy as np

from hodograph.core import Array
from hodograph.numerics.compiling import njit
from hodograph.observers.sideslip.parameters import (
    ACC_0,
    FORCE_F,
    FORCE_R,
    GRAV,
    STATES,
    STEER_0,
    YAW_RATE,
    Numbers,
    SideslipParameters,
)
from hodograph.observers.sideslip.single_track import Inputs, fill_noise, predict_state
from hodograph.observers.sideslip.tyres import AxleTyre, wheel_force

STEP_S = 0.01


@njit
def predict(p: Numbers, x: Array, u: Inputs, dt: float, f: Array, F: Array) -> None:
    """`predict_state`, callable from Python."""
    predict_state(p, x, u, dt, f, F)


@njit
def noise(p: Numbers, dt: float, Q: Array) -> None:
    """`fill_noise`, callable from Python."""
    fill_noise(p, dt, Q)


def noise_of(parameters: SideslipParameters, dt: float) -> Array:
    Q = np.zeros((STATES, STATES))
    noise(parameters.numbers, dt, Q)
    return Q


def simulated(
    parameters: SideslipParameters,
    *,
    seconds: float = 60.0,
    seed: int = 0,
    quiet: bool = False,
    speed_mps: float = 25.0,
) -> tuple[Array, Array, Array]:
    """(t_s (n,), states (n, 7), inputs (n, 5)): slow weaving with growing and falling amplitude at varying speed."""
    rng = np.random.default_rng(seed)
    loud, p = (0.0 if quiet else 1.0), parameters.numbers
    n = round(seconds / STEP_S)
    t_s = STEP_S * np.arange(n)
    v_x = speed_mps * (1 + 0.2 * np.sin(2 * np.pi * t_s / 17))
    a_x = np.gradient(v_x, STEP_S)
    steer = 0.018 * np.sin(2 * np.pi * t_s / 5.3) * (1 + 0.5 * np.sin(2 * np.pi * t_s / 23)) + 0.004 * np.sin(t_s * 1.9)
    x, f, F = np.zeros(STATES), np.zeros(STATES), np.zeros((STATES, STATES))
    x[STEER_0], x[ACC_0] = parameters.steer_offset_start_rad, parameters.acc_y_offset_start_mps2
    q = loud * np.sqrt(np.diag(noise_of(parameters, STEP_S)))
    states, inputs = np.empty((n, STATES)), np.empty((n, 5))
    for k in range(n):
        if k:
            predict(p, x, Inputs(v_x[k], steer[k], a_x[k]), STEP_S, f, F)
            x = f.copy()
            x[:GRAV] += q[:GRAV] * rng.normal(size=GRAV)
            x[GRAV] += q[GRAV] * rng.normal()
        states[k] = x
        delta = steer[k] - x[STEER_0]
        force = x[FORCE_F] * np.cos(delta) + x[FORCE_R]
        a_y = force / p.mass_kg + x[ACC_0] + loud * p.acc_y_meas_std_mps2 * rng.normal()
        r = x[YAW_RATE] + loud * p.yaw_rate_meas_std_radps * rng.normal()
        inputs[k] = v_x[k], steer[k], a_y, a_x[k], r
    return t_s, states, inputs


@njit
def wheel(alpha: float, load_n: float, fx_n: float, tyre: AxleTyre) -> tuple[float, float, float]:
    """`wheel_force`, callable from Python."""
    return wheel_force(alpha, load_n, fx_n, tyre)
