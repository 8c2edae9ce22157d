"""A mechanism with its uncertainty: what every observer on a mechanism starts from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hodograph.core.errors import MechanismError
from hodograph.core.frames import Array
from hodograph.core.layout import StateLayout
from hodograph.multibody.model.build import Model, State, build
from hodograph.multibody.model.tables import Work
from hodograph.observers.kernels.plant import Linear, Node, Plant

FIXED_POINT_TOLERANCE = 1e-7
"""The trapezoidal rule ends when its coordinates change by less. An iteration contracts a hundred times or more, so
what is left is below 1e-9. Iterating to the end moves a UKF on the four-bar by 1e-7 rad and costs a fifth more time."""


@dataclass(frozen=True, slots=True)
class Disturbance:
    """A force that the model does not know, estimated as a state: θ times `column`, a generalised force (n,).

    It wanders with spectral density `density` (unit² / s) from an initial deviation `std`; with a `time_constant_s` it
    also returns to zero (a shaping filter).
    """

    name: str
    column: tuple[float, ...]
    density: float
    std: float
    time_constant_s: float | None = None


def unknown_force(
    model: Model, density: float, std: float, time_constant_s: float | None = None
) -> tuple[Disturbance, ...]:
    """One wandering generalised force per degree of freedom (N m on an angle, N on a distance)."""
    found = []
    for index in model.independent:
        column = np.zeros(model.n)
        column[index] = 1.0
        found.append(
            Disturbance(f"force_{model.names[index]}", tuple(map(float, column)), density, std, time_constant_s)
        )
    return tuple(found)


def unknown_point_forces(model: Model, density_weights: float, std_weights: float) -> tuple[Disturbance, ...]:
    """A wandering force (N) in every ground direction on each moving point that carries weight.

    What is wrong with a model mostly pulls at its points: masses, weights, springs, drag. Such a force is nearly
    constant in the ground axes where the generalised force it makes changes with every turn, so it can be learnt.
    `density_weights` is in (weight of the point)² / s, `std_weights` in weights.
    """
    load = np.abs(model.tables.loads.steady)
    points: dict[str, list[int]] = {}
    for index, name in enumerate(model.names):
        if "." in name:
            points.setdefault(name.rpartition(".")[0], []).append(index)
    found = []
    for rows in points.values():
        weight_n = float(np.linalg.norm(load[rows]))
        for index in rows if weight_n > 0.0 else ():
            column = np.eye(model.n)[index]
            found.append(
                Disturbance(
                    f"force_{model.names[index]}",
                    tuple(map(float, column)),
                    density_weights * weight_n**2,
                    std_weights * weight_n,
                )
            )
    if not found:
        raise MechanismError(f"{model.mechanism.name} has no moving point that carries weight")
    return tuple(found)


def gravity_error(model: Model, density: float, std_mps2: float) -> Disturbance:
    """The error of the strength of gravity, in m/s² along the model's own gravity."""
    down = np.array(model.mechanism.gravity_mps2)
    strength = float(np.linalg.norm(down))
    if strength == 0.0:
        raise MechanismError(f"{model.mechanism.name} has no gravity whose error could be estimated")
    heavier = build(replace(model.mechanism, gravity_mps2=tuple(2.0 * down)))
    column = (heavier.tables.loads.steady - model.tables.loads.steady) / strength
    return Disturbance("gravity_error_mps2", tuple(map(float, column)), density, std_mps2)


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """How wrong model and start may be.

    `density_zdd` is the spectral density of the acceleration noise, (rad/s²)² s, for every degree of freedom;
    `std_z`, `std_zd` are the deviations at the start; disturbances are estimated beside the state.
    """

    density_zdd: float
    std_z: float
    std_zd: float
    disturbances: tuple[Disturbance, ...] = ()

    def initial_P(self, f: int) -> Array:
        """The covariance at the start of [z, zd, θ]."""
        std = [self.std_z] * f + [self.std_zd] * f + [d.std for d in self.disturbances]
        return np.diag(np.array(std) ** 2)


def state_layout(model: Model, disturbances: Sequence[Disturbance] = ()) -> StateLayout:
    """Names of [z, zd, θ], e.g. theta_rad, theta_dot_radps."""
    z = [model.names[i] for i in model.independent]
    units = ["m" if "." in name or name in model.mechanism.distances else "rad" for name in z]
    names = [f"{name}_{unit}" for name, unit in zip(z, units, strict=True)]
    rates = [f"{name}_dot_{unit}ps" for name, unit in zip(z, units, strict=True)]
    return StateLayout((*names, *rates, *(d.name for d in disturbances)))


def make_plant(model: Model, uncertainty: Uncertainty, h_s: float, work: Work | None = None) -> Plant:
    """Tables and noise for the kernels; `h_s` is the nominal step."""
    d = uncertainty.disturbances
    columns = np.array([one.column for one in d], dtype=np.float64).reshape(len(d), model.n)
    decay = np.array([0.0 if one.time_constant_s is None else 1.0 / one.time_constant_s for one in d])
    f = len(model.independent)
    return Plant(
        model.tables,
        work or model.work(),
        columns,
        decay,
        np.full(f, uncertainty.density_zdd),
        np.array([one.density for one in d], dtype=np.float64),
        np.array([FIXED_POINT_TOLERANCE, 100.0]),
        np.array([1e-10, 100.0, 0.0, 1e-9, 0.0]),
        model.tables.factor.penalty,
    )


def make_node(model: Model, state: State, P: Array, disturbances: int) -> Node:
    """A node at a consistent state."""
    return Node(
        state.q.copy(), state.qd.copy(), state.qdd.copy(), state.multipliers.copy(), np.zeros(disturbances), P.copy(),
        np.linalg.cholesky(P).astype(np.float64), np.zeros(8),
    )  # fmt: skip


def make_linear(model: Model, size: int, disturbances: int) -> Linear:
    """Buffers of the linearisation; `size` is the length of the filter's state."""
    n, f = model.n, len(model.independent)
    square = (size, size)
    return Linear(
        np.zeros((f, n)), np.zeros((f, n)), np.zeros((f, n)), np.zeros((f, n)), np.zeros((disturbances, n)),
        np.zeros((f, f)), np.zeros(square), np.zeros(square), np.zeros(square), np.zeros(square), np.zeros(max(n, 2)),
        np.zeros(n), np.zeros(n), np.zeros(model.rows),
    )  # fmt: skip
