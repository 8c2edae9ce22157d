"""Geodesy against the equations, against round trips, and against misuse."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hodograph.acquisition.geodesy import (
    Datum,
    EnuFrame,
    Geodetic,
    ecef_from_geodetic,
    ellipsoidal_height_m,
    geodetic_from_degrees,
    geodetic_from_ecef,
    rotation_enu_from_ecef,
    velocity_enu_mps,
)
from hodograph.core import Array

AXES_M = {Datum.WGS84: (6378137.0, 298.257223563), Datum.ETRS89: (6378137.0, 298.257222101)}

LATITUDES = st.one_of(st.sampled_from([-90.0, 90.0, 0.0, 89.9999999, -89.9999999]), st.floats(-90, 90))
LONGITUDES = st.one_of(st.sampled_from([-180.0, 180.0, 179.9999999, -179.9999999, 0.0]), st.floats(-180, 180))
HEIGHTS = st.floats(-500, 10_000)
PLACES = st.builds(
    lambda lat, lon, h: geodetic_from_degrees(latitude_deg=lat, longitude_deg=lon, height_m=h),
    LATITUDES,
    LONGITUDES,
    HEIGHTS,
)


def ecef_by_equation_5_1(phi: float, lam: float, h: float, datum: Datum) -> Array:
    """Sanjurjo 2016, 5.1, as printed."""
    a, inverse_flattening = AXES_M[datum]
    b = a - a / inverse_flattening
    e2 = 1 - b**2 / a**2
    root = math.sqrt(1 + (1 - e2) * math.tan(phi) ** 2)
    return np.array(
        [
            a * math.cos(lam) / root + h * math.cos(lam) * math.cos(phi),
            a * math.sin(lam) / root + h * math.sin(lam) * math.cos(phi),
            a * (1 - e2) * math.sin(phi) / math.sqrt(1 - e2 * math.sin(phi) ** 2) + h * math.sin(phi),
        ]
    )


def psi_by_equation_5_3(phi: float, lam: float) -> Array:
    """Sanjurjo 2016, 5.3, as printed, with its sines and cosines of minus phi."""
    sl, cl, sp, cp = math.sin(lam), math.cos(lam), math.sin(-phi), math.cos(-phi)
    return np.array([[-sl, cl, 0], [cl * sp, sl * sp, cp], [cl * cp, sl * cp, -sp]])


def enu_by_equation_5_2(point: Geodetic[float], origin: Geodetic[float], datum: Datum) -> Array:
    r_p = ecef_by_equation_5_1(point.latitude_rad, point.longitude_rad, point.height_m, datum)
    r_0 = ecef_by_equation_5_1(origin.latitude_rad, origin.longitude_rad, origin.height_m, datum)
    psi = psi_by_equation_5_3(origin.latitude_rad, origin.longitude_rad)
    enu: Array = psi @ (r_p - r_0)
    return enu


@pytest.mark.parametrize("datum", Datum)
@given(point=PLACES, origin=PLACES)
def test_agrees_with_the_equations_over_the_globe(
    datum: Datum, point: Geodetic[float], origin: Geodetic[float]
) -> None:
    np.testing.assert_allclose(
        ecef_from_geodetic(point, datum),
        ecef_by_equation_5_1(point.latitude_rad, point.longitude_rad, point.height_m, datum),
        rtol=0,
        atol=1e-5,
    )
    frame = EnuFrame(origin, datum)
    np.testing.assert_allclose(
        frame.enu_from_geodetic(point), enu_by_equation_5_2(point, origin, datum), rtol=0, atol=1e-5
    )
    psi = psi_by_equation_5_3(origin.latitude_rad, origin.longitude_rad)
    np.testing.assert_allclose(frame.R_enu_from_ecef, psi, rtol=0, atol=1e-15)


@pytest.mark.parametrize("datum", Datum)
@given(point=PLACES, origin=PLACES)
def test_there_and_back(datum: Datum, point: Geodetic[float], origin: Geodetic[float]) -> None:
    frame = EnuFrame(origin, datum)
    back = frame.geodetic_from_enu(frame.enu_from_geodetic(point))
    assert isinstance(back.latitude_rad, float)
    np.testing.assert_allclose(ecef_from_geodetic(back, datum), ecef_from_geodetic(point, datum), rtol=0, atol=1e-5)
    again = geodetic_from_ecef(ecef_from_geodetic(point, datum), datum)
    assert again.height_m == pytest.approx(point.height_m, rel=0, abs=1e-5)
    assert again.latitude_rad == pytest.approx(point.latitude_rad, rel=0, abs=1e-11)


@given(points=st.lists(PLACES, min_size=1, max_size=20), origin=PLACES)
def test_arrays_equal_scalars_and_are_left_alone(points: list[Geodetic[float]], origin: Geodetic[float]) -> None:
    columns = [np.array([getattr(p, n) for p in points]) for n in ("latitude_rad", "longitude_rad", "height_m")]
    before = [c.copy() for c in columns]
    many = Geodetic(latitude_rad=columns[0], longitude_rad=columns[1], height_m=columns[2])
    frame = EnuFrame(origin)
    enu_m = frame.enu_from_geodetic(many)
    kept_m = enu_m.copy()
    back = frame.geodetic_from_enu(enu_m)
    velocity = frame.velocity_from_local(enu_m, many)
    assert enu_m.shape == velocity.shape == (len(points), 3)
    for i, point in enumerate(points):
        np.testing.assert_allclose(enu_m[i], frame.enu_from_geodetic(point), rtol=0, atol=1e-8)
        np.testing.assert_allclose(velocity[i], frame.velocity_from_local(enu_m[i], point), rtol=1e-12, atol=1e-8)
    assert isinstance(back.height_m, np.ndarray)
    np.testing.assert_allclose(back.height_m, columns[2], rtol=0, atol=1e-5)
    np.testing.assert_array_equal(enu_m, kept_m)
    for column, copy in zip(columns, before, strict=True):
        np.testing.assert_array_equal(column, copy)


def test_the_date_line_is_not_a_wall() -> None:
    origin = geodetic_from_degrees(latitude_deg=0.0, longitude_deg=179.9999, height_m=0.0)
    beyond = geodetic_from_degrees(latitude_deg=0.0, longitude_deg=-179.9999, height_m=0.0)
    east_m, north_m, _ = EnuFrame(origin).enu_from_geodetic(beyond)
    assert east_m == pytest.approx(0.0002 * math.pi / 180 * 6378137, abs=1e-6)
    assert north_m == pytest.approx(0.0, abs=1e-9)


def test_the_two_datums_differ_by_a_tenth_of_a_millimetre() -> None:
    pole = geodetic_from_degrees(latitude_deg=90.0, longitude_deg=0.0, height_m=0.0)
    difference_m = ecef_from_geodetic(pole, Datum.WGS84)[2] - ecef_from_geodetic(pole, Datum.ETRS89)[2]
    assert difference_m == pytest.approx(1.05e-4, abs=1e-6)


def test_velocity_is_the_derivative_of_position() -> None:
    origin = geodetic_from_degrees(latitude_deg=43.3, longitude_deg=-8.4, height_m=20.0)
    frame = EnuFrame(origin)
    place = geodetic_from_degrees(latitude_deg=43.5, longitude_deg=-8.1, height_m=120.0)
    local_frame = EnuFrame(place)
    v_local_mps = np.array([20.0, -11.0, 0.7])
    ahead, behind = (local_frame.geodetic_from_enu(s * v_local_mps) for s in (0.5, -0.5))
    difference_mps = frame.enu_from_geodetic(ahead) - frame.enu_from_geodetic(behind)
    np.testing.assert_allclose(frame.velocity_from_local(v_local_mps, place), difference_mps, rtol=0, atol=1e-6)
    v_ecef_mps = local_frame.velocity_to_ecef(v_local_mps)
    np.testing.assert_allclose(frame.velocity_from_ecef(v_ecef_mps), difference_mps, rtol=0, atol=1e-6)
    np.testing.assert_allclose(frame.velocity_to_ecef(frame.velocity_from_ecef(v_ecef_mps)), v_ecef_mps, atol=1e-13)


@given(latitude_rad=st.floats(-math.pi / 2, math.pi / 2), longitude_rad=st.floats(-math.pi, math.pi))
def test_the_rotation_is_one(latitude_rad: float, longitude_rad: float) -> None:
    R = rotation_enu_from_ecef(latitude_rad=latitude_rad, longitude_rad=longitude_rad)
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-15)
    assert np.linalg.det(R) == pytest.approx(1.0)


def test_course_is_clockwise_from_north() -> None:
    np.testing.assert_allclose(velocity_enu_mps(speed_mps=3.0, course_compass_rad=math.pi / 2), [3, 0, 0], atol=1e-15)
    speeds, courses = np.array([2.0, 2.0, math.nan]), np.array([0.0, math.pi, 0.0])
    v = velocity_enu_mps(speed_mps=speeds, course_compass_rad=courses)
    np.testing.assert_allclose(v[:2], [[0, 2, 0], [0, -2, 0]], atol=1e-15)
    assert np.isnan(v[2, 0])


def test_height_is_altitude_plus_separation() -> None:
    assert ellipsoidal_height_m(altitude_msl_m=6.846, geoid_separation_m=53.031) == pytest.approx(59.877)


def test_no_fix_gives_no_place() -> None:
    frame = EnuFrame(geodetic_from_degrees(latitude_deg=43.0, longitude_deg=-8.0, height_m=0.0))
    nowhere = Geodetic(latitude_rad=math.nan, longitude_rad=math.nan, height_m=math.nan)
    assert np.isnan(frame.enu_from_geodetic(nowhere)).all()
    some = Geodetic(
        latitude_rad=np.array([0.7, math.nan]), longitude_rad=np.array([0.1, math.nan]), height_m=np.array([0.0, 1.0])
    )
    np.testing.assert_array_equal(np.isnan(frame.enu_from_geodetic(some)), [[False] * 3, [True] * 3])


def test_a_swap_is_impossible_and_nonsense_is_refused() -> None:
    with pytest.raises(TypeError):
        Geodetic(0.7, -0.1, 0.0)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="latitude_rad is ±100"):
        Geodetic(latitude_rad=100.0, longitude_rad=0.0, height_m=0.0)
    with pytest.raises(ValueError, match="longitude_rad"):
        Geodetic(latitude_rad=np.array([0.1]), longitude_rad=np.array([170.0]), height_m=np.array([0.0]))
    with pytest.raises(ValueError, match="shapes"):
        Geodetic(latitude_rad=np.zeros(2), longitude_rad=np.zeros(3), height_m=np.zeros(2))
    with pytest.raises(ValueError, match="origin"):
        EnuFrame(Geodetic(latitude_rad=math.nan, longitude_rad=0.0, height_m=0.0))
    frame = EnuFrame(Geodetic(latitude_rad=0.0, longitude_rad=0.0, height_m=0.0))
    with pytest.raises(ValueError, match="shape"):
        frame.geodetic_from_enu(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="read-only"):
        frame.R_enu_from_ecef[0, 0] = 2.0
