"""Names for the rows of a state vector, and the only place that knows which of them are angles."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hodograph.core.display import counted, listed
from hodograph.core.frames import Array, wrap_rad


@dataclass(frozen=True, slots=True)
class StateLayout:
    """The rows of a state by name, with those that live on a circle.

    A filter adds and subtracts states through the layout, so it cannot forget to wrap. States have shape (n,) or,
    for sigma points, (k, n).
    """

    names: tuple[str, ...]
    circular: frozenset[str] = frozenset()
    _row: dict[str, int] = field(init=False, repr=False, compare=False)
    _circular_rows: NDArray[np.bool_] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(set(self.names)) != len(self.names):
            raise ValueError(f"state rows are named twice: {self.names}")
        unknown = sorted(self.circular - set(self.names))
        if unknown:
            raise ValueError(f"circular rows that are no rows: {', '.join(unknown)}")
        no_angle = sorted(n for n in self.circular if not n.endswith("_rad"))
        if no_angle:
            raise ValueError(f"circular rows are angles and end in _rad: {', '.join(no_angle)}")
        object.__setattr__(self, "_row", {name: i for i, name in enumerate(self.names)})
        mask = np.array([n in self.circular for n in self.names], dtype=np.bool_)
        mask.setflags(write=False)
        object.__setattr__(self, "_circular_rows", mask)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        angles = f"; on circles: {listed(sorted(self.circular), 40)}" if self.circular else ""
        return f"StateLayout({counted(len(self), 'row')}: {listed(self.names)}{angles})"

    def __getitem__(self, name: str) -> int:
        """Row number of `name`."""
        try:
            return self._row[name]
        except KeyError:
            raise ValueError(f"no state row {name!r}; rows are {', '.join(self.names)}") from None

    @property
    def circular_rows(self) -> NDArray[np.bool_]:
        """(n,) True where the row is an angle."""
        return self._circular_rows

    def wrap(self, x: Array) -> Array:
        """`x` (…, n) with its angles brought into [-π, π]; a new array."""
        x = self._checked(x).copy()
        x[..., self._circular_rows] = wrap_rad(x[..., self._circular_rows])
        return x

    def add(self, x: Array, dx: Array) -> Array:
        """State sum x ⊞ dx, angles wrapped; shapes (…, n) broadcast."""
        return self.wrap(self._checked(x) + self._checked(dx))

    def subtract(self, a: Array, b: Array) -> Array:
        """State difference a ⊟ b, the shortest way round for angles; shapes (…, n) broadcast."""
        return self.wrap(self._checked(a) - self._checked(b))

    def mean(self, points: Array, weights: Array) -> Array:
        """Weighted mean (n,) of `points` (k, n), taken about the first point.

        An `atan2` mean breaks with the large negative centre weights of sigma points; differences to the first
        point do not (weights must sum to one).
        """
        points = self._checked(points)
        if points.ndim != 2 or weights.shape != (points.shape[0],):
            raise ValueError(f"mean: points {points.shape} and weights {weights.shape}, want (k, n) and (k,)")
        return self.add(points[0], weights @ self.subtract(points, points[0]))

    def _checked(self, x: Array) -> Array:
        if x.ndim == 0 or x.shape[-1] != len(self.names):
            raise ValueError(f"state has shape {x.shape}, want (…, {len(self.names)})")
        return x
