"""What to export and how: the choices of the user, and the columns that follow from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path

from hodograph.acquisition.log import LogReader
from hodograph.acquisition.log.estimate_names import ESTIMATES_FOLDER
from hodograph.core import Channel, HodographError, unit_named
from hodograph.core.display import short_repr

# SI unit: (display unit, what replaces the suffix of the name)
DISPLAY_UNITS = {
    "rad": ("deg", "deg"),
    "rad/s": ("deg/s", "degps"),
    "rad/s^2": ("deg/s^2", "degps2"),
    "m/s": ("km/h", "kmh"),
    "m/s^2": ("g", "g"),
    "Pa": ("bar", "bar"),
    "K": ("degC", "degc"),
}
# What sideslip at the centre of gravity, estimated, is called in the files of other tools; the unit stands beside it.
VSA_NAMES = {"beta_cg_rad": "vsa", "beta_cg_std_rad": "vsa_std", "beta_cg_valid": "vsa_valid"}
YEAR_2000_NS = 946_684_800 * 10**9  # a clock that says less does not count from 1970
TIME, UTC, SENSOR_TIME, LOG_TIME = "t_s", "utc", "t_sensor_ns", "t_ns"
# Columns that a table has beside its channels, in one format or another: `time` is the master of an MDF4 group.
RESERVED_NAMES = frozenset({TIME, UTC, SENSOR_TIME, LOG_TIME, "t_sensor_s", "time"})
LONGEST_S = 1e9  # 31 years: no drive lasts longer, and on any clock it fits into int64 nanoseconds


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """What of a log to write; the default is all of it, in SI, each stream with its own times.

    `streams` may name estimates as well; `channels` are names (`speed_mps`, or `gnss.speed_mps` when several streams
    have one); `t_min_s` (included) and `t_max_s` (not) count from the log's first row; `rate_hz` puts all streams on
    one raster; `utc` adds a column with date and time; `on_rows(done, total)` is told about progress.
    """

    streams: tuple[str, ...] | None = None
    channels: tuple[str, ...] | None = None
    rate_hz: float | None = None
    t_min_s: float | None = None
    t_max_s: float | None = None
    display_units: bool = False
    utc: bool = False
    overwrite: bool = False
    on_rows: Callable[[int, int], None] | None = None

    def __post_init__(self) -> None:
        if self.rate_hz is not None and not 0 < self.rate_hz <= 1e6:
            raise ValueError(f"rate_hz is {self.rate_hz}, want more than 0 and at most 1e6")
        for name, chosen in (("streams", self.streams), ("channels", self.channels)):
            if chosen is not None and not chosen:
                raise ValueError(f"{name}: none is named; name at least one, or leave the choice out for all")
        for name, t_s in (("t_min_s", self.t_min_s), ("t_max_s", self.t_max_s)):
            if t_s is not None and not abs(t_s) <= LONGEST_S:
                raise ValueError(f"{name} is {t_s}, want seconds from the log's start, at most {LONGEST_S:g}")
        if self.t_min_s is not None and self.t_max_s is not None and self.t_min_s > self.t_max_s:
            raise ValueError(f"t_min_s is {self.t_min_s}, later than t_max_s, which is {self.t_max_s}")

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class Column:
    """One exported channel: where it comes from, what it is called, and value = (SI value - offset) / scale."""

    channel: Channel
    name: str
    unit: str
    scale: float = 1.0
    offset: float = 0.0

    @property
    def is_si(self) -> bool:
        """Whether values go out as the log holds them."""
        return self.scale == 1.0 and self.offset == 0.0

    @property
    def ending(self) -> str:
        """What the name ends in for its unit, with the underscore; nothing for a plain number."""
        suffix = dict(DISPLAY_UNITS.values()).get(self.unit, unit_named(self.unit).suffix)
        return f"_{suffix}" if suffix and self.name.endswith(f"_{suffix}") else ""


@dataclass(frozen=True, slots=True)
class Part:
    """The chosen columns of one stream or estimate; `sensor_time` says whether the sensor's own stamps go along.

    `stream` is what the log calls it; after `name`, which no other part has, files, groups and columns are called.
    """

    stream: str
    name: str
    columns: tuple[Column, ...]
    description: str = ""
    dtype: str = "float64"
    sensor_time: bool = False

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class Selection:
    """What an export takes from a log: its parts, the zero of `t_s`, and the limits of time on the log's clock."""

    parts: tuple[Part, ...]
    start_ns: int
    t_min_ns: int | None
    t_max_ns: int | None
    rows: int

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A file that was written: its rows and the streams in it."""

    path: Path
    rows: int
    streams: tuple[str, ...]

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class Exported:
    """Everything an export wrote."""

    files: tuple[ExportedFile, ...]

    __repr__ = short_repr


def select(log: LogReader, options: ExportOptions) -> Selection:
    """The streams, columns and time limits that `options` mean in `log`; `HodographError` for a name it lacks."""
    names = _chosen_streams(log, options.streams)
    parts = _chosen_columns(log, names, options)
    start_ns = _start_ns(log)
    if options.utc and start_ns < YEAR_2000_NS:
        raise HodographError(f"{log.path}: its clock ({log.meta.clock}) does not know the date: export without UTC")
    limits = [None if t_s is None else start_ns + round(t_s * 1e9) for t_s in (options.t_min_s, options.t_max_s)]
    return Selection(tuple(parts), start_ns, limits[0], limits[1], sum(log.rows(part.stream) for part in parts))


def display_column(channel: Channel) -> Column:
    """The channel in the unit that people read: degrees, km/h, bar, g, °C; deviations have no offset."""
    if channel.unit not in DISPLAY_UNITS:
        return Column(channel, channel.name, channel.unit)
    symbol, ending = DISPLAY_UNITS[channel.unit]
    unit = unit_named(symbol)
    if unit.offset and "std" in channel.name.split("_"):
        return Column(channel, channel.name, channel.unit)
    stem = channel.name.removesuffix(unit_named(channel.unit).suffix)
    return Column(channel, stem + ending, symbol, unit.scale, unit.offset)


def unique_names(parts: Iterable[Part]) -> tuple[Part, ...]:
    """The same parts, with names that may stand in one table.

    A name that several columns have, or that is reserved, gets `stream_` in front; if that is taken too, a number
    before the unit (`imu_speed_2_mps`). Names that are alone stay as they are.
    """
    parts = tuple(parts)
    counts = Counter(column.name for part in parts for column in part.columns)
    reserved = RESERVED_NAMES | {f"{part.name}_{SENSOR_TIME}" for part in parts}
    clashing = {name for name, times in counts.items() if times > 1 or name in reserved}
    taken = set(reserved) | (set(counts) - clashing)
    renamed = []
    for part in parts:
        columns = []
        for column in part.columns:
            if column.name in clashing:
                column = replace(column, name=_free_name(column, part.name, taken))
                taken.add(column.name)
            columns.append(column)
        renamed.append(replace(part, columns=tuple(columns)))
    return tuple(renamed)


def _free_name(column: Column, stream: str, taken: Container[str]) -> str:
    stem = f"{stream}_{column.name.removesuffix(column.ending)}"
    candidates = chain([stem], (f"{stem}_{number}" for number in count(2)))
    return next(name for name in (candidate + column.ending for candidate in candidates) if name not in taken)


def _start_ns(log: LogReader) -> int:
    """The first reading; in a log that has lost all of them, the first estimate."""
    if log.span_ns is not None:
        return log.span_ns[0]
    begins = [int(log.numpy(name).t_ns[0]) for name in log.estimates if log.rows(name)]
    return min(begins, default=0)


def _chosen_streams(log: LogReader, wanted: Sequence[str] | None) -> tuple[str, ...]:
    known = {name: name for name in (*log.streams, *log.estimates)}
    if not known:
        raise HodographError(f"{log.path}: nothing to export, the log has no streams")
    full = {f"{ESTIMATES_FOLDER}/{name}": name for name in log.estimates} | known
    for name in wanted or ():
        if name not in full:
            raise HodographError(f"{log.path}: no stream {name!r}; it has {', '.join(known)}")
    return tuple(known if wanted is None else dict.fromkeys(full[name] for name in wanted))


def _chosen_columns(log: LogReader, names: Sequence[str], options: ExportOptions) -> list[Part]:
    wanted = options.channels
    known: set[str] = set()
    parts = []
    for stream, name in _part_names(log, names).items():
        schema, is_estimate = log.schema(stream), stream in log.estimates
        chosen = []
        for channel in schema.channels:
            called = {channel.name, VSA_NAMES.get(channel.name, channel.name) if is_estimate else channel.name}
            called |= {f"{stream}.{one}" for one in called}
            known |= called
            if wanted is None or called.intersection(wanted):
                chosen.append(_column(channel, is_estimate=is_estimate, display_units=options.display_units))
        if chosen:
            sensor_time = wanted is None and not is_estimate
            parts.append(Part(stream, name, tuple(chosen), schema.description, schema.dtype, sensor_time))
    missing = [name for name in wanted or () if name not in known]
    if missing:
        listed = "; ".join(f"{name}: {', '.join(log.schema(name).names)}" for name in names)
        raise HodographError(f"no channel {missing[0]!r} in the chosen streams ({listed})")
    return parts


def _part_names(log: LogReader, streams: Sequence[str]) -> dict[str, str]:
    """What each part is called: streams as they are, estimates as a stream would be, and no two alike."""
    names = {stream: stream for stream in streams if stream not in log.estimates}
    for stream in streams:
        if stream in log.estimates:
            stem = log.schema(stream).name
            candidates = chain([stem, f"{stem}_estimate"], (f"{stem}_estimate_{number}" for number in count(2)))
            names[stream] = next(name for name in candidates if name not in names.values())
    return {stream: names[stream] for stream in streams}


def _column(channel: Channel, *, is_estimate: bool, display_units: bool) -> Column:
    column = display_column(channel) if display_units else Column(channel, channel.name, channel.unit)
    renamed = is_estimate and channel.name in VSA_NAMES
    return replace(column, name=VSA_NAMES[channel.name]) if renamed else column
