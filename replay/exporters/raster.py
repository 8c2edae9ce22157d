"""All streams on one raster of time, for tools that want one table.

Between two rows values are interpolated linearly, angles the short way round, plain numbers (quality, counts) keep
the last value. Where a stream has a gap it has no value: nothing is interpolated across more than a few of its steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from hodograph.acquisition.log import LogReader
from hodograph.core import Array, Channel, StreamData
from hodograph.replay.exporters.options import Part, Selection

ROWS_PER_BLOCK = 20_000
BRIDGED_STEPS = 3.0  # a pause of more than so many long (90th percentile) steps is a gap
Times = NDArray[np.int64]


def raster_batches(
    log: LogReader, parts: Sequence[Part], selection: Selection, rate_hz: float
) -> Iterator[tuple[Times, list[Array], int, int]]:
    """Blocks (t_ns (k,), one array (k,) in SI per column of all parts, rows done, rows in all)."""
    span_ns = _limits(log, parts, selection)
    if span_ns is None:
        return
    total = math.floor((span_ns[1] - span_ns[0] + 0.5) * rate_hz / 1e9) + 1  # grid times are rounded to ns
    bridges = [_bridge_ns(log, part) for part in parts]
    for begin in range(0, total, ROWS_PER_BLOCK):
        rows = np.arange(begin, min(begin + ROWS_PER_BLOCK, total))
        grid_ns = span_ns[0] + np.rint(rows * (1e9 / rate_hz)).astype(np.int64)
        arrays: list[Array] = []
        for part, bridge_ns in zip(parts, bridges, strict=True):
            names = tuple(column.channel.name for column in part.columns)
            lo_ns, hi_ns = int(grid_ns[0]) - bridge_ns, int(grid_ns[-1]) + bridge_ns
            data = log.numpy(part.stream, channels=names, t_min_ns=lo_ns, t_max_ns=hi_ns + 1)
            arrays += resampled(data, grid_ns, bridge_ns)
        yield grid_ns, arrays, int(rows[-1]) + 1, total


def resampled(data: StreamData, grid_ns: Times, bridge_ns: int) -> list[Array]:
    """Each column of `data` at the times `grid_ns` (k,); NaN where its rows are more than `bridge_ns` apart."""
    order = np.argsort(data.t_ns, kind="stable")
    t_ns = data.t_ns[order]
    return [
        _resampled(channel, t_ns, data[channel.name][order].astype(np.float64), grid_ns, bridge_ns)
        for channel in data.schema.channels
    ]


def _resampled(channel: Channel, t_ns: Times, values: Array, grid_ns: Times, bridge_ns: int) -> Array:
    out = np.full(grid_ns.shape, np.nan)
    if t_ns.size == 0:
        return out
    right = np.searchsorted(t_ns, grid_ns, side="right")
    left = np.maximum(right - 1, 0)
    after = np.minimum(right, t_ns.size - 1)
    since_ns = grid_ns - t_ns[left]
    step_ns = t_ns[after] - t_ns[left]
    begun = right > 0
    if channel.unit == "1":
        held = begun & (since_ns <= bridge_ns)
        out[held] = values[left[held]]
        return out
    exact = begun & (since_ns == 0)
    between = begun & ~exact & (step_ns > 0) & (step_ns <= bridge_ns)
    out[exact] = values[left[exact]]
    share = since_ns[between] / step_ns[between]
    out[between] = _between(channel, values[left[between]], values[after[between]], share)
    return out


def _between(channel: Channel, a: Array, b: Array, share: Array) -> Array:
    """a + share * (b - a); angles that jump by more than half a turn go the short way and stay in their range."""
    step = b - a
    if channel.unit != "rad":
        return np.asarray(a + share * step)
    turn = 2 * math.pi
    crossing = np.abs(step) > math.pi
    short = np.where(crossing, step - turn * np.round(step / turn), step)
    out = a + share * short
    low = 0.0 if "compass" in channel.name.split("_") else -math.pi
    return np.where(crossing, (out - low) % turn + low, out)


def _limits(log: LogReader, parts: Sequence[Part], selection: Selection) -> tuple[int, int] | None:
    """First and last time of the raster: where the chosen streams have rows, within the limits the user set."""
    ends = []
    for part in parts:
        t_ns = _times(log, part.stream)
        if t_ns.size:
            ends.append((int(t_ns.min()), int(t_ns.max())))
    if not ends:
        return None
    step_from = selection.start_ns if selection.t_min_ns is None else max(selection.t_min_ns, selection.start_ns)
    last = max(end for _, end in ends)
    if selection.t_max_ns is not None:
        last = min(last, selection.t_max_ns - 1)
    return (step_from, last) if last >= step_from else None


def _bridge_ns(log: LogReader, part: Part) -> int:
    steps_ns = np.diff(np.sort(_times(log, part.stream)))
    steps_ns = steps_ns[steps_ns > 0]
    return round(BRIDGED_STEPS * float(np.percentile(steps_ns, 90))) if steps_ns.size else 0


def _times(log: LogReader, stream: str) -> Times:
    return np.asarray(log.arrow(stream, channels=())["t_ns"].to_numpy())
