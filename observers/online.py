"""The shell that makes an observer of an engine: times, late readings, wrong readings, verdicts.

What it answers is a function of the readings it has taken, not of how they came: in one table or one by one, in order
or late within the horizon.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from math import isfinite, nan

import numpy as np

from hodograph.core.display import listed
from hodograph.core.estimate import Estimate
from hodograph.core.reading import Reading, Verdict
from hodograph.observers.doubt import SANE
from hodograph.observers.engine import Engine, Stream, events_of, make_output
from hodograph.observers.protocol import Transition
from hodograph.observers.smoothing import smooth_back
from hodograph.observers.tables import Output, node_at

AHEAD_NS = 2_000_000_000
"""A reading further ahead than this moves nothing until a second one agrees with it."""
AGREEING = 10
"""So many readings in a row that are too old, yet agree with each other, mean that the clock was set back."""
LATEST_NS = 1 << 61
"""Beyond this (73 years) a time is nonsense."""

MOST_AT_NODE = 256
"""More readings of one stream at one node are no measurements; they would only need room."""

Clock = Callable[[int], int]
"""From a sensor's own stamp to the time of the log, both in ns."""


@dataclass(frozen=True, slots=True)
class _Event:
    t_ns: int
    stream: Stream
    values: tuple[float, ...]
    var: tuple[float, ...] | None
    order: int

    @property
    def key(self) -> tuple[int, int, int, int]:
        return self.t_ns, self.stream.index, self.stream.first, self.order


