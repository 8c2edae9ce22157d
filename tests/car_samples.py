"""A car for tests: the corner that Magri 2024 prints, at the front axle of an otherwise ordinary car."""

from __future__ import annotations

from dataclasses import replace

from hodograph.multibody.car.vehicle import read_vehicle
from hodograph.vehicles.car import Spring, Vehicle
from hodograph.vehicles.checks import Vec3
from hodograph.vehicles.suspension import Arm, DoubleWishbone, Knuckle, Rod

WHEELBASE_M = 3.1
RADIUS_M = 0.2286


def _here(x_mm: float, y_mm: float, z_mm: float) -> Vec3:
    """A printed point (front axle centre on the ground, y < 0 side) in the body axes, mirrored to the left."""
    return (WHEELBASE_M + x_mm / 1e3, -y_mm / 1e3, z_mm / 1e3 - RADIUS_M)


def printed_corner() -> Vehicle:
    """The hard points of the .sgs screenshot in Magri 2024, section 2.3.1, exact lengths; masses of no matter.

    The legs called front there lie at smaller x, so front and rear change places.
    """
    arm = Arm(2.0, (-0.2, 0.2), (0.01, 0.02, 0.03))
    suspension = DoubleWishbone(
        lower_front_m=_here(210, -70, 129),
        lower_rear_m=_here(-248, -70, 125),
        lower_ball_m=_here(-8, -540, 139),
        upper_front_m=_here(190, -251, 299),
        upper_rear_m=_here(-179, -234.5, 324),
        upper_ball_m=_here(8, -495, 325),
        link_inner_m=_here(-81, -180, 155),
        link_outer_m=_here(46, -484, 164),
        lower_arm=arm,
        upper_arm=arm,
        knuckle=Knuckle(5.0, (0.0, -0.05, 0.0), (0.03, 0.03, 0.03)),
        link=Rod(0.2),
    )
    ordinary = read_vehicle("xbw")
    spring = Spring("lower_arm", _here(0, -400, 140), _here(0, -300, 500), 30000.0)
    front = replace(
        ordinary.front,
        wheel_centre_m=_here(0, -600, 228.6),
        toe_deg=0.0,
        camber_deg=0.0,
        suspension=suspension,
        spring=spring,
    )
    body = replace(ordinary.body, origin_height_m=RADIUS_M)
    return replace(ordinary, name="printed", front=front, body=body)
