"""Where a fix is in metres: geodetic → ECEF → ENU about a fixed origin and back, positions and velocities.

A position on the ellipsoid is a `Geodetic`, built by keyword only, so that latitude and longitude cannot change places.
All arithmetic on the ellipsoid is PROJ's, through transformers that are built once per datum and once per origin
(building one costs 300 µs, using one 1 µs: the same equations in plain Python would save less than half of that, and be
a second truth). Scalars give vectors (3,), arrays (n,) give (n, 3). NaN in, NaN out.

WGS84 and ETRS89 differ here by their ellipsoid only (0.1 mm in the minor axis). Which of the two a receiver's numbers
refer to is decided by its corrections; coordinates are never moved from one to the other.

The equations are those of Sanjurjo 2016, 5.1-5.3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Generic, TypeAlias, cast

import numpy as np
import pyproj

from hodograph.core import Array
from hodograph.core.display import short_repr
from hodograph.core.frames import FloatOrArray

_LATITUDE_MAX_RAD = math.pi / 2
_LONGITUDE_MAX_RAD = 2 * math.pi  # both the -180..180 and the 0..360 habit
_DEG = math.pi / 180.0


class Datum(StrEnum):
    """The ellipsoid that latitude, longitude and height refer to."""

    WGS84 = "wgs84"
    ETRS89 = "etrs89"


_PROJ_ELLIPSOID = {Datum.WGS84: "WGS84", Datum.ETRS89: "GRS80"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Geodetic(Generic[FloatOrArray]):
    """A position, or (n,) of them: latitude north, longitude east, height above the *ellipsoid*.

    Keyword-only and in radians; `geodetic_from_degrees` is the other way in. Out of range is a `ValueError`, NaN (no
    fix) is not.
    """

    latitude_rad: FloatOrArray
    longitude_rad: FloatOrArray
    height_m: FloatOrArray

    def __post_init__(self) -> None:
        latitude_rad, longitude_rad = self.latitude_rad, self.longitude_rad
        if isinstance(latitude_rad, np.ndarray):
            _check_shapes(latitude_rad, longitude_rad, self.height_m)
            _check_range("latitude_rad", float(np.nanmax(np.abs(latitude_rad), initial=0.0)), _LATITUDE_MAX_RAD)
            _check_range("longitude_rad", float(np.nanmax(np.abs(longitude_rad), initial=0.0)), _LONGITUDE_MAX_RAD)
        elif abs(latitude_rad) > _LATITUDE_MAX_RAD or abs(longitude_rad) > _LONGITUDE_MAX_RAD:
            _check_range("latitude_rad", abs(latitude_rad), _LATITUDE_MAX_RAD)
            _check_range("longitude_rad", abs(longitude_rad), _LONGITUDE_MAX_RAD)

    __repr__ = short_repr


AnyGeodetic: TypeAlias = Geodetic[float] | Geodetic[Array]


def _check_range(name: str, largest_rad: float, limit_rad: float) -> None:
    if largest_rad > limit_rad:
        raise ValueError(f"{name} is ±{largest_rad:.6g}, want at most {limit_rad:.6g} (are these degrees, or swapped?)")


def _check_shapes(*columns: object) -> None:
    shapes = [np.shape(cast(Array, c)) for c in columns]
    if len(shapes[0]) != 1 or any(shape != shapes[0] for shape in shapes):
        raise ValueError(f"latitude, longitude and height have shapes {shapes}, want (n,) each")


def geodetic_from_degrees(
    *, latitude_deg: FloatOrArray, longitude_deg: FloatOrArray, height_m: FloatOrArray
) -> Geodetic[FloatOrArray]:
    """A `Geodetic` from decimal degrees (not from NMEA's ddmm.mmmm); scalars, or (n,) each."""
    return Geodetic(latitude_rad=latitude_deg * _DEG, longitude_rad=longitude_deg * _DEG, height_m=height_m)


def ellipsoidal_height_m(*, altitude_msl_m: FloatOrArray, geoid_separation_m: FloatOrArray) -> FloatOrArray:
    """Height above the ellipsoid = altitude above mean sea level + height of the geoid above the ellipsoid."""
    return altitude_msl_m + geoid_separation_m


def velocity_enu_mps(*, speed_mps: FloatOrArray, course_compass_rad: FloatOrArray) -> Array:
    """Speed over ground and course (clockwise from north) → level velocity, (3,) or (n, 3), in the local ENU."""
    if isinstance(speed_mps, np.ndarray):
        east, north = speed_mps * np.sin(course_compass_rad), speed_mps * np.cos(course_compass_rad)
        return np.column_stack((east, north, np.zeros_like(east)))
    return np.array((speed_mps * math.sin(course_compass_rad), speed_mps * math.cos(course_compass_rad), 0.0))


def rotation_enu_from_ecef(*, latitude_rad: float, longitude_rad: float) -> Array:
    """R_enu_from_ecef (3, 3) of the place given (Sanjurjo 2016, 5.3)."""
    sin_lat, cos_lat = math.sin(latitude_rad), math.cos(latitude_rad)
    sin_lon, cos_lon = math.sin(longitude_rad), math.cos(longitude_rad)
    return np.array(
        (
            (-sin_lon, cos_lon, 0.0),
            (-cos_lon * sin_lat, -sin_lon * sin_lat, cos_lat),
            (cos_lon * cos_lat, sin_lon * cos_lat, sin_lat),
        )
    )


@lru_cache(maxsize=len(Datum))
def _geocentric(datum: Datum) -> pyproj.Transformer:
    return pyproj.Transformer.from_pipeline(f"+proj=cart +ellps={_PROJ_ELLIPSOID[datum]}")


@lru_cache(maxsize=64)
def _topocentric(datum: Datum, latitude_rad: float, longitude_rad: float, height_m: float) -> pyproj.Transformer:
    ellipsoid = f"+ellps={_PROJ_ELLIPSOID[datum]}"
    origin = f"+lat_0={math.degrees(latitude_rad)!r} +lon_0={math.degrees(longitude_rad)!r} +h_0={height_m!r}"
    return pyproj.Transformer.from_pipeline(
        f"+proj=pipeline +step +proj=cart {ellipsoid} +step +proj=topocentric {ellipsoid} {origin}"
    )


def _forward(transformer: pyproj.Transformer, point: AnyGeodetic) -> Array:
    xyz = transformer.transform(point.longitude_rad, point.latitude_rad, point.height_m, radians=True)
    return np.array(xyz) if isinstance(xyz[0], float) else np.column_stack(xyz)


def _backward(transformer: pyproj.Transformer, xyz_m: Array) -> AnyGeodetic:
    if xyz_m.shape == (3,):
        x, y, z = xyz_m.tolist()
    elif xyz_m.ndim == 2 and xyz_m.shape[1] == 3:
        x, y, z = xyz_m.T
    else:
        raise ValueError(f"positions have shape {xyz_m.shape}, want (3,) or (n, 3)")
    longitude_rad, latitude_rad, height_m = transformer.transform(x, y, z, radians=True, direction="INVERSE")
    return Geodetic(latitude_rad=latitude_rad, longitude_rad=longitude_rad, height_m=height_m)


def ecef_from_geodetic(point: AnyGeodetic, datum: Datum = Datum.WGS84) -> Array:
    """Earth-centred, earth-fixed position in m, (3,) or (n, 3) (Sanjurjo 2016, 5.1)."""
    return _forward(_geocentric(datum), point)


def geodetic_from_ecef(pos_ecef_m: Array, datum: Datum = Datum.WGS84) -> AnyGeodetic:
    """The inverse of `ecef_from_geodetic`; (3,) gives scalars, (n, 3) gives (n,)."""
    return _backward(_geocentric(datum), pos_ecef_m)


@dataclass(frozen=True, slots=True)
class EnuFrame:
    """East, north, up about an origin that stays where it is for a whole recording.

    `R_enu_from_ecef` (3, 3) turns vectors; positions are turned and shifted (Sanjurjo 2016, 5.2).
    """

    origin: Geodetic[float]
    datum: Datum = Datum.WGS84
    R_enu_from_ecef: Array = field(init=False, repr=False, compare=False)
    _transformer: pyproj.Transformer = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        latitude_rad, longitude_rad = float(self.origin.latitude_rad), float(self.origin.longitude_rad)
        height_m = float(self.origin.height_m)
        if not math.isfinite(latitude_rad + longitude_rad + height_m):
            raise ValueError(f"origin is {self.origin}, want finite numbers")
        rotation = rotation_enu_from_ecef(latitude_rad=latitude_rad, longitude_rad=longitude_rad)
        rotation.setflags(write=False)
        object.__setattr__(self, "R_enu_from_ecef", rotation)
        object.__setattr__(self, "_transformer", _topocentric(self.datum, latitude_rad, longitude_rad, height_m))

    def enu_from_geodetic(self, point: AnyGeodetic) -> Array:
        """Position in this frame in m, (3,) or (n, 3)."""
        return _forward(self._transformer, point)

    def geodetic_from_enu(self, pos_enu_m: Array) -> AnyGeodetic:
        """The inverse of `enu_from_geodetic`; (3,) gives scalars, (n, 3) gives (n,)."""
        return _backward(self._transformer, pos_enu_m)

    def velocity_from_ecef(self, v_ecef_mps: Array) -> Array:
        """Velocity in this frame, (3,) or (n, 3), from one in ECEF."""
        turned: Array = v_ecef_mps @ self.R_enu_from_ecef.T
        return turned

    def velocity_to_ecef(self, v_enu_mps: Array) -> Array:
        """Velocity in ECEF, (3,) or (n, 3), from one in this frame."""
        turned: Array = v_enu_mps @ self.R_enu_from_ecef
        return turned

    def velocity_from_local(self, v_local_mps: Array, at: AnyGeodetic) -> Array:
        """Velocity in this frame, (3,) or (n, 3), from one in the east, north, up of the place(s) `at`.

        Receivers report the latter. The axes differ by the angle between the two verticals and the two norths: about
        1 mm/s at 60 m/s and 100 m from the origin.
        """
        return self.velocity_from_ecef(_ecef_from_local_mps(v_local_mps, at))

    __repr__ = short_repr


def _ecef_from_local_mps(v_local_mps: Array, at: AnyGeodetic) -> Array:
    sin_lat, cos_lat = np.sin(at.latitude_rad), np.cos(at.latitude_rad)
    sin_lon, cos_lon = np.sin(at.longitude_rad), np.cos(at.longitude_rad)
    v_east, v_north, v_up = v_local_mps.T
    v_outward = v_up * cos_lat - v_north * sin_lat  # away from the earth's axis
    v_x = v_outward * cos_lon - v_east * sin_lon
    v_y = v_outward * sin_lon + v_east * cos_lon
    return np.stack((v_x, v_y, v_north * cos_lat + v_up * sin_lat), axis=-1)
