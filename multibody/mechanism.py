"""A mechanism as data: frozen dataclasses, written in Python or read from TOML.

Everything is described in one design position: points where they stand, vectors where they show, lengths and angles
taken from there unless given. A *direction* is the name of a vector, or "A>B" for the segment from point A to B. A
*coordinate* is the name of an angle, distance or spin, or "P.x" for one component of a point or vector.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Literal

from hodograph.core.errors import SettingsError
from hodograph.core.settings import read_settings, settings_from_text
from hodograph.vehicles.driveline import Aerodynamics, Differential, DiscBrake, OpenDifferential
from hodograph.vehicles.tyres import Tyre

Numbers = tuple[float, ...]
Curve = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Point:
    """A point with coordinates (or `fixed` to the ground), where it stands in the design position."""

    position_m: Numbers
    fixed: bool = False


@dataclass(frozen=True, slots=True)
class Vector:
    """A unit vector with coordinates (or `fixed`); it is normalised when read."""

    direction: Numbers
    fixed: bool = False

    def __post_init__(self) -> None:
        if sum(x * x for x in self.direction) < 1e-24:
            raise ValueError("a vector needs a direction, got zero length")


@dataclass(frozen=True, slots=True)
class Station:
    """A place on a body that needs no coordinates of its own: springs, forces and sensors sit there."""

    body: str
    position_m: Numbers


@dataclass(frozen=True, slots=True)
class Angle:
    """An angle as a coordinate: of direction `of`, from `x_axis` towards `y_axis`.

    In the plane both axes may be left out (global x) and `y_axis` always follows from `x_axis`. In space both are
    needed and must be perpendicular; `of` must move in their plane. The constraint is the sine or the cosine, whichever
    is well conditioned, switching at |sin| = 0.7.
    """

    of: str
    x_axis: str | None = None
    y_axis: str | None = None
    initial_rad: float | None = None


@dataclass(frozen=True, slots=True)
class Distance:
    """The distance between two places as a coordinate (a strut, an actuator, a wire potentiometer)."""

    between: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Bar:
    """A thin uniform bar between two places (points or stations of other bodies).

    It keeps their distance, unless one body carries both; with `held` it leaves that to declared constraints.
    """

    points: tuple[str, str]
    mass_kg: float
    length_m: float | None = None
    held: bool = False
    kind: Literal["bar"] = "bar"


@dataclass(frozen=True, slots=True)
class Lamina:
    """A flat body on three places (points or stations of other bodies) that needs no coordinates of its own.

    Its frame has the origin at the first place, x towards the second, y in the plane on the side of the third, z normal
    to it. `cg_m` is (x, y) there; `inertia_kgm2` (Ixx, Iyy, Izz) and `product_kgm2` = ∫ xy dm are about the centre of
    gravity along those axes. A flat body has Ixx + Iyy = Izz. A real arm is thicker, Ixx + Iyy − Izz = 2 ∫ z² dm:
    up to 5 % of Izz that part is dropped (Izz and the in-plane moments stay exact), beyond it is refused; make such a
    body `rigid`.

    It keeps the three distances, except between places of one body; with `held` it leaves them to declared constraints.
    """

    points: tuple[str, str, str]
    mass_kg: float
    cg_m: tuple[float, float]
    inertia_kgm2: tuple[float, float, float]
    product_kgm2: float = 0.0
    held: bool = False
    kind: Literal["lamina"] = "lamina"


@dataclass(frozen=True, slots=True)
class PlanarBody:
    """A planar body; its frame has the origin at the first point and x towards the second.

    `inertia_kgm2` is about the centre of gravity. Further points are carried along as linear combinations.
    """

    points: tuple[str, ...]
    mass_kg: float
    cg_m: tuple[float, float]
    inertia_kgm2: float
    length_m: float | None = None
    kind: Literal["planar"] = "planar"


@dataclass(frozen=True, slots=True)
class RigidBody:
    """A body in space that owns or shares points and vectors: one point and three independent directions at least.

    Centre of gravity and inertia (about it) are given in the axes of the design position. `products_kgm2` are the
    integrals of xy, xz, yz over the mass, so they stand with a minus sign in the inertia tensor.
    """

    points: tuple[str, ...]
    mass_kg: float
    cg_m: tuple[float, float, float]
    inertia_kgm2: tuple[float, float, float]
    vectors: tuple[str, ...] = ()
    products_kgm2: tuple[float, float, float] = (0.0, 0.0, 0.0)
    kind: Literal["rigid"] = "rigid"


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel that shares its carrier's point and vectors and adds only the spin angle (coordinate `spin`).

    `axis` is the spin axis; `axis`, `side_a`, `side_b` are right-handed orthonormal vectors of the carrier. The centre
    of gravity lies `offset_m` along the axis from `centre`. Both inertias are about it.
    """

    centre: str
    axis: str
    side_a: str
    side_b: str
    spin: str
    mass_kg: float
    offset_m: float
    spin_inertia_kgm2: float
    transverse_inertia_kgm2: float
    kind: Literal["wheel"] = "wheel"


@dataclass(frozen=True, slots=True)
class Particle:
    """A mass at a point or station."""

    point: str
    mass_kg: float
    kind: Literal["particle"] = "particle"


Body = Bar | Lamina | PlanarBody | RigidBody | Wheel | Particle


