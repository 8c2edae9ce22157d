"""Observers on a mechanism: one engine over the compiled filters, fed with readings or with a whole grid."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any

from hodograph.core.display import counted, cut, listed
from hodograph.core.frames import Array
from hodograph.core.layout import StateLayout
from hodograph.multibody.model.build import State
from hodograph.multibody.model.tables import WHEEL_STATES
from hodograph.observers.engine import Engine, Service, Stream, assemble, events_of_grid, make_output
from hodograph.observers.filter import Filter
from hodograph.observers.memory import Room
from hodograph.observers.on_mechanism.cekf import make_cekf
from hodograph.observers.on_mechanism.cekf_published import make_cekf_published
from hodograph.observers.on_mechanism.dependent import make_dependent
from hodograph.observers.on_mechanism.ekf import make_ekf
from hodograph.observers.on_mechanism.plant import Node
from hodograph.observers.on_mechanism.problem import Problem
from hodograph.observers.on_mechanism.recipes import (
    PROMISES,
    RECIPES,
    Dependent,
    Ekf,
    PublishedCekf,
    Recipe,
    TransitionMatrix,
    Ukf,
)
from hodograph.observers.on_mechanism.ukf import make_ukf
from hodograph.observers.on_mechanism.uncertainty import Kind
from hodograph.observers.online import OnlineObserver

FIVE_SIGMA = 25.0
"""Default chi-square limit of one row."""


@dataclass(frozen=True, slots=True)
class Run:
    """A grid of steps: x (steps, N) and P (steps, N, N) after each; `done` < steps when the state was lost.

    `F`, `x_prior`, `P_prior` are what a smoother needs (empty unless asked for).
    """

    x: Array
    P: Array
    done: int
    F: Array
    x_prior: Array
    P_prior: Array
    layout: StateLayout

    def __repr__(self) -> str:
        lost = "" if self.done == len(self.x) else f", lost after {self.done}"
        return f"Run({counted(len(self.x), 'step')} of {counted(self.x.shape[1], 'row')}{lost})"


class MechanismEngine(Engine):
    """One observer on one mechanism. By default `strict`, as a benchmark wants it: a lost state ends the run."""

    __slots__ = ("gate", "problem", "recipe", "service")

    def __init__(
        self, problem: Problem, recipe: Recipe, gate: float = FIVE_SIGMA, service: Service | None = None
    ) -> None:
        self.problem, self.recipe, self.gate = problem, recipe, gate
        self.service = service or Service(problem.step_s, t0_s=problem.start.t_s, strict=True)
        Engine.__init__(
            self,
            problem.layout,
            *assemble(streams_of(problem), self.service, partial(filter_of, problem, recipe, gate)),
        )

    def __repr__(self) -> str:
        what, name = type(self.recipe).__name__, cut(self.problem.model.mechanism.name)
        doubt = "" if self.valid else ", not valid"
        return f"MechanismEngine({what} on {name}, at {self.t_s:.6g} s{doubt}: {listed(self.layout.names)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.problem, self.recipe, self.gate, self.service), self.kept()

    @property
    def node(self) -> Node:
        """The arrays of the filter; `counts` holds repairs, resets, gated rows, NIS."""
        node: Node = self.filter.arrays.c.node
        return node

    @property
    def state(self) -> State:
        """The whole state of the mechanism: wheels and inputs with it."""
        n, work = self.node, self.filter.arrays.c.plant.work
        return State(
            self.t_s, n.q.copy(), n.qd.copy(), n.qdd.copy(), n.multiplier.copy(), work.wheels[:, :WHEEL_STATES].copy(),
            work.inputs[1:].copy(),
        )  # fmt: skip

    @property
    def innovation(self) -> tuple[Array, Array]:
        """Innovations and their variances (m,) of the last correction of each row; NaN where there was none."""
        rows = self.filter.arrays.c.rows
        return rows.innovation.copy(), rows.innovation_var.copy()

    def run(self, readings: Array, *, for_smoother: bool = False) -> Run:
        """All steps of a grid in one compiled call; readings (steps, m), NaN where none came."""
        if readings.ndim != 2 or readings.shape[1] != len(self.problem.sensors.rows):
            raise ValueError(f"readings {readings.shape}, want (steps, {len(self.problem.sensors.rows)})")
        before, steps = self.step, len(readings)
        traced = for_smoother and self.filter.traced
        out = make_output(before + 1, steps, len(self.layout), traced=traced)
        self.process(events_of_grid(self.core.grid, before, readings), before + steps, out)
        return Run(
            x=out.x,
            P=out.P,
            done=self.step - before,
            F=out.F,
            x_prior=out.x_prior,
            P_prior=out.P_prior,
            layout=self.layout,
        )


def streams_of(problem: Problem) -> dict[str, Stream]:
    """The sensors' streams by name, then one for every input of the model."""
    streams: dict[str, Stream] = {}
    table = problem.sensors.table
    for sensor in problem.sensors.sensors:
        first, end = problem.sensors.first_row[sensor.name]
        var, period = (tuple(map(float, rows[first:end])) for rows in (table.var, table.period))
        joined = sensor.name in problem.joined
        streams[sensor.name] = Stream(
            index=len(streams), first=first, end=end, latency_s=sensor.quality.latency_s, joined=joined, var=var,
            period=period,
        )  # fmt: skip
    rows = len(problem.sensors.rows)
    for i, name in enumerate(problem.model.inputs, start=1):
        streams[name] = Stream(len(streams), rows + i, rows + i + 1, longest=3)
    return streams


