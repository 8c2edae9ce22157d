"""`hodograph bench linkages`: the observers of seed 002 on its four-bar and five-bar linkage, row by row."""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from hodograph.cli.console import print_json
from hodograph.observers.linkages.config import CONFIGURATIONS, LEVELS, LINKAGES, RATES_HZ, SENSORS
from hodograph.observers.linkages.grid import Case, Score, Source, run_grid
from hodograph.observers.recipes import RECIPES

TABLE_COLUMNS = 100


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
    """Run the chosen part of the grid and print it."""
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
    scores = []
    for count, score in enumerate(run_grid(cases, Source(reference, seed), as_published=as_published), 1):
        scores.append(score)
        if count % 50 == 0 or count == 1:
            progress.print(f"{count} of {len(cases)} rows")
    if report is not None:
        from hodograph.cli.linkage_report import write_report

        progress.print(f"report: {write_report(report, scores, config, Source(reference, seed))}")
    if as_json:
        document = {"config": config, "as_published": as_published, "rows": [s.as_json() for s in scores]}
        print_json(document)
        return
    console = Console(width=max(Console().width, TABLE_COLUMNS))  # numbers are never cut: rather a wide line
    for m in mechanisms:
        console.print(_table(m, [s for s in scores if s.case.mechanism == m], rates))


def _chosen(option: str, text: str | None, known: list[str]) -> list[str]:
    if text is None:
        return known
    wanted = [part.strip() for part in text.split(",")]
    unknown = [w for w in wanted if w not in known]
    if unknown:
        raise typer.BadParameter(f"{option} {', '.join(unknown)}: there are {', '.join(known)}")
    return wanted


def _table(mechanism: str, scores: list[Score], rates: list[int]) -> Table:
    table = Table(title=f"{mechanism}: RMS of the crank angle in rad, x = diverged", box=None, pad_edge=False)
    for heading in ("sensors", "observer", "error", *(f"{r} Hz" for r in rates), "ms/10 s"):
        numeric = heading not in ("sensors", "observer", "error")
        table.add_column(heading, justify="right" if numeric else "left", no_wrap=True)
    keys = dict.fromkeys((s.case.sensors, s.case.observer, s.case.error_level) for s in scores)
    for key in keys:
        rows = {s.case.rate_hz: s for s in scores if (s.case.sensors, s.case.observer, s.case.error_level) == key}
        cells = ["x" if rows[r].diverged else f"{rows[r].rms_rad:.5f}" for r in rates]
        table.add_row(*key, *cells, f"{1e4 * min(s.rtf for s in rows.values()):.1f}")
    return table
