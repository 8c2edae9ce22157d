"""Vehicle files and the mechanisms made of them: counts, masses, mirrored sides, static loads, what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hodograph.core.errors import SettingsError
from hodograph.multibody import SpringDamper, Stepper, Wheel, build
from hodograph.multibody.car import CORNERS, mechanism_of, read_vehicle, shipped_vehicles, static_loads
from hodograph.multibody.car.forces import stop_curve
from hodograph.vehicles.car import Damper, Stop

FOLDER = Path(__file__).parents[1] / "vehicles"
BODIES = {"xbw": 18, "race_car": 22}
MASS_KG = {"xbw": 694.15, "race_car": 1000.5}


@pytest.mark.parametrize("name", BODIES)
def test_a_vehicle_has_fourteen_degrees_of_freedom(name: str) -> None:
    assert set(shipped_vehicles()) == set(BODIES)
    model = build(mechanism_of(read_vehicle(name)))
    assert (model.n, model.constraints, model.degrees_of_freedom) == (67, 53, 14)
    assert len(model.mechanism.bodies) == BODIES[name]
    assert model.inertia.total_kg == pytest.approx(MASS_KG[name], abs=1e-9)
    assert model.inputs == ("rack_m", "brake_front_pa", "brake_rear_pa", "drive_nm")


@pytest.mark.parametrize("name", BODIES)
def test_static_loads_carry_the_weight_where_it_is(name: str) -> None:
    vehicle = read_vehicle(name)
    loads = static_loads(vehicle)
    weight_n = vehicle.gravity_mps2 * MASS_KG[name]
    assert sum(loads.wheel_n.values()) == pytest.approx(weight_n, rel=1e-12)
    assert loads.total_kg == pytest.approx(MASS_KG[name], rel=1e-12)
    assert 0.40 <= loads.front_share <= 0.50
    for name, force in loads.wheel_n.items():  # the centre of gravity from the mass matrix balances on the contacts
        assert force > 0.0, name
    contact = {c: np.array(vehicle.corner(c).axle.wheel_centre_m) for c in CORNERS}
    for c in CORNERS:
        out_m = vehicle.body.origin_height_m * np.tan(vehicle.corner(c).camber_rad)
        contact[c][1] += out_m * np.cos(vehicle.corner(c).toe_rad)
        contact[c][0] -= out_m * np.sin(vehicle.corner(c).toe_rad)
    for axis in (0, 1):
        balance = sum(loads.wheel_n[c] * contact[c][axis] for c in CORNERS)
        assert balance == pytest.approx(weight_n * loads.cg_m[axis], abs=1e-6)


def test_the_design_position_is_an_equilibrium_when_springs_do_not_say_their_load() -> None:
    """With tyres that are just as soft as the loads need, nothing in the full model accelerates."""
    vehicle = read_vehicle("xbw")
    loads = static_loads(vehicle)
    mechanism = mechanism_of(vehicle)
    forces = dict(mechanism.forces)
    for corner in CORNERS:
        contact = forces[f"{corner}_tyre"]
        assert contact.kind == "tyre"
        radius_m = vehicle.body.origin_height_m / np.cos(vehicle.corner(corner).camber_rad)
        free_m = radius_m + loads.wheel_n[corner] / contact.tyre.stiffness_npm
        forces[f"{corner}_tyre"] = replace(contact, tyre=replace(contact.tyre, radius_m=free_m, camber_slip=0.0))
    stepper = Stepper(build(replace(mechanism, forces=forces)))
    worst = np.abs(stepper.start().qdd).max()
    assert worst < 1e-9


def test_the_right_is_the_mirror_image_but_for_what_is_given() -> None:
    vehicle = read_vehicle("xbw")
    mechanism = mechanism_of(vehicle)
    for name, station in mechanism.stations.items():
        if name.startswith("fl_"):
            x, y, z = mechanism.stations[f"fr{name[2:]}"].position_m
            assert station.position_m == pytest.approx((x, -y, z), abs=1e-12), name
    left, right = mechanism.bodies["rl_wheel"], mechanism.bodies["rr_wheel"]
    assert isinstance(left, Wheel)
    assert isinstance(right, Wheel)
    assert (left.mass_kg, right.mass_kg) == (16.0, 30.0)
    assert (left.offset_m, right.offset_m) == (0.0, -0.012)  # outboard is −y on the right
    knuckle, other = (vehicle.corner(c).axle.suspension.knuckle for c in ("fl", "fr"))
    assert other.products_kgm2 == (-knuckle.products_kgm2[0], knuckle.products_kgm2[1], -knuckle.products_kgm2[2])
    assert vehicle.front.symmetric
    assert not vehicle.rear.symmetric


def test_published_masses_of_the_prototype() -> None:
    """Sanjurjo 2016, appendix A: right knuckles as printed for the right; arms; tie rod as a bar of 0.32 m."""
    vehicle = read_vehicle("xbw")
    knuckle = vehicle.corner("fr").axle.suspension.knuckle
    assert (knuckle.cg_m, knuckle.products_kgm2) == ((0.043, 0.055, 0.011), (-0.005, -0.007, 0.002))
    suspension = vehicle.front.suspension
    assert suspension.kind == "double_wishbone"
    assert suspension.upper_arm.mass_kg == 9.5
    length_m = np.linalg.norm(np.array(suspension.link_outer_m) - np.array(suspension.link_inner_m))
    assert length_m == pytest.approx(0.32, abs=0.005)


def test_a_spring_with_stops_is_straight_between_them() -> None:
    bump, rebound = Stop(0.04, ((0.0, 0.0), (0.01, 1000.0))), Stop(0.05, ((0.0, 0.0), (0.005, 3000.0)))
    curve = dict(stop_curve(20000.0, -0.03, bump, rebound))
    assert all(force == pytest.approx(20000.0 * x) for x, force in curve.items() if -0.07 <= x <= 0.02)
    assert curve[-0.08] == pytest.approx(-1600.0 - 1000.0)
    assert curve[0.025] == pytest.approx(500.0 + 3000.0)
    assert stop_curve(20000.0, -0.03, None, None) == ()


def test_a_damper_on_its_own_line_takes_the_stops_along() -> None:
    vehicle = read_vehicle("race_car")
    own = Damper(damping_nspm=3000.0, on="knuckle", lower_m=(2.6, 0.70, 0.05), upper_m=(2.6, 0.45, 0.30))
    forces = mechanism_of(replace(vehicle, front=replace(vehicle.front, damper=own))).forces
    spring, damper = forces["fl_spring"], forces["fl_damper"]
    assert isinstance(spring, SpringDamper)
    assert isinstance(damper, SpringDamper)
    assert not spring.stiffness_curve
    assert damper.between == ("fl_damper_lower", "fl_damper_upper")
    assert damper.stiffness_curve
    assert "rl_damper" not in forces


WRONG = {
    "unknown key": (
        "rate_npm = 32000.0",
        "rate_nm = 32000.0",
        r"line \d+.*spring.rate_nm.*mean rate_npm",
    ),
    "millimetres": ("lower_m = [2.385, 0.500, 0.115]", "lower_m = [2385.0, 500.0, 115.0]", r"line \d+.*millimetres"),
    "right side": ("lower_ball_m = [2.403, 0.612", "lower_ball_m = [2.403, -0.612", r"line \d+.*lies on the right"),
    "backward": ("lower_front_m = [2.520,", "lower_front_m = [2.120,", r"line \d+.*lower arm.*ahead"),
    "origin": ("wheel_centre_m = [0.0, 0.660, 0.0]", "wheel_centre_m = [0.1, 0.660, 0.0]", "body origin"),
    "two loads": ("rate_npm = 32000.0", "rate_npm = 32000.0\nload_n = 1.0\nfree_length_m = 0.4", "not both"),
    "missing": ('[drive.rear]\nkind = "open"\n', "", r"lacks \[drive\]; add"),
    "no such kind": (
        'kind = "macpherson"',
        'kind = "trailing_arm"',
        r"line \d+: rear.suspension.kind: want one of 'double_wishbone', 'macpherson', got 'trailing_arm'",
    ),
    "weightless": ("mass_kg = 541.0", "mass_kg = 0.0", r"line \d+.*body.*mass_kg must be positive"),
    "newtons per millimetre": ("rate_npm = 32000.0", "rate_npm = 32.0", r"line \d+.*front.spring.*N/mm"),
    "millimetres per second": ("[1.0, 1650.0]", "[1000.0, 1650.0]", r"line \d+.*front.damper.*mm/s"),
    "far stop": ("clearance_m = 0.035", "clearance_m = 35.0", r"line \d+.*front.bump_stop.*millimetres"),
    "high car": ("origin_height_m = 0.28", "origin_height_m = 280.0", r"line \d+.*body.*millimetres"),
    "no gravity": ("schema = 2", "schema = 2\ngravity_mps2 = 0.0", r"line \d+.*gravity_mps2 must be positive"),
    "no gear": ("rack_m_per_rad = ", "rack_m_per_rad = 0.0 # ", r"line \d+.*rack_m_per_rad is 0.*give the travel"),
    "not a number": ("mass_kg = 541.0", "mass_kg = nan", r"line \d+.*body.mass_kg.*finite"),
    "endless": ("rate_npm = 32000.0", "rate_npm = inf", r"line \d+.*front.spring.rate_npm.*finite"),
    "right of the right": (
        "[rear.right.wheel]",
        "[rear.right]\nwheel_centre_m = [0.0, -0.66, 0.0]\n[rear.right.wheel]",
        r"line \d+.*rear.right.*lies on the right",
    ),
    "right in millimetres": (
        "[rear.right.wheel]",
        "[rear.right]\nwheel_centre_m = [0.0, 660.0, 0.0]\n[rear.right.wheel]",
        r"line \d+.*rear.right.*millimetres",
    ),
    "right camber": (
        "[rear.right.wheel]",
        "[rear.right]\ncamber_deg = -20\n[rear.right.wheel]",
        r"line \d+.*beyond 15",
    ),
    "right seat": (
        "[rear.right.wheel]",
        '[rear.right.spring]\non = "upper_arm"\nlower_m = [0.0, 0.5, 0.1]\nupper_m = [0.0, 0.5, 0.4]\n'
        "rate_npm = 30000.0\n[rear.right.wheel]",
        r"line \d+.*rear: right.*MacPherson strut has no upper_arm",
    ),
    "pushes": ("[0.3, 620.0]", "[0.3, -620.0]", r"line \d+.*front.damper.*must damp"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_file_gets_line_and_reason(case: str, tmp_path: Path) -> None:
    old, new, complaint = WRONG[case]
    text = (FOLDER / "xbw.toml").read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "mine.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(SettingsError, match=complaint):
        read_vehicle(path)


def test_an_unknown_name_lists_the_shipped_ones() -> None:
    with pytest.raises(SettingsError, match="no such vehicle; there are 250lm, race_car, xbw"):
        read_vehicle("tank")
