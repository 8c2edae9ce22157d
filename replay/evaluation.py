"""What came out of a comparison of observers: figures, a table, and pictures of the errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, nan
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import chi2

from hodograph.core.display import counted, cut, html_table, listed, short_repr
from hodograph.core.frames import Array
from hodograph.core.layout import StateLayout
from hodograph.replay.axes import new_axes
from hodograph.replay.labels import labelled, name_and_unit
from hodograph.replay.motion import TrueMotion

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

BAND = 1.96
"""So many sigma to each side hold 95 %."""
CONFIDENCE = (0.025, 0.975)


@dataclass(frozen=True, slots=True, eq=False)
class ScoredRun:
    """One observer on the readings of one seed: x (k, N) and P (k, N, N), NaN from where it was lost."""

    seed: int
    x: Array
    P: Array
    lost_s: float | None
    nis_sum: float
    nis_rows: int
    step_us: float

    __repr__ = short_repr

    @property
    def std(self) -> Array:
        """1-sigma of the rows, (k, N)."""
        return np.asarray(np.sqrt(np.maximum(np.diagonal(self.P, axis1=1, axis2=2), 0.0)))


@dataclass(frozen=True, slots=True, eq=False)
class ObserverFigures:
    """How good an observer was over all its runs. As soon as one was lost, its errors, NEES and NIS are infinite.

    `rmse` (N,) by rows. `nees` is the mean of eᵀP⁻¹e per row of the state, `nis` that of the squared innovations per
    reading; both are 1 where the observer knows how wrong it is. `coverage_95` (N,) is how much of the time the error
    was within ±1.96 sigma; being lost is not.
    """

    rmse: Array
    nees: float
    coverage_95: Array
    nis: float
    nis_bounds: tuple[float, float]
    lost: int
    first_lost_s: float | None
    step_us: float

    __repr__ = short_repr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Evaluation:
    """Runs of several observers on one known motion; `layout` names [z, zd]. Figures count from `after_s` on."""

    truth: TrueMotion
    layout: StateLayout
    runs: Mapping[str, tuple[ScoredRun, ...]]
    after_s: float = 0.0

    @property
    def observers(self) -> tuple[str, ...]:
        """Their labels."""
        return tuple(self.runs)

    @property
    def seeds(self) -> tuple[int, ...]:
        """Of the readings and of the wrong starts."""
        return tuple(run.seed for run in next(iter(self.runs.values())))

    @property
    def nees_bounds(self) -> tuple[float, float]:
        """Between these the mean NEES of an observer that knows how wrong it is lies with 95 %.

        Errors of one run hang together in time, so each run counts as one sample: the bounds of the mean over all runs
        at one instant, which the mean over time leaves more seldom still.
        """
        return _mean_chi2(len(self.layout) * len(self.seeds))

    def run(self, observer: str, seed: int | None = None) -> ScoredRun:
        """The run of a seed, by default of the first."""
        if observer not in self.runs:
            raise ValueError(f"no observer {observer}; there are {', '.join(self.runs)}")
        found = [r for r in self.runs[observer] if seed is None or r.seed == seed]
        if not found:
            raise ValueError(f"no run of seed {seed}; there are {', '.join(map(str, self.seeds))}")
        return found[0]

    def error(self, observer: str, seed: int | None = None) -> Array:
        """Estimate minus truth (k, N), angles the short way round; NaN from where the run was lost."""
        return self.layout.subtract(self.run(observer, seed).x, self.truth.x)

    def nees(self, observer: str, seed: int | None = None) -> Array:
        """eᵀP⁻¹e (k,) over time; infinite where P is singular, NaN from where the run was lost."""
        return _squared(self.error(observer, seed), self.run(observer, seed).P)

    def figures(self, observer: str) -> ObserverFigures:
        """How good an observer was over all seeds."""
        self.run(observer)
        runs, counts = self.runs[observer], self._counting
        errors = np.array([self.error(observer, r.seed) for r in runs])[:, counts]
        nees = np.array([self.nees(observer, r.seed) for r in runs])[:, counts]
        std = np.array([r.std for r in runs])[:, counts]
        lost_s = [r.lost_s for r in runs if r.lost_s is not None]
        rows = sum(r.nis_rows for r in runs)
        spoilt = bool(lost_s)
        return ObserverFigures(
            rmse=np.full(len(self.layout), inf) if spoilt else np.sqrt((errors**2).mean(axis=(0, 1))),
            nees=inf if spoilt else float(nees.mean()) / len(self.layout),
            coverage_95=(np.abs(errors) <= BAND * std).mean(axis=(0, 1)),
            nis=inf if spoilt else (sum(r.nis_sum for r in runs) / rows if rows else nan),
            nis_bounds=_mean_chi2(rows),
            lost=len(lost_s),
            first_lost_s=min(lost_s, default=None),
            step_us=min(r.step_us for r in runs),
        )

    @property
    def _counting(self) -> Array:
        """(k,) True where figures count."""
        return np.asarray(self.truth.t_s - self.truth.states[0].t_s > self.after_s - 1e-9)

    def to_pandas(self) -> pd.DataFrame:
        """A row per observer; units are in `frame.attrs["units"]`."""
        import pandas as pd

        low, high = self.nees_bounds
        rows = []
        for name in self.observers:
            f = self.figures(name)
            rmse = {f"rmse_{row}": value for row, value in zip(self.layout.names, f.rmse, strict=True)}
            held = {f"coverage_95_{row}": value for row, value in zip(self.layout.names, f.coverage_95, strict=True)}
            rows.append({
                **rmse, "nees": f.nees, "nees_low": low, "nees_high": high, **held, "nis": f.nis,
                "nis_low": f.nis_bounds[0], "nis_high": f.nis_bounds[1], "runs": len(self.runs[name]), "lost": f.lost,
                "first_lost_s": nan if f.first_lost_s is None else f.first_lost_s, "step_us": f.step_us,
            })  # fmt: skip
        frame = pd.DataFrame(rows, index=pd.Index(self.observers, name="observer"))
        units = {f"rmse_{row}": name_and_unit(row)[1] for row in self.layout.names}
        frame.attrs["units"] = {**units, "first_lost_s": "s", "step_us": "us"}
        return frame

    def plot(
        self,
        row: str | None = None,
        *,
        observers: Sequence[str] | None = None,
        seed: int | None = None,
        axes: Axes | None = None,
    ) -> Axes:
        """The error of a row of the state over time with the 95 % band of each observer, on the readings of one seed.

        By default of the first row, all observers and the first seed. Returns the axes; nothing is shown or saved.
        """
        row = self.layout.names[0] if row is None else row
        i = self.layout[row]
        shown = self.observers if observers is None else tuple(observers)
        runs = {name: self.run(name, seed) for name in shown}
        axes = new_axes() if axes is None else axes
        for k, (name, run) in enumerate(runs.items()):
            _draw(
                axes, self.truth.t_s, self.error(name, run.seed)[:, i], BAND * run.std[:, i], f"C{k}", _told(name, run)
            )
        _limit(axes, [self.error(name, run.seed)[:, i] for name, run in runs.items()])
        name, unit = name_and_unit(row)
        axes.set(xlabel="time [s]", ylabel=f"error of {name} [{unit}], 95 % band", xlim=(self.truth.t_s[[0, -1]]))
        axes.set_title(f"{self.truth.model.mechanism.name}, seed {self.run(shown[0], seed).seed}", loc="left")
        axes.grid(alpha=0.3)
        axes.legend(ncols=min(len(shown), 4), frameon=False, fontsize=9, loc="upper right")
        return axes

    def __repr__(self) -> str:
        name = cut(self.truth.model.mechanism.name)
        seeds = counted(len(self.seeds), "seed")
        return f"Evaluation({name}, {self.truth.seconds:g} s, {seeds}: {listed(self.observers, 90)})"

    def __str__(self) -> str:
        heading, rows = self._table()
        cells = [heading, *(tuple(c if isinstance(c, str) else f"{c:.3g}" for c in row) for row in rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        return "\n".join((self._caption(), *(_line(line, widths) for line in cells)))

    def _repr_html_(self) -> str:
        heading, rows = self._table()
        return html_table(self._caption(), heading, rows)

    def _caption(self) -> str:
        low, high = self.nees_bounds
        after = f" from {self.after_s:g} s on" if self.after_s > 0.0 else ""
        return (
            f"{self.truth.model.mechanism.name}, {self.truth.seconds:g} s{after}, {counted(len(self.seeds), 'seed')}; "
            f"NEES and NIS are 1 when right, NEES within {low:.2f} … {high:.2f}"
        )

    def _table(self) -> tuple[tuple[str, ...], list[tuple[str | float, ...]]]:
        rmse = [f"RMSE {labelled(row)}" for row in self.layout.names]
        heading = ("observer", *rmse, "NEES", "in 95 % band", "NIS", "lost", "µs/step")
        rows: list[tuple[str | float, ...]] = []
        for name in self.observers:
            f = self.figures(name)
            lost = "no" if f.first_lost_s is None else f"{f.lost} of {len(self.seeds)}, at {f.first_lost_s:.2f} s"
            held = f"{f.coverage_95.mean():.0%}"
            rows.append((cut(name), *map(float, f.rmse), f.nees, held, f.nis, lost, f.step_us))
        return heading, rows


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """The first cell at the left, numbers at the right."""
    padded = [c.rjust(w) if k else c.ljust(w) for k, (c, w) in enumerate(zip(cells, widths, strict=True))]
    return "  ".join(padded).rstrip()


def _mean_chi2(samples: int) -> tuple[float, float]:
    """95 % bounds of the mean of so many squared unit normals."""
    if samples == 0:
        return 0.0, inf
    low, high = (float(chi2.ppf(p, samples)) / samples for p in CONFIDENCE)
    return low, high


def _squared(error: Array, P: Array) -> Array:
    """eᵀP⁻¹e (k,) of errors (k, N) and covariances (k, N, N)."""
    found = np.full(len(error), nan)
    for k in range(len(error)):
        if np.isfinite(error[k]).all():
            try:
                found[k] = error[k] @ np.linalg.solve(P[k], error[k])
            except np.linalg.LinAlgError:
                found[k] = inf
    return found


def _told(name: str, run: ScoredRun) -> str:
    return name if run.lost_s is None else f"{name}, lost at {run.lost_s:.2f} s"


def _draw(axes: Axes, t_s: Array, error: Array, band: Array, colour: str, label: str) -> None:
    axes.fill_between(t_s, -band, band, color=colour, alpha=0.13, lw=0)
    for side in (-band, band):
        axes.plot(t_s, side, color=colour, lw=0.6, alpha=0.6)
    axes.plot(t_s, error, color=colour, lw=1.1, label=label)
    held = np.flatnonzero(np.isfinite(error))
    if 0 < len(held) < len(error):
        axes.plot(t_s[held[-1]], error[held[-1]], "x", color=colour, ms=9, mew=2)


def _limit(axes: Axes, errors: Sequence[Array]) -> None:
    """What lies beyond all errors of the picture is not shown: the bands of a start may be wide."""
    most = max((float(np.nanmax(np.abs(e))) for e in errors if np.isfinite(e).any()), default=0.0)
    if most > 0.0:
        axes.set_ylim(-1.25 * most, 1.25 * most)
