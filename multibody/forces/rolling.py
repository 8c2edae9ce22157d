"""What acts on wheels and through them, as data: tyres on the road, brakes, driven axles; and the air."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from hodograph.core.display import short_repr
from hodograph.core.kinds import unknown_kind
from hodograph.vehicles.driveline import Aerodynamics, Differential, DiscBrake, OpenDifferential
from hodograph.vehicles.tyres import Tyre


@dataclass(frozen=True, slots=True)
class TyreContact:
    """A wheel (a body of kind `wheel` whose centre and vectors have coordinates) rolls on the road.

    `mirrored` turns the tyre's own asymmetries (conicity, ply-steer) round for the other side of the vehicle.
    """

    wheel: str  # a body of kind wheel
    tyre: Tyre  # as in a vehicle file, `[front.tyre]`
    mirrored: bool = False  # whether it is mounted on the other side
    kind: Literal["tyre"] = "tyre"  # a tyre on the road

    def __post_init__(self) -> None:
        if not isinstance(self.tyre, Tyre):
            raise unknown_kind(f"tyre of {self.wheel}", self.tyre, Tyre)

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class WheelBrake:
    """A brake between a wheel and its carrier; `input` is the line pressure in Pa."""

    wheel: str  # a body of kind wheel
    brake: DiscBrake  # as in a vehicle file, `[front.brake]`
    input: str  # name of the line pressure in Pa
    kind: Literal["brake"] = "brake"  # a disc brake

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class AxleDrive:
    """A driven axle: `input` is the torque (N m) on both wheels together, shared by the differential.

    One wheel alone is driven without a differential. `reaction` names axis, side_a, side_b (as of a wheel) of the body
    that takes the reaction; without it the axle stands on the ground.
    """

    wheels: tuple[str, ...]  # one wheel, or left and right
    input: str  # name of the torque in N·m on all of them together
    differential: Differential = field(default_factory=OpenDifferential)  # as of a vehicle's `[drive.rear]`
    reaction: tuple[str, str, str] | None = None  # axis, side_a, side_b of what takes it; by default the ground
    kind: Literal["drive"] = "drive"  # a driven axle

    def __post_init__(self) -> None:
        if len(self.wheels) not in (1, 2):
            raise ValueError(f"a drive needs one wheel or two (left, right), got {len(self.wheels)}")
        if not isinstance(self.differential, Differential):
            raise unknown_kind(f"differential of {', '.join(self.wheels)}", self.differential, Differential)

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class AirForce:
    """Drag at one place of a body, lift at two more; `axes` are its forward, left and upward vectors."""

    at: str  # where the drag acts
    front: str  # where the lift of the front acts
    rear: str  # where the lift of the rear acts
    axes: tuple[str, str, str]  # forward, left and upward vector of the body
    aerodynamics: Aerodynamics  # drag and lift areas
    kind: Literal["air"] = "air"  # drag and lift

    __repr__ = short_repr


RollingForce = TyreContact | WheelBrake | AxleDrive | AirForce
