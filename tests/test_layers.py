"""Imports point downward only, as design and CONTRIBUTING say; nobody imports a folder bare."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LOW = {"core", "numerics", "vehicles"}
MAY_IMPORT: dict[str, set[str]] = {
    "core": set(),
    "vehicles": {"core"},
    "numerics": {"core"},
    "multibody": LOW,
    "track_maps": LOW,
    "sensors": {*LOW, "multibody"},
    "acquisition": {"core"},
    "observers": {*LOW, "sensors", "multibody"},
    "ann": {*LOW, "observers"},
    "twin": {*LOW, "acquisition", "sensors", "multibody", "track_maps"},
    "replay": {*LOW, "acquisition", "sensors", "multibody", "observers", "track_maps", "ann"},
    "onboard": {
        "core",
        "numerics",
        "vehicles",
        "acquisition",
        "sensors",
        "multibody",
        "observers",
        "track_maps",
        "ann",
    },
}
MAY_IMPORT["bench"] = set(MAY_IMPORT)
MAY_IMPORT["cli"] = set(MAY_IMPORT)
FORBIDDEN_LIBRARIES = {
    "vehicles": {"scipy", "pandas", "pyarrow", "numba", "sklearn", "matplotlib"},
    "core": {"scipy", "pandas", "pyarrow", "numba", "pyproj", "serial", "sklearn", "matplotlib", "typer", "rich"},
    "observers": {"serial", "pandas", "sklearn", "pyarrow", "matplotlib"},
    "multibody": {"serial", "pandas", "sklearn", "pyarrow"},
}


ROOMS: dict[str, set[str]] = {
    "mechanisms": set(),
    "model": {"forces", "mechanisms"},
    "forces": {"model"},  # data below the mechanism that lists them, rows above it: written in its coordinates
    "motion": {"model", "forces"},
    "steps": {"model", "forces", "motion"},
    "car": {"model", "forces", "motion", "steps"},
}
"""Rooms of multibody, and what they may import."""


def imported_modules(source: str) -> set[str]:
    modules: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute here"
            modules |= {f"{node.module}.{alias.name}" for alias in node.names} if node.module == "hodograph" else set()
            modules.add(node.module or "")
    return modules


def violations(folder: str, source: str) -> list[str]:
    found = []
    for module in sorted(imported_modules(source)):
        top, _, rest = module.partition(".")
        if top in MAY_IMPORT:
            found.append(f"bare import of {module}")
        if top == "hodograph" and rest:
            target = rest.split(".")[0]
            if target != folder and target not in MAY_IMPORT[folder]:
                found.append(f"{folder} must not import {target}")
        if top in FORBIDDEN_LIBRARIES.get(folder, set()):
            found.append(f"{folder} must not import {top}")
    return found


@pytest.mark.parametrize("folder", sorted(MAY_IMPORT))
def test_imports_point_downward(folder: str) -> None:
    for path in sorted((ROOT / folder).rglob("*.py")):
        assert not violations(folder, path.read_text(encoding="utf-8")), path


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_rooms_of_multibody_import_only_those_below(room: str) -> None:
    for path in sorted((ROOT / "multibody" / room).rglob("*.py")):
        own = [m.split(".") for m in imported_modules(path.read_text(encoding="utf-8"))]
        used = {m[2] for m in own if m[:2] == ["hodograph", "multibody"] and len(m) > 2}
        assert used - {room} <= ROOMS[room], path


def test_every_module_of_multibody_stands_in_a_room() -> None:
    folder = ROOT / "multibody"
    assert {path.name for path in folder.iterdir() if (path / "__init__.py").exists()} == set(ROOMS)
    assert {path.name for path in folder.glob("*.py")} == {"__init__.py", "warm_up.py"}


def test_every_folder_is_typed_and_packaged() -> None:
    setup = (ROOT / "setup.py").read_text(encoding="utf-8")
    for folder in MAY_IMPORT:
        assert f'"{folder}"' in setup
        if (ROOT / folder).is_dir():
            assert (ROOT / folder / "__init__.py").exists(), folder
            assert (ROOT / folder / "py.typed").exists(), folder


def test_the_rule_catches_what_it_should() -> None:
    assert violations("core", "from hodograph.acquisition import nmea") == ["core must not import acquisition"]
    assert violations("acquisition", "import observers") == ["bare import of observers"]
    assert violations("observers", "import pandas as pd") == ["observers must not import pandas"]
    assert violations("replay", "from hodograph import twin") == ["replay must not import twin"]
    assert violations("observers", "from hodograph.bench import car_speed") == ["observers must not import bench"]
