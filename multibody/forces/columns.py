"""Columns of the parameter rows that the force kernels read: one place for those who fill them and those who walk them.

No numba here: a vehicle file can be read without it. A change of this file gives the kernels a new cache.
"""

from __future__ import annotations

TMEASY, MAGIC_FORMULA = 0, 1
"""Values of TYRE_KIND."""

TYRE_KIND = 0
TYRE_NOMINAL_LOAD = 1
TYRE_RADIUS = 2
TYRE_STIFFNESS = 3  # vertical
TYRE_DAMPING = 4  # vertical
TYRE_DYNAMIC_SHARE = 5  # r_D = share · free radius + (1 − share) · loaded radius
TYRE_ROLLING_RESISTANCE = 6
TYRE_STIFFNESS_X = 7  # carcass
TYRE_STIFFNESS_Y = 8
TYRE_DAMPING_X = 9
TYRE_DAMPING_Y = 10
TYRE_STANDSTILL_SPEED = 11  # the fictitious v_n
TYRE_CAMBER_SLIP = 12  # lateral slip that one radian of camber is worth
TYRE_TRAIL = 13
TYRE_TRAIL_ZERO_SLIP = 14
TYRE_FRICTION = 15
TYRE_HAT_X = 16  # TMeasy: weights of the slips
TYRE_HAT_Y = 17
TYRE_CURVE_X = 18
TYRE_CURVE_Y = 31
TYRE_WIDTH = 44
"""Length of a tyre's row; each curve takes 13 columns."""

# A quantity that is quadratic in load takes three columns (a, b, q_max): q (a − b q) with q = min(F_z/F_N, q_max).
# One that is linear in load takes two: value at zero load, and increase per nominal load, held beyond twice of it.
CURVE_SLOPE = 0  # both kinds: initial slope dF0 = B C D, quadratic
CURVE_PEAK = 3  # both kinds: F_M = D, quadratic
CURVE_SLIDING = 6  # TMeasy: F_S, quadratic
CURVE_PEAK_SLIP = 9  # TMeasy: s_M, linear
CURVE_SLIDING_SLIP = 11  # TMeasy: s_S, linear
CURVE_SHAPE = 6  # Magic Formula: C
CURVE_CURVATURE = 7  # Magic Formula: E, linear
CURVE_SHIFT_SLIP = 9  # Magic Formula: S_H
CURVE_SHIFT_FORCE = 10  # Magic Formula: S_V per load

BRAKE_PAD = 0  # four columns: pad force = c0 + c1 p + c2 p² + c3 p³
BRAKE_FRICTION_RADIUS = 4  # 2 μ R_eq
BRAKE_STIFFNESS = 5
BRAKE_DAMPING = 6
BRAKE_WIDTH = 7

OPEN, LIMITED_SLIP = 0, 1
"""Values of DIFFERENTIAL_KIND."""

DIFFERENTIAL_KIND = 0
DIFFERENTIAL_PRELOAD = 1
DIFFERENTIAL_DRIVE = 2
DIFFERENTIAL_COAST = 3
DIFFERENTIAL_SPEED = 4
DIFFERENTIAL_WIDTH = 5

AERO_DRAG = 0  # force per squared speed
AERO_LIFT_FRONT = 1
AERO_LIFT_REAR = 2
AERO_WIDTH = 3

PLANE, SINE, BUMP = 0, 1, 2
"""Values of ROAD_KIND."""

ROAD_KIND = 0
ROAD_HEIGHT = 1  # plane: height at the origin; sine: amplitude; bump: height
ROAD_X = 2  # plane: slope along x; sine: wave number along x; bump: direction
ROAD_Y = 3
ROAD_PHASE = 4  # sine
ROAD_CENTRE_X = 4  # bump
ROAD_CENTRE_Y = 5
ROAD_LENGTH = 6
ROAD_WIDTH_ACROSS = 7  # bump; 0 = unlimited
ROAD_EDGE = 8  # bump: over which it falls to zero at the sides
ROAD_WIDTH = 9
"""Length of a row of the table of a road's features."""
