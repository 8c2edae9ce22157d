"""A short synthetic lap: a closed kart-track curve driven at the quasi-steady limit of a friction circle.

The exact motion (position, speed, yaw, accelerations) is known at every instant, so a recording of the simulated
sensors can be judged against it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hodograph.core import Array
from hodograph.core.display import short_repr


@dataclass(frozen=True, slots=True)
class LapLimits:
    """What the car and driver can do."""

    speed_max_mps: float = 24.0
    acc_lateral_mps2: float = 9.0
    acc_forward_mps2: float = 3.5
    acc_braking_mps2: float = 7.0


@dataclass(frozen=True, slots=True)
class Motion:
    """Planar motion of the car on a flat road; every array has shape (n,), one entry per `t_s`."""

    t_s: Array
    east_m: Array
    north_m: Array
    yaw_rad: Array  # counter-clockwise from east, unwrapped
    speed_mps: Array
    yaw_rate_radps: Array
    acc_x_mps2: Array  # body frame: forward
    acc_y_mps2: Array  # body frame: left

    @property
    def v_east_mps(self) -> Array:
        """East component of the velocity."""
        return self.speed_mps * np.cos(self.yaw_rad)

    @property
    def v_north_mps(self) -> Array:
        """North component of the velocity."""
        return self.speed_mps * np.sin(self.yaw_rad)

    def at(self, t_s: Array) -> Motion:
        """The same motion at other times, by linear interpolation."""
        names = tuple(self.__dataclass_fields__)[1:]
        return Motion(t_s, *(np.interp(t_s, self.t_s, getattr(self, name)) for name in names))

    __repr__ = short_repr


def synthetic_lap(limits: LapLimits | None = None, *, scale_m: float = 42.0, n: int = 4000) -> Motion:
    """One flying lap of a bean-shaped kart track of about 7·`scale_m` length, closed in position and speed."""
    limits = limits or LapLimits()
    u = np.linspace(0.0, 2 * np.pi, n + 1)
    east, north = _track_curve(u, scale_m)
    de, dn = np.gradient(east, u, edge_order=2), np.gradient(north, u, edge_order=2)
    yaw = np.unwrap(np.arctan2(dn, de))
    arc = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(east), np.diff(north)))])
    curvature = _periodic_gradient(yaw, arc)
    speed = _speed_profile(curvature, np.diff(arc), limits)
    t = np.concatenate([[0.0], np.cumsum(2 * np.diff(arc) / (speed[1:] + speed[:-1]))])
    acc_x = _periodic_gradient(speed, t)
    return Motion(t, east, north, yaw, speed, curvature * speed, acc_x, curvature * speed**2)


def _track_curve(u: Array, scale_m: float) -> tuple[Array, Array]:
    radius = 1.0 + 0.28 * np.cos(3 * u + 0.4) + 0.12 * np.sin(2 * u)
    east = 1.25 * scale_m * radius * np.cos(u)
    north = 0.85 * scale_m * radius * np.sin(u)
    return east - east[0], north - north[0]


def _periodic_gradient(y: Array, x: Array) -> Array:
    """dy/dx on a closed lap whose last point is its first (y may grow by a constant per lap, as yaw does)."""
    before = (y[-2] - (y[-1] - y[0]), x[-2] - x[-1])
    after = (y[1] + (y[-1] - y[0]), x[-1] + x[1])
    y_ext = np.concatenate([[before[0]], y, [after[0]]])
    x_ext = np.concatenate([[before[1]], x, [after[1]]])
    return np.asarray(np.gradient(y_ext, x_ext)[1:-1])


def _speed_profile(curvature: Array, ds: Array, limits: LapLimits) -> Array:
    """Fastest speed within the limits: cap by lateral grip, then backward (braking) and forward passes, twice round."""
    cap = np.sqrt(limits.acc_lateral_mps2 / np.maximum(np.abs(curvature), 1e-6))
    speed = np.minimum(limits.speed_max_mps, cap)
    n = len(ds)
    for _ in range(2):
        for i in range(n - 1, -1, -1):
            grip = _remaining_grip(speed[i + 1], curvature[i + 1], limits)
            speed[i] = min(speed[i], np.sqrt(speed[i + 1] ** 2 + 2 * limits.acc_braking_mps2 * grip * ds[i]))
        speed[-1] = speed[0] = min(speed[0], speed[-1])
        for i in range(n):
            grip = _remaining_grip(speed[i], curvature[i], limits)
            speed[i + 1] = min(speed[i + 1], np.sqrt(speed[i] ** 2 + 2 * limits.acc_forward_mps2 * grip * ds[i]))
        speed[-1] = speed[0] = min(speed[0], speed[-1])
    return np.asarray(speed)


def _remaining_grip(speed_mps: float, curvature_perm: float, limits: LapLimits) -> float:
    """Share of longitudinal acceleration left on the friction ellipse beside the lateral one."""
    used = min(1.0, speed_mps**2 * abs(curvature_perm) / limits.acc_lateral_mps2)
    return float(np.sqrt(1.0 - used**2))
