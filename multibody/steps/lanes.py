"""Four states of one model stepped side by side as SIMD lanes: sigma points of a filter, or a small ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hodograph.core.errors import MechanismError
from hodograph.core.frames import Array
from hodograph.multibody.forces.road import Road
from hodograph.multibody.model.build import Model, State
from hodograph.multibody.model.constraint_kernels import choose_branches
from hodograph.multibody.model.tables import WHEEL_STATES, lane_work_for
from hodograph.multibody.steps.lane_kernels import LANES, run4
from hodograph.multibody.steps.stepper import Formulation, Integrator, StepCost, StepOptions
from hodograph.numerics.compiling import NO_FORCE


@dataclass(slots=True)
class LaneStepper:
    """The augmented-Lagrangian step of `Stepper` for four states at a time; inputs and forces are common to them."""

    model: Model
    options: StepOptions = field(default_factory=StepOptions)
    force: Any = NO_FORCE
    parameters: Array | None = None
    work: Any = field(init=False, repr=False)
    formulation: Formulation = field(init=False, default=Formulation.AUGMENTED_LAGRANGIAN)
    integrator: Integrator = field(init=False, default=Integrator.TRAPEZOIDAL)

    def __post_init__(self) -> None:
        given = np.zeros(1) if self.parameters is None else np.ascontiguousarray(self.parameters, dtype=np.float64)
        self.work = lane_work_for(self.model.tables, len(self.model.inputs), given)

    def __repr__(self) -> str:
        return f"LaneStepper({self.model.summary}; {LANES} states at a time)"

    def set_input(self, name: str, value: float, rate: float = 0.0, acceleration: float = 0.0) -> None:
        """Set a named input for the following steps."""
        self.work.inputs[self.model.input_index(name)] = (value, rate, acceleration)

    def forget(self) -> None:
        """Drop what earlier steps left to save iterations: these four states are not those of the step before."""
        self.work.control[:] = (0.0, -1e300)

    def set_road(self, road: Road) -> None:
        """The road under the wheels for the following steps."""
        self.work = self.work._replace(road=road.table())

    def step(self, states: Sequence[State], h_s: float, steps: int = 1) -> tuple[list[State], StepCost]:
        """Advance four states of the same time by `steps` steps; the given states are left as they are."""
        if len(states) != LANES or len({state.t_s for state in states}) != 1:
            raise ValueError(f"want {LANES} states of one time, got {len(states)}")
        tables, o, t_s = self.model.tables, self.options, states[0].t_s
        for lane, state in enumerate(states):
            branch = np.ones(len(tables.rows.angle), dtype=np.uint32)
            choose_branches(tables.rows, state.q, branch)
            self.work.branch[:, lane] = branch
        q = np.column_stack([state.q for state in states])
        qd = np.column_stack([state.qd for state in states])
        qdd = np.column_stack([state.qdd for state in states])
        multipliers = np.column_stack([state.multipliers for state in states])
        penalty = tables.factor.penalty if o.penalty is None else np.full(self.model.rows, o.penalty * h_s**2 / 4)
        options = np.array([o.tolerance, o.max_iterations, 1.0, o.projection_tolerance, o.accepted_at_cap])
        self.forget()
        self.work.wheels[:] = 0.0
        for lane, state in enumerate(states):
            if len(state.wheels):
                self.work.wheels[lane, :, :WHEEL_STATES] = state.wheels
        cost = np.zeros(7)
        done = run4(tables, self.work, self.force, options, penalty, t_s, h_s, steps, q, qd, qdd, multipliers, cost)
        if done < steps:
            raise MechanismError(f"{self.model.mechanism.name}: step {done + 1} of {h_s:g} s does not converge")
        after = [
            State(
                t_s + steps * h_s,
                q[:, lane].copy(),
                qd[:, lane].copy(),
                qdd[:, lane].copy(),
                multipliers[:, lane].copy(),
                self.work.wheels[lane, :, :WHEEL_STATES].copy(),
            )
            for lane in range(LANES)
        ]
        return after, StepCost(steps, int(cost[0]), steps, int(cost[0]), float(cost[3]), 0, 0, int(cost[6]))
