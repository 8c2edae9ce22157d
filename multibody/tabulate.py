"""From rows, masses and forces to the tables of a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

import numpy as np
from scipy.interpolate import PchipInterpolator

from hodograph.core.errors import MechanismError
from hodograph.core.frames import Array
from hodograph.multibody.algebra import Affine, Place, combine, place_at, place_difference
from hodograph.multibody.coordinates import Coordinates, vector_of
from hodograph.multibody.inertia import Inertia
from hodograph.multibody.mechanism import (
    AntiRoll,
    CoordinateSpring,
    Curve,
    PlanarBody,
    PointForce,
    RigidBody,
    SpringDamper,
    Torque,
)
from hodograph.multibody.rows import Row
from hodograph.multibody.symbolic import Symbolic, analyse, index, pairs_of
from hodograph.multibody.tables import Factor, Index, Loads, Mass, Rows

WORTHWHILE = 6
"""Multiplications that a shared form must save; less is lost to the looking up."""

DOMINANCE = 1e7
"""How far the penalty outweighs the mass in every row; large enough for two rounds, small enough for the digits."""


def _grid(values: Sequence[Sequence[int]], width: int) -> Index:
    return np.array(values, dtype=np.uint32).reshape(-1, width)


def _floats(values: Sequence[object], width: int) -> Array:
    return np.array(values, dtype=np.float64).reshape(-1, width)


def tabulate_rows(rows: Sequence[Row], inputs: Mapping[str, int], rank: Index | None = None) -> Rows:
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
    return Rows(
        index(start), index(col), index(tri_start), index(tri_col), np.array(tri_val, dtype=np.float64),
        np.array(lin), index(form_start), index(form_col), np.array(form_val, dtype=np.float64), index(share),
        np.array(share_val), np.array(const), _grid(list(angle.values()), 5), np.array(amplitude, dtype=np.float64),
        _grid(guide, 2), _floats(guide_par, 6),
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
    grid, places, destinations = [], [], []
    for wheel in inertia.wheels:
        a, b, spin = wheel.side_a, wheel.side_b, wheel.spin
        grid.append([a, b, spin])
        places.append([where[key] for first in (a, b) for key in _both_ways(first, spin)])
        destinations.append([symbolic.destination(first + d, spin) for first in (a, b) for d in range(3)])
    return Mass(
        start.astype(np.uint32), index(j for _, j in keys), np.array([entries[k] for k in keys], dtype=np.float64),
        _grid(grid, 3), np.array([w.spin_inertia_kgm2 for w in inertia.wheels], dtype=np.float64),
        _grid(places, 12), _grid(destinations, 6),
    )  # fmt: skip


def _both_ways(first: int, spin: int) -> list[tuple[int, int]]:
    return [(first + d, spin) for d in range(3)] + [(spin, first + d) for d in range(3)]


@dataclass(slots=True)
class Springs:
    """Forces in the making, before the ordering is known."""

    steady: Array
    forms: list[Place] = field(default_factory=list)
    par: list[list[float]] = field(default_factory=list)
    curves_of: list[list[int]] = field(default_factory=list)
    scalar: list[list[int]] = field(default_factory=list)
    scalar_par: list[list[float]] = field(default_factory=list)
    torque: list[list[int]] = field(default_factory=list)
    torque_val: list[float] = field(default_factory=list)
    driven: list[list[int]] = field(default_factory=list)
    driven_val: list[float] = field(default_factory=list)
    curves: list[Array] = field(default_factory=list)
    bar: list[list[int]] = field(default_factory=list)
    bar_par: list[float] = field(default_factory=list)

    def curve(self, points: Curve, what: str) -> int:
        """Register a curve; 0 for none, else 1 + its number."""
        if not points:
            return 0
        x, y = np.array(points).T
        if len(x) < 2 or not np.all(np.diff(x) > 0.0):
            raise MechanismError(f"{what}: a curve needs two or more points with rising abscissa")
        smooth = PchipInterpolator(x, y)
        table = np.zeros((len(x), 5))
        table[:, 0], table[:, 1], table[:, 2] = x, y, smooth.derivative()(x)
        table[:-1, 3], table[:-1, 4] = smooth.c[1], smooth.c[0]
        self.curves.append(table)
        return len(self.curves)

    def push(self, place: Place, force: Array, source: int) -> None:
        """A force at a place, constant (source 0) or driven by an input."""
        for form, f in zip(place, force, strict=True):
            for i, c in form.terms.items():
                if source == 0:
                    self.steady[i] += c * float(f)
                elif f != 0.0:
                    self.driven.append([i, source])
                    self.driven_val.append(c * float(f))


def gather_forces(c: Coordinates, inertia: Inertia, inputs: Mapping[str, int]) -> Springs:
    """All declared forces and the weight."""
    springs = Springs(inertia.weight.copy())
    for name, force in c.mechanism.forces.items():
        what = f"force {name}"
        if isinstance(force, SpringDamper):
            curves = [springs.curve(force.stiffness_curve, what), springs.curve(force.damping_curve, what)]
            _gather_spring(
                c, springs, what, force.between, force.stiffness_npm, force.free_length_m, force.damping_nspm, curves
            )
        elif isinstance(force, AntiRoll):
            for side in (force.left, force.right):
                _gather_spring(c, springs, what, side, 0.0, None, 0.0, [0, 0])
            springs.bar.append([len(springs.forms) - 2, len(springs.forms) - 1])
            springs.bar_par.append(force.stiffness_npm)
        elif isinstance(force, CoordinateSpring):
            i = c.index(force.coordinate, what)
            curves = [springs.curve(force.stiffness_curve, what), springs.curve(force.damping_curve, what)]
            springs.scalar.append([i, *curves])
            springs.scalar_par.append([force.stiffness, np.nan if force.rest is None else force.rest, force.damping])
        elif isinstance(force, PointForce):
            place = c.place(force.at, what)
            springs.push(
                place, vector_of(force.force_n, c.mechanism.dim, what), inputs[force.input] if force.input else 0
            )
        elif isinstance(force, Torque):
            _gather_torque(c, springs, what, force, inputs[force.input] if force.input else 0)
    return springs


def _gather_spring(
    c: Coordinates,
    springs: Springs,
    what: str,
    between: tuple[str, str],
    stiffness_npm: float,
    free_length_m: float | None,
    damping_nspm: float,
    curves: list[int],
) -> None:
    a, b = (c.place(p, what) for p in between)
    form = place_difference(b, a)
    design_m = float(np.linalg.norm(place_at(form, c.design_q)))
    if design_m < 1e-9:
        raise MechanismError(f"{what} has zero length: {between[0]} and {between[1]} coincide")
    springs.forms.append(form)
    springs.par.append([stiffness_npm, design_m if free_length_m is None else free_length_m, damping_nspm])
    springs.curves_of.append(curves)


def _gather_torque(c: Coordinates, springs: Springs, what: str, torque: Torque, source: int) -> None:
    if torque.coordinate is not None:
        i = c.index(torque.coordinate, what)
        if source == 0:
            springs.steady[i] += torque.torque_nm
        else:
            springs.driven.append([i, source])
            springs.driven_val.append(torque.torque_nm)
        return
    body = c.mechanism.bodies.get(torque.body or "")
    if not isinstance(body, PlanarBody | RigidBody) and not (
        body is not None and body.kind == "bar" and c.mechanism.dim == 2
    ):
        raise MechanismError(f"{what}: {torque.body} is no body that can take a torque")
    frame = c.frames[torque.body or ""]
    if c.mechanism.dim == 2:
        along = frame.basis[0]
        across = (along[1].scaled(-1.0), along[0])
        gain = torque.torque_nm / float(frame.design[:, 0] @ frame.design[:, 0])
        _linear_force(springs, along, across, gain, source)
        return
    if torque.axis is None:
        raise MechanismError(f"{what}: a torque on a body in space needs an axis")
    unit = np.array(torque.axis) / np.linalg.norm(torque.axis)
    inverse = np.asarray(
        np.linalg.inv(frame.design), dtype=np.float64
    )  # body axes o_i = Σ_k inverse[k, i] basis_k, orthonormal for all time
    axes = [tuple(_combined(frame.basis, inverse[:, i], axis) for axis in range(3)) for i in range(3)]
    for i in range(3):
        if torque.follows:
            turned = [_cross_follow(axes, unit, i, axis) for axis in range(3)]
        else:
            turned = [
                _sum((unit[(axis + 1) % 3], axes[i][(axis + 2) % 3]), (-unit[(axis + 2) % 3], axes[i][(axis + 1) % 3]))
                for axis in range(3)
            ]
        _linear_force(springs, axes[i], tuple(turned), 0.5 * torque.torque_nm, source)


def _combined(basis: Sequence[Place], factors: Array, axis: int) -> Affine:
    return combine((float(f), b[axis]) for f, b in zip(factors, basis, strict=True))


def _sum(*parts: tuple[float, Affine]) -> Affine:
    return combine((float(f), a) for f, a in parts)


def _cross_follow(axes: Sequence[Place], unit: Array, i: int, axis: int) -> Affine:
    """(u × o_i)_axis for u = Σ unit_j o_j: o_j × o_i = ± o_k."""
    j, k = (i + 1) % 3, (i + 2) % 3
    return _sum((-float(unit[j]), axes[k][axis]), (float(unit[k]), axes[j][axis]))


def _linear_force(springs: Springs, at: Place, force: Place, gain: float, source: int) -> None:
    """Generalised force of a force that is itself affine in q, at a direction `at`."""
    for form, f in zip(at, force, strict=True):
        for i, a in form.terms.items():
            if f.const != 0.0 and source == 0:
                springs.steady[i] += gain * a * f.const
            elif f.const != 0.0:
                springs.driven.append([i, source])
                springs.driven_val.append(gain * a * f.const)
            for j, b in f.terms.items():
                springs.torque.append([i, j, source])
                springs.torque_val.append(gain * a * b)


def spring_terms(form: Place) -> list[tuple[int, int, float]]:
    """(coordinate, axis, factor) of an elongation vector."""
    return [(i, axis, c) for axis, part in enumerate(form) for i, c in part.terms.items()]


def tabulate_loads(springs: Springs, symbolic: Symbolic, design_q: Array) -> Loads:
    """The force tables."""
    term_start, terms, term_val = [0], [], []
    pair_start, pairs, pair_val = [0], [], []
    slot_start, term_slot, run_start, run = [0], list[int](), [0], list[tuple[int, int]]()
    rank = symbolic.rank()
    for form in springs.forms:
        own = spring_terms(form)
        terms += [[i, axis] for i, axis, _ in own]
        term_val += [c for *_, c in own]
        term_start.append(len(terms))
        slots = sorted({i for i, *_ in own}, key=lambda i: rank[i])
        slot_start.append(slot_start[-1] + len(slots))
        term_slot += [slots.index(i) for i, *_ in own]
        run += symbolic.products(slots)
        run_start.append(len(run))
        for a, (i, axis, c) in enumerate(own):
            for j, other, d in own[a:]:
                if axis == other:
                    pairs.append(symbolic.destination(i, j))
                    pair_val.append(c * d)
        pair_start.append(len(pairs))
    const = np.zeros((len(springs.forms), 3))
    for s, form in enumerate(springs.forms):
        const[s, : len(form)] = [part.const for part in form]
    scalar_par = _floats(springs.scalar_par, 3)
    for s, (i, *_) in enumerate(springs.scalar):
        if np.isnan(scalar_par[s, 1]):
            scalar_par[s, 1] = design_q[i]
    curve_start = np.cumsum([0, *(len(table) for table in springs.curves)])
    return Loads(
        springs.steady, index(term_start), _grid(terms, 2), np.array(term_val, dtype=np.float64), const,
        _floats(springs.par, 3), _grid(springs.curves_of, 2), index(slot_start), index(term_slot), index(run_start),
        pairs_of(run), index(pair_start), index(pairs),
        np.array(pair_val, dtype=np.float64),
        _grid([[*s, symbolic.destination(s[0], s[0])] for s in springs.scalar], 4), scalar_par,
        _grid(springs.torque, 3), np.array(springs.torque_val, dtype=np.float64),
        _grid(springs.driven, 2), np.array(springs.driven_val, dtype=np.float64),
        _grid(springs.bar, 2), np.array(springs.bar_par, dtype=np.float64),
        curve_start.astype(np.uint32), np.vstack(springs.curves) if springs.curves else np.zeros((0, 5)),
    )  # fmt: skip


def pattern(
    n: int, rows: Rows, inertia: Inertia, springs: Springs, others: AbstractSet[tuple[int, int]] = frozenset()
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


def tabulate_factor(n: int, rows: Rows, inertia: Inertia, symbolic: Symbolic, jacobian: Array) -> Factor:
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
