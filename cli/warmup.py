"""`hodograph warmup`: compile all kernels once, with a progress bar."""

from __future__ import annotations

import sys
import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn


def run_warmup() -> None:
    """Compile everything; what is compiled already takes moments."""
    from hodograph.ann.network import warm_up as warm_up_networks
    from hodograph.multibody.warm_up import warm_up_jobs
    from hodograph.observers.sideslip.filter import warm_up as warm_up_sideslip
    from hodograph.observers.warm_up import warm_up_jobs as observer_jobs

    console = Console(file=sys.stderr)
    began = time.monotonic()
    with Progress(
        TextColumn("{task.description:30}"), BarColumn(), TextColumn("{task.completed}/{task.total}"),
        TimeElapsedColumn(), console=console,
    ) as progress:  # fmt: skip
        task = progress.add_task("compiling", total=None)
        jobs = [*warm_up_jobs(), *observer_jobs()]
        jobs += [("sideslip filter", warm_up_sideslip), ("sideslip networks", warm_up_networks)]
        progress.update(task, total=len(jobs))
        for name, job in jobs:
            progress.update(task, description=name)
            job()
            progress.advance(task)
        progress.update(task, description="ready")
    console.print(f"kernels are compiled and kept ({time.monotonic() - began:.1f} s)")
