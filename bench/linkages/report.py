"""The page of `hodograph bench linkages --report`: RMS against rate, error with its band, real time, observability."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import exp, log, nan
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hodograph.bench.linkages.bound import bound_rad
from hodograph.bench.linkages.config import PRIOR_STD, RATES_HZ, SENSORS, STEP_S
from hodograph.bench.linkages.grid import Case, Score, Source, engine_of, problem_of, readings_of
from hodograph.bench.linkages.truth import truth_of
from hodograph.core.errors import MechanismError
from hodograph.core.frames import Array
from hodograph.multibody.model.build import State
from hodograph.multibody.motion.kinematics import from_independent
from hodograph.observers.on_mechanism.problem import Problem
from hodograph.observers.tools import observability, statistical_observability
from hodograph.replay.axes import bare_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 110
EVERY = 10  # steps between points of observability

_COLOURS = tuple(
    f"tab:{name}" for name in ["blue", "orange", "green", "red", "purple", "brown", "pink", "gray", "olive", "cyan"]
)


def write_report(folder: Path, scores: list[Score], config: str, source: Source) -> Path:
    """Plots as PNG and one Markdown page that shows them; returns the page."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"# Linkage benchmark, configuration {config}", ""]
    for mechanism in dict.fromkeys(s.case.mechanism for s in scores):
        own = [s for s in scores if s.case.mechanism == mechanism]
        for name, draw in DRAWN.items():
            path = folder / f"{mechanism}_{name}.png"
            draw(own, config, source).savefig(path, dpi=DPI)
            lines += [f"![{name}]({path.name})", ""]
        lines += _bounds(own, config, source)
    page = folder / "report.md"
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return page


def _panels(columns: int) -> tuple[Figure, list[Axes]]:
    figure = bare_figure(5.0 * columns, 4.2)
    return figure, list(figure.subplots(1, columns, squeeze=False)[0])


def draw_rms(scores: list[Score], config: str, source: Source) -> Figure:
    """RMS of the crank angle against the rate of the sensors, with the bound; axes per sensor set."""
    sets = [s for s in SENSORS if any(x.case.sensors == s for x in scores)]
    figure, axes = _panels(len(sets))
    mechanism = scores[0].case.mechanism
    for axis, sensors in zip(axes, sets, strict=True):
        axis.set_prop_cycle(color=list(_COLOURS) * 2, linestyle=["-"] * 10 + [":"] * 10)
        for observer in dict.fromkeys(s.case.observer for s in scores):
            own = [
                s for s in scores
                if s.case.observer == observer and s.case.sensors == sensors and s.case.error_level == "high"
                and not s.diverged
            ]  # fmt: skip
            if own:
                axis.loglog([s.case.rate_hz for s in own], [s.rms_rad for s in own], marker="o", ms=3, label=observer)
        bounds = [bound_rad(mechanism, config, sensors, r, source.reference) for r in RATES_HZ]
        axis.loglog(RATES_HZ, bounds, "k--", lw=2, label="bound")
        axis.set_title(f"{mechanism}, {sensors}, high error")
        axis.set_xlabel("sensor rate, Hz")
        axis.set_ylabel("RMS of the crank angle, rad")
        axis.grid(visible=True, which="both", alpha=0.3)
    axes[0].legend(fontsize=6, loc="lower left")
    return figure


def draw_realtime(scores: list[Score], config: str, source: Source) -> Figure:
    """How many times faster than real time each observer is."""
    names = list(dict.fromkeys(s.case.observer for s in scores))
    best = [min(s.rtf for s in scores if s.case.observer == name) for name in names]
    figure, axes = _panels(1)
    axes[0].barh(names, [1.0 / max(b, 1e-9) for b in best])
    axes[0].set_xscale("log")
    axes[0].set_xlabel(f"times faster than real time ({config}, best row)")
    axes[0].grid(visible=True, axis="x", alpha=0.3)
    return figure


def draw_error(scores: list[Score], config: str, source: Source) -> Figure:
    """The error of the first crank angle with its band; axes per sensor set."""
    picked = [s.case for s in scores if s.case.rate_hz == max(x.case.rate_hz for x in scores)]
    picked = [c for c in picked if c.error_level == picked[0].error_level and c.observer == picked[-1].observer]
    figure, axes = _panels(len(picked))
    for axis, case in zip(axes, picked, strict=True):
        run = engine_of(case).run(readings_of(case, source))
        truth = truth_of(case.mechanism, case.config, source.reference).z
        t_s = STEP_S * np.arange(1, len(truth) + 1)
        band = 1.96 * np.sqrt(run.P[:, 0, 0])
        axis.fill_between(t_s, -band, band, alpha=0.3, label="95 % band")
        axis.plot(t_s, run.x[:, 0] - truth[:, 0], lw=0.8, label="error")
        axis.set_title(f"{case.observer}, {case.sensors}, {case.rate_hz} Hz")
        axis.set_xlabel("time, s")
        axis.set_ylabel("error of the first crank angle, rad")
        limit = 4.0 * float(np.median(band))
        axis.set_ylim(-limit, limit)
        axis.legend(fontsize=7)
    return figure


