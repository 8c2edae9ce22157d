"""`hodograph warmup`: compile all kernels once, with a progress bar, on as many cores as there are."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

FIRST = 2
"""So many jobs come before all others, which use what they compile."""
LONGEST = "extended Kalman filters"
SHARING = ("unscented filters", "continuous filter", "filters on all coordinates")


@cache
def _jobs() -> dict[str, Callable[[], object]]:
    from hodograph.ann.network import warm_up as warm_up_networks
    from hodograph.ann.observer import warm_up as warm_up_models
    from hodograph.multibody.warm_up import warm_up_jobs
    from hodograph.observers.sideslip.observer import warm_up as warm_up_sideslip
    from hodograph.observers.warm_up import warm_up_jobs as observer_jobs

    jobs = {**dict(warm_up_jobs()), **dict(observer_jobs())}
    sideslip = {"sideslip filter": warm_up_sideslip, "sideslip networks": warm_up_networks}
    return jobs | sideslip | {"sideslip models": warm_up_models}


def _compile(name: str) -> str:
    """Run one job in this process; the machine code goes to the disk, where other processes find it."""
    _jobs()[name]()
    return name


def _in_order(names: list[str]) -> list[str]:
    """The longest first, and those that share most with it last: two that start together compile it twice."""
    return sorted(names, key=lambda name: -1 if name == LONGEST else SHARING.index(name) + 1 if name in SHARING else 0)


def _marker() -> Path:
    """Stands in the cache of this state of the sources when all of it has been compiled."""
    from hodograph.numerics.cache import CACHE, tree_key

    return CACHE / f"complete-{tree_key()}"


def run_warmup() -> None:
    """Compile everything; what is compiled already takes moments."""
    console = Console(file=sys.stderr)
    began = time.monotonic()
    with Progress(
        TextColumn("{task.description:30}"), BarColumn(), TextColumn("{task.completed}/{task.total}"),
        TimeElapsedColumn(), console=console,
    ) as progress:  # fmt: skip
        task = progress.add_task("compiling", total=None)
        names = list(_jobs())
        progress.update(task, total=len(names))
        marker = _marker()
        alone = names if marker.exists() else names[:FIRST]  # loading is faster than starting processes
        for name in alone:
            progress.update(task, description=name)
            _compile(name)
            progress.advance(task)
        spawn = multiprocessing.get_context("spawn")  # numba's compiler does not survive a fork
        with ProcessPoolExecutor(min(os.cpu_count() or 1, 4), mp_context=spawn) as pool:
            for done in as_completed([pool.submit(_compile, name) for name in _in_order(names[len(alone) :])]):
                progress.update(task, description=done.result())
                progress.advance(task)
        marker.touch()
        progress.update(task, description="ready")
    console.print(f"kernels are compiled and kept ({time.monotonic() - began:.1f} s)")
