"""The compiled filter families behind one small interface, with the buffers each needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hodograph.core.frames import Array
from hodograph.observers.on_mechanism.cekf import Riccati, run_cekf
from hodograph.observers.on_mechanism.cekf_published import run_cekf_published
from hodograph.observers.on_mechanism.constrained import Wide
from hodograph.observers.on_mechanism.dependent import run_dependent
from hodograph.observers.on_mechanism.ekf import EkfSetting, Rows, run_ekf
from hodograph.observers.on_mechanism.plant import Node
from hodograph.observers.on_mechanism.ukf import Swarm, UkfSetting, run_ukf
from hodograph.observers.on_mechanism.unscented import Points
from hodograph.observers.on_mechanism.uncertainty import FIXED_POINT_TOLERANCE, make_linear, make_node, make_plant
from hodograph.observers.on_mechanism.recipes import Dependent, Ekf, PublishedCekf, Recipe, Steps, Ukf

if TYPE_CHECKING:
    from hodograph.observers.on_mechanism.mechanism import Problem


def make_rows(n: int, m: int, size: int) -> Rows:
    """Buffers of corrections."""
    return Rows(
        np.zeros((m, size)), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(size), np.zeros(size), np.zeros(size),
        np.full(m, np.nan), np.full(m, np.nan), np.zeros(7), np.zeros(size), np.zeros((51, size)),
    )  # fmt: skip


def make_points(size: int, m: int) -> Points:
    """Buffers of an unscented transform."""
    k = 2 * size + 1
    return Points(
        np.zeros((k, size)), np.zeros((k, m)), np.zeros(size), np.zeros(m), np.zeros((k + size, size)),
        np.zeros((m, m)), np.zeros((m, size)), np.zeros(size), np.zeros((k, size)), np.zeros((k, m)),
    )  # fmt: skip


class Outputs(NamedTuple):
    """Where a grid goes: x (steps, N), P (steps, N, N), and for smoothing F, prior x and prior P (or empty)."""

    x: Array
    P: Array
    F: Array
    x_prior: Array
    P_prior: Array


def make_outputs(steps: int, size: int, *, traced: bool = False) -> Outputs:
    """Room for a grid of steps with `size` states, and with what a smoother needs when `traced`."""
    kept = steps if traced else 0
    return Outputs(
        np.full((steps, size), np.nan), np.full((steps, size, size), np.nan), np.zeros((kept, size, size)),
        np.zeros((kept, size)), np.zeros((kept, size, size)),
    )  # fmt: skip


class Family(ABC):
    """One filter: its node and buffers, and calls into its kernels."""

    traced = True
    """Whether `run` fills F and the priors that a smoother needs."""

    def __init__(self, problem: Problem, force: Any) -> None:
        model, uncertainty = problem.model, problem.uncertainty
        d = len(uncertainty.disturbances)
        P0 = uncertainty.initial_P(len(model.independent))
        self.plant = make_plant(model, uncertainty, problem.step_s)
        self.node = make_node(model, problem.start, P0, d)
        self.linear = make_linear(model, len(P0), d)
        self.rows = make_rows(model.n, len(problem.sensors.rows), len(P0))
        self.sensors = problem.sensors.table
        self.force = force
        self.silence = np.full((1, len(problem.sensors.rows)), np.nan)
        self.scratch = make_outputs(1, len(P0))

    def x(self) -> Array:
        """[z, zd, θ]."""
        z = self.plant.work.independent
        return np.concatenate([self.node.q[z], self.node.qd[z], self.node.theta])

    def P(self) -> Array:
        """Covariance of [z, zd, θ]."""
        return self.node.P.copy()

    def memory(self) -> Any:
        """What a family remembers beyond its node."""
        return None

    def recall(self, memory: Any) -> None:
        """Back to an earlier memory."""
        return

    def predict(self, t_s: float, h_s: float, out: Outputs | None = None) -> bool:
        """One step; False when it failed."""
        return self.run(self.silence, 0, 0, t_s, h_s, out or self.scratch) == 1

    def correct(self, first: int, end: int, values: Array, t_s: float) -> int:
        """One reading; a verdict, or −1 when the state is lost."""
        return self.run(values[None, :], first, end, t_s, 0.0, self.scratch)

    @abstractmethod
    def run(self, readings: Array, first: int, end: int, t_s: float, h_s: float, out: Outputs) -> int:
        """A whole grid (end = 0; the steps done), or one correction by rows first…end (its verdict)."""


class EkfFamily(Family):
    """Extended Kalman filters."""

    def __init__(self, problem: Problem, recipe: Ekf, gate: float, force: Any) -> None:
        super().__init__(problem, force)
        f, d = len(problem.model.independent), len(problem.uncertainty.disturbances)
        if recipe.acceleration_error and d != f:
            raise ValueError(f"an acceleration error of {f} degrees of freedom needs {f} disturbances, got {d}")
        self.setting = EkfSetting(
            int(recipe.steps), int(recipe.transition), int(recipe.tangent), int(recipe.acceleration_error),
            int(recipe.adaptive) * (2 if recipe.unbounded else 1), gate,
        )  # fmt: skip
        if recipe.still_start:
            self.node.qdd[:] = 0.0
            self.node.multiplier[:] = 0.0

    def memory(self) -> Any:
        """The densities, which an adaptive filter changes."""
        return self.plant.noise_zdd.copy(), self.plant.noise_theta.copy(), self.rows.window.copy()

    def recall(self, memory: Any) -> None:
        """Back to earlier densities."""
        self.plant.noise_zdd[:], self.plant.noise_theta[:], self.rows.window[:] = memory

    def run(self, readings: Array, first: int, end: int, t_s: float, h_s: float, out: Outputs) -> int:
        """A whole grid, or one correction."""
        return run_ekf(
            self.plant, self.force, self.setting, self.sensors, readings, first, end, self.node, self.linear, self.rows,
            t_s, h_s, out.x, out.P, out.F, out.x_prior, out.P_prior,
        )  # fmt: skip


class UkfFamily(Family):
    """Unscented Kalman filters."""

    def __init__(self, problem: Problem, recipe: Ukf, gate: float, force: Any) -> None:
        super().__init__(problem, force)
        size = len(self.node.P)
        self.setting = UkfSetting(
            int(recipe.steps), int(recipe.reuse), int(recipe.square_root), gate, recipe.weights(size)
        )
        # weights of 1/α² magnify what the fixed-point iteration leaves: points that lie close need it done to the end
        self.plant.explicit[0] = max(FIXED_POINT_TOLERANCE * recipe.alpha**2, 1e-13)
        self.points = make_points(size, len(problem.sensors.rows))
        shape = (2 * size + 1, problem.model.n)
        probe = _copy(self.node)
        if recipe.steps is not Steps.INDEX3:  # the reactions of the points serve nobody else
            probe = probe._replace(multiplier=np.zeros(0))
        self.swarm = Swarm(np.zeros(shape), np.zeros(shape), np.zeros(shape), probe)

    def run(self, readings: Array, first: int, end: int, t_s: float, h_s: float, out: Outputs) -> int:
        """A whole grid, or one correction."""
        return run_ukf(
            self.plant, self.force, self.setting, self.sensors, readings, first, end, self.node, self.linear, self.rows,
            self.points, self.swarm, t_s, h_s, out.x, out.P, out.F, out.x_prior, out.P_prior,
        )  # fmt: skip


def make_riccati(size: int) -> Riccati:
    """Buffers of a Riccati equation."""
    square = (size, size)
    return Riccati(
        np.zeros(square), np.zeros(square), np.zeros(square), np.zeros(square), np.zeros(square), np.zeros(square),
        np.zeros(square), np.zeros(square), np.zeros(square), np.zeros(square), np.zeros(1),
    )  # fmt: skip


class CekfFamily(Family):
    """The continuous EKF; its corrections are part of the flow, so there is no prediction to smooth back over."""

    traced = False

    def __init__(self, problem: Problem, gate: float, force: Any) -> None:
        super().__init__(problem, force)
        self.riccati = make_riccati(len(self.node.P))
        self.gate = gate

    def memory(self) -> Any:
        """What the last step started from."""
        return tuple(a.copy() for a in self.riccati)

    def recall(self, memory: Any) -> None:
        """Back to an earlier step."""
        for mine, theirs in zip(self.riccati, memory, strict=True):
            mine[:] = theirs

    def run(self, readings: Array, first: int, end: int, t_s: float, h_s: float, out: Outputs) -> int:
        """A whole grid, or one correction."""
        return run_cekf(
            self.plant, self.force, self.gate, self.sensors, readings, first, end, self.node, self.linear, self.rows,
            self.riccati, t_s, h_s, out.x, out.P,
        )  # fmt: skip


class PublishedCekfFamily(Family):
    """The continuous EKF as published."""

    traced = False

    def __init__(self, problem: Problem, recipe: PublishedCekf, force: Any) -> None:
        super().__init__(problem, force)
        self.riccati, self.trial = make_riccati(len(self.node.P)), _copy(self.node)
        self.share = problem.step_s if recipe.per_step else 1.0

    def run(self, readings: Array, first: int, end: int, t_s: float, h_s: float, out: Outputs) -> int:
        """A whole grid; single readings are refused."""
        if end > 0:
            raise ValueError("the published CEKF reads within its steps: run it on a grid")
        return run_cekf_published(
            self.plant, self.force, self.share, self.sensors, readings, self.node, self.trial, self.linear, self.rows,
            self.riccati, t_s, h_s, out.x, out.P,
        )  # fmt: skip


class DependentFamily(Family):
    """Filters on all coordinates; the node keeps the core of their covariance, and there is no F of that."""

    traced = False

    def __init__(self, problem: Problem, recipe: Dependent, gate: float, force: Any) -> None:
        super().__init__(problem, force)
        n, d, m = problem.model.n, len(self.node.theta), len(problem.sensors.rows)
        size, full = len(self.node.P), 2 * n + d
        square = (full, full)
        free = np.ones(n)
        free[problem.model.independent] = 0.0
        self.iterated, self.gate = int(recipe.iterated), gate
        self.rows = make_rows(n, m, full)
        self.full = self.node._replace(P=np.zeros(square), L=np.zeros(square))
        self.noisy = self.sensors._replace(var=self.sensors.var.copy())
        self.wide = Wide(
            np.zeros((size, full)), np.zeros(square), np.zeros(square), np.zeros(square), np.zeros(square),
            np.zeros(full), np.zeros(full), free, np.zeros(m), np.zeros((size, full)), np.zeros((m, size)),
            np.zeros(size),
        )  # fmt: skip

    def run(self, readings: Array, first: int, end: int, t_s: float, h_s: float, out: Outputs) -> int:
        """A whole grid, or one correction."""
        return run_dependent(
            self.plant, self.force, self.iterated, self.gate, self.sensors, self.noisy, readings, first, end,
            self.node, self.linear, self.full, self.rows, self.wide, t_s, h_s, out.x, out.P,
        )  # fmt: skip


def _copy(node: Node) -> Node:
    return Node(*(a.copy() for a in node))


def family_of(problem: Problem, recipe: Recipe, gate: float, force: Any) -> Family:
    """The family of a recipe."""
    if isinstance(recipe, Ekf):
        return EkfFamily(problem, recipe, gate, force)
    if isinstance(recipe, Ukf):
        return UkfFamily(problem, recipe, gate, force)
    if isinstance(recipe, PublishedCekf):
        return PublishedCekfFamily(problem, recipe, force)
    if isinstance(recipe, Dependent):
        return DependentFamily(problem, recipe, gate, force)
    return CekfFamily(problem, gate, force)
