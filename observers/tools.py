"""Tools around observers: local observability, whiteness of innovations, noise from a standstill, likelihood tuning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize
from scipy.signal import periodogram
from scipy.stats import chi2

from hodograph.core.display import short_repr
from hodograph.core.frames import Array
from hodograph.core.reading import Reading
from hodograph.core.stream_data import StreamData
from hodograph.multibody.model.build import Model, State
from hodograph.multibody.motion.derivatives import sensitivity
from hodograph.observers.counts import LOG_LIKELIHOOD
from hodograph.observers.on_mechanism.mechanism import MechanismEngine, engine
from hodograph.observers.on_mechanism.problem import Problem
from hodograph.sensors import SensorSet


def observability_matrix(model: Model, sensors: SensorSet, state: State) -> Array:
    """Local observability matrix (2f·m, 2f) of [z, zd] at a state: H, H A, H A², …

    The continuous form of Sanjurjo 2016, 4.19.
    """
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
    """log10 of the condition number (Sanjurjo 2016, 4.20); infinite for a singular matrix."""
    singular = np.linalg.svd(matrix, compute_uv=False)
    smallest = float(singular[-1])
    return float(np.log10(singular[0] / smallest)) if smallest > 1e-14 * float(singular[0]) else float("inf")


def statistical_observability(
    f: Callable[[Array], Array], h: Callable[[Array], Array], x: Array, P: Array, alpha: float = 1.0
) -> float:
    """The same for a UKF: f (one step) and h are linearised statistically over the sigma points of (x, P).

    Sanjurjo 2016, section 4.7.4.
    """
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

    __repr__ = short_repr


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
    return Whiteness(
        mean_nis=float((scaled**2).mean()),
        nis_bounds=(low, high),
        autocorrelation=full / full[0],
        autocorrelation_limit=1.96 / count**0.5,
        frequency_hz=frequency_hz,
        psd=psd,
    )


def noise_from_standstill(samples: Array | StreamData) -> Array:
    """R (m, m) from readings taken while nothing moves: (k, m), or a stream of a log; rows with NaN are left out.

    A drift is taken off by differences of neighbours, half whose covariance is that of white noise.
    """
    table = np.column_stack(list(samples.columns.values())) if isinstance(samples, StreamData) else samples
    good = table[np.isfinite(table).all(axis=1)].astype(np.float64)
    if len(good) < 10:
        raise ValueError(f"{len(good)} samples are too few for a covariance, want 10")
    steps = np.diff(good, axis=0)
    return np.atleast_2d(0.5 * steps.T @ steps / len(steps)).astype(np.float64)


def grid_of(problem: Problem, readings: Iterable[Reading], start_ns: int = 0) -> Array:
    """Readings on the steps of a problem that starts at `start_ns`: (steps, m) as `MechanismEngine.run` takes them.

    Each reading goes, its sensor's latency taken off, to the nearest step; of two in one step the later counts.
    Streams without sensor, readings before the first step and such of a wrong length are left out.
    """
    sensors = problem.sensors
    latency_s = {s.name: s.quality.latency_s for s in sensors.sensors}
    placed = []
    for reading in readings:
        span = sensors.span(reading.stream)
        if span is not None and span[1] - span[0] == len(reading.values):
            t_s = 1e-9 * (reading.t_ns - start_ns) - latency_s[reading.stream]
            placed.append((round(t_s / problem.step_s) - 1, span[0], span[1], reading.values))
    last = max((step for step, *_ in placed), default=-1)
    grid = np.full((last + 1, len(sensors.rows)), np.nan)
    for step, first, end, values in placed:
        if step >= 0:
            grid[step, first:end] = values
    return grid


@dataclass(frozen=True, slots=True)
class Tuned:
    """The most likely parameters, and the log-likelihood before and after."""

    parameters: Array
    log_likelihood: float
    log_likelihood_start: float

    __repr__ = short_repr


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


def with_noise(problem: Problem, densities: Array) -> Problem:
    """The problem with other plant noise: the density of the accelerations, then one of each disturbance."""
    old = problem.uncertainty
    if len(densities) != 1 + len(old.disturbances):
        raise ValueError(f"{len(densities)} densities, want {1 + len(old.disturbances)}")
    disturbances = tuple(
        replace(d, density=float(q)) for d, q in zip(old.disturbances, densities[1:], strict=True)
    )  # fmt: skip
    uncertainty = replace(old, density_zdd=float(densities[0]), disturbances=disturbances)
    return replace(problem, uncertainty=uncertainty)


def tune_plant_noise(
    problem: Problem, name: str, readings: Iterable[Reading], start_ns: int = 0, iterations: int = 60
) -> tuple[Problem, Tuned]:
    """The most likely plant noise of a named observer, given the readings of a log (`LogReader.readings`).

    The densities of the problem are where the search starts. Returns the problem with those found.
    """
    grid = grid_of(problem, readings, start_ns)
    if not np.isfinite(grid).any():
        raise ValueError("no reading belongs to a sensor of the problem")
    start = np.array([problem.uncertainty.density_zdd, *(d.density for d in problem.uncertainty.disturbances)])

    def make(densities: Array) -> MechanismEngine:
        return engine(with_noise(problem, densities), name)

    found = tune(make, [grid], start, iterations)
    return with_noise(problem, found.parameters), found
