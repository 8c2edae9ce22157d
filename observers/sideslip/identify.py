"""Tyres, inertia and noise of the sideslip filter from a drive, by maximum likelihood.

With a reference the likelihood is that of the reference under the filter's own estimate and band, so that both the
estimate and its band are fitted; without, that of ay and yaw rate under the filter's predictions (their consistency).
Weak priors around the vehicle file (or around any car) keep what the drive does not excite where it was.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from hodograph.core import Array
from hodograph.core.display import short_repr
from hodograph.observers.sideslip.channels import V_MIN_MPS, V_X
from hodograph.observers.sideslip.drive import SideslipDrive
from hodograph.observers.sideslip.observer import SideslipRun, engine_for, run_drive
from hodograph.observers.sideslip.parameters import SideslipParameters

REFERENCE_STD_RAD = math.radians(0.05)
REFERENCE_EVERY_S = 0.05
CORRELATED_S = 1.0  # errors this near in time are one piece of evidence, not many: the likelihood is tempered by it
STUDENT = 4.0  # degrees of freedom of the errors: a stretch that no parameter explains must not bend all of them
SETTLE_S = 1.0  # of each drive, not judged
ESTIMATED: Mapping[str, float] = {  # 1-sigma of the prior of log(parameter); offsets: of the parameter itself
    "yaw_inertia_kgm2": 0.1,
    "cg_height_m": 0.1,
    "stiffness_front_n_rad": 0.5,
    "stiffness_rear_n_rad": 0.5,
    "friction_front": 0.15,
    "friction_rear": 0.15,
    "shape": 0.075,
    "load_sensitivity": 0.35,
    "relaxation_m": 0.35,
    "force_front_std_n": 0.75,
    "force_rear_std_n": 0.75,
    "v_y_std_mps": 0.75,
    "gravity_y_std_mps2": 0.75,
    "gravity_y_time_s": 0.5,
    "acc_y_meas_std_mps2": 0.35,
    "rolling_std_rad": 0.5,
    "steer_offset_start_rad": 0.0015,
    "acc_y_offset_start_mps2": 0.05,
}
GEOMETRY: Mapping[str, float] = {"cg_to_front_m": 0.15, "cg_to_rear_m": 0.15}  # too, when no vehicle file says
OFFSETS = ("steer_offset_start_rad", "acc_y_offset_start_mps2")


@dataclass(frozen=True, slots=True)
class Identified:
    """The parameters, and 95 % confidence limits (low, high) of those that were estimated."""

    parameters: SideslipParameters
    limits: Mapping[str, tuple[float, float]]
    minus_log_likelihood: float
    evaluations: int

    __repr__ = short_repr


def identify(
    drives: Sequence[SideslipDrive],
    prior: SideslipParameters,
    *,
    geometry_known: bool,
    confidence: bool = True,
    on_progress: Callable[[float], None] | None = None,
    max_iterations: int = 40,
) -> Identified:
    """Parameters that make the drives most likely, started at and held loosely by `prior`.

    `confidence` asks for the limits, which cost as much as a few iterations.
    `on_progress` is told the -log likelihood of the best point so far, once an iteration.
    """
    widths = {**ESTIMATED, **({} if geometry_known else GEOMETRY)}
    names = tuple(widths)
    width = np.array([widths[name] for name in names])
    calls = 0

    def parameters(z: Array) -> SideslipParameters:
        return replace(prior, **{n: _value(prior, n, s) for n, s in zip(names, z * width, strict=True)})

    def cost(z: Array) -> float:
        nonlocal calls
        calls += 1
        return _minus_log_likelihood(drives, parameters(z)) + 0.5 * float(z @ z)

    def told(result: Array) -> None:
        if on_progress is not None:
            on_progress(cost(result))

    found = minimize(  # type: ignore[call-overload]
        cost,
        np.zeros(len(names)),
        method="L-BFGS-B",
        bounds=[(-4.0, 4.0)] * len(names),
        callback=told,
        options={"maxiter": max_iterations, "maxfun": 10**6, "eps": 1e-4},
    )
    z = np.asarray(found.x)
    std = np.sqrt(np.diag(_covariance(cost, z))) if confidence else np.full(len(z), np.nan)
    limits = {
        name: (
            _value(prior, name, float(width[i] * (z[i] - 1.96 * std[i]))),
            _value(prior, name, float(width[i] * (z[i] + 1.96 * std[i]))),
        )
        for i, name in enumerate(names)
        if confidence
    }
    return Identified(parameters(z), limits, float(found.fun), calls)


def _value(prior: SideslipParameters, name: str, step: float) -> float:
    centre = float(getattr(prior, name))
    return centre + step if name in OFFSETS else centre * math.exp(step)


def _judged(drive: SideslipDrive) -> NDArray[np.bool_]:
    """Samples whose reference counts: settled, moving, every REFERENCE_EVERY_S."""
    step_s = float(np.median(np.diff(drive.t_s)))
    chosen = np.zeros(len(drive.t_s), dtype=np.bool_)
    chosen[:: max(round(REFERENCE_EVERY_S / step_s), 1)] = True
    chosen &= (drive.t_s >= drive.t_s[0] + SETTLE_S) & (drive.inputs[:, V_X] >= V_MIN_MPS)
    if drive.beta_rad is not None:
        chosen &= np.isfinite(drive.beta_rad)
    return chosen


def _errors(drive: SideslipDrive, run: SideslipRun) -> tuple[Array, Array]:
    """(error, 1-sigma expected) of β where it is judged."""
    use = _judged(drive)
    beta, std = run["beta_cg_rad"], run.std_of("beta_cg_rad")
    return (beta - drive.reference_rad)[use], np.hypot(std[use], REFERENCE_STD_RAD)


def _minus_log_likelihood(drives: Sequence[SideslipDrive], parameters: SideslipParameters) -> float:
    total = 0.0
    for drive in drives:
        engine = engine_for(parameters, drive)
        run = run_drive(engine, drive)
        if drive.beta_rad is None:
            step_s = float(np.median(np.diff(drive.t_s)))
            total += 0.5 * engine.minus_2_log_likelihood * step_s / CORRELATED_S
        else:
            error, std = _errors(drive, run)
            evidence = REFERENCE_EVERY_S / CORRELATED_S
            tails = 0.5 * (STUDENT + 1) * np.log1p((error / std) ** 2 / STUDENT)
            total += evidence * float(np.sum(tails + np.log(std)))
    return total if math.isfinite(total) else 1e12


def _covariance(cost: Callable[[Array], float], z: Array) -> Array:
    """Inverse Hessian (k, k) of the cost at z by central differences; directions without curvature get the prior's."""
    k, eps = len(z), 0.1
    H = np.zeros((k, k))
    steps = eps * np.eye(k)
    centre = cost(z)
    plus, minus = [cost(z + s) for s in steps], [cost(z - s) for s in steps]
    for i in range(k):
        H[i, i] = (plus[i] + minus[i] - 2 * centre) / eps**2
        for j in range(i):
            both = cost(z + steps[i] + steps[j])
            H[i, j] = H[j, i] = (both - plus[i] - plus[j] + centre) / eps**2
    values, vectors = np.linalg.eigh(0.5 * (H + H.T))
    inverse: Array = vectors @ np.diag(1.0 / np.maximum(values, 1.0)) @ vectors.T
    return inverse
