"""From constraint rows and masses to the tables of a model, and the pattern of all that it sums up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

import numpy as np

from hodograph.core.frames import Array
from hodograph.multibody.forces.load_rows import Springs, spring_terms
from hodograph.multibody.model.constraint_rows import ConstraintRow
from hodograph.multibody.model.inertia import Inertia
from hodograph.multibody.model.symbolic import Symbolic, analyse, floats, grid, index, pairs_of
from hodograph.multibody.model.tables import ConstraintRows, Factor, Index, Mass

WORTHWHILE = 6
"""Multiplications that a shared form must save; less is lost to the looking up."""

DOMINANCE = 1e7
"""How far the penalty outweighs the mass in every row; large enough for two rounds, small enough for the digits."""


def tabulate_rows(
    rows: Sequence[ConstraintRow], inputs: Mapping[str, int], rank: Index | None = None
) -> ConstraintRows:
    """The constraint tables; slots of a row are sorted by elimination rank, or before that is known by coordinate."""
    start, tri_start, form_start = [0], [0], [0]
    col, tri_col, form_col, share = list[int](), list[int](), list[int](), list[int]()
    tri_val, lin, const, form_val, share_val = list[float](), list[float](), list[float](), list[float](), list[float]()
    angle: dict[int, list[int]] = {}
    amplitude: list[float] = []
    guide, guide_par = [], []
    for i, row in enumerate(rows):
        columns = sorted(row.form.coordinates() | ({row.angle} if row.angle is not None else set()))
        if rank is not None:
            columns.sort(key=lambda j: int(rank[j]))
        slots = {j: _slot_terms(row.form.square, j) for j in columns}
        forms = _shared_forms(slots.values())
        for form in forms.values():
            form_col += [j for j, _ in form]
            form_val += [c for _, c in form]
            form_start.append(len(form_col))
        form_start += [len(form_col)] * (3 - len(forms))
        for j, terms in slots.items():
            if j == row.angle:
                (angle.setdefault(row.angle, [i, i + 1, row.angle])).append(len(col))
                if row.branch == "sine":
                    amplitude.append(row.amplitude)
            key = _scaled(terms)
            shared = key in forms
            share.append(list(forms).index(key) if shared else 3)
            share_val.append(terms[0][1] if shared else 0.0)
            tri_col += [] if shared else [k for k, _ in terms]
            tri_val += [] if shared else [c for _, c in terms]
            tri_start.append(len(tri_col))
            col.append(j)
            lin.append(row.form.linear.get(j, 0.0))
        start.append(len(col))
        const.append(-row.form.const)
        if row.guide is not None:
            g = row.guide
            guide.append([i, inputs[g.input] if g.input else 0])
            guide_par.append([g.offset, g.rate, g.acceleration, g.amplitude, g.frequency_radps, g.phase_rad])
    return ConstraintRows(
        index(start), index(col), index(tri_start), index(tri_col), np.array(tri_val, dtype=np.float64),
        np.array(lin), index(form_start), index(form_col), np.array(form_val, dtype=np.float64), index(share),
        np.array(share_val), np.array(const), grid(list(angle.values()), 5), np.array(amplitude, dtype=np.float64),
        grid(guide, 2), floats(guide_par, 6),
    )  # fmt: skip


Terms = tuple[tuple[int, float], ...]


def _slot_terms(square: Mapping[tuple[int, int], float], j: int) -> Terms:
    """Row j of S, as (coordinate, factor)."""
    terms = []
    for (a, b), c in square.items():
        if a == b == j:
            terms.append((j, 2.0 * c))
        elif j in (a, b):
            terms.append((b if a == j else a, c))
    return tuple(sorted(terms))


def _scaled(terms: Terms) -> Terms:
    """The same form with a leading factor of one, rounded, so that multiples of each other are equal."""
    return tuple((j, round(c / terms[0][1], 11)) for j, c in terms)


def _shared_forms(slots: Iterable[Terms]) -> dict[Terms, Terms]:
    """Up to three forms of two terms or more that save the most work by being summed up once, by their rounded key."""
    count: dict[Terms, list[Terms]] = {}
    for terms in slots:
        if len(terms) > 1:
            count.setdefault(_scaled(terms), []).append(terms)
    worth = sorted(((len(same) - 1) * (len(key) - 1), key) for key, same in count.items())
    best = [key for saved, key in worth[::-1][:3] if saved >= WORTHWHILE]
    return {key: tuple((j, c / count[key][0][0][1]) for j, c in count[key][0]) for key in best}


def tabulate_mass(n: int, inertia: Inertia, symbolic: Symbolic) -> Mass:
    """The mass matrix by rows, with room for what varies with the wheels."""
    entries = dict(inertia.mass)
    for wheel in inertia.wheels:
        for first in (wheel.side_a, wheel.side_b):
            for d in range(3):
                entries.setdefault((first + d, wheel.spin), 0.0)
                entries.setdefault((wheel.spin, first + d), 0.0)
    keys = sorted(entries)
    where = {key: k for k, key in enumerate(keys)}
    start = np.searchsorted([i for i, _ in keys], np.arange(n + 1)) if keys else np.zeros(n + 1)
    wheels, places, destinations = [], [], []
    for wheel in inertia.wheels:
        a, b, spin = wheel.side_a, wheel.side_b, wheel.spin
        wheels.append([a, b, spin])
        places.append([where[key] for first in (a, b) for key in _both_ways(first, spin)])
        destinations.append([symbolic.destination(first + d, spin) for first in (a, b) for d in range(3)])
    return Mass(
        start.astype(np.uint32), index(j for _, j in keys), np.array([entries[k] for k in keys], dtype=np.float64),
        grid(wheels, 3), np.array([w.spin_inertia_kgm2 for w in inertia.wheels], dtype=np.float64),
        grid(places, 12), grid(destinations, 6),
    )  # fmt: skip


def _both_ways(first: int, spin: int) -> list[tuple[int, int]]:
    return [(first + d, spin) for d in range(3)] + [(spin, first + d) for d in range(3)]


def pattern(
    n: int, rows: ConstraintRows, inertia: Inertia, springs: Springs, others: AbstractSet[tuple[int, int]] = frozenset()
) -> Symbolic:
    """Order and fill for everything that may ever be in the step matrix."""
    pairs: set[tuple[int, int]] = set(inertia.mass) | set(others)
    for i in range(len(rows.const)):
        columns = [int(j) for j in rows.col[rows.start[i] : rows.start[i + 1]]]
        pairs |= {(a, b) for a in columns for b in columns}
    for wheel in inertia.wheels:
        pairs |= {(first + d, wheel.spin) for first in (wheel.side_a, wheel.side_b) for d in range(3)}
    for form in springs.forms:
        columns = [i for i, *_ in spring_terms(form)]
        pairs |= {(a, b) for a in columns for b in columns}
    return analyse(n, pairs)


def tabulate_factor(n: int, rows: ConstraintRows, inertia: Inertia, symbolic: Symbolic, jacobian: Array) -> Factor:
    """Destinations and weights; `jacobian` is the dense one of the design position, idle rows included as if active."""
    products: list[tuple[int, int]] = []
    for i in range(len(rows.const)):
        products += symbolic.products([int(j) for j in rows.col[rows.start[i] : rows.start[i + 1]]])
    mass = np.zeros(symbolic.size)
    diagonal = np.zeros(n)
    for (i, j), value in inertia.mass.items():
        if i == j:
            diagonal[i] = value
        if i <= j:
            mass[symbolic.destination(i, j)] += value
    diagonal[diagonal <= 0.0] = diagonal.max(initial=1.0)
    effective = 1.0 / np.maximum((jacobian**2 / diagonal).sum(axis=1), 1e-300)
    return Factor(
        symbolic.order, symbolic.start, symbolic.row, symbolic.update, pairs_of(products),
        index(symbolic.destination(i, i) for i in range(n)), mass, DOMINANCE * effective,
        1.0 / np.maximum((jacobian**2).sum(axis=1), 1e-300),
    )  # fmt: skip
