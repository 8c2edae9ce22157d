"""What every command prints with: results on stdout, progress and warnings on stderr."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

OnProgress = Callable[[float, float], None]


def stdout() -> Console:
    """For results that people read."""
    return Console(highlight=False)


def stderr() -> Console:
    """For progress and warnings."""
    return Console(stderr=True, highlight=False)


def warn(text: str) -> None:
    """One line on stderr."""
    sys.stderr.write(f"hodograph: warning: {text}\n")


def print_json(document: Mapping[str, object]) -> None:
    """One JSON document on stdout; a number that is not finite becomes null, for JSON knows none."""
    sys.stdout.write(json.dumps(_plain(document), indent=2, allow_nan=False, default=str) + "\n")


def _plain(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value


@contextmanager
def progress(description: str) -> Iterator[OnProgress]:
    """A bar on stderr while the block runs; call what you get with (done, total). Nothing when no one is looking."""
    console = stderr()
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:3.0f} %"))
    with Progress(
        *columns, TimeElapsedColumn(), console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(description, total=None)

        def show(done: float, total: float) -> None:
            bar.update(task, completed=done, total=total)

        yield show
