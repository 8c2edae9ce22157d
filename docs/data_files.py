"""Writes `docs/data-files.md`: every key of every data file, from the dataclasses that read them.

    python -m docs.data_files > docs/data-files.md

A key's meaning is the comment behind its field, or the lines of comment above it; a key without one is an error.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import textwrap
import types
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hodograph.acquisition.importers.mapping import MappingFile
from hodograph.acquisition.rig import _RigFile
from hodograph.multibody.model.mechanism import Mechanism
from hodograph.sensors import on_mechanism as sensors
from hodograph.vehicles.file import VehicleTables

MOST_PLACES = 4
UNITS = {
    "m": "m", "m2": "m²", "mps": "m/s", "mps2": "m/s²", "rad": "rad", "deg": "deg", "radps": "rad/s", "s": "s",
    "hz": "Hz", "kg": "kg", "kgm2": "kg·m²", "kgpm3": "kg/m³", "n": "N", "nm": "N·m", "npm": "N/m", "nspm": "N·s/m",
    "npr": "N/rad", "nmpr": "N·m/rad", "nmspr": "N·m·s/rad", "pa": "Pa", "perrad": "1/rad", "m_per_rad": "m/rad",
}  # fmt: skip
"""What the ends of names mean."""

INTRODUCTION = """# Data files: every key

<!-- Written by `python -m docs.data_files`; change the comments beside the fields instead. -->

