"""Signals of a stream that another stream may have seen too: yaw rates, accelerations, speeds, like with like.

A signal is kept as its integral over time, so that its mean over any window is a difference of two values and a
rate derived from an angle or a speed (course → course rate) needs no numerical differentiation at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hodograph.acquisition.health import timing_of
from hodograph.core import Array, StreamSchema
from hodograph.core.display import short_repr

MIN_COURSE_SPEED_MPS = 3.0  # below, the course over ground is noise
FINEST_STEP_S = 0.02  # signals are kept no finer: they are averaged over half a second and more
_GEODETIC = frozenset({"latitude_rad", "longitude_rad"})  # moves with speed, not with attitude: no yaw rate in there

Column = Callable[[str], Array]  # a channel's values (n,) by its name


@dataclass(frozen=True, slots=True)
class Signal:
    """`integral` (n,) of a quantity over `t_s` (n,), increasing; `valid_s` (n,) is the time of it that can be used.

    `channel` is the channel it comes from when it is that channel itself, else "". Same `unit` = comparable.
    """

    name: str
    unit: str
    channel: str
    t_s: Array
    integral: Array
    valid_s: Array
    step_s: float

    def mean_over(self, centre_s: Array, window_s: float) -> tuple[Array, NDArray[np.bool_]]:
        """Means (m,) over windows about `centre_s` (m,), and whether each window lies in usable time entirely."""
        begin, end = centre_s - window_s / 2, centre_s + window_s / 2
        used_s = np.interp(end, self.t_s, self.valid_s) - np.interp(begin, self.t_s, self.valid_s)
        change = np.interp(end, self.t_s, self.integral) - np.interp(begin, self.t_s, self.integral)
        return change / window_s, used_s >= window_s * (1 - 1e-6)

    __repr__ = short_repr


def signals_of(schema: StreamSchema, t_ns: NDArray[np.int64], column: Column, zero_ns: int) -> Iterator[Signal]:
    """Every signal that can be made of a stream, times in seconds after `zero_ns`; channels are fetched one by one."""
    t_s = (t_ns - zero_ns) / 1e9
    names = set(schema.names)
    course = _course(names, column)
    if course is not None:
        source, yaw_rad, speed_mps = course
        moving = speed_mps > MIN_COURSE_SPEED_MPS
        yield from _built(f"course rate from {source}", "rad/s", "", t_s, yaw_rad, moving, is_integral=True, angle=True)
        yield from _built(f"rate of speed from {source}", "m/s^2", "", t_s, speed_mps, None, is_integral=True)
        if "speed_mps" not in names:
            yield from _built(f"speed from {source}", "m/s", "", t_s, speed_mps, None)
    for channel in schema.channels:
        if "_std" in channel.name or channel.name.startswith("std_") or channel.name in _GEODETIC:
            continue
        if course is not None and channel.name == "course_compass_rad":
            continue
        values = column(channel.name)
        if channel.unit == "rad":
            name = f"rate of {channel.name}"
            yield from _built(name, "rad/s", channel.name, t_s, values, None, is_integral=True, angle=True)
            continue
        yield from _built(channel.name, channel.unit, channel.name, t_s, values, None)
        if channel.unit == "m/s" and not (course is not None and channel.name == "speed_mps"):
            yield from _built(f"rate of {channel.name}", "m/s^2", "", t_s, values, None, is_integral=True)


def _course(names: set[str], column: Column) -> tuple[str, Array, Array] | None:
    """(where from, yaw of the velocity counter-clockwise, speed) of a stream that knows its velocity over ground."""
    if {"v_east_mps", "v_north_mps"} <= names:
        east, north = column("v_east_mps"), column("v_north_mps")
        if np.isfinite(east).any():
            return "v_east_mps, v_north_mps", np.arctan2(north, east), np.hypot(east, north)
    if {"course_compass_rad", "speed_mps"} <= names:
        return "course_compass_rad, speed_mps", -column("course_compass_rad"), column("speed_mps")
    return None


def _built(
    name: str,
    unit: str,
    channel: str,
    t_s: Array,
    values: Array,
    usable: NDArray[np.bool_] | None,
    *,
    is_integral: bool = False,
    angle: bool = False,
) -> Iterator[Signal]:
    """The signal, or nothing when too few rows say anything or all say the same."""
    known = np.isfinite(values)
    t_s, values = t_s[known], values[known]
    usable = np.ones(t_s.size, dtype=np.bool_) if usable is None else usable[known]
    if t_s.size < 8 or np.ptp(values) == 0:
        return
    if angle:
        values = np.unwrap(values)
    t_s, values, usable = _one_row_per_stamp(t_s, values, usable)
    steps_s = np.diff(t_s)
    if steps_s.size < 8:
        return
    timing = timing_of(np.rint(t_s * 1e9).astype(np.int64))
    integral = values
    if not is_integral:
        integral = np.concatenate([[0.0], np.cumsum((values[1:] + values[:-1]) / 2 * steps_s)])
    good = (steps_s <= timing.gap_limit_s) & usable[1:] & usable[:-1]
    valid_s = np.concatenate([[0.0], np.cumsum(np.where(good, steps_s, 0.0))])
    kept = slice(None, None, max(1, int(FINEST_STEP_S / timing.step_s)))  # integrals thin out without loss
    yield Signal(name, unit, channel, t_s[kept], integral[kept], valid_s[kept], timing.step_s)


def _one_row_per_stamp(t_s: Array, values: Array, usable: NDArray[np.bool_]) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Rows that came in one burst under one stamp, averaged; stamps that run backwards are left out."""
    forward = t_s >= np.maximum.accumulate(t_s)
    t_s, values, usable = t_s[forward], values[forward], usable[forward]
    first = np.concatenate([[True], np.diff(t_s) > 0])
    if first.all():
        return t_s, values, usable
    starts = np.flatnonzero(first)
    counts = np.diff(np.append(starts, t_s.size))
    return t_s[starts], np.add.reduceat(values, starts) / counts, np.logical_and.reduceat(usable, starts)


def comparable_pairs(a: Sequence[Signal], b: Sequence[Signal], limit: int = 60) -> list[tuple[Signal, Signal]]:
    """Pairs of one unit, those of one channel name first; dimensionless numbers only with their namesakes."""
    pairs = [(p, q) for p in a for q in b if p.unit == q.unit]
    named = [(p, q) for p, q in pairs if p.channel and p.channel == q.channel]
    others = [(p, q) for p, q in pairs if not (p.channel and p.channel == q.channel) and p.unit != "1"]
    derived_first = sorted(others, key=lambda pair: bool(pair[0].channel) and bool(pair[1].channel))
    return (named + derived_first)[:limit]
