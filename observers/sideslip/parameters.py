"""The numbers of the sideslip filter: the car, its tyres, and how noisy everything is."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, fields

import numpy as np

from hodograph.core import StateLayout
from hodograph.core.display import short_repr

LAYOUT = StateLayout(
    (
        "v_y_mps",  # lateral velocity at the centre of gravity
        "yaw_rate_radps",
        "force_front_n",  # lateral force of the front axle, in the wheels' axes
        "force_rear_n",
        "steer_offset_rad",  # what the steering sensor shows with the wheels straight
        "acc_y_offset_mps2",  # what the accelerometer shows without tyre force
        "gravity_y_mps2",  # gravity along the body's y axis: banked road and body roll
        "beta_cg_rad",  # sideslip at the centre of gravity; follows from lateral velocity and speed
    )
)
STATES = len(LAYOUT) - 1
"""Rows that the filter moves by itself; the last, sideslip, is told from them."""
(V_Y, YAW_RATE, FORCE_F, FORCE_R, STEER_0, ACC_0, GRAV, BETA_CG) = range(len(LAYOUT))


@dataclass(frozen=True, slots=True)
class SideslipParameters:
    """Car, tyres and noise of the sideslip filter; SI, stiffness and friction per axle at static load.

    `*_std` are densities of random walks per √s, unless the name says `meas` (1-sigma of one sample) or `start`.
    """

    mass_kg: float = 1200.0
    yaw_inertia_kgm2: float = 1600.0
    cg_to_front_m: float = 1.3
    cg_to_rear_m: float = 1.3
    track_m: float = 1.5
    cg_height_m: float = 0.5
    roll_share_front: float = 0.5  # share of the lateral load transfer that the front axle takes
    brake_share_front: float = 0.6
    drive_share_front: float = 0.0
    stiffness_front_n_rad: float = 80e3  # N/rad of the axle
    stiffness_rear_n_rad: float = 100e3
    friction_front: float = 1.2
    friction_rear: float = 1.2
    shape: float = 1.4  # Magic Formula C
    load_sensitivity: float = 0.1  # loss of stiffness and friction per doubled wheel load
    relaxation_m: float = 0.4
    v_y_std_mps: float = 0.1
    yaw_rate_std_radps: float = 0.05
    force_front_std_n: float = 4e3
    force_rear_std_n: float = 4e3
    steer_offset_std_rad: float = 1e-4
    acc_y_offset_std_mps2: float = 0.003
    gravity_y_std_mps2: float = 0.25  # stationary 1-sigma
    gravity_y_time_s: float = 2.0
    acc_y_meas_std_mps2: float = 1.0
    yaw_rate_meas_std_radps: float = 0.01
    rolling_std_rad: float = 0.01  # rear slip angle not explained by its force, at no excitation
    steer_offset_start_rad: float = 0.0
    acc_y_offset_start_mps2: float = 0.0

    def __post_init__(self) -> None:
        for name in NAMES:
            value = getattr(self, name)
            if not np.isfinite(value) or (value <= 0 and name not in MAY_BE_ZERO):
                raise ValueError(f"sideslip parameters: {name} is {value}, want a positive number")

    @property
    def numbers(self) -> Numbers:
        """The same for the kernels."""
        return Numbers(*astuple(self))

    __repr__ = short_repr


NAMES: tuple[str, ...] = tuple(f.name for f in fields(SideslipParameters))
Numbers = namedtuple("Numbers", NAMES)  # type: ignore[misc]
"""`SideslipParameters` as a kernel takes them."""
MAY_BE_ZERO = {
    "load_sensitivity",
    "drive_share_front",
    "brake_share_front",
    "steer_offset_start_rad",
    "acc_y_offset_start_mps2",
}


@dataclass(frozen=True, slots=True)
class FilterPart:
    """The filter of a model: its parameters, by how much its own band was too narrow, the surprise it may show.

    `network_time_s` (hybrid): errors of the network nearer in time than this are one error, so that a reading every
    dt counts with variance std² · 2·time/dt. `limits`: 95 % confidence of what was identified.
    """

    parameters: SideslipParameters
    band_scale: float = 1.0
    nis_limit: float = 20.0
    network_time_s: float = 0.0
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, least in (("band_scale", 1e-3), ("nis_limit", 1e-3), ("network_time_s", 0.0)):
            value = getattr(self, name)
            if not least <= value < 1e9:
                raise ValueError(f"sideslip filter: {name} is {value}, want at least {least:g}")

    __repr__ = short_repr
