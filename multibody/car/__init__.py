"""The car: a vehicle file with hard points, the mechanism made of it, and what its suspension does.

    vehicle = read_vehicle("xbw")                      # or the path of a TOML file
    model = build(mechanism_of(vehicle))               # 67 coordinates, 14 degrees of freedom
    wheel = CornerKinematics.of(vehicle, "fl")         # camber, toe, motion ratio over bump and rack
    car = Car.of("xbw")                                # on a road: settle, moving, drive
    modes = ride_modes(car)                            # heave, pitch, roll, hop: frequency and damping
    account = energy_account(car, drive, controls)     # where the energy of a drive went

Exported lazily, as `hodograph.multibody`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hodograph.multibody.car.car import Car, Drive
    from hodograph.multibody.car.energy import EnergyAccount, energy_account
    from hodograph.multibody.car.forces import mechanism_of
    from hodograph.multibody.car.kinematics import CornerKinematics, WheelPose
    from hodograph.multibody.car.modes import RideMode, ride_modes
    from hodograph.multibody.car.statics import StaticLoads, static_loads
    from hodograph.multibody.car.vehicle import CORNERS, Vehicle, read_vehicle, shipped_vehicles

_HOMES = {
    "car": ("Car", "Drive"),
    "energy": ("EnergyAccount", "energy_account"),
    "forces": ("mechanism_of",),
    "kinematics": ("CornerKinematics", "WheelPose"),
    "modes": ("RideMode", "ride_modes"),
    "statics": ("StaticLoads", "static_loads"),
    "vehicle": ("CORNERS", "Vehicle", "read_vehicle", "shipped_vehicles"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
__all__ = [
    "CORNERS", "Car", "CornerKinematics", "Drive", "EnergyAccount", "RideMode", "StaticLoads", "Vehicle", "WheelPose",
    "energy_account", "mechanism_of", "read_vehicle", "ride_modes", "shipped_vehicles", "static_loads",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
