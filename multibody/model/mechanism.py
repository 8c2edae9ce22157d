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

from hodograph.core.display import cut, short_repr
from hodograph.core.errors import SettingsError
from hodograph.core.kinds import unknown_kind
from hodograph.core.settings import read_settings, settings_from_text
from hodograph.multibody.forces.loads import Load
from hodograph.multibody.forces.rolling import RollingForce

Numbers = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """A point with coordinates (or `fixed` to the ground), where it stands in the design position."""

    position_m: Numbers  # where it stands in the design position
    fixed: bool = False  # whether it belongs to the ground


@dataclass(frozen=True, slots=True)
class Vector:
    """A unit vector with coordinates (or `fixed`); it is normalised when read."""

    direction: Numbers  # where it shows in the design position, of any length
    fixed: bool = False  # whether it belongs to the ground

    def __post_init__(self) -> None:
        if sum(x * x for x in self.direction) < 1e-24:
            raise ValueError("a vector needs a direction, got zero length")


@dataclass(frozen=True, slots=True)
class Station:
    """A place on a body that needs no coordinates of its own: springs, forces and sensors sit there."""

    body: str  # the body that carries it
    position_m: Numbers  # where it stands in the design position


@dataclass(frozen=True, slots=True)
class Angle:
    """An angle as a coordinate: of direction `of`, from `x_axis` towards `y_axis`.

    In the plane both axes may be left out (global x) and `y_axis` always follows from `x_axis`. In space both are
    needed and must be perpendicular; `of` must move in their plane. The constraint is the sine or the cosine, whichever
    is well conditioned, switching at |sin| = 0.7.
    """

    of: str  # the direction whose angle it is
    x_axis: str | None = None  # direction of zero; left out in the plane: global x
    y_axis: str | None = None  # direction of 90 degrees, in space only
    initial_rad: float | None = None  # value at the start, which assembling keeps; by default that of the design


@dataclass(frozen=True, slots=True)
class Distance:
    """The distance between two places as a coordinate (a strut, an actuator, a wire potentiometer)."""

    between: tuple[str, str]  # two places


