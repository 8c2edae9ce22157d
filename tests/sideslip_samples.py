"""A drive of a known car, made by the filter's own model with noise; for tests of the filter and the networks."""

from __future__ import annotations

import numpy as np

from hodograph.core import Array
from hodograph.observers.sideslip import kernels
from hodograph.observers.sideslip.parameters import LAYOUT, SideslipParameters

STEP_S = 0.01


def simulated(
    parameters: SideslipParameters, *, seconds: float = 60.0, seed: int = 0, noise: float = 1.0, speed_mps: float = 25.0
) -> tuple[Array, Array, Array]:
    """(t_s (n,), states (n, 7), inputs (n, 5)): slow weaving with growing and falling amplitude at varying speed."""
    rng = np.random.default_rng(seed)
    p = parameters.array
    n = round(seconds / STEP_S)
    t_s = STEP_S * np.arange(n)
    v_x = speed_mps * (1 + 0.2 * np.sin(2 * np.pi * t_s / 17))
    a_x = np.gradient(v_x, STEP_S)
    steer = 0.018 * np.sin(2 * np.pi * t_s / 5.3) * (1 + 0.5 * np.sin(2 * np.pi * t_s / 23)) + 0.004 * np.sin(t_s * 1.9)
    x, f, F = np.zeros(len(LAYOUT)), np.zeros(len(LAYOUT)), np.zeros((len(LAYOUT), len(LAYOUT)))
    x[LAYOUT["steer_offset_rad"]] = parameters.steer_offset_start_rad
    x[LAYOUT["acc_y_offset_mps2"]] = parameters.acc_y_offset_start_mps2
    q = np.sqrt(STEP_S) * p[16:22] * noise
    fade = np.exp(-STEP_S / p[23])
    states, inputs = np.empty((n, len(LAYOUT))), np.empty((n, 5))
    for k in range(n):
        if k:
            kernels.predict(x, v_x[k], steer[k], a_x[k], STEP_S, p, f, F)
            x = f.copy()
            x[:6] += q * rng.normal(size=6)
            x[6] += noise * p[22] * np.sqrt(1 - fade**2) * rng.normal()
        states[k] = x
        delta = steer[k] - x[LAYOUT["steer_offset_rad"]]
        a_y = (x[2] * np.cos(delta) + x[3]) / p[0] + x[5] + noise * p[24] * rng.normal()
        inputs[k] = v_x[k], steer[k], a_y, a_x[k], x[1] + noise * p[25] * rng.normal()
    return t_s, states, inputs
