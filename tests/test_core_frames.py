from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from hodograph.core.frames import (
    mean_about_rad,
    quaternion_from_rotation,
    rotation_from_quaternion,
    rotation_from_rpy,
    rpy_from_rotation,
    sideslip_rad,
    skew,
    wrap_rad,
    yaw_from_heading_rad,
)

angle = st.floats(-math.pi, math.pi)
vector = st.tuples(*[st.floats(-10, 10)] * 3).map(np.array)


@given(st.floats(-1e4, 1e4))
def test_wrap_keeps_the_direction(a: float) -> None:
    wrapped = wrap_rad(a)
    assert -math.pi <= wrapped <= math.pi
    assert math.cos(wrapped) == pytest.approx(math.cos(a), abs=1e-9)
    assert math.sin(wrapped) == pytest.approx(math.sin(a), abs=1e-9)


@given(angle, st.floats(-1.55, 1.55), angle)
def test_rpy_agrees_with_scipy_and_comes_back(roll: float, pitch: float, yaw: float) -> None:
    R = rotation_from_rpy(roll, pitch, yaw)
    assert pytest.approx(Rotation.from_euler("ZYX", [yaw, pitch, roll]).as_matrix(), abs=1e-12) == R
    assert rotation_from_rpy(*rpy_from_rotation(R)) == pytest.approx(R, abs=1e-9)


@given(angle, angle, st.sampled_from([math.pi / 2, -math.pi / 2]))
def test_rpy_at_the_pole_still_gives_the_rotation(roll: float, yaw: float, pitch: float) -> None:
    R = rotation_from_rpy(roll, pitch, yaw)
    assert rotation_from_rpy(*rpy_from_rotation(R)) == pytest.approx(R, abs=1e-8)


@given(angle, angle, angle)
def test_quaternions_agree_with_scipy_and_come_back(a: float, b: float, c: float) -> None:
    R = rotation_from_rpy(a, b, c)
    q = quaternion_from_rotation(R)
    xyzw = Rotation.from_matrix(R).as_quat(canonical=True)
    assert abs(q @ xyzw[[3, 0, 1, 2]]) == pytest.approx(1.0, abs=1e-12)
    assert rotation_from_quaternion(2 * q) == pytest.approx(R, abs=1e-12)


@given(vector, vector)
def test_skew_is_the_cross_product(a: np.ndarray, b: np.ndarray) -> None:
    assert skew(a) @ b == pytest.approx(np.cross(a, b), abs=1e-9)


def test_conventions_of_iso_8855() -> None:
    R_enu_from_body = rotation_from_rpy(0.0, 0.0, math.pi / 2)  # nose to the north
    assert R_enu_from_body @ [1.0, 0.0, 0.0] == pytest.approx([0.0, 1.0, 0.0])
    assert yaw_from_heading_rad(0.0) == pytest.approx(math.pi / 2)  # compass north
    assert yaw_from_heading_rad(math.pi / 2) == pytest.approx(0.0)  # compass east
    assert sideslip_rad(10.0, 1.0) > 0  # moving left of the nose
    nose_down = rotation_from_rpy(0.0, 0.1, 0.0) @ [1.0, 0.0, 0.0]
    assert nose_down[2] < 0  # positive pitch = nose down


def test_mean_about_the_first_angle() -> None:
    near_seam = np.array([math.pi - 0.01, -math.pi + 0.03])
    assert mean_about_rad(near_seam, np.array([0.5, 0.5])) == pytest.approx(-math.pi + 0.01)
