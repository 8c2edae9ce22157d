"""The few constants of a vehicle file that the sideslip filter starts from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hodograph.core import settings_from_text
from hodograph.observers.sideslip.parameters import SideslipParameters

G_PER_RAD_FRONT, G_PER_RAD_REAR = 16.0, 18.0  # first guess of cornering stiffness over axle load


@dataclass(frozen=True, slots=True)
class Chassis:
    """Masses and distances; height of the centre of gravity above the road."""

    mass_kg: float
    cg_to_front_axle_m: float
    cg_to_rear_axle_m: float
    track_m: float
    cg_height_m: float
    yaw_inertia_kgm2: float
    brake_share_front: float = 0.6
    drive_share_front: float = 0.0

    def __post_init__(self) -> None:
        ranges = {
            "mass_kg": (50, 50e3),
            "cg_to_front_axle_m": (0.2, 10),
            "cg_to_rear_axle_m": (0.2, 10),
            "track_m": (0.3, 4),
            "cg_height_m": (0.05, 4),
            "yaw_inertia_kgm2": (1, 1e6),
            "brake_share_front": (0, 1),
            "drive_share_front": (0, 1),
        }
        for name, (low, high) in ranges.items():
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"{name} is {getattr(self, name)}, want {low} to {high}")


@dataclass(frozen=True, slots=True)
class SideslipVehicle:
    """A vehicle file as far as the sideslip filter needs it."""

    schema: Literal[1]
    name: str
    chassis: Chassis

    @property
    def prior(self) -> SideslipParameters:
        """Parameters to start from: the file's constants, and tyres of any sporty car."""
        c = self.chassis
        base_m = c.cg_to_front_axle_m + c.cg_to_rear_axle_m
        weight_n = 9.80665 * c.mass_kg
        return SideslipParameters(
            mass_kg=c.mass_kg,
            yaw_inertia_kgm2=c.yaw_inertia_kgm2,
            cg_to_front_m=c.cg_to_front_axle_m,
            cg_to_rear_m=c.cg_to_rear_axle_m,
            track_m=c.track_m,
            cg_height_m=c.cg_height_m,
            brake_share_front=c.brake_share_front,
            drive_share_front=c.drive_share_front,
            stiffness_front_n_rad=G_PER_RAD_FRONT * weight_n * c.cg_to_rear_axle_m / base_m,
            stiffness_rear_n_rad=G_PER_RAD_REAR * weight_n * c.cg_to_front_axle_m / base_m,
            force_front_std_n=4.0 * c.mass_kg,
            force_rear_std_n=4.0 * c.mass_kg,
        )


def vehicle_from_text(text: str, source: str) -> SideslipVehicle:
    """The vehicle of a TOML text; `SettingsError` says what is wrong and where."""
    return settings_from_text(text, SideslipVehicle, source=source)


ANY_CAR = SideslipVehicle(1, "any car", Chassis(1200.0, 1.35, 1.35, 1.5, 0.45, 1700.0))
