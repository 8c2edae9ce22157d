"""A filter with its loop: readings go in, in order, and the nodes it passes come out. No clock but the grid."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hodograph.core.display import listed
from hodograph.core.frames import Array
from hodograph.core.layout import StateLayout
from hodograph.core.reading import Verdict
from hodograph.numerics.entry import entry_of
from hodograph.observers.filter import Filter
from hodograph.observers.loop import loop
from hodograph.observers.memory import Room
from hodograph.observers.tables import (
    BEGUN,
    BOOK,
    BROKEN,
    COASTING,
    DOUBT,
    FAILED,
    HEARD,
    REFUSALS,
    SINCE,
    SPOKEN,
    STEP,
    Core,
    Events,
    Grid,
    Limits,
    Output,
)

GAP_S, SETTLE_S, DOUBT_S, REFUSED_S, REFUSED_ROWS, SURPRISE = 30.0, 2.0, 5.0, 0.25, 5, 6.0
"""See `Limits`: what an observer in service does about gaps, failures and rows of refusals."""


@dataclass(frozen=True, slots=True)
class Stream:
    """Where the readings of a stream go: number of the stream, rows first … end.

    `latency_s` is taken off their arrival where a reading has no stamp of its own; `joined`: several readings within
    one step act as their mean; `longest`: another length that its readings may have; `var`: the variances of
    the sensor; `period`: of its channels that live on a circle, else 0.
    """

    index: int
    first: int
    end: int
    latency_s: float = 0.0
    joined: bool = False
    longest: int = 0
    var: tuple[float, ...] = ()
    period: tuple[float, ...] = ()

    def takes(self, count: int) -> bool:
        """Whether a reading may have so many values; an input may bring its rate and acceleration."""
        return count == self.end - self.first or count == self.longest


def no_output(size: int) -> Output:
    """Nothing is kept."""
    return make_output(0, 0, size, traced=False)


def make_output(origin: int, rows: int, size: int, *, traced: bool) -> Output:
    """Room for `rows` nodes from `origin` on, NaN where nothing came; F and priors only when `traced`."""
    kept = rows if traced else 0
    return Output(
        origin=origin,
        x=np.full((rows, size), np.nan),
        P=np.full((rows, size, size), np.nan),
        valid=np.zeros(rows, dtype=np.bool_),
        F=np.zeros((kept, size, size)),
        x_prior=np.zeros((kept, size)),
        P_prior=np.zeros((kept, size, size)),
    )


@dataclass(eq=False, slots=True)
class Engine:
    """One filter on one grid. `process` is the one entry: live, replay and benchmarks call it with the same types."""

    layout: StateLayout
    streams: Mapping[str, Stream]
    filter: Filter
    core: Core
    calls: int = field(default=0, init=False)
    """How often compiled code was entered."""
    _entry: Callable[[Any, Core, Events, Output, int], int] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self.open()

    def __repr__(self) -> str:
        doubt = "" if self.valid else ", not valid"
        what = f"{listed(self.layout.names)}; reads {listed(self.streams)}"
        return f"{type(self).__name__}(at {self.t_ns} ns{doubt}: {what})"

    def kept(self) -> tuple[Array, Array]:
        """What a copy must take over."""
        return self.core.memory, self.core.ring

    def __setstate__(self, kept: tuple[Array, Array]) -> None:
        self.core.memory[:], self.core.ring[:] = kept

    @property
    def x(self) -> Array:
        """The state (N,)."""
        return self.core.x.copy()

    @property
    def P(self) -> Array:
        """Its covariance (N, N)."""
        return self.core.P.copy()

    @property
    def step(self) -> int:
        """The node now."""
        return int(self.core.book[STEP])

    @property
    def t_ns(self) -> int:
        """Time of the node now."""
        return self.core.grid.t0_ns + self.step * self.core.grid.step_ns

    @property
    def t_s(self) -> float:
        """The model's time at the node now."""
        return self.core.grid.t0_s + self.step * self.core.grid.step_s

    @property
    def valid(self) -> bool:
        """False after a start over or a doubtful stretch, until the estimate has settled."""
        settled = self.core.book[COASTING] == 0.0 and self.step >= self.core.book[DOUBT]
        return bool(settled and self.core.trust[0] > 0.0)

    @property
    def broken(self) -> int:
        """The last node whose state did not follow from the one before by the model and the readings alone."""
        return int(self.core.book[BROKEN])

    @property
    def failed(self) -> bool:
        """A strict run has lost its state."""
        return bool(self.core.book[FAILED])

    def process(self, events: Events, until: int, out: Output | None = None) -> int:
        """Take the events in and go on to node `until`; one compiled call. Their verdicts stand in `events`."""
        self.calls += 1
        out = out or no_output(len(self.layout))
        if self._entry is None:
            self._entry = entry_of(self.filter.run, self.filter.arrays, self.core, events, out, until)
        check_types(events, len(self.core.refusals))
        return self._entry(self.filter.arrays, self.core, events, out, until)

    def advance(self, dt_s: float) -> None:
        """Go on by whole steps without readings."""
        self.process(no_events(), self.step + round(dt_s / self.core.grid.step_s))

    def update(self, stream: str, values: Sequence[float]) -> Verdict:
        """Correct by a reading at the node now; a stream without sensor or of other length is INVALID."""
        place = self.streams.get(stream)
        if place is None or not place.takes(len(values)):
            return Verdict.INVALID
        events = events_of([(self.t_ns, place, values, None)])
        self.process(events, self.step)
        return Verdict(int(events.verdict[0]))

    def snapshot(self) -> Array:
        """Everything that the filter knows."""
        return self.core.memory.copy()

    def restore(self, snapshot: Array) -> None:
        """Back to a snapshot, bit for bit."""
        self.core.memory[:] = snapshot

    def rewind(self, step: int) -> bool:
        """Back to the opening of node `step`, or of the last one before it that is kept; False when none is."""
        steps = self.core.ring[:, STEP_PLACE] if len(self.core.ring) else np.zeros(0)
        usable = np.flatnonzero(steps <= step)
        if len(usable) == 0:
            return False
        self.core.memory[:] = self.core.ring[usable[np.argmax(steps[usable])]]
        self.core.ring[steps > self.step, STEP_PLACE] = np.inf  # what comes after is not true any more
        return True

    def rebase(self, step: int) -> None:
        """Go on from another node (a clock was set), as it were after a gap: nothing from before is kept."""
        self.core.ring[:, STEP_PLACE] = np.inf
        book = self.core.book
        book[:] = 0.0
        book[STEP] = book[DOUBT] = book[BROKEN] = book[SPOKEN] = step
        book[COASTING], book[BEGUN] = SET_BACK, -np.inf
        self.core.refusals[:] = 0.0
        self.core.refusals[:, HEARD], self.core.refusals[:, SINCE] = -np.inf, np.inf
        self.open()

    def open(self) -> None:
        """Keep the node now as one to go back to."""
        if len(self.core.ring):
            self.core.ring[self.step % len(self.core.ring)] = self.core.memory


