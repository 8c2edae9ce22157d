"""Vehicle files as a multibody car uses them; a header besides must agree with hard points and bodies."""

from __future__ import annotations

from pathlib import Path

from hodograph.core.errors import SettingsError
from hodograph.vehicles.car import CORNERS, Vehicle
from hodograph.vehicles.file import MULTIBODY_CAR, VehicleFile, read_vehicle_file, shipped_files
from hodograph.vehicles.header import Chassis

__all__ = ["CORNERS", "Vehicle", "car_of", "read_vehicle", "shipped_vehicles"]

TOLERANCES = {
    "mass_kg": 0.02,
    "cg_to_front_axle_m": 0.02,
    "cg_to_rear_axle_m": 0.02,
    "wheelbase_m": 0.02,
    "front_load_share": 0.04,
    "track_m": 0.02,
    "cg_height_m": 0.05,
    "yaw_inertia_kgm2": 0.10,
}
"""How far a header may be from hard points and bodies, as a share: scales and swings have errors, typing has larger."""


def read_vehicle(path: str | Path) -> Vehicle:
    """The car of a TOML file, or a shipped one by name ("xbw"); what is wrong or missing is named."""
    return car_of(read_vehicle_file(path))


def car_of(file: VehicleFile) -> Vehicle:
    """The car of a vehicle file whose header, if it has one, agrees with hard points and bodies."""
    car = file.car()
    if file.tables.chassis.stated:
        from hodograph.multibody.car.whole import whole_of  # builds the model: not for a file without header

        require_agreement(file.source, file.tables.chassis, whole_of(car).chassis)
    return car


def require_agreement(source: str, stated: Chassis, computed: Chassis) -> None:
    """Refuse a header that contradicts hard points and bodies; all contradictions in one message."""
    wrong = []
    for name, share in TOLERANCES.items():
        said, is_ = getattr(stated, name), getattr(computed, name)
        if said is not None and abs(said - is_) > share * is_:
            wrong.append(f"{name} is {said:g}, the parts make {is_:.4g} ({share:.0%} off is allowed)")
    if wrong:
        raise SettingsError(
            source,
            f"[chassis] contradicts hard points and bodies: {'; '.join(wrong)}; correct one of them, or leave "
            "the number out of [chassis]: it follows",
        )


def shipped_vehicles() -> tuple[str, ...]:
    """Names of the vehicles that come with the package and have hard points."""
    return tuple(name for name in shipped_files() if not read_vehicle_file(name).lacks(MULTIBODY_CAR))
