"""Two tyres for tests, of about the same size: one of each kind."""

from __future__ import annotations

from dataclasses import replace

from hodograph.vehicles.tyres import MagicCurve, MagicFormulaTyre, TMeasyCurve, TMeasyTyre

TMEASY = TMeasyTyre(
    radius_m=0.30,
    stiffness_npm=180e3,
    damping_nspm=150.0,
    nominal_load_n=2000.0,
    stiffness_x_npm=150e3,
    stiffness_y_npm=100e3,
    damping_x_nspm=400.0,
    damping_y_nspm=300.0,
    camber_slip=0.12,
    trail_m=0.03,
    trail_zero_slip=0.2,
    longitudinal=TMeasyCurve((60e3, 105e3), (0.11, 0.13), (2200.0, 4100.0), (0.5, 0.6), (1900.0, 3600.0)),
    lateral=TMeasyCurve((45e3, 70e3), (0.16, 0.20), (2100.0, 3900.0), (0.6, 0.7), (1900.0, 3500.0)),
)

MAGIC = MagicFormulaTyre(
    radius_m=0.30,
    stiffness_npm=180e3,
    damping_nspm=150.0,
    nominal_load_n=2000.0,
    stiffness_x_npm=150e3,
    stiffness_y_npm=100e3,
    damping_x_nspm=400.0,
    damping_y_nspm=300.0,
    camber_slip=0.12,
    trail_m=0.03,
    trail_zero_slip=0.2,
    longitudinal=MagicCurve((60e3, 105e3), (2200.0, 4100.0), 1.6, (0.1, 0.0)),
    lateral=MagicCurve((45e3, 70e3), (2100.0, 3900.0), 1.35, (-0.5, -0.6)),
)

SHIFTED = replace(
    MAGIC,
    longitudinal=replace(MAGIC.longitudinal, shift_slip=0.002, shift_force=-0.01),
    lateral=replace(MAGIC.lateral, shift_slip=-0.004, shift_force=0.02),
)
