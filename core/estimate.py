"""The answer of an observer: the state by name, with its covariance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from hodograph.core.display import html_table, listed
from hodograph.core.frames import Array
from hodograph.core.layout import StateLayout
from hodograph.core.reading import Verdict


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """State `x` (n,) and covariance `P` (n, n) at `t_ns`; `verdicts` says what became of the last reading of each
    stream, `valid` is False while the observer is in doubt about itself. The arrays are copied and read-only.
    """

    t_ns: int
    layout: StateLayout
    x: Array
    P: Array
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    valid: bool = True

    def __post_init__(self) -> None:
        n = len(self.layout)
        if self.x.shape != (n,) or self.P.shape != (n, n):
            raise ValueError(f"estimate: x {self.x.shape} and P {self.P.shape}, want ({n},) and ({n}, {n})")
        for name in ("x", "P"):
            frozen = np.array(getattr(self, name), dtype=np.float64)
            frozen.setflags(write=False)
            object.__setattr__(self, name, frozen)
        object.__setattr__(self, "verdicts", MappingProxyType(dict(self.verdicts)))

    def __reduce__(self) -> tuple[type[Estimate], tuple[object, ...]]:
        return Estimate, (self.t_ns, self.layout, self.x, self.P, dict(self.verdicts), self.valid)

    def __getitem__(self, name: str) -> float:
        """The value of the row `name`."""
        return float(self.x[self.layout[name]])

    def std(self, name: str) -> float:
        """1-sigma of the row `name`, in its unit."""
        i = self.layout[name]
        return float(np.sqrt(self.P[i, i]))

    def __repr__(self) -> str:
        rows = listed((f"{name} {self[name]:.4g} ± {self.std(name):.2g}" for name in self.layout.names), 90)
        return f"Estimate(at {self.t_ns} ns: {rows}; {listed(self._said(), 40)})"

    def _repr_html_(self) -> str:
        caption = f"Estimate at {self.t_ns} ns; {listed(self._said(), 200)}"
        return html_table(caption, ("row", "value", "1-sigma"), [(n, self[n], self.std(n)) for n in self.layout.names])

    def _said(self) -> list[str]:
        return [f"{stream} {verdict}" for stream, verdict in self.verdicts.items()] or ["no readings yet"]
