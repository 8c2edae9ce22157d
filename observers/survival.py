"""What any observer must survive, also yours: garbage, impossible times, readings of the wrong shape.

A `Trial` is an observer in the making, good readings for it, and what was true. `for check in SURVIVAL: check(trial)`;
each raises `AssertionError` with numbers. After any garbage and good readings again the error is back within its band,
and meanwhile the band holds or the estimate says that it is not valid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hodograph.core.estimate import Estimate
from hodograph.core.frames import Array
from hodograph.core.reading import Reading, Verdict
from hodograph.observers.protocol import Observer

SECOND_NS = 1_000_000_000
WELL_S = 5.0
"""After so much of good readings an observer is well again."""
BAND = 3.0
"""Standard deviations that an error may have when an observer is well …"""
LIE = 5.0
"""… and beyond which an estimate that calls itself valid lies."""
LIES_S = 0.6
"""So long a lie may last before it is noticed: nobody can tell the first wrong readings from a sudden motion."""


@dataclass(frozen=True, slots=True)
class Trial:
    """`make()` a fresh observer; good `readings` in order; `truth(t_ns)` by name of the rows that are judged."""

    make: Callable[[], Observer]
    readings: tuple[Reading, ...]
    truth: Callable[[int], Mapping[str, float]]
    begin_s: float = 6.0
    """When the garbage begins: the observer has settled."""

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams that speak."""
        return tuple(sorted({r.stream for r in self.readings}))


@dataclass(frozen=True, slots=True)
class Garbage:
    """What a sensor says in place of `value` for `seconds`; 0: in one reading."""

    name: str
    seconds: float
    spoil: Callable[[float], float]


GARBAGE = (
    Garbage("one reading of 1e4", 0.0, lambda value: 1e4),
    Garbage("one reading of 1e200", 0.0, lambda value: 1e200),
    Garbage("5 s of 3000", 5.0, lambda value: 3000.0),
    Garbage("5 s stuck at zero", 5.0, lambda value: 0.0),
    Garbage("5 s with its sign turned", 5.0, lambda value: -value),
    Garbage("5 s times 1000", 5.0, lambda value: 1000.0 * value),
)


def spoilt(trial: Trial, garbage: Garbage, streams: Sequence[str]) -> tuple[list[Reading], int]:
    """The readings with garbage in them, and the time at which it is over."""
    begin_ns = trial.readings[0].t_ns + round(SECOND_NS * trial.begin_s)
    end_ns = begin_ns + round(SECOND_NS * garbage.seconds)
    readings, once = [], set(streams)
    for r in trial.readings:
        inside = r.stream in streams and begin_ns <= r.t_ns < end_ns
        first = garbage.seconds == 0.0 and r.stream in once and r.t_ns >= begin_ns
        if first:
            once.discard(r.stream)
        readings.append(replace(r, values=tuple(map(garbage.spoil, r.values))) if inside or first else r)
    return readings, end_ns


def off(trial: Trial, e: Estimate) -> float:
    """The largest error of the judged rows in standard deviations."""
    worst = 0.0
    for name, true in trial.truth(e.t_ns).items():
        x = e.x.copy()
        x[e.layout[name]] = true
        error = e.layout.subtract(e.x, x)[e.layout[name]]
        worst = max(worst, abs(float(error)) / e.std(name))
    return worst


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a trial went: seconds of good readings until the error stayed in its band, seconds of valid lies."""

    well_s: float
    lies_s: float
    valid_at_end: bool


def run_spoilt(trial: Trial, garbage: Garbage, streams: Sequence[str]) -> Outcome:
    """Run an observer over spoilt readings and look at it after every one of them."""
    readings, end_ns = spoilt(trial, garbage, streams)
    begin_ns = trial.readings[0].t_ns + round(SECOND_NS * trial.begin_s)
    observer, before_ns = trial.make(), readings[0].t_ns
    times, errors, lies_s, valid = [], [], 0.0, False
    for k, reading in enumerate(readings):
        observer.correct(reading)
        together = k + 1 < len(readings) and readings[k + 1].t_ns == reading.t_ns
        if together or reading.t_ns < begin_ns:
            continue
        e = observer.estimate
        assert np.isfinite(e.x).all(), f"{garbage.name} on {', '.join(streams)}: the estimate is not finite"
        error, valid = off(trial, e), e.valid
        if valid and error > LIE:
            lies_s += (reading.t_ns - max(before_ns, begin_ns)) / SECOND_NS
        before_ns = reading.t_ns
        if reading.t_ns > end_ns:
            times.append((reading.t_ns - end_ns) / SECOND_NS)
            errors.append(error)
    return Outcome(_well_from(np.array(times), np.array(errors)), lies_s, valid)


def _well_from(t_s: Array, error: Array) -> float:
    """The first time from which on 95 % of the errors lie in the band, and all within twice that."""
    for k in range(0, len(t_s), 5):
        rest = error[k:]
        if np.mean(rest <= BAND) >= 0.95 and rest.max() <= 2.0 * BAND:
            return float(t_s[k])
    return np.inf


def check_recovers(trial: Trial, garbage: Sequence[Garbage] = GARBAGE) -> None:
    """After any garbage, on one stream or on all, an observer is well again, and did not lie about it meanwhile."""
    found = []
    for one in garbage:
        for streams in dict.fromkeys([*((s,) for s in trial.streams), trial.streams]):
            outcome = run_spoilt(trial, one, streams)
            told = f"{one.name} on {', '.join(streams)}: "
            if outcome.well_s > WELL_S:
                found.append(f"{told}well after {outcome.well_s:.1f} s, want {WELL_S}")
            if outcome.lies_s > LIES_S:
                found.append(f"{told}{outcome.lies_s:.2f} s valid but beyond {LIE} standard deviations")
            if not outcome.valid_at_end:
                found.append(f"{told}not valid in the end")
    assert not found, "\n".join(found)