All of them are TOML. Unknown keys are refused, numbers must be finite and within their ranges, and every complaint
names file, line and key. A key without a default must be there; `–` means that it may be left out. Vectors and points
are `[x, y, z]`. Axes, signs and the ends of names: [conventions](conventions.md).
"""
FILES: tuple[tuple[str, str, type], ...] = (
    (
        "Vehicle files",
        "What they are for and how to write one: [Bring your own car](vehicles.md). Only `schema` and `name` must be "
        "there; what else a use needs it says itself, and so does `hodograph doctor FILE`. A sideslip filter needs "
        "`[chassis]`, or instead all that a multibody car needs: `[body]`, `[front]`, `[rear]`, `[steering]`, "
        "`[drive]`. Points are in the body axes, on the left.",
        VehicleTables,
    ),
    (
        "Mechanism files",
        "What a *place*, a *direction* and a *coordinate* are: [Mechanisms](multibody.md). `NAME` is yours.",
        Mechanism,
    ),
    ("Mapping files", "What the columns of a foreign table mean: [Import tables](importing-tables.md).", MappingFile),
    ("Rig files", "How each sensor is reached: [Record a drive](recording.md).", _RigFile),
)
SENSORS = (
    sensors.Encoder,
    sensors.RateEncoder,
    sensors.Gyroscope,
    sensors.Accelerometer,
    sensors.DistanceMeter,
    sensors.AbsolutePoint,
    sensors.PointVelocity,
    sensors.SensorGroup,
    sensors.Quality,
)
Place = tuple[str, ...]


def page() -> str:
    """The whole page."""
    parts = [INTRODUCTION]
    told: set[type] = set()
    for title, text, root in FILES:
        parts += [f"## {title}\n", text + "\n", *_sections(root, told)]
    parts += [
        "## Sensors on a mechanism\n",
        "Written in Python (`hodograph.sensors`), with the keys as arguments: see [Observers](observers.md).\n",
    ]
    for cls in SENSORS:
        parts += [f"### `{cls.__name__}`\n", *_section(cls)]
    return "\n".join(parts)


def _sections(root: type, told: set[type]) -> Iterator[str]:
    """Every table that is not told yet, with the places where it may stand, the nearest first."""
    places: dict[type, dict[Place, None]] = {}
    _walk(root, (), places)
    for cls, where in places.items():
        if cls in told:
            continue
        told.add(cls)
        if cls is not root:
            nearest = sorted(where, key=len)
            shown = [f"`{_header(place)}`" for place in nearest[:MOST_PLACES]]
            more = ", …" if len(nearest) > MOST_PLACES else ""
            yield f"### {', '.join(shown)}{more}{_kind(cls)}\n"
        yield from _section(cls)


def _walk(cls: type, place: Place, places: dict[type, dict[Place, None]]) -> None:
    places.setdefault(cls, {})[place] = None
    hints = get_type_hints(cls)
    for field in _fields(cls):
        for part, suffix in _tables(hints[field.name]):
            _walk(part, (*place, field.name.rstrip("_") + suffix), places)


def _tables(hint: Any) -> Iterator[tuple[type, str]]:
    """The tables that a value may be; `*` behind the name of a list of them, `.NAME` of those with names."""
    origin, args = get_origin(hint), get_args(hint)
    if inspect.isclass(hint) and dataclasses.is_dataclass(hint):
        yield hint, ""
    elif origin in (Union, types.UnionType):
        for alternative in args:
            yield from _tables(alternative)
    elif origin is tuple:
        for cls, _ in _tables(args[0]):
            yield cls, "*"
    elif origin in (dict, Mapping) or (inspect.isclass(origin) and issubclass(origin, Mapping)):
        for cls, _ in _tables(args[1]):
            yield cls, ".NAME"


def _header(place: Place) -> str:
    inside = ".".join(part.rstrip("*") for part in place)
    return f"[[{inside}]]" if place[-1].endswith("*") else f"[{inside}]"


def _kind(cls: type) -> str:
    kinds = get_args(get_type_hints(cls).get("kind"))
    return f', kind = "{kinds[0]}"' if kinds else ""


def _section(cls: type) -> Iterator[str]:
    yield re.sub(r"``", "`", inspect.cleandoc(cls.__doc__ or "")) + "\n"
    yield "| key | unit or type | default | meaning |\n|---|---|---|---|"
    meanings, hints = _meanings(cls), get_type_hints(cls)
    for field in _fields(cls):
        if field.name not in meanings:
            raise ValueError(f"{cls.__qualname__}.{field.name} has no comment that says what it means")
        name = field.name.rstrip("_")
        meaning = meanings[field.name].replace("|", "\\|")
        yield f"| `{name}` | {_type(hints[field.name], _unit(name))} | {_default(field)} | {meaning} |"
    yield ""


def _fields(cls: type) -> list[dataclasses.Field[Any]]:
    return [field for field in dataclasses.fields(cls) if field.init]


def _meanings(cls: type) -> dict[str, str]:
    """Comments of the fields by name, those of a base class as well."""
    found: dict[str, str] = {}
    for part in reversed(cls.__mro__):
        if dataclasses.is_dataclass(part):
            found |= _comments(textwrap.dedent(inspect.getsource(part)))
    return found


def _comments(source: str) -> dict[str, str]:
    lines = source.splitlines()
    (body,) = (node.body for node in ast.parse(source).body if isinstance(node, ast.ClassDef))
    found = {}
    for node in body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.end_lineno is not None:
            behind = lines[node.end_lineno - 1][node.end_col_offset or 0 :].strip()
            above: list[str] = []
            for line in reversed(lines[: node.lineno - 1]):
                if not line.strip().startswith("#"):
                    break
                above.insert(0, line.strip().lstrip("# "))
            text = behind.lstrip("# ") if behind.startswith("#") else " ".join(above)
            if text:
                found[node.target.id] = text
    return found


def _unit(name: str) -> str:
    if name.endswith("_m_per_rad"):
        return UNITS["m_per_rad"]
    return UNITS.get(name.rsplit("_", 1)[-1], "number") if "_" in name else "number"


def _type(hint: Any, unit: str) -> str:
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        return " or ".join(f'`"{a}"`' if isinstance(a, str) else f"`{a}`" for a in args)
    if origin in (Union, types.UnionType):
        shown = [_type(a, unit) for a in args if a is not types.NoneType]
        return " or ".join(dict.fromkeys(shown))
    if origin is tuple:
        if args[-1] is Ellipsis:
            return f"list of {_plural(_type(args[0], unit))}"
        same = len(set(args)) == 1
        return f"{len(args)} × {_type(args[0], unit)}" if same else ", ".join(_type(a, unit) for a in args)
    if list(_tables(hint)):
        return "table" if dataclasses.is_dataclass(hint) else "tables by name"
    if origin is not None:
        return f"table of {_plural(_type(args[1], unit))}"
    if inspect.isclass(hint) and issubclass(hint, Enum):
        return " or ".join(f'`"{member.value}"`' for member in hint)
    return {str: "text", int: "integer", bool: "true or false", float: unit}.get(hint, "table")


def _plural(shown: str) -> str:
    return {"number": "numbers", "text": "texts", "table": "tables", "2 × number": "[number, number]"}.get(shown, shown)


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default_factory is not dataclasses.MISSING or field.default is None:
        return "–"
    if field.default is dataclasses.MISSING:
        return "**required**"
    value = field.default
    if isinstance(value, tuple):
        return f"`[{', '.join(f'{v:g}' for v in value)}]`"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, str):
        return f'`"{value.value if isinstance(value, Enum) else value}"`'
    return f"`{value:.6g}`"


if __name__ == "__main__":
    print(page(), end="")
