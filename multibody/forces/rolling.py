"""What acts on wheels and through them, as data: tyres on the road, brakes, driven axles; and the air."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from hodograph.core.kinds import unknown_kind
from hodograph.multibody.forces.driveline import Aerodynamics, Differential, DiscBrake, OpenDifferential
from hodograph.multibody.forces.tyres import Tyre


@dataclass(frozen=True, slots=True)
class TyreContact:
    """A wheel (a body of kind `wheel` whose centre and vectors have coordinates) rolls on the road.

    `mirrored` turns the tyre's own asymmetries (conicity, ply-steer) round for the other side of the vehicle.
    """

    wheel: str
    tyre: Tyre
    mirrored: bool = False
    kind: Literal["tyre"] = "tyre"

    def __post_init__(self) -> None:
        if not isinstance(self.tyre, Tyre):
            raise unknown_kind(f"tyre of {self.wheel}", self.tyre, Tyre)


@dataclass(frozen=True, slots=True)
class WheelBrake:
    """A brake between a wheel and its carrier; `input` is the line pressure in Pa."""

    wheel: str
    brake: DiscBrake
    input: str
    kind: Literal["brake"] = "brake"


@dataclass(frozen=True, slots=True)
class AxleDrive:
    """A driven axle: `input` is the torque (N m) on both wheels together, shared by the differential.

    One wheel alone is driven without a differential. `reaction` names axis, side_a, side_b (as of a wheel) of the body
    that takes the reaction; without it the axle stands on the ground.
    """

    wheels: tuple[str, ...]
    input: str
    differential: Differential = field(default_factory=OpenDifferential)
    reaction: tuple[str, str, str] | None = None
    kind: Literal["drive"] = "drive"

    def __post_init__(self) -> None:
        if len(self.wheels) not in (1, 2):
            raise ValueError(f"a drive needs one wheel or two (left, right), got {len(self.wheels)}")
        if not isinstance(self.differential, Differential):
            raise unknown_kind(f"differential of {', '.join(self.wheels)}", self.differential, Differential)


@dataclass(frozen=True, slots=True)
class AirForce:
    """Drag at one place of a body, lift at two more; `axes` are its forward, left and upward vectors."""

    at: str
    front: str
    rear: str
    axes: tuple[str, str, str]
    aerodynamics: Aerodynamics
    kind: Literal["air"] = "air"


RollingForce = TyreContact | WheelBrake | AxleDrive | AirForce
