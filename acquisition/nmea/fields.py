"""The body of a sentence → numbers in SI.

Which field stands where is pynmea2's knowledge (its sentence classes); reading them is ours, because pynmea2 gives an
empty position as 0°, cuts times to microseconds through floats, and spends most of its time on a regular expression
that the framing has already done. A `ValueError` means that a field that is needed cannot be read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import date
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from pynmea2 import TalkerSentence
from pynmea2.types import talker

from hodograph.acquisition.nmea.fix import FixQuality
from hodograph.core.units import KNOT_MPS, kmh_to_mps

DAY_NS = 86_400 * 10**9
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_FIRST_GPS_YEAR = 1980  # no two-digit year can mean one before
_DEG = math.pi / 180.0
_NAN = math.nan

# The letter of RMC, VTG and (one per satellite system) GNS; in GNS the best one counts, which is the first here.
_QUALITY_BY_MODE: Mapping[str, FixQuality] = {
    "R": FixQuality.RTK_FIXED,
    "F": FixQuality.RTK_FLOAT,
    "P": FixQuality.PPS,
    "D": FixQuality.DGPS,
    "A": FixQuality.SINGLE,
    "E": FixQuality.DEAD_RECKONING,
    "M": FixQuality.MANUAL,
    "S": FixQuality.SIMULATED,
}
_QUALITY_BY_DIGIT: Mapping[str, FixQuality] = {str(q.value): q for q in FixQuality} | {
    "": FixQuality.NONE,
    "9": FixQuality.DGPS,  # NovAtel: corrections by satellite
}


class THS(TalkerSentence):  # type: ignore[misc]
    """True heading and status, which pynmea2 lacks; declared the way it asks for."""

    fields = (("Heading", "heading"), ("Status", "status"))


class Position(NamedTuple):
    """What GGA or GNS says."""

    time_of_day_ns: int | None
    quality: FixQuality
    latitude_rad: float
    longitude_rad: float
    height_m: float
    satellites: float
    hdop: float
    age_s: float


class Minimum(NamedTuple):
    """What RMC says; `day` counts from 1970-01-01."""

    time_of_day_ns: int | None
    day: int | None
    quality: FixQuality
    latitude_rad: float
    longitude_rad: float
    speed_mps: float
    course_rad: float


class GroundVelocity(NamedTuple):
    """What VTG says."""

    speed_mps: float
    course_rad: float


class Spread(NamedTuple):
    """What GST says; 1-sigma, NaN unless positive."""

    time_of_day_ns: int | None
    std_east_m: float
    std_north_m: float
    std_up_m: float


class Clock(NamedTuple):
    """What ZDA says; `day` counts from 1970-01-01."""

    time_of_day_ns: int | None
    day: int | None


class Heading(NamedTuple):
    """What HDT or THS says."""

    heading_rad: float


Report: TypeAlias = Position | Minimum | GroundVelocity | Spread | Clock | Heading


def _at(sentence: type[TalkerSentence], name: str) -> int:
    index: int = sentence.name_to_idx[name]
    return index


_GGA_TIME, _GGA_LAT = _at(talker.GGA, "timestamp"), _at(talker.GGA, "lat")
_GGA_QUALITY, _GGA_SATELLITES = _at(talker.GGA, "gps_qual"), _at(talker.GGA, "num_sats")
_GGA_HDOP, _GGA_AGE = _at(talker.GGA, "horizontal_dil"), _at(talker.GGA, "age_gps_data")
_GGA_ALTITUDE, _GGA_ALTITUDE_UNIT = _at(talker.GGA, "altitude"), _at(talker.GGA, "altitude_units")
_GGA_GEOID, _GGA_GEOID_UNIT = _at(talker.GGA, "geo_sep"), _at(talker.GGA, "geo_sep_units")
_GNS_TIME, _GNS_LAT = _at(talker.GNS, "timestamp"), _at(talker.GNS, "lat")
_GNS_MODE, _GNS_SATELLITES = _at(talker.GNS, "mode_indicator"), _at(talker.GNS, "num_sats")
_GNS_HDOP, _GNS_AGE = _at(talker.GNS, "hdop"), _at(talker.GNS, "age_gps_data")
_GNS_ALTITUDE, _GNS_GEOID = _at(talker.GNS, "altitude"), _at(talker.GNS, "geo_sep")
_RMC_TIME, _RMC_DATE, _RMC_LAT = _at(talker.RMC, "timestamp"), _at(talker.RMC, "datestamp"), _at(talker.RMC, "lat")
_RMC_STATUS, _RMC_MODE = _at(talker.RMC, "status"), _at(talker.RMC, "mode_indicator")
_RMC_SPEED, _RMC_COURSE = _at(talker.RMC, "spd_over_grnd"), _at(talker.RMC, "true_course")
_VTG_COURSE, _VTG_COURSE_UNIT = _at(talker.VTG, "true_track"), _at(talker.VTG, "true_track_sym")
_VTG_KNOTS, _VTG_KMH = _at(talker.VTG, "spd_over_grnd_kts"), _at(talker.VTG, "spd_over_grnd_kmph")
_VTG_MODE = _at(talker.VTG, "faa_mode")
_GST_TIME, _GST_NORTH = _at(talker.GST, "timestamp"), _at(talker.GST, "std_dev_latitude")
_GST_EAST, _GST_UP = _at(talker.GST, "std_dev_longitude"), _at(talker.GST, "std_dev_altitude")
_ZDA_TIME, _ZDA_DAY = _at(talker.ZDA, "timestamp"), _at(talker.ZDA, "day")
_ZDA_MONTH, _ZDA_YEAR = _at(talker.ZDA, "month"), _at(talker.ZDA, "year")
_HDT_HEADING = _at(talker.HDT, "heading")
_THS_HEADING, _THS_STATUS = _at(THS, "heading"), _at(THS, "status")


def _number(text: str) -> float:
    """A decimal number, NaN when empty; `nan`, `inf` and the like are refused."""
    if not text:
        return _NAN
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"not a finite number: {text!r}")
    return value


def _not_negative(text: str) -> float:
    if not text:
        return _NAN
    value = float(text)
    if not 0.0 <= value < math.inf:
        raise ValueError(f"not a finite number from 0 on: {text!r}")
    return value


def _angle_rad(text: str) -> float:
    """Degrees clockwise from north → rad in [0, 2π)."""
    return _number(text) % 360.0 * _DEG if text else _NAN


@lru_cache(maxsize=4)  # the sentences of an epoch repeat its time
def time_of_day_ns(text: str) -> int | None:
    """`hhmmss` or `hhmmss.sss` → ns since midnight, exactly; a leap second is squeezed into the µs before."""
    if not text:
        return None
    if len(text) < 6 or (len(text) > 6 and text[6] != ".") or not (text[:6] + text[7:]).isdigit():
        raise ValueError(f"not a time of day: {text!r}")
    hour, minute, second = int(text[:2]), int(text[2:4]), int(text[4:6])
    if hour > 23 or minute > 59 or second > 60:
        raise ValueError(f"not a time of day: {text!r}")
    whole_ns = (hour * 3600 + minute * 60 + second) * 10**9
    fraction_ns = int(text[7:16].ljust(9, "0")) if len(text) > 7 else 0
    if second == 60:
        return whole_ns - 1000 + fraction_ns // 10**6
    return whole_ns + fraction_ns


@lru_cache(maxsize=16)
def _day(day: str, month: str, year: str) -> int | None:
    """Days since 1970-01-01; None where there is no such day (receivers without a fix send all zeros)."""
    try:
        return date(int(year), int(month), int(day)).toordinal() - _EPOCH_DAY
    except ValueError:
        return None


@lru_cache(maxsize=16)
def day_from_ddmmyy(text: str) -> int | None:
    """`ddmmyy` → days since 1970-01-01, None if it is no date; the year lies in 1980 to 2079."""
    if len(text) != 6 or not text.isdigit():
        return None
    century = 1900 if int(text[4:]) >= _FIRST_GPS_YEAR - 1900 else 2000
    return _day(text[:2], text[2:4], str(century + int(text[4:])))


def _coordinate_rad(ddmm: str, letter: str, positive: str, negative: str, max_deg: int) -> float:
    """`ddmm.mmmm` or `dddmm.mmmm` and its letter → rad."""
    point = ddmm.find(".")
    split = (point if point >= 0 else len(ddmm)) - 2
    if split < 1 or not ddmm.replace(".", "", 1).isdigit():
        raise ValueError(f"not a coordinate: {ddmm!r}")
    minutes = float(ddmm[split:])
    degrees = int(ddmm[:split]) + minutes / 60.0
    if minutes >= 60.0 or degrees > max_deg:
        raise ValueError(f"not a coordinate: {ddmm!r}")
    if letter == positive:
        return degrees * _DEG
    if letter == negative:
        return -degrees * _DEG
    raise ValueError(f"not a direction: {letter!r}")


@lru_cache(maxsize=4)  # GGA, GNS and RMC of an epoch repeat its position
def _latitude_longitude_rad(latitude: str, north: str, longitude: str, east: str) -> tuple[float, float]:
    """Latitude, N or S, longitude, E or W: four fields in a row wherever there is a position."""
    return _coordinate_rad(latitude, north, "N", "S", 90), _coordinate_rad(longitude, east, "E", "W", 180)


def _no_position(time_ns: int | None, satellites: float) -> Position:
    return Position(time_ns, FixQuality.NONE, _NAN, _NAN, _NAN, satellites, _NAN, _NAN)


def _gga(fields: list[str]) -> Position:
    quality = _QUALITY_BY_DIGIT[fields[_GGA_QUALITY].lstrip("0") or fields[_GGA_QUALITY][:1]]
    time_ns, satellites = time_of_day_ns(fields[_GGA_TIME]), _not_negative(fields[_GGA_SATELLITES])
    if quality is FixQuality.NONE:
        return _no_position(time_ns, satellites)
    if fields[_GGA_ALTITUDE_UNIT] not in ("M", "") or fields[_GGA_GEOID_UNIT] not in ("M", ""):
        raise ValueError("height is not in metres")
    return Position(
        time_ns,
        quality,
        *_latitude_longitude_rad(*fields[_GGA_LAT : _GGA_LAT + 4]),
        _number(fields[_GGA_ALTITUDE]) + _number(fields[_GGA_GEOID]),
        satellites,
        _not_negative(fields[_GGA_HDOP]),
        _not_negative(fields[_GGA_AGE]) if len(fields) > _GGA_AGE else _NAN,
    )


def _gns(fields: list[str]) -> Position:
    modes = fields[_GNS_MODE]
    quality = next((q for letter, q in _QUALITY_BY_MODE.items() if letter in modes), FixQuality.NONE)
    time_ns, satellites = time_of_day_ns(fields[_GNS_TIME]), _not_negative(fields[_GNS_SATELLITES])
    if quality is FixQuality.NONE:
        return _no_position(time_ns, satellites)
    return Position(
        time_ns,
        quality,
        *_latitude_longitude_rad(*fields[_GNS_LAT : _GNS_LAT + 4]),
        _number(fields[_GNS_ALTITUDE]) + _number(fields[_GNS_GEOID]),
        satellites,
        _not_negative(fields[_GNS_HDOP]),
        _not_negative(fields[_GNS_AGE]) if len(fields) > _GNS_AGE else _NAN,
    )


def _rmc(fields: list[str]) -> Minimum:
    time_ns, day = time_of_day_ns(fields[_RMC_TIME]), day_from_ddmmyy(fields[_RMC_DATE])
    quality = FixQuality.NONE
    if fields[_RMC_STATUS] == "A":  # the navigational status behind it is `V` on most receivers and means nothing
        mode = fields[_RMC_MODE] if len(fields) > _RMC_MODE else "A"
        quality = _QUALITY_BY_MODE.get(mode or "A", FixQuality.NONE)
    if quality is FixQuality.NONE:
        return Minimum(time_ns, day, quality, _NAN, _NAN, _NAN, _NAN)
    return Minimum(
        time_ns,
        day,
        quality,
        *_latitude_longitude_rad(*fields[_RMC_LAT : _RMC_LAT + 4]),
        _not_negative(fields[_RMC_SPEED]) * KNOT_MPS,
        _angle_rad(fields[_RMC_COURSE]),
    )


def _vtg(fields: list[str]) -> GroundVelocity:
    if fields[_VTG_COURSE_UNIT] != "T":
        raise ValueError("not a VTG of NMEA 2 or later")
    if len(fields) > _VTG_MODE and fields[_VTG_MODE] == "N":
        return GroundVelocity(_NAN, _NAN)
    speed_mps = _not_negative(fields[_VTG_KNOTS]) * KNOT_MPS
    if math.isnan(speed_mps):
        speed_mps = kmh_to_mps(_not_negative(fields[_VTG_KMH]))
    return GroundVelocity(speed_mps, _angle_rad(fields[_VTG_COURSE]))


def _positive(text: str) -> float:
    value = _number(text)
    return value if value > 0.0 else _NAN  # receivers write 0 where they do not know


def _gst(fields: list[str]) -> Spread:
    return Spread(
        time_of_day_ns(fields[_GST_TIME]),
        _positive(fields[_GST_EAST]),
        _positive(fields[_GST_NORTH]),
        _positive(fields[_GST_UP]),
    )


def _zda(fields: list[str]) -> Clock:
    day = _day(fields[_ZDA_DAY], fields[_ZDA_MONTH], fields[_ZDA_YEAR])
    return Clock(time_of_day_ns(fields[_ZDA_TIME]), day)


def _hdt(fields: list[str]) -> Heading:
    return Heading(_angle_rad(fields[_HDT_HEADING]))


def _ths(fields: list[str]) -> Heading:
    return Heading(_NAN if fields[_THS_STATUS] in ("V", "N") else _angle_rad(fields[_THS_HEADING]))


READERS: Mapping[bytes, Callable[[list[str]], Report]] = {
    b"GGA": _gga,
    b"GNS": _gns,
    b"RMC": _rmc,
    b"VTG": _vtg,
    b"GST": _gst,
    b"ZDA": _zda,
    b"HDT": _hdt,
    b"THS": _ths,
}


@lru_cache(maxsize=64)
def kind_of(address: bytes) -> bytes | None:
    """The sentence type behind the talker if it is one that fixes are made of; None for all others."""
    kind = address[2:]
    return kind if kind in READERS and not address.startswith(b"P") else None


def read_body(kind: bytes, body: bytes) -> Report | None:
    """What a sentence of `kind` says; None when a field that is needed is missing or cannot be read."""
    if b"_" in body:  # Python reads 1_0 as ten
        return None
    try:
        return READERS[kind](body.decode("ascii").split(","))
    except (ValueError, IndexError, KeyError):
        return None


def gga_quality_digits(body: bytes) -> str:
    """The quality field of a GGA sentence as it stands there; empty if there is none or it is not a small number."""
    fields = body.split(b",", _GGA_QUALITY + 1)
    text = fields[_GGA_QUALITY] if len(fields) > _GGA_QUALITY else b""
    return text.decode("ascii") if text.isdigit() and len(text) <= 2 else ""
