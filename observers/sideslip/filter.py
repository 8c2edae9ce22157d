"""Sideslip by an extended Kalman filter: four wheels, relaxing axle forces, offsets, and a rear axle that rolls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hodograph.core import Array, StateLayout, Verdict
from hodograph.observers.sideslip import kernels
from hodograph.observers.sideslip.parameters import LAYOUT, SideslipParameters

INPUTS = ("v_x_mps", "steer_rad", "acc_y_mps2", "acc_x_mps2", "yaw_rate_radps")
MEASUREMENTS = ("yaw_rate_radps", "acc_y_mps2", "rear_axle_rolls", "vsa_rad")
GATE_STD = 6.0


@dataclass(frozen=True, slots=True)
class SideslipRun:
    """What the filter made of a drive: states and 1-sigma (n, 7) by `layout`, β and its 1-sigma (n,) in rad.

    `nis` (n,) is the squared surprise of yaw rate and ay, 2 on average where the model holds. `verdicts` (n, 4) has one
    `Verdict` per measurement of MEASUREMENTS; `minus_2_log_likelihood` is that of ay and yaw rate.
    """

    layout: StateLayout
    states: Array
    stds: Array
    beta_rad: Array
    beta_std_rad: Array
    nis: Array
    verdicts: NDArray[np.int8]
    minus_2_log_likelihood: float

    def __getitem__(self, name: str) -> Array:
        """The row `name` over time, (n,)."""
        return self.states[:, self.layout[name]]

    def count(self, measurement: str, verdict: Verdict) -> int:
        """How many readings of a measurement got that verdict."""
        return int(np.sum(self.verdicts[:, MEASUREMENTS.index(measurement)] == verdict))


def run_sideslip(
    t_s: Array,
    inputs: Array,
    parameters: SideslipParameters,
    *,
    vsa_rad: Array | None = None,
    vsa_std_rad: Array | None = None,
) -> SideslipRun:
    """The filter over a drive, strictly causal: t_s (n,) increasing; inputs (n, 5) as INPUTS, NaN = not there.

    `vsa_rad` (n,) with `vsa_std_rad` (n,) is a further measurement of β, e.g. a network's, NaN where it says nothing.
    """
    n = len(t_s)
    if inputs.shape != (n, len(INPUTS)):
        raise ValueError(f"sideslip: inputs {inputs.shape}, want ({n}, {len(INPUTS)}): {', '.join(INPUTS)}")
    if np.any(np.diff(t_s) < 0):
        raise ValueError("sideslip: time runs backwards")
    silent = np.full(n, np.nan)
    vsa = silent if vsa_rad is None else np.ascontiguousarray(vsa_rad, dtype=np.float64)
    vsa_var = silent if vsa_std_rad is None else np.square(np.asarray(vsa_std_rad, dtype=np.float64))
    states, stds, verdicts = np.empty((n, len(LAYOUT))), np.empty((n, len(LAYOUT) + 2)), np.empty((n, 4))
    score = kernels.run(
        np.ascontiguousarray(t_s, dtype=np.float64),
        np.ascontiguousarray(inputs, dtype=np.float64),
        vsa,
        vsa_var,
        GATE_STD,
        parameters.array,
        states,
        stds,
        verdicts,
    )
    beta_rad = np.arctan2(states[:, LAYOUT["v_y_mps"]], np.maximum(inputs[:, 0], 1e-3))
    return SideslipRun(
        LAYOUT, states, stds[:, :-2], beta_rad, stds[:, -2], stds[:, -1], verdicts.astype(np.int8), float(score)
    )


def warm_up() -> None:
    """Compile the kernel now rather than at the first sample (seconds, once; cached on disk)."""
    run_sideslip(np.array([0.0, 0.01]), np.array([[20.0, 0.0, 0.0, 0.0, 0.0]] * 2), SideslipParameters())
