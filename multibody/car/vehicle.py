"""A vehicle as data: what `vehicles/*.toml` says, read into frozen dataclasses.

Axes are those of ISO 8855 (x forward, y left, z up) with the origin in the middle of the rear axle at the height of the
wheel centres, in the design position: the car standing on a flat road. Everything of an axle describes its left side;
the right is the mirror image, except for what a table `right` gives anew, also written as its mirror image on the left.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from importlib.resources import files
from math import radians
from pathlib import Path
from typing import Literal

from hodograph.core.errors import SettingsError
from hodograph.core.settings import read_settings, settings_from_text
from hodograph.multibody.car.suspension import (
    Suspension,
    Vec3,
    mirror_points,
    require_left,
    require_positive,
)
from hodograph.multibody.forces.driveline import Aerodynamics, Differential, DiscBrake
from hodograph.multibody.forces.loads import Curve
from hodograph.multibody.forces.tyres import Tyre

CORNERS = ("fl", "fr", "rl", "rr")
SOFTEST_NPM = 1000.0
FASTEST_MPS = 20.0
Side = Literal["left", "right"]
Seat = Literal["lower_arm", "upper_arm", "knuckle"]


def _require_all_or_none(*given: object) -> None:
    if len({value is None for value in given}) > 1:
        raise ValueError("on, lower_m and upper_m go together: all three, or none for the seats of the spring")


def _require_small_angles(part: Axle | RightSide) -> None:
    for name in ("toe_deg", "camber_deg"):
        value = getattr(part, name)
        if value is not None and abs(value) > 15.0:
            raise ValueError(f"{name} = {value} is beyond 15 degrees")


@dataclass(frozen=True, slots=True)
class SprungBody:
    """The sprung body with everything on it that is no part of suspension or wheels; driver and fuel included.

    `products_kgm2` are ∫ xy dm, ∫ xz dm, ∫ yz dm about the centre of gravity. `origin_height_m` is the height of the
    body origin (the rear wheel centres) above the road in the design position.
    """

    mass_kg: float
    cg_m: Vec3
    inertia_kgm2: Vec3
    origin_height_m: float
    products_kgm2: Vec3 = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        require_positive("mass_kg", self.mass_kg)
        require_positive("origin_height_m", self.origin_height_m)
        if self.origin_height_m > 1.5:
            raise ValueError(
                f"origin_height_m = {self.origin_height_m:g}: wheel centres that high? Are these millimetres?"
            )


@dataclass(frozen=True, slots=True)
class Spring:
    """A coil spring from a seat `on` an arm or the knuckle (`lower_m`) to the chassis (`upper_m`).

    How much it is compressed in the design position: `free_length_m`, or the force there `load_n`, or neither: then it
    is chosen so that the car stands still in the design position. A seat on an arm is moved along the arm's normal into
    its plane, because arms are flat.
    """

    on: Seat
    lower_m: Vec3
    upper_m: Vec3
    rate_npm: float
    free_length_m: float | None = None
    load_n: float | None = None

    def __post_init__(self) -> None:
        require_left(self)
        if not self.rate_npm > SOFTEST_NPM:
            raise ValueError(
                f"rate_npm = {self.rate_npm:g}: no car stands on that; if it is in N/mm, write {1e3 * self.rate_npm:g}"
            )
        if self.free_length_m is not None and self.load_n is not None:
            raise ValueError("give free_length_m or load_n or neither, not both")


@dataclass(frozen=True, slots=True)
class Damper:
    """A damper on the seats of the spring, or on its own.

    Linear (`damping_nspm`) or by `curve`: [speed in m/s, force in N], both positive when it extends (rebound).
    """

    damping_nspm: float = 0.0
    curve: Curve = ()
    on: Seat | None = None
    lower_m: Vec3 | None = None
    upper_m: Vec3 | None = None

    def __post_init__(self) -> None:
        require_left(self)
        if (self.damping_nspm > 0.0) == bool(self.curve):
            raise ValueError("give either damping_nspm or a curve")
        _require_all_or_none(self.on, self.lower_m, self.upper_m)
        if any(abs(speed) > FASTEST_MPS for speed, _ in self.curve):
            raise ValueError(f"the curve goes beyond {FASTEST_MPS:g} m/s: are these mm/s?")
        if any(x * y < 0.0 for x, y in self.curve):
            raise ValueError("the curve must damp: speed and force of one sign (both positive in rebound)")


@dataclass(frozen=True, slots=True)
class Stop:
    """A rubber stop on the damper: it is touched after `clearance_m` of damper travel from the design position.

    `curve` is [compression of the rubber in m, force in N], beginning at [0, 0] and rising.
    """

    clearance_m: float
    curve: Curve

    def __post_init__(self) -> None:
        require_positive("clearance_m", self.clearance_m)
        if self.clearance_m > 0.5:
            raise ValueError(f"clearance_m = {self.clearance_m:g}: are these millimetres?")
        if len(self.curve) < 2 or self.curve[0] != (0.0, 0.0):
            raise ValueError("the curve needs two points or more and begins at [0, 0]")
        for (x0, y0), (x1, y1) in zip(self.curve, self.curve[1:], strict=False):
            if not (x1 > x0 and y1 > y0):
                raise ValueError("the curve must rise")


@dataclass(frozen=True, slots=True)
class AntiRollBar:
    """A bar that couples both sides through links along the springs, or along lines of its own (like a damper's).

    `rate_npm` is the force in each link per metre of difference between the lengths of both links.
    """

    rate_npm: float
    on: Seat | None = None
    lower_m: Vec3 | None = None
    upper_m: Vec3 | None = None

    def __post_init__(self) -> None:
        require_left(self)
        require_positive("rate_npm", self.rate_npm)
        _require_all_or_none(self.on, self.lower_m, self.upper_m)


@dataclass(frozen=True, slots=True)
class RoadWheel:
    """Rim, tyre, disc, hub: what spins. The centre of gravity lies `offset_m` outboard of the wheel centre."""

    mass_kg: float
    spin_inertia_kgm2: float
    transverse_inertia_kgm2: float
    offset_m: float = 0.0

    def __post_init__(self) -> None:
        for name in ("mass_kg", "spin_inertia_kgm2", "transverse_inertia_kgm2"):
            require_positive(name, getattr(self, name))
        if self.spin_inertia_kgm2 > 2.0 * self.transverse_inertia_kgm2:
            raise ValueError(
                "spin_inertia_kgm2 is more than twice transverse_inertia_kgm2: no wheel is flatter than flat"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class RightSide:
    """What differs on the right, written as its mirror image on the left. What is not given is as on the left."""

    wheel_centre_m: Vec3 | None = None
    toe_deg: float | None = None
    camber_deg: float | None = None
    suspension: Suspension | None = None
    wheel: RoadWheel | None = None
    spring: Spring | None = None
    damper: Damper | None = None
    tyre: Tyre | None = None

    def __post_init__(self) -> None:
        require_left(self)
        _require_small_angles(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Axle:
    """Both corners of an axle. `toe_deg` is positive for toe-in, `camber_deg` negative when the top leans inwards."""

    wheel_centre_m: Vec3
    suspension: Suspension
    wheel: RoadWheel
    tyre: Tyre
    spring: Spring
    damper: Damper
    toe_deg: float = 0.0
    camber_deg: float = 0.0
    bump_stop: Stop | None = None
    rebound_stop: Stop | None = None
    anti_roll_bar: AntiRollBar | None = None
    brake: DiscBrake | None = None
    right: RightSide = field(default_factory=RightSide)

    def __post_init__(self) -> None:
        require_left(self)
        _require_small_angles(self)
        for name in ("spring", "damper", "anti_roll_bar"):
            if getattr(getattr(self, name), "on", None) == "upper_arm" and self.suspension.kind == "macpherson":
                raise ValueError(f"{name}: a MacPherson strut has no upper_arm")
        if not self.symmetric:  # what is given for the right must also go with what is taken over from the left
            try:
                self.as_right()
            except ValueError as error:
                raise ValueError(f"right, together with what it takes over from the left: {error}") from error

    def as_right(self) -> Axle:
        """This axle with what is different on the right, still written as its mirror image on the left."""
        given = {f.name: getattr(self.right, f.name) for f in fields(self.right)}
        return replace(self, right=RightSide(), **{name: value for name, value in given.items() if value is not None})

    @property
    def symmetric(self) -> bool:
        """Whether both sides are mirror images."""
        return self.right == RightSide()


@dataclass(frozen=True, slots=True)
class Corner:
    """One corner in its own place: hard points of the right are on the right."""

    name: str
    side: Side
    axle: Axle

    @property
    def sign(self) -> float:
        """+1 on the left, −1 on the right."""
        return 1.0 if self.side == "left" else -1.0

    @property
    def toe_rad(self) -> float:
        """Rotation of the wheel about z that the static toe means: toe-in turns the left wheel clockwise."""
        return -self.sign * radians(self.axle.toe_deg)

    @property
    def camber_rad(self) -> float:
        """Rotation of the wheel about x: negative camber leans the top of the left wheel to the right."""
        return -self.sign * radians(self.axle.camber_deg)


@dataclass(frozen=True, slots=True)
class Steering:
    """A rack across the front axle whose ends are the inner joints of the tie rods.

    `cg_m` and inertia in the body axes; `rack_m_per_rad` is rack travel to the left per radian of steering wheel to the
    left (negative when the link is behind the kingpin and the gear reverses); `travel_m` is the limit to each side.
    """

    mass_kg: float
    inertia_kgm2: Vec3
    rack_m_per_rad: float
    travel_m: float
    cg_m: Vec3 | None = None

    def __post_init__(self) -> None:
        require_positive("mass_kg", self.mass_kg)
        require_positive("travel_m", self.travel_m)
        if self.rack_m_per_rad == 0.0:
            raise ValueError(
                "rack_m_per_rad is 0, so turning the steering wheel would not move the rack: give the travel of the "
                "rack to the left in metres per radian of steering wheel to the left, e.g. 0.008"
            )


@dataclass(frozen=True, slots=True)
class Air:
    """Drag at a point of the body, lift at the axles: coefficient times frontal area; downforce is negative."""

    drag_area_m2: float
    centre_m: Vec3
    lift_area_front_m2: float = 0.0
    lift_area_rear_m2: float = 0.0
    density_kgpm3: float = 1.2

    def __post_init__(self) -> None:
        _ = self.aerodynamics

    @property
    def aerodynamics(self) -> Aerodynamics:
        """The same as the force law wants it."""
        return Aerodynamics(self.drag_area_m2, self.lift_area_front_m2, self.lift_area_rear_m2, self.density_kgpm3)


@dataclass(frozen=True, slots=True)
class DrivenAxles:
    """Which axles are driven, each through a differential; the torque is the sum at the wheels of the axle.

    With `wheel_torques` every wheel has an input of its own besides, as a torque sensor in the wheel measures it.
    """

    rear: Differential | None = None
    front: Differential | None = None
    wheel_torques: bool = False


@dataclass(frozen=True, slots=True)
class Vehicle:
    """Everything about a vehicle; `mechanism_of(vehicle)` turns it into a mechanism of 14 degrees of freedom."""

    schema: int
    name: str
    chassis: SprungBody
    front: Axle
    rear: Axle
    steering: Steering
    drive: DrivenAxles
    aero: Air | None = None
    gravity_mps2: float = 9.81

    def __post_init__(self) -> None:
        if self.schema != 1:
            raise ValueError(f"schema {self.schema} is not known, only 1")
        if not self.gravity_mps2 > 0.0:
            raise ValueError(
                f"gravity_mps2 must be positive (it acts downwards), got {self.gravity_mps2:g}: leave it out for 9.81"
            )
        x, _, z = self.rear.wheel_centre_m
        if max(abs(x), abs(z)) > 1e-6:
            raise ValueError(
                f"rear.wheel_centre_m is {list(self.rear.wheel_centre_m)}: x and z must be 0, for the body origin is "
                "the middle of the rear axle at the height of the wheel centres; shift all points"
            )
        if not self.front.wheel_centre_m[0] > 0.5:
            raise ValueError("front.wheel_centre_m: the front axle must lie ahead of the rear one (x forward, metres)")

    @property
    def wheelbase_m(self) -> float:
        """Distance of the axles along x."""
        return self.front.wheel_centre_m[0]

    def braking_nm_per_pa(self, at_pa: float = 2e6) -> float:
        """Brake torque of all wheels together per pressure in all lines, a secant at `at_pa`; 0 without brakes."""
        brakes = [axle.brake for axle in (self.front, self.rear) if axle.brake is not None]
        return sum(2.0 * brake.torque_nm(at_pa) for brake in brakes) / at_pa

    def corner(self, name: str) -> Corner:
        """One of fl, fr, rl, rr in its own place."""
        if name not in CORNERS:
            raise ValueError(f"no corner {name}; there are {', '.join(CORNERS)}")
        axle = self.front if name[0] == "f" else self.rear
        if name[1] == "l":
            return Corner(name, "left", axle)
        return Corner(name, "right", mirror_points(axle.as_right()))


def read_vehicle(path: str | Path) -> Vehicle:
    """The vehicle of a TOML file, or a shipped one by name ("xbw"); what is wrong is named with file and line."""
    if str(path) in shipped_vehicles():
        text = (files("hodograph.vehicles") / f"{path}.toml").read_text(encoding="utf-8")
        return settings_from_text(text, Vehicle, source=f"{path}.toml")
    if not Path(path).suffix:
        raise SettingsError(str(path), f"no such vehicle; there are {', '.join(shipped_vehicles())}, or give a file")
    return read_settings(path, Vehicle)


def shipped_vehicles() -> tuple[str, ...]:
    """Names of the vehicles that come with the package and have hard points."""
    folder = files("hodograph.vehicles")
    found = [f for f in folder.iterdir() if f.name.endswith(".toml") and "[front.suspension]" in f.read_text("utf-8")]
    return tuple(sorted(f.name.removesuffix(".toml") for f in found))
