"""`hodograph bench`: accuracy and speed, with peers beside us in the same run."""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

import typer
from rich.console import Console

from hodograph.cli.console import print_json

TABLE_COLUMNS = 100


def run_bench_kernels(*, as_json: bool) -> None:
    """Microseconds per step of the multibody kernels, and how many times faster than exudyn when that is installed."""
    from hodograph.bench import kernel_speed, unscented_speed

    Console(file=sys.stderr).print("measuring (half a minute; compiling first if need be) ...")
    timings = kernel_speed.kernel_timings()
    report = kernel_speed.kernel_report(timings, unscented_speed.ukf28_timings())
    if as_json:
        print_json(report)
        return
    console = Console()
    console.print(kernel_speed.kernel_table(timings))
    for name, ratio in report["ratios"].items():
        console.print(f"{name}: {ratio} times" if ratio else f"{name}: peer not installed")


def run_bench_car(vehicle: str, *, as_json: bool) -> None:
    """Measure the car of a vehicle file over 30 s of stop and go with a slalom, 4 ms steps."""
    from hodograph.bench import car_speed
    from hodograph.multibody.car.car import Car

    notes = Console(file=sys.stderr)
    notes.print("measuring (half a minute; compiling first if need be) ...")
    speed = car_speed.measure_car(Car.of(vehicle))
    for peer, package in speed.missing_peers().items():
        notes.print(f"{peer} is not installed, so its figures are missing: pip install {package}")
    if as_json:
        print_json(speed.report())
        return
    Console().print(speed.table(vehicle))


def run_bench_linkages(
    *,
    mechanism: str | None,
    sensors: str | None,
    observer: str | None,
    rate_hz: str | None,
    error_level: str | None,
    config: str,
    reference: Path | None,
    as_published: bool,
    seed: int,
    report: Path | None,
    as_json: bool,
) -> None:
    """Run the chosen part of the grid of observers on the four-bar and the five-bar linkage, and print it."""
    from hodograph.bench.linkages.config import CONFIGURATIONS, LEVELS, LINKAGES, RATES_HZ, SENSORS
    from hodograph.bench.linkages.grid import Case, Source, run_grid
    from hodograph.bench.linkages.table import linkage_table
    from hodograph.observers.on_mechanism.recipes import RECIPES

    if config not in CONFIGURATIONS:
        raise typer.BadParameter(f"--config {config}: there are {', '.join(CONFIGURATIONS)}")
    mechanisms = _chosen("--mechanism", mechanism, list(LINKAGES))
    observers = _chosen("--observer", observer, list(RECIPES))
    sets = _chosen("--sensors", sensors, list(SENSORS))
    rates = [int(r) for r in _chosen("--rate-hz", rate_hz, [str(r) for r in RATES_HZ])]
    levels = _chosen("--error-level", error_level, list(LEVELS))
    cases = [
        Case(m, s, o, r, level, config) for m, s, o, r, level in product(mechanisms, sets, observers, rates, levels)
    ]
    progress = Console(file=sys.stderr)
    source = Source(reference, seed)
    scores = []
    for count, score in enumerate(run_grid(cases, source, as_published=as_published), 1):
        scores.append(score)
        if count % 50 == 0 or count == 1:
            progress.print(f"{count} of {len(cases)} rows")
    if report is not None:
        from hodograph.bench.linkages.report import write_report

        progress.print(f"report: {write_report(report, scores, config, source)}")
    if as_json:
        print_json({"config": config, "as_published": as_published, "rows": [s.as_json() for s in scores]})
        return
    console = Console(width=max(Console().width, TABLE_COLUMNS))  # numbers are never cut: rather a wide line
    for m in mechanisms:
        console.print(linkage_table(m, scores, rates))


def _chosen(option: str, text: str | None, known: list[str]) -> list[str]:
    if text is None:
        return known
    wanted = [part.strip() for part in text.split(",")]
    unknown = [w for w in wanted if w not in known]
    if unknown:
        raise typer.BadParameter(f"{option} {', '.join(unknown)}: there are {', '.join(known)}")
    return wanted
