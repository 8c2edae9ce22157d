"""What is to be observed on a mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import Any

import numpy as np

from hodograph.core.display import counted, cut, listed
from hodograph.core.frames import Array
from hodograph.core.layout import StateLayout
from hodograph.multibody.forces.columns import TYRE_KIND
from hodograph.multibody.forces.road import Road
from hodograph.multibody.model.algebra import Place
from hodograph.multibody.model.build import Model, State
from hodograph.multibody.steps.stepper import Refresh, StepOptions
from hodograph.numerics.compiling import NO_FORCE
from hodograph.observers.on_mechanism.plant import ROAD, TYRES
from hodograph.observers.on_mechanism.uncertainty import Disturbance, Kind, Uncertainty, state_layout
from hodograph.sensors import SensorSet
from hodograph.sensors.kernels import Forms
from hodograph.sensors.table import make_forms

TO_THE_END = StepOptions(tolerance=1e-10, projection_tolerance=1e-9)
"""How the index-3 step iterates: on a linkage to the end; a car has bounds of its own (`car.REAL_TIME`)."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Model, sensors, how uncertain they are, where the estimate starts, and the step.

    The start brings the states of the wheels and the inputs that hold until others are read. Readings of a stream that
    bears the name of an input of the model set that input: its value, or value, rate and acceleration. Readings of a
    `joined` stream that fall into one step act as their mean.
    """

    model: Model
    sensors: SensorSet
    uncertainty: Uncertainty
    start: State
    step_s: float = 0.005
    road: Road | None = None
    newton: StepOptions = TO_THE_END
    joined: frozenset[str] = frozenset()
    force: Any = field(default=NO_FORCE, repr=False)

    def __repr__(self) -> str:
        name, more = cut(self.model.mechanism.name), len(self.uncertainty.disturbances)
        unknowns = f", {counted(more, 'disturbance')}" if more else ""
        return f"Problem({name}, steps of {self.step_s:g} s{unknowns}; reads {listed(self.sensors.first_row)})"

    def __post_init__(self) -> None:
        if not 1e-6 <= self.step_s <= 10.0:
            raise ValueError(f"step_s must lie in 1e-6 … 10 s, got {self.step_s}")
        if self.newton.refresh is Refresh.WHEN_SLOW:
            raise ValueError("a filter steps with a factor of its own step: refresh every step or every iteration")
        strangers = sorted(self.joined - set(self.sensors.first_row))
        if strangers:
            raise ValueError(f"joined streams without sensor: {', '.join(strangers)}")
        twice = sorted(set(self.model.inputs) & set(self.sensors.first_row))
        if twice:
            raise ValueError(f"{', '.join(twice)}: both a sensor and an input of the model")
        for one in self.uncertainty.disturbances:
            self.rows_of(one)
            self._require_entry(one)

    def __deepcopy__(self, memo: dict[int, Any]) -> Problem:
        """Nothing in it ever changes."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """The machine code of a user force cannot travel; its name does."""
        parts = [getattr(self, one.name) for one in fields(self) if one.name != "force"]
        return _problem_of, (*parts, _name_of(self.force))

    @property
    def layout(self) -> StateLayout:
        """Names of [z, zd, θ]."""
        return state_layout(self.model, self.uncertainty.disturbances)

    @property
    def size(self) -> int:
        """N, the length of [z, zd, θ]."""
        return 2 * len(self.model.independent) + len(self.uncertainty.disturbances)

    def initial_x(self) -> Array:
        """[z, zd, θ] at the start."""
        z = self.model.independent
        return np.concatenate([self.start.q[z], self.start.qd[z], np.zeros(len(self.uncertainty.disturbances))])

    def initial_P(self) -> Array:
        """Its covariance."""
        return self.uncertainty.initial_P(len(self.model.independent))

    def forms(self, places: Sequence[Place]) -> Forms:
        """Places or directions as the kernels walk them; here, since what a kernel's module imports is in its key."""
        return make_forms(places)

    def _require_entry(self, one: Disturbance) -> None:
        """Raise when a disturbance is of a tyre or of a part of the road that is not there."""
        table, row, _ = one.entry
        tyres = self.model.tables.rolling.tyre
        if one.kind is Kind.ENTRY and table == TYRES and not (row < len(tyres) and tyres[row, TYRE_KIND] >= 0.0):
            raise ValueError(f"{one.name}: {self.model.mechanism.name} has no tyre {row}")
        if one.kind is Kind.ENTRY and table == ROAD and not (self.road is not None and row < len(self.road.features)):
            raise ValueError(f"{one.name}: the problem's road has no feature {row}")

    def rows_of(self, one: Disturbance) -> tuple[int, int]:
        """The sensor rows, first and end, that a disturbance falsifies."""
        if one.kind not in (Kind.BIAS, Kind.SCALE, Kind.LATENCY):
            return 0, 0
        span = self.sensors.span(one.stream)
        if span is None:
            raise ValueError(f"{one.name}: no sensor {one.stream}; there are {', '.join(self.sensors.first_row)}")
        if one.channel is None:
            return span
        channels = self.sensors.channels[span[0] : span[1]]
        if one.channel not in channels:
            raise ValueError(f"{one.name}: {one.stream} has no channel {one.channel}, only {', '.join(channels)}")
        first = span[0] + channels.index(one.channel)
        return first, first + 1


def _name_of(force: Any) -> tuple[str, str] | None:
    """Module and name under which a user force is found again, None for no force."""
    if force is NO_FORCE:
        return None
    module, name = force.__wrapped__.__module__, force.__name__
    if getattr(import_module(module), name, None) is not force:
        raise ValueError(f"a user force travels by its name: define {name} at the top of a module")
    return module, name


def _problem_of(*parts: Any) -> Problem:
    named = parts[-1]
    force = NO_FORCE if named is None else getattr(import_module(named[0]), named[1])
    return Problem(*(*parts[:-1], force))
