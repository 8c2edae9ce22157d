"""Brakes, differentials and the air as the kernels read them."""

from __future__ import annotations

import numpy as np

from hodograph.core.frames import Array
from hodograph.core.kinds import unknown_kind
from hodograph.multibody.forces.columns import LIMITED_SLIP, OPEN
from hodograph.vehicles.driveline import Aerodynamics, Differential, DiscBrake, LimitedSlip, OpenDifferential


def brake_row(brake: DiscBrake) -> Array:
    """Shape (BRAKE_WIDTH,)."""
    twice = 2.0 * brake.friction * brake.effective_radius_m
    return np.array([*brake.pad_force, twice, brake.stiffness_nmpr, brake.damping_nmspr])


def differential_row(d: Differential) -> Array:
    """Shape (DIFFERENTIAL_WIDTH,)."""
    if isinstance(d, LimitedSlip):
        return np.array([LIMITED_SLIP, d.preload_nm, d.drive_ratio, d.coast_ratio, d.full_slip_radps])
    if isinstance(d, OpenDifferential):
        return np.array([OPEN, 0.0, 0.0, 0.0, 1.0])
    raise unknown_kind("differential", d, Differential)


def aero_row(air: Aerodynamics) -> Array:
    """Shape (AERO_WIDTH,): force over squared speed."""
    areas = (air.drag_area_m2, air.lift_area_front_m2, air.lift_area_rear_m2)
    return 0.5 * air.air_density_kgpm3 * np.array(areas)