def draw_observability(scores: list[Score], config: str, source: Source) -> Figure:
    """Linearised along the true motion, and statistically over the sigma points of a UKF at the slowest rate."""
    sets = [s for s in SENSORS if any(x.case.sensors == s for x in scores)]
    rate_hz = min(s.case.rate_hz for s in scores)
    figure, axes = _panels(len(sets))
    for axis, sensors, colour in zip(axes, sets, _COLOURS, strict=False):
        chosen = next(s.case for s in scores if s.case.sensors == sensors)
        case = replace(chosen, observer="ukf_tr", rate_hz=rate_hz)
        states = truth_of(case.mechanism, case.config, source.reference).states[EVERY - 1 :: EVERY]
        t_s = [s.t_s for s in states]
        problem = problem_of(case)
        values = [observability(problem.model, problem.sensors, state) for state in states]
        axis.plot(t_s, values, color=colour, lw=2.5, alpha=0.6, label="linearised, true motion")
        axis.plot(t_s, _statistical(case, source, states), "k--", lw=0.9, label=f"statistical, UKF at {rate_hz} Hz")
        axis.set_ylim(-0.1, max(1.0, axis.get_ylim()[1]))
        axis.set_title(f"{case.mechanism}, {sensors}")
        axis.set_xlabel("time, s")
        axis.set_ylabel("log10 condition, local observability")
        axis.legend(fontsize=7, loc="upper right")
    return figure


DRAWN: Mapping[str, Callable[[list[Score], str, Source], Figure]] = {
    "rms": draw_rms, "realtime": draw_realtime, "error": draw_error, "observability": draw_observability
}  # fmt: skip
"""The pictures of a report, each for one mechanism."""


def _statistical(case: Case, source: Source, near: Sequence[State]) -> list[float]:
    """Observability over the sigma points of a UKF on its way; NaN where they are too wide for the linkage to close."""
    problem = problem_of(case)
    run = engine_of(case).run(readings_of(case, source))
    found = []
    for state, x, P in zip(near, run.x[EVERY - 1 :: EVERY], run.P[EVERY - 1 :: EVERY], strict=True):
        try:
            found.append(_statistical_at(problem, state, x, P))
        except (MechanismError, np.linalg.LinAlgError):
            found.append(nan)
    return found


def _statistical_at(problem: Problem, near: State, x: Array, P: Array) -> float:
    """d[z, zd]/dt and h linearised over the sigma points of (x, P), so that it compares with the exact derivatives."""
    model, f = problem.model, len(problem.model.independent)

    def at(point: Array) -> State:
        return from_independent(model, near.t_s, point[:f], point[f:], near.q)

    def slope(point: Array) -> Array:
        return np.concatenate([point[f:], at(point).qdd[model.independent]])

    def reads(point: Array) -> Array:
        state = at(point)
        return problem.sensors.h(state.q, state.qd, state.qdd)

    return statistical_observability(slope, reads, x, P)


def _bounds(scores: list[Score], config: str, source: Source) -> list[str]:
    """A table of RMS / bound for the rows at high error."""
    rows = [s for s in scores if s.case.error_level == "high" and not s.diverged]
    if not rows:
        return []
    lines = [
        "The bound takes the error that was put in (pi/16) as prior; in brackets the 5 deg that the observers assume,",
        "which the benchmark's start violates, so that one may be undercut.",
        "",
        "| observer | sensors | rate Hz | RMS rad | RMS / bound |",
        "|---|---|---|---|---|",
    ]
    ratios: dict[str, list[float]] = {}
    for s in rows:
        c = s.case
        ratio = s.rms_rad / bound_rad(c.mechanism, config, c.sensors, c.rate_hz, source.reference)
        narrow = bound_rad(c.mechanism, config, c.sensors, c.rate_hz, source.reference, prior_std_rad=PRIOR_STD)
        ratios.setdefault(c.observer, []).append(ratio)
        told = f"{ratio:.2f} ({s.rms_rad / narrow:.2f})"
        lines.append(f"| {c.observer} | {c.sensors} | {c.rate_hz} | {s.rms_rad:.5f} | {told} |")
    means = ", ".join(f"{k} {exp(sum(map(log, v)) / len(v)):.2f}" for k, v in ratios.items())
    return [*lines, "", f"Geometric mean of RMS / bound: {means}.", ""]
