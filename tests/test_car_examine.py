"""Examining a vehicle: ride modes against a textbook model, findings about wrong cars, the doctor's command."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from scipy.linalg import eigh

from hodograph.cli import main
from hodograph.cli.doctor import print_report
from hodograph.multibody.car import CORNERS, read_vehicle, static_loads
from hodograph.multibody.car.curves import corner_figures
from hodograph.multibody.car.examine import VehicleReport, examine, report_document
from hodograph.vehicles.car import Vehicle

FOLDER = Path(__file__).parents[1] / "vehicles"


@pytest.fixture(scope="module")
def reports() -> dict[str, VehicleReport]:
    return {name: examine(read_vehicle(name)) for name in ("xbw", "race_car")}


def corner_kg(vehicle: Vehicle, corner: str) -> tuple[float, float]:
    """What moves with the wheel (knuckle, 40 % of the arms) and what with the body (the rest of the arms)."""
    axle = vehicle.corner(corner).axle
    s = axle.suspension
    arms = s.lower_arm.mass_kg + (s.upper_arm.mass_kg if s.kind == "double_wishbone" else 0.0)
    return s.knuckle.mass_kg + axle.wheel.mass_kg + 0.4 * arms, 0.6 * arms


def textbook_hz(vehicle: Vehicle) -> list[float]:
    """Seven degrees of freedom: a rigid body on four springs, two bars, four masses and four tyres."""
    loads = static_loads(vehicle)
    corners = {c: corner_figures(vehicle, c, loads.spring_n[c]) for c in CORNERS}
    wheels_kg = {c: corner_kg(vehicle, c)[0] for c in CORNERS}
    mass = np.diag([loads.total_kg - sum(wheels_kg.values()), *vehicle.body.inertia_kgm2[:2], *wheels_kg.values()])
    for c in CORNERS:
        x, y, _ = vehicle.corner(c).axle.wheel_centre_m
        mass[1, 1] += corner_kg(vehicle, c)[1] * (0.6 * y) ** 2
        mass[2, 2] += corner_kg(vehicle, c)[1] * (x - vehicle.body.cg_m[0]) ** 2
    stiffness = np.zeros((7, 7))

    def add(direction: np.ndarray[Any, Any], rate_npm: float) -> None:
        stiffness[:] += rate_npm * np.outer(direction, direction)

    travel = {}
    for k, c in enumerate(CORNERS):
        x, y, _ = vehicle.corner(c).axle.wheel_centre_m
        travel[c] = np.zeros(7)
        travel[c][:3] = [-1.0, -(y - vehicle.body.cg_m[1]), x - vehicle.body.cg_m[0]]
        travel[c][3 + k] = 1.0
        add(travel[c], corners[c].wheel_rate_npm)
        add(np.eye(7)[3 + k], vehicle.corner(c).axle.tyre.stiffness_npm)
    for left, right in (("fl", "fr"), ("rl", "rr")):
        add(travel[left] - travel[right], corners[left].bar_rate_npm / 2.0)
    return [float(np.sqrt(w) / (2.0 * np.pi)) for w in eigh(stiffness, mass, eigvals_only=True)]


@pytest.mark.parametrize("name", ["xbw", "race_car"])
def test_ride_modes_are_those_of_a_textbook_car(name: str, reports: dict[str, VehicleReport]) -> None:
    """Without dampers: 2 % for heave and pitch, 6 % for roll and hop, of which the textbook knows less."""
    modes = reports[name].modes
    assert [mode.name for mode in modes[:3]] == ["heave", "pitch", "roll"]
    wanted = textbook_hz(read_vehicle(name))
    modes = tuple(sorted(modes, key=lambda mode: mode.undamped_hz))
    for k, (mode, hz) in enumerate(zip(modes, wanted, strict=True)):
        assert mode.undamped_hz == pytest.approx(hz, rel=0.02 if k < 2 else 0.06), mode.name
        assert 0.1 < mode.damping_ratio < 1.0


@pytest.mark.parametrize("name", ["xbw", "race_car"])
def test_shipped_vehicles_are_healthy(name: str, reports: dict[str, VehicleReport]) -> None:
    report = reports[name]
    standing = report.standing
    assert standing is not None
    assert [f.text for f in report.findings if f.level == "warning"] == []
    weight_n = report.vehicle.gravity_mps2 * report.design.total_kg
    assert sum(standing.wheel_n.values()) == pytest.approx(weight_n, rel=1e-6)
    assert abs(standing.rise_m) < 1e-3
    for corner in CORNERS:
        assert standing.wheel_n[corner] == pytest.approx(report.design.wheel_n[corner], rel=0.01)
    document = report_document(report)
    json.dumps(document)
    assert document["degrees_of_freedom"] == 14


def test_rates_are_derivatives_of_forces(reports: dict[str, VehicleReport]) -> None:
    """Wheel rate = d(spring force · ratio)/d(bump), by differences along the swept curve."""
    for report in reports.values():
        for corner in ("fl", "rl"):
            c, spring = report.corners[corner], report.vehicle.corner(corner).axle.spring
            near = np.argsort(np.abs(c.curves.bump_m))[:3]
            bump, ratio = c.curves.bump_m[np.sort(near)], c.curves.motion_ratio[np.sort(near)]
            force_n = report.design.spring_n[corner] + spring.rate_npm * ratio[1] * (bump - 0.0)
            slope = np.polyfit(bump, force_n * ratio, 1)[0]
            assert slope == pytest.approx(c.wheel_rate_npm, rel=0.02)


def test_a_car_that_is_wrong_is_told_so() -> None:
    """Springs too soft for the weight, the gear reversed, a seat off its arm, wheels far apart: each by name."""
    good = read_vehicle("race_car")
    front = replace(good.front, spring=replace(good.front.spring, load_n=1500.0, lower_m=(2.59, 0.62, -0.13)))
    wrong = replace(good, front=front, steering=replace(good.steering, rack_m_per_rad=-0.0095, travel_m=0.4))
    told = [(f.level, f.text) for f in examine(wrong).findings if f.level != "ok"]
    text = " | ".join(f"{level}: {text}" for level, text in told)
    assert "warning: fl spring: 1500 N in the design position, 28" in text
    assert "warning: stands" in text
    assert "check spring loads" in text
    assert "warning: steering wheel to the left turns the wheels to the right" in text
    assert "warning: the linkage jams at" in text
    assert "off the plane of its arm" in text


@pytest.mark.parametrize(("x_m", "light"), [(-0.5, ("fl", "fr")), (3.6, ("rl", "rr"))])
def test_a_car_that_would_tip_over_is_diagnosed(x_m: float, light: tuple[str, ...]) -> None:
    """With the centre of gravity outside the wheelbase an axle would have to hang on to the road."""
    good = read_vehicle("xbw")
    cg_m = (x_m, *good.body.cg_m[1:])
    report = examine(replace(good, body=replace(good.body, cg_m=cg_m)))
    told = [f.text for f in report.findings if f.level == "warning"]
    for name in light:
        assert any(text.startswith(f"{name} wheel would carry -") and "body.cg_m" in text for text in told)
    assert any("carries nothing, so it has no frequency" in f.text for f in report.findings)
    json.dumps(report_document(report))


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["hodograph", "doctor", *map(str, arguments)])
    try:
        main.run()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_doctor_computes_and_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, FOLDER / "race_car.toml", "--json", "--out", tmp_path / "pictures") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["vehicle"] == "race car"
    assert document["warnings"] == 0
    for path in document["pictures"]:
        assert Path(path).stat().st_size > 50_000


def test_doctor_tells_in_words(reports: dict[str, VehicleReport]) -> None:
    page = io.StringIO()
    print_report(Console(file=page, width=120), reports["xbw"])
    shown = page.getvalue()
    assert "18 bodies, 67 coordinates, 53 constraints, 14 degrees of freedom" in shown
    assert "rear axle has a right side of its own" in shown
    assert "nothing to worry about" in shown


def test_a_car_that_cannot_be_built_is_drawn_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Inertias that no mass distribution has: refused by name, with a picture to look at."""
    text = (FOLDER / "xbw.toml").read_text(encoding="utf-8")
    path = tmp_path / "mine.toml"
    path.write_text(text.replace("[64.571, 306.849, 297.270]", "[64.571, 306.849, 29.7]"), encoding="utf-8")
    assert run(monkeypatch, path, "--out", tmp_path) == 1
    assert "body chassis: no mass distribution has these inertias" in capsys.readouterr().err
    assert (tmp_path / "vehicle.png").exists()


def test_doctor_of_a_wrong_file_says_line_and_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (FOLDER / "xbw.toml").read_text(encoding="utf-8").replace("mass_kg = 541.0", "mass_lb = 541.0")
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    assert run(monkeypatch, path, "--json") == 1
    out, err = capsys.readouterr()
    assert out == ""
    line = 1 + text.split("\n").index("mass_lb = 541.0")
    assert f"mine.toml, line {line}" in err
    assert "body.mass_lb: unknown key; did you mean mass_kg?" in err
    assert run(monkeypatch, tmp_path / "nowhere.toml") == 1
