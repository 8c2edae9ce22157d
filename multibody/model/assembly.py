"""Putting a mechanism together: a consistent start, its rank, its degrees of freedom, and complaints by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import atan2

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space, qr

from hodograph.core.display import short_repr
from hodograph.core.errors import MechanismError
from hodograph.core.frames import Array
from hodograph.multibody.model.algebra import place_at
from hodograph.multibody.model.constraint_kernels import choose_branches, evaluate, set_guides
from hodograph.multibody.model.constraint_rows import ConstraintRow, angle_axes
from hodograph.multibody.model.coordinates import Coordinates
from hodograph.multibody.model.inertia import Inertia
from hodograph.multibody.model.symbolic import index
from hodograph.multibody.model.tables import ConstraintRows, Index

CLOSED = 1e-11
RANK = 1e-8
TIE = 1e-9  # less than this apart, two coordinates are as good as each other


@dataclass(frozen=True, slots=True)
class Assembly:
    """A consistent position, its dense Jacobian (rows, n) without regard to idle rows, and independent coordinates."""

    q: Array
    jacobian: Array
    independent: Index

    __repr__ = short_repr


def assemble(c: Coordinates, rows: Sequence[ConstraintRow], tables: ConstraintRows, inertia: Inertia) -> Assembly:
    """Close the mechanism from its design position and check that it can move as declared."""
    q = _first_guess(c)
    held = [c.scalars[name] for name, angle in c.mechanism.angles.items() if angle.initial_rad is not None]
    q = _close(q, held, rows, tables)
    jacobian, active = dense_jacobian(tables, q)
    degrees = _check_rank(c, rows, tables, q, jacobian, active)
    _check_declared(c, degrees, guided=len(tables.guide) > 0)
    free: Array = null_space(_normalised(jacobian[active]), rcond=RANK) if active.any() else np.eye(len(q))
    independent = _choose(c, free)
    _check_mass(c, inertia, free, q)
    return Assembly(q, _every_row(tables, q), independent)


def dense_jacobian(tables: ConstraintRows, q: Array, t_s: float = 0.0) -> tuple[Array, NDArray[np.bool_]]:
    """The Jacobian (rows, n) at q with idle rows zero, and which rows are active."""
    branch = np.ones(len(tables.angle), dtype=np.uint32)
    choose_branches(tables, q, branch)
    jac, _ = _evaluated(tables, q, branch, t_s)
    active = np.ones(len(tables.const), dtype=bool)
    for k, (sine, cosine, *_) in enumerate(tables.angle):
        active[cosine if branch[k] == 1 else sine] = False
    return _dense(tables, jac, len(q)), active


def _evaluated(tables: ConstraintRows, q: Array, branch: Index, t_s: float) -> tuple[Array, Array]:
    guide = np.zeros((len(tables.guide), 3))
    set_guides(tables, t_s, np.zeros((1 + int(tables.guide[:, 1].max(initial=0)), 3)), guide)
    jac, phi = np.zeros(len(tables.col)), np.zeros(len(tables.const))
    evaluate(tables, q, branch, guide, jac, phi)
    return jac, phi


def _dense(tables: ConstraintRows, jac: Array, n: int) -> Array:
    dense = np.zeros((len(tables.const), n))
    row = np.repeat(np.arange(len(tables.const)), np.diff(tables.start))
    dense[row, tables.col] = jac
    return dense


def _every_row(tables: ConstraintRows, q: Array) -> Array:
    """The Jacobian with both rows of every angle."""
    both = np.ones(len(tables.angle), dtype=np.uint32)
    sine = _dense(tables, _evaluated(tables, q, both, 0.0)[0], len(q))
    cosine = _dense(tables, _evaluated(tables, q, np.zeros_like(both), 0.0)[0], len(q))
    return np.where(sine != 0.0, sine, cosine)


def _first_guess(c: Coordinates) -> Array:
    q = c.design_q
    for name, angle in c.mechanism.angles.items():
        what = f"angle {name}"
        if angle.initial_rad is not None:
            q[c.scalars[name]] = angle.initial_rad
            continue
        x_axis, y_axis, _ = angle_axes(c, angle.x_axis, angle.y_axis, what)
        of = place_at(c.direction(angle.of, what), q)
        q[c.scalars[name]] = atan2(place_at(y_axis, q) @ of, place_at(x_axis, q) @ of)
    for name, distance in c.mechanism.distances.items():
        a, b = (place_at(c.place(p, f"distance {name}"), q) for p in distance.between)
        q[c.scalars[name]] = float(np.linalg.norm(b - a))
    return q.copy()


def _close(q: Array, held: list[int], rows: Sequence[ConstraintRow], tables: ConstraintRows) -> Array:
    """Damped Gauss-Newton on all coordinates that are not held; names the rows that stay open."""
    free = np.setdiff1d(np.arange(len(q)), held)
    branch = np.ones(len(tables.angle), dtype=np.uint32)
    scale = max(1.0, float(np.abs(tables.const).max(initial=0.0)))
    for _ in range(100):
        choose_branches(tables, q, branch)
        jac, phi = _evaluated(tables, q, branch, 0.0)
        error = float(np.linalg.norm(phi))
        if error <= CLOSED * scale * 1e-2:
            return q
        step = -np.linalg.lstsq(_dense(tables, jac, len(q))[:, free], phi, rcond=1e-12)[0]
        for _ in range(30):
            trial = q.copy()
            trial[free] += step
            if np.linalg.norm(_evaluated(tables, trial, branch, 0.0)[1]) < error or error < 1e-9 * scale:
                break
            step *= 0.5
        else:
            break
        if np.abs(step).max() < 1e-15 * max(1.0, np.abs(q).max()):
            q = trial
            break
        q = trial
    _, phi = _evaluated(tables, q, branch, 0.0)
    if np.linalg.norm(phi) <= CLOSED * scale:
        return q
    worst = np.argsort(-np.abs(phi))
    named = [rows[i].name for i in worst if abs(phi[i]) > 0.05 * np.abs(phi).max()]
    raise MechanismError(
        f"the mechanism does not close: {', '.join(named[:6])} cannot hold together "
        f"(open by {np.abs(phi).max():.3g}); check lengths and start position"
    )


def _normalised(jacobian: Array) -> Array:
    length = np.linalg.norm(jacobian, axis=1, keepdims=True)
    scaled: Array = jacobian / np.where(length > 0.0, length, 1.0)
    return scaled


def _rank(jacobian: Array) -> int:
    if not len(jacobian):
        return 0
    singular = np.linalg.svd(_normalised(jacobian), compute_uv=False)
    return int((singular > RANK * max(1.0, singular[0])).sum())


def _check_rank(
    c: Coordinates,
    rows: Sequence[ConstraintRow],
    tables: ConstraintRows,
    q: Array,
    jacobian: Array,
    active: NDArray[np.bool_],
) -> int:
    """Degrees of freedom; raises when the active rows depend on each other, here or everywhere."""
    own = jacobian[active]
    rank = _rank(own)
    if rank == len(own):
        return len(q) - rank
    left = null_space(_normalised(own).T, rcond=RANK)
    involved = np.flatnonzero(np.abs(left).max(axis=1) > 1e-6)
    names = [row.name for row, on in zip(rows, active, strict=True) if on]
    listed = ", ".join(names[i] for i in involved[:8]) + (" …" if len(involved) > 8 else "")
    for direction in null_space(_normalised(own), rcond=RANK).T:
        nearby = _try_close(q + 1e-2 * direction, rows, tables)
        if nearby is not None:
            beside, beside_active = dense_jacobian(tables, nearby)
            if _rank(beside[beside_active]) > rank:
                raise MechanismError(
                    f"singular start: {listed} are tangent to each other in this position; start in another one"
                )
    raise MechanismError(f"over-constrained: {len(own) - rank} of these constraints too many: {listed}")


def _try_close(q: Array, rows: Sequence[ConstraintRow], tables: ConstraintRows) -> Array | None:
    try:
        return _close(q, [], rows, tables)
    except MechanismError:
        return None


def _check_declared(c: Coordinates, degrees: int, *, guided: bool) -> None:
    mechanism = c.mechanism
    if degrees < 1 and not guided:
        raise MechanismError(f"{mechanism.name} cannot move: it has no degree of freedom")
    declared = mechanism.degrees_of_freedom
    if declared is not None and declared != degrees:
        raise MechanismError(f"{mechanism.name} has {degrees} degrees of freedom, declared are {declared}")
    if mechanism.independent and len(mechanism.independent) != degrees:
        raise MechanismError(
            f"{mechanism.name} has {degrees} degrees of freedom but {len(mechanism.independent)} independent "
            "coordinates"
        )


def best_independent(free: Array) -> Index:
    """The coordinates that span the motion best: pivots of the null space (n, f), of equals the first."""
    if free.shape[1] == 0:
        return index([])
    early = 1.0 - TIE * np.arange(len(free))  # the left of a car is as good as the right: rounding must not decide
    pivots = qr(free.T * early, mode="r", pivoting=True)[1]
    return index(sorted(int(i) for i in pivots[: free.shape[1]]))


def _choose(c: Coordinates, free: Array) -> Index:
    if not c.mechanism.independent:
        return best_independent(free)
    chosen = [c.index(name, "independent") for name in c.mechanism.independent]
    singular = np.linalg.svd(free[chosen], compute_uv=False)
    if singular[-1] < 1e-6:
        raise MechanismError(
            f"independent coordinates {', '.join(c.mechanism.independent)} do not determine the motion in this position"
        )
    return index(chosen)


def _check_mass(c: Coordinates, inertia: Inertia, free: Array, q: Array) -> None:
    if free.shape[1] == 0:
        return
    mass = np.zeros((len(q), len(q)))
    for (i, j), value in inertia.mass.items():
        mass[i, j] = value
    for wheel in inertia.wheels:
        half = 0.5 * wheel.spin_inertia_kgm2
        for first, other, sign in ((wheel.side_a, wheel.side_b, 1.0), (wheel.side_b, wheel.side_a, -1.0)):
            for d in range(3):
                mass[first + d, wheel.spin] = mass[wheel.spin, first + d] = sign * half * q[other + d]
    values, vectors = np.linalg.eigh(free.T @ mass @ free)
    if values[0] <= 1e-12 * max(values[-1], 1e-12):
        motion = np.abs(free @ vectors[:, 0])
        named = [c.names[i] for i in np.argsort(-motion) if motion[i] > 0.3 * motion.max()]
        raise MechanismError(f"{', '.join(named[:6])} can move without moving any mass; add a body there")
