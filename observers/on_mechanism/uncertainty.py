"""How wrong a model may be: the noise of its accelerations, the spread at the start, and what is not known of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from hodograph.core.display import cut, short_repr
from hodograph.core.errors import MechanismError
from hodograph.core.frames import Array
from hodograph.core.layout import StateLayout
from hodograph.multibody.forces.columns import ROAD_HEIGHT, TYRE_FRICTION
from hodograph.multibody.forces.loads import AntiRoll, CoordinateSpring, SpringDamper
from hodograph.multibody.model.algebra import Affine, Place
from hodograph.multibody.model.build import Model, build
from hodograph.observers.on_mechanism import plant as kernels
from hodograph.sensors.on_mechanism import body_direction

GRAVITY_ERROR = "gravity_error_mps2"
NOWHERE: Place = (Affine(0.0),)


class Kind(IntEnum):
    """What a disturbance disturbs."""

    FORCE = kernels.FORCE  # a generalised force, constant in the coordinates
    BODY_FORCE = kernels.BODY_FORCE  # a force on a place along an axis that a body carries
    ENTRY = kernels.ENTRY  # an entry of a table of forces, or of the road
    BIAS = kernels.BIAS  # is added to what a sensor reads
    SCALE = kernels.SCALE  # multiplies it by 1 + θ, as a wrong rolling radius does
    LATENCY = kernels.LATENCY  # the sensor reads what was true θ seconds ago


@dataclass(frozen=True, slots=True)
class Disturbance:
    """Something that the model does not know, estimated as a state θ; by default θ times a generalised force (n,).

    It wanders with spectral density `density` (unit² / s) from an initial deviation `std`; with a `time_constant_s` it
    also returns to zero (a shaping filter). Made by the functions below; which fields count depends on `kind`.
    """

    name: str
    column: tuple[float, ...]
    density: float
    std: float
    time_constant_s: float | None = None
    kind: Kind = Kind.FORCE
    place: Place = NOWHERE
    axis: Place = NOWHERE
    entry: tuple[int, int, int] = (0, 0, 0)
    stream: str = ""
    channel: str | None = None

    def __repr__(self) -> str:
        back = "" if self.time_constant_s is None else f", returns in {self.time_constant_s:g} s"
        return f"Disturbance({cut(self.name)}, {self.kind.name}: std {self.std:g}, density {self.density:g}{back})"


def body_force(model: Model, at: str, body: str, axis: tuple[float, ...], *, density: float, std: float) -> Disturbance:
    """An unknown force (N) at a place, along an axis carried by a body (axes as of `sensors.Accelerometer`).

    Its name tells the axis where that is one of the body's own: force_chassis_O_y_n.
    """
    place, along = (
        model.coordinates.place(at, "body_force"),
        body_direction(model.coordinates, body, axis, "body_force"),
    )
    own = [name for name, part in zip("xyz", axis, strict=False) if part != 0.0]
    where = f"{body}_{at}_{own[0]}" if len(own) == 1 else f"{body}_{at}"
    return Disturbance(f"force_{where}_n", (), density, std, kind=Kind.BODY_FORCE, place=place, axis=along)


def sensor_bias(stream: str, channel: str | None = None, *, density: float, std: float) -> Disturbance:
    """An unknown offset of a sensor's channel (of all its channels alike when None), in its unit."""
    return Disturbance(_of("bias", stream, channel), (), density, std, kind=Kind.BIAS, stream=stream, channel=channel)


def sensor_scale(stream: str, channel: str | None = None, *, density: float, std: float) -> Disturbance:
    """An unknown factor 1 + θ on what a sensor reads."""
    return Disturbance(_of("scale", stream, channel), (), density, std, kind=Kind.SCALE, stream=stream, channel=channel)


def _of(what: str, stream: str, channel: str | None) -> str:
    return f"{what}_{stream}" if channel is None else f"{what}_{stream}_{channel}"


def sensor_latency(stream: str, *, density: float, std_s: float) -> Disturbance:
    """An unknown delay (s) of a sensor, beyond the one that its quality tells."""
    return Disturbance(f"latency_{stream}_s", (), density, std_s, kind=Kind.LATENCY, stream=stream)


def tyre_friction(wheel: int, *, density: float, std: float) -> Disturbance:
    """An unknown error of the friction factor of a wheel's tyre."""
    return _entry(f"friction_{wheel}", (kernels.TYRES, wheel, TYRE_FRICTION), density, std)


def spring_stiffness(model: Model, name: str, *, density: float, std: float) -> Disturbance:
    """An unknown error of the stiffness (N/m, N m/rad) of a named spring, on a coordinate or between places."""
    forces = model.mechanism.forces
    springs = {key: force for key, force in forces.items() if isinstance(force, CoordinateSpring | SpringDamper)}
    if name not in springs:
        raise MechanismError(f"no spring {name}; there are {', '.join(springs) or 'none'}")
    if springs[name].stiffness_curve:
        raise MechanismError(f"{name} has a curve in place of a stiffness")
    before = list(forces.values())[: list(forces).index(name)]
    if isinstance(springs[name], CoordinateSpring):
        table, row = kernels.COORDINATE_SPRINGS, sum(isinstance(force, CoordinateSpring) for force in before)
    else:  # a bar is two of them
        table = kernels.SPRINGS
        row = sum(isinstance(force, SpringDamper) + 2 * isinstance(force, AntiRoll) for force in before)
    return _entry(f"stiffness_{name}", (table, row, 0), density, std)


def road_height(feature: int = 0, *, density: float, std_m: float) -> Disturbance:
    """An unknown error (m) of the height of a plane of the road."""
    return _entry("road_height_m", (kernels.ROAD, feature, ROAD_HEIGHT), density, std_m)


def _entry(name: str, entry: tuple[int, int, int], density: float, std: float) -> Disturbance:
    return Disturbance(name, (), density, std, kind=Kind.ENTRY, entry=entry)


def unknown_force(
    model: Model, density: float, std: float, time_constant_s: float | None = None
) -> tuple[Disturbance, ...]:
    """One wandering generalised force per degree of freedom (N m on an angle, N on a distance)."""
    found = []
    for index in model.independent:
        column = np.zeros(model.n)
        column[index] = 1.0
        found.append(
            Disturbance(
                name=f"force_{model.names[index]}",
                column=tuple(map(float, column)),
                density=density,
                std=std,
                time_constant_s=time_constant_s,
            )
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
    return Disturbance(GRAVITY_ERROR, tuple(map(float, column)), density, std_mps2)


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

    __repr__ = short_repr


def state_layout(model: Model, disturbances: Sequence[Disturbance] = ()) -> StateLayout:
    """Names of [z, zd, θ], e.g. theta_rad, theta_dot_radps.

    An angle lives on a circle, unless a spring on it counts the turns.
    """
    z = [model.names[i] for i in model.independent]
    springs = [f for f in model.mechanism.forces.values() if isinstance(f, CoordinateSpring)]
    wound = {f.coordinate for f in springs if f.stiffness or f.stiffness_curve}
    units = ["m" if "." in name or name in model.mechanism.distances else "rad" for name in z]
    names = [f"{name}_{unit}" for name, unit in zip(z, units, strict=True)]
    rates = [f"{name}_dot_{unit}ps" for name, unit in zip(z, units, strict=True)]
    turns = frozenset(f"{n}_rad" for n, unit in zip(z, units, strict=True) if unit == "rad" and n not in wound)
    return StateLayout((*names, *rates, *(d.name for d in disturbances)), turns)
