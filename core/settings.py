"""TOML files (mappings, rigs, vehicles, mechanisms) → frozen dataclasses.

The dataclass is the schema: a key that is no field is refused, a field without default must be there, a value must
fit its annotation, a float must be finite. Ranges belong into `__post_init__` (raise `ValueError`). Every complaint
names file, line, key; what is missing is named all at once. What a key means stands in the comment behind its field or
above it: `docs/data_files.py` makes the reference of it.

Annotations understood: str, int, float, bool, Literal, `X | None`, tuple[X, ...], tuple[X, Y], dict[str, X], another
dataclass, and Any (taken as it is). A field `class_` is written `class` in the file.
"""

from __future__ import annotations

import dataclasses
import math
import re
import tomllib
import types
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from hodograph.core.errors import HodographError, SettingsError

T = TypeVar("T")
Path_ = tuple[str | int, ...]


class _Misfit(Exception):
    def __init__(self, path: Path_, reason: str, at: Path_ | None = None) -> None:
        super().__init__(reason)
        self.path = path
        self.reason = reason
        self.at = path if at is None else at  # whose line is told


@dataclasses.dataclass(frozen=True, slots=True)
class _Gap:
    """A key without default that is not there."""

    table: Path_
    key: str
    is_table: bool

    def __str__(self) -> str:
        where = f"[{_spell((*self.table, self.key) if self.is_table else self.table)}]"
        return where if self.is_table else f"{where} {self.key}" if self.table else self.key


class _Incomplete(_Misfit):
    """Everything that is there fits, but keys are missing."""

    def __init__(self, path: Path_, gaps: list[_Gap]) -> None:
        if len(gaps) == 1:
            super().__init__(gaps[0].table, f"{gaps[0].key!r} is missing and has no default")
        else:
            super().__init__(path, f"missing, without default: {', '.join(_grouped(gaps))}")
        self.gaps = gaps


def _grouped(gaps: list[_Gap]) -> list[str]:
    """As a reader wants them: keys of one table behind one another."""
    told: list[str] = []
    last: Path_ | None = None
    for gap in gaps:
        told.append(gap.key if gap.table == last and not gap.is_table else str(gap))
        last = None if gap.is_table else gap.table
    return told


def read_settings(path: str | Path, cls: type[T]) -> T:
    """The TOML file at `path` as an instance of the dataclass `cls`; `SettingsError` says what is wrong and where."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(str(path), f"cannot be read: {error}") from error
    return settings_from_text(text, cls, source=str(path))


def settings_from_text(text: str, cls: type[T], source: str = "settings") -> T:
    """Same for TOML text already at hand; `source` is named in errors."""
    table = toml_table(text, source)
    try:
        built: T = _build(cls, table, ())
    except _Misfit as misfit:
        raise _told(misfit, text, source) from misfit.__cause__
    return built


def settings_with_gaps(text: str, cls: type[T], source: str) -> tuple[T, dict[str, tuple[str, ...]]]:
    """Same for a file that serves several uses: an optional table that lacks keys is taken as not there.

    What such a table lacks is told under its name, for the use that wants it. Anything else that is wrong is an error.
    """
    table = toml_table(text, source)
    gaps: dict[str, tuple[str, ...]] = {}
    try:
        built: T = _build(cls, table, (), gaps)
    except _Misfit as misfit:
        raise _told(misfit, text, source) from misfit.__cause__
    return built, gaps


def toml_table(text: str, source: str) -> dict[str, Any]:
    """TOML text as it is; `SettingsError` when it is none."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(source, f"not valid TOML: {error}") from error


def _told(misfit: _Misfit, text: str, source: str) -> SettingsError:
    where = _spell(misfit.path)
    reason = f"{where}: {misfit.reason}" if where else misfit.reason
    return SettingsError(source, reason, _line_of(text, misfit.at))


def _spell(path: Path_) -> str:
    return "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path).lstrip(".")


def _build(cls: Any, table: object, path: Path_, forgiven: dict[str, tuple[str, ...]] | None = None) -> Any:
    if not isinstance(table, Mapping):
        raise _Misfit(path, f"want a table, got {_describe(table)}")
    hints = get_type_hints(cls)
    fields = {f.name.rstrip("_"): f for f in dataclasses.fields(cls) if f.init}
    for key in table:
        if key not in fields:
            near = get_close_matches(key, fields, n=1)
            meant = f"did you mean {near[0]}?" if near else f"known: {', '.join(fields)}"
            raise _Misfit((*path, key), f"unknown key; {meant}")
    arguments = {}
    gaps: list[_Gap] = []
    for key, field in fields.items():
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if key not in table:
            if required:
                gaps.append(_Gap(path, key, _is_table(hints[field.name])))
            continue
        try:
            arguments[field.name] = _fit(hints[field.name], table[key], (*path, key))
        except _Incomplete as incomplete:
            if required or forgiven is None:
                gaps += incomplete.gaps
            else:
                forgiven[key] = tuple(_grouped(incomplete.gaps))
    if gaps:
        raise _Incomplete(path, gaps)
    try:
        return cls(**arguments)
    except (ValueError, HodographError) as error:
        raise _Misfit(path, str(error), _key_named_in(str(error), path, table)) from error


