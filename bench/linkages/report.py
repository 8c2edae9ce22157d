"""The page of `hodograph bench linkages --report`: RMS against rate, error with its band, real time, observability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import exp, log, nan
from pathlib import Path

import numpy as np

from hodograph.bench.linkages.bound import bound_rad
from hodograph.bench.linkages.config import PRIOR_STD, RATES_HZ, SENSORS, STEP_S
from hodograph.bench.linkages.grid import Case, Score, Source, engine_of, problem_of, readings_of
from hodograph.bench.linkages.truth import truth_of
from hodograph.core.errors import MechanismError, MissingExtraError
from hodograph.core.frames import Array
from hodograph.multibody.model.build import State
from hodograph.multibody.motion.kinematics import from_independent
from hodograph.observers.on_mechanism.problem import Problem
from hodograph.observers.tools import observability, statistical_observability

EVERY = 10  # steps between points of observability

_COLOURS = tuple(
    f"tab:{name}" for name in ["blue", "orange", "green", "red", "purple", "brown", "pink", "gray", "olive", "cyan"]
)


def write_report(folder: Path, scores: list[Score], config: str, source: Source) -> Path:
    """Plots as PNG and one Markdown page that shows them; returns the page."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError("the report", "matplotlib", "plot") from None
    matplotlib.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"# Linkage benchmark, configuration {config}", ""]
    for mechanism in dict.fromkeys(s.case.mechanism for s in scores):
        own = [s for s in scores if s.case.mechanism == mechanism]
        for name, draw in (("rms", _draw_rms), ("realtime", _draw_realtime)):
            path = folder / f"{mechanism}_{name}.png"
            draw(path, own, config, source)
            lines += [f"![{name}]({path.name})", ""]
        for name, trace in (("error", _draw_error), ("observability", _draw_observability)):
            path = folder / f"{mechanism}_{name}.png"
            trace(path, own, source)
            lines += [f"![{name}]({path.name})", ""]
        lines += _bounds(own, config, source)
    page = folder / "report.md"
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return page


def _figure(columns: int):  # type: ignore[no-untyped-def]
    import matplotlib.pyplot as plt

    return plt.subplots(1, columns, figsize=(5.0 * columns, 4.2), constrained_layout=True, squeeze=False)


def _save(figure, path: Path) -> None:  # type: ignore[no-untyped-def]
    import matplotlib.pyplot as plt

    figure.savefig(path, dpi=110)
    plt.close(figure)


def _draw_rms(path: Path, scores: list[Score], config: str, source: Source) -> None:
    sets = [s for s in SENSORS if any(x.case.sensors == s for x in scores)]
    figure, axes = _figure(len(sets))
    mechanism = scores[0].case.mechanism
    for axis, sensors in zip(axes[0], sets, strict=True):
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
    axes[0][0].legend(fontsize=6, loc="lower left")
    _save(figure, path)


def _draw_realtime(path: Path, scores: list[Score], config: str, source: Source) -> None:
    names = list(dict.fromkeys(s.case.observer for s in scores))
    best = [min(s.rtf for s in scores if s.case.observer == name) for name in names]
    figure, axes = _figure(1)
    axes[0][0].barh(names, [1.0 / max(b, 1e-9) for b in best])
    axes[0][0].set_xscale("log")
    axes[0][0].set_xlabel(f"times faster than real time ({config}, best row)")
    axes[0][0].grid(visible=True, axis="x", alpha=0.3)
    _save(figure, path)


def _draw_error(path: Path, scores: list[Score], source: Source) -> None:
    picked = [s.case for s in scores if s.case.rate_hz == max(x.case.rate_hz for x in scores)]
    picked = [c for c in picked if c.error_level == picked[0].error_level and c.observer == picked[-1].observer]
    figure, axes = _figure(len(picked))
    for axis, case in zip(axes[0], picked, strict=True):
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
    _save(figure, path)


def _draw_observability(path: Path, scores: list[Score], source: Source) -> None:
    """Linearised along the true motion, and statistically over the sigma points of a UKF at the slowest rate."""
    sets = [s for s in SENSORS if any(x.case.sensors == s for x in scores)]
    rate_hz = min(s.case.rate_hz for s in scores)
    figure, axes = _figure(len(sets))
    for axis, sensors, colour in zip(axes[0], sets, _COLOURS, strict=False):
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
    _save(figure, path)


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
