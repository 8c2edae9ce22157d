"""From names to coordinates: which entry of q is what, and where every place and direction is as an affine form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hodograph.core.display import cut, listed, short_repr
from hodograph.core.errors import MechanismError
from hodograph.core.frames import Array
from hodograph.core.kinds import unknown_kind
from hodograph.multibody.model.algebra import Affine, Place, coordinate, place_at, place_combination, place_difference
from hodograph.multibody.model.mechanism import Bar, Body, Lamina, Mechanism, Particle, PlanarBody, RigidBody, Wheel

_AXES = ("x", "y", "z")


@dataclass(frozen=True, slots=True)
class BodyFrame:
    """The affine frame of a body: place = origin + Σ factor · basis; `design` holds the basis in columns (dim, k)."""

    origin: Place
    basis: tuple[Place, ...]
    origin_m: Array
    design: Array

    __repr__ = short_repr

    def factors(self, position_m: Array) -> Array:
        """Frame factors of a design position, shape (k,)."""
        return np.asarray(np.linalg.lstsq(self.design, position_m - self.origin_m, rcond=None)[0], dtype=np.float64)

    def place(self, factors: Array) -> Place:
        """The place with these frame factors."""
        return place_combination([1.0, *map(float, factors)], [self.origin, *self.basis])


@dataclass(frozen=True, slots=True)
class Coordinates:
    """The coordinates of a mechanism: names in order, and the affine form of every named thing."""

    mechanism: Mechanism
    names: tuple[str, ...]
    points: Mapping[str, Place]
    vectors: Mapping[str, Place]
    scalars: Mapping[str, int]
    frames: Mapping[str, BodyFrame]
    lengths_m: Mapping[frozenset[str], float]
    design_q: Array

    def __repr__(self) -> str:
        return f"Coordinates({cut(self.mechanism.name)}: {len(self.names)}, {listed(self.names)})"

    def place(self, name: str, user: str) -> Place:
        """A point or station by name; `user` is named when there is none."""
        if name in self.points:
            return self.points[name]
        if name in self.mechanism.stations:
            return _station_place(self.mechanism, name, self.frames, self.design_q)
        raise MechanismError(f"{user}: there is no point or station {name}")

    def direction(self, text: str, user: str) -> Place:
        """A vector by name, or the segment "A>B"."""
        if text in self.vectors:
            return self.vectors[text]
        start, arrow, end = text.partition(">")
        if not arrow:
            raise MechanismError(f"{user}: there is no vector {text} (write A>B for a segment)")
        return place_difference(self.place(end.strip(), user), self.place(start.strip(), user))

    def design_length_m(self, text: str, user: str) -> float:
        """The length of a direction: the declared length of that segment, or the one of the design position."""
        start, arrow, end = text.partition(">")
        known = self.lengths_m.get(frozenset((start.strip(), end.strip()))) if arrow else None
        if known is not None:
            return known
        return float(np.linalg.norm(place_at(self.direction(text, user), self.design_q)))

    def index(self, name: str, user: str) -> int:
        """The index of a coordinate by name (`theta`, `P.x`)."""
        if name in self.scalars:
            return self.scalars[name]
        if name in self.names:
            return self.names.index(name)
        raise MechanismError(f"{user}: there is no coordinate {name}; there are {', '.join(self.names)}")


def vector_of(numbers: tuple[float, ...], dim: int, what: str) -> Array:
    """The numbers as an array of the mechanism's dimension, or an error that names `what`."""
    if len(numbers) != dim:
        raise MechanismError(f"{what}: want {dim} numbers, got {len(numbers)}")
    return np.array(numbers, dtype=np.float64)


