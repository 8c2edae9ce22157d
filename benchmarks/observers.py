"""Observers: ten seconds of the four-bar in the kernel, and a 28-state UKF beside filterpy's

python -m benchmarks.observers

Truth and noise come from the reference folder when HODOGRAPH_DATA (default ../shared/data) has it.
"""

from __future__ import annotations

import functools
import os
import statistics
import time
from collections.abc import Callable
from math import exp, log
from pathlib import Path

import numpy as np

from hodograph.observers.linkages.bound import bound_rad
from hodograph.observers.linkages.grid import Case, Source, problem_of, readings_of, score
from hodograph.observers.mechanism import engine
from hodograph.observers.speed import ukf28_timings

ROUNDS = 7
SETS = ("encoder_crank", "gyro_coupler", "gyro_crank")
RATES_HZ = (200, 50, 10)


def _reference() -> Path | None:
    folder = Path(os.environ.get("HODOGRAPH_DATA", "../shared/data")) / "linkages"
    return folder if folder.is_dir() else None


def _cpu_ms(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return 1e3 * (time.process_time() - begin)


def _ten_seconds() -> None:
    print(f"{'four-bar, encoder 200 Hz, 10 s':<34}{'median ms':>10}{'min ms':>10}   target")
    targets = {"error_ekf": 20.0, "ukf_fe": 100.0, "ukf_tr": 100.0}
    names = (
        "dekf", "error_ekf", "error_ekf_ej", "error_ekf_fe", "ukf_fe", "ukf_tr", "srukf", "cekf", "sckf", "diekf_pm",
        "force_ekf",
    )  # fmt: skip
    for name in names:
        case = Case("fourbar", "encoder_crank", name, 200, "high")
        readings, problem = readings_of(case, Source()), problem_of(case)
        engine(problem, name).run(readings)
        fresh = [engine(problem, name) for _ in range(ROUNDS)]
        times = [_cpu_ms(functools.partial(one.run, readings)) for one in fresh]
        target = f"<= {targets[name]:.0f}" if name in targets else ""
        print(f"{name:<34}{statistics.median(times):>10.1f}{min(times):>10.1f}   {target}")


def _better(reference: Path | None) -> None:
    print("\nRMS / bound and spread over 20 seeds of our own, high error, 200 / 50 / 10 Hz")
    for config in ("nd2017", "head2023"):
        for name in ("force_ekf", "gravity_ukf"):
            ratios = []
            for sensors in SETS:
                cells = []
                for rate in RATES_HZ:
                    case = Case("fourbar", sensors, name, rate, "high", config)
                    bound = bound_rad("fourbar", config, sensors, rate, reference)
                    seeds = [score(case, Source(None, seed)).rms_rad for seed in range(100, 120)]
                    own = score(case, Source(reference)).rms_rad
                    ratios.append(own / bound)
                    spread = f"{np.mean(seeds):.5f} ± {np.std(seeds):.5f}"
                    cells.append(f"{own:.5f} ({own / bound:.2f} of the bound; seeds {spread})")
                print(f"{config} {name:<12}{sensors:<14}" + "   ".join(cells))
            print(f"{config} {name:<12}geometric mean of RMS / bound {exp(sum(map(log, ratios)) / len(ratios)):.2f}")


def main() -> None:
    """Print all tables."""
    _ten_seconds()
    timings = ukf28_timings()
    if timings is not None:
        print(
            f"\nUKF, 28 states, 57 points, 14 rows: ours {timings.ours_us:.1f} us, "
            f"filterpy {timings.theirs_us:.0f} us, {timings.ratio:.1f} times (target >= 15)"
        )
    _better(_reference())


if __name__ == "__main__":
    main()
