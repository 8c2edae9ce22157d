"""Tables of readings from whole columns, and running an engine over them: what a log is replayed by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hodograph.core.display import short_repr
from hodograph.core.frames import Array
from hodograph.core.layout import StateLayout
from hodograph.core.reading import Verdict
from hodograph.observers.engine import Engine, Stream, make_output
from hodograph.observers.series import series_html, series_line
from hodograph.observers.tables import Events, Grid

NODES_AT_ONCE = 20_000
"""Nodes per compiled call of a long run: their covariances need room."""


@dataclass(frozen=True, slots=True)
class StreamColumns:
    """Readings of one stream: `t_ns` (m,) of the measurement, values (m, width)."""

    stream: Stream
    t_ns: NDArray[np.int64]
    values: Array

    __repr__ = short_repr


def events_of_columns(columns: Sequence[StreamColumns]) -> Events:
    """The readings in order of (time, stream); one that says nothing at all is left out, as the online shell does."""
    if any(c.stream.joined for c in columns):
        raise ValueError("joined streams go through an OnlineObserver, which forms their means")
    kept = [StreamColumns(c.stream, c.t_ns[some], c.values[some]) for c in columns for some in [_said(c.values)]]
    t_ns = np.concatenate([c.t_ns for c in kept]).astype(np.int64)
    stream = np.concatenate([np.full(len(c.t_ns), c.stream.index, dtype=np.uint32) for c in kept])
    row = np.concatenate([np.full(len(c.t_ns), c.stream.first, dtype=np.uint32) for c in kept])
    width = np.concatenate([np.full(len(c.t_ns), c.values.shape[1]) for c in kept])
    order = np.lexsort((stream, t_ns))  # stable: equal stamps of one stream stay in order
    start = np.concatenate([[0], np.cumsum(width[order])])
    place = np.empty(len(order), dtype=np.int64)
    place[order] = start[:-1]
    value, begin = np.empty(int(start[-1])), 0
    for c in kept:
        rows = place[begin : begin + len(c.t_ns)]
        value[rows[:, None] + np.arange(c.values.shape[1])] = c.values
        begin += len(c.t_ns)
    return Events(
        t_ns=t_ns[order], stream=stream[order], row=row[order], start=start.astype(np.uint32), value=value,
        var=np.full(len(value), np.nan), verdict=np.full(len(order), int(Verdict.INVALID), dtype=np.int64),
    )  # fmt: skip


def _said(values: Array) -> NDArray[np.bool_]:
    return np.asarray(np.isfinite(values).any(axis=1), dtype=np.bool_)


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """What an engine said at its nodes: state and 1-sigma (n, N) by `layout`, whether it is to be used (n,)."""

    layout: StateLayout
    t_ns: NDArray[np.int64]
    x: Array
    std: Array
    valid: NDArray[np.bool_]

    def __repr__(self) -> str:
        return f"Nodes({series_line(self.t_ns, self.layout.names, self.valid)})"

    def _repr_html_(self) -> str:
        return series_html(repr(self), self.layout.names, self.x, self.std)


def nodes_of(grid: Grid, t_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """The node nearest to each time."""
    found: NDArray[np.int64] = (t_ns - grid.t0_ns + grid.step_ns // 2) // grid.step_ns
    return found


def run_events(engine: Engine, events: Events, until: int) -> Nodes:
    """All nodes from the engine's on to `until`; a few compiled calls. Verdicts stand in `events`."""
    grid, first, size = engine.core.grid, engine.step, len(engine.layout)
    x, std = np.full((until - first + 1, size), np.nan), np.full((until - first + 1, size), np.nan)
    valid = np.zeros(until - first + 1, dtype=np.bool_)
    node, done, begin = nodes_of(grid, events.t_ns), 0, first
    while begin <= until:
        end = min(begin + NODES_AT_ONCE - 1, until)
        out = make_output(begin, end - begin + 1, size, traced=False)
        upto = int(np.searchsorted(node, end, side="right"))
        engine.process(between(events, done, upto), end, out)
        rows = slice(begin - first, end - first + 1)
        x[rows], valid[rows] = out.x, out.valid
        std[rows] = np.sqrt(np.diagonal(out.P, axis1=1, axis2=2))
        begin, done = end + 1, upto
    return Nodes(
        layout=engine.layout, t_ns=grid.t0_ns + grid.step_ns * np.arange(first, until + 1), x=x, std=std, valid=valid
    )


def between(events: Events, begin: int, end: int) -> Events:
    """Some of the events; their verdicts are written into the whole table."""
    low, high = int(events.start[begin]), int(events.start[end])
    return Events(
        t_ns=events.t_ns[begin:end], stream=events.stream[begin:end], row=events.row[begin:end],
        start=np.ascontiguousarray(events.start[begin : end + 1] - np.uint32(low)), value=events.value[low:high],
        var=events.var[low:high], verdict=events.verdict[begin:end],
    )  # fmt: skip
