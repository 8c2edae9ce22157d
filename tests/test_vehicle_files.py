"""One dialect of vehicle files: who can use which file, what is missing for it, headers that follow, old files."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from math import cos, sin
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from hodograph.cli.main import app
from hodograph.core import SettingsError
from hodograph.core.frames import Array
from hodograph.multibody.car import CORNERS, CornerKinematics, read_vehicle
from hodograph.multibody.car.car import Car
from hodograph.multibody.car.vehicle import car_of
from hodograph.multibody.car.whole import whole_of
from hodograph.observers.sideslip.drive import SideslipDrive
from hodograph.observers.sideslip.observer import engine_for, run_drive
from hodograph.observers.sideslip.vehicle import ANY_CAR, sideslip_vehicle, sideslip_vehicle_from_text
from hodograph.vehicles.car import Vehicle
from hodograph.vehicles.file import (
    MULTIBODY_CAR,
    SIDESLIP_FILTER,
    USES,
    read_vehicle_file,
    shipped_files,
    vehicle_from_text,
    vehicle_text,
)
from hodograph.vehicles.header import Chassis
from hodograph.vehicles.suspension import Arm, DoubleWishbone, arm_axes

HEADER = """\
schema = 2
name = "mine"

[chassis]
mass_kg = 1000.0
cg_to_front_axle_m = 1.0
cg_to_rear_axle_m = 1.5
track_m = 1.4
cg_height_m = 0.5
yaw_inertia_kgm2 = 1500.0
"""


def test_who_can_use_the_shipped_files() -> None:
    serves = {name: read_vehicle_file(name).serves() for name in shipped_files()}
    assert serves == {"250lm": (SIDESLIP_FILTER,), "race_car": tuple(USES), "xbw": tuple(USES)}


def test_what_a_car_lacks_is_told_at_once_and_by_table() -> None:
    with pytest.raises(SettingsError) as caught:
        read_vehicle("250lm")
    for words in ("multibody car", "250lm.toml", "[body], [front], [rear], [steering], [drive]", "sideslip filter"):
        assert words in str(caught.value)


def test_what_half_a_car_lacks_is_told_down_to_the_key() -> None:
    text, source = vehicle_text("xbw")
    for line in ('[drive.rear]\nkind = "open"\n', "rate_npm = 32000.0\n", "camber_deg = -0.5\n", "travel_m = 0.060\n"):
        assert line in text
        text = text.replace(line, "", 1)
    text = re.sub(r"\[front\.wheel\].*?\n\n", "", text, flags=re.S)
    file = vehicle_from_text(text, source)
    assert file.lacks(MULTIBODY_CAR) == (
        "[front.wheel]", "[front.spring] rate_npm", "[steering] travel_m", "[drive]",
    )  # fmt: skip
    assert sideslip_vehicle(vehicle_from_text(text + HEADER.partition("\n\n")[2], source)).prior.mass_kg == 1000.0


def test_what_the_filter_lacks_is_told_at_once() -> None:
    text = HEADER.replace("track_m = 1.4\n", "").replace("cg_to_rear_axle_m = 1.5\n", "")
    with pytest.raises(SettingsError, match=r"sideslip filter.*'mine' lacks \[chassis\] track_m, two of cg_to_front"):
        sideslip_vehicle_from_text(text, "mine.toml")


@pytest.mark.parametrize(
    "distances",
    [
        {"cg_to_front_axle_m": 1.0, "cg_to_rear_axle_m": 1.5},
        {"wheelbase_m": 2.5, "cg_to_rear_axle_m": 1.5},
        {"wheelbase_m": 2.5, "cg_to_front_axle_m": 1.0},
        {"wheelbase_m": 2.5, "front_load_share": 0.6},
        {"wheelbase_m": 2.495, "front_load_share": 0.605, "cg_to_front_axle_m": 1.0, "cg_to_rear_axle_m": 1.5},
    ],
)
def test_axles_may_be_given_as_one_knows_them(distances: dict[str, float]) -> None:
    assert Chassis(**distances).cg_to_axles_m == pytest.approx((1.0, 1.5))


@pytest.mark.parametrize(
    ("added", "complaint"),
    [
        ("wheelbase_m = 2.6", r"line 11: chassis: wheelbase_m is 2.6, but the axles are 2.5 m apart"),
        ("front_load_share = 0.5", r"line 11: chassis: front_load_share is 0.5, .* 0.600"),
        ("brake_share_front = 60", r"line 11: chassis: brake_share_front is 60.0, want 0 to 1"),
        ("weight_kg = 1", r"line 11: chassis.weight_kg: unknown key"),
        ("cg_m = [1.0, 0.0, 0.1]", r"the sprung body is written \[body\] since schema = 2"),
        ("[tyres.front]\ncornering_stiffness_npr = 8.0", r"line 12: tyres.front: cornering_stiffness_npr is 8.0, want"),
        (
            "[drive.rear]\nkind = 'welded'",
            r"line 12: drive.rear.kind: want one of 'open', 'limited_slip', got",
        ),
        ("[front.tyre]\nkind = 'pacejka'", r"line 12: front.tyre.kind: want one of 'tmeasy', 'magic_formula', got"),
    ],
)
def test_a_wrong_header_gets_line_and_reason(added: str, complaint: str) -> None:
    with pytest.raises(SettingsError, match=complaint):
        vehicle_from_text(HEADER + added + "\n", "mine.toml")


def test_tyres_as_one_knows_them_reach_the_filter() -> None:
    front = "[tyres.front]\ncornering_stiffness_npr = 8e4\nfriction = 0.9\n"
    rear = "[tyres.rear]\ncornering_coefficient_perrad = 20\n"
    prior = sideslip_vehicle_from_text(HEADER + front + rear, "mine.toml").prior
    assert prior.stiffness_front_n_rad == 8e4
    assert (prior.friction_front, prior.friction_rear) == (0.9, 1.2)
    assert prior.stiffness_rear_n_rad == pytest.approx(20 * 9.80665 * 1000.0 * 0.4)


def test_the_header_in_the_documents_serves_the_filter() -> None:
    page = (Path(__file__).parents[1] / "docs" / "vehicles.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"^```toml\n(.*?)^```", page, re.S | re.M)
    prior, shipped = (sideslip_vehicle(f).prior for f in (vehicle_from_text(text, "page"), read_vehicle_file("250lm")))
    assert prior.cg_to_front_m == pytest.approx(shipped.cg_to_front_m, abs=0.01)
    assert replace(prior, cg_to_front_m=shipped.cg_to_front_m, cg_to_rear_m=shipped.cg_to_rear_m) == replace(
        shipped, stiffness_front_n_rad=70e3, stiffness_rear_n_rad=prior.stiffness_rear_n_rad
    )


# --------------------------------------------------------------------------------------------- headers that follow


def _arm_yaw(arm: Arm, front_m: Array, axes: Array) -> list[tuple[float, Array, float]]:
    """(mass, centre, yaw inertia about it) of a flat arm from its own axes."""
    ixx, iyy, izz = arm.inertia_kgm2
    second = np.array([[(iyy + izz - ixx) / 2, arm.product_kgm2], [arm.product_kgm2, (ixx + izz - iyy) / 2]])
    level = axes[:2, :2]
    centre = front_m + axes[:, :2] @ np.array(arm.cg_m)
    return [(arm.mass_kg, centre, float(np.trace(level @ second @ level.T)))]


def _parts(vehicle: Vehicle) -> list[tuple[float, Array, float]]:
    """(mass, centre, yaw inertia about it) of every body, by hand."""
    body, rack = vehicle.body, vehicle.steering
    ends = [np.array(vehicle.corner(c).axle.suspension.link_inner_m) for c in ("fl", "fr")]
    parts = [
        (body.mass_kg, np.array(body.cg_m), body.inertia_kgm2[2]),
        (rack.mass_kg, sum(ends) / 2, rack.inertia_kgm2[2]),
    ]
    for name in CORNERS:
        corner = vehicle.corner(name)
        s, w, hub = corner.axle.suspension, corner.axle.wheel, np.array(corner.axle.wheel_centre_m)
        parts.append((s.knuckle.mass_kg, hub + s.knuckle.cg_m, s.knuckle.inertia_kgm2[2]))
        lean, toe = corner.camber_rad, corner.toe_rad
        out = corner.sign * np.array([-sin(toe) * cos(lean), cos(toe) * cos(lean), sin(lean)])
        yaw = w.transverse_inertia_kgm2 * cos(lean) ** 2 + w.spin_inertia_kgm2 * sin(lean) ** 2
        parts.append((w.mass_kg, hub + w.offset_m * out, yaw))
        arms = [(s.lower_arm, s.lower_front_m, s.lower_rear_m, s.lower_ball_m)]
        if isinstance(s, DoubleWishbone):
            arms.append((s.upper_arm, s.upper_front_m, s.upper_rear_m, s.upper_ball_m))
        for arm, front_m, rear_m, ball_m in arms:
            parts += _arm_yaw(arm, np.array(front_m), arm_axes(front_m, rear_m, ball_m))
        if s.link is not None:
            along = np.array(s.link_outer_m) - np.array(s.link_inner_m)
            middle = (np.array(s.link_outer_m) + np.array(s.link_inner_m)) / 2
            parts.append((s.link.mass_kg, middle, s.link.mass_kg * (along[0] ** 2 + along[1] ** 2) / 12))
    return parts


@pytest.mark.parametrize("name", ["xbw", "race_car"])
def test_the_header_of_a_car_is_that_of_its_parts(name: str) -> None:
    vehicle = read_vehicle(name)
    parts = _parts(vehicle)
    mass_kg = sum(m for m, _, _ in parts)
    cg_m = sum(m * c for m, c, _ in parts) / mass_kg
    yaw = sum(own + m * float((c[0] - cg_m[0]) ** 2 + (c[1] - cg_m[1]) ** 2) for m, c, own in parts)
    found = whole_of(vehicle).chassis
    assert found.mass_kg == pytest.approx(mass_kg, rel=1e-12)
    assert found.cg_to_rear_axle_m == pytest.approx(cg_m[0], rel=1e-9)
    assert found.cg_height_m == pytest.approx(vehicle.body.origin_height_m + cg_m[2], rel=1e-9)
    assert found.yaw_inertia_kgm2 == pytest.approx(yaw, rel=1e-9)
    assert found.lacks == ()


def test_a_header_that_contradicts_the_parts_is_refused_by_both_uses() -> None:
    text, source = vehicle_text("xbw")
    wrong = vehicle_from_text(
        text + "[chassis]\nmass_kg = 541.0\nyaw_inertia_kgm2 = 297.0\nwheelbase_m = 2.4\n", source
    )
    for use in (sideslip_vehicle, car_of):
        with pytest.raises(SettingsError, match=r"contradicts.*mass_kg is 541.*yaw_inertia_kgm2 is 297") as caught:
            use(wrong)
        assert "wheelbase" not in str(caught.value)


def test_a_header_that_agrees_is_taken_as_stated() -> None:
    text, source = vehicle_text("xbw")
    weighed = vehicle_from_text(text + "[chassis]\nmass_kg = 700.0\nbrake_share_front = 0.7\n", source)
    prior = sideslip_vehicle(weighed).prior
    assert (prior.mass_kg, prior.brake_share_front) == (700.0, 0.7)
    assert prior.yaw_inertia_kgm2 == whole_of(car_of(weighed)).chassis.yaw_inertia_kgm2


def test_the_filter_of_a_car_follows_its_multibody_model() -> None:
    """Weaving with 4.7 m/s², unidentified: the header from the hard points is that of the car, and any other is not."""
    vehicle = replace(read_vehicle("xbw"), aero=None)
    car = Car(vehicle)
    t_s = 4e-3 * np.arange(1, 2501)
    rack_m = 0.02 * np.sin(2.0 * t_s) * np.minimum(t_s, 1.0)
    drive = car.drive(car.moving(car.settle(), speed_mps=8.0), {"rack_m": rack_m, "drive_nm": np.full(2500, 40.0)})
    left, right = (CornerKinematics.of(vehicle, c) for c in ("fl", "fr"))
    racks_m = np.linspace(-0.02, 0.02, 9)
    steer = [(right.pose(0.0, x).toe_rad - left.pose(0.0, x).toe_rad) / 2 for x in racks_m.tolist()]
    inputs = np.column_stack(
        [
            drive.body_mps[:, 0],
            np.interp(rack_m, racks_m, steer),
            drive.acceleration_mps2[:, 1],
            drive.acceleration_mps2[:, 0],
            drive.rates_radps[:, 2],
        ]
    )
    errors_deg = []
    for known in (sideslip_vehicle(read_vehicle_file("xbw")), ANY_CAR):
        heard = SideslipDrive.sampled("weaving", drive.t_s, inputs)
        run = run_drive(engine_for(known.prior, heard), heard)
        error = (run["beta_cg_rad"] - drive.beta_rad)[drive.t_s > 1.0]
        errors_deg.append(np.degrees(np.sqrt(np.mean(error**2))))
    assert np.degrees(np.abs(drive.beta_rad).max()) > 2.0
    assert errors_deg[0] < 0.3
    assert errors_deg[1] > 3.0 * errors_deg[0]


# ------------------------------------------------------------------------------------------------------- old files


def _of_schema_1(name: str) -> str:
    """A shipped file in the words of schema 1: the car's sprung body was [chassis]."""
    text, _ = vehicle_text(name)
    return text.replace("schema = 2", "schema = 1").replace("[body]", "[chassis]")


