"""Mass matrices and weights of the bodies, in the coordinates of the mechanism."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hodograph.core.errors import MechanismError
from hodograph.core.frames import Array
from hodograph.core.kinds import unknown_kind
from hodograph.multibody.model.algebra import Place, place_at
from hodograph.multibody.model.coordinates import BodyFrame, Coordinates
from hodograph.multibody.model.mechanism import Bar, Body, Lamina, Particle, PlanarBody, RigidBody, Wheel

THICKNESS = 0.05
"""How far Ixx + Iyy of a lamina may be from Izz, as a share of Izz."""


@dataclass(frozen=True, slots=True)
class SpinningWheel:
    """Where the non-constant part of a wheel's mass matrix sits: first indices of its side vectors, spin index."""

    side_a: int
    side_b: int
    spin: int
    spin_inertia_kgm2: float


@dataclass(slots=True)
class Inertia:
    """Constant mass entries (both triangles), weight (n,), total mass and the wheels."""

    mass: dict[tuple[int, int], float] = field(default_factory=dict)
    weight: Array = field(default_factory=lambda: np.zeros(0))
    wheels: list[SpinningWheel] = field(default_factory=list)
    total_kg: float = 0.0

    def __repr__(self) -> str:
        return f"Inertia({self.total_kg:.6g} kg: entries {len(self.mass)}, wheels {len(self.wheels)})"

    def add(self, a: Place, b: Place, factor: float) -> None:
        """Add factor · (velocity of a) · (velocity of b) to twice the kinetic energy, from one side."""
        for form_a, form_b in zip(a, b, strict=True):
            for i, c in form_a.terms.items():
                for j, d in form_b.terms.items():
                    self.mass[i, j] = self.mass.get((i, j), 0.0) + factor * c * d

    def pull(self, place: Place, force: Array) -> None:
        """Add a constant force at a place to the weight."""
        for form, f in zip(place, force, strict=True):
            for i, c in form.terms.items():
                self.weight[i] += c * float(f)


def inertia_of(coordinates: Coordinates) -> Inertia:
    """Sum over all bodies."""
    inertia = Inertia(weight=np.zeros(len(coordinates.names)))
    gravity_mps2 = np.array(coordinates.mechanism.gravity_mps2)
    for name, body in coordinates.mechanism.bodies.items():
        if not body.mass_kg > 0.0:
            raise MechanismError(f"body {name}: mass_kg must be positive, got {body.mass_kg}")
        inertia.total_kg += body.mass_kg
        if isinstance(body, Wheel):
            _add_wheel(inertia, coordinates, name, body, gravity_mps2)
            continue
        frame = coordinates.frames[name]
        moments = _moments(name, body, frame)
        stack = [frame.origin, *frame.basis]
        for a, place_a in enumerate(stack):
            inertia.pull(place_a, moments[0, a] * gravity_mps2)
            for b, place_b in enumerate(stack):
                inertia.add(place_a, place_b, float(moments[a, b]))
    return inertia


def _moments(name: str, body: Body, frame: BodyFrame) -> Array:
    """[[m, m c̄ᵀ], [m c̄, ∫ c cᵀ dm]] with c the factors in the body's affine frame."""
    if isinstance(body, Particle):
        return np.array([[body.mass_kg]])
    if isinstance(body, Bar):
        return body.mass_kg * np.array([[1.0, 0.5], [0.5, 1.0 / 3.0]])
    if isinstance(body, PlanarBody):
        length_m = float(np.linalg.norm(frame.design[:, 0]))
        cg = np.array(body.cg_m) / length_m
        polar = body.inertia_kgm2 / length_m**2 + body.mass_kg * float(cg @ cg)
        return _stacked(body.mass_kg, cg, np.eye(2) * polar / 2.0)
    if isinstance(body, Lamina):
        return _lamina_moments(name, body, frame)
    if isinstance(body, RigidBody):
        return _rigid_moments(name, body, frame)
    raise unknown_kind(f"body {name}", body, Body)


