"""From springs, given forces and torques in a mechanism to the tables of load_kernels.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.interpolate import PchipInterpolator

from hodograph.core.display import short_repr
from hodograph.core.errors import MechanismError
from hodograph.core.frames import Array
from hodograph.core.kinds import unknown_kind
from hodograph.multibody.forces.loads import (
    AntiRoll,
    CoordinateSpring,
    Curve,
    Load,
    PointForce,
    SpringDamper,
    Torque,
)
from hodograph.multibody.forces.rolling import RollingForce
from hodograph.multibody.model.algebra import Affine, Place, combine, place_at, place_difference
from hodograph.multibody.model.coordinates import Coordinates, vector_of
from hodograph.multibody.model.inertia import Inertia
from hodograph.multibody.model.mechanism import PlanarBody, RigidBody
from hodograph.multibody.model.symbolic import Symbolic, floats, grid, index, pairs_of
from hodograph.multibody.model.tables import Loads


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

    __repr__ = short_repr


def gather_forces(c: Coordinates, inertia: Inertia, inputs: Mapping[str, int]) -> Springs:
    """All declared forces and the weight."""
    springs = Springs(inertia.weight.copy())
    for name, force in c.mechanism.forces.items():
        what = f"force {name}"
        if isinstance(force, RollingForce):
            continue
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
        else:
            raise unknown_kind(what, force, Load)
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
    scalar_par = floats(springs.scalar_par, 3)
    for s, (i, *_) in enumerate(springs.scalar):
        if np.isnan(scalar_par[s, 1]):
            scalar_par[s, 1] = design_q[i]
    curve_start = np.cumsum([0, *(len(table) for table in springs.curves)])
    return Loads(
        springs.steady, index(term_start), grid(terms, 2), np.array(term_val, dtype=np.float64), const,
        floats(springs.par, 3), grid(springs.curves_of, 2), index(slot_start), index(term_slot), index(run_start),
        pairs_of(run), index(pair_start), index(pairs),
        np.array(pair_val, dtype=np.float64),
        grid([[*s, symbolic.destination(s[0], s[0])] for s in springs.scalar], 4), scalar_par,
        grid(springs.torque, 3), np.array(springs.torque_val, dtype=np.float64),
        grid(springs.driven, 2), np.array(springs.driven_val, dtype=np.float64),
        grid(springs.bar, 2), np.array(springs.bar_par, dtype=np.float64),
        curve_start.astype(np.uint32), np.vstack(springs.curves) if springs.curves else np.zeros((0, 5)),
    )  # fmt: skip
