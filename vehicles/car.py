"""A car with hard points as data: the level of a vehicle file that a multibody car needs.

Axes are those of ISO 8855 (x forward, y left, z up) with the origin in the middle of the rear axle at the height of the
wheel centres, in the design position: the car standing on a flat road. Everything of an axle describes its left side;
the right is the mirror image, except for what a table `right` gives anew, also written as its mirror image on the left.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from math import radians
from typing import Literal

from hodograph.core.display import cut, short_repr
from hodograph.vehicles.checks import Curve, Vec3, require_left, require_positive
from hodograph.vehicles.driveline import Aerodynamics, Differential, DiscBrake
from hodograph.vehicles.suspension import Suspension, mirror_points
from hodograph.vehicles.tyres import Tyre

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
    """What the springs carry: everything that is no part of suspension, rack or wheels; driver and fuel included."""

    mass_kg: float  # of the sprung body alone
    cg_m: Vec3  # its centre of gravity
    inertia_kgm2: Vec3  # Ixx, Iyy, Izz about its centre of gravity
    origin_height_m: float  # height of the body origin (the rear wheel centres) above the road in the design position
    products_kgm2: Vec3 = (0.0, 0.0, 0.0)  # ∫ xy dm, ∫ xz dm, ∫ yz dm about its centre of gravity

    def __post_init__(self) -> None:
        require_positive("mass_kg", self.mass_kg)
        require_positive("origin_height_m", self.origin_height_m)
        if self.origin_height_m > 1.5:
            raise ValueError(
                f"origin_height_m = {self.origin_height_m:g}: wheel centres that high? Are these millimetres?"
            )

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class Spring:
    """A coil spring from a seat `on` an arm or the knuckle (`lower_m`) to the body (`upper_m`).

    How much it is compressed in the design position: `free_length_m`, or the force there `load_n`, or neither: then it
    is chosen so that the car stands still in the design position. A seat on an arm is moved along the arm's normal into
    its plane, because arms are flat.
    """

    on: Seat  # what carries the lower seat
    lower_m: Vec3  # lower seat
    upper_m: Vec3  # upper seat, on the body
    rate_npm: float  # of the spring itself
    free_length_m: float | None = None  # length without load
    load_n: float | None = None  # force in the design position; with neither, the car stands there

    def __post_init__(self) -> None:
        require_left(self)
        if not self.rate_npm > SOFTEST_NPM:
            raise ValueError(
                f"rate_npm = {self.rate_npm:g}: no car stands on that; if it is in N/mm, write {1e3 * self.rate_npm:g}"
            )
        if self.free_length_m is not None and self.load_n is not None:
            raise ValueError("give free_length_m or load_n or neither, not both")

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class Damper:
    """A damper on the seats of the spring, or on its own.

    Linear (`damping_nspm`) or by `curve`: [speed in m/s, force in N], both positive when it extends (rebound).
    """

    damping_nspm: float = 0.0  # of a linear damper
    curve: Curve = ()  # else [speed in m/s, force in N]; smooth between, straight beyond its ends
    on: Seat | None = None  # what carries its lower seat; by default it sits on the seats of the spring
    lower_m: Vec3 | None = None  # its lower seat
    upper_m: Vec3 | None = None  # its upper seat, on the body

    def __post_init__(self) -> None:
        require_left(self)
        if (self.damping_nspm > 0.0) == bool(self.curve):
            raise ValueError("give either damping_nspm or a curve")
        _require_all_or_none(self.on, self.lower_m, self.upper_m)
        if any(abs(speed) > FASTEST_MPS for speed, _ in self.curve):
            raise ValueError(f"the curve goes beyond {FASTEST_MPS:g} m/s: are these mm/s?")
        if any(x * y < 0.0 for x, y in self.curve):
            raise ValueError("the curve must damp: speed and force of one sign (both positive in rebound)")

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class Stop:
    """A rubber stop on the damper."""

    clearance_m: float  # damper travel from the design position until it is touched
    curve: Curve  # [compression of the rubber in m, force in N], from [0, 0] on and rising

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
    """A bar that couples both sides through links along the springs, or along lines of its own (like a damper's)."""

    rate_npm: float  # force in each link per metre of difference between the lengths of both links
    on: Seat | None = None  # what carries the lower ends of the links; by default they run along the springs
    lower_m: Vec3 | None = None  # lower end of the link
    upper_m: Vec3 | None = None  # upper end of the link, on the body

    def __post_init__(self) -> None:
        require_left(self)
        require_positive("rate_npm", self.rate_npm)
        _require_all_or_none(self.on, self.lower_m, self.upper_m)


@dataclass(frozen=True, slots=True)
class RoadWheel:
    """Rim, tyre, disc, hub: what spins."""

    mass_kg: float  # of all that spins
    spin_inertia_kgm2: float  # about the axis of rotation
    transverse_inertia_kgm2: float  # about any axis across, through the centre of gravity
    offset_m: float = 0.0  # centre of gravity outboard of the wheel centre

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

    wheel_centre_m: Vec3 | None = None  # as of the axle
    toe_deg: float | None = None  # as of the axle
    camber_deg: float | None = None  # as of the axle
    suspension: Suspension | None = None  # the whole table
    wheel: RoadWheel | None = None  # the whole table
    spring: Spring | None = None  # the whole table
    damper: Damper | None = None  # the whole table
    tyre: Tyre | None = None  # the whole table

    def __post_init__(self) -> None:
        require_left(self)
        _require_small_angles(self)

    __repr__ = short_repr


@dataclass(frozen=True, slots=True, kw_only=True)
class Axle:
    """Both corners of an axle, written for the left."""

    wheel_centre_m: Vec3  # middle plane of the wheel on its axis of rotation; at the rear x and z are 0
    suspension: Suspension  # hard points, arms, knuckle
    wheel: RoadWheel  # what spins
    tyre: Tyre  # forces on the road
    spring: Spring  # the coil spring
    damper: Damper  # the damper
    toe_deg: float = 0.0  # in the design position, positive for toe-in
    camber_deg: float = 0.0  # in the design position, negative when the top leans inwards
    bump_stop: Stop | None = None  # stop in compression
    rebound_stop: Stop | None = None  # stop in extension
    anti_roll_bar: AntiRollBar | None = None  # couples left and right
    brake: DiscBrake | None = None  # of each wheel; follows the input brake_front_pa or brake_rear_pa
    right: RightSide = field(default_factory=RightSide)  # what differs on the right

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

    __repr__ = short_repr

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

    __repr__ = short_repr

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
    """A rack across the front axle whose ends are the inner joints of the tie rods."""

    mass_kg: float  # of the rack
    inertia_kgm2: Vec3  # Ixx, Iyy, Izz of the rack about its centre of gravity, body axes
    rack_m_per_rad: float  # travel to the left per radian of steering wheel to the left; negative: tie rods behind axle
    travel_m: float  # the rack's limit to each side
    cg_m: Vec3 | None = None  # centre of gravity of the rack; by default the middle of its ends

    def __post_init__(self) -> None:
        require_positive("mass_kg", self.mass_kg)
        require_positive("travel_m", self.travel_m)
        if self.rack_m_per_rad == 0.0:
            raise ValueError(
                "rack_m_per_rad is 0, so turning the steering wheel would not move the rack: give the travel of the "
                "rack to the left in metres per radian of steering wheel to the left, e.g. 0.008"
            )

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class Air:
    """Drag at a point of the body, lift at the axles: coefficient times frontal area; downforce is negative."""

    drag_area_m2: float  # drag coefficient times frontal area
    centre_m: Vec3  # where the drag acts
    lift_area_front_m2: float = 0.0  # lift coefficient times frontal area, at the front axle
    lift_area_rear_m2: float = 0.0  # the same at the rear axle
    density_kgpm3: float = 1.2  # of the air

    def __post_init__(self) -> None:
        _ = self.aerodynamics

    @property
    def aerodynamics(self) -> Aerodynamics:
        """The same as the force law wants it."""
        return Aerodynamics(self.drag_area_m2, self.lift_area_front_m2, self.lift_area_rear_m2, self.density_kgpm3)


@dataclass(frozen=True, slots=True)
class DrivenAxles:
    """Which axles are driven, each through a differential; the torque is the sum at the wheels of the axle."""

    rear: Differential | None = None  # one driven axle has the input drive_nm, two drive_front_nm and drive_rear_nm
    front: Differential | None = None  # as rear
    wheel_torques: bool = False  # every wheel has an input of its own besides, as a sensor in the wheel measures it


def require_origin(front: Axle | None, rear: Axle | None, gravity_mps2: float) -> None:
    """The body origin must be where it is said to be, the front in front, and gravity downwards."""
    if not gravity_mps2 > 0.0:
        raise ValueError(
            f"gravity_mps2 must be positive (it acts downwards), got {gravity_mps2:g}: leave it out for 9.81"
        )
    if rear is not None and max(abs(rear.wheel_centre_m[0]), abs(rear.wheel_centre_m[2])) > 1e-6:
        raise ValueError(
            f"rear.wheel_centre_m is {list(rear.wheel_centre_m)}: x and z must be 0, for the body origin is "
            "the middle of the rear axle at the height of the wheel centres; shift all points"
        )
    if front is not None and not front.wheel_centre_m[0] > 0.5:
        raise ValueError("front.wheel_centre_m: the front axle must lie ahead of the rear one (x forward, metres)")


@dataclass(frozen=True, slots=True)
class Vehicle:
    """All of a vehicle with hard points; `mechanism_of(vehicle)` makes it a mechanism of 14 degrees of freedom."""

    name: str
    body: SprungBody
    front: Axle
    rear: Axle
    steering: Steering
    drive: DrivenAxles
    aero: Air | None = None
    gravity_mps2: float = 9.81

    def __post_init__(self) -> None:
        require_origin(self.front, self.rear, self.gravity_mps2)

    def __repr__(self) -> str:
        return f"Vehicle({cut(self.name)}: front {self.front.suspension.kind}, rear {self.rear.suspension.kind})"

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
