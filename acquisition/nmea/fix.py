"""A fix: everything a receiver said about one instant, in SI."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from hodograph.core import Channel, Frame, Reading, StreamSchema
from hodograph.core.display import short_repr


class FixQuality(IntEnum):
    """What a position rests on: the digit of the GGA sentence. The numbers are written to logs: never renumber."""

    NONE = 0
    SINGLE = 1
    DGPS = 2
    PPS = 3
    RTK_FIXED = 4
    RTK_FLOAT = 5
    DEAD_RECKONING = 6
    MANUAL = 7
    SIMULATED = 8


# 1-sigma in m, (each horizontal axis, up), at HDOP 1: used where the receiver sends no GST. Data sheets' values for
# an open sky, rounded up. A typed-in or simulated position has no honest value.
STD_BY_QUALITY_M: Mapping[FixQuality, tuple[float, float]] = {
    FixQuality.SINGLE: (1.5, 3.0),
    FixQuality.DGPS: (0.6, 1.2),
    FixQuality.PPS: (1.0, 2.0),
    FixQuality.RTK_FIXED: (0.01, 0.02),
    FixQuality.RTK_FLOAT: (0.25, 0.5),
    FixQuality.DEAD_RECKONING: (10.0, 20.0),
}


def table_std_m(quality: FixQuality, hdop: float) -> tuple[float, float]:
    """(each horizontal axis, up) 1-sigma by quality, times the HDOP where that is known and above 1."""
    horizontal_m, up_m = STD_BY_QUALITY_M.get(quality, (math.nan, math.nan))
    factor = hdop if hdop > 1.0 else 1.0
    return horizontal_m * factor, up_m * factor


@dataclass(frozen=True, slots=True)
class Fix:
    """One epoch of a receiver; NaN where it did not say, and no coordinates at all without a fix.

    `t_ns` is the arrival of the epoch's first sentence. `t_utc_ns` counts from 1970 (None: no time, or no date yet);
    `time_of_day_ns` is UTC without its date. Height is above the ellipsoid; course and heading are clockwise from true
    north, the course only from 0.5 m/s on.
    """

    t_ns: int
    t_utc_ns: int | None
    time_of_day_ns: int | None
    latitude_rad: float
    longitude_rad: float
    height_m: float
    quality: FixQuality
    satellites: float
    hdop: float
    age_s: float
    speed_mps: float
    course_compass_rad: float
    heading_compass_rad: float
    std_east_m: float
    std_north_m: float
    std_up_m: float

    @property
    def has_position(self) -> bool:
        """Whether latitude and longitude are there."""
        return self.quality is not FixQuality.NONE

    @property
    def values(self) -> tuple[float, ...]:
        """The numbers in the order of `fix_schema`."""
        return (
            self.latitude_rad,
            self.longitude_rad,
            self.height_m,
            float(self.quality),
            self.satellites,
            self.hdop,
            self.age_s,
            self.speed_mps,
            self.course_compass_rad,
            self.heading_compass_rad,
            self.std_east_m,
            self.std_north_m,
            self.std_up_m,
        )

    def reading(self, stream: str) -> Reading:
        """The fix as a row of `stream`."""
        return Reading(self.t_ns, stream, self.values, self.t_utc_ns)

    __repr__ = short_repr


def fix_schema(stream: str = "gnss", rate_hz: float | None = None) -> StreamSchema:
    """The channels of a stream of fixes."""
    geodetic, enu, none = Frame.GEODETIC, Frame.ENU, Frame.NONE
    channels = (
        ("latitude_rad", "rad", geodetic, "north positive"),
        ("longitude_rad", "rad", geodetic, "east positive"),
        ("height_m", "m", geodetic, "above the ellipsoid"),
        ("quality", "1", none, "0 none, 1 single, 2 DGPS, 3 PPS, 4 RTK fixed, 5 RTK float, 6 dead reckoning"),
        ("satellites", "1", none, "satellites used"),
        ("hdop", "1", none, "horizontal dilution of precision"),
        ("age_s", "s", none, "age of the differential corrections"),
        ("speed_mps", "m/s", none, "over ground"),
        ("course_compass_rad", "rad", none, "over ground, clockwise from true north, from 0.5 m/s on"),
        ("heading_compass_rad", "rad", none, "of the antenna baseline, clockwise from true north"),
        ("std_east_m", "m", enu, "1-sigma, from GST or by quality and HDOP"),
        ("std_north_m", "m", enu, "1-sigma, from GST or by quality and HDOP"),
        ("std_up_m", "m", enu, "1-sigma, from GST or by quality and HDOP"),
    )
    return StreamSchema(
        stream,
        tuple(Channel(name, unit, frame, rate_hz, text) for name, unit, frame, text in channels),
        description="fixes of a GNSS receiver",
    )
