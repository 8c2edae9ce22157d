"""What the sensors of a simulated car would send: an RTK receiver's NMEA sentences, an IMU's text lines.

Each instrument turns a `Motion` into bytes with the time at which they leave the sensor's port. Noise comes from a
generator that is passed in, so that a drive can be repeated to the byte.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from hodograph.acquisition.geodesy import EnuFrame, Geodetic
from hodograph.core import Array
from hodograph.core.display import short_repr
from hodograph.core.frames import yaw_from_heading_rad
from hodograph.core.units import GRAVITY_MPS2, KNOT_MPS
from hodograph.twin.lap import Motion

_DEG = math.pi / 180.0
RTK_FIXED = 4  # GGA quality digit


@dataclass(frozen=True, slots=True)
class TimedBytes:
    """Bytes that leave a sensor's port `t_s` seconds after the start of the drive."""

    t_s: float
    chunk: bytes


@dataclass(frozen=True, slots=True)
class GnssReceiver:
    """An RTK receiver with fixed ambiguities that sends GGA, RMC and GST for every epoch.

    The error of a position is a slow wander (multipath, atmosphere) plus white noise; both 1-sigma per axis.
    """

    origin: Geodetic[float]
    rate_hz: float = 10.0
    latency_s: float = 0.045
    wander_std_m: float = 0.006
    wander_s: float = 20.0
    white_std_m: float = 0.003
    speed_std_mps: float = 0.02
    geoid_separation_m: float = 47.3

    def send(self, motion: Motion, start: datetime, rng: np.random.Generator) -> list[TimedBytes]:
        """Three sentences per epoch of `motion`, whose first instant is `start` (UTC)."""
        t_s = np.arange(0.0, float(motion.t_s[-1]), 1 / self.rate_hz)
        at = motion.at(t_s)
        east_m, north_m, up_m = (np.column_stack([at.east_m, at.north_m, np.zeros_like(t_s)]) + self._error(t_s, rng)).T
        point = EnuFrame(self.origin).geodetic_from_enu(np.column_stack([east_m, north_m, up_m]))
        v_east = at.v_east_mps + rng.normal(0.0, self.speed_std_mps, t_s.shape)
        v_north = at.v_north_mps + rng.normal(0.0, self.speed_std_mps, t_s.shape)
        course_rad = yaw_from_heading_rad(np.arctan2(v_north, v_east)) % (2 * math.pi)
        late_s = self.latency_s + 0.004 * rng.random(t_s.shape)
        rows = zip(
            t_s.tolist(),
            np.column_stack([point.latitude_rad, point.longitude_rad, point.height_m]).tolist(),
            np.hypot(v_east, v_north).tolist(),
            course_rad.tolist(),
            late_s.tolist(),
            strict=True,
        )
        return [
            TimedBytes(t + late, self._epoch(start.astimezone(UTC) + timedelta(seconds=t), place, speed, course))
            for t, place, speed, course, late in rows
        ]

    def _error(self, t_s: Array, rng: np.random.Generator) -> Array:
        """Position error (n, 3): first-order Gauss-Markov wander plus white noise; up is twice as bad."""
        keep = math.exp(-1 / (self.rate_hz * self.wander_s))
        steps = rng.normal(0.0, self.wander_std_m, (t_s.size, 3))
        wander = np.empty_like(steps)
        last = steps[0]
        for i, step in enumerate(steps):
            last = keep * last + math.sqrt(1 - keep**2) * step
            wander[i] = last
        return np.asarray((wander + rng.normal(0.0, self.white_std_m, steps.shape)) * [1.0, 1.0, 2.0])

    def _epoch(self, utc: datetime, place: list[float], speed_mps: float, course_rad: float) -> bytes:
        latitude = _ddmm(place[0] / _DEG, 2, "NS")
        longitude = _ddmm(place[1] / _DEG, 3, "EW")
        clock = f"{utc:%H%M%S}.{utc.microsecond // 10000:02d}"
        altitude_m = place[2] - self.geoid_separation_m
        std_m = math.hypot(self.wander_std_m, self.white_std_m)
        return b"".join(
            nmea_sentence(body)
            for body in (
                f"GNGGA,{clock},{latitude},{longitude},{RTK_FIXED},18,0.6,{altitude_m:.4f},M,"
                f"{self.geoid_separation_m:.4f},M,1.0,0042",
                f"GNRMC,{clock},A,{latitude},{longitude},{speed_mps / KNOT_MPS:.4f},{course_rad / _DEG % 360:.3f},"
                f"{utc:%d%m%y},,,R",
                f"GNGST,{clock},{2 * std_m:.4f},{std_m:.4f},{std_m:.4f},0.0,{std_m:.4f},{std_m:.4f},{2 * std_m:.4f}",
            )
        )

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class LineImu:
    """A strap-down IMU at the car's reference point, axes as the body's, that sends `t_us,ax,ay,az,gx,gy,gz`.

    Accelerations in g, rates in deg/s; white noise, constant biases, and the shaking of an engine at `engine_hz`.
    """

    rate_hz: float = 100.0
    acc_std_mps2: float = 0.08
    gyro_std_radps: float = 0.1 * _DEG
    acc_bias_mps2: tuple[float, float, float] = (0.05, -0.03, 0.04)
    gyro_bias_radps: tuple[float, float, float] = (0.002, -0.001, 0.0015)
    engine_hz: float = 31.0
    engine_mps2: float = 0.25

    def send(self, motion: Motion, rng: np.random.Generator) -> list[TimedBytes]:
        """One line per sample of `motion`; the clock in the first field starts at an arbitrary time, as clocks do."""
        t_s = np.arange(0.0, float(motion.t_s[-1]), 1 / self.rate_hz)
        at = motion.at(t_s)
        zero = np.zeros_like(t_s)
        shaking = self.engine_mps2 * np.sin(2 * math.pi * self.engine_hz * t_s)
        acc = np.column_stack([at.acc_x_mps2, at.acc_y_mps2, GRAVITY_MPS2 + shaking]) + self.acc_bias_mps2
        gyro = np.column_stack([zero, zero, at.yaw_rate_radps]) + self.gyro_bias_radps
        acc_g = (acc + rng.normal(0.0, self.acc_std_mps2, acc.shape)) / GRAVITY_MPS2
        gyro_degps = (gyro + rng.normal(0.0, self.gyro_std_radps, gyro.shape)) / _DEG
        ticks_us = np.rint(t_s * 1e6).astype(np.int64) + 7_340_152
        rows = zip(t_s.tolist(), ticks_us.tolist(), acc_g.tolist(), gyro_degps.tolist(), strict=True)
        return [
            TimedBytes(t + 0.0005, b"%d,%.5f,%.5f,%.5f,%.4f,%.4f,%.4f\r\n" % (tick, *a, *w)) for t, tick, a, w in rows
        ]

    __repr__ = short_repr