def lay_out(mechanism: Mechanism) -> Coordinates:
    """Give every free point, vector, angle, distance and spin its place in q, and every body its frame."""
    names: list[str] = []
    design: list[float] = []
    points = {
        name: _place(name, vector_of(p.position_m, mechanism.dim, f"point {name}"), p.fixed, names, design)
        for name, p in mechanism.points.items()
    }
    vectors: dict[str, Place] = {}
    for name, v in mechanism.vectors.items():
        if name in points:
            raise MechanismError(f"{name} is both a point and a vector")
        shown = vector_of(v.direction, mechanism.dim, f"vector {name}")
        vectors[name] = _place(name, shown / np.linalg.norm(shown), v.fixed, names, design)
    spins = [b.spin for b in mechanism.bodies.values() if isinstance(b, Wheel)]
    scalars: dict[str, int] = {}
    for name in (*mechanism.angles, *mechanism.distances, *spins):
        if name in scalars or name in points or name in vectors:
            raise MechanismError(f"{name} is used for two things")
        scalars[name] = len(names)
        names.append(name)
        design.append(0.0)
    design_q = np.array(design)
    lengths_m = _declared_lengths(mechanism)
    frames = _frames(mechanism, points, vectors, lengths_m, design_q)
    return Coordinates(mechanism, tuple(names), points, vectors, scalars, frames, lengths_m, design_q)


def _station_place(mechanism: Mechanism, name: str, frames: Mapping[str, BodyFrame], design_q: Array) -> Place:
    station = mechanism.stations[name]
    frame = frames.get(station.body)
    if frame is None:
        raise MechanismError(f"station {name}: there is no body {station.body} that could carry it")
    position_m = vector_of(station.position_m, mechanism.dim, f"station {name}")
    place = frame.place(frame.factors(position_m))
    off_m = np.abs(place_at(place, design_q) - position_m).max()
    if off_m > 1e-9 + 1e-9 * np.abs(position_m).max():
        raise MechanismError(f"station {name} does not lie on body {station.body}: it is off by {off_m:.3g} m")
    return place


def _frames(
    mechanism: Mechanism,
    points: Mapping[str, Place],
    vectors: Mapping[str, Place],
    lengths_m: Mapping[frozenset[str], float],
    design_q: Array,
) -> dict[str, BodyFrame]:
    """The frame of every body but wheels; those whose places are stations come after the bodies that carry them."""
    frames: dict[str, BodyFrame] = {}
    waiting: list[str] = []

    def place(name: str, user: str) -> Place:
        if name in points:
            return points[name]
        station = mechanism.stations.get(name)
        if station is None:
            raise MechanismError(f"{user}: there is no point or station {name}")
        if station.body in mechanism.bodies:
            settle(station.body)
        return _station_place(mechanism, name, frames, design_q)

    def settle(name: str) -> None:
        body = mechanism.bodies[name]
        if name in frames or isinstance(body, Wheel):
            return
        if name in waiting:
            raise MechanismError(
                f"bodies {', '.join(waiting)} stand on each other; one of them needs points of its own"
            )
        waiting.append(name)
        if isinstance(body, RigidBody):
            frames[name] = _spatial_frame(name, body, points, vectors, design_q)
        else:
            wanted = (body.point,) if isinstance(body, Particle) else body.points
            if isinstance(body, PlanarBody) and (missing := [p for p in wanted if p not in points]):
                raise MechanismError(f"body {name}: there is no point {missing[0]}")
            frames[name] = _frame(name, body, [place(p, f"body {name}") for p in wanted], lengths_m, design_q)
        waiting.pop()

    for name in mechanism.bodies:
        settle(name)
    return frames


def _place(name: str, position: Array, fixed: bool, names: list[str], design: list[float]) -> Place:
    if fixed:
        return tuple(Affine(float(x)) for x in position)
    first = len(names)
    names.extend(f"{name}.{axis}" for axis in _AXES[: len(position)])
    design.extend(map(float, position))
    return tuple(coordinate(first + k) for k in range(len(position)))


def _declared_lengths(mechanism: Mechanism) -> dict[frozenset[str], float]:
    lengths: dict[frozenset[str], float] = {}
    for name, body in mechanism.bodies.items():
        if isinstance(body, Bar | PlanarBody):
            if len(body.points) < 2:
                raise MechanismError(f"body {name} needs two points")
            if body.length_m is not None:
                lengths[frozenset(body.points[:2])] = _positive(body.length_m, f"body {name}")
    for name, constraint in mechanism.constraints.items():
        if constraint.kind == "distance" and constraint.length_m is not None:
            lengths[frozenset(constraint.between)] = _positive(constraint.length_m, f"constraint {name}")
    return lengths


