"""Tools around observers: local observability, whiteness of innovations, noise from a standstill, likelihood tuning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.signal import periodogram
from scipy.stats import chi2

from hodograph.core.frames import Array
from hodograph.multibody.derivatives import sensitivity
from hodograph.multibody.model import Model, State
from hodograph.observers.kernels.algebra import LOG_LIKELIHOOD
from hodograph.observers.mechanism import MechanismEngine
from hodograph.sensors import SensorSet


def observability_matrix(model: Model, sensors: SensorSet, state: State) -> Array:
    """Local observability matrix (2f·m, 2f) of [z, zd] at a state: H, H A, H A², …"""
    s = sensitivity(model, state)
    f = len(model.independent)
    A = np.zeros((2 * f, 2 * f))
    A[:f, f:] = np.eye(f)
    A[f:, :f], A[f:, f:] = s.zdd_z, s.zdd_zd
    H = np.hstack(sensors.chained(state))
    return _stack(H, A)


def _stack(H: Array, A: Array) -> Array:
    blocks = [H]
    for _ in range(len(A) - 1):
        blocks.append(blocks[-1] @ A)
    return np.vstack(blocks)


def observability(model: Model, sensors: SensorSet, state: State) -> float:
    """log10 of the condition number of the local observability matrix; infinite where a direction cannot be seen."""
    return log_condition(observability_matrix(model, sensors, state))


def log_condition(matrix: Array) -> float:
    """log10 of the condition number; infinite for a singular matrix."""
    singular = np.linalg.svd(matrix, compute_uv=False)
    smallest = float(singular[-1])
    return float(np.log10(singular[0] / smallest)) if smallest > 1e-14 * float(singular[0]) else float("inf")


def statistical_observability(
    f: Callable[[Array], Array], h: Callable[[Array], Array], x: Array, P: Array, alpha: float = 1.0
) -> float:
    """The same for a UKF: f (one step) and h are linearised statistically over the sigma points of (x, P)."""
    n = len(x)
    spread = alpha * np.sqrt(n) * np.linalg.cholesky(P)
    points = np.vstack([x + spread.T, x - spread.T])
    deviations = points - x
    F, H = (_regress(np.array([g(p) for p in points]), deviations) for g in (f, h))
    return log_condition(_stack(H, F))


def _regress(values: Array, deviations: Array) -> Array:
    centred = values - values.mean(axis=0)
    slope: Array = np.linalg.lstsq(deviations, centred, rcond=None)[0].T
    return slope


@dataclass(frozen=True, slots=True)
class Whiteness:
    """How white innovations are: mean NIS per row (1 is ideal) with its 95 % bounds, autocorrelation, spectrum."""

    mean_nis: float
    nis_bounds: tuple[float, float]
    autocorrelation: Array
    autocorrelation_limit: float
    frequency_hz: Array
    psd: Array

    @property
    def white(self) -> bool:
        """Whether no more than a tenth of the autocorrelation leaves its 95 % limit."""
        return bool((np.abs(self.autocorrelation[1:]) > self.autocorrelation_limit).mean() <= 0.1)


def whiteness(innovations: Array, variances: Array, rate_hz: float, lags: int = 40) -> Whiteness:
    """Judge the innovations (k,) of one row with their predicted variances (k,); entries without reading are NaN."""
    good = np.isfinite(innovations) & np.isfinite(variances)
    scaled = innovations[good] / np.sqrt(variances[good])
    count = len(scaled)
    if count < 2 * lags:
        raise ValueError(f"{count} innovations are too few for {lags} lags")
    centred = scaled - scaled.mean()
    full = np.correlate(centred, centred, "full")[count - 1 : count + lags]
    frequency_hz, psd = periodogram(scaled, rate_hz)
    low, high = (float(chi2.ppf(p, count)) / count for p in (0.025, 0.975))
    return Whiteness(float((scaled**2).mean()), (low, high), full / full[0], 1.96 / count**0.5, frequency_hz, psd)


def noise_from_standstill(samples: Array) -> Array:
    """R (m, m) from readings (k, m) taken while nothing moves: covariance about the mean, NaN rows left out.

    A drift is taken off by differences of neighbours, half whose covariance is that of white noise.
    """
    good = samples[np.isfinite(samples).all(axis=1)]
    if len(good) < 10:
        raise ValueError(f"{len(good)} samples are too few for a covariance, want 10")
    steps = np.diff(good, axis=0)
    return np.atleast_2d(0.5 * steps.T @ steps / len(steps)).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Tuned:
    """The most likely parameters, and the log-likelihood before and after."""

    parameters: Array
    log_likelihood: float
    log_likelihood_start: float


def tune(
    make: Callable[[Array], MechanismEngine], readings: Sequence[Array], start: Array, iterations: int = 60
) -> Tuned:
    """Maximum likelihood over the logarithms of positive parameters (noise densities, deviations).

    `make(parameters)` builds a fresh engine; `readings` are grids (steps, m) as for `MechanismEngine.run`. The
    likelihood is that of the innovations; a run that loses its state counts as impossible.
    """

    def cost(logs: Array) -> float:
        total = 0.0
        for grid in readings:
            engine = make(np.exp(logs))
            if engine.run(grid).done < len(grid):
                return 1e12
            total -= float(engine.node.counts[LOG_LIKELIHOOD])
        return total

    begin = np.log(np.asarray(start, dtype=np.float64))
    found = minimize(cost, begin, method="Nelder-Mead", options={"maxiter": iterations, "xatol": 0.05, "fatol": 0.05})
    return Tuned(np.exp(found.x), -float(found.fun), -cost(begin))
