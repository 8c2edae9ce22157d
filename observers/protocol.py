"""What an observer is, for everybody who runs, compares or writes one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from hodograph.core.display import short_repr
from hodograph.core.estimate import Estimate
from hodograph.core.frames import Array
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


@dataclass(frozen=True, slots=True, eq=False)
class Transition:
    """One prediction as a smoother wants it: (x, P) before, F (n, n), and (x_prior, P_prior) after `dt_s` seconds."""

    dt_s: float
    x: Array
    P: Array
    F: Array
    x_prior: Array
    P_prior: Array

    __repr__ = short_repr
