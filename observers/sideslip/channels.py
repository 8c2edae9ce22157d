"""What sideslip is estimated from: the channels by name, unit and sense, and the ways other logs call them."""

from __future__ import annotations

from collections.abc import Mapping

CHANNELS: Mapping[str, str] = {  # in the order of the kernels' rows, with units
    "v_x_mps": "m/s",
    "steer_rad": "rad",
    "acc_y_mps2": "m/s^2",
    "acc_x_mps2": "m/s^2",
    "gyro_z_radps": "rad/s",
}
(V_X, STEER, ACC_Y, ACC_X, GYRO_Z) = range(len(CHANNELS))
BETA_CHANNEL = "beta_cg_rad"
BETA = len(CHANNELS)
"""The row of a sensor that sees sideslip itself: a measurement of the filter, no input of a network."""
ROWS = len(CHANNELS) + 1

LOWEST = (-30.0, -1.5, -160.0, -160.0, -35.0, -1.6)
HIGHEST = (150.0, 1.5, 160.0, 160.0, 35.0, 1.6)
"""What a road vehicle and its sensors can say, per row; beyond, a reading is no measurement at all."""

ALSO_CALLED: Mapping[str, tuple[str, ...]] = {
    "v_x_mps": ("v_x_mps", "speed_mps"),
    "gyro_z_radps": ("gyro_z_radps", "yaw_rate_radps"),
}
"""Names under which logs may hold a channel, the best first."""
V_MIN_MPS = 3.0
"""Below this speed sideslip means nothing."""
STALE_S = 0.5
"""A channel that was not heard for longer is missing."""
