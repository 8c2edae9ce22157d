"""Roads: what a wheel stands on. Analytic ones are sums of planes, waves and bumps; a mesh fits the same protocol.

road = Road.slope(0.05) + Road.bump(height_m=0.05, length_m=0.5, x_m=20.0)
road.height_m(20.0, 0.0)
"""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, isfinite, pi, sin, tan
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from hodograph.core.display import listed, short_repr
from hodograph.core.frames import Array
from hodograph.core.kinds import unknown_kind
from hodograph.multibody.forces.columns import BUMP, PLANE, ROAD_KIND, ROAD_WIDTH, SINE

__all__ = ["ROAD_WIDTH", "Bump", "Plane", "Road", "RoadSurface", "Sine"]


class RoadSurface(Protocol):
    """Anything with a height and an upward unit normal over (x, y); arrays in, arrays out."""

    def height_m(self, x_m: ArrayLike, y_m: ArrayLike) -> Array:
        """Height at each place."""
        ...

    def normal(self, x_m: ArrayLike, y_m: ArrayLike) -> Array:
        """Upward unit normal at each place, the last axis being x, y, z."""
        ...


@dataclass(frozen=True, slots=True)
class Plane:
    """z = height + rise_x · x + rise_y · y; the rises are tangents of angles."""

    rise_x: float = 0.0
    rise_y: float = 0.0
    height_m: float = 0.0
    kind: Literal["plane"] = "plane"

    def __post_init__(self) -> None:
        for name in ("rise_x", "rise_y", "height_m"):
            if not isfinite(getattr(self, name)):
                raise ValueError(f"{name} is {getattr(self, name)}, give a finite number")

    def row(self) -> list[float]:
        """Columns of the road table."""
        return [PLANE, self.height_m, self.rise_x, self.rise_y]

    def at(self, x: Array, y: Array) -> tuple[Array, Array, Array]:
        """Height and its derivatives along x and y."""
        flat = np.zeros_like(x)
        return self.height_m + self.rise_x * x + self.rise_y * y, flat + self.rise_x, flat + self.rise_y


@dataclass(frozen=True, slots=True)
class Sine:
    """z = amplitude · sin(2π s/wavelength + phase), s along the direction (0 = x, counter-clockwise)."""

    amplitude_m: float
    wavelength_m: float
    direction_rad: float = 0.0
    phase_rad: float = 0.0
    kind: Literal["sine"] = "sine"

    def __post_init__(self) -> None:
        if not self.wavelength_m > 0.0:
            raise ValueError(f"wavelength_m is {self.wavelength_m:g}, give a length above zero")

    @property
    def wave_number(self) -> tuple[float, float]:
        """Phase per metre along x and y."""
        k = 2.0 * pi / self.wavelength_m
        return k * cos(self.direction_rad), k * sin(self.direction_rad)

    def row(self) -> list[float]:
        """Columns of the road table."""
        return [SINE, self.amplitude_m, *self.wave_number, self.phase_rad]

    def at(self, x: Array, y: Array) -> tuple[Array, Array, Array]:
        """Height and its derivatives along x and y."""
        kx, ky = self.wave_number
        angle = kx * x + ky * y + self.phase_rad
        rate = self.amplitude_m * np.cos(angle)
        return self.amplitude_m * np.sin(angle), rate * kx, rate * ky