@dataclass(slots=True)
class OnlineObserver:
    """An engine in service. Readings may come in any order: one that is late by no more than the engine's horizon is
    put in its place by rewinding, an older one is refused as STALE.

    A reading acts at the time of its sensor's own stamp where `clocks` has a clock for its stream, else at its arrival
    less the latency of its stream. With a `lag_s` the last predictions are kept for `lagged`, the fixed-lag smoother.
    """

    engine: Engine
    clocks: Mapping[str, Clock] = field(default_factory=dict)
    lag_s: float = 0.0
    counts: Counter[tuple[str, Verdict]] = field(default_factory=Counter, init=False)
    _verdicts: dict[str, Verdict] = field(default_factory=dict, init=False, repr=False)
    _past: deque[_Event] = field(default_factory=deque, init=False, repr=False)
    _out: Output = field(init=False, repr=False)
    _newest: int = field(init=False, repr=False)
    _taken: int = field(default=0, init=False, repr=False)
    _ahead_ns: int | None = field(default=None, init=False, repr=False)
    _stale_ns: list[int] = field(default_factory=list, init=False, repr=False)
    _set_back_ns: int | None = field(default=None, init=False, repr=False)
    _crowd: Counter[tuple[int, int]] = field(default_factory=Counter, init=False, repr=False)

    def __repr__(self) -> str:
        counts = [f"{stream} {count} {verdict}" for (stream, verdict), count in self.counts.items()]
        said = listed(counts) if counts else "no readings yet"
        return f"OnlineObserver({type(self.engine).__name__} at {self.t_ns} ns; {said})"

    def __post_init__(self) -> None:
        if not 0.0 <= self.lag_s <= 60.0:
            raise ValueError(f"lag_s must lie in 0 … 60 s, got {self.lag_s}")
        if self.lag_s > 0.0 and not self.engine.filter.traced:
            raise ValueError("this observer's predictions cannot be smoothed back over: leave lag_s at 0")
        self._newest = self.engine.step
        rows = self._steps(self.lag_s) + 2 if self.lag_s > 0.0 else 0
        self._out = make_output(self.engine.step, rows, len(self.engine.layout), traced=rows > 0)

    def __copy__(self) -> OnlineObserver:
        """One of its own: two that shared an engine would move each other."""
        return deepcopy(self)

    @property
    def t_ns(self) -> int:
        """The time of the estimate: that of its node."""
        return self.engine.t_ns

    def predict_to(self, t_ns: int) -> None:
        """Bring the estimate to the last node that is not after `t_ns`; a time in the past changes nothing."""
        if not _is_time(t_ns):
            return
        grid = self.engine.core.grid
        step = (int(t_ns) - grid.t0_ns) // grid.step_ns
        if step > self.engine.step:
            self._newest = max(self._newest, step)
            self._run([], step)
            self._forget()

    def correct(self, reading: Reading) -> Verdict:
        """Take a reading in at the time it was measured and say what became of it."""
        return self.feed([reading])[0]

    def feed(self, readings: Iterable[Reading], variances: Sequence[Sequence[float] | None] = ()) -> list[Verdict]:
        """Take a batch in, in one compiled call; the verdict of each, in the order they were given.

        `variances` may hold, for each reading, those of its values in place of the sensor's own.
        """
        given, verdicts = list(readings), []
        fresh: list[tuple[int, _Event]] = []
        for place, reading in enumerate(given):
            var = variances[place] if place < len(variances) else None
            verdict, event = self._screened(reading, var)
            verdicts.append(verdict)
            if event is not None:
                fresh.append((place, event))
            if self._set_back_ns is not None:  # what came before belongs to the old time
                self._settle(fresh, verdicts)
                fresh = []
                self._set_back(self._set_back_ns)
        self._settle(fresh, verdicts)
        for reading, verdict in zip(given, verdicts, strict=True):
            stream = getattr(reading, "stream", None)
            name = stream if isinstance(stream, str) else repr(stream)
            self.counts[name, verdict] += 1
            if name in self.engine.streams:
                self._verdicts[name] = verdict
        return verdicts

    def _settle(self, fresh: Sequence[tuple[int, _Event]], verdicts: list[Verdict]) -> None:
        """Through the filter; a reading that was late and is used is LATE."""
        for (place, _), said in zip(fresh, self._take([e for _, e in fresh]), strict=True):
            if said is not Verdict.USED or verdicts[place] is not Verdict.LATE:
                verdicts[place] = said

    @property
    def estimate(self) -> Estimate:
        """The state now, with the last verdict of each stream."""
        e = self.engine
        return Estimate(self.t_ns, e.layout, e.x, e.P, self._verdicts, valid=e.valid)

    @property
    def lagged(self) -> Estimate:
        """The state about `lag_s` ago, smoothed with every reading since; asking changes nothing.

        It is the state at the last node that is at least as old, or the oldest there is after a start or a new one.
        """
        e, out = self.engine, self._out
        begin = max(e.step - self._steps(self.lag_s), e.broken, out.origin)
        steps = []
        if self.lag_s > 0.0:
            rows = len(out.x)
            for k in range(begin, e.step):
                a, b = (k - out.origin) % rows, (k + 1 - out.origin) % rows
                steps.append(
                    Transition(
                        dt_s=e.core.grid.step_s,
                        x=out.x[a],
                        P=out.P[a],
                        F=out.F[b],
                        x_prior=out.x_prior[b],
                        P_prior=out.P_prior[b],
                    )
                )
        x, P = smooth_back(steps, e.x, e.P, e.layout)
        t_ns = e.core.grid.t0_ns + (e.step - len(steps)) * e.core.grid.step_ns
        return Estimate(t_ns, e.layout, x, P, self._verdicts, valid=e.valid)

    # --- before a reading touches the filter -------------------------------------------------------------------------

    def _screened(self, reading: Reading, var: Sequence[float] | None) -> tuple[Verdict, _Event | None]:
        """INVALID or STALE without an event, else USED or LATE (if the filter agrees) with the event to take in."""
        stream = self.engine.streams.get(reading.stream) if isinstance(reading.stream, str) else None
        values = _numbers(reading.values)
        if stream is None or values is None or not stream.takes(len(values)):
            return Verdict.INVALID, None
        spread = None if var is None else _numbers(var)
        if var is not None and (spread is None or len(spread) != len(values)):
            return Verdict.INVALID, None
        t_ns = self._measured_ns(reading, stream)
        if t_ns is None:
            return Verdict.INVALID, None
        if not any(isfinite(v) for v in values):  # a sensor without a fix says nothing about the time either
            return Verdict.INVALID, None
        if not self._in_reach(t_ns):
            return Verdict.INVALID, None
        node = node_at(self.engine.core.grid, t_ns)
        if node < self._newest - self._horizon():
            return self._too_old(t_ns, reading)
        self._stale_ns.clear()
        self._crowd[node, stream.index] += 1
        if self._crowd[node, stream.index] > MOST_AT_NODE:
            return Verdict.INVALID, None
        late = node < self._newest
        self._newest = max(self._newest, node)
        self._taken += 1
        return (Verdict.LATE if late else Verdict.USED), _Event(
            t_ns=t_ns, stream=stream, values=values, var=spread, order=self._taken
        )

    def _measured_ns(self, reading: Reading, stream: Stream) -> int | None:
        clock = self.clocks.get(reading.stream)
        if clock is not None and reading.t_sensor_ns is not None and _is_time(reading.t_sensor_ns):
            t_ns = clock(int(reading.t_sensor_ns))
            return t_ns if _is_time(t_ns) else None
        return int(reading.t_ns) - round(1e9 * stream.latency_s) if _is_time(reading.t_ns) else None

    def _in_reach(self, t_ns: int) -> bool:
        """Not far ahead, or the second in a row that is so and agrees with the first better than with the estimate."""
        grid = self.engine.core.grid
        newest_ns = grid.t0_ns + self._newest * grid.step_ns
        if t_ns <= newest_ns + AHEAD_NS:
            self._ahead_ns = None
            return True
        before, self._ahead_ns = self._ahead_ns, t_ns
        agreed = before is not None and -AHEAD_NS <= t_ns - before < before - newest_ns
        if agreed:
            self._ahead_ns = None
        return agreed

    def _too_old(self, t_ns: int, reading: Reading) -> tuple[Verdict, None]:
        """Refused; when many in a row agree, and arrived in the past, too, the clock was set back."""
        grid = self.engine.core.grid
        if not _is_time(reading.t_ns) or node_at(grid, int(reading.t_ns)) >= self._newest - self._horizon():
            return Verdict.STALE, None  # it only took its time
        if self._stale_ns and not -AHEAD_NS < t_ns - self._stale_ns[-1] < AHEAD_NS:
            self._stale_ns.clear()
        self._stale_ns.append(t_ns)
        if len(self._stale_ns) >= AGREEING:
            self._set_back_ns = t_ns
        return Verdict.STALE, None

    def _set_back(self, t_ns: int) -> None:
        """Everything goes on from an earlier time."""
        node = node_at(self.engine.core.grid, t_ns) - 1  # so that the next reading moves the filter to its node
        self.engine.rebase(node)
        self._newest, self._out = node, self._out._replace(origin=node)
        self._past.clear()
        self._crowd.clear()
        self._stale_ns.clear()
        self._set_back_ns = self._ahead_ns = None

    # --- through the filter ------------------------------------------------------------------------------------------

    def _take(self, fresh: Sequence[_Event]) -> list[Verdict]:
        """New events go in, those of the past that come after the first of them once more; verdicts of the new ones."""
        if not fresh:
            return []
        events = sorted(fresh, key=lambda e: e.key)
        grid = self.engine.core.grid
        first = node_at(grid, events[0].t_ns)
        late = first < self.engine.step or bool(self._past and events[0].key < self._past[-1].key)
        if late or any(map(self._joins, events)):
            self._open_again(first)
            events = sorted((*self._again(), *events), key=lambda e: e.key)
        self._past.extend(events)
        verdicts = self._run(events, max(self.engine.step, self._newest))
        self._forget()
        return [verdicts[e.order] for e in fresh]

    def _joins(self, event: _Event) -> bool:
        """Whether it belongs to a mean that was already taken in without it."""
        grid, node = self.engine.core.grid, node_at(self.engine.core.grid, event.t_ns)
        return event.stream.joined and any(
            e.stream.index == event.stream.index and node_at(grid, e.t_ns) == node for e in self._past
        )

    def _open_again(self, node: int) -> None:
        if not self.engine.rewind(node):
            raise RuntimeError("a reading within the horizon is older than the ring")

    def _again(self) -> list[_Event]:
        """The events from the node now on, taken off the past."""
        grid, again = self.engine.core.grid, []
        while self._past and node_at(grid, self._past[-1].t_ns) >= self.engine.step:
            again.append(self._past.pop())
        return again

    def _run(self, events: Sequence[_Event], until: int) -> dict[int, Verdict]:
        """One compiled call; the verdict of each event by its number."""
        groups = list(_grouped(events, self.engine))
        table = events_of([_mean(group) for group in groups])
        self.engine.process(table, until, self._out)
        return {
            event.order: Verdict(int(said))
            for group, said in zip(groups, table.verdict, strict=True)
            for event in group
        }  # fmt: skip

    def _steps(self, duration_s: float) -> int:
        return round(duration_s / self.engine.core.grid.step_s)

    def _horizon(self) -> int:
        return max(len(self.engine.core.ring) - 2, 0)

    def _forget(self) -> None:
        grid, oldest = self.engine.core.grid, self._newest - self._horizon() - 1
        while self._past and node_at(grid, self._past[0].t_ns) < oldest:
            self._past.popleft()
        if len(self._crowd) > 4 * (self._horizon() + 2) * max(len(self.engine.streams), 1):
            self._crowd = Counter({key: count for key, count in self._crowd.items() if key[0] >= oldest})


