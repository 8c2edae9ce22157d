"""A kind that nobody knows is named, with those that there are: in data files, and wherever kinds become numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import pytest
from tyre_samples import TMEASY

from hodograph.ann.model import VsaKind
from hodograph.core.errors import SettingsError
from hodograph.core.kinds import member, unknown_kind
from hodograph.multibody import StepOptions, Stepper, build, read_mechanism, shipped_mechanism
from hodograph.multibody.car import mechanism_of, read_vehicle
from hodograph.multibody.forces.driveline import Differential, differential_row
from hodograph.multibody.forces.load_rows import gather_forces
from hodograph.multibody.forces.road import Road
from hodograph.multibody.forces.rolling import AxleDrive, TyreContact
from hodograph.multibody.forces.rolling_rows import gather_rolling
from hodograph.multibody.forces.tyres import cornering_stiffness_npr, slip_stiffness_n, steady_force, tyre_row
from hodograph.multibody.model.constraint_rows import all_rows
from hodograph.multibody.model.coordinates import lay_out
from hodograph.multibody.model.inertia import Inertia, inertia_of
from hodograph.multibody.steps.stepper import Refresh
from hodograph.replay.vsa_training import train_model
from hodograph.sensors import Quality, Row

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Odd:
    """Stands for a kind that somebody added without saying what it does."""

    kind: Literal["odd"] = "odd"


ODD: Any = Odd()


@dataclass(frozen=True, slots=True)
class OddTyre:
    """Has all that a tyre has, but is none that the kernel knows."""

    radius_m: float = 0.3
    nominal_load_n: float = 3000.0
    camber_slip: float = 0.0
    longitudinal: Any = ODD
    lateral: Any = ODD
    kind: Literal["brush"] = "brush"


@dataclass(frozen=True, slots=True)
class OddFeature:
    kind: Literal["kerb"] = "kerb"

    def row(self) -> list[float]:
        return [7.0, 0.1]


MECHANISM = """
schema = 1
name = "mine"
space = "planar"
gravity_mps2 = [0.0, -9.81]
[points]
A = { position_m = [0.0, 0.0], fixed = true }
B = { position_m = [1.0, 0.0] }
[bodies.rod]
kind = "bar"
points = ["A", "B"]
mass_kg = 1.0
[constraints.line]
kind = "linear"
terms = { "B.x" = 1.0 }
value = 1.0
[forces.push]
kind = "point_force"
at = "B"
force_n = [1.0, 0.0]
"""


@pytest.mark.parametrize(
    ("good", "table", "known"),
    [
        ("bar", "bodies.rod", "'bar', 'lamina', 'planar', 'rigid', 'wheel', 'particle'"),
        ("linear", "constraints.line", "'distance', 'unit', 'dot', 'linear', 'combination', 'aligned', 'guided'"),
        ("point_force", "forces.push", "'spring', .*'tyre', 'brake', 'drive', 'air'"),
    ],
)
def test_a_mechanism_file_with_a_wrong_kind_is_told_so(good: str, table: str, known: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(MECHANISM)
    assert read_mechanism(path).name == "mine"
    path.write_text(MECHANISM.replace(f'"{good}"', '"odd"'))
    with pytest.raises(SettingsError, match=rf"mine\.toml.*{table}\.kind: want one of {known}, got 'odd'"):
        read_mechanism(path)


@pytest.mark.parametrize(
    ("good", "known"),
    [("double_wishbone", "'double_wishbone', 'macpherson'"), ("limited_slip", "'open', 'limited_slip'")],
)
def test_a_vehicle_file_with_a_wrong_kind_is_told_so(good: str, known: str, tmp_path: Path) -> None:
    text = (ROOT / "vehicles/race_car.toml").read_text(encoding="utf-8")
    assert f'kind = "{good}"' in text
    path = tmp_path / "mine.toml"
    path.write_text(text.replace(f'kind = "{good}"', 'kind = "odd"', 1))
    with pytest.raises(SettingsError, match=rf"\.kind: want one of {known}, got 'odd'"):
        read_vehicle(path)


@pytest.mark.parametrize("table", ["bodies", "constraints", "forces"])
def test_a_mechanism_refuses_parts_of_other_classes(table: str) -> None:
    with pytest.raises(ValueError, match=r"odd_one: kind odd is not known; there are \w+, "):
        replace(shipped_mechanism("fourbar"), **{table: {"odd_one": ODD}})


def with_odd(table: str, odd: Any = ODD) -> Any:
    """Coordinates of a car, with a part that has come into the mechanism past its check."""
    mechanism = mechanism_of(read_vehicle("xbw"))
    coordinates = lay_out(mechanism)
    object.__setattr__(mechanism, table, {**getattr(mechanism, table), "odd_one": odd})
    return coordinates


def test_a_force_that_no_table_takes_is_not_left_out() -> None:
    with pytest.raises(ValueError, match="force odd_one: kind odd is not known; there are spring, coordinate_spring"):
        gather_forces(with_odd("forces"), Inertia(), {})
    with pytest.raises(ValueError, match="force odd_one: kind odd is not known; there are tyre, brake, drive, air"):
        gather_rolling(with_odd("forces"), dict.fromkeys(build(mechanism_of(read_vehicle("xbw"))).inputs, 1))


@pytest.mark.parametrize("table", ["bodies", "constraints"])
def test_a_body_or_constraint_without_rows_is_not_left_out(table: str) -> None:
    with pytest.raises(ValueError, match="odd_one: kind odd is not known"):
        all_rows(with_odd(table))


def test_a_body_without_frame_or_inertia_is_not_left_out() -> None:
    mechanism = shipped_mechanism("fourbar")
    odd = SimpleNamespace(points=("A", "P1"), kind="odd")
    object.__setattr__(mechanism, "bodies", {**mechanism.bodies, "odd_one": odd})
    with pytest.raises(ValueError, match="body odd_one: kind SimpleNamespace is not known; there are bar"):
        lay_out(mechanism)
    heavy = SimpleNamespace(mass_kg=1.0)
    coordinates = with_odd("bodies", heavy)
    coordinates.frames["odd_one"] = next(iter(coordinates.frames.values()))
    with pytest.raises(ValueError, match="body odd_one: kind SimpleNamespace is not known"):
        inertia_of(coordinates)


def test_a_third_kind_of_tyre_is_no_magic_formula() -> None:
    odd: Any = OddTyre()
    known = "kind brush is not known; there are tmeasy, magic_formula"
    with pytest.raises(ValueError, match=f"tyre of wheel: {known}"):
        TyreContact("wheel", odd)
    with pytest.raises(ValueError, match=known):
        tyre_row(odd)
    with pytest.raises(ValueError, match=known):
        steady_force(odd, 3000.0, 0.1, 0.0)
    for slope in (cornering_stiffness_npr, slip_stiffness_n):
        with pytest.raises(ValueError, match="tyre curve: kind odd is not known; there are TMeasyCurve, MagicCurve"):
            slope(odd, 3000.0)
    assert TyreContact("wheel", TMEASY).tyre is TMEASY


def test_a_third_kind_of_differential_is_not_open() -> None:
    with pytest.raises(ValueError, match="differential of l, r: kind odd is not known; there are open, limited_slip"):
        AxleDrive(("l", "r"), "torque", ODD)
    with pytest.raises(ValueError, match="differential: kind odd is not known; there are open, limited_slip"):
        differential_row(ODD)
    assert isinstance(AxleDrive(("l", "r"), "torque").differential, Differential)


def test_a_road_feature_whose_number_is_none_is_no_bump() -> None:
    odd: Any = OddFeature()
    with pytest.raises(ValueError, match="road: kind kerb is not known; there are plane, sine, bump"):
        Road((odd,)).table()


def test_a_sensor_row_of_a_wrong_kind_does_not_get_into_a_table() -> None:
    with pytest.raises(ValueError, match=r"sensor row gyro: kind 9 is not known; there are 0 \(POSITION\), 1"):
        Row("gyro", 9, (), (), Quality(0.1))


def test_methods_are_taken_by_name_and_wrong_ones_named() -> None:
    model = build(shipped_mechanism("pendulum"))
    by_name: Any = Stepper(model, "matrix-r", "rk4")  # type: ignore[arg-type]
    proper = Stepper(model, by_name.formulation, by_name.integrator)
    assert np.array_equal(by_name.step(by_name.start(), 1e-3)[0].q, proper.step(proper.start(), 1e-3)[0].q)
    with pytest.raises(ValueError, match="Integrator: kind rk5 is not known; there are forward-euler, trapezoidal"):
        Stepper(model, "matrix-r", "rk5")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Formulation: kind newton is not known"):
        Stepper(model, "newton")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Refresh: kind never is not known; there are every-iteration"):
        StepOptions(refresh="never")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Projection: kind some is not known"):
        StepOptions(projection="some")  # type: ignore[arg-type]


def test_a_sideslip_model_of_a_wrong_kind_is_not_trained() -> None:
    with pytest.raises(ValueError, match="VsaKind: kind statik is not known; there are static, memory, hybrid, ekf"):
        train_model("statik", [])  # type: ignore[arg-type]


def test_kinds_are_spelled_as_in_files() -> None:
    assert member(Refresh, "when-slow") is Refresh.WHEN_SLOW
    assert str(unknown_kind("thing", 3, [1, 2])) == "thing: kind 3 is not known; there are 1, 2"
    assert "VsaKind" not in str(unknown_kind("thing", Odd, VsaKind))
