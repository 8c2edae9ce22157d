"""Several observers on one known motion: the very same readings and wrong starts for all, many seeds.

truth = simulate(build(heavier), seconds=10)
result = evaluate(truth, ["dekf", "error_ekf_ej", "ukf_tr"], sensors, model=model, uncertainty=Uncertainty(…))
print(result)
axes = result.plot("theta_rad")
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from time import thread_time

import numpy as np

from hodograph.core.display import short_repr
from hodograph.core.errors import MechanismError
from hodograph.core.frames import Array
from hodograph.core.reading import Reading
from hodograph.multibody.model.build import Model, State
from hodograph.multibody.motion.kinematics import from_independent
from hodograph.observers.counts import NIS_ROWS, NIS_SUM
from hodograph.observers.engine import Service, make_output, no_events
from hodograph.observers.events import StreamColumns, events_of_columns
from hodograph.observers.on_mechanism.mechanism import MechanismEngine, recipe_of
from hodograph.observers.on_mechanism.problem import Problem
from hodograph.observers.on_mechanism.recipes import Recipe
from hodograph.observers.on_mechanism.uncertainty import Uncertainty, state_layout
from hodograph.observers.tables import Events
from hodograph.replay.evaluation import Evaluation, ScoredRun
from hodograph.replay.motion import TrueMotion
from hodograph.sensors import MechanismSensor, SensorSet, mount, simulate_readings


@dataclass(frozen=True, slots=True)
class Contender:
    """A named observer that is to differ from the others in what it believes."""

    observer: str
    uncertainty: Uncertainty | None = None  # None: that of the others
    model: Model | None = None  # None: that of the others
    gate: float | None = None  # chi-square limit of one row; None: that of the others

    __repr__ = short_repr


def evaluate(
    truth: TrueMotion,
    observers: Sequence[str] | Mapping[str, str | Contender],
    sensors: Sequence[MechanismSensor] | SensorSet,
    *,
    uncertainty: Uncertainty,
    model: Model | None = None,
    seeds: Iterable[int] = range(5),
    start_error: Sequence[float] | Array | None = None,
    after_s: float = 0.0,
    gate: float = inf,
) -> Evaluation:
    """Run every observer over the readings of every seed and say how good it was.

    The observers believe in `model` (by default the true one, which flatters them) and begin `start_error` (2f,) off in
    [z, zd]; by default that is drawn, seed by seed, from the uncertainty. Figures count from `after_s` on.
    """
    chosen = _contenders(observers)
    belief = truth.model if model is None else model
    drawn = _seeds(seeds)
    if not 0.0 <= after_s < truth.seconds:
        raise ValueError(f"after_s is {after_s:g}, but the motion lasts {truth.seconds:g} s")
    reads = _mounted(truth.model, sensors)
    problems = {
        label: _problem(truth, c.model or belief, reads, c.uncertainty or uncertainty) for label, c in chosen.items()
    }
    recipes = {label: recipe_of(problems[label], c.observer) for label, c in chosen.items()}
    runs: dict[str, list[ScoredRun]] = {label: [] for label in chosen}
    for seed in drawn:
        readings = simulate_readings(reads, truth.states[1:], np.random.default_rng(seed))
        off = _start_error(start_error, uncertainty, len(truth.model.independent), seed)
        for label, c in chosen.items():
            problem = _started(problems[label], truth, off)
            made = _engine(problem, recipes[label], gate if c.gate is None else c.gate)
            runs[label].append(_run(made, truth, readings, seed))
    return Evaluation(truth, state_layout(truth.model), {k: tuple(v) for k, v in runs.items()}, after_s)


def _engine(problem: Problem, recipe: Recipe, gate: float) -> MechanismEngine:
    start_s = problem.start.t_s
    made = MechanismEngine(problem, recipe, gate, Service(problem.step_s, round(1e9 * start_s), start_s, strict=True))
    made.process(no_events(), made.step)  # compiled before the clock runs
    return made


def _contenders(observers: Sequence[str] | Mapping[str, str | Contender]) -> dict[str, Contender]:
    if isinstance(observers, str):
        raise ValueError(f"observers: want a list of names or a mapping, got the text {observers!r}")
    if not isinstance(observers, Mapping) and not all(isinstance(name, str) for name in observers):
        raise ValueError("observers: a list has names only; a Contender needs a label, so give a mapping")
    named = observers if isinstance(observers, Mapping) else {name: name for name in observers}
    if not named:
        raise ValueError("no observers to compare")
    if len(named) < len(observers):
        raise ValueError(f"observers are named twice: {', '.join(observers)}")
    return {label: Contender(one) if isinstance(one, str) else one for label, one in named.items()}


def _seeds(seeds: Iterable[int]) -> list[int]:
    drawn = list(seeds)
    if not drawn or len(set(drawn)) < len(drawn):
        raise ValueError(f"want at least one seed and none twice, got {drawn}")
    return drawn


def _mounted(model: Model, sensors: Sequence[MechanismSensor] | SensorSet) -> SensorSet:
    wanted = sensors.sensors if isinstance(sensors, SensorSet) else tuple(sensors)
    if not wanted:
        raise ValueError("no sensors: nobody could observe anything")
    try:
        return mount(model, wanted)
    except MechanismError as error:
        raise ValueError(f"{model.mechanism.name}: {error}") from None


def _problem(truth: TrueMotion, belief: Model, reads: SensorSet, uncertainty: Uncertainty) -> Problem:
    """What an observer is asked; it starts at the truth until it is moved off."""
    names = [[m.names[i] for i in m.independent] for m in (truth.model, belief)]
    if names[0] != names[1]:
        name = truth.model.mechanism.name
        raise ValueError(f"{name} moves in {', '.join(names[0])}, the observers' model in {', '.join(names[1])}")
    if truth.model.inputs != belief.inputs:
        raise ValueError(
            f"the true model has the inputs {', '.join(truth.model.inputs) or 'none'}, the observers' "
            f"{', '.join(belief.inputs) or 'none'}"
        )
    return Problem(belief, _mounted(belief, reads), uncertainty, truth.states[0], truth.step_s)


def _start_error(given: Sequence[float] | Array | None, uncertainty: Uncertainty, f: int, seed: int) -> Array:
    if given is None:
        std = [uncertainty.std_z] * f + [uncertainty.std_zd] * f
        return np.array(std) * np.random.default_rng([seed, 1]).standard_normal(2 * f)
    error = np.asarray(given, dtype=np.float64)
    if error.shape != (2 * f,):
        raise ValueError(f"start_error has shape {error.shape}, want ({2 * f},): one for each of [z, zd]")
    return error


def _started(problem: Problem, truth: TrueMotion, off: Array) -> Problem:
    """The problem with a start that is off by `off` (2f,), consistent in what is believed."""
    model, true = problem.model, truth.states[0]
    f, z = len(model.independent), truth.model.independent
    try:
        start = from_independent(model, true.t_s, true.q[z] + off[:f], true.qd[z] + off[f:], true.q)
    except MechanismError as error:
        raise ValueError(f"the observers cannot start {np.round(off, 4).tolist()} off the truth: {error}") from None
    wheels = true.wheels if len(true.wheels) else start.wheels
    begun = State(true.t_s, start.q, start.qd, start.qdd, start.multipliers, wheels, true.inputs)
    return Problem(model, problem.sensors, problem.uncertainty, begun, problem.step_s)


def _events(engine: MechanismEngine, truth: TrueMotion, readings: Sequence[Reading]) -> Events:
    """All that is read, each reading at the time it was measured; inputs are known as they were."""
    columns = []
    for sensor in engine.problem.sensors.sensors:
        own = [r for r in readings if r.stream == sensor.name and r.t_sensor_ns is not None]
        at_ns = np.array([r.t_sensor_ns for r in own], dtype=np.int64)
        first, end = engine.problem.sensors.first_row[sensor.name]
        values = np.array([r.values for r in own]).reshape(len(own), end - first)
        columns.append(StreamColumns(engine.streams[sensor.name], at_ns, values))
    t_ns = np.array([round(1e9 * s.t_s) for s in truth.states[1:]], dtype=np.int64)
    for i, name in enumerate(engine.problem.model.inputs):
        led = [s.inputs[i] if len(s.inputs) else np.zeros(3) for s in truth.states[1:]]
        columns.append(StreamColumns(engine.streams[name], t_ns, np.array(led)))
    return events_of_columns(columns)


def _run(engine: MechanismEngine, truth: TrueMotion, readings: Sequence[Reading], seed: int) -> ScoredRun:
    """One observer over one seed; from where it was lost its rows are NaN."""
    steps, rows = len(truth.states) - 1, 2 * len(truth.model.independent)
    out = make_output(engine.step + 1, steps, len(engine.layout), traced=False)
    events = _events(engine, truth, readings)
    begin_s = thread_time()
    engine.process(events, engine.step + steps, out)
    spent_s = thread_time() - begin_s
    x, P = out.x[:, :rows].copy(), out.P[:, :rows, :rows].copy()
    sane = np.isfinite(x).all(axis=1) & np.isfinite(P).all(axis=(1, 2))
    held = steps if sane.all() else int(np.argmin(sane))
    x[held:], P[held:] = np.nan, np.nan
    counts = engine.node.counts
    lost_s = None if held == steps else float(truth.states[held + 1].t_s)
    return ScoredRun(
        seed=seed,
        x=x,
        P=P,
        lost_s=lost_s,
        nis_sum=float(counts[NIS_SUM]),
        nis_rows=int(counts[NIS_ROWS]),
        step_us=1e6 * spent_s / max(held, 1),
    )
