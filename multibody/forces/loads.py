"""Springs, given forces and torques as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Curve = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class SpringDamper:
    """A spring and damper between two places; positive elongation pulls them together.

    `free_length_m` by default the design distance. A curve of (elongation, force) or (speed, force) replaces the rate.
    """

    between: tuple[str, str]
    stiffness_npm: float = 0.0
    damping_nspm: float = 0.0
    free_length_m: float | None = None
    stiffness_curve: Curve = ()
    damping_curve: Curve = ()
    kind: Literal["spring"] = "spring"


@dataclass(frozen=True, slots=True)
class CoordinateSpring:
    """A spring and damper on one coordinate (an angle, a distance): units are N/m or N m/rad as the coordinate says."""

    coordinate: str
    stiffness: float = 0.0
    damping: float = 0.0
    rest: float | None = None
    stiffness_curve: Curve = ()
    damping_curve: Curve = ()
    kind: Literal["coordinate_spring"] = "coordinate_spring"


@dataclass(frozen=True, slots=True)
class PointForce:
    """A force in ground axes at a place; with `input` it is multiplied by what the caller sets."""

    at: str
    force_n: tuple[float, ...]
    input: str | None = None
    kind: Literal["point_force"] = "point_force"


@dataclass(frozen=True, slots=True)
class Torque:
    """A torque on an angle or spin (`coordinate`), or on a body; with `input` it is multiplied by what the caller sets.

    On a body in space `axis` is a direction, carried by the body (`follows = true`) or standing in the ground axes.
    """

    torque_nm: float
    coordinate: str | None = None
    body: str | None = None
    axis: tuple[float, float, float] | None = None
    follows: bool = False
    input: str | None = None
    kind: Literal["torque"] = "torque"

    def __post_init__(self) -> None:
        if (self.coordinate is None) == (self.body is None):
            raise ValueError("a torque needs either a coordinate or a body")


@dataclass(frozen=True, slots=True)
class AntiRoll:
    """A bar that resists unlike elongations of two distances: stiffness · (Δ left − Δ right) pulls the left one."""

    left: tuple[str, str]
    right: tuple[str, str]
    stiffness_npm: float
    kind: Literal["anti_roll"] = "anti_roll"


Load = SpringDamper | CoordinateSpring | PointForce | Torque | AntiRoll