SET_BACK = 2.0
STEP_PLACE = STEP
"""The book is the first thing in the memory, so a ring's slot tells its node here."""


@dataclass(frozen=True, slots=True)
class Service:
    """How an engine runs: on which grid, how far back it can go, and whether it may lose its state (`strict`).

    The estimate is called valid when it has settled for `settle_s`, and again `doubt_s` after it was begun anew or
    after the average ν²/S of a stream was beyond `surprise` (1 is normal).
    """

    step_s: float
    t0_ns: int = 0
    t0_s: float = 0.0
    horizon_s: float = 0.0
    strict: bool = False
    settle_s: float = SETTLE_S
    doubt_s: float = DOUBT_S
    surprise: float = SURPRISE

    def __post_init__(self) -> None:
        if not 1e-6 <= self.step_s <= 10.0:
            raise ValueError(f"step_s must lie in 1e-6 … 10 s, got {self.step_s}")
        if not 0.0 <= self.horizon_s <= 60.0:
            raise ValueError(f"horizon_s must lie in 0 … 60 s, got {self.horizon_s}")
        for name, value_s in (("settle_s", self.settle_s), ("doubt_s", self.doubt_s)):
            if not 0.0 <= value_s <= 60.0:
                raise ValueError(f"{name} must lie in 0 … 60 s, got {value_s}")

    @property
    def step_ns(self) -> int:
        """The step in whole nanoseconds."""
        return round(1e9 * self.step_s)

    def steps(self, duration_s: float) -> int:
        """Whole steps in a duration, at least one."""
        return max(1, round(duration_s / self.step_s))


