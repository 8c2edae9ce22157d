"""What a table means: the mapping file, which turns columns of text into channels in SI.

```toml
schema = 1
description = "what this is, whose it is, under which licence"   # kept in the log
vehicle = "my-car.toml"             # optional: a vehicle file beside the mapping, copied into the log
ignore = ["results_*.csv"]          # files that may be named on the command line but are no recordings

[[table]]                           # one per kind of file; the first whose pattern fits a file's name takes it
files = "run_*.csv"                 # or ["*.csv", "*.txt"]; with one table only, a file named outright may be called
                                    # anything, the pattern then only chooses from folders
delimiter = ","                     # ",", ";", "\\t" …, or "whitespace": any run of blanks
skip_rows = 0                       # lines before the header
header_rows = 1                     # 0: no header. Of several, the first has the names, the others units, sources …
comment = "#"                       # lines that begin so are skipped; in front of a header row it is taken off
trusted_columns = 10                # header and rows disagree in length: only the first so many columns are usable
encoding = "utf-8"
decimal = "."                       # or ","
missing = ["nan", "---"]            # texts that mean "the sensor did not say" → NaN; an empty field always does …
blank = "missing"                   # … unless "unchanged": then it repeats the value above

[table.time]                        # one of three:
column = "t"                        # a) a number, in `unit`
unit = "s"
# column = ["date", "time"]         # b) date and time as text: the columns, joined by a blank, in this `format`
# format = "%Y/%m/%d %H:%M:%S.%f"
# rate_hz = 100                     # c) no time in the file: rows come at this rate
clock = "boot"                      # "boot": from a zero of its own (power-on, start of the run); "utc": since 1970;
                                    # "gpst": calendar of GPS time, converted to UTC by the leap seconds of its date
date = "2025-07-08"                 # the number (or a `format` without a date) counts from this day's midnight (clock
                                    # utc or gpst); where it jumps back by a day, the next day has begun
starts_with = "gnss"                # clock boot only: nobody knows its zero, so let this table's first row
                                    # coincide with the first row of that stream; `info --align` then finds the rest

[[table.stream]]                    # a table may hold several streams
name = "imu"
description = ""
rate_hz = 100                       # nominal, optional
dtype = "float64"                   # or "float32": how the log stores it
changed = ["time"]                  # keep only rows where one of these columns changed: the others repeat old values
sensor_time = { column = …, … }     # the sensor's own stamp, written like table.time

[table.stream.channels]             # our name, which ends in its SI unit = where it comes from
acc_x_mps2 = { column = "ax", unit = "g", sign = -1, frame = "body", description = "…" }
quality = { column = 6, unit = "1", values = { "1" = 4, "2" = 5 } }    # columns by number count from 1
speed_mps = { column = "speed", where = "200: obd", unit = "m/s" }     # `where`: text in another header row
wheel_angle_rad = { column = "ticks", scale = 0.00520833, offset = 0, unit = "rev" }
beta_cg_rad = { column = "beta", unit = "rad", reference = true }      # what estimates are judged against
```

A channel's value is `sign * (scale * number + offset)`, then taken from `unit` to SI. `values` replaces the number (or
text) in the file first; a value it does not list is an error. Signs bring axes to ours: x forward, y left, z up.
"""

from __future__ import annotations

import codecs
import math
import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import date as calendar_date
from pathlib import Path
from typing import Literal

from hodograph.core import Channel, Frame, StreamSchema, unit_named
from hodograph.core.display import short_repr

WHITESPACE = "whitespace"
ColumnName = str | int  # the name in the header, or its number, from 1
_YEAR_DIRECTIVES = ("%Y", "%y", "%G", "%c", "%x", "ISO8601")


def name_from_file(path: Path) -> str:
    """A file's name as part of a stream's: `Run 2.csv` → `run_2`; may be empty or begin with a digit."""
    return re.sub(r"[^a-z0-9]+", "_", path.stem.lower()).strip("_")


