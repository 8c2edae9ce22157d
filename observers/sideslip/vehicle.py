"""A vehicle file as the sideslip filter uses it: its header, stated or computed from hard points."""

from __future__ import annotations

from dataclasses import dataclass

from hodograph.core.display import short_repr
from hodograph.core.units import GRAVITY_MPS2
from hodograph.observers.sideslip.parameters import SideslipParameters
from hodograph.vehicles.file import MULTIBODY_CAR, SIDESLIP_FILTER, VehicleFile, vehicle_from_text
from hodograph.vehicles.header import AxleTyres, Chassis, Tyres

STANDARD_TYRES = Tyres(AxleTyres(cornering_coefficient_perrad=16.0), AxleTyres(cornering_coefficient_perrad=18.0))
"""First guess: cornering stiffness over axle load of any sporty car."""


@dataclass(frozen=True, slots=True)
class SideslipVehicle:
    """A vehicle, and the parameters that its filter starts from."""

    name: str
    prior: SideslipParameters

    __repr__ = short_repr


def sideslip_vehicle(file: VehicleFile) -> SideslipVehicle:
    """The filter's start for a vehicle file; `SettingsError` lists what it lacks, or where it contradicts itself."""
    file.require(SIDESLIP_FILTER)
    chassis, tyres = file.tables.chassis, file.tables.tyres
    if not file.lacks(MULTIBODY_CAR):
        from hodograph.multibody.car.vehicle import car_of
        from hodograph.multibody.car.whole import whole_of

        whole = whole_of(car_of(file))
        chassis, tyres = chassis.filled(whole.chassis), tyres.filled(whole.tyres)
    return SideslipVehicle(file.name, _prior(chassis, tyres.filled(STANDARD_TYRES)))


def sideslip_vehicle_from_text(text: str, source: str) -> SideslipVehicle:
    """The same for TOML text, as logs and mappings carry it."""
    return sideslip_vehicle(vehicle_from_text(text, source))


def _prior(c: Chassis, tyres: Tyres) -> SideslipParameters:
    """The file's constants; what nobody stated as for any car."""
    if c.mass_kg is None or c.cg_to_axles_m is None:
        raise ValueError("a sideslip filter starts from a header that lacks nothing")
    front_m, rear_m = c.cg_to_axles_m
    base_m = front_m + rear_m
    weight_n = GRAVITY_MPS2 * c.mass_kg
    relaxation_m = [t.relaxation_m for t in (tyres.front, tyres.rear) if t.relaxation_m is not None]
    known = {
        "mass_kg": c.mass_kg,
        "yaw_inertia_kgm2": c.yaw_inertia_kgm2,
        "cg_to_front_m": front_m,
        "cg_to_rear_m": rear_m,
        "track_m": c.track_m,
        "cg_height_m": c.cg_height_m,
        "force_front_std_n": 4.0 * c.mass_kg,
        "force_rear_std_n": 4.0 * c.mass_kg,
        "roll_share_front": c.roll_share_front,
        "brake_share_front": c.brake_share_front,
        "drive_share_front": c.drive_share_front,
        "stiffness_front_n_rad": tyres.front.stiffness_npr(weight_n * rear_m / base_m),
        "stiffness_rear_n_rad": tyres.rear.stiffness_npr(weight_n * front_m / base_m),
        "friction_front": tyres.front.friction,
        "friction_rear": tyres.rear.friction,
        "relaxation_m": sum(relaxation_m) / len(relaxation_m) if relaxation_m else None,
    }
    return SideslipParameters(**{name: value for name, value in known.items() if value is not None})


ANY_CAR = SideslipVehicle(
    "any car",
    _prior(
        Chassis(
            mass_kg=1200.0,
            cg_to_front_axle_m=1.35,
            cg_to_rear_axle_m=1.35,
            track_m=1.5,
            cg_height_m=0.45,
            yaw_inertia_kgm2=1700.0,
        ),
        STANDARD_TYRES,
    ),
)