@dataclass(frozen=True, slots=True)
class ConstantDistance:
    """Two places keep their distance; `length_m` by default that of the design position."""

    between: tuple[str, str]
    length_m: float | None = None
    kind: Literal["distance"] = "distance"


@dataclass(frozen=True, slots=True)
class UnitVector:
    """A vector that no body owns keeps length one."""

    vector: str
    kind: Literal["unit"] = "unit"


@dataclass(frozen=True, slots=True)
class DotProduct:
    """Two directions keep their scalar product; `value` by default that of the design position.

    `input` names an addition to it that the caller sets, with its rate and acceleration: a rack that slides along a
    vector of the chassis.
    """

    a: str
    b: str
    value: float | None = None
    input: str | None = None
    kind: Literal["dot"] = "dot"


@dataclass(frozen=True, slots=True)
class Linear:
    """Σ factor · coordinate = value."""

    terms: Mapping[str, float]
    value: float
    kind: Literal["linear"] = "linear"


@dataclass(frozen=True, slots=True)
class Combination:
    """A place is an affine combination of others: one linear row per axis; factors sum to one."""

    place: str
    of: Mapping[str, float]
    kind: Literal["combination"] = "combination"


@dataclass(frozen=True, slots=True)
class Aligned:
    """Three places stay on a line; in space the two best components of the cross product are kept."""

    places: tuple[str, str, str]
    kind: Literal["aligned"] = "aligned"


@dataclass(frozen=True, slots=True)
class Guided:
    """A coordinate follows time: offset + rate t + ½ acceleration t² + amplitude sin(frequency t + phase) + input.

    Units are those of the coordinate. `input` names a value that the caller sets, with its rate and acceleration.
    """

    coordinate: str
    offset: float = 0.0
    rate: float = 0.0
    acceleration: float = 0.0
    amplitude: float = 0.0
    frequency_radps: float = 0.0
    phase_rad: float = 0.0
    input: str | None = None
    kind: Literal["guided"] = "guided"


Constraint = ConstantDistance | UnitVector | DotProduct | Linear | Combination | Aligned | Guided


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
    force_n: Numbers
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


@dataclass(frozen=True, slots=True)
class TyreContact:
    """A wheel (a body of kind `wheel` whose centre and vectors have coordinates) rolls on the road.

    `mirrored` turns the tyre's own asymmetries (conicity, ply-steer) round for the other side of the vehicle.
    """

    wheel: str
    tyre: Tyre
    mirrored: bool = False
    kind: Literal["tyre"] = "tyre"


@dataclass(frozen=True, slots=True)
class WheelBrake:
    """A brake between a wheel and its carrier; `input` is the line pressure in Pa."""

    wheel: str
    brake: DiscBrake
    input: str
    kind: Literal["brake"] = "brake"


@dataclass(frozen=True, slots=True)
class Drive:
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


@dataclass(frozen=True, slots=True)
class AirForce:
    """Drag at one place of a body, lift at two more; `axes` are its forward, left and upward vectors."""

    at: str
    front: str
    rear: str
    axes: tuple[str, str, str]
    aerodynamics: Aerodynamics
    kind: Literal["air"] = "air"


Force = SpringDamper | CoordinateSpring | PointForce | Torque | AntiRoll | TyreContact | WheelBrake | Drive | AirForce


@dataclass(frozen=True, slots=True)
class Mechanism:
    """Everything about a mechanism; `build(mechanism)` turns it into a `Model`."""

    schema: int
    name: str
    space: Literal["planar", "spatial"]
    gravity_mps2: Numbers
    points: Mapping[str, Point]
    bodies: Mapping[str, Body]
    vectors: Mapping[str, Vector] = field(default_factory=dict)
    stations: Mapping[str, Station] = field(default_factory=dict)
    angles: Mapping[str, Angle] = field(default_factory=dict)
    distances: Mapping[str, Distance] = field(default_factory=dict)
    constraints: Mapping[str, Constraint] = field(default_factory=dict)
    forces: Mapping[str, Force] = field(default_factory=dict)
    independent: tuple[str, ...] = ()
    degrees_of_freedom: int | None = None

    def __post_init__(self) -> None:
        if self.schema != 1:
            raise ValueError(f"schema {self.schema} is not known, only 1")
        if len(self.gravity_mps2) != self.dim:
            raise ValueError(f"gravity_mps2 needs {self.dim} numbers in a {self.space} mechanism")

    @property
    def dim(self) -> int:
        """2 in the plane, 3 in space."""
        return 2 if self.space == "planar" else 3


def read_mechanism(path: str | Path) -> Mechanism:
    """The mechanism of a TOML file; unknown keys are refused with file and line."""
    return read_settings(path, Mechanism)


def shipped_mechanisms() -> tuple[str, ...]:
    """Names of the mechanisms that come with the package."""
    folder = files("hodograph.multibody.mechanisms")
    return tuple(sorted(f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith(".toml")))


def shipped_mechanism(name: str) -> Mechanism:
    """A mechanism that comes with the package, e.g. "fourbar"."""
    if name not in shipped_mechanisms():
        raise SettingsError(name, f"no such mechanism; there are {', '.join(shipped_mechanisms())}")
    text = (files("hodograph.multibody.mechanisms") / f"{name}.toml").read_text(encoding="utf-8")
    return settings_from_text(text, Mechanism, source=f"{name}.toml")
