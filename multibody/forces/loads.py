"""Springs, given forces and torques as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hodograph.core.display import short_repr

Curve = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class SpringDamper:
    """A spring and damper between two places; positive elongation pulls them together.

    `free_length_m` by default the design distance. A curve of (elongation, force) or (speed, force) replaces the rate.
    """

    between: tuple[str, str]  # two places
    stiffness_npm: float = 0.0  # of a linear spring
    damping_nspm: float = 0.0  # of a linear damper
    free_length_m: float | None = None  # length without force; by default the design distance
    stiffness_curve: Curve = ()  # instead: [elongation in m, force in N]
    damping_curve: Curve = ()  # instead: [speed in m/s, force in N]
    kind: Literal["spring"] = "spring"  # a spring and damper between places

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class CoordinateSpring:
    """A spring and damper on one coordinate (an angle, a distance): units are N/m or N m/rad as the coordinate says."""

    coordinate: str  # what it acts on
    stiffness: float = 0.0  # N/m, or N·m/rad of an angle
    damping: float = 0.0  # N·s/m, or N·m·s/rad of an angle
    rest: float | None = None  # where the spring is slack; by default the design position
    stiffness_curve: Curve = ()  # instead: [deflection, force or torque]
    damping_curve: Curve = ()  # instead: [rate, force or torque]
    kind: Literal["coordinate_spring"] = "coordinate_spring"  # a spring and damper on a coordinate

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class PointForce:
    """A force in ground axes at a place; with `input` it is multiplied by what the caller sets."""

    at: str  # a place
    force_n: tuple[float, ...]  # in ground axes
    input: str | None = None  # name of a factor that the caller sets
    kind: Literal["point_force"] = "point_force"  # a force at a place


@dataclass(frozen=True, slots=True)
class Torque:
    """A torque on an angle or spin (`coordinate`), or on a body; with `input` it is multiplied by what the caller sets.

    On a body in space `axis` is a direction, carried by the body (`follows = true`) or standing in the ground axes.
    """

    torque_nm: float  # its size
    coordinate: str | None = None  # the angle or spin it acts on
    body: str | None = None  # or the body it acts on
    axis: tuple[float, float, float] | None = None  # on a body in space: its direction
    follows: bool = False  # whether the axis turns with the body
    input: str | None = None  # name of a factor that the caller sets
    kind: Literal["torque"] = "torque"  # a torque

    def __post_init__(self) -> None:
        if (self.coordinate is None) == (self.body is None):
            raise ValueError("a torque needs either a coordinate or a body")

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class AntiRoll:
    """A bar that resists unlike elongations of two distances: stiffness · (Δ left − Δ right) pulls the left one."""

    left: tuple[str, str]  # places of the left distance
    right: tuple[str, str]  # places of the right distance
    stiffness_npm: float  # force per metre of difference
    kind: Literal["anti_roll"] = "anti_roll"  # an anti-roll bar


Load = SpringDamper | CoordinateSpring | PointForce | Torque | AntiRoll