def _is_time(t_ns: object) -> bool:
    """A whole number of nanoseconds of a sensible size; floats that are whole will do."""
    if isinstance(t_ns, (bool, str, bytes)) or t_ns is None:
        return False
    try:
        return bool(abs(t_ns) < LATEST_NS and t_ns == int(t_ns))  # type: ignore[arg-type,call-overload]
    except (TypeError, ValueError, OverflowError):
        return False


def _numbers(values: object) -> tuple[float, ...] | None:
    """A copy as floats, None when they are none."""
    if isinstance(values, (str, bytes)) or values is None:
        return None
    try:
        found = np.asarray(values)
        if found.ndim != 1 or found.dtype.kind not in "fiub":
            return None
        return tuple(float(v) for v in found)
    except (TypeError, ValueError, OverflowError):
        return None


def _grouped(events: Sequence[_Event], engine: Engine) -> Iterable[list[_Event]]:
    """Events in order; those of a joined stream that share a node together, at the place of the first."""
    means: dict[tuple[int, int], list[_Event]] = {}
    order: list[list[_Event]] = []
    for event in events:
        if not event.stream.joined:
            order.append([event])
            continue
        key = (event.stream.index, node_at(engine.core.grid, event.t_ns))
        if key not in means:
            means[key] = []
            order.append(means[key])
        means[key].append(event)
    return order


