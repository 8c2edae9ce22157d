"""The mapping of a CSV file that needs none: what our own export writes, names in SI and a row of units.

t_s,speed_mps,course_compass_rad
s,m/s,rad
0.0,12.1,1.57
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path

from hodograph.acquisition.importers.mapping import (
    ChannelMapping,
    StreamMapping,
    TableMapping,
    TimeMapping,
    name_from_file,
)
from hodograph.core import HodographError, ImportFormatError
from hodograph.core.channel import EVENTS_NAME, RAW_SUFFIX

_TIME, _SENSOR_TIME, _DATE = "t_s", "t_sensor_s", "utc"
# Exports call sideslip by the name that other tools know; in a log it has its point and unit.
_VSA = re.compile(r"(?P<stream>|.*_)vsa(?P<of>|_std|_valid)")
_VSA_ENDINGS = {"": "_rad", "_std": "_std_rad", "_valid": "_valid"}


def own_csv_mapping(path: Path) -> TableMapping:
    """The layout of a file of that kind, one stream named after the file; `ImportFormatError` for any other."""
    names, units = _heading(path)
    if names[:1] != [_TIME] or units[:1] != ["s"] or len(names) != len(units) or len(names) < 2:
        raise ImportFormatError(
            f"{path}: nobody says what its columns mean: our own CSV starts with {_TIME} and has a row of units; "
            "for another table write a mapping and give it with --mapping (docs/importing-tables.md, examples/mappings)"
        )
    sources = dict(zip(names, units, strict=True))
    sensor_time = TimeMapping(_SENSOR_TIME) if _SENSOR_TIME in sources else None
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise ImportFormatError(f"{path}: several columns are named {twice[0]}: give each its own name")
    try:
        channels = {
            _log_name(name): ChannelMapping(number, unit)
            for number, (name, unit) in enumerate(zip(names, units, strict=True), start=1)
            if name not in (_TIME, _SENSOR_TIME, _DATE)
        }
        mapped = StreamMapping(_stream_name(path), channels, sensor_time=sensor_time)
    except (ValueError, HodographError) as error:
        raise ImportFormatError(
            f"{path}: {error}; export in SI, or write a mapping and give it with --mapping"
        ) from error
    return TableMapping(path.name, TimeMapping(_TIME), (mapped,), header_rows=2)


def _log_name(name: str) -> str:
    """`vsa_std` → `beta_cg_std_rad`; all else is called alike in logs and exports."""
    found = _VSA.fullmatch(name)
    return f"{found['stream']}beta_cg{_VSA_ENDINGS[found['of']]}" if found else name


def _stream_name(path: Path) -> str:
    """The file's name, changed where a stream may not have it."""
    name = name_from_file(path)
    if not name[:1].isalpha():
        name = f"table_{name}".rstrip("_")
    return f"{name}_table" if name == EVENTS_NAME or name.endswith(RAW_SUFFIX) else name


def _heading(path: Path) -> tuple[list[str], list[str]]:
    """Names and units: the first two rows."""
    try:
        if not path.read_bytes().strip():
            raise ImportFormatError(f"{path}: the file is empty")
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file)
            return next(rows, []), next(rows, [])
    except (UnicodeDecodeError, csv.Error) as error:
        raise ImportFormatError(f"{path}: not a text table; give its --format") from error
    except OSError as error:
        raise ImportFormatError(f"{path}: cannot be read: {error.strerror}") from error