@dataclass(frozen=True, slots=True)
class TimeMapping:
    """How rows are stamped: by a column, by several as text, or by their number at a fixed rate."""

    column: ColumnName | tuple[ColumnName, ...] | None = None  # column with the time, or several to be read as one text
    unit: str = "s"  # of a number
    format: str | None = None  # of a text, as strptime has it
    rate_hz: float | None = None  # no time in the file: rows come at this rate
    clock: Literal["boot", "utc", "gpst"] = "boot"  # what the time counts from: power-on, 1970, or GPS calendar
    date: str | None = None  # day at whose midnight the time begins, as 2025-07-08
    starts_with: str | None = None  # stream whose first row coincides with the first of this table

    def __post_init__(self) -> None:
        if (self.column is None) == (self.rate_hz is None):
            raise ValueError("time needs either `column` or `rate_hz`")
        if self.rate_hz is not None and not 0 < self.rate_hz <= 1e9:
            raise ValueError(f"rate_hz is {self.rate_hz}, want more than 0 and at most 1e9")
        if self.format is None and isinstance(self.column, tuple):
            raise ValueError("several time columns need a `format`")
        if unit_named(self.unit).si not in ("s", "ns"):
            raise ValueError(f"{self.unit!r} is no unit of time")
        if self.clock == "boot":
            if self.format is not None or self.date is not None:
                raise ValueError('a date or a `format` needs clock = "utc" or "gpst"')
        elif self.starts_with is not None or self.rate_hz is not None:
            raise ValueError(f'`starts_with` and `rate_hz` need clock = "boot", not {self.clock!r}')
        if self.date is not None:
            calendar_date.fromisoformat(self.date)
        if self.format is not None:
            self._check_format(self.format)

    def _check_format(self, pattern: str) -> None:
        import pandas as pd

        try:
            pd.to_datetime(pd.Series(["?"]), format=pattern, errors="coerce")
        except (ValueError, re.error) as error:
            raise ValueError(f"format {pattern!r} cannot be read by: {error}") from None
        if self.is_time_of_day and self.date is None:
            raise ValueError(f"format {pattern!r} has no year: give the day as `date`")
        if not self.is_time_of_day and self.date is not None:
            raise ValueError(f"format {pattern!r} has a year, so `date` must not be given")

    @property
    def is_time_of_day(self) -> bool:
        """Whether a `format` gives hours and minutes only."""
        return self.format is not None and not any(directive in self.format for directive in _YEAR_DIRECTIVES)

    @property
    def columns(self) -> tuple[ColumnName, ...]:
        """The columns it is made of, in order; none at a fixed rate."""
        if self.column is None:
            return ()
        return self.column if isinstance(self.column, tuple) else (self.column,)

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class ChannelMapping:
    """Where a channel comes from: si = to_si(sign * (scale * number + offset), unit)."""

    column: ColumnName  # name in the header, or number from 1
    unit: str  # of the file
    where: str | None = None  # text in another header row, when names are not unique
    sign: Literal[1, -1] = 1  # brings the axis to ours: x forward, y left, z up
    scale: float = 1.0  # si = sign · (scale · number + offset), then from `unit` to SI
    offset: float = 0.0  # see scale
    values: dict[str, float] = field(default_factory=dict)  # what numbers or texts of the file mean
    frame: Frame = Frame.NONE  # axes of a vector
    description: str = ""  # kept in the log
    reference: bool = False  # whether estimates are judged against it

    def __post_init__(self) -> None:
        unit_named(self.unit)
        if self.scale == 0 or not math.isfinite(self.scale):
            raise ValueError(f"scale is {self.scale:g}, want another number")
        if not math.isfinite(self.offset):
            raise ValueError(f"offset is {self.offset:g}, want a number")
        if any(math.isinf(value) for value in self.values.values()):
            raise ValueError("values has an infinite number, want a finite one, or nan for unknown")

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class StreamMapping:
    """One stream of a table."""

    name: str  # of the stream in the log
    channels: dict[str, ChannelMapping]  # by our name, which ends in the SI unit
    description: str = ""  # kept in the log
    rate_hz: float | None = None  # nominal
    dtype: Literal["float64", "float32"] = "float64"  # how the log stores it
    changed: tuple[ColumnName, ...] = ()  # keep only rows where one of these columns changed
    sensor_time: TimeMapping | None = None  # the sensor's own stamp

    def __post_init__(self) -> None:
        self.schema()
        if self.rate_hz is not None and not math.isfinite(self.rate_hz):
            raise ValueError(f"rate_hz is {self.rate_hz:g}, want a number")
        if self.sensor_time is not None and self.sensor_time.column is None:
            raise ValueError("sensor_time needs a `column`")

    def schema(self, name: str | None = None) -> StreamSchema:
        """The stream as a log knows it, under its own or another name."""
        channels = tuple(
            Channel(channel, unit_named(source.unit).si, source.frame, self.rate_hz, source.description)
            for channel, source in self.channels.items()
        )
        return StreamSchema(name or self.name, channels, self.dtype, self.description)

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class TableMapping:
    """One kind of file: how its text is laid out, how its rows are timed, which streams it holds."""

    files: str | tuple[str, ...]  # pattern of file names, or several
    time: TimeMapping  # how rows are stamped
    stream: tuple[StreamMapping, ...]  # streams it holds
    delimiter: str = ","  # one character, or `"whitespace"` for any run of blanks
    skip_rows: int = 0  # lines before the header
    header_rows: int = 1  # 0: no header; of several the first has the names
    comment: str = ""  # lines that begin so are skipped
    trusted_columns: int | None = None  # usable columns, when header and rows disagree in length
    encoding: str = "utf-8"  # of the text
    decimal: Literal[".", ","] = "."  # point or comma
    missing: tuple[str, ...] = ()  # texts that mean that there is no value
    blank: Literal["missing", "unchanged"] = "missing"  # what an empty field means

    def __post_init__(self) -> None:
        if not self.stream:
            raise ValueError("a table needs at least one [[table.stream]]")
        for name, times in Counter(stream.name for stream in self.stream).items():
            if times > 1:
                raise ValueError(f"stream {name!r} is declared {times} times in one table: give each its own name")
        if self.delimiter != WHITESPACE and len(self.delimiter.encode()) != 1:
            raise ValueError(f"delimiter is {self.delimiter!r}, want one character or {WHITESPACE!r}")
        if self.delimiter == self.decimal:
            raise ValueError(f"delimiter and decimal are both {self.decimal!r}")
        if self.skip_rows < 0 or self.header_rows < 0:
            raise ValueError("skip_rows and header_rows count lines, want 0 or more")
        try:
            codecs.lookup(self.encoding)
        except LookupError:
            raise ValueError(f"encoding {self.encoding!r} is unknown, want e.g. utf-8, latin-1 or utf-16") from None
        if self.trusted_columns is not None and self.trusted_columns < 1:
            raise ValueError(f"trusted_columns is {self.trusted_columns}, want 1 or more")

    @property
    def patterns(self) -> tuple[str, ...]:
        """Patterns of the file names it takes."""
        return (self.files,) if isinstance(self.files, str) else self.files

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class MappingFile:
    """A mapping file."""

    schema: Literal[1]  # of this dialect
    table: tuple[TableMapping, ...]  # one per kind of file; the first whose pattern fits takes it
    description: str = ""  # what this is, whose, under which licence; kept in the log
    vehicle: str | None = None  # a vehicle file beside the mapping; copied into the log
    ignore: tuple[str, ...] = ()  # patterns of files that are no recordings

    def __post_init__(self) -> None:
        if not self.table:
            raise ValueError("a mapping needs at least one [[table]]")

    __repr__ = short_repr
