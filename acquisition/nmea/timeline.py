"""The fixes of a file on one time axis that never runs backwards: UTC, as far as the receiver knew it.

A receiver without a fix has whatever its clock says: nothing, a time without a date, the date of another year. Rules:

1. A time of day without a date gets the date of the nearest fix that has one; if there is none in the file, the axis
   is the time of day (from 1970-01-01) and rolls on over midnight.
2. Where the clock jumps (backwards; or forwards by over an hour on a side that has no fix) the axis is cut into pieces.
   The piece with the most positions keeps its UTC (receivers set their clock at the first fix or just after it). The
   others keep theirs if they have a position and do not overlap; else they lead up to it or follow on at the usual
   period.
3. Rows without any time lie between their neighbours, at most the usual period apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hodograph.acquisition.nmea.epoch import nearest_utc_ns
from hodograph.acquisition.nmea.fix import Fix
from hodograph.core.display import short_repr

DEFAULT_PERIOD_NS = 10**9
MAX_FORWARD_JUMP_NS = 3600 * 10**9


@dataclass(frozen=True, slots=True)
class ClockJump:
    """The receiver's clock jumped by `jump_ns`, beyond the usual period, before row `row`."""

    row: int
    jump_ns: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """`t_ns` (n,) int64, non-decreasing; `utc_ns` the receiver's own UTC of each row, None where it is unknown."""

    t_ns: NDArray[np.int64]
    utc_ns: tuple[int | None, ...]
    jumps: tuple[ClockJump, ...]
    period_ns: int
    has_date: bool

    __repr__ = short_repr


def timeline(fixes: Sequence[Fix]) -> Timeline | None:
    """The time axis of the fixes of one recording; None when no row has any time."""
    clock_ns, has_date = _clock(fixes)
    rows = [i for i, t in enumerate(clock_ns) if t is not None]
    if not rows:
        return None
    times_ns = [t for t in clock_ns if t is not None]
    period_ns = _period_ns(times_ns)
    has_position = [fixes[i].has_position for i in rows]
    pieces = _pieces(times_ns, has_position)
    placed_ns = _place(times_ns, pieces, [sum(has_position[a:b]) for a, b in pieces], period_ns)
    jumps = [ClockJump(rows[a], times_ns[a] - times_ns[a - 1] - period_ns) for a, _ in pieces[1:]]
    t_ns = _fill(len(fixes), rows, placed_ns, period_ns)
    utc_ns = clock_ns if has_date else [None] * len(fixes)
    return Timeline(np.array(t_ns, dtype=np.int64), tuple(utc_ns), tuple(jumps), period_ns, has_date)


def _clock(fixes: Sequence[Fix]) -> tuple[list[int | None], bool]:
    """What the receiver's clock said in each row, dates filled in (rule 1), and whether there was a date at all."""
    clock_ns = [fix.t_utc_ns for fix in fixes]
    first = next((i for i, t in enumerate(clock_ns) if t is not None), None)
    order = range(len(fixes)) if first is None else range(first - 1, -1, -1)
    near_ns = None if first is None else clock_ns[first]
    for i in order:
        time_of_day_ns = fixes[i].time_of_day_ns
        if time_of_day_ns is not None:
            near_ns = time_of_day_ns if near_ns is None else nearest_utc_ns(time_of_day_ns, near_ns)
            clock_ns[i] = near_ns
    return clock_ns, first is not None


def _period_ns(times_ns: list[int]) -> int:
    """The usual step between rows."""
    steps_ns = [b - a for a, b in pairwise(times_ns) if b > a]
    return int(np.median(steps_ns)) if steps_ns else DEFAULT_PERIOD_NS


def _pieces(times_ns: list[int], has_position: list[bool]) -> list[tuple[int, int]]:
    """Half-open ranges of rows in which the clock did not jump."""
    starts = [0]
    for i in range(1, len(times_ns)):
        step_ns = times_ns[i] - times_ns[i - 1]
        trusted = has_position[i - 1] and has_position[i]
        if step_ns < 0 or (step_ns > MAX_FORWARD_JUMP_NS and not trusted):
            starts.append(i)
    return list(zip(starts, [*starts[1:], len(times_ns)], strict=True))


def _place(times_ns: list[int], pieces: list[tuple[int, int]], positions: list[int], period_ns: int) -> list[int]:
    """Each row's time on the axis (rule 2); `positions` counts the rows with a position in each piece."""
    anchor = positions.index(max(positions))
    shift_ns = [0] * len(pieces)
    start_ns = times_ns[pieces[anchor][0]]
    for k in range(anchor - 1, -1, -1):
        first, last = pieces[k][0], pieces[k][1] - 1
        if not positions[k] or times_ns[last] > start_ns:
            shift_ns[k] = start_ns - period_ns - times_ns[last]
        start_ns = times_ns[first] + shift_ns[k]
    end_ns = times_ns[pieces[anchor][1] - 1]
    for k in range(anchor + 1, len(pieces)):
        first, last = pieces[k][0], pieces[k][1] - 1
        if not positions[k] or times_ns[first] < end_ns:
            shift_ns[k] = end_ns + period_ns - times_ns[first]
        end_ns = times_ns[last] + shift_ns[k]
    return [t + shift for (a, b), shift in zip(pieces, shift_ns, strict=True) for t in times_ns[a:b]]


def _fill(count: int, rows: list[int], placed_ns: list[int], period_ns: int) -> list[int]:
    """Times for all rows, those without a time of their own between their neighbours (rule 3)."""
    t_ns = [placed_ns[0] - (rows[0] - i) * period_ns for i in range(rows[0])]
    for k, row in enumerate(rows):
        t_ns.append(placed_ns[k])
        following = rows[k + 1] if k + 1 < len(rows) else count
        step_ns = period_ns
        if k + 1 < len(rows):
            step_ns = min(period_ns, (placed_ns[k + 1] - placed_ns[k]) // (following - row))
        t_ns += [placed_ns[k] + j * step_ns for j in range(1, following - row)]
    return t_ns