def nmea_sentence(body: str) -> bytes:
    """`$body*hh` with its checksum and line end."""
    checksum = 0
    for byte in body.encode("ascii"):
        checksum ^= byte
    return f"${body}*{checksum:02X}\r\n".encode("ascii")


def rig_text(gnss_port: str, imu_port: str) -> str:
    """The rig file of a car with these two instruments."""
    return f"""schema = 1
name = "twin"

[sensors.gnss]
port = "{gnss_port}"
protocol = "nmea"
rate_hz = 10

[sensors.imu]
port = "{imu_port}"
baud = 921600
protocol = "lines"
time_unit = "us"
rate_hz = 100
columns = [
    {{ channel = "acc_x_mps2", unit = "g", description = "specific force forward" }},
    {{ channel = "acc_y_mps2", unit = "g", description = "specific force to the left" }},
    {{ channel = "acc_z_mps2", unit = "g", description = "specific force upward" }},
    {{ channel = "gyro_x_radps", unit = "deg/s", description = "roll rate" }},
    {{ channel = "gyro_y_radps", unit = "deg/s", description = "pitch rate" }},
    {{ channel = "gyro_z_radps", unit = "deg/s", description = "yaw rate" }},
]
"""


def _ddmm(angle_deg: float, digits: int, hemispheres: str) -> str:
    """Degrees as NMEA writes them: ddmm.mmmmmmm (0.2 mm) and the hemisphere."""
    ticks = round(abs(angle_deg) * 60 * 10**7)
    degrees, rest = divmod(ticks, 60 * 10**7)
    minutes, fraction = divmod(rest, 10**7)
    return f"{degrees:0{digits}d}{minutes:02d}.{fraction:07d},{hemispheres[angle_deg < 0]}"