def filter_of(problem: Problem, recipe: Recipe, gate: float, room: Room) -> Filter:
    """The filter of a recipe, laid out in the room."""
    if isinstance(recipe, Ekf):
        _require_coupling(problem, recipe)
        return make_ekf(problem, recipe, gate, room)
    if isinstance(recipe, Ukf):
        return make_ukf(problem, recipe, gate, room)
    if isinstance(recipe, PublishedCekf):
        return make_cekf_published(problem, recipe, room)
    if isinstance(recipe, Dependent):
        return make_dependent(problem, recipe, gate, room)
    return make_cekf(problem, gate, room)


def _require_coupling(problem: Problem, recipe: Ekf) -> None:
    """Raise for a disturbance that moves the mechanism under a filter whose F does not know of it."""
    moving = [one.name for one in problem.uncertainty.disturbances if one.kind <= Kind.ENTRY]
    if moving and recipe.transition is TransitionMatrix.CONSTANT:
        raise ValueError(f"with a constant F {', '.join(moving)} would never be estimated; take an exact one")


def engine(problem: Problem, name: str, *, gate: float = inf) -> MechanismEngine:
    """The engine of a named observer (see `RECIPES`); by default without gating, as the benchmark wants it."""
    return MechanismEngine(problem, recipe_of(problem, name), gate)


def observer(
    problem: Problem,
    name: str,
    *,
    t_ns: int = 0,
    horizon_s: float = 0.5,
    gate: float = FIVE_SIGMA,
    lag_s: float = 0.0,
) -> OnlineObserver:
    """A named observer on a mechanism, ready for readings; with a `lag_s` it can be asked for `lagged` estimates."""
    service = Service(problem.step_s, t_ns, problem.start.t_s, horizon_s)
    return OnlineObserver(MechanismEngine(problem, recipe_of(problem, name), gate, service), lag_s=lag_s)


def recipe_of(problem: Problem, name: str) -> Recipe:
    """The recipe of a name, if the problem has the unknowns that the name promises."""
    if name not in RECIPES:
        raise ValueError(f"no observer {name}; there are {', '.join(RECIPES)}")
    wanted = PROMISES.get(name)
    found = problem.uncertainty.disturbances
    if wanted is not None and not any(wanted.kept_by(one) for one in found):
        raise ValueError(f"{name} estimates {wanted.what}: give the problem Uncertainty(…, {wanted.how})")
    return RECIPES[name]
