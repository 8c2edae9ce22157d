"""What an observer is, for everybody who runs, compares or writes one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from hodograph.core.estimate import Estimate
from hodograph.core.frames import Array
from hodograph.core.layout import StateLayout
from hodograph.core.reading import Reading, Verdict


@runtime_checkable
class Observer(Protocol):
    """Turns readings into estimates. Never raises on bad data, never answers NaN."""

    def predict_to(self, t_ns: int) -> None:
        """Bring the estimate to `t_ns`; a time in the past changes nothing."""
        ...

    def correct(self, reading: Reading) -> Verdict:
        """Take a reading in (predicting to its time first) and say what became of it."""
        ...

    @property
    def estimate(self) -> Estimate:
        """The state now."""
        ...


class Engine(Protocol):
    """The mathematics under an observer: no clock, no history, no verdicts but its own."""

    @property
    def layout(self) -> StateLayout:
        """Names of the state's rows."""
        ...

    @property
    def x(self) -> Array:
        """The state (n,)."""
        ...

    @property
    def P(self) -> Array:
        """Its covariance (n, n)."""
        ...

    def advance(self, dt_s: float) -> None:
        """Predict over `dt_s` seconds."""
        ...

    def update(self, stream: str, values: tuple[float, ...]) -> Verdict:
        """Correct by one reading: USED, GATED or INVALID."""
        ...

    def snapshot(self) -> Any:
        """Everything that `restore` needs."""
        ...

    def restore(self, snapshot: Any) -> None:
        """Go back to a snapshot."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Transition:
    """One prediction as a smoother wants it: (x, P) before, F (n, n), and (x_prior, P_prior) after `dt_s` seconds."""

    dt_s: float
    x: Array
    P: Array
    F: Array
    x_prior: Array
    P_prior: Array


@runtime_checkable
class TracedEngine(Protocol):
    """An engine that can say how it predicted; what fixed-lag smoothing needs."""

    def advance_traced(self, dt_s: float) -> Sequence[Transition] | None:
        """As `advance`; the predictions it made, or None when the state was lost on the way and begun anew."""
        ...
