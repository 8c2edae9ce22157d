"""The car standing in its design position: what its springs and tyres must carry, by virtual work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.linalg import null_space

from hodograph.core.display import short_repr
from hodograph.core.frames import Array
from hodograph.multibody.car.assemble import axes_names, finished, frame_parts
from hodograph.multibody.model.algebra import Place, place_at
from hodograph.multibody.model.assembly import dense_jacobian
from hodograph.multibody.model.build import Model, build
from hodograph.vehicles.car import CORNERS, Vehicle


@dataclass(frozen=True, slots=True)
class StaticLoads:
    """By corner (fl, fr, rl, rr): compression of the spring and load of the wheel, in newtons.

    Four wheels are one more than equilibrium can tell: of all answers the one with the least sum of squares is taken,
    in which no spring twists the car.
    """

    spring_n: Mapping[str, float]
    wheel_n: Mapping[str, float]
    total_kg: float
    cg_m: Array  # (3,) of the whole car, body axes
    yaw_inertia_kgm2: float  # of the whole car about the vertical through its centre of gravity

    __repr__ = short_repr

    @property
    def front_share(self) -> float:
        """Part of the weight that the front axle carries."""
        return (self.wheel_n["fl"] + self.wheel_n["fr"]) / sum(self.wheel_n.values())


def static_loads(vehicle: Vehicle) -> StaticLoads:
    """Solve Rᵀ (weight + springs + tyres) = 0 in the design position."""
    model = build(finished(frame_parts(vehicle), vehicle, vehicle.name, degrees_of_freedom=14))
    q = model.start_q
    jacobian, _ = dense_jacobian(model.tables.rows, q)
    free = null_space(jacobian, rcond=1e-10)
    columns = [_spring(model, name, q) for name in CORNERS] + [_wheel(model, vehicle, name, q) for name in CORNERS]
    solved = np.linalg.lstsq(free.T @ np.column_stack(columns), -free.T @ model.inertia.weight, rcond=1e-10)[0]
    total_kg, cg, yaw = _whole(model, vehicle, q)
    springs = {name: float(f) for name, f in zip(CORNERS, solved[:4], strict=True)}
    return StaticLoads(springs, {n: float(f) for n, f in zip(CORNERS, solved[4:], strict=True)}, total_kg, cg, yaw)


def spring_length_m(model: Model, corner: str, q: Array) -> float:
    """Distance of the spring's seats."""
    ends = (f"{corner}_spring_lower", f"{corner}_spring_upper")
    return float(np.linalg.norm(model.position_m(ends[1], q) - model.position_m(ends[0], q)))


def _spring(model: Model, corner: str, q: Array) -> Array:
    """Generalised force of one newton of compression: the gradient of the spring's length."""
    lower, upper = (model.coordinates.place(f"{corner}_spring_{end}", "statics") for end in ("lower", "upper"))
    along = place_at(upper, q) - place_at(lower, q)
    along = along / np.linalg.norm(along)
    return _push(upper, along, len(q)) - _push(lower, along, len(q))


def _wheel(model: Model, vehicle: Vehicle, corner: str, q: Array) -> Array:
    """Generalised force of one newton upwards where the wheel touches the road, carried by the knuckle."""
    height_m = vehicle.body.origin_height_m + vehicle.corner(corner).axle.wheel_centre_m[2]
    first = [model.index(f"{v}.x") for v in axes_names(corner)]
    axes = np.column_stack([q[i : i + 3] for i in first])
    forward = np.cross(axes[:, 1], np.array([0.0, 0.0, 1.0]))
    up = np.cross(forward / np.linalg.norm(forward), axes[:, 1])
    arm = axes.T @ (-height_m / up[2] * up)
    out = np.zeros(len(q))
    out[model.index(f"{corner}_W.z")] = 1.0
    for i, a in zip(first, arm, strict=True):
        out[i + 2] = a
    return out


def _push(place: Place, force: Array, n: int) -> Array:
    out = np.zeros(n)
    for form, f in zip(place, force, strict=True):
        for i, c in form.terms.items():
            out[i] += c * f
    return out


def _whole(model: Model, vehicle: Vehicle, q: Array) -> tuple[float, Array, float]:
    """Total mass, centre of gravity in the body axes, and yaw inertia about it, from the mass matrix.

    All places are affine in q, so a motion with which every place moves along x as fast as it is high has, together
    with a translation along x, the first moment over the height for its kinetic energy; likewise for the other axes.
    A rotation about z, with no wheel spinning, has the inertia about the origin for twice its kinetic energy.
    """
    parts = [*model.mechanism.points, *model.mechanism.vectors]
    ahead = [model.index(f"{name}.x") for name in parts]
    translation = np.zeros(len(q))
    translation[[model.index(f"{name}.x") for name in model.mechanism.points]] = 1.0
    momentum = np.zeros(len(q))
    for (i, j), value in model.inertia.mass.items():
        momentum[i] += value * translation[j]
    total = float(momentum @ translation)
    first = [sum(momentum[i] * q[i + k] for i in ahead) for k in range(3)]
    centre = np.array(first) / total
    rotation = np.zeros(len(q))
    for i in ahead:
        rotation[i], rotation[i + 1] = -q[i + 1], q[i]
    about_origin = sum(value * rotation[i] * rotation[j] for (i, j), value in model.inertia.mass.items())
    yaw = float(about_origin - total * (centre[0] ** 2 + centre[1] ** 2))
    return total, centre - np.array([0.0, 0.0, vehicle.body.origin_height_m]), yaw
