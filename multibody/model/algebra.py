"""Affine and quadratic forms of the coordinates: what bodies and constraints are made of before they become tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from hodograph.core.frames import Array


@dataclass(frozen=True, slots=True)
class Affine:
    """const + Σ terms[i] q[i]: one component of a place or direction."""

    const: float = 0.0
    terms: Mapping[int, float] = field(default_factory=dict)

    def __add__(self, other: Affine) -> Affine:
        return combine(((1.0, self), (1.0, other)))

    def __sub__(self, other: Affine) -> Affine:
        return combine(((1.0, self), (-1.0, other)))

    def scaled(self, factor: float) -> Affine:
        """This form times a number."""
        return Affine(self.const * factor, {i: c * factor for i, c in self.terms.items()})

    def at(self, q: Array) -> float:
        """The value at coordinates `q`."""
        return self.const + sum(c * float(q[i]) for i, c in self.terms.items())


def coordinate(index: int) -> Affine:
    """The form q[index]."""
    return Affine(0.0, {index: 1.0})


def combine(parts: Iterable[tuple[float, Affine]]) -> Affine:
    """Σ factor · form, without vanished terms."""
    const = 0.0
    terms: dict[int, float] = {}
    for factor, form in parts:
        const += factor * form.const
        for i, c in form.terms.items():
            terms[i] = terms.get(i, 0.0) + factor * c
    return Affine(const, {i: c for i, c in terms.items() if c != 0.0})


Place = tuple[Affine, ...]
"""A point or direction: one affine form per axis."""


def place_difference(a: Place, b: Place) -> Place:
    """The vector from b to a."""
    return tuple(x - y for x, y in zip(a, b, strict=True))


def place_combination(factors: Sequence[float], places: Sequence[Place]) -> Place:
    """Σ factor · place, axis by axis."""
    return tuple(combine(zip(factors, axis, strict=True)) for axis in zip(*places, strict=True))


def place_at(place: Place, q: Array) -> Array:
    """Where a place is at coordinates `q`, shape (dim,)."""
    return np.array([form.at(q) for form in place])


@dataclass(frozen=True, slots=True)
class Quadratic:
    """const + Σ linear[i] q[i] + Σ square[i, j] q[i] q[j] with i ≤ j: the left side of a constraint."""

    const: float
    linear: Mapping[int, float]
    square: Mapping[tuple[int, int], float]

    def plus_const(self, value: float) -> Quadratic:
        """The same with `value` added."""
        return Quadratic(self.const + value, self.linear, self.square)

    def coordinates(self) -> set[int]:
        """Which coordinates appear."""
        return set(self.linear) | {i for pair in self.square for i in pair}

    def at(self, q: Array) -> float:
        """The value at coordinates `q`."""
        total = self.const + sum(c * float(q[i]) for i, c in self.linear.items())
        return total + sum(c * float(q[i]) * float(q[j]) for (i, j), c in self.square.items())

    def fingerprint(self) -> tuple[object, ...]:
        """Equal for equal constraints up to a common factor: finds rows that two bodies both bring along."""
        entries: list[tuple[tuple[int, ...], float]] = [((i,), c) for i, c in self.linear.items()]
        entries += list(self.square.items())
        entries.sort()
        scale = entries[0][1] if entries else 1.0
        return (*((key, round(c / scale, 9)) for key, c in entries), round(self.const / scale, 9))


def linear_form(form: Affine) -> Quadratic:
    """An affine form as a constraint's left side."""
    return Quadratic(form.const, form.terms, {})


def product(a: Affine, b: Affine) -> Quadratic:
    """a · b of two affine forms."""
    linear: dict[int, float] = {}
    square: dict[tuple[int, int], float] = {}
    for i, c in a.terms.items():
        linear[i] = linear.get(i, 0.0) + c * b.const
        for j, d in b.terms.items():
            key = (min(i, j), max(i, j))
            square[key] = square.get(key, 0.0) + c * d
    for j, d in b.terms.items():
        linear[j] = linear.get(j, 0.0) + a.const * d
    return _tidy(a.const * b.const, linear, square)


def total(parts: Iterable[tuple[float, Quadratic]]) -> Quadratic:
    """Σ factor · quadratic."""
    const = 0.0
    linear: dict[int, float] = {}
    square: dict[tuple[int, int], float] = {}
    for factor, part in parts:
        const += factor * part.const
        for i, c in part.linear.items():
            linear[i] = linear.get(i, 0.0) + factor * c
        for key, c in part.square.items():
            square[key] = square.get(key, 0.0) + factor * c
    return _tidy(const, linear, square)


def dot(a: Place, b: Place) -> Quadratic:
    """The scalar product of two directions."""
    return total((1.0, product(x, y)) for x, y in zip(a, b, strict=True))


def _tidy(const: float, linear: dict[int, float], square: dict[tuple[int, int], float]) -> Quadratic:
    return Quadratic(
        const, {i: c for i, c in linear.items() if c != 0.0}, {k: c for k, c in square.items() if c != 0.0}
    )