def _lamina_moments(name: str, body: Lamina, frame: BodyFrame) -> Array:
    ixx, iyy, izz = body.inertia_kgm2
    if abs(ixx + iyy - izz) > THICKNESS * izz:
        raise MechanismError(
            f"body {name}: a flat body has Ixx + Iyy = Izz within {THICKNESS:.0%}, got {ixx} + {iyy} and {izz}; "
            "make a thick one a rigid body"
        )
    second = np.array([[(iyy + izz - ixx) / 2.0, body.product_kgm2], [body.product_kgm2, (ixx + izz - iyy) / 2.0]])
    if np.linalg.eigvalsh(second)[0] < -1e-9 * izz:
        raise MechanismError(f"body {name}: no mass distribution has these inertias (triangle inequality violated)")
    cg = np.array(body.cg_m)
    along = frame.design[:, 0] / np.linalg.norm(frame.design[:, 0])
    across = frame.design[:, 1] - (frame.design[:, 1] @ along) * along
    axes = np.column_stack([along, across / np.linalg.norm(across)])
    inverse = np.linalg.inv(axes.T @ frame.design)
    return _stacked(body.mass_kg, inverse @ cg, inverse @ (second + body.mass_kg * np.outer(cg, cg)) @ inverse.T)


def _rigid_moments(name: str, body: RigidBody, frame: BodyFrame) -> Array:
    i = np.array(body.inertia_kgm2)
    pxy, pxz, pyz = body.products_kgm2
    second = np.diag(i.sum() / 2.0 - i) + np.array([[0.0, pxy, pxz], [pxy, 0.0, pyz], [pxz, pyz, 0.0]])
    if np.linalg.eigvalsh(second)[0] < -1e-9 * i.max():
        raise MechanismError(f"body {name}: no mass distribution has these inertias (triangle inequality violated)")
    arm = np.array(body.cg_m) - frame.origin_m
    inverse = np.linalg.inv(frame.design)
    second = inverse @ (second + body.mass_kg * np.outer(arm, arm)) @ inverse.T
    return _stacked(body.mass_kg, inverse @ arm, second)


def _stacked(mass_kg: float, cg: Array, second: Array) -> Array:
    moments = np.empty((len(cg) + 1, len(cg) + 1))
    moments[0, 0] = mass_kg
    moments[0, 1:] = moments[1:, 0] = mass_kg * cg
    moments[1:, 1:] = second
    return moments


def _add_wheel(inertia: Inertia, c: Coordinates, name: str, body: Wheel, gravity_mps2: Array) -> None:
    """The mass matrix of a wheel; what varies with the side vectors is kept apart.

    Sanjurjo 2016, 5.11, with block (4,4) = ½ I₁ · identity.
    """
    what = f"body {name}"
    centre = c.place(body.centre, what)
    axis, side_a, side_b = (c.direction(v, what) for v in (body.axis, body.side_a, body.side_b))
    shown = np.column_stack([place_at(v, c.design_q) for v in (axis, side_a, side_b)])
    if abs(np.linalg.det(shown) - 1.0) > 1e-6 or np.abs(shown.T @ shown - np.eye(3)).max() > 1e-6:
        raise MechanismError(f"{what}: {body.axis}, {body.side_a}, {body.side_b} must be right-handed and orthonormal")
    m, d, spin_inertia = body.mass_kg, body.offset_m, body.spin_inertia_kgm2
    inertia.add(centre, centre, m)
    inertia.add(centre, axis, m * d)
    inertia.add(axis, centre, m * d)
    inertia.add(axis, axis, m * d * d + body.transverse_inertia_kgm2 - spin_inertia / 2.0)
    inertia.add(side_a, side_a, spin_inertia / 2.0)
    inertia.add(side_b, side_b, spin_inertia / 2.0)
    spin = c.scalars[body.spin]
    inertia.mass[spin, spin] = inertia.mass.get((spin, spin), 0.0) + spin_inertia
    inertia.pull(centre, m * gravity_mps2)
    inertia.pull(axis, m * d * gravity_mps2)
    free = [bool(v[0].terms) for v in (side_a, side_b)]
    if all(free):
        first_a, first_b = next(iter(side_a[0].terms)), next(iter(side_b[0].terms))
        inertia.wheels.append(SpinningWheel(first_a, first_b, spin, spin_inertia))
    elif any(free):
        raise MechanismError(f"{what}: either both side vectors are fixed or none")
