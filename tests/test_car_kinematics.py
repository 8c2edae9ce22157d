"""What suspensions do with their wheels: printed regression values, symmetry, rigid links, motion ratios."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from car_samples import printed_corner

from hodograph.core.errors import MechanismError
from hodograph.multibody.car import CornerKinematics, mechanism_of, read_vehicle, static_loads
from hodograph.multibody.car.curves import corner_figures
from hodograph.multibody.car.kinematics import cardan_xzy_rad, roll_centre_height_m
from hodograph.multibody.forces.loads import AntiRoll
from hodograph.vehicles.car import AntiRollBar

PRINTED = {
    0.030: ((1.2281, 2.4530, 29.9707), (-0.4649, 0.7890, 0.2423)),
    -0.030: ((-0.4531, 0.1822, -30.0142), (0.0329, -0.6369, 0.2682)),
}


@pytest.mark.parametrize("bump_m", PRINTED)
def test_regression_values_of_the_printed_corner(bump_m: float) -> None:
    """The corner of Magri 2024, section 2.3.1, against values solved apart, within 0.01 mm and 0.002 degrees."""
    kinematics = CornerKinematics.of(printed_corner(), "fr")
    pose = kinematics.pose(bump_m)
    moved_mm = 1e3 * (pose.centre_m - np.array(kinematics.corner.axle.wheel_centre_m))
    np.testing.assert_allclose(moved_mm, PRINTED[bump_m][0], atol=0.01)
    np.testing.assert_allclose(np.degrees(cardan_xzy_rad(pose.turned)), PRINTED[bump_m][1], atol=0.002)


@pytest.mark.parametrize("name", ["xbw", "race_car"])
def test_left_and_right_are_mirror_images(name: str) -> None:
    vehicle = read_vehicle(name)
    left, right = (CornerKinematics.of(vehicle, corner) for corner in ("fl", "fr"))
    for bump_m, rack_m in ((0.03, 0.0), (-0.04, 0.02), (0.01, -0.04)):
        a, b = left.pose(bump_m, rack_m), right.pose(bump_m, -rack_m)
        np.testing.assert_allclose(a.centre_m, b.centre_m * (1.0, -1.0, 1.0), atol=1e-12)
        assert a.toe_rad == pytest.approx(b.toe_rad, abs=1e-11)
        assert a.camber_rad == pytest.approx(b.camber_rad, abs=1e-11)
        assert a.steer_rad == pytest.approx(-b.steer_rad, abs=1e-11)


@pytest.mark.parametrize("corner", ["fl", "rr"])
def test_links_keep_their_length_and_the_strut_its_line(corner: str) -> None:
    """A double wishbone at the front, a MacPherson strut at the rear; lengths are taken from the wheel pose."""
    kinematics = CornerKinematics.of(read_vehicle("xbw"), corner)
    start = kinematics.pose(0.0)
    suspension = kinematics.corner.axle.suspension
    centre = np.array(kinematics.corner.axle.wheel_centre_m)
    for bump_m in (-0.06, 0.06):
        pose = kinematics.pose(bump_m)
        np.testing.assert_allclose(pose.turned @ pose.turned.T, np.eye(3), atol=1e-12)

        def carried(point_m: tuple[float, float, float], pose=pose) -> np.ndarray:  # type: ignore[no-untyped-def,type-arg]
            return np.asarray(pose.centre_m + pose.turned @ (np.array(point_m) - centre))

        for inner in (suspension.lower_front_m, suspension.lower_rear_m):
            was = np.linalg.norm(np.array(suspension.lower_ball_m) - np.array(inner))
            assert np.linalg.norm(carried(suspension.lower_ball_m) - np.array(inner)) == pytest.approx(was, abs=1e-11)
        was = np.linalg.norm(np.array(suspension.link_outer_m) - np.array(suspension.link_inner_m))
        now = np.linalg.norm(carried(suspension.link_outer_m) - np.array(suspension.link_inner_m))
        assert now == pytest.approx(was, abs=1e-11)
        if suspension.kind == "macpherson":
            bottom = carried(suspension.strut_bottom_m)
            along = pose.turned @ (np.array(suspension.strut_top_m) - np.array(suspension.strut_bottom_m))
            across = np.cross(np.array(suspension.strut_top_m) - bottom, along / np.linalg.norm(along))
            assert np.linalg.norm(across) < 1e-11
    assert start.bump_m == 0.0


def test_static_alignment_is_what_the_file_says() -> None:
    vehicle = read_vehicle("race_car")
    for corner in ("fl", "fr", "rl", "rr"):
        toe_deg, camber_deg = (-0.05, -2.5) if corner[0] == "f" else (0.15, -1.8)
        pose = CornerKinematics.of(vehicle, corner).pose(0.0)
        assert np.degrees(pose.toe_rad) == pytest.approx(toe_deg, abs=1e-3)
        assert np.degrees(pose.camber_rad) == pytest.approx(camber_deg, abs=1e-9)
        assert abs(pose.contact_m[1]) > abs(pose.centre_m[1])  # negative camber: wider at the road


def test_rack_to_the_left_steers_left_with_ackermann() -> None:
    vehicle = read_vehicle("xbw")
    inner, outer = (CornerKinematics.of(vehicle, c).pose(0.0, 0.04).steer_rad for c in ("fl", "fr"))
    assert inner > outer > 0.2
    wheelbase_m, track_m = vehicle.wheelbase_m, 2.0 * vehicle.front.wheel_centre_m[1]
    perfect = track_m / wheelbase_m
    assert 0.2 < (1.0 / np.tan(outer) - 1.0 / np.tan(inner)) / perfect < 1.2


@pytest.mark.parametrize(("name", "corner"), [("xbw", "fl"), ("xbw", "rl"), ("race_car", "rl")])
def test_spring_load_follows_from_motion_ratio(name: str, corner: str) -> None:
    """Virtual work of one corner: spring · ratio = wheel load − weight of what moves with the wheel (arms partly)."""
    vehicle = read_vehicle(name)
    loads = static_loads(vehicle)
    kinematics = CornerKinematics.of(vehicle, corner)
    h = 1e-4
    ahead, back = kinematics.pose(h), kinematics.pose(-h)
    ratio = -(ahead.spring_m - back.spring_m) / (2.0 * h)
    axle = vehicle.corner(corner).axle
    suspension = axle.suspension
    unsprung_kg = suspension.knuckle.mass_kg + axle.wheel.mass_kg + 0.5 * suspension.lower_arm.mass_kg
    if suspension.kind == "double_wishbone":
        unsprung_kg += 0.5 * suspension.upper_arm.mass_kg
    carried_n = loads.wheel_n[corner] - 9.81 * unsprung_kg
    assert loads.spring_n[corner] * ratio == pytest.approx(carried_n, rel=0.02)


def test_steering_axis_and_roll_centre_by_hand() -> None:
    """Kingpin through both ball joints; roll centre by drawing: the front view of parallel arms has it on the road."""
    vehicle = read_vehicle("race_car")
    kinematics = CornerKinematics.of(vehicle, "fl")
    pose = kinematics.pose(0.0)
    axis = kinematics.steering_axis(pose)
    suspension = vehicle.front.suspension
    assert suspension.kind == "double_wishbone"
    low, up = (np.array(p) for p in suspension.kingpin)
    assert np.tan(axis.caster_rad) == pytest.approx((low[0] - up[0]) / (up[2] - low[2]))
    assert np.tan(axis.kingpin_rad) == pytest.approx((low[1] - up[1]) / (up[2] - low[2]))
    assert 0.0 < axis.trail_m < 0.04
    h = 1e-4
    height_m = roll_centre_height_m(kinematics.pose(h), kinematics.pose(-h), pose)
    # front view: lines through the middles of the hinges and the ball joints meet in the instant centre
    lines = []
    for front, rear, ball in (
        (suspension.lower_front_m, suspension.lower_rear_m, suspension.lower_ball_m),
        (suspension.upper_front_m, suspension.upper_rear_m, suspension.upper_ball_m),
    ):
        share = (ball[0] - rear[0]) / (front[0] - rear[0])
        inner = np.array(rear) + share * (np.array(front) - np.array(rear))
        lines.append((inner[1:], np.array(ball[1:])))
    (a, b), (c, d) = lines
    s = np.linalg.solve(np.column_stack([b - a, c - d]), c - a)[0]
    instant = a + s * (b - a)
    contact = pose.contact_m[1:]
    drawn_m = contact[0] * (instant[1] - contact[1]) / (contact[0] - instant[0])
    assert height_m == pytest.approx(drawn_m, abs=0.005)


def test_a_bar_on_links_of_its_own() -> None:
    """Its rate at the wheel is 2 k ratio² of its own links; along the springs it is that of the springs."""
    vehicle = read_vehicle("race_car")
    links = AntiRollBar(60000.0, "upper_arm", (2.58, 0.60, 0.14), (2.58, 0.60, 0.40))
    own = replace(vehicle, front=replace(vehicle.front, anti_roll_bar=links))
    along = corner_figures(vehicle, "fl", 2865.0)
    assert along.bar_rate_npm == pytest.approx(2.0 * 60000.0 * along.motion_ratio**2)
    upright = corner_figures(own, "fl", 2865.0)
    lever = (0.60 - 0.40) / (0.705 - 0.40)  # of the upper arm, whose ball joint rises about as the wheel does
    assert upright.bar_rate_npm == pytest.approx(2.0 * 60000.0 * lever**2, rel=0.1)
    force = mechanism_of(own).forces["front_bar"]
    assert isinstance(force, AntiRoll)
    assert force.left == ("fl_bar_lower", "fl_bar_upper")


def test_out_of_reach_is_said() -> None:
    kinematics = CornerKinematics.of(read_vehicle("xbw"), "fl")
    with pytest.raises(MechanismError, match=r"xbw fl: no position at \d+.* mm bump"):
        kinematics.pose(1.2)
