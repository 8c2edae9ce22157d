"""Axes and rotations (ISO 8855): body x forward, y left, z up; world east, north, up.

Rotations are named target-from-source and chain: `v_enu = R_enu_from_body @ v_body`. Roll, pitch and yaw mean
R = Rz(yaw) Ry(pitch) Rx(roll); yaw is counter-clockwise from east, a compass heading clockwise from north.
Quaternions are (w, x, y, z), unit, same target-from-source reading.
"""

from __future__ import annotations

import math
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
FloatOrArray = TypeVar("FloatOrArray", float, Array)


def wrap_rad(angle_rad: FloatOrArray) -> FloatOrArray:
    """The same direction in [-π, π]; scalar or array."""
    return (angle_rad + math.pi) % (2 * math.pi) - math.pi


def mean_about_rad(angles_rad: Array, weights: Array) -> float:
    """Weighted mean of angles (k,) about the first; weights sum to one and may be negative."""
    ref = float(angles_rad[0])
    return wrap_rad(ref + float(weights @ wrap_rad(angles_rad - ref)))


def yaw_from_heading_rad(heading_rad: FloatOrArray) -> FloatOrArray:
    """Compass heading or course (clockwise from north) ↔ yaw (counter-clockwise from east); its own inverse."""
    return wrap_rad(math.pi / 2 - heading_rad)


def rotation_from_rpy(roll_rad: float, pitch_rad: float, yaw_rad: float) -> Array:
    """R_enu_from_body (3, 3) = Rz(yaw) Ry(pitch) Rx(roll)."""
    cr, sr = math.cos(roll_rad), math.sin(roll_rad)
    cp, sp = math.cos(pitch_rad), math.sin(pitch_rad)
    cy, sy = math.cos(yaw_rad), math.sin(yaw_rad)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def rpy_from_rotation(R_enu_from_body: Array) -> tuple[float, float, float]:
    """(roll, pitch, yaw) in rad of a rotation (3, 3); at pitch ±90° roll is set to 0."""
    R = R_enu_from_body
    cos_pitch = math.hypot(R[0, 0], R[1, 0])
    pitch_rad = math.atan2(-R[2, 0], cos_pitch)
    if cos_pitch < 1e-9:
        return 0.0, pitch_rad, math.atan2(-R[0, 1], R[1, 1])
    return math.atan2(R[2, 1], R[2, 2]), pitch_rad, math.atan2(R[1, 0], R[0, 0])


def rotation_from_quaternion(q_wxyz: Array) -> Array:
    """Rotation (3, 3) of a quaternion (4,), normalised first."""
    w, x, y, z = q_wxyz / np.linalg.norm(q_wxyz)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def quaternion_from_rotation(R: Array) -> Array:
    """Quaternion (4,) with w ≥ 0 of a rotation (3, 3), by the largest of its four squares (Shepperd 1978)."""
    squares = np.array(
        [
            1 + R[0, 0] + R[1, 1] + R[2, 2],
            1 + R[0, 0] - R[1, 1] - R[2, 2],
            1 - R[0, 0] + R[1, 1] - R[2, 2],
            1 - R[0, 0] - R[1, 1] + R[2, 2],
        ]
    )
    k = int(np.argmax(squares))
    products = (
        (squares[0], R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]),
        (R[2, 1] - R[1, 2], squares[1], R[0, 1] + R[1, 0], R[0, 2] + R[2, 0]),
        (R[0, 2] - R[2, 0], R[0, 1] + R[1, 0], squares[2], R[1, 2] + R[2, 1]),
        (R[1, 0] - R[0, 1], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], squares[3]),
    )
    q = np.array(products[k]) / (2 * math.sqrt(squares[k]))
    return q if q[0] >= 0 else -q


def skew(v: Array) -> Array:
    """The matrix (3, 3) of the cross product: skew(v) @ u = v × u."""
    x, y, z = v
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def sideslip_rad(v_x_mps: float, v_y_mps: float) -> float:
    """β = atan2(v_y, v_x) at the point whose body-frame velocity is given; positive when moving left of the nose."""
    return math.atan2(v_y_mps, v_x_mps)
