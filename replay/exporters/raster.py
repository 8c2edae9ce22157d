"""All streams on one raster of time, for tools that want one table.

Between two rows values are interpolated linearly, angles that wrap (the whole column within one turn) the short way
round, plain numbers (quality, counts) keep the last value. A flag (`…_valid`) stands beside interpolated values, so
between two rows it is the lower of theirs. Where a stream has a gap it has no value: nothing is interpolated across
more than a few of its steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hodograph.acquisition.log import LogReader
from hodograph.core import Array, Channel, StreamData
from hodograph.replay.exporters.options import Part, Selection

ROWS_PER_BLOCK = 20_000
TURN_RAD = 2 * math.pi
TURN_SLACK_RAD = 1e-6  # π as a float32, or from text with six decimals, may lie that far outside
BRIDGED_STEPS = 3.0  # a pause of more than so many long (90th percentile) steps is a gap
FLAG_SUFFIX = "_valid"
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
    wraps = [wrapped_angles(log, part) for part in parts]
    for begin in range(0, total, ROWS_PER_BLOCK):
        rows = np.arange(begin, min(begin + ROWS_PER_BLOCK, total))
        grid_ns = span_ns[0] + np.rint(rows * (1e9 / rate_hz)).astype(np.int64)
        arrays: list[Array] = []
        for part, bridge_ns, turns in zip(parts, bridges, wraps, strict=True):
            names = tuple(column.channel.name for column in part.columns)
            lo_ns, hi_ns = int(grid_ns[0]) - bridge_ns, int(grid_ns[-1]) + bridge_ns
            data = log.numpy(part.stream, channels=names, t_min_ns=lo_ns, t_max_ns=hi_ns + 1)
            arrays += resampled(data, grid_ns, bridge_ns, turns)
        yield grid_ns, arrays, int(rows[-1]) + 1, total


def wrapped_angles(log: LogReader, part: Part) -> dict[str, float]:
    """The angles of `part` that wrap, each with the lower end of its turn: -π or 0, as its values in the log say.

    A column that leaves both [-π, π] and [0, 2π] counts turns: its steps are meant as they are.
    """
    names = tuple(column.channel.name for column in part.columns if column.channel.unit == "rad")
    lowest, highest = dict.fromkeys(names, math.inf), dict.fromkeys(names, -math.inf)
    for batch in log.batches(part.stream, channels=names) if names else ():
        for name in names:
            values = batch.column(name).to_numpy(zero_copy_only=False)
            lowest[name] = float(np.fmin.reduce(values, initial=lowest[name]))
            highest[name] = float(np.fmax.reduce(values, initial=highest[name]))
    return {
        name: low
        for name in names
        for low in (-math.pi, 0.0)
        if low - TURN_SLACK_RAD <= lowest[name] and highest[name] <= low + TURN_RAD + TURN_SLACK_RAD
    }


def resampled(data: StreamData, grid_ns: Times, bridge_ns: int, turns: Mapping[str, float]) -> list[Array]:
    """Each column of `data` at the times `grid_ns` (k,); NaN where its rows are more than `bridge_ns` apart.

    `turns` names the angles that wrap, with the lower end of their turn.
    """
    order = np.argsort(data.t_ns, kind="stable")
    t_ns = data.t_ns[order]
    return [
        _resampled(
            channel, t_ns, data[channel.name][order].astype(np.float64), grid_ns, bridge_ns, turns.get(channel.name)
        )
        for channel in data.schema.channels
    ]


def _resampled(
    channel: Channel, t_ns: Times, values: Array, grid_ns: Times, bridge_ns: int, turn_from_rad: float | None
) -> Array:
    out = np.full(grid_ns.shape, np.nan)
    if t_ns.size == 0:
        return out
    right = np.searchsorted(t_ns, grid_ns, side="right")
    left = np.maximum(right - 1, 0)
    after = np.minimum(right, t_ns.size - 1)
    since_ns = grid_ns - t_ns[left]
    step_ns = t_ns[after] - t_ns[left]
    begun = right > 0
    is_flag = channel.unit == "1" and channel.name.endswith(FLAG_SUFFIX)
    if channel.unit == "1" and not is_flag:
        held = begun & (since_ns <= bridge_ns)
        out[held] = values[left[held]]
        return out
    exact = begun & (since_ns == 0)
    between = begun & ~exact & (step_ns > 0) & (step_ns <= bridge_ns)
    out[exact] = values[left[exact]]
    if is_flag:
        out[between] = np.minimum(values[left[between]], values[after[between]])
        return out
    share = since_ns[between] / step_ns[between]
    out[between] = _between(values[left[between]], values[after[between]], share, turn_from_rad)
    return out


def _between(a: Array, b: Array, share: Array, turn_from_rad: float | None) -> Array:
    """a + share * (b - a); angles that wrap and jump by more than half a turn go the short way and stay in range."""
    step = b - a
    if turn_from_rad is None:
        return np.asarray(a + share * step)
    crossing = np.abs(step) > math.pi
    short = np.where(crossing, step - TURN_RAD * np.round(step / TURN_RAD), step)
    out = a + share * short
    return np.where(crossing, (out - turn_from_rad) % TURN_RAD + turn_from_rad, out)


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
