"""What any observer must survive, also yours: garbage, impossible times, readings of the wrong shape.

A `Trial` is an observer in the making, good readings for it, and what was true. `for check in SURVIVAL: check(trial)`;
each raises `AssertionError` with numbers. After any garbage and good readings again the error is back within its band,
and meanwhile the band holds or the estimate says that it is not valid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np

from hodograph.core.estimate import Estimate
from hodograph.core.frames import Array
from hodograph.core.reading import Reading, Verdict
from hodograph.observers.online import OnlineObserver
from hodograph.observers.protocol import Observer

SECOND_NS = 1_000_000_000
WELL_S = 5.0
"""After so much of good readings an observer is well again, as a rule."""
LIE = 5.0
"""Standard deviations beyond which an estimate that calls itself valid lies."""
LIES_S = 1.0
"""So long a lie may last before it is noticed: nobody can tell the first wrong readings from a sudden motion."""


@dataclass(frozen=True, slots=True)
class Trial:
    """`make()` a fresh observer; good `readings` in order; `truth(t_ns)` by name of the rows that are judged."""

    make: Callable[[], Observer]
    readings: tuple[Reading, ...]
    truth: Callable[[int], Mapping[str, float]]
    begin_s: float = 6.0
    """When the garbage begins: the observer has settled."""
    inputs: frozenset[str] = frozenset()
    """Streams that drive the model and are not compared with it: nobody sees at once that they are wrong."""
    well_s: float = WELL_S
    """After so much of good readings the observer is well again."""
    band: float = 3.0
    """Standard deviations within which 95 % of the errors lie when the observer is well."""

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
    """Run an observer over spoilt readings and look at it ten times a second."""
    readings, end_ns = spoilt(trial, garbage, streams)
    begin_ns = trial.readings[0].t_ns + round(SECOND_NS * trial.begin_s)
    observer, before_ns = trial.make(), readings[0].t_ns
    times, errors, lies_s, valid = [], [], 0.0, False
    for some in _tenths(readings):
        take(observer, some)
        reading = some[-1]
        if reading.t_ns < begin_ns:
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
    return Outcome(_well_from(np.array(times), np.array(errors), trial.band), lies_s, valid)


def take(observer: Observer, readings: Sequence[Reading]) -> None:
    """All of them, at once where the observer takes batches."""
    if isinstance(observer, OnlineObserver):
        observer.feed(readings)
    else:
        for reading in readings:
            observer.correct(reading)


def _tenths(readings: Sequence[Reading]) -> Iterator[list[Reading]]:
    """Readings by tenths of a second."""
    for _, some in groupby(readings, key=lambda r: r.t_ns // (SECOND_NS // 10)):
        yield list(some)


def _well_from(t_s: Array, error: Array, band: float) -> float:
    """The first time from which on 95 % of the errors lie in the band, and all within twice that."""
    for k in range(len(t_s)):
        rest = error[k:]
        if np.mean(rest <= band) >= 0.95 and rest.max() <= 2.0 * band:
            return float(t_s[k])
    return np.inf


def check_recovers(trial: Trial, *, together: bool = True) -> None:
    """After any garbage, on one stream or on all, an observer is well again, and did not lie about it meanwhile.

    Without `together`, garbage on all streams at once need not be over in time, only not lied about: where a mechanism
    has more than one way to explain a reading, finding the right one again may take a while.
    """
    found = []
    for one in GARBAGE:
        for streams in dict.fromkeys([*((s,) for s in trial.streams), trial.streams]):
            outcome = run_spoilt(trial, one, streams)
            told = f"{one.name} on {', '.join(streams)}: "
            if outcome.lies_s > LIES_S and not set(streams) <= trial.inputs:
                found.append(f"{told}{outcome.lies_s:.2f} s valid but beyond {LIE} standard deviations")
            if streams == trial.streams and one.seconds > 0.0 and not together:
                continue
            if outcome.well_s > trial.well_s:
                found.append(f"{told}well after {outcome.well_s:.1f} s, want {trial.well_s}")
            if not outcome.valid_at_end:
                found.append(f"{told}not valid in the end")
    assert not found, "\n".join(found)


def _settled(trial: Trial) -> tuple[Observer, list[Reading]]:
    """An observer that has settled, and the good readings that come next."""
    begin_ns = trial.readings[0].t_ns + round(SECOND_NS * trial.begin_s)
    observer = trial.make()
    take(observer, [reading for reading in trial.readings if reading.t_ns < begin_ns])
    return observer, [r for r in trial.readings if r.t_ns >= begin_ns]


def _same(one: Observer, other: Observer, told: str) -> None:
    a, b = one.estimate, other.estimate
    same = a.t_ns == b.t_ns and np.array_equal(a.x, b.x) and np.array_equal(a.P, b.P) and a.valid == b.valid
    assert same, f"{told}: the estimate is another than without"


def check_stamps(trial: Trial) -> None:
    """A stamp far ahead moves nothing until a second one agrees; one that is no time at all never does."""
    (observer, rest), (plain, _) = _settled(trial), _settled(trial)
    good = rest[0]
    for t_ns in (good.t_ns + 10 * SECOND_NS, 1 << 62, -(1 << 62), 1 << 80, np.inf, np.nan, None, "now"):
        wrong: Any = t_ns
        verdict = observer.correct(replace(good, t_ns=wrong))
        assert verdict in (Verdict.INVALID, Verdict.STALE), f"a stamp of {t_ns} was {verdict.name}"
        _same(observer, plain, f"after a stamp of {t_ns}")
    for stream in ("nobody", None, 7, ["position"]):
        nobody: Any = stream
        assert observer.correct(Reading(good.t_ns + 10 * SECOND_NS, nobody, good.values)) is Verdict.INVALID
        _same(observer, plain, f"after stream {stream}")
    observer.correct(replace(good, t_ns=good.t_ns + 10 * SECOND_NS, values=tuple(np.nan for _ in good.values)))
    _same(observer, plain, "after a reading of NaN ten seconds ahead")
    for reading in rest[:40]:
        observer.correct(reading)
        plain.correct(reading)
    _same(observer, plain, "with good readings after stamps far ahead")
    ahead = [replace(r, t_ns=r.t_ns + 100 * SECOND_NS) for r in rest[40:60]]
    verdicts = [observer.correct(r) for r in ahead]
    assert verdicts[0] is Verdict.INVALID, "the first reading after a silence of 100 s moved the clock by itself"
    assert observer.estimate.t_ns >= ahead[-2].t_ns, "readings that agree did not bring the clock on"


def check_clock_set_back(trial: Trial) -> None:
    """When all readings arrive a hundred seconds earlier than before, an observer goes on from there, well in time."""
    observer, rest = _settled(trial)
    back_ns = 100 * SECOND_NS
    earlier = replace(trial, truth=lambda t_ns: trial.truth(t_ns + back_ns))
    errors, e = [], observer.estimate
    for reading in rest:
        observer.correct(replace(reading, t_ns=reading.t_ns - back_ns))
        e = observer.estimate
        if reading.t_ns > rest[0].t_ns + round(SECOND_NS * trial.well_s):
            assert e.t_ns < rest[0].t_ns, "the clock did not go back"
            errors.append(off(earlier, e))
    assert np.isfinite(e.P).all()
    assert e.valid, "not valid in the end"
    assert np.mean(np.array(errors) <= trial.band) >= 0.9, f"off by {max(errors):.1f} standard deviations"


def check_far_prediction(trial: Trial) -> None:
    """An hour ahead is bounded work, and says that nobody knows; good readings then make the observer well again."""
    observer, rest = _settled(trial)
    before, hour_ns = observer.estimate, 3600 * SECOND_NS
    observer.predict_to(before.t_ns + hour_ns)
    e = observer.estimate
    assert abs(e.t_ns - before.t_ns - hour_ns) < SECOND_NS, "the clock did not go on"
    assert np.isfinite(e.x).all()
    assert np.isfinite(e.P).all()
    assert not e.valid, "after an hour without a reading the estimate calls itself valid"
    later = replace(trial, truth=lambda t_ns: trial.truth(t_ns - hour_ns))
    errors, valid = [], False
    for reading in rest:
        observer.correct(replace(reading, t_ns=reading.t_ns + hour_ns))
        e = observer.estimate
        if reading.t_ns > rest[0].t_ns + round(SECOND_NS * WELL_S):
            errors.append(off(later, e))
            valid = e.valid
    assert valid, "not valid in the end"
    assert np.mean(np.array(errors) <= trial.band) >= 0.9, f"off by {max(errors):.1f} standard deviations after an hour"


def check_repeats(trial: Trial, size: Callable[[Observer], int], count: int = 20_000) -> None:
    """Readings of one stamp, however many, need no more room than `size` says a few hundred do."""
    observer, rest = _settled(trial)
    for _ in range(1000):
        observer.correct(rest[0])
    few = size(observer)
    for _ in range(count):
        observer.correct(rest[0])
    assert size(observer) <= 1.2 * few, f"{count} readings of one stamp: {few} bytes became {size(observer)}"
    for reading in rest:
        observer.correct(reading)
    assert off(trial, observer.estimate) < 2.0 * trial.band


def check_shapes(trial: Trial) -> None:
    """Values that are not as many numbers as the stream has are INVALID; what a caller does with its array later is
    its own affair.
    """
    (observer, rest), (plain, _) = _settled(trial), _settled(trial)
    good = rest[0]
    n = len(good.values)
    shapes: tuple[Any, ...] = (
        (), good.values[:-1] or (1.0, 2.0), (*good.values, 1.0), (1.0,) * (n + 7), ("1.0",) * n, "1.0", None, 1.0,
        (None,) * n, np.zeros((n, 1)), np.zeros((0, n)), ("a",) * n, (1j,) * n, [[1.0]] * n, {0: 1.0}, object(),
    )  # fmt: skip
    for values in shapes:
        verdict = observer.correct(replace(good, values=values))
        assert verdict is Verdict.INVALID, f"values {values!r} were {verdict.name}"
        _same(observer, plain, f"after values {values!r}")
    kept: Any = np.array(good.values)
    observer.correct(replace(good, values=kept))
    kept[:] = 1e3  # used again by its owner
    for reading in (*rest[2:6], rest[1]):  # the last one is late: what was said is needed once more
        observer.correct(reading)
    for reading in (rest[0], *rest[2:6], rest[1]):
        plain.correct(reading)
    _same(observer, plain, "with an array that its owner used again")


SURVIVAL: tuple[Callable[[Trial], None], ...] = (
    check_recovers,
    check_stamps,
    check_clock_set_back,
    check_far_prediction,
    check_shapes,
)
"""All checks that need nothing but a trial."""
