"""`meta.toml`: what a log says about itself."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import tomli_w

from hodograph.core import LogError, SettingsError, settings_from_text
from hodograph.core.display import short_repr

META_NAME = "meta.toml"
META_TEMPORARY = "meta.toml.tmp"
META_VERSION = 1
CLOCK = "one monotonic clock, nanoseconds, stamped at arrival"


class DamagedMeta(LogError):
    """The header of a log does not read; the data beside it may."""


@dataclass(frozen=True, slots=True)
class LogMeta:
    """The header of a log; the vehicle and rig files are kept as the text they were, comments included."""

    schema: int
    created_utc: str
    software: str
    clock: str
    notes: Mapping[str, str] = field(default_factory=dict)
    vehicle_toml: str | None = None
    rig_toml: str | None = None

    __repr__ = short_repr


UNKNOWN_META = LogMeta(META_VERSION, created_utc="", software="unknown", clock="unknown")


def new_meta(vehicle_toml: str | None, rig_toml: str | None, clock: str, notes: Mapping[str, str]) -> LogMeta:
    """The header of a log that starts now."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return LogMeta(META_VERSION, now, _software(), clock, dict(notes), vehicle_toml, rig_toml)


def write_meta(folder: Path, meta: LogMeta) -> None:
    """Write `meta.toml` so that after a power cut it is there whole or not at all."""
    table: dict[str, object] = {
        "schema": meta.schema,
        "created_utc": meta.created_utc,
        "software": meta.software,
        "clock": meta.clock,
    }
    for key in ("vehicle_toml", "rig_toml"):
        text = getattr(meta, key)
        if text is not None:
            table[key] = text
    table["notes"] = {key: as_utf8(text) for key, text in meta.notes.items()}
    # Multi-line strings read better, but TOML would turn their \r\n into \n; the embedded files must survive exactly.
    readable = not any("\r" in text for text in (meta.vehicle_toml or "", meta.rig_toml or "", *meta.notes.values()))
    temporary = folder / META_TEMPORARY
    with temporary.open("xb") as file:
        file.write(tomli_w.dumps(table, multiline_strings=readable).encode())
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(folder / META_NAME)
    sync_folder(folder)


def read_meta(path: Path) -> LogMeta:
    """The header at `path`; `LogError` when it is damaged or from a newer version, `OSError` when it is not there."""
    try:
        text = path.read_bytes().decode("utf-8")
        table = tomllib.loads(text)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DamagedMeta(f"{path}: damaged: {error}") from error
    schema = table.get("schema")
    if isinstance(schema, int) and schema > META_VERSION:
        by = table.get("software", "a newer version")
        raise LogError(f"{path}: log format {schema} written by {by}, this version reads up to {META_VERSION}: update")
    try:
        return settings_from_text(text, LogMeta, source=str(path))
    except SettingsError as error:
        raise DamagedMeta(f"{path}: damaged: {error}") from error


def as_utf8(text: str) -> str:
    """`text` with what UTF-8 cannot hold (file names of other encodings) spelt out."""
    return text.encode("utf-8", "backslashreplace").decode()


def sync_folder(folder: Path) -> None:
    """Make new names in `folder` survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _software() -> str:
    try:
        return f"hodograph {version('hodograph')}"
    except PackageNotFoundError:
        return "hodograph (not installed)"