@dataclass(frozen=True, slots=True)
class Bump:
    """A bump (or dip) of the shape ½ h (1 + cos) over its length along the direction, centred at (x, y).

    `width_m` limits it across the direction (0 = unlimited); there it falls to zero over the last `edge_m` on each
    side, by default a quarter of the width.
    """

    height_m: float
    length_m: float
    x_m: float = 0.0
    y_m: float = 0.0
    direction_rad: float = 0.0
    width_m: float = 0.0
    edge_m: float | None = None
    kind: Literal["bump"] = "bump"

    def __post_init__(self) -> None:
        if not self.length_m > 0.0:
            raise ValueError(f"length_m is {self.length_m:g}, give a length above zero")
        if not self.width_m >= 0.0:
            raise ValueError(f"width_m is {self.width_m:g}, give zero (unlimited) or more")
        if self.width_m > 0.0 and not 0.0 < self.edge <= 0.5 * self.width_m:
            raise ValueError(f"edge_m is {self.edge:g}, give more than zero and at most half of width_m")

    __repr__ = short_repr

    @property
    def edge(self) -> float:
        """Over which it falls to zero at each side."""
        return 0.25 * self.width_m if self.edge_m is None else self.edge_m

    def row(self) -> list[float]:
        """Columns of the road table."""
        c, s = cos(self.direction_rad), sin(self.direction_rad)
        return [BUMP, self.height_m, c, s, self.x_m, self.y_m, self.length_m, self.width_m, self.edge]

    def at(self, x: Array, y: Array) -> tuple[Array, Array, Array]:
        """Height and its derivatives along x and y."""
        c, s = cos(self.direction_rad), sin(self.direction_rad)
        along, across = c * (x - self.x_m) + s * (y - self.y_m), c * (y - self.y_m) - s * (x - self.x_m)
        angle = 2.0 * pi * np.clip(along / self.length_m, -0.5, 0.5)
        wave, wave_rate = 0.5 * (1.0 + np.cos(angle)), -pi / self.length_m * np.sin(angle)
        side, side_rate = np.ones_like(wave), np.zeros_like(wave)
        if self.width_m > 0.0:
            out = pi * np.clip((np.abs(across) - 0.5 * self.width_m) / self.edge + 1.0, 0.0, 1.0)
            side, side_rate = 0.5 * (1.0 + np.cos(out)), -0.5 * pi / self.edge * np.sin(out) * np.sign(across)
        u, v = self.height_m * wave_rate * side, self.height_m * wave * side_rate
        return self.height_m * wave * side, u * c - v * s, u * s + v * c


Feature = Plane | Sine | Bump


@dataclass(frozen=True, slots=True)
class Road:
    """An analytic road: the sum of its features, zero height without any. Roads add up with +."""

    features: tuple[Feature, ...] = ()

    def __repr__(self) -> str:
        return f"Road({listed(feature.kind for feature in self.features)})"

    @staticmethod
    def flat(height_m: float = 0.0) -> Road:
        """A level road."""
        return Road((Plane(height_m=height_m),))

    @staticmethod
    def slope(angle_rad: float) -> Road:
        """Rising towards +x by this angle."""
        return Road((Plane(rise_x=tan(angle_rad)),))

    @staticmethod
    def bank(angle_rad: float) -> Road:
        """Rising towards +y (the left of somebody driving along x) by this angle."""
        return Road((Plane(rise_y=tan(angle_rad)),))

    @staticmethod
    def sine(amplitude_m: float, wavelength_m: float, direction_rad: float = 0.0, phase_rad: float = 0.0) -> Road:
        """A sinusoidal road."""
        return Road((Sine(amplitude_m, wavelength_m, direction_rad, phase_rad),))

    @staticmethod
    def bump(
        height_m: float,
        length_m: float,
        x_m: float,
        y_m: float = 0.0,
        direction_rad: float = 0.0,
        width_m: float = 0.0,
        edge_m: float | None = None,
    ) -> Road:
        """One bump centred at (x, y)."""
        return Road((Bump(height_m, length_m, x_m, y_m, direction_rad, width_m, edge_m),))

    def __add__(self, other: Road) -> Road:
        return Road(self.features + other.features)

    def table(self) -> Array:
        """The features as the kernels read them, shape (k, ROAD_WIDTH)."""
        table = np.zeros((len(self.features), ROAD_WIDTH))
        for k, feature in enumerate(self.features):
            row = feature.row()
            if row[ROAD_KIND] not in (PLANE, SINE, BUMP):
                raise unknown_kind("road", feature, Feature)
            table[k, : len(row)] = row
        return table

    def height_m(self, x_m: ArrayLike, y_m: ArrayLike) -> Array:
        """Height at each place."""
        return self._sums(x_m, y_m)[0]

    def normal(self, x_m: ArrayLike, y_m: ArrayLike) -> Array:
        """Upward unit normal at each place, the last axis being x, y, z."""
        _, zx, zy = self._sums(x_m, y_m)
        n = np.stack([-zx, -zy, np.ones_like(zx)], axis=-1)
        unit: Array = n / np.linalg.norm(n, axis=-1, keepdims=True)
        return unit

    def _sums(self, x_m: ArrayLike, y_m: ArrayLike) -> tuple[Array, Array, Array]:
        x, y = np.broadcast_arrays(np.asarray(x_m, dtype=np.float64), np.asarray(y_m, dtype=np.float64))
        z, zx, zy = np.zeros(x.shape), np.zeros(x.shape), np.zeros(x.shape)
        for feature in self.features:
            h, hx, hy = feature.at(x, y)
            z, zx, zy = z + h, zx + hx, zy + hy
        return z, zx, zy
