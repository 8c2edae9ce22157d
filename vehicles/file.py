"""A vehicle file: one dialect with levels, from a header for single-track filters to hard points for a multibody car.

Whoever uses a file asks for a use (`USES`), and hears everything that the file lacks for it in one message. Files of
schema 1, where [chassis] was the header in some and the sprung body in others, open as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from importlib.resources import files
from pathlib import Path
from typing import Literal

from hodograph.core.display import short_repr
from hodograph.core.errors import SettingsError
from hodograph.core.settings import settings_with_gaps, toml_table
from hodograph.vehicles.car import Air, Axle, DrivenAxles, SprungBody, Steering, Vehicle, require_origin
from hodograph.vehicles.header import Chassis, Tyres

SPRUNG = {"cg_m", "inertia_kgm2", "origin_height_m", "products_kgm2"}
"""Keys of [body] that no [chassis] of today has."""


@dataclass(frozen=True, slots=True)
class VehicleTables:
    """What a vehicle file may hold. Tables that a use does not need may be left out."""

    schema: Literal[2]  # of this dialect
    name: str  # what the vehicle is called in reports
    chassis: Chassis = field(default_factory=Chassis)  # the header: the whole vehicle
    tyres: Tyres = field(default_factory=Tyres)  # of each axle, for single-track models
    body: SprungBody | None = None  # what the springs carry
    front: Axle | None = None  # front axle
    rear: Axle | None = None  # rear axle
    steering: Steering | None = None  # the rack
    drive: DrivenAxles | None = None  # which wheels are driven; an empty table for a car without drive
    aero: Air | None = None  # drag and lift; without it the car is in a vacuum
    gravity_mps2: float = 9.81  # acts downwards

    def __post_init__(self) -> None:
        require_origin(self.front, self.rear, self.gravity_mps2)

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class VehicleFile:
    """A vehicle file that is right as far as it goes; `gaps` is what incomplete tables of it lack."""

    source: str
    tables: VehicleTables
    gaps: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Of the vehicle."""
        return self.tables.name

    def lacks(self, use: str) -> tuple[str, ...]:
        """What is missing for one of `USES`, as it is written in the file."""
        return USES[use](self)

    def serves(self) -> tuple[str, ...]:
        """Uses that nothing is missing for."""
        return tuple(use for use in USES if not self.lacks(use))

    def require(self, use: str) -> None:
        """Raise `SettingsError` that lists everything a use needs and the file has not."""
        missing = self.lacks(use)
        if missing:
            others = ", ".join(self.serves())
            raise SettingsError(
                self.source,
                f"for the {use} vehicle {self.name!r} lacks {', '.join(missing)}; add that to the file "
                f"(docs/data-files.md has every key; hodograph doctor tells what a file serves"
                + (f", this one: {others})" if others else ")"),
            )

    def car(self) -> Vehicle:
        """With hard points, for a multibody car; `SettingsError` lists what is missing."""
        self.require(MULTIBODY_CAR)
        return Vehicle(**{part.name: getattr(self.tables, part.name) for part in fields(Vehicle)})

    __repr__ = short_repr


def _lacks_of_car(file: VehicleFile) -> tuple[str, ...]:
    missing: list[str] = []
    for name in ("body", "front", "rear", "steering", "drive"):
        if getattr(file.tables, name) is None:
            missing += file.gaps.get(name, (f"[{name}]",))
    return (*missing, *file.gaps.get("aero", ()))


def _lacks_of_single_track(file: VehicleFile) -> tuple[str, ...]:
    if not _lacks_of_car(file):
        return ()
    missing = file.tables.chassis.lacks
    return (f"[chassis] {missing[0]}", *missing[1:]) if missing else ()


def _lacks_of_driving(file: VehicleFile) -> tuple[str, ...]:
    drive = file.tables.drive
    driven = drive is not None and (drive.front or drive.rear)
    others = tuple(missing for missing in _lacks_of_car(file) if missing != "[drive]")
    return others if driven else (*others, "[drive.rear] or [drive.front]")


def _lacks_of_braking(file: VehicleFile) -> tuple[str, ...]:
    axles = [axle for axle in (file.tables.front, file.tables.rear) if axle is not None]
    braked = any(axle.brake for axle in axles)
    return (*_lacks_of_car(file), *(() if braked else ("[front.brake] or [rear.brake]",)))


SIDESLIP_FILTER = "sideslip filter"
MULTIBODY_CAR = "multibody car"
USES: Mapping[str, Callable[[VehicleFile], tuple[str, ...]]] = {
    SIDESLIP_FILTER: _lacks_of_single_track,
    MULTIBODY_CAR: _lacks_of_car,
    "simulation of driving on a road": _lacks_of_driving,
    "simulation of braking on a road": _lacks_of_braking,
}


def vehicle_from_text(text: str, source: str) -> VehicleFile:
    """The vehicle file of a TOML text, also of schema 1; what is wrong is named with line and key."""
    tables, gaps = settings_with_gaps(_of_schema_2(text, source), VehicleTables, source)
    return VehicleFile(source, tables, gaps)


def vehicle_text(path: str | Path) -> tuple[str, str]:
    """(text, source) of a vehicle file, or of a shipped one by name ("xbw")."""
    if str(path) in shipped_files():
        return (files("hodograph.vehicles") / f"{path}.toml").read_text(encoding="utf-8"), f"{path}.toml"
    if not Path(path).suffix and not Path(path).is_file():
        raise SettingsError(str(path), f"no such vehicle; there are {', '.join(shipped_files())}, or give a file")
    try:
        return Path(path).read_text(encoding="utf-8"), str(path)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(str(path), f"cannot be read: {error}") from error


def read_vehicle_file(path: str | Path) -> VehicleFile:
    """The vehicle file at a path, or a shipped one by name ("xbw")."""
    return vehicle_from_text(*vehicle_text(path))


def shipped_files() -> tuple[str, ...]:
    """Names of the vehicles that come with the package."""
    found = [f.name for f in files("hodograph.vehicles").iterdir() if f.name.endswith(".toml")]
    return tuple(sorted(name.removesuffix(".toml") for name in found))


def _of_schema_2(text: str, source: str) -> str:
    """Text of schema 1 in the words of 2, line by line: [chassis] with an inertia of three numbers is now [body]."""
    table = toml_table(text, source)
    chassis = table.get("chassis")
    sprung = isinstance(chassis, dict) and bool(chassis.keys() & SPRUNG)
    if table.get("schema") != 1 and not sprung:
        return text
    if sprung:
        told, renamed = re.subn(r"^(\s*)\[\s*chassis\s*\]", r"\1[body]", text, flags=re.M)
        if table.get("schema") != 1 or renamed != 1 or "body" in table:
            raise SettingsError(
                source,
                "the sprung body is written [body] since schema = 2 (mass_kg, cg_m, inertia_kgm2, origin_height_m, "
                "products_kgm2); [chassis] is the whole vehicle: mass_kg, cg_to_front_axle_m and so on",
            )
        text = told
    return re.sub(r"^(\s*schema\s*=\s*)1\b", r"\g<1>2", text, count=1, flags=re.M)
