"""One step signature for every formulation and integrator; what a step cost comes back with it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np

from hodograph.core.display import counted, short_repr
from hodograph.core.errors import MechanismError
from hodograph.core.frames import Array
from hodograph.core.kinds import member
from hodograph.multibody.forces.road import Road
from hodograph.multibody.model.build import Model, State
from hodograph.multibody.model.tables import FRESH, WHEEL_STATES
from hodograph.multibody.motion.kinematics import consistent, matrices_r_s, reselect, start_state
from hodograph.multibody.steps import augmented_kernels as augmented
from hodograph.multibody.steps import explicit_kernels as explicit
from hodograph.multibody.steps.augmented_kernels import run_augmented
from hodograph.multibody.steps.explicit_kernels import run_explicit
from hodograph.multibody.steps.linear_implicit_kernels import run_linear_implicit
from hodograph.numerics.compiling import NO_FORCE

WORSE = 5.0
"""Independent coordinates are chosen anew when the largest entry of R has grown by this factor."""


class Formulation(StrEnum):
    """How the constraints enter the equations of motion."""

    AUGMENTED_LAGRANGIAN = "augmented-lagrangian"  # index 3, with projections; trapezoidal rule by Newton
    MATRIX_R = "matrix-r"  # independent coordinates
    LAGRANGE = "lagrange"  # index 1, Baumgarte or projections
    PENALTY = "penalty"


class Integrator(StrEnum):
    """How time goes on."""

    FORWARD_EULER = "forward-euler"
    TRAPEZOIDAL = "trapezoidal"
    RK4 = "rk4"
    DORMAND_PRINCE = "dormand-prince"  # 5(4), with error control (Dormand and Prince 1980)
    LINEARLY_IMPLICIT_EULER = "linearly-implicit-euler"


class Refresh(StrEnum):
    """When Newton of the augmented Lagrangian renews its factor."""

    EVERY_ITERATION = "every-iteration"
    EVERY_STEP = "every-step"
    WHEN_SLOW = "when-slow"


class Projection(StrEnum):
    """What keeps an index-1 formulation on its constraints."""

    NONE = "none"
    VELOCITY = "velocity"
    ALWAYS = "always"
    CONTROLLED = "controlled"  # by the feedback of the drift (Simeon 1996, 16)


@dataclass(frozen=True, slots=True)
class StepOptions:
    """Numbers of the methods; each uses those that concern it.

    `tolerance` bounds the error of the coordinates left after the last iteration; ε in q is 2ε/h in qd, so a long run
    wants it small. `refresh` EVERY_STEP saves a fifth on large models and projects along the predicted Jacobian, which
    moves a trajectory by far less than the step's own error.

    `max_iterations` is a hard cap of the augmented Lagrangian: a step whose last move was within `accepted_at_cap` then
    passes and is counted (`StepCost.capped`), any other fails.

    `penalty` replaces the model's own row weights in the augmented Lagrangian (same units as M/h²); `baumgarte` holds ζ
    and ω in rad/s; `rtol`, `atol` switch the error control of Dormand-Prince on; `independent` makes
    linearly implicit Euler work in independent coordinates, which was dearer on every mechanism measured.
    """

    tolerance: float = 1e-11
    max_iterations: int = 100
    accepted_at_cap: float = 0.0
    refresh: Refresh = Refresh.EVERY_ITERATION
    projection_tolerance: float = 1e-9
    penalty: float | None = None
    penalty_weight: float = 1.0
    baumgarte: tuple[float, float] = (1.0, 10.0)
    projection: Projection = Projection.NONE
    rtol: float = 0.0
    atol: float = 0.0
    independent: bool = False
    reselect: bool | None = None

    def __post_init__(self) -> None:
        member(Refresh, self.refresh)
        member(Projection, self.projection)

    def newton(self) -> Array:
        """Numbers of the augmented Lagrangian as its kernels take them, (5,)."""
        return np.array(
            [self.tolerance, self.max_iterations, _REFRESH[self.refresh], self.projection_tolerance,
             self.accepted_at_cap]
        )  # fmt: skip

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class StepCost:
    """What steps cost: iterations, factorisations, force evaluations, worst |Φ|, rejected steps, projections.

    `capped` counts the steps that ended at the cap of iterations and were accepted.
    """

    steps: int
    iterations: int
    factorisations: int
    evaluations: int
    residual: float
    rejected: int
    projections: int
    capped: int = 0

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class Trajectory:
    """Recorded states: t_s (k,), q, qd, qdd (k, n), wheels (k, wheels, 19, see rolling_kernels.py).

    Also the last state and the cost of all steps.
    """

    t_s: Array
    q: Array
    qd: Array
    qdd: Array
    last: State
    cost: StepCost
    wheels: Array

    def __repr__(self) -> str:
        times = f", {self.t_s[0]:.6g} to {self.t_s[-1]:.6g} s" if len(self.t_s) else ""
        return f"Trajectory({counted(len(self.t_s), 'state')} of {self.q.shape[1]} coordinates{times})"


def _weights(a: list[list[float]], b: list[float], c: list[float], e: list[float] | None = None) -> Array:
    stages = len(b)
    table = np.zeros((stages + 2, stages + 1))
    for i, row in enumerate(a):
        table[i, : len(row)] = row
        table[i, stages] = c[i]
    table[stages, :stages] = b
    if e is not None:
        table[stages + 1, : len(e)] = e
    return table


_TABLEAUS = {
    Integrator.FORWARD_EULER: _weights([[]], [1.0], [0.0]),
    Integrator.TRAPEZOIDAL: np.zeros((0, 0)),
    Integrator.RK4: _weights(
        [[], [0.5], [0.0, 0.5], [0.0, 0.0, 1.0]], [1 / 6, 1 / 3, 1 / 3, 1 / 6], [0.0, 0.5, 0.5, 1.0]
    ),
    Integrator.DORMAND_PRINCE: _weights(
        [
            [],
            [1 / 5],
            [3 / 40, 9 / 40],
            [44 / 45, -56 / 15, 32 / 9],
            [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
            [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
        ],
        [35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
        [0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0],
        [71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40],
    ),
}
_FORMULATIONS = {
    Formulation.MATRIX_R: explicit.MATRIX_R,
    Formulation.LAGRANGE: explicit.LAGRANGE,
    Formulation.PENALTY: explicit.PENALTY,
}
_REFRESH = {
    Refresh.EVERY_ITERATION: augmented.EVERY_ITERATION,
    Refresh.EVERY_STEP: augmented.EVERY_STEP,
    Refresh.WHEN_SLOW: augmented.WHEN_SLOW,
}
_PROJECTIONS = {kind: number for number, kind in enumerate(Projection)}


@dataclass(slots=True)
class Stepper:
    """Steps states of one model by one method. It owns buffers, so use one stepper per thread.

    `force` is a compiled user force (see `compiling.user_force`) with its `parameters`. Inputs and applied forces are
    held constant during a call of `step` or `run`.
    """

    model: Model
    formulation: Formulation = Formulation.AUGMENTED_LAGRANGIAN
    integrator: Integrator = Integrator.TRAPEZOIDAL
    options: StepOptions = field(default_factory=StepOptions)
    force: Any = NO_FORCE
    parameters: Array | None = None
    work: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.formulation = member(Formulation, self.formulation)
        self.integrator = member(Integrator, self.integrator)
        implicit = self.integrator is Integrator.LINEARLY_IMPLICIT_EULER
        if self.formulation is Formulation.AUGMENTED_LAGRANGIAN and not (
            implicit or self.integrator is Integrator.TRAPEZOIDAL
        ):
            raise ValueError(f"the augmented Lagrangian goes with the trapezoidal rule, not with {self.integrator}")
        if implicit and self.formulation is not Formulation.AUGMENTED_LAGRANGIAN:
            raise ValueError("linearly implicit Euler brings its own formulation; leave that at its default")
        self.work = self.model.work(self.parameters)

    def __repr__(self) -> str:
        return f"Stepper({self.model.summary}; {self.formulation}, {self.integrator})"

    def set_input(self, name: str, value: float, rate: float = 0.0, acceleration: float = 0.0) -> None:
        """Set a named input for the following steps; rate and acceleration matter for guided coordinates."""
        self.work.inputs[self.model.input_index(name)] = (value, rate, acceleration)

    def apply(self, force: Array) -> None:
        """Set a generalised force (n,) for the following steps."""
        self.work.applied[:] = force

    def forget(self) -> None:
        """Drop what earlier steps left to save iterations; the next run is then bit for bit that of a new stepper."""
        self.work.control[:] = FRESH

    def start(self, qd: Array | None = None) -> State:
        """The model's start position, velocities made consistent, exact accelerations under this stepper's forces."""
        self.forget()
        self.work.wheels[:] = 0.0
        return start_state(self.model, qd, work=self.work, force=self.force)

    def repair(self, state: State) -> State:
        """The nearest consistent state with exact accelerations, e.g. after a filter's correction.

        Inputs become those of the state, where it brings some: a rack must not jump to where another drive left it.
        """
        self.forget()
        self.load_wheels(state)
        if len(state.inputs):
            self.work.inputs[1:] = state.inputs
        found = consistent(self.model, state.t_s, state.q, state.qd, work=self.work, force=self.force)
        return replace(found, inputs=state.inputs.copy())

    def step(self, state: State, h_s: float) -> tuple[State, StepCost]:
        """One step of h_s seconds; the given state is left as it is."""
        trajectory = self.run(state, h_s, 1)
        return trajectory.last, trajectory.cost

    def set_road(self, road: Road) -> None:
        """The road under the wheels for the following steps."""
        self.work = self.work._replace(road=road.table())

    def run(self, state: State, h_s: float, steps: int, every: int = 1, schedule: Array | None = None) -> Trajectory:
        """`steps` steps inside the kernel, every `every`-th state kept; `MechanismError` when a step fails.

        A `schedule` (steps, inputs, 3) holds value, rate and acceleration of all inputs at the end of each step.
        """
        if not h_s > 0.0 or steps < 0 or every < 1:
            raise ValueError(f"want h_s > 0, steps >= 0, every >= 1; got {h_s}, {steps}, {every}")
        now = state.copy()
        inputs = np.zeros((0, len(self.model.inputs), 3)) if schedule is None else np.ascontiguousarray(schedule)
        if schedule is not None and inputs.shape != (steps, len(self.model.inputs), 3):
            raise ValueError(f"the schedule has shape {inputs.shape}, want {(steps, len(self.model.inputs), 3)}")
        kept = np.zeros((steps // every, 3, self.model.n))
        log = (inputs, kept, np.zeros((steps // every, *self.work.wheels.shape)), np.zeros(7))
        self.load_wheels(state)
        self._watch(now)
        done = 0
        while done < steps:
            done = self._advance(now, h_s, done, steps, every, log)
            if done == steps:
                break
            if not self._ill_conditioned():
                raise MechanismError(
                    f"{self.model.mechanism.name}: the step at t = {now.t_s + done * h_s:.6g} s does not converge "
                    f"({self.formulation}, {self.integrator}, {h_s:g} s); take a smaller one"
                )
            self._reselect(now.t_s + done * h_s, now.q)
        wheels = self.work.wheels[:, :WHEEL_STATES].copy()
        last = State(state.t_s + steps * h_s, now.q, now.qd, now.qdd, now.multipliers, wheels)
        times: Array = state.t_s + h_s * every * np.arange(1, steps // every + 1, dtype=np.float64)
        return Trajectory(times, kept[:, 0], kept[:, 1], kept[:, 2], last, _cost(steps, log[3]), log[2])

    def load_wheels(self, state: State) -> None:
        """The states of the wheels' forces come from the given state."""
        self.work.wheels[:] = 0.0
        if len(state.wheels):
            self.work.wheels[:, :WHEEL_STATES] = state.wheels
        self.work.clock[0] = state.t_s

    def _advance(self, s: State, h_s: float, done: int, steps: int, every: int, log: tuple[Array, ...]) -> int:
        """Run the kernel of this method on the arrays of `s`; returns how many steps are done."""
        tables, work, o = self.model.tables, self.work, self.options
        arrays = (s.q, s.qd, s.qdd, s.multipliers, *log)
        if self.integrator is Integrator.LINEARLY_IMPLICIT_EULER:
            return run_linear_implicit(tables, work, self.force, o.independent, s.t_s, h_s, done, steps, every, *arrays)
        if self.formulation is Formulation.AUGMENTED_LAGRANGIAN:
            penalty = tables.factor.penalty if o.penalty is None else np.full(self.model.rows, o.penalty * h_s**2 / 4)
            options = o.newton()
            return run_augmented(tables, work, self.force, options, penalty, s.t_s, h_s, done, steps, every, *arrays)
        zeta, omega = o.baumgarte
        options = np.array(
            [_FORMULATIONS[self.formulation], 2.0 * zeta * omega, omega**2, o.penalty_weight,
             _PROJECTIONS[o.projection], o.rtol, o.atol, o.tolerance, o.max_iterations]
        )  # fmt: skip
        weights = _TABLEAUS[self.integrator]
        return run_explicit(tables, work, self.force, options, weights, s.t_s, h_s, done, steps, every, *arrays)

    def _watch(self, state: State) -> None:
        """Set the limit on R above which independent coordinates are chosen anew (unless declared)."""
        allowed = not self.model.declared if self.options.reselect is None else self.options.reselect
        self.work.control[6] = 0.0
        if allowed and self.formulation is Formulation.MATRIX_R:
            r, _ = matrices_r_s(self.model, state.t_s, state.q, work=self.work)
            self.work.control[6] = WORSE * max(1.0, float(np.abs(r).max(initial=0.0)))

    def _ill_conditioned(self) -> bool:
        return 0.0 < float(self.work.control[6]) < float(self.work.control[5])

    def _reselect(self, t_s: float, q: Array) -> None:
        self.work.independent[:] = reselect(self.model, t_s, q)
        r, _ = matrices_r_s(self.model, t_s, q, work=self.work)
        self.work.control[6] = WORSE * max(1.0, float(np.abs(r).max()))


def _cost(steps: int, cost: Array) -> StepCost:
    return StepCost(
        steps, int(cost[0]), int(cost[1]), int(cost[2]), float(cost[3]), int(cost[4]), int(cost[5]), int(cost[6])
    )
