"""Suspensions as data: hard points of the left side in the body axes, and the parts that hang on them.

Every point is given in metres, x forward, y left, z up, origin in the middle of the rear axle at the height of the
wheel centres. The right side is the mirror image.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Literal, TypeVar

import numpy as np

from hodograph.core.display import short_repr
from hodograph.core.frames import Array
from hodograph.vehicles.checks import Vec3, require_left, require_positive

T = TypeVar("T")


def mirrored(point_m: Vec3) -> Vec3:
    """The mirror image in the plane y = 0."""
    return (point_m[0], -point_m[1], point_m[2])


@dataclass(frozen=True, slots=True)
class Arm:
    """A wishbone as a flat body through its three joints.

    Its axes: origin at the front inner joint, x forward along the hinge (from the rear to the front inner joint), y
    outboard in the plane of the arm, z normal to it. `cg_m` is (x, y) there, so x is negative between the joints.
    A flat body has Ixx + Iyy = Izz; the thickness of a real one is dropped up to 5 % of Izz and refused beyond.
    """

    mass_kg: float  # of the arm with its share of bushings and joints
    cg_m: tuple[float, float]  # centre of gravity (x, y) in the arm's axes, from the front inner joint
    inertia_kgm2: Vec3  # Ixx, Iyy, Izz about the centre of gravity, in the arm's axes; Ixx + Iyy = Izz within 5 %
    product_kgm2: float = 0.0  # ∫ xy dm about the centre of gravity, in the arm's axes

    def __post_init__(self) -> None:
        require_positive("mass_kg", self.mass_kg)


@dataclass(frozen=True, slots=True)
class Knuckle:
    """The wheel carrier with all that moves with it except the wheel (for a MacPherson strut: with the strut).

    `cg_m` is measured from the wheel centre, all in the body axes.
    """

    mass_kg: float  # without the wheel
    cg_m: Vec3  # centre of gravity from the wheel centre, body axes
    inertia_kgm2: Vec3  # Ixx, Iyy, Izz about the centre of gravity, body axes
    products_kgm2: Vec3 = (0.0, 0.0, 0.0)  # ∫ xy dm, ∫ xz dm, ∫ yz dm about the centre of gravity

    def __post_init__(self) -> None:
        require_positive("mass_kg", self.mass_kg)

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class Rod:
    """A thin uniform rod: a tie rod or toe link."""

    mass_kg: float  # evenly spread along the rod

    def __post_init__(self) -> None:
        require_positive("mass_kg", self.mass_kg)


@dataclass(frozen=True, slots=True)
class DoubleWishbone:
    """Two wishbones and a link. The link is the tie rod of a steered axle (inner end on the rack), else a toe link.

    A link without `link` table has no mass.
    """

    lower_front_m: Vec3  # front inner joint of the lower arm, on the body
    lower_rear_m: Vec3  # rear inner joint of the lower arm, on the body
    lower_ball_m: Vec3  # lower ball joint, on the knuckle
    upper_front_m: Vec3  # front inner joint of the upper arm, on the body
    upper_rear_m: Vec3  # rear inner joint of the upper arm, on the body
    upper_ball_m: Vec3  # upper ball joint, on the knuckle
    link_inner_m: Vec3  # inner end of the link: on the rack in front, on the body behind
    link_outer_m: Vec3  # outer end of the link, on the knuckle
    lower_arm: Arm  # mass and inertia of the lower wishbone
    upper_arm: Arm  # mass and inertia of the upper wishbone
    knuckle: Knuckle  # mass and inertia of the wheel carrier
    link: Rod | None = None  # the tie rod or toe link; without the table it has no mass
    kind: Literal["double_wishbone"] = "double_wishbone"  # two wishbones and a link

    def __post_init__(self) -> None:
        require_left(self)
        require_triangle("lower arm", self.lower_front_m, self.lower_rear_m, self.lower_ball_m)
        require_triangle("upper arm", self.upper_front_m, self.upper_rear_m, self.upper_ball_m)

    __repr__ = short_repr

    @property
    def kingpin(self) -> tuple[Vec3, Vec3]:
        """Two points of the axis that the wheel steers about, the lower one first."""
        return self.lower_ball_m, self.upper_ball_m


@dataclass(frozen=True, slots=True)
class MacPherson:
    """A lower arm, a link and a strut whose tube belongs to the knuckle and slides through the mount on the body.

    The strut's axis runs from `strut_bottom_m` (any point of it at the knuckle) to `strut_top_m` (the mount).
    """

    lower_front_m: Vec3  # front inner joint of the lower arm, on the body
    lower_rear_m: Vec3  # rear inner joint of the lower arm, on the body
    lower_ball_m: Vec3  # ball joint, on the knuckle
    strut_top_m: Vec3  # mount of the strut, on the body
    strut_bottom_m: Vec3  # any other point of the strut's axis, on the knuckle
    link_inner_m: Vec3  # inner end of the link: on the rack in front, on the body behind
    link_outer_m: Vec3  # outer end of the link, on the knuckle
    lower_arm: Arm  # mass and inertia of the lower arm
    knuckle: Knuckle  # mass and inertia of the wheel carrier with the strut
    link: Rod | None = None  # the tie rod or toe link; without the table it has no mass
    kind: Literal["macpherson"] = "macpherson"  # a strut, a lower arm and a link

    def __post_init__(self) -> None:
        require_left(self)
        require_triangle("lower arm", self.lower_front_m, self.lower_rear_m, self.lower_ball_m)
        if not self.strut_top_m[2] > self.strut_bottom_m[2] + 0.05:
            raise ValueError("strut_top_m must lie at least 0.05 m above strut_bottom_m")

    __repr__ = short_repr

    @property
    def kingpin(self) -> tuple[Vec3, Vec3]:
        """Two points of the axis that the wheel steers about, the lower one first."""
        return self.lower_ball_m, self.strut_top_m


Suspension = DoubleWishbone | MacPherson


def require_triangle(what: str, front_m: Vec3, rear_m: Vec3, ball_m: Vec3) -> None:
    """The hinge must run from back to front and the ball joint must stand off it."""
    front, rear, ball = map(np.array, (front_m, rear_m, ball_m))
    if not front[0] > rear[0] + 0.01:
        raise ValueError(f"{what}: its front inner joint must lie ahead of the rear one (x forward)")
    hinge = (front - rear) / np.linalg.norm(front - rear)
    if np.linalg.norm(np.cross(hinge, ball - rear)) < 0.02:
        raise ValueError(f"{what}: its ball joint lies on the hinge axis")


def arm_axes(front_m: Vec3, rear_m: Vec3, ball_m: Vec3) -> Array:
    """Axes of an arm in columns (3, 3): along the hinge forward, outboard in the plane, normal."""
    front, rear, ball = map(np.array, (front_m, rear_m, ball_m))
    x = (front - rear) / np.linalg.norm(front - rear)
    y = ball - front - ((ball - front) @ x) * x
    y = y / np.linalg.norm(y)
    return np.column_stack([x, y, np.cross(x, y)])


def mirror_points(part: T) -> T:
    """The same part on the right: every hard point mirrored, knuckles with their inertia, arms as they are.

    Arms are flat and described in axes of their own that mirror along with their joints.
    """
    changes: dict[str, Any] = {}
    for field in fields(part):  # type: ignore[arg-type]
        value = getattr(part, field.name)
        if isinstance(value, Knuckle):
            xy, xz, yz = value.products_kgm2
            changes[field.name] = replace(value, cg_m=mirrored(value.cg_m), products_kgm2=(-xy, xz, -yz))
        elif field.name.endswith("_m") and isinstance(value, tuple) and len(value) == 3:
            changes[field.name] = mirrored(value)
        elif is_dataclass(value) and not isinstance(value, Arm | Rod):
            changes[field.name] = mirror_points(value)
    return _unchecked(part, changes)


def _unchecked(part: T, changes: dict[str, Any]) -> T:
    """A copy with other values, without the checks of the left side."""
    copy = object.__new__(type(part))
    for field in fields(part):  # type: ignore[arg-type]
        object.__setattr__(copy, field.name, changes.get(field.name, getattr(part, field.name)))
    return copy
