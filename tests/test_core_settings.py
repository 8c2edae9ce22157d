from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from hodograph.core import Frame, SettingsError, read_settings, settings_from_text, settings_with_gaps


@dataclass(frozen=True, slots=True)
class Wheel:
    radius_m: float
    side: Literal["left", "right"] = "left"

    def __post_init__(self) -> None:
        if not self.radius_m > 0:
            raise ValueError(f"radius_m is {self.radius_m}, want > 0")


@dataclass(frozen=True, slots=True)
class Car:
    name: str
    mass_kg: float
    wheel: tuple[Wheel, ...] = ()
    size_m: tuple[float, float] | None = None
    frame: Frame = Frame.BODY
    class_: str = ""
    extra: dict[str, int] = field(default_factory=dict)
    anything: Any = None
    driven: bool = False


GOOD = """\
name = "kart"
mass_kg = 182
class = "KZ"
size_m = [1.8, 1]
frame = "enu"
extra = { a = 1 }
driven = true
anything = [1, "x"]

[[wheel]]
radius_m = 0.14

[[wheel]]
radius_m = 0.13
side = "right"
"""


def test_a_good_file_becomes_a_frozen_value(tmp_path: Path) -> None:
    path = tmp_path / "kart.toml"
    path.write_text(GOOD)
    car = read_settings(path, Car)
    assert car.mass_kg == 182.0
    assert isinstance(car.mass_kg, float)
    assert car.wheel == (Wheel(0.14), Wheel(0.13, "right"))
    assert car.size_m == (1.8, 1.0)
    assert (car.frame, car.class_, car.extra, car.driven) == (Frame.ENU, "KZ", {"a": 1}, True)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("mass_kg = 182", "mas_kg = 182", "line 2: mas_kg: unknown key; did you mean mass_kg?"),
        ("radius_m = 0.13", "radius_m = -1", "line 14: wheel[1]: radius_m is -1.0, want > 0"),
        ('side = "right"', 'side = "top"', "line 15: wheel[1].side: want one of 'left', 'right', got 'top'"),
        ("mass_kg = 182", 'mass_kg = "heavy"', "line 2: mass_kg: want float, got str 'heavy'"),
        ("mass_kg = 182", "mass_kg = true", "line 2: mass_kg: want float, got bool True"),
        ('name = "kart"\n', "", "'name' is missing and has no default"),
        ("mass_kg = 182", "mass_kg = nan", "line 2: mass_kg: want a finite number, got nan"),
        ("mass_kg = 182", "mass_kg = -inf", "line 2: mass_kg: want a finite number, got -inf"),
        ("mass_kg = 182", f"mass_kg = 1{400 * '0'}", "line 2: mass_kg: want a finite number, got inf"),
        ("size_m = [1.8, 1]", "size_m = [1.8, inf]", "line 4: size_m[1]: want a finite number, got inf"),
        ("size_m = [1.8, 1]", "size_m = [1.8]", "line 4: size_m: want 2 values, got 1"),
        ("size_m = [1.8, 1]", "size_m = 3", "line 4: size_m: want an array, got int 3"),
        ('frame = "enu"', 'frame = "mars"', "line 5: frame: want one of"),
        ("extra = { a = 1 }", "extra = { a = 1.5 }", "line 6: extra.a: want int, got float 1.5"),
        ("extra = { a = 1 }", "extra = 1", "line 6: extra: want a table"),
        ("radius_m = 0.14", "", "line 10: wheel[0]: 'radius_m' is missing"),
        ("mass_kg = 182", "mass_kg = = 182", "not valid TOML"),
    ],
)
def test_a_wrong_file_gets_the_line_and_the_reason(old: str, new: str, complaint: str) -> None:
    assert old in GOOD
    with pytest.raises(SettingsError) as caught:
        settings_from_text(GOOD.replace(old, new, 1), Car, source="kart.toml")
    assert complaint in str(caught.value)
    assert str(caught.value).startswith("kart.toml")


def test_all_that_is_missing_is_told_at_once() -> None:
    text = 'frame = "body"\n[[wheel]]\nside = "left"\n[[wheel]]\nradius_m = 0.1\n'
    with pytest.raises(SettingsError, match="missing, without default: name, mass_kg, \\[wheel\\[0\\]\\] radius_m"):
        settings_from_text(text, Car)


@dataclass(frozen=True, slots=True)
class Round:
    radius_m: float
    kind: Literal["round"] = "round"


@dataclass(frozen=True, slots=True)
class Flat:
    length_m: float
    kind: Literal["flat"] = "flat"


@dataclass(frozen=True, slots=True)
class Tools:
    spare: Round | Flat | None = None
    jack: Wheel | None = None


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(SettingsError, match=r"line 2: spare.kind: want one of 'round', 'flat', got 'square'"):
        settings_from_text('[spare]\nkind = "square"\nradius = 3\n', Tools)
    with pytest.raises(SettingsError, match="line 1: spare: say which is meant by kind = one of 'round', 'flat'"):
        settings_from_text("[spare]\nradius = 3\n", Tools)
    assert settings_from_text("[spare]\nlength_m = 3\n", Tools).spare == Flat(3.0)


def test_an_incomplete_table_may_be_forgiven_but_never_a_wrong_one() -> None:
    tools, gaps = settings_with_gaps('[spare]\nkind = "flat"\n[jack]\nradius_m = 1.0\n', Tools, "t.toml")
    assert (tools.spare, tools.jack) == (None, Wheel(1.0))
    assert gaps == {"spare": ("[spare] length_m",)}
    with pytest.raises(SettingsError, match=r"line 2: jack.width: unknown key"):
        settings_with_gaps("[jack]\nwidth = 1.0\n", Tools, "t.toml")
    with pytest.raises(SettingsError, match="spare: 'length_m' is missing"):
        settings_from_text('[spare]\nkind = "flat"\n', Tools)


def test_an_unreadable_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        read_settings(tmp_path / "absent.toml", Car)
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingsError, match="cannot be read"):
        read_settings(tmp_path / "binary.toml", Car)
