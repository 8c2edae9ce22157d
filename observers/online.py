"""The thin shell that makes an observer of an engine: time, latency, late readings, verdicts."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hodograph.core.estimate import Estimate
from hodograph.core.reading import Reading, Verdict
from hodograph.observers.protocol import Engine, TracedEngine, Transition
from hodograph.observers.smoothing import smooth_back


@dataclass(frozen=True, slots=True)
class _Moment:
    t_ns: int
    stream: str | None
    values: tuple[float, ...]
    after: Any


@dataclass(frozen=True, slots=True)
class _Traced:
    begin_ns: int
    step: Transition


@dataclass(slots=True)
class OnlineObserver:
    """An engine on a clock. Readings may come in any order: one that is late by no more than `horizon_s` is put in its
    place by rewinding and replaying, an older one is refused as STALE.

    `latency_s` by stream is taken off the time of its readings. With a `lag_s` the last predictions are kept, and
    `lagged` is the fixed-lag smoother.
    """

    engine: Engine
    t_ns: int = 0
    horizon_s: float = 0.5
    latency_s: Mapping[str, float] = field(default_factory=dict)
    lag_s: float = 0.0
    counts: Counter[tuple[str, Verdict]] = field(default_factory=Counter, init=False)
    _verdicts: dict[str, Verdict] = field(default_factory=dict, init=False, repr=False)
    _past: deque[_Moment] = field(default_factory=deque, init=False, repr=False)
    _trail: deque[_Traced] = field(default_factory=deque, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.lag_s > 0.0 and not isinstance(self.engine, TracedEngine):
            raise ValueError("a lag needs an engine that says how it predicts (advance_traced)")
        self._past.append(_Moment(self.t_ns, None, (), self.engine.snapshot()))

    def predict_to(self, t_ns: int) -> None:
        """Bring the estimate to `t_ns`; a time in the past changes nothing."""
        if t_ns > self.t_ns:
            if self.lag_s > 0.0:
                self._trace(t_ns)
            else:
                self.engine.advance((t_ns - self.t_ns) * 1e-9)
            self.t_ns = t_ns

    def correct(self, reading: Reading) -> Verdict:
        """Take a reading in at the time it was measured and say what became of it."""
        t_ns = reading.t_ns - round(1e9 * self.latency_s.get(reading.stream, 0.0))
        if t_ns >= self.t_ns:
            self.predict_to(t_ns)
            verdict = self._take(t_ns, reading.stream, reading.values)
            self._forget()
        elif t_ns < self.t_ns - 1e9 * self.horizon_s or t_ns < self._past[0].t_ns:
            verdict = Verdict.STALE
        else:
            verdict = self._rewind(t_ns, reading)
        self.counts[reading.stream, verdict] += 1
        self._verdicts[reading.stream] = verdict
        return verdict

    @property
    def estimate(self) -> Estimate:
        """The state now, with the last verdict of each stream."""
        return Estimate(self.t_ns, self.engine.layout, self.engine.x, self.engine.P, self._verdicts)

    @property
    def lagged(self) -> Estimate:
        """The state about `lag_s` ago, smoothed with every reading since; asking changes nothing.

        It is the state at the last step that is at least as old, or the oldest there is after a start or a reset.
        """
        begin_ns = self._trail[0].begin_ns if self._trail else self.t_ns
        x, P = smooth_back([kept.step for kept in self._trail], self.engine.x, self.engine.P)
        return Estimate(begin_ns, self.engine.layout, x, P, self._verdicts)

    def _trace(self, t_ns: int) -> None:
        assert isinstance(self.engine, TracedEngine)
        steps = self.engine.advance_traced((t_ns - self.t_ns) * 1e-9)
        if steps is None:
            self._trail.clear()
            return
        end_ns = float(self.t_ns)
        for step in steps:
            self._trail.append(_Traced(round(end_ns), step))
            end_ns += 1e9 * step.dt_s
        while len(self._trail) > 1 and self._trail[1].begin_ns <= t_ns - 1e9 * self.lag_s:
            self._trail.popleft()

    def _take(self, t_ns: int, stream: str, values: tuple[float, ...]) -> Verdict:
        verdict = self.engine.update(stream, values)
        self._past.append(_Moment(t_ns, stream, values, self.engine.snapshot()))
        return verdict

    def _rewind(self, t_ns: int, reading: Reading) -> Verdict:
        now_ns, later = self.t_ns, []
        while self._past[-1].t_ns > t_ns:
            later.append(self._past.pop())
        self.t_ns = self._past[-1].t_ns
        self.engine.restore(self._past[-1].after)
        while self._trail and self._trail[-1].begin_ns >= self.t_ns:
            self._trail.pop()
        self.predict_to(t_ns)
        verdict = self._take(t_ns, reading.stream, reading.values)
        for moment in reversed(later):
            self.predict_to(moment.t_ns)
            self._take(moment.t_ns, moment.stream or "", moment.values)
        self.predict_to(now_ns)
        return Verdict.LATE if verdict is Verdict.USED else verdict

    def _forget(self) -> None:
        oldest_ns = self.t_ns - 1e9 * self.horizon_s
        while len(self._past) > 1 and self._past[1].t_ns <= oldest_ns:
            self._past.popleft()
