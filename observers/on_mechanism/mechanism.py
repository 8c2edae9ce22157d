"""Observers on a mechanism: one engine over the compiled filters, step by step or a whole grid inside the kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np

from hodograph.core.errors import MechanismError
from hodograph.core.frames import Array
from hodograph.core.layout import StateLayout
from hodograph.core.reading import Verdict
from hodograph.multibody.model.build import Model, State
from hodograph.multibody.motion.kinematics import from_independent
from hodograph.numerics.compiling import NO_FORCE
from hodograph.observers.families import Family, Outputs, family_of, make_outputs
from hodograph.observers.on_mechanism.counts import RESETS
from hodograph.observers.on_mechanism.plant import Node
from hodograph.observers.online import OnlineObserver
from hodograph.observers.on_mechanism.uncertainty import Uncertainty, state_layout
from hodograph.observers.protocol import Transition
from hodograph.observers.on_mechanism.recipes import RECIPES, Recipe
from hodograph.sensors import SensorSet

GATE_3_SIGMA_PLUS = 25.0
"""Default chi-square limit of one row: five standard deviations."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is to be observed: model, sensors, how uncertain they are, where the estimate starts, the nominal step."""

    model: Model
    sensors: SensorSet
    uncertainty: Uncertainty
    start: State
    step_s: float = 0.005

    def __post_init__(self) -> None:
        if not self.step_s > 0.0:
            raise ValueError(f"step_s must be positive, got {self.step_s}")


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


