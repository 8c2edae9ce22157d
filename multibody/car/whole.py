"""What a single-track model wants to know of a car, computed from its hard points, bodies and tyres."""

from __future__ import annotations

from dataclasses import dataclass

from hodograph.multibody.car.statics import StaticLoads, static_loads
from hodograph.multibody.forces.tyres import cornering_stiffness_npr, lateral_peak_n
from hodograph.vehicles.car import Axle, DrivenAxles, Vehicle
from hodograph.vehicles.header import AxleTyres, Chassis, Tyres

BRAKING_PA = 2e6
"""The line pressure at which the brakes of both axles are compared."""


@dataclass(frozen=True, slots=True)
class Whole:
    """The header that a vehicle file with hard points need not state."""

    chassis: Chassis
    tyres: Tyres


def whole_of(vehicle: Vehicle) -> Whole:
    """Masses, distances and tyres of the car standing in its design position."""
    loads = static_loads(vehicle)
    to_front_m = vehicle.wheelbase_m - float(loads.cg_m[0])
    half_tracks_m = [vehicle.corner(c).axle.wheel_centre_m[1] for c in ("fl", "rl", "fr", "rr")]
    chassis = Chassis(
        mass_kg=loads.total_kg,
        cg_to_front_axle_m=to_front_m,
        cg_to_rear_axle_m=vehicle.wheelbase_m - to_front_m,
        wheelbase_m=vehicle.wheelbase_m,
        front_load_share=float(loads.cg_m[0]) / vehicle.wheelbase_m,
        track_m=sum(abs(y) for y in half_tracks_m) / 2.0,
        cg_height_m=vehicle.body.origin_height_m + float(loads.cg_m[2]),
        yaw_inertia_kgm2=loads.yaw_inertia_kgm2,
        brake_share_front=_brake_share_front(vehicle.front, vehicle.rear),
        drive_share_front=_drive_share_front(vehicle.drive),
    )
    return Whole(chassis, Tyres(_axle_tyres(vehicle, loads, "f"), _axle_tyres(vehicle, loads, "r")))


def _brake_share_front(front: Axle, rear: Axle) -> float | None:
    forces_n = [0.0 if a.brake is None else a.brake.torque_nm(BRAKING_PA) / a.tyre.radius_m for a in (front, rear)]
    return forces_n[0] / sum(forces_n) if any(forces_n) else None


def _drive_share_front(drive: DrivenAxles) -> float:
    if drive.front is None:
        return 0.0
    return 1.0 if drive.rear is None else 0.5


def _axle_tyres(vehicle: Vehicle, loads: StaticLoads, axle: str) -> AxleTyres:
    """Both wheels of an axle at their static loads."""
    wheels = [(vehicle.corner(axle + side).axle.tyre, loads.wheel_n[axle + side]) for side in "lr"]
    stiffness_npr = [float(cornering_stiffness_npr(tyre, load_n)) for tyre, load_n in wheels]
    carcass_npm = sum(tyre.stiffness_y_npm for tyre, _ in wheels)
    return AxleTyres(
        cornering_stiffness_npr=sum(stiffness_npr),
        friction=sum(float(lateral_peak_n(tyre, load_n)) for tyre, load_n in wheels) / sum(n for _, n in wheels),
        relaxation_m=sum(stiffness_npr) / carcass_npm,
    )