@dataclass(frozen=True, slots=True)
class Bar:
    """A thin uniform bar between two places (points or stations of other bodies).

    It keeps their distance, unless one body carries both; with `held` it leaves that to declared constraints.
    """

    points: tuple[str, str]  # its ends
    mass_kg: float  # evenly spread
    length_m: float | None = None  # by default that of the design position
    held: bool = False  # whether declared constraints keep its length already
    kind: Literal["bar"] = "bar"  # a thin uniform bar


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

    points: tuple[str, str, str]  # its three places
    mass_kg: float  # of the body
    cg_m: tuple[float, float]  # centre of gravity in its frame
    inertia_kgm2: tuple[float, float, float]  # Ixx, Iyy, Izz about the centre of gravity
    product_kgm2: float = 0.0  # ∫ xy dm about the centre of gravity
    held: bool = False  # whether declared constraints keep its shape already
    kind: Literal["lamina"] = "lamina"  # a flat body on three places

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class PlanarBody:
    """A planar body; its frame has the origin at the first point and x towards the second.

    `inertia_kgm2` is about the centre of gravity. Further points are carried along as linear combinations.
    """

    points: tuple[str, ...]  # the first two make its frame, others are carried along
    mass_kg: float  # of the body
    cg_m: tuple[float, float]  # centre of gravity in its frame
    inertia_kgm2: float  # about the centre of gravity
    length_m: float | None = None  # from the first to the second point; by default that of the design position
    kind: Literal["planar"] = "planar"  # a body of a planar mechanism

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class RigidBody:
    """A body in space that owns or shares points and vectors: one point and three independent directions at least.

    Centre of gravity and inertia (about it) are given in the axes of the design position. `products_kgm2` are the
    integrals of xy, xz, yz over the mass, so they stand with a minus sign in the inertia tensor.
    """

    points: tuple[str, ...]  # points of the body
    mass_kg: float  # of the body
    cg_m: tuple[float, float, float]  # centre of gravity in the design position
    inertia_kgm2: tuple[float, float, float]  # Ixx, Iyy, Izz about the centre of gravity
    vectors: tuple[str, ...] = ()  # vectors of the body
    products_kgm2: tuple[float, float, float] = (0.0, 0.0, 0.0)  # ∫ xy dm, ∫ xz dm, ∫ yz dm about the centre of gravity
    kind: Literal["rigid"] = "rigid"  # a body in space

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel that shares its carrier's point and vectors and adds only the spin angle (coordinate `spin`).

    `axis` is the spin axis; `axis`, `side_a`, `side_b` are right-handed orthonormal vectors of the carrier. The centre
    of gravity lies `offset_m` along the axis from `centre`. Both inertias are about it.
    """

    centre: str  # point of the carrier
    axis: str  # vector of the carrier: the spin axis
    side_a: str  # vector of the carrier across the axis
    side_b: str  # the third one, right-handed
    spin: str  # name of the spin angle, a coordinate
    mass_kg: float  # of what spins
    offset_m: float  # centre of gravity along the axis from the centre
    spin_inertia_kgm2: float  # about the axis
    transverse_inertia_kgm2: float  # across the axis, about the centre of gravity
    kind: Literal["wheel"] = "wheel"  # a wheel on a carrier

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class Particle:
    """A mass at a point or station."""

    point: str  # a point or station
    mass_kg: float  # of the particle
    kind: Literal["particle"] = "particle"  # a mass at a place


Body = Bar | Lamina | PlanarBody | RigidBody | Wheel | Particle


@dataclass(frozen=True, slots=True)
class ConstantDistance:
    """Two places keep their distance; `length_m` by default that of the design position."""

    between: tuple[str, str]  # two places
    length_m: float | None = None  # by default that of the design position
    kind: Literal["distance"] = "distance"  # a constant distance


@dataclass(frozen=True, slots=True)
class UnitVector:
    """A vector that no body owns keeps length one."""

    vector: str  # the vector
    kind: Literal["unit"] = "unit"  # a vector of length one


@dataclass(frozen=True, slots=True)
class DotProduct:
    """Two directions keep their scalar product; `value` by default that of the design position.

    `input` names an addition to it that the caller sets, with its rate and acceleration: a rack that slides along a
    vector of the chassis.
    """

    a: str  # a direction
    b: str  # another
    value: float | None = None  # by default that of the design position
    input: str | None = None  # name of an addition that the caller sets
    kind: Literal["dot"] = "dot"  # a constant scalar product


@dataclass(frozen=True, slots=True)
class LinearConstraint:
    """Σ factor · coordinate = value."""

    terms: Mapping[str, float]  # factor by coordinate
    value: float  # of their sum
    kind: Literal["linear"] = "linear"  # a linear relation of coordinates

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class Combination:
    """A place is an affine combination of others: one linear row per axis; factors sum to one."""

    place: str  # the place that follows
    of: Mapping[str, float]  # factor by place; they sum to one
    kind: Literal["combination"] = "combination"  # a place as an affine combination of others

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class Aligned:
    """Three places stay on a line; in space the two best components of the cross product are kept."""

    places: tuple[str, str, str]  # three places
    kind: Literal["aligned"] = "aligned"  # places on a line


@dataclass(frozen=True, slots=True)
class Guided:
    """A coordinate follows time: offset + rate t + ½ acceleration t² + amplitude sin(frequency t + phase) + input.

    Units are those of the coordinate. `input` names a value that the caller sets, with its rate and acceleration.
    """

    coordinate: str  # what is guided
    offset: float = 0.0  # at time zero
    rate: float = 0.0  # per second
    acceleration: float = 0.0  # per second squared
    amplitude: float = 0.0  # of the sine
    frequency_radps: float = 0.0  # of the sine
    phase_rad: float = 0.0  # of the sine at time zero
    input: str | None = None  # name of an addition that the caller sets
    kind: Literal["guided"] = "guided"  # a coordinate that follows time or an input

    __repr__ = short_repr


Constraint = ConstantDistance | UnitVector | DotProduct | LinearConstraint | Combination | Aligned | Guided


Force = Load | RollingForce


@dataclass(frozen=True, slots=True)
class Mechanism:
    """Everything about a mechanism; `build(mechanism)` turns it into a `Model`."""

    schema: int  # of this dialect: 1
    name: str  # what it is called in reports
    space: Literal["planar", "spatial"]  # in the plane or in space
    gravity_mps2: Numbers  # two numbers in the plane, three in space
    points: Mapping[str, Point]  # points by name
    bodies: Mapping[str, Body]  # bodies by name
    vectors: Mapping[str, Vector] = field(default_factory=dict)  # vectors by name
    stations: Mapping[str, Station] = field(default_factory=dict)  # places on bodies by name
    angles: Mapping[str, Angle] = field(default_factory=dict)  # angles by name, each a coordinate
    distances: Mapping[str, Distance] = field(default_factory=dict)  # distances by name, each a coordinate
    constraints: Mapping[str, Constraint] = field(default_factory=dict)  # by name; those of bodies are there already
    forces: Mapping[str, Force] = field(default_factory=dict)  # forces by name; gravity acts anyway
    independent: tuple[str, ...] = ()  # coordinates to count as independent; by default chosen
    degrees_of_freedom: int | None = None  # how many there must be; checked

    def __post_init__(self) -> None:
        if self.schema != 1:
            raise ValueError(f"schema {self.schema} is not known, only 1")
        if len(self.gravity_mps2) != self.dim:
            raise ValueError(f"gravity_mps2 needs {self.dim} numbers in a {self.space} mechanism")
        for what, parts, known in (
            ("body", self.bodies, Body),
            ("constraint", self.constraints, Constraint),
            ("force", self.forces, Force),
        ):
            for name, part in parts.items():
                if not isinstance(part, known):
                    raise unknown_kind(f"{what} {name}", part, known)

    def __repr__(self) -> str:
        sizes = f"bodies {len(self.bodies)}, constraints {len(self.constraints)}, forces {len(self.forces)}"
        return f"Mechanism({cut(self.name)}, {self.space}: points {len(self.points)}, {sizes})"

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
