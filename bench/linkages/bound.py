"""The posterior Cramér-Rao bound of a row: what no causal estimator can beat on average.

The truth obeys the trapezoidal rule without noise; unknown are the start and the strength of gravity, each with a
prior as wide as the error that the benchmark puts in (5 deg/s for the velocity). The information is propagated along
the true motion, so the bound is the covariance of the filter that is linearised there.
"""

from __future__ import annotations

from functools import cache
from math import pi
from pathlib import Path

import numpy as np

from hodograph.bench.linkages.config import (
    CONFIGURATIONS,
    LEVELS,
    PRIOR_STD,
    STEP_S,
    STEPS,
    delivered,
    sensors_on,
    true_model,
)
from hodograph.bench.linkages.truth import truth_of
from hodograph.core.frames import Array
from hodograph.multibody.motion.derivatives import sensitivity
from hodograph.multibody.motion.kinematics import mass_matrix
from hodograph.observers.on_mechanism.uncertainty import gravity_error


@cache
def bound_rad(
    mechanism: str,
    config: str,
    sensors: str,
    rate_hz: int,
    reference: Path | None = None,
    level: str = "high",
    *,
    prior_std_rad: float | None = None,
) -> float:
    """RMS over all steps of the bound's deviation of the crank angles, rad.

    The prior of the angles is the error put in at this level, unless `prior_std_rad` says otherwise: the observers are
    told 5 deg, but start π/16 off, and a bound for starts that are mostly within 5 deg does not hold for such a one.
    """
    F, H = _along_truth(mechanism, config, sensors, reference)
    n = F.shape[1]
    f = (n - 1) // 2
    std_z = LEVELS[level] * pi / 16.0 if prior_std_rad is None else prior_std_rad
    P = np.diag([std_z**2] * f + [PRIOR_STD**2] * f + [LEVELS[level] ** 2])
    R = np.diag(truth_of(mechanism, config, reference).sets[sensors].table.var)
    read = delivered(rate_hz)
    total = np.zeros(f)
    for k in range(STEPS):
        P = F[k] @ P @ F[k].T
        if read[k]:
            K = np.linalg.solve(H[k] @ P @ H[k].T + R, H[k] @ P).T
            left = np.eye(n) - K @ H[k]
            P = left @ P @ left.T + K @ R @ K.T
        total += np.diag(P)[:f]
    return float(np.sqrt(total / STEPS).mean())


@cache
def _along_truth(mechanism: str, config: str, sensors: str, reference: Path | None) -> tuple[Array, Array]:
    """Transition (steps, n, n) and measurement (steps, m, n) matrices of [z, zd, gravity] along the truth."""
    configuration = CONFIGURATIONS[config]
    model = true_model(mechanism, configuration)
    rows = sensors_on(model, mechanism, sensors, configuration)
    truth = truth_of(mechanism, config, reference)
    column = np.array(gravity_error(model, 0.0, 1.0).column)
    z, f = model.independent, len(model.independent)
    F, H = [], []
    before = None
    for state in truth.states:
        s = sensitivity(model, state)
        mass = s.r.T @ mass_matrix(model, state.q) @ s.r
        gain = np.linalg.solve(mass, s.r.T @ column)[:, None]
        now = np.hstack([s.qdd_z[z], s.qdd_zd[z], gain])
        F.append(_trapezoidal(before if before is not None else now, now))
        by_z, by_zd = rows.chained(state)
        H.append(np.hstack([by_z, by_zd, np.zeros((len(by_z), 1))]))
        before = now
    if len(F) != STEPS or F[0].shape[0] != 2 * f + 1:
        raise ValueError("the truth does not have the benchmark's length")
    return np.array(F), np.array(H)


def _trapezoidal(before: Array, now: Array) -> Array:
    """The exact Jacobian of one trapezoidal step; `before`, `now` (f, 2f+1) are those of the accelerations."""
    f, n = before.shape
    half = 0.5 * STEP_S
    left, right = np.eye(n), np.eye(n)
    left[:f, f : 2 * f] = -half * np.eye(f)
    right[:f, f : 2 * f] = half * np.eye(f)
    left[f : 2 * f] -= half * now
    right[f : 2 * f] += half * before
    return np.linalg.solve(left, right).astype(np.float64)
