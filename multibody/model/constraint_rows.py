"""Constraint rows: what bodies, angles, distances and declared constraints demand of the coordinates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hodograph.core.display import short_repr
from hodograph.core.errors import MechanismError
from hodograph.core.kinds import unknown_kind
from hodograph.multibody.model.algebra import (
    Affine,
    Place,
    Quadratic,
    combine,
    coordinate,
    dot,
    linear_form,
    place_at,
    place_difference,
    product,
    total,
)
from hodograph.multibody.model.coordinates import Coordinates
from hodograph.multibody.model.mechanism import (
    Aligned,
    Bar,
    Body,
    Combination,
    ConstantDistance,
    Constraint,
    DotProduct,
    Guided,
    Lamina,
    LinearConstraint,
    Particle,
    PlanarBody,
    RigidBody,
    UnitVector,
    Wheel,
)


@dataclass(frozen=True, slots=True)
class ConstraintRow:
    """One constraint: form(q) − amplitude · sin or cos of an angle − the guide's value = 0.

    `angle` is the coordinate of the angle; the sine row of an angle is followed by its cosine row.
    """

    name: str
    form: Quadratic
    own: bool
    angle: int | None = None
    branch: Literal["sine", "cosine", ""] = ""
    amplitude: float = 0.0
    guide: Guided | None = None

    __repr__ = short_repr


def all_rows(coordinates: Coordinates) -> tuple[ConstraintRow, ...]:
    """Every row of the mechanism; what two bodies both demand (a shared axis is a unit vector) is kept once."""
    kept: list[ConstraintRow] = []
    seen: set[tuple[object, ...]] = set()
    for row in (*_body_rows(coordinates), *_coordinate_rows(coordinates), *_declared_rows(coordinates)):
        if not row.form.coordinates() and row.angle is None:
            if abs(row.form.const) > 1e-9:
                raise MechanismError(f"{row.name} can never hold: it involves fixed parts only")
            continue
        key = row.form.fingerprint()
        if row.own or row.angle is not None or row.guide is not None or key not in seen:
            kept.append(row)
        seen.add(key)
    return tuple(kept)


def _body_rows(c: Coordinates) -> Iterator[ConstraintRow]:
    for name, body in c.mechanism.bodies.items():
        if isinstance(body, Bar | PlanarBody):
            along = c.frames[name].basis[0]
            length_m = float(np.linalg.norm(c.frames[name].design[:, 0]))
            if isinstance(body, PlanarBody) or not (body.held or _on_one_body(c, body.points)):
                yield ConstraintRow(f"body {name} (length)", dot(along, along).plus_const(-(length_m**2)), own=False)
            yield from _carried(c, name, {p: c.points[p] for p in body.points[2:]})
        elif isinstance(body, Lamina):
            yield from _lamina_rows(c, name, body)
        elif isinstance(body, RigidBody):
            basis, design = c.frames[name].basis, c.frames[name].design
            for i in range(3):
                for j in range(i, 3):
                    value = float(design[:, i] @ design[:, j])
                    form = dot(basis[i], basis[j]).plus_const(-value)
                    yield ConstraintRow(f"body {name} (rigid {i + 1}{j + 1})", form, own=False)
            yield from _carried(c, name, {p: c.points[p] for p in body.points[1:]})
            yield from _carried(c, name, {v: c.vectors[v] for v in body.vectors}, direction=True)
        elif not isinstance(body, Wheel | Particle):  # these two demand nothing
            raise unknown_kind(f"body {name}", body, Body)


def _lamina_rows(c: Coordinates, name: str, body: Lamina) -> Iterator[ConstraintRow]:
    for i, j in ((0, 1), (0, 2), (1, 2)):
        pair = (body.points[i], body.points[j])
        if body.held or _on_one_body(c, pair):
            continue
        side = c.direction(f"{pair[0]}>{pair[1]}", f"body {name}")
        length_m = float(np.linalg.norm(place_at(side, c.design_q)))
        yield ConstraintRow(
            f"body {name} ({pair[0]} to {pair[1]})", dot(side, side).plus_const(-(length_m**2)), own=False
        )


def _on_one_body(c: Coordinates, places: tuple[str, str]) -> bool:
    """Whether one body carries both places, at least one of them as a station: it keeps their distance then."""
    stations, bodies = c.mechanism.stations, c.mechanism.bodies
    carriers = [
        {stations[p].body} if p in stations else {n for n, b in bodies.items() if b.kind == "rigid" and p in b.points}
        for p in places
    ]
    return any(p in stations for p in places) and bool(carriers[0] & carriers[1])


def _carried(
    c: Coordinates, body: str, places: dict[str, Place], *, direction: bool = False
) -> Iterator[ConstraintRow]:
    """Points and vectors beyond the frame move with it: one linear row per axis."""
    frame = c.frames[body]
    for name, place in places.items():
        relative = place if direction else place_difference(place, frame.origin)
        if relative in frame.basis:
            continue
        factors = np.linalg.lstsq(frame.design, place_at(relative, c.design_q), rcond=None)[0]
        for axis in range(len(place)):
            parts = [(1.0, relative[axis])]
            parts += [(-float(f), b[axis]) for f, b in zip(np.round(factors, 15), frame.basis, strict=True)]
            yield ConstraintRow(f"body {body} (carries {name})", linear_form(combine(parts)), own=False)


def _coordinate_rows(c: Coordinates) -> Iterator[ConstraintRow]:
    for name, angle in c.mechanism.angles.items():
        what = f"angle {name}"
        of = c.direction(angle.of, what)
        x_axis, y_axis, reference = angle_axes(c, angle.x_axis, angle.y_axis, what)
        amplitude = c.design_length_m(angle.of, what) * reference
        if not amplitude > 1e-9:
            raise MechanismError(f"{what}: {angle.of} has zero length")
        index = c.scalars[name]
        yield ConstraintRow(f"{what} (sine)", dot(y_axis, of), True, index, "sine", amplitude)
        yield ConstraintRow(f"{what} (cosine)", dot(x_axis, of), True, index, "cosine", amplitude)
    for name, distance in c.mechanism.distances.items():
        what = f"distance {name}"
        a, b = (c.place(p, what) for p in distance.between)
        between = place_difference(b, a)
        if np.linalg.norm(place_at(between, c.design_q)) < 1e-9:
            raise MechanismError(f"{what} has zero length in the design position")
        s = coordinate(c.scalars[name])
        yield ConstraintRow(what, total(((1.0, dot(between, between)), (-1.0, product(s, s)))), own=True)


def angle_axes(c: Coordinates, x_axis: str | None, y_axis: str | None, what: str) -> tuple[Place, Place, float]:
    """Directions that an angle is measured in, and their length."""
    if c.mechanism.dim == 3:
        if x_axis is None or y_axis is None:
            raise MechanismError(f"{what}: in space an angle needs x_axis and y_axis")
        x, y = c.direction(x_axis, what), c.direction(y_axis, what)
        a, b = place_at(x, c.design_q), place_at(y, c.design_q)
        if abs(a @ b) > 1e-6 or abs(np.linalg.norm(a) - np.linalg.norm(b)) > 1e-6:
            raise MechanismError(f"{what}: {x_axis} and {y_axis} must be perpendicular and of one length")
        return x, y, float(np.linalg.norm(a))
    if y_axis is not None:
        raise MechanismError(f"{what}: in the plane y_axis follows from x_axis; leave it out")
    if x_axis is None:
        return (Affine(1.0), Affine(0.0)), (Affine(0.0), Affine(1.0)), 1.0
    x = c.direction(x_axis, what)
    return x, (x[1].scaled(-1.0), x[0]), c.design_length_m(x_axis, what)


def _declared_rows(c: Coordinates) -> Iterator[ConstraintRow]:
    for name, constraint in c.mechanism.constraints.items():
        yield from _declared(c, f"constraint {name}", constraint)


def _declared(c: Coordinates, what: str, constraint: Constraint) -> Iterator[ConstraintRow]:
    if isinstance(constraint, ConstantDistance):
        a, b = (c.place(p, what) for p in constraint.between)
        between = place_difference(b, a)
        length_m = constraint.length_m or float(np.linalg.norm(place_at(between, c.design_q)))
        if length_m < 1e-9:
            raise MechanismError(
                f"{what} has zero length: {constraint.between[0]} and {constraint.between[1]} coincide"
            )
        yield ConstraintRow(what, dot(between, between).plus_const(-(length_m**2)), own=True)
    elif isinstance(constraint, UnitVector):
        vector = c.direction(constraint.vector, what)
        yield ConstraintRow(what, dot(vector, vector).plus_const(-1.0), own=True)
    elif isinstance(constraint, DotProduct):
        form = dot(c.direction(constraint.a, what), c.direction(constraint.b, what))
        value = form.at(c.design_q) if constraint.value is None else constraint.value
        guide = Guided(what, input=constraint.input) if constraint.input else None
        yield ConstraintRow(what, form.plus_const(-value), own=True, guide=guide)
    elif isinstance(constraint, LinearConstraint):
        parts = [(factor, coordinate(c.index(n, what))) for n, factor in constraint.terms.items()]
        yield ConstraintRow(what, linear_form(combine(parts)).plus_const(-constraint.value), own=True)
    elif isinstance(constraint, Combination):
        yield from _combination(c, what, constraint)
    elif isinstance(constraint, Aligned):
        yield from _aligned(c, what, constraint)
    elif isinstance(constraint, Guided):
        form = linear_form(coordinate(c.index(constraint.coordinate, what)))
        yield ConstraintRow(what, form, own=True, guide=constraint)
    else:
        raise unknown_kind(what, constraint, Constraint)


def _combination(c: Coordinates, what: str, constraint: Combination) -> Iterator[ConstraintRow]:
    if abs(sum(constraint.of.values()) - 1.0) > 1e-9:
        raise MechanismError(f"{what}: the factors sum to {sum(constraint.of.values())}, not to 1")
    place = c.place(constraint.place, what)
    others = [(f, c.place(n, what)) for n, f in constraint.of.items()]
    for axis in range(len(place)):
        form = combine([(1.0, place[axis]), *((-f, p[axis]) for f, p in others)])
        yield ConstraintRow(f"{what} ({'xyz'[axis]})", linear_form(form), own=True)


def _aligned(c: Coordinates, what: str, constraint: Aligned) -> Iterator[ConstraintRow]:
    a, b, p = (c.place(n, what) for n in constraint.places)
    line, arm = place_difference(b, a), place_difference(p, a)
    shown = np.abs(place_at(line, c.design_q))
    if shown.max() < 1e-9:
        raise MechanismError(f"{what}: {constraint.places[0]} and {constraint.places[1]} coincide")
    pairs = [(1, 2), (2, 0), (0, 1)] if len(a) == 3 else [(0, 1)]
    best = int(np.argmax(shown))
    for i, j in pairs:
        if len(a) == 2 or best in (i, j):
            form = total(((1.0, product(line[i], arm[j])), (-1.0, product(line[j], arm[i]))))
            yield ConstraintRow(f"{what} ({'xyz'[i]}{'xyz'[j]})", form, own=True)