@pytest.mark.parametrize("name", ["xbw", "race_car", "250lm"])
def test_files_of_schema_1_open(name: str) -> None:
    old, new = vehicle_from_text(_of_schema_1(name), "old.toml"), read_vehicle_file(name)
    assert old.tables == new.tables
    assert old.serves() == new.serves()


def test_lines_of_an_old_file_are_its_own() -> None:
    text = _of_schema_1("xbw").replace("mass_kg = 541.0", "mass_lb = 541.0")
    line = 1 + text.split("\n").index("mass_lb = 541.0")
    with pytest.raises(SettingsError, match=rf"old.toml, line {line}: body.mass_lb: unknown key"):
        vehicle_from_text(text, "old.toml")


def test_an_old_file_that_cannot_be_told_shows_the_new_spelling() -> None:
    text = 'schema = 1\nname = "x"\nchassis = { mass_kg = 500.0, cg_m = [1.0, 0.0, 0.1] }\n'
    with pytest.raises(SettingsError, match=r"\[body\] since schema = 2 .*\[chassis\] is the whole vehicle"):
        vehicle_from_text(text, "old.toml")


# ---------------------------------------------------------------------------------------------------------- doctor


def test_doctor_says_what_a_header_serves() -> None:
    done = CliRunner().invoke(app, ["doctor", "250lm", "--json"])
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert document["uses"][SIDESLIP_FILTER] == {"served": True, "lacks": []}
    assert document["uses"][MULTIBODY_CAR]["lacks"] == ["[body]", "[front]", "[rear]", "[steering]", "[drive]"]
    assert "lacks [body]" in CliRunner().invoke(app, ["doctor", "250lm"]).output


def test_doctor_of_a_file_that_serves_nothing_says_what_to_add(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(HEADER.replace("track_m = 1.4\n", ""), encoding="utf-8")
    done = CliRunner().invoke(app, ["doctor", str(path)])
    assert isinstance(done.exception, SettingsError)
    assert "for the sideslip filter it lacks [chassis] track_m; for the multibody car" in str(done.exception)


def test_vsa_takes_a_shipped_car_by_name() -> None:
    from hodograph.cli.vsa import _vehicle

    car = _vehicle(Path("xbw"), [])
    assert car is not None
    assert car.prior.mass_kg == pytest.approx(694.15)
    with pytest.raises(SettingsError, match="no such vehicle; there are 250lm, race_car, xbw"):
        _vehicle(Path("tank"), [])
