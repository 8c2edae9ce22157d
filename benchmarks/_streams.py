"""Our observers beside the reference filters on noise streams of our own: nine cells of the four-bar, high error."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np

from hodograph.bench.linkages.config import TUNING, Tuning
from hodograph.bench.linkages.grid import Case, Source, score
from hodograph.bench.linkages.truth import truth_of
from hodograph.core.frames import Array

SETS = ("encoder_crank", "gyro_coupler", "gyro_crank")
RATES_HZ = (200, 50, 10)
CELLS = tuple((sensors, rate) for sensors in SETS for rate in RATES_HZ)
CONFIGS = ("nd2017", "head2023")
REFERENCES = {"nd2017": ("dekf", "error_ekf", "ukf_fe", "ukf_tr"), "head2023": ("error_ekf_fe",)}
"""The filters whose published figures are to be beaten: the best of these, cell by cell."""


def rms(observer: str, config: str, seeds: range, tuning: Tuning = TUNING) -> Array:
    """RMS in rad, (cells, seeds), on streams of our own."""
    cases = [Case("fourbar", sensors, observer, rate, "high", config) for sensors, rate in CELLS]
    published = observer in REFERENCES[config]
    truth_of("fourbar", config)

    def one(job: tuple[Case, int]) -> float:
        return score(job[0], Source(None, job[1]), as_published=published, tuning=tuning).rms_rad

    jobs = [(case, seed) for case in cases for seed in seeds]
    one(jobs[0])  # compiled before two threads want it
    with ThreadPoolExecutor(2) as pool:
        return np.array(list(pool.map(one, jobs))).reshape(len(cases), len(seeds))


@cache
def best_reference(config: str, seeds: range) -> Array:
    """RMS of the best reference filter in each cell and on each stream, (cells, seeds); our reproduction of them."""
    found: Array = np.min([rms(name, config, seeds) for name in REFERENCES[config]], axis=0)
    return found


def published(reference: Path, config: str) -> Array:
    """The best published RMS of each cell, (cells,), on the reference stream."""
    with (reference / f"results_fourbar_{config}.csv").open(encoding="utf-8") as file:
        rows = [r for r in csv.DictReader(file) if r["error_level"] == "high" and r["diverged"] == "0"]
    return np.array([min(_of_cell(rows, config, *cell)) for cell in CELLS])


def _of_cell(rows: list[dict[str, str]], config: str, sensors: str, rate: int) -> Iterator[float]:
    for row in rows:
        wanted = config == "nd2017" or row["estimator"] == "errorEKF_FE"
        if wanted and (row["sensors"], row["rate_hz"]) == (sensors, str(rate)):
            yield float(row["rms_rad"])


def geometric_mean(ratios: Array) -> float:
    """Of all entries."""
    return float(np.exp(np.log(ratios).mean()))


def pooled(ours: Array, theirs: Array) -> Array:
    """Ratio of each cell, (cells,), of the RMS over all streams."""
    found: Array = np.sqrt((ours**2).mean(axis=1) / (theirs**2).mean(axis=1))
    return found


def cells_in_line(values: Array, digits: int = 2) -> str:
    """Nine cells as three groups of three rates."""
    return "  ".join("/".join(f"{v:.{digits}f}" for v in row) for row in np.reshape(values, (3, 3)))
