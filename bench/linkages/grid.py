"""Running observers over the grid of the benchmark, one row at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import inf, pi
from pathlib import Path
from time import thread_time

import numpy as np

from hodograph.bench.linkages.config import (
    CONFIGURATIONS,
    STEP_S,
    STEPS,
    TUNING,
    Tuning,
    delivered,
    published_uncertainty,
    recipe_for,
    sensors_on,
    uncertainty_for,
    wrong_model,
    wrong_start,
)
from hodograph.bench.linkages.truth import noise_of, truth_of
from hodograph.core.display import short_repr
from hodograph.core.frames import Array
from hodograph.observers.on_mechanism.mechanism import MechanismEngine, Run
from hodograph.observers.on_mechanism.problem import Problem
from hodograph.observers.smoothing import smooth
from hodograph.sensors import sample


@dataclass(frozen=True, slots=True)
class Case:
    """One row of the benchmark."""

    mechanism: str
    sensors: str
    observer: str
    rate_hz: int
    error_level: str
    config: str = "nd2017"

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class Score:
    """What came out: RMS of the crank angles in rad (mean over degrees of freedom), CPU seconds per simulated second.

    `smoothed_rms_rad` is that of the fixed-interval smoother over the same run, where the observer has one.
    """

    case: Case
    rms_rad: float
    diverged: bool
    rtf: float
    smoothed_rms_rad: float | None = None

    def as_json(self) -> dict[str, object]:
        """The row of the JSON document."""
        c = self.case
        finite = bool(np.isfinite(self.rms_rad))
        return {
            "mechanism": c.mechanism, "sensors": c.sensors, "observer": c.observer, "rate_hz": c.rate_hz,
            "error_level": c.error_level, "rms_rad": self.rms_rad if finite else None, "diverged": self.diverged,
            "rtf": self.rtf, "smoothed_rms_rad": self.smoothed_rms_rad,
        }  # fmt: skip

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class Source:
    """Where truth and noise come from: a reference folder, or our own by seed."""

    reference: Path | None = None
    seed: int = 10


def problem_of(case: Case, tuning: Tuning = TUNING, *, as_published: bool = False) -> Problem:
    """Wrong model, wrong start, sensors and plant noise of a row."""
    configuration = CONFIGURATIONS[case.config]
    model = wrong_model(case.mechanism, configuration, case.error_level)
    sensors = sensors_on(model, case.mechanism, case.sensors, configuration)
    uncertainty = uncertainty_for(case.observer, case.mechanism, model, configuration, case.error_level, tuning)
    if as_published:
        theirs = published_uncertainty(
            case.observer, case.mechanism, case.sensors, model, configuration, case.error_level
        )
        uncertainty = theirs or uncertainty
    return Problem(model, sensors, uncertainty, wrong_start(case.mechanism, model, case.error_level), STEP_S)


def engine_of(case: Case, tuning: Tuning = TUNING, *, as_published: bool = False) -> MechanismEngine:
    """The observer of a row, without gating."""
    recipe = recipe_for(case.observer, as_published=as_published, config=case.config)
    return MechanismEngine(problem_of(case, tuning, as_published=as_published), recipe, inf)


def readings_of(case: Case, source: Source) -> Array:
    """What the observer gets: (steps, m), NaN where nothing is delivered; a step's noise is the same at all rates."""
    truth = truth_of(case.mechanism, case.config, source.reference)
    noise = noise_of(case.mechanism, source.reference, source.seed)
    readings = sample(truth.sets[case.sensors], truth.clean[case.sensors], noise)
    readings[np.logical_not(delivered(case.rate_hz))] = np.nan
    return readings


def score(
    case: Case, source: Source, *, as_published: bool = False, with_smoother: bool = False, tuning: Tuning = TUNING
) -> Score:
    """Run one row."""
    made = engine_of(case, tuning, as_published=as_published)
    readings = readings_of(case, source)
    begin_s = thread_time()
    run = made.run(readings, for_smoother=with_smoother)
    rtf = (thread_time() - begin_s) / (STEPS * STEP_S)
    z = truth_of(case.mechanism, case.config, source.reference).z
    rms_rad, diverged = judge(run, z)
    smoothed = None
    if with_smoother and len(run.F) and not diverged:
        smoothed = _rms(smooth(run).x[:, : z.shape[1]] - z)
    return Score(case, rms_rad, diverged, rtf, smoothed)


def judge(run: Run, z: Array) -> tuple[float, bool]:
    """RMS over all steps, and whether the run diverged (stopped, not finite, or off by π/2 in its second half)."""
    error = run.x[:, : z.shape[1]] - z
    if run.done < len(z) or not np.isfinite(error).all():
        return float("nan"), True
    return _rms(error), _rms(error[len(z) // 2 :]) > pi / 2.0


def _rms(error: Array) -> float:
    return float(np.sqrt((error**2).mean(axis=0)).mean())


def run_grid(cases: Iterable[Case], source: Source, *, as_published: bool = False) -> Iterator[Score]:
    """All rows in order, two at a time: the kernels run without the GIL."""

    def one(case: Case) -> Score:
        return score(case, source, as_published=as_published, with_smoother=case.observer in SMOOTHED)

    wanted = list(cases)
    for mechanism, config in dict.fromkeys((c.mechanism, c.config) for c in wanted):
        truth_of(mechanism, config, source.reference)
    for case in {c.observer: c for c in wanted}.values():  # compiled before the clock runs
        made = engine_of(case, as_published=as_published)
        made.run(readings_of(case, source)[:2], for_smoother=case.observer in SMOOTHED)
    with ThreadPoolExecutor(2) as pool:
        yield from pool.map(one, wanted)


SMOOTHED = ("force_ekf", "shaping_ekf", "gravity_ekf", "gravity_ukf")
"""Observers whose runs are also smoothed."""