def _key_named_in(reason: str, path: Path_, table: Mapping[Any, object]) -> Path_:
    """The key that a complaint about a table begins with, so that its line is told rather than that of the header."""
    word = re.match(r"\w*", reason)
    return (*path, word[0]) if word is not None and word[0] in table else path


def _is_table(hint: Any) -> bool:
    alternatives = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    return any(dataclasses.is_dataclass(a) for a in alternatives)


def _fit(hint: Any, value: object, path: Path_) -> Any:
    if hint is Any:
        return value
    if dataclasses.is_dataclass(hint):
        return _build(hint, value, path)
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        if value not in args:
            raise _Misfit(path, f"want one of {', '.join(map(repr, args))}, got {value!r}")
        return value
    if origin in (Union, types.UnionType):
        return _fit_union(args, value, path)
    if origin is tuple:
        return _fit_tuple(args, value, path)
    if origin in (dict, Mapping):
        if not isinstance(value, Mapping):
            raise _Misfit(path, f"want a table, got {_describe(value)}")
        return {key: _fit(args[1], item, (*path, key)) for key, item in value.items()}
    return _fit_scalar(hint, value, path)


def _fit_union(args: tuple[Any, ...], value: object, path: Path_) -> Any:
    """The first alternative that takes the value; with several misses, the complaint that got furthest."""
    misfits = []
    for alternative in _of_that_kind([a for a in args if a is not types.NoneType], value, path):
        try:
            return _fit(alternative, value, path)
        except _Misfit as misfit:
            misfits.append(misfit)
    known = [kind for of_one in _kinds(args).values() for kind in of_one]
    if len(known) > 1 and isinstance(value, Mapping) and "kind" not in value:
        raise _Misfit(path, f"say which is meant by kind = one of {', '.join(map(repr, known))}")
    raise max(misfits, key=lambda m: len(m.path))


def _kinds(alternatives: Iterable[Any]) -> dict[Any, tuple[Any, ...]]:
    """Of dataclasses told apart by a Literal field `kind`."""
    return {a: get_args(get_type_hints(a).get("kind")) for a in alternatives if dataclasses.is_dataclass(a)}


def _of_that_kind(alternatives: list[Any], value: object, path: Path_) -> list[Any]:
    """Only the one meant, so that its complaint is the one heard."""
    if not isinstance(value, Mapping) or "kind" not in value:
        return alternatives
    kinds = _kinds(alternatives)
    known = [kind for of_one in kinds.values() for kind in of_one]
    if known and value["kind"] not in known:
        raise _Misfit((*path, "kind"), f"want one of {', '.join(map(repr, known))}, got {value['kind']!r}")
    return [a for a in alternatives if value["kind"] in kinds.get(a, ())] or alternatives


def _fit_tuple(args: tuple[Any, ...], value: object, path: Path_) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise _Misfit(path, f"want an array, got {_describe(value)}")
    if len(args) == 2 and args[1] is Ellipsis:
        return tuple(_fit(args[0], item, (*path, i)) for i, item in enumerate(value))
    if len(value) != len(args):
        raise _Misfit(path, f"want {len(args)} values, got {len(value)}")
    return tuple(_fit(a, item, (*path, i)) for i, (a, item) in enumerate(zip(args, value, strict=True)))


def _fit_scalar(hint: Any, value: object, path: Path_) -> Any:
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        return _finite(value, path)
    if type(value) is hint:
        return value
    if isinstance(hint, type) and issubclass(hint, str) and isinstance(value, str):  # StrEnum
        try:
            return hint(value)
        except ValueError:
            members = ", ".join(map(repr, map(str, getattr(hint, "__members__", {}).values())))
            raise _Misfit(path, f"want one of {members}, got {value!r}") from None
    raise _Misfit(path, f"want {getattr(hint, '__name__', hint)}, got {_describe(value)}")


def _finite(value: float, path: Path_) -> float:
    """TOML knows nan and inf; no setting means them, and every range check of the form x < limit lets nan pass."""
    try:
        number = float(value)
    except OverflowError:  # TOML integers have no limit here
        number = math.inf
    if not math.isfinite(number):
        raise _Misfit(path, f"want a finite number, got {number}")
    return number


def _describe(value: object) -> str:
    return "a table" if isinstance(value, Mapping) else f"{type(value).__name__} {value!r}"


_HEADER = re.compile(r"\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"\s*([A-Za-z0-9_\-\".]+)\s*=")


def _line_of(text: str, path: Path_) -> int | None:
    """Line of the deepest part of `path` that stands on a line of its own (headers and plain keys)."""
    seen: dict[Path_, int] = {}
    counts: dict[Path_, int] = {}
    here: Path_ = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.match(line):
            here = ()
            parts = [p.strip().strip('"') for p in header[2].split(".")]
            for depth, part in enumerate(parts):
                here = (*here, part)
                last = depth == len(parts) - 1
                if last and header[1] == "[[":
                    counts[here] = counts.get(here, -1) + 1
                if here in counts:
                    here = (*here, counts[here])
            seen.setdefault(here, number)
        elif key := _KEY.match(line):
            seen.setdefault((*here, *(p.strip('"') for p in key[1].split("."))), number)
    for depth in range(len(path), 0, -1):
        if path[:depth] in seen:
            return seen[path[:depth]]
    return None
