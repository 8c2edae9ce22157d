"""`hodograph bench`: speed with peers beside us in the same run."""

from __future__ import annotations

import json
import sys

from rich.console import Console
from rich.table import Table


def run_bench_kernels(*, as_json: bool) -> None:
    """Microseconds per step of the multibody kernels, and how many times faster than exudyn when that is installed."""
    from hodograph.multibody.speed import kernel_report, kernel_timings
    from hodograph.observers.speed import ukf28_timings

    Console(file=sys.stderr).print("measuring (half a minute; compiling first if need be) ...")
    timings = kernel_timings()
    report = kernel_report(timings)
    unscented = ukf28_timings()
    report["ratios"]["ukf28_vs_filterpy"] = None if unscented is None else round(unscented.ratio, 2)
    if as_json:
        sys.stdout.write(json.dumps(report) + "\n")
        return
    table = Table("step", "median µs", "min µs", title="CPU time per step, runs interleaved")
    for name, timing in timings.items():
        table.add_row(name, f"{timing.median_us:.2f}", f"{timing.min_us:.2f}")
    console = Console()
    console.print(table)
    for name, ratio in report["ratios"].items():
        console.print(f"{name}: {ratio} times" if ratio else f"{name}: peer not installed")