def _mean(
    group: Sequence[_Event],
) -> tuple[int, Stream, tuple[float, ...], tuple[float, ...] | None]:
    """One event of a group: mean time, and for each channel the mean of what was said, with the variance of a mean."""
    one = group[0]
    if len(group) == 1:
        return one.t_ns, one.stream, one.values, one.var
    t_ns = sum(e.t_ns for e in group) // len(group)
    channels = [_mean_of(group, i) for i in range(len(one.values))]
    return t_ns, one.stream, tuple(value for value, _ in channels), tuple(var for _, var in channels)


def _mean_of(group: Sequence[_Event], i: int) -> tuple[float, float]:
    """Mean and variance of channel i, about the first that says something: ±π are neighbours on a circle."""
    stream, period = group[0].stream, group[0].stream.period[i] if group[0].stream.period else 0.0
    said = [e for e in group if abs(e.values[i]) < SANE]
    if not said:
        return nan, nan
    first, total, var = said[0].values[i], 0.0, 0.0
    for e in said:
        gap = e.values[i] - first
        total += gap - period * round(gap / period) if period > 0.0 else gap
        own = e.var[i] if e.var is not None else nan
        var += own if own > 0.0 else (stream.var[i] if stream.var else nan)
    return first + total / len(said), var / len(said) ** 2
