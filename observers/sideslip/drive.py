"""One drive: the five channels on one raster for who learns from it, what the sensors said for who is run on it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hodograph.core import Array, DataError
from hodograph.core.display import short_repr, spanned
from hodograph.observers.events import StreamColumns, events_of_columns
from hodograph.observers.sideslip.channels import CHANNELS, V_MIN_MPS, V_X
from hodograph.observers.sideslip.sources import Sources
from hodograph.observers.tables import Events

SHORTEST_STEP_NS, LONGEST_STEP_NS = 2_000_000, 20_000_000
A_DATE_S = 1e8
"""Stamps beyond this count from 1970."""
ON_RASTER = Sources({"raster": tuple(CHANNELS)})
"""A drive of which only the raster is known: all five channels in one stream."""


@dataclass(frozen=True, slots=True, eq=False)
class Heard:
    """What one stream said: times (m,) and values (m, width) in the order of the sources' names."""

    t_ns: NDArray[np.int64]
    values: Array

    __repr__ = short_repr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SideslipDrive:
    """`t_ns` (n,) is the raster, that of the yaw rate; `inputs` (n, 5) as CHANNELS, held, NaN where one is missing.

    `beta_rad` (n,) is the reference, or None. `heard` has the readings themselves, stream by stream, where they came
    at times of their own; an observer is run on those.
    """

    name: str
    t_ns: NDArray[np.int64]
    inputs: Array
    beta_rad: Array | None = None
    vehicle_toml: str | None = None
    sources: Sources = ON_RASTER
    heard: tuple[tuple[str, Heard], ...] = ()

    def __post_init__(self) -> None:
        n = len(self.t_ns)
        if self.inputs.shape != (n, len(CHANNELS)):
            raise ValueError(
                f"{self.name}: inputs {self.inputs.shape}, want ({n}, {len(CHANNELS)}): {', '.join(CHANNELS)}"
            )
        if np.any(np.diff(self.t_ns) < 0):
            raise ValueError(f"{self.name}: time runs backwards")

    def __repr__(self) -> str:
        reference = "with reference" if self.beta_rad is not None else "no reference"
        return f"SideslipDrive({self.name}: {spanned(self.t_ns)}, {reference})"

    @classmethod
    def sampled(cls, name: str, t_s: Array, inputs: Array, beta_rad: Array | None = None) -> SideslipDrive:
        """From arrays: t_s (n,) s, inputs (n, 5) as CHANNELS, reference (n,) rad."""
        t_ns = np.round(np.asarray(t_s) * 1e9).astype(np.int64)
        return cls(name, t_ns, np.ascontiguousarray(inputs, dtype=np.float64), beta_rad)

    @property
    def t_s(self) -> Array:
        """The raster in s."""
        return np.asarray(self.t_ns * 1e-9, dtype=np.float64)

    @property
    def step_ns(self) -> int:
        """A step for an observer: the raster's own where that is neither too fine nor too coarse."""
        usual = int(np.median(np.diff(self.t_ns))) if len(self.t_ns) > 1 else LONGEST_STEP_NS
        if usual > LONGEST_STEP_NS:
            usual //= -(-usual // LONGEST_STEP_NS)
        return min(max(usual, SHORTEST_STEP_NS), LONGEST_STEP_NS)

    @property
    def moving(self) -> NDArray[np.bool_]:
        """(n,) True from 3 m/s up, where sideslip means something."""
        return self.inputs[:, V_X] >= V_MIN_MPS

    @property
    def reference_rad(self) -> Array:
        """(n,) the reference; `DataError` when there is none."""
        if self.beta_rad is None:
            raise DataError(f"{self.name}: has no reference (beta_cg_rad or v_y_mps) to compare with")
        return self.beta_rad

    def events(self) -> Events:
        """The readings for the loop."""
        table = self.sources.table()
        heard = self.heard or (("raster", Heard(self.t_ns, self.inputs)),)
        return events_of_columns(
            [
                StreamColumns(table[name], h.t_ns - round(1e9 * table[name].latency_s), h.values)
                for name, h in heard
                if name in table
            ]
        )

    def between(self, t_min_s: float | None, t_max_s: float | None) -> SideslipDrive:
        """The rows with t_min_s <= t < t_max_s, in the data's own time (dates: seconds after its start)."""
        t_s = self.t_s - self.t_s[0] if self.t_s[0] > A_DATE_S else self.t_s
        low = -np.inf if t_min_s is None else t_min_s
        high = np.inf if t_max_s is None else t_max_s
        rows = np.flatnonzero((t_s >= low - 1e-9) & (t_s < high - 1e-9))
        if len(rows) < 2:
            raise DataError(
                f"{self.name}: no rows between {low:g} s and {high:g} s; it runs from {t_s[0]:.2f} s to {t_s[-1]:.2f} s"
            )
        return self.rows(int(rows[0]), int(rows[-1]) + 1)

    def rows(self, low: int, high: int) -> SideslipDrive:
        """Rows low … high of the raster, and what was heard meanwhile."""
        first_ns, last_ns = self.t_ns[low], self.t_ns[high - 1]
        heard = tuple(
            (name, Heard(h.t_ns[inside], h.values[inside]))
            for name, h in self.heard
            for inside in [(h.t_ns >= first_ns) & (h.t_ns <= last_ns)]
        )
        beta = None if self.beta_rad is None else self.beta_rad[low:high]
        return replace(self, t_ns=self.t_ns[low:high], inputs=self.inputs[low:high], beta_rad=beta, heard=heard)
