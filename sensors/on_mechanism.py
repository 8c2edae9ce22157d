"""Sensors on a mechanism, by name: what they read, with which noise, and how that depends on q, qd and qdd."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import pi
from typing import Protocol

import numpy as np

from hodograph.core.display import short_repr
from hodograph.core.errors import MechanismError
from hodograph.core.kinds import unknown_kind
from hodograph.multibody.model.algebra import Affine, Place, coordinate, place_at, place_combination, place_difference
from hodograph.multibody.model.build import Model
from hodograph.multibody.model.coordinates import Coordinates
from hodograph.sensors.kernels import ACCELERATION, DISTANCE, POSITION, RATE, VELOCITY

_AXIS_NAMES = ("x", "y", "z")
_KINDS = {
    POSITION: "POSITION", VELOCITY: "VELOCITY", RATE: "RATE", ACCELERATION: "ACCELERATION", DISTANCE: "DISTANCE"
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Quality:
    """How well a sensor reads, in the unit of its channels.

    `std` is white noise, `resolution` a step that adds resolution²/12 to its variance, `bias` is known and taken off.
    `rate_hz` serves `simulate_readings`; `latency_s` also the observers, which take it off a reading's time.
    """

    std: float  # white noise of one reading, 1-sigma
    rate_hz: float | None = None  # for simulated readings
    latency_s: float = 0.0  # taken off a reading's time
    bias: float = 0.0  # known, taken off
    resolution: float = 0.0  # step of the reading; adds resolution²/12 to the variance

    def __post_init__(self) -> None:
        if not (self.std >= 0.0 and self.resolution >= 0.0 and self.latency_s >= 0.0 and self.var > 0.0):
            raise ValueError(f"want std, resolution, latency >= 0 and some noise, got {self}")

    @property
    def var(self) -> float:
        """Variance of one reading."""
        return self.std**2 + self.resolution**2 / 12.0


@dataclass(frozen=True, slots=True)
class Row:
    """One scalar of a sensor as the kernel wants it: see `kernels.SensorTable`."""

    channel: str
    kind: int
    b: Place
    c: Place
    quality: Quality
    period_rad: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            raise unknown_kind(f"sensor row {self.channel}", self.kind, [f"{k} ({n})" for k, n in _KINDS.items()])

    __repr__ = short_repr


class MechanismSensor(Protocol):
    """Anything that turns into rows on a model."""

    @property
    def name(self) -> str:
        """The stream its readings come in."""
        ...

    @property
    def quality(self) -> Quality:
        """Its noise."""
        ...

    def rows(self, model: Model) -> tuple[Row, ...]:
        """One row per channel."""
        ...


_ONE: Place = (Affine(1.0),)


@dataclass(frozen=True, slots=True)
class Encoder:
    """Reads a coordinate (angle in rad, distance in m). `wraps`: the reading is only known modulo one turn."""

    name: str  # of the stream
    coordinate: str  # angle or distance
    quality: Quality  # its noise
    wraps: bool = False  # whether a reading is only known modulo one turn

    def rows(self, model: Model) -> tuple[Row, ...]:
        """The coordinate itself."""
        place = (coordinate(model.index(self.coordinate)),)
        unit = _unit(model, self.coordinate)
        return (
            Row(
                channel=f"{self.coordinate}_{unit}",
                kind=POSITION,
                b=place,
                c=_ONE,
                quality=self.quality,
                period_rad=2.0 * pi if self.wraps else 0.0,
            ),
        )


@dataclass(frozen=True, slots=True)
class RateEncoder:
    """Reads the rate of a coordinate."""

    name: str  # of the stream
    coordinate: str  # angle or distance
    quality: Quality  # its noise

    def rows(self, model: Model) -> tuple[Row, ...]:
        """The velocity of the coordinate."""
        place = (coordinate(model.index(self.coordinate)),)
        unit = f"{_unit(model, self.coordinate)}ps"
        return (Row(channel=f"{self.coordinate}_dot_{unit}", kind=VELOCITY, b=place, c=_ONE, quality=self.quality),)


@dataclass(frozen=True, slots=True)
class Gyroscope:
    """Reads the angular rate of a body; in space about `axis`, given in the axes of the design position."""

    name: str  # of the stream
    body: str  # that carries it
    quality: Quality  # its noise
    axis: tuple[float, float, float] | None = None  # in space: in the axes of the design position

    def rows(self, model: Model) -> tuple[Row, ...]:
        """ω = ḃ·c/(b·b) of two perpendicular directions of the body (Sanjurjo 2016, 4.14, 5.61)."""
        channel = f"{self.body}_rate_radps"
        if model.mechanism.dim == 2:
            b, c = _planar_axes(model.coordinates, self.body, self.name)
            return (Row(channel=channel, kind=RATE, b=b, c=c, quality=self.quality),)
        if self.axis is None:
            raise ValueError(f"gyroscope {self.name}: in space it needs an axis")
        a = np.array(self.axis) / np.linalg.norm(self.axis)
        helper = np.eye(3)[int(np.argmin(np.abs(a)))]
        b_design = np.cross(helper, a) / np.linalg.norm(np.cross(helper, a))
        b = body_direction(model.coordinates, self.body, tuple(b_design), self.name)
        c = body_direction(model.coordinates, self.body, tuple(np.cross(a, b_design)), self.name)
        return (Row(channel=channel, kind=RATE, b=b, c=c, quality=self.quality),)


@dataclass(frozen=True, slots=True)
class Accelerometer:
    """Reads specific force (acceleration minus gravity) at a place along an axis.

    The axis is carried by `body` (planar: in its frame, x from the first to the second point; in space: in the axes of
    the design position), or stands in the ground axes when `body` is None.
    """

    name: str  # of the stream
    at: str  # point or station
    axis: tuple[float, ...]  # that it measures along
    quality: Quality  # its noise
    body: str | None = None  # that carries the axis; None: ground axes

    def rows(self, model: Model) -> tuple[Row, ...]:
        """c·(b̈ − g)/|c| (Sanjurjo 2016, 5.65, 5.66)."""
        if len(self.axis) != model.mechanism.dim:
            raise ValueError(f"accelerometer {self.name}: axis needs {model.mechanism.dim} numbers")
        place = model.coordinates.place(self.at, f"accelerometer {self.name}")
        if self.body is None:
            axis: Place = tuple(Affine(x) for x in self.axis)
        else:
            axis = body_direction(model.coordinates, self.body, self.axis, self.name)
        return (Row(channel=f"{self.at}_acc_mps2", kind=ACCELERATION, b=place, c=axis, quality=self.quality),)


@dataclass(frozen=True, slots=True)
class DistanceMeter:
    """Reads the distance between two places (a wire potentiometer, an ultrasonic sensor)."""

    name: str  # of the stream
    between: tuple[str, str]  # two places
    quality: Quality  # its noise

    def rows(self, model: Model) -> tuple[Row, ...]:
        """|b|."""
        first, second = (model.coordinates.place(p, f"distance meter {self.name}") for p in self.between)
        zero: Place = (Affine(0.0),)
        channel = f"{self.between[0]}_{self.between[1]}_m"
        return (Row(channel=channel, kind=DISTANCE, b=place_difference(second, first), c=zero, quality=self.quality),)


@dataclass(frozen=True, slots=True)
class AbsolutePoint:
    """Reads where a place is in the ground axes (GNSS, a camera): one row per axis in `axes`."""

    name: str  # of the stream
    at: str  # point or station
    quality: Quality  # its noise
    axes: tuple[int, ...] | None = None  # 0, 1, 2 for x, y, z; by default all

    def rows(self, model: Model) -> tuple[Row, ...]:
        """The components of the place (Sanjurjo 2016, 5.45)."""
        return _components(model, self.name, self.at, self.axes, POSITION, "m", self.quality)


@dataclass(frozen=True, slots=True)
class PointVelocity:
    """Reads the velocity of a place in the ground axes."""

    name: str  # of the stream
    at: str  # point or station
    quality: Quality  # its noise
    axes: tuple[int, ...] | None = None  # 0, 1, 2 for x, y, z; by default all

    def rows(self, model: Model) -> tuple[Row, ...]:
        """The components of its velocity (Sanjurjo 2016, 5.49)."""
        return _components(model, self.name, self.at, self.axes, VELOCITY, "mps", self.quality)


@dataclass(frozen=True, slots=True)
class SensorGroup:
    """Several sensors that report together in one stream."""

    name: str  # of the stream
    members: tuple[MechanismSensor, ...] = field(default=())  # sensors that report together

    @property
    def quality(self) -> Quality:
        """That of the first member."""
        return self.members[0].quality

    def rows(self, model: Model) -> tuple[Row, ...]:
        """The rows of all members in order."""
        return tuple(row for member in self.members for row in member.rows(model))

    __repr__ = short_repr


def _components(
    model: Model, name: str, at: str, axes: tuple[int, ...] | None, kind: int, unit: str, quality: Quality
) -> tuple[Row, ...]:
    place = model.coordinates.place(at, name)
    picked: Sequence[int] = range(len(place)) if axes is None else axes
    return tuple(
        Row(
            channel=f"{at}_{_AXIS_NAMES[k]}_{unit}",
            kind=kind,
            b=place,
            c=tuple(Affine(float(j == k)) for j in range(len(place))),
            quality=quality,
        )
        for k in picked
    )


def _unit(model: Model, name: str) -> str:
    return "m" if name in model.mechanism.distances or "." in name else "rad"


def _planar_axes(coordinates: Coordinates, body: str, user: str) -> tuple[Place, Place]:
    frame = coordinates.frames.get(body)
    if frame is None or not frame.basis:
        raise MechanismError(f"{user}: there is no body {body} with a direction")
    along = frame.basis[0]
    return along, (along[1].scaled(-1.0), along[0])


def body_direction(coordinates: Coordinates, body: str, axis: tuple[float, ...], user: str) -> Place:
    """A direction that moves with a body, as affine forms of q (see `Accelerometer` for the axes)."""
    if len(axis) == 2:
        along, across = _planar_axes(coordinates, body, user)
        return place_combination([axis[0], axis[1]], [along, across])
    frame = coordinates.frames.get(body)
    if frame is None or len(frame.basis) != 3:
        raise MechanismError(f"{user}: there is no body {body} with three directions")
    factors = np.linalg.solve(frame.design, np.array(axis))
    shown = place_combination([float(f) for f in factors], list(frame.basis))
    if np.abs(place_at(shown, coordinates.design_q) - np.array(axis)).max() > 1e-9:
        raise MechanismError(f"{user}: body {body} is not assembled in its design position")
    return shown