def assemble(
    streams: Mapping[str, Stream], service: Service, make: Callable[[Room], Filter]
) -> tuple[Mapping[str, Stream], Filter, Core]:
    """The filter that `make` lays out in the room it is given, and the loop's view of it."""
    room = Room()
    book, refusals = room.zeros(BOOK), room.zeros(len(streams), REFUSALS)
    refusals[:, HEARD], refusals[:, SINCE] = -np.inf, np.inf
    book[BEGUN] = -np.inf
    begin = room.used
    made = make(room)
    memory = room.memory
    slots = 0 if service.strict else service.steps(service.horizon_s) + 2
    core = Core(
        memory=memory,
        vital=memory[begin : begin + made.vital],
        book=book,
        refusals=refusals,
        counts=made.counts,
        x=made.x,
        P=made.P,
        F=made.F,
        trust=made.trust,
        start_var=np.diag(made.P).copy(),
        start=memory.copy(),
        before=memory.copy(),
        ring=np.full((slots, len(memory)), np.inf),
        grid=Grid(service.t0_ns, service.step_ns, service.t0_s, service.step_ns / 1e9),
        limits=Limits(
            gap=service.steps(GAP_S),
            settle=round(service.settle_s / service.step_s),
            doubt=round(service.doubt_s / service.step_s),
            refused_rows=REFUSED_ROWS,
            refused_steps=service.steps(REFUSED_S),
            surprise=service.surprise,
            strict=int(service.strict),
        ),
    )
    return streams, made, core


EVENT_TYPES = ("int64", "uint32", "uint32", "uint32", "float64", "float64", "int64")


def check_types(events: Events, streams: int) -> None:
    """Machine code takes what it is given for what it was compiled for, and looks nowhere whether it is there."""
    for name, wanted in zip(Events._fields, EVENT_TYPES, strict=True):
        array = getattr(events, name)
        if array.dtype != wanted or not array.flags.c_contiguous or array.ndim != 1:
            raise ValueError(f"events.{name}: want a contiguous row of {wanted}, got {array.dtype} {array.shape}")
    count, values = len(events.t_ns), len(events.value)
    lengths = tuple(len(getattr(events, name)) for name in Events._fields)
    if lengths != (count, count, count, count + 1, values, values, count) or events.start[-1] != values:
        raise ValueError(f"events of {count} readings and {values} values: lengths {lengths} do not fit")
    if count and not events.stream.max() < streams:
        raise ValueError(f"events name stream {events.stream.max()}, there are {streams}")


def no_events() -> Events:
    """Nothing was read."""
    return events_of([])


def events_of(readings: Sequence[tuple[int, Stream, Sequence[float], Sequence[float] | None]]) -> Events:
    """Events of (time, stream, values, variances or None for the sensor's own), given in their order."""
    values = [float(v) for _, _, row, _ in readings for v in row]
    var = [float(v) for _, _, row, own in readings for v in (own if own is not None else [np.nan] * len(row))]
    start = np.cumsum([0, *(len(row) for _, _, row, _ in readings)])
    return Events(
        t_ns=np.array([t for t, *_ in readings], dtype=np.int64),
        stream=np.array([s.index for _, s, *_ in readings], dtype=np.uint32),
        row=np.array([s.first for _, s, *_ in readings], dtype=np.uint32),
        start=start.astype(np.uint32),
        value=np.array(values, dtype=np.float64),
        var=np.array(var, dtype=np.float64),
        verdict=np.full(len(readings), int(Verdict.INVALID), dtype=np.int64),
    )


def events_of_grid(grid: Grid, step: int, readings: NDArray[np.float64]) -> Events:
    """One event of all rows for every node after `step`: readings (steps, m), NaN where none came."""
    some = np.flatnonzero(np.isfinite(readings).any(axis=1))
    count, m = len(some), readings.shape[1]
    return Events(
        t_ns=grid.t0_ns + (step + 1 + some.astype(np.int64)) * grid.step_ns,
        stream=np.zeros(count, dtype=np.uint32),
        row=np.zeros(count, dtype=np.uint32),
        start=(m * np.arange(count + 1)).astype(np.uint32),
        value=np.ascontiguousarray(readings[some]).ravel(),
        var=np.full(count * m, np.nan),
        verdict=np.full(count, int(Verdict.INVALID), dtype=np.int64),
    )


def interpreted(predict: Any, correct: Any, renew: Any) -> Callable[[Any, Core, Events, Output, int], int]:
    """The entry of a filter whose functions are plain Python: the same loop, not compiled."""
    plain = getattr(loop, "py_func", loop)

    def run(f: Any, core: Core, events: Events, out: Output, until: int) -> int:
        return int(plain(f, predict, correct, renew, core, events, out, until))

    return run