def _positive(length_m: float, what: str) -> float:
    if not length_m > 1e-9:
        raise MechanismError(f"{what} has zero length ({length_m} m); give it a positive one")
    return length_m


def _frame(
    name: str, body: Body, places: list[Place], lengths_m: Mapping[frozenset[str], float], design_q: Array
) -> BodyFrame:
    origin = places[0]
    if isinstance(body, Particle):
        return BodyFrame(origin, (), place_at(origin, design_q), np.zeros((len(origin), 0)))
    if isinstance(body, Lamina):
        return _lamina_frame(name, body, places, design_q)
    if not isinstance(body, Bar | PlanarBody):
        raise unknown_kind(f"body {name}", body, Body)
    wanted = body.points[:2]
    along = place_difference(places[1], origin)
    length_m = lengths_m.get(frozenset(wanted), float(np.linalg.norm(place_at(along, design_q))))
    _positive(length_m, f"body {name} ({wanted[0]} to {wanted[1]})")
    basis: tuple[Place, ...] = (along,)
    if isinstance(body, PlanarBody):
        if len(origin) != 2:
            raise MechanismError(f"body {name}: a planar body in a spatial mechanism; use kind = rigid")
        basis = (along, (along[1].scaled(-1.0), along[0]))
    shown = [place_at(b, design_q) for b in basis]
    scale = length_m / float(np.linalg.norm(shown[0]))
    return BodyFrame(origin, basis, place_at(origin, design_q), np.column_stack(shown) * scale)


def _lamina_frame(name: str, body: Lamina, places: list[Place], design_q: Array) -> BodyFrame:
    if len(places[0]) != 3:
        raise MechanismError(f"body {name}: a lamina in a planar mechanism; use kind = planar")
    basis = tuple(place_difference(p, places[0]) for p in places[1:])
    design = np.column_stack([place_at(b, design_q) for b in basis])
    area_m2 = float(np.linalg.norm(np.cross(design[:, 0], design[:, 1])))
    if area_m2 < 1e-6 * max(1e-6, float(np.prod(np.linalg.norm(design, axis=0)))):
        raise MechanismError(f"body {name}: {', '.join(body.points)} lie on a line; a lamina needs a triangle")
    return BodyFrame(places[0], basis, place_at(places[0], design_q), design)


def _spatial_frame(
    name: str, body: RigidBody, points: Mapping[str, Place], vectors: Mapping[str, Place], design_q: Array
) -> BodyFrame:
    for point in body.points:
        if point not in points:
            raise MechanismError(f"body {name}: there is no point {point}")
    for vector in body.vectors:
        if vector not in vectors:
            raise MechanismError(f"body {name}: there is no vector {vector}")
    origin = points[body.points[0]]
    candidates = [vectors[v] for v in body.vectors]
    candidates += [place_difference(points[p], origin) for p in body.points[1:]]
    basis: list[Place] = []
    shown: list[Array] = []
    for candidate in candidates:
        value = place_at(candidate, design_q)
        trial = np.column_stack([*shown, value])
        singular = np.linalg.svd(trial / np.maximum(np.linalg.norm(trial, axis=0), 1e-12), compute_uv=False)
        if len(basis) < 3 and singular[-1] > 1e-6 and np.linalg.norm(value) > 1e-9:
            basis.append(candidate)
            shown.append(value)
    if len(origin) != 3:
        raise MechanismError(f"body {name}: a rigid body in a planar mechanism; use kind = planar")
    if len(basis) < 3:
        raise MechanismError(
            f"body {name} needs a point and three independent directions, got {len(basis)}: add vectors or points"
        )
    return BodyFrame(origin, tuple(basis), place_at(origin, design_q), np.column_stack(shown))
