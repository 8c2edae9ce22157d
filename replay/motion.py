"""What really happened: a motion that is known, simulated here or recorded elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from hodograph.core.display import cut
from hodograph.core.frames import Array
from hodograph.multibody.model.build import Model, State
from hodograph.multibody.steps.stepper import Stepper


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TrueMotion:
    """States of a model one step apart; the first of them is where it starts, and is not read by any sensor.

    The `inputs` of a state are those that led to it.
    """

    model: Model
    states: tuple[State, ...]

    def __post_init__(self) -> None:
        name = self.model.mechanism.name
        if len(self.states) < 2:
            raise ValueError(f"the motion of {name} has {len(self.states)} states: want a start and at least one step")
        if any(s.q.shape != (self.model.n,) for s in self.states):
            raise ValueError(f"the states of the motion do not belong to {name}, which has {self.model.n} coordinates")
        steps = np.diff([s.t_s for s in self.states])
        if not (steps > 0.0).all() or np.ptp(steps) > 1e-6 * steps[0]:
            raise ValueError(f"the motion of {name} wants equal steps, got {steps.min():g} to {steps.max():g} s")

    def __repr__(self) -> str:
        return f"TrueMotion({cut(self.model.mechanism.name)}: {self.seconds:g} s in steps of {self.step_s:g} s)"

    @property
    def step_s(self) -> float:
        """From one state to the next."""
        return float(self.states[-1].t_s - self.states[0].t_s) / (len(self.states) - 1)

    @property
    def seconds(self) -> float:
        """From the first state to the last."""
        return float(self.states[-1].t_s - self.states[0].t_s)

    @property
    def t_s(self) -> Array:
        """Times (k,) of the states after the start."""
        return np.array([s.t_s for s in self.states[1:]])

    @property
    def x(self) -> Array:
        """[z, zd] (k, 2f) of the states after the start."""
        z = self.model.independent
        return np.array([np.concatenate([s.q[z], s.qd[z]]) for s in self.states[1:]])


def simulate(
    model: Model,
    seconds: float,
    *,
    step_s: float = 0.005,
    substeps: int = 1,
    start: State | None = None,
    push: Callable[[float], Array] | None = None,
    schedule: Array | None = None,
) -> TrueMotion:
    """A motion of `model` from its start position at rest, or from `start`.

    `push(t_s)` is a generalised force (n,) that acts beside those of the model, and of which nobody is told. A
    `schedule` (steps, inputs, 3) holds value, rate and acceleration of the model's inputs at the end of each step.
    With `substeps` the motion is integrated finer than it is kept.
    """
    if not seconds >= step_s > 0.0 or substeps < 1:
        raise ValueError(f"want seconds >= step_s > 0 and substeps >= 1, got {seconds:g}, {step_s:g}, {substeps}")
    steps = round(seconds / step_s)
    if schedule is not None and schedule.shape != (steps, len(model.inputs), 3):
        raise ValueError(f"the schedule has shape {schedule.shape}, want {(steps, len(model.inputs), 3)}")
    stepper = Stepper(model)
    first = stepper.start() if start is None else start
    if push is not None:
        stepper.apply(_force(push, first.t_s, model.n))
        first = replace(stepper.repair(first), inputs=first.inputs)
    states = [first]
    for k in range(steps):
        led = None if schedule is None else schedule[k]
        now = _next(stepper, states[-1], step_s / substeps, substeps, push, led)
        states.append(replace(now, t_s=first.t_s + (k + 1) * step_s))
    return TrueMotion(model, tuple(states))


def _next(
    stepper: Stepper, now: State, h_s: float, substeps: int, push: Callable[[float], Array] | None, led: Array | None
) -> State:
    """One kept step on; over finer ones the inputs go straight from where they were."""
    inputs = now.inputs if led is None else led.copy()
    ways = None if led is None else _between(now.inputs, led, substeps)
    if push is None:
        return replace(stepper.run(now, h_s, substeps, schedule=ways).last, inputs=inputs)
    for j in range(substeps):
        stepper.apply(_force(push, now.t_s + h_s, stepper.model.n))
        now = stepper.run(now, h_s, 1, schedule=None if ways is None else ways[j : j + 1]).last
    return replace(now, inputs=inputs)


def _force(push: Callable[[float], Array], t_s: float, n: int) -> Array:
    force = np.asarray(push(t_s), dtype=np.float64)
    if force.shape != (n,):
        raise ValueError(f"push({t_s:g}) has shape {force.shape}, want ({n},): a force per coordinate")
    return force


def _between(before: Array, after: Array, substeps: int) -> Array:
    """Inputs (substeps, inputs, 3) on the way from one row to the next."""
    if len(before) == 0:
        return np.repeat(after[None], substeps, axis=0)
    share = np.arange(1, substeps + 1)[:, None, None] / substeps
    return np.asarray(before + share * (after - before))