@dataclass(slots=True)
class MechanismEngine:
    """The mathematics of one observer on one mechanism."""

    problem: Problem
    recipe: Recipe
    gate: float = GATE_3_SIGMA_PLUS
    force: Any = NO_FORCE
    t_s: float = 0.0
    _family: Family = field(init=False, repr=False)
    _P0: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._family = family_of(self.problem, self.recipe, self.gate, self.force)
        self._P0 = self._family.node.P.copy()

    @property
    def layout(self) -> StateLayout:
        """Names of [z, zd, θ]."""
        return state_layout(self.problem.model, self.problem.uncertainty.disturbances)

    @property
    def x(self) -> Array:
        """[z, zd, θ]."""
        return self._family.x()

    @property
    def P(self) -> Array:
        """Covariance of [z, zd, θ]."""
        return self._family.P()

    @property
    def state(self) -> State:
        """The whole state of the mechanism."""
        n = self.node
        return State(self.t_s, n.q.copy(), n.qd.copy(), n.qdd.copy(), n.multiplier.copy())

    @property
    def node(self) -> Node:
        """The arrays of the filter; `counts` holds repairs, resets, gated rows, NIS."""
        return self._family.node

    @property
    def innovation(self) -> tuple[Array, Array]:
        """Innovations and their variances (m,) of the last correction of each row; NaN where there was none."""
        rows = self._family.rows
        return rows.innovation.copy(), rows.innovation_var.copy()

    def advance(self, dt_s: float) -> None:
        """Steps of the nominal length, the last one shorter."""
        for h_s in self._steps(dt_s):
            self._step(h_s)

    def advance_traced(self, dt_s: float) -> list[Transition] | None:
        """The same; the predictions it made, or None when the state was lost on the way and begun anew."""
        if not self._family.traced:
            raise ValueError(f"{self.recipe} cannot be smoothed")
        made, whole = [], True
        for h_s in self._steps(dt_s):
            out = make_outputs(1, len(self._P0), traced=True)
            x, P = self.x, self.P
            whole = self._step(h_s, out) and whole
            made.append(Transition(h_s, x, P, out.F[0], out.x_prior[0], out.P_prior[0]))
        return made if whole else None

    def _steps(self, dt_s: float) -> list[float]:
        h_s = self.problem.step_s
        whole = int(dt_s / h_s + 1e-7)
        rest = dt_s - whole * h_s
        return [h_s] * whole + ([rest] if rest > 1e-7 * h_s else [])

    def update(self, stream: str, values: tuple[float, ...]) -> Verdict:
        """Correct by the rows of `stream`; a stream without sensor or of other length is INVALID."""
        span = self.problem.sensors.span(stream)
        if span is None or span[1] - span[0] != len(values):
            return Verdict.INVALID
        before = self.snapshot()
        code = self._family.correct(span[0], span[1], np.array(values, dtype=np.float64), self.t_s)
        if code < 0 or not self._sane():
            self._reset(before)
            return Verdict.INVALID
        return Verdict(code)

    def snapshot(self) -> Any:
        """Copies of all arrays that change."""
        f = self._family
        work = f.plant.work
        return self.t_s, tuple(a.copy() for a in f.node), work.control.copy(), work.branch.copy(), f.memory()

    def restore(self, snapshot: Any) -> None:
        """Back to a snapshot."""
        self.t_s, arrays, control, branch, memory = snapshot
        for mine, theirs in zip(self._family.node, arrays, strict=True):
            mine[:] = theirs
        self._family.plant.work.control[:] = control
        self._family.plant.work.branch[:] = branch
        self._family.recall(memory)

    def run(self, readings: Array, *, for_smoother: bool = False) -> Run:
        """All steps of a grid in one compiled loop; readings (steps, m), NaN where none came."""
        if readings.ndim != 2 or readings.shape[1] != len(self.problem.sensors.rows):
            raise ValueError(f"readings {readings.shape}, want (steps, {len(self.problem.sensors.rows)})")
        out = make_outputs(len(readings), len(self.layout), traced=for_smoother and self._family.traced)
        done = self._family.run(np.ascontiguousarray(readings), 0, 0, self.t_s, self.problem.step_s, out)
        self.t_s += done * self.problem.step_s
        return Run(out.x, out.P, done, out.F, out.x_prior, out.P_prior)

    def _step(self, h_s: float, out: Outputs | None = None) -> bool:
        before = self.snapshot()
        ok = self._family.predict(self.t_s, h_s, out) and self._sane()
        if not ok:
            self._reset(before)
        self.t_s += h_s
        return ok

    def _sane(self) -> bool:
        n = self.node
        return bool(
            np.isfinite(n.q).all() and np.isfinite(n.qd).all() and np.isfinite(n.qdd).all() and np.isfinite(n.P).all()
        )

    def _reset(self, before: Any) -> None:
        """The last good position with the uncertainty of the start; counted."""
        t_s = self.t_s
        self.restore(before)
        self.t_s = t_s
        n, f = self.node, self.problem.model.independent
        counts = n.counts.copy()
        try:
            good = from_independent(self.problem.model, t_s, n.q[f], n.qd[f], n.q)
        except MechanismError:
            good = self.problem.start
        for mine, theirs in ((n.q, good.q), (n.qd, good.qd), (n.qdd, good.qdd), (n.multiplier, good.multipliers)):
            mine[:] = theirs if np.isfinite(theirs).all() else 0.0
        n.theta[:] = 0.0
        n.P[:] = self._P0
        n.L[:] = np.linalg.cholesky(self._P0)
        n.counts[:] = counts
        n.counts[RESETS] += 1.0


def engine(problem: Problem, name: str, *, gate: float = inf) -> MechanismEngine:
    """The engine of a named observer (see `RECIPES`); by default without gating, as the benchmark wants it."""
    if name not in RECIPES:
        raise ValueError(f"no observer {name}; there are {', '.join(RECIPES)}")
    return MechanismEngine(problem, RECIPES[name], gate)


def observer(
    problem: Problem,
    name: str,
    *,
    t_ns: int = 0,
    horizon_s: float = 0.5,
    gate: float = GATE_3_SIGMA_PLUS,
    lag_s: float = 0.0,
) -> OnlineObserver:
    """A named observer on a mechanism, ready for readings; with a `lag_s` it can be asked for `lagged` estimates."""
    latency_s = {s.name: s.quality.latency_s for s in problem.sensors.sensors}
    return OnlineObserver(engine(problem, name, gate=gate), t_ns, horizon_s, latency_s, lag_s)
