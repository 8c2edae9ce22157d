"""`hodograph info`: what is in a log and how good it is."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hodograph.acquisition.health import EstimateHealth, StreamHealth, estimate_health, stream_health
from hodograph.acquisition.log import LogReader
from hodograph.cli.console import print_json, progress, stdout
from hodograph.replay.exporters.options import YEAR_2000_NS


def run_info(path: Path, *, align: tuple[str, str] | None, max_offset_s: float | None, as_json: bool) -> None:
    """Prints the health of every stream, what was lost, and on request the offset between two clocks."""
    with progress("checking every batch"):
        log = LogReader(path, verify=True)
    health = log_health(log)
    alignment = None
    if align is not None:
        from hodograph.acquisition.align import align as align_clocks

        with progress("comparing signals"):
            alignment = align_clocks(log, *align, max_offset_s=max_offset_s)
    if as_json:
        document = info_document(log, health)
        if alignment is not None:
            document["align"] = alignment.as_json()
        print_json(document)
        return
    print_info(stdout(), log, health)
    if alignment is not None:
        stdout().print("\n" + escape(alignment.explanation), soft_wrap=True)


def log_health(log: LogReader) -> dict[str, StreamHealth]:
    """The health of every stream by name."""
    health = {}
    with progress("reading") as show:
        for done, name in enumerate(log.streams):
            show(done, len(log.streams))
            health[name] = stream_health(log, name)
    return health


def info_document(log: LogReader, health: Mapping[str, StreamHealth]) -> dict[str, object]:
    """What `info --json` prints."""
    meta = log.meta
    return {
        "log": str(log.path),
        "created_utc": meta.created_utc,
        "software": meta.software,
        "clock": meta.clock,
        "notes": dict(meta.notes),
        "duration_s": _duration_s(log),
        "streams": {name: stream.as_json() for name, stream in health.items()},
        "estimates": {
            name: estimate_health(log, name).as_json() | {"notes": dict(log.notes(name))} for name in log.estimates
        },
        "raw": {name: {"chunks": log.rows(name)} for name in log.raw_streams},
        "events": dict(Counter(str(event.kind) for event in log.events)),
        "lost": {name: dataclasses.asdict(loss) for name, loss in log.lost.items()},
    }


def print_info(console: Console, log: LogReader, health: Mapping[str, StreamHealth]) -> None:
    """The same for people: a table of streams and one of estimates, then events and losses."""
    meta, span_ns = log.meta, log.span_ns
    console.print(f"[bold]{escape(str(log.path))}[/bold]  {_duration_s(log):.1f} s, by {escape(meta.software)}")
    if span_ns is not None and span_ns[0] > YEAR_2000_NS:
        began = datetime.fromtimestamp(span_ns[0] / 1e9, UTC)
        console.print(f"from {began:%Y-%m-%d %H:%M:%S} UTC; clock: {escape(meta.clock)}", soft_wrap=True)
    else:
        console.print(f"clock: {escape(meta.clock)}", soft_wrap=True)
    console.print(_stream_table(health))
    for name, stream in health.items():
        silent = [channel for channel, share in stream.nan_share.items() if share == 1.0]
        if silent:
            console.print(f"{name}: never a value in {', '.join(silent)}", soft_wrap=True)
        longest = stream.timing.longest_gaps[:1]
        if longest and span_ns is not None:
            at_s = (longest[0].t_ns - span_ns[0]) / 1e9
            console.print(f"{name}: longest gap {longest[0].duration_s:.3f} s, at {at_s:.1f} s")
    for name in log.raw_streams:
        console.print(f"{name}: {log.rows(name)} chunks of raw bytes")
    if log.estimates:
        console.print(_estimate_table([estimate_health(log, name) for name in log.estimates]))
    kinds = Counter(str(event.kind) for event in log.events)
    if kinds:
        console.print("events: " + ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())))
    for name, loss in log.lost.items():
        words = f"lost from {name}: {loss.bytes} bytes, {_at_most(loss.at_most_s)} ({loss.reason})"
        console.print(f"[yellow]{escape(words)}[/yellow]", soft_wrap=True)
    if not log.lost:
        console.print("nothing lost")


def _stream_table(health: Mapping[str, StreamHealth]) -> Table:
    table = Table("stream", box=None, pad_edge=False, header_style="bold")
    for heading in ("rows", "rate Hz", "jitter ms", "p99 ms", "gaps", "drops", "NaN", "clock"):
        table.add_column(heading, justify="right")
    for name, stream in health.items():
        timing = stream.timing
        worst = max((share for share in stream.nan_share.values() if share < 1.0), default=0.0)
        table.add_row(
            name,
            str(stream.rows),
            _number(timing.rate_hz, "{:.2f}"),
            _number(1e3 * timing.jitter_std_s, "{:.2f}"),
            _number(1e3 * timing.jitter_p99_s, "{:.2f}"),
            str(timing.gaps),
            str(stream.drops),
            f"{100 * worst:.1f} %" if worst else "none",
            timing.clock,
        )
    return table


def _estimate_table(estimates: Sequence[EstimateHealth]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("estimate", overflow="fold")
    for heading in ("rows", "rate Hz", "gaps", "valid", "sideslip 1σ deg"):
        table.add_column(heading, justify="right")
    for one in estimates:
        table.add_row(
            escape(one.estimate),
            str(one.rows),
            _number(one.rate_hz, "{:.2f}"),
            str(one.gaps),
            "-" if one.valid_share is None else f"{100 * one.valid_share:.1f} %",
            _number(math.degrees(one.beta_cg_std_rad), "{:.2f}"),
        )
    return table


def _number(value: float, form: str) -> str:
    return form.format(value) if math.isfinite(value) else "-"


def _at_most(seconds: float) -> str:
    return f"at most {seconds:.2f} s" if math.isfinite(seconds) else "nobody can say how much"


def _duration_s(log: LogReader) -> float:
    return 0.0 if log.span_ns is None else (log.span_ns[1] - log.span_ns[0]) / 1e9
