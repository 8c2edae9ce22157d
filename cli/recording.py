"""`hodograph record`: live acquisition until Ctrl-C."""

from __future__ import annotations

import dataclasses
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from rich.live import Live
from rich.table import Table

from hodograph.acquisition.log import FsyncPolicy, LogReader
from hodograph.acquisition.rig import load_rig
from hodograph.cli.console import print_json, stderr, stdout, warn
from hodograph.cli.inspecting import log_health, print_info
from hodograph.core import TransportError
from hodograph.onboard.recorder import Recorder, SensorTally
from hodograph.vehicles.file import vehicle_from_text, vehicle_text

SHOWS_PER_S = 4


def run_record(
    rig: Path, out: Path, *, seconds: float | None, vehicle: Path | None, fsync_s: float, as_json: bool
) -> None:
    """Records until the time is up, Ctrl-C or SIGTERM; all three end the log in order."""
    vehicle_toml = None if vehicle is None else _vehicle_text(vehicle)
    recorder = Recorder(load_rig(rig), out, vehicle_toml=vehicle_toml, fsync=FsyncPolicy(every_s=fsync_s))
    with _ending_by_signal(recorder.stop), _display() as show:
        tally = recorder.run(seconds=seconds, on_tick=show)
    silent = [name for name, counts in tally.items() if not counts.bytes]
    for name in silent:
        warn(f"{name}: nothing came ({tally[name].trouble or recorder.rig.sensors[name].port})")
    log = LogReader(out)
    health = log_health(log)
    if as_json:
        sensors = {name: dataclasses.asdict(counts) for name, counts in tally.items()}
        streams = {name: stream.as_json() for name, stream in health.items()}
        print_json({"log": str(out), "sensors": sensors, "streams": streams})
    else:
        print_info(stdout(), log, health)
    if len(silent) == len(tally):
        raise TransportError(f"{out}: no sensor sent anything; check ports, baud rates and cables in {rig}")


def _vehicle_text(path: Path) -> str:
    """As it stands in the file; one that nobody could use later is refused before anything is recorded."""
    text, source = vehicle_text(path)
    vehicle_from_text(text, source)
    return text


@contextmanager
def _ending_by_signal(stop: threading.Event) -> Iterator[None]:
    """Ctrl-C and SIGTERM set `stop` while the block runs."""

    def end(number: int, frame: FrameType | None) -> None:
        stop.set()

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Show:
    """Tells about ports that go and come back, and keeps the table on the screen up to date."""

    def __init__(self, live: Live | None) -> None:
        self._live = live
        self._troubles: dict[str, str] = {}

    def __call__(self, tally: Mapping[str, SensorTally]) -> None:
        for name, counts in tally.items():
            if bool(counts.trouble) != bool(self._troubles.get(name)):
                warn(counts.trouble + "; trying again" if counts.trouble else f"{name}: connected again")
            self._troubles[name] = counts.trouble
        if self._live is not None:
            self._live.update(_table(tally))


@contextmanager
def _display() -> Iterator[_Show]:
    console = stderr()
    if not console.is_terminal:
        yield _Show(None)
        return
    console.print("recording; Ctrl-C ends it")
    with Live(console=console, refresh_per_second=SHOWS_PER_S, transient=True) as live:
        yield _Show(live)


def _table(tally: Mapping[str, SensorTally]) -> Table:
    table = Table("sensor", "readings", "kB", "dropped bytes", "state", box=None)
    for name, counts in tally.items():
        state = "[green]connected[/green]" if counts.connected else "[red]waiting for the port[/red]"
        table.add_row(name, str(counts.readings), f"{counts.bytes / 1e3:.1f}", str(counts.dropped_bytes), state)
    return table
