"""Brakes, differentials and the air as data."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Literal

import numpy as np


def _want(name: str, value: float, *, positive: bool) -> None:
    if not (isfinite(value) and (value > 0.0 if positive else value >= 0.0)):
        raise ValueError(f"{name} is {value:g}, give a number {'above zero' if positive else 'of zero or more'}")


@dataclass(frozen=True, slots=True)
class DiscBrake:
    """One wheel's disc brake.

    `pad_force` are the coefficients c0 … c3 of pad force (N) = c0 + c1 p + c2 p² + c3 p³ with the line pressure p in
    Pa; below zero it counts as zero. It must grow up to `highest_pressure_pa`, which is the range of the polynomial:
    beyond, where a cubic may fall again, nothing is known, and `Car.schedule` refuses such pressures.
    """

    friction: float  # of pad on disc
    effective_radius_m: float  # where the pads press
    pad_force: tuple[float, float, float, float]  # c0, c1, c2, c3 of force (N) = c0 + c1 p + c2 p² + c3 p³, p in Pa
    stiffness_nmpr: float = 5e4  # of the wind-up while the disc sticks
    damping_nmspr: float = 100.0  # of the wind-up while the disc sticks
    highest_pressure_pa: float = 1.5e7  # up to there pad_force is known; it must grow so far, beyond is refused

    def __post_init__(self) -> None:
        for name in ("friction", "effective_radius_m", "stiffness_nmpr", "highest_pressure_pa"):
            _want(name, getattr(self, name), positive=True)
        _want("damping_nmspr", self.damping_nmspr, positive=False)
        p = np.linspace(0.0, self.highest_pressure_pa, 200)
        force = np.maximum(np.polynomial.polynomial.polyval(p, np.array(self.pad_force)), 0.0)
        if not np.all(np.isfinite(force)) or force[-1] <= 0.0 or np.any(np.diff(force) < 0.0):
            raise ValueError(
                f"pad_force must grow with pressure up to highest_pressure_pa = {self.highest_pressure_pa:g}: "
                "give [c0, c1, c2, c3] in N, N/Pa, N/Pa², N/Pa³"
            )

    def torque_nm(self, pressure_pa: float) -> float:
        """Braking torque of both pads on the turning wheel."""
        force_n = float(np.polynomial.polynomial.polyval(pressure_pa, np.array(self.pad_force)))
        return 2.0 * self.friction * self.effective_radius_m * max(force_n, 0.0)


@dataclass(frozen=True, slots=True)
class OpenDifferential:
    """Both wheels get the same torque."""

    kind: Literal["open"] = "open"  # both wheels get the same torque


@dataclass(frozen=True, slots=True)
class LimitedSlip:
    """A limited slip differential: the torques differ by up to max(ratio · |torque|, preload) when the speeds do.

    `full_slip_radps` is the speed difference that brings 76 % of it.
    """

    preload_nm: float  # torque difference that is there without any torque
    drive_ratio: float  # largest torque difference over the axle's torque when it drives
    coast_ratio: float  # the same when it is dragged
    full_slip_radps: float = 0.5  # speed difference that brings 76 % of the torque difference
    kind: Literal["limited_slip"] = "limited_slip"  # torques differ when the speeds do

    def __post_init__(self) -> None:
        for name in ("preload_nm", "drive_ratio", "coast_ratio"):
            _want(name, getattr(self, name), positive=False)
        _want("full_slip_radps", self.full_slip_radps, positive=True)
        for name in ("drive_ratio", "coast_ratio"):
            if getattr(self, name) > 1.0:
                raise ValueError(
                    f"{name} is {getattr(self, name):g}, above 1: it is the torque difference over the axle's torque"
                )


Differential = OpenDifferential | LimitedSlip


@dataclass(frozen=True, slots=True)
class Aerodynamics:
    """Drag and lift areas (coefficient · frontal area); lift is upward, so downforce is negative."""

    drag_area_m2: float  # drag coefficient times frontal area
    lift_area_front_m2: float = 0.0  # lift coefficient times frontal area, at the front; negative presses down
    lift_area_rear_m2: float = 0.0  # the same at the rear
    air_density_kgpm3: float = 1.2  # of the air

    def __post_init__(self) -> None:
        _want("drag_area_m2", self.drag_area_m2, positive=False)
        _want("air_density_kgpm3", self.air_density_kgpm3, positive=True)
        for name in ("lift_area_front_m2", "lift_area_rear_m2"):
            if not abs(getattr(self, name)) < 20.0:
                raise ValueError(f"{name} is {getattr(self, name):g}, give lift coefficient times area in m²")
