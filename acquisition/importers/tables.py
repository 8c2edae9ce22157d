"""Tables of text (CSV and kin) → streams, by a mapping; what our own CSV export writes needs none."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hodograph.acquisition.importers.imported import Imported, ImportOptions
from hodograph.acquisition.importers.mapping import (
    ChannelMapping,
    MappingFile,
    StreamMapping,
    TableMapping,
    TimeMapping,
    name_from_file,
)
from hodograph.acquisition.importers.own_csv import own_csv_mapping
from hodograph.acquisition.importers.table_text import TableText, read_table_text
from hodograph.acquisition.importers.table_values import (
    DAY_NS,
    FARTHEST_NS,
    changes,
    known_text,
    numbers,
    present,
    replaced,
    times_ns,
)
from hodograph.core import (
    NO_SENSOR_TIME_NS,
    Array,
    ImportFormatError,
    SettingsError,
    StreamData,
    read_settings,
    to_si,
)

UTC_CLOCK = "UTC, nanoseconds since 1970, as stamped in the imported files"
OWN_CLOCK = "nanoseconds from a zero of the imported file's own (not a date)"
ROWS_CLOCK = "nanoseconds from the first row, by the rate that the mapping states (the file has no time)"


@dataclass(frozen=True, slots=True)
class _File:
    """What one file gave: its streams, all on one clock, and what was repaired."""

    path: Path
    table: TableMapping
    streams: tuple[StreamData, ...]
    rows: int
    fixed: Mapping[str, int] = field(default_factory=dict)

    @property
    def first_t_ns(self) -> int:
        """The earliest stamp of all its streams."""
        return min(int(stream.t_ns[0]) for stream in self.streams)


def import_tables(files: Sequence[Path], options: ImportOptions) -> Imported:
    """The streams of all `files`, laid out as `options.mapping` says; a folder stands for the files in it that fit."""
    if options.mapping is None:
        mapping, text = None, ""
        chosen = [(path, own_csv_mapping(path)) for path in files]
    else:
        mapping = read_settings(options.mapping, MappingFile)
        text = options.mapping.read_text(encoding="utf-8")
        chosen = _chosen(files, mapping, options.mapping)
    total = sum(path.stat().st_size for path, _ in chosen if path.exists())
    done, parts = 0, []
    for path, table in chosen:
        parts.append(_read(path, table, fix=options.fix))
        done += path.stat().st_size
        if options.on_bytes:
            options.on_bytes(done, total)
    return Imported(
        streams=_distinct(_on_one_clock(parts)),
        clock=_clock(parts),
        notes=_notes(parts, mapping, text),
        vehicle_toml=_vehicle(mapping, options.mapping),
        report={"tables": {part.path.name: {"rows": part.rows, "fixed": dict(part.fixed)} for part in parts}},
    )


def _chosen(files: Sequence[Path], mapping: MappingFile, source: Path) -> list[tuple[Path, TableMapping]]:
    """Each file with the table that takes it; in folders only the files that one takes."""
    chosen = []
    for path in files:
        inside = path.is_dir()
        for candidate in sorted(path.iterdir()) if inside else [path]:
            table = next((t for t in mapping.table if _fits(candidate, t.patterns)), None)
            if table is None and not inside and not _fits(candidate, mapping.ignore):
                table = _sole_table(mapping, candidate, source)
            if table is not None:
                chosen.append((candidate, table))
    if not chosen:
        raise ImportFormatError(f"{', '.join(map(str, files))}: no file that a table of {source} takes")
    return chosen


def _sole_table(mapping: MappingFile, path: Path, source: Path) -> TableMapping:
    """The one table there is, for a file that was named but fits no pattern: files get renamed."""
    if len(mapping.table) > 1:
        patterns = ", ".join(p for t in mapping.table for p in t.patterns)
        raise ImportFormatError(f"{path}: no table of {source} takes a file of this name; it has {patterns}")
    return mapping.table[0]


def _fits(path: Path, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(path.name, pattern) for pattern in patterns)


class _Reader:
    """One file being read: fetches columns once, and turns what is unreadable into an error or, with `fix`, a count."""

    def __init__(self, text: TableText, table: TableMapping, *, fix: bool) -> None:
        self.text, self.table, self.fix = text, table, fix
        self.fixed: Counter[str] = Counter({"torn rows dropped": len(text.torn)} if text.torn else {})
        sources = [source for stream in table.stream for source in stream.channels.values()]
        indices = {text.index_of(source.column, source.where) for source in sources}
        times = [table.time, *(stream.sensor_time for stream in table.stream if stream.sensor_time)]
        indices |= {text.index_of(column) for time in times for column in time.columns}
        indices |= {text.index_of(column) for stream in table.stream for column in stream.changed}
        self._columns = {i: known_text(column, table) for i, column in text.columns(indices).items()}

    def column(self, index: int) -> pa.Array:
        return self._columns[index]

    def times(self, time: TimeMapping, *, optional: bool = False) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Stamps (n,) and which rows have none: an error, unless with `fix` or where an optional stamp is missing."""
        n = len(self.text.lines)
        if time.rate_hz is not None:
            if n / time.rate_hz * 1e9 > FARTHEST_NS:
                raise ImportFormatError(f"{self.text.path}: {n} rows at {time.rate_hz:g} Hz last over 146 years")
            return np.rint(np.arange(n) * (1e9 / time.rate_hz)).astype(np.int64), np.zeros(n, dtype=np.bool_)
        indices = [self.text.index_of(column) for column in time.columns]
        columns = [self.column(i) for i in indices]
        t_ns, bad = times_ns(columns, time)
        wrong = bad & present(columns) if optional else bad
        if wrong.any() and not self.fix:
            want = f"a time like {time.format}" if time.format else "a time"
            far = "or one over 146 years from the clock's zero"
            self._refuse(wrong, indices, f"is not {want}, {far}; import with --fix to leave such rows out")
        return t_ns, bad

    def values(self, channel: str, source: ChannelMapping) -> Array:
        """A channel's values (n,) in SI."""
        index = self.text.index_of(source.column, source.where)
        text = self.column(index)
        values, bad = replaced(text, source.values) if source.values else numbers(text)
        if bad.any():
            reason = f"is not in `values` of {channel}" if source.values else "is not a number"
            if not self.fix:
                hint = (
                    "name it in the mapping (`values`)" if source.values else "if it means unknown, add it to `missing`"
                )
                self._refuse(bad, [index], f"{reason}; {hint}, or import with --fix to have NaN there")
            self.fixed["unreadable values made NaN"] += int(np.count_nonzero(bad))
        with np.errstate(over="ignore"):
            si = to_si(source.sign * (source.scale * values + source.offset), source.unit)
        self._fits(channel, index, values, si, "check its `scale` and `offset`")
        return si

    def stored(self, channel: str, source: ChannelMapping, dtype: str) -> NDArray[np.float64] | NDArray[np.float32]:
        """The same as the log stores it."""
        si = self.values(channel, source)
        if dtype != "float32":
            return si
        with np.errstate(over="ignore"):
            short = si.astype(np.float32)
        index = self.text.index_of(source.column, source.where)
        self._fits(channel, index, si, short, 'say dtype = "float64" for its stream')
        return short

    def _fits(
        self, channel: str, index: int, before: Array, after: NDArray[np.float64] | NDArray[np.float32], remedy: str
    ) -> None:
        """Refuses numbers that became infinite on the way."""
        infinite = np.isinf(after) & np.isfinite(before)
        if infinite.any():
            self._refuse(infinite, [index], f"is too large for {channel} as {after.dtype}: {remedy}")

    def changed(self, stream: StreamMapping) -> NDArray[np.bool_]:
        if not stream.changed:
            return np.ones(len(self.text.lines), dtype=np.bool_)
        return changes([self.column(self.text.index_of(column)) for column in stream.changed])

    def _refuse(self, bad: NDArray[np.bool_], indices: list[int], reason: str) -> None:
        row = int(np.argmax(bad))
        shown = " ".join(self.column(i)[row].as_py() or "(nothing)" for i in indices)
        place = f"{self.text.path}, line {self.text.numbers[row]}, {self.text.column_name(indices[0])}"
        raise ImportFormatError(f"{place}: {shown[:40]!r} {reason} ({np.count_nonzero(bad)} such rows)")


def _read(path: Path, table: TableMapping, *, fix: bool) -> _File:
    text = read_table_text(path, table, drop_torn=fix)
    reader = _Reader(text, table, fix=fix)
    t_ns, timeless = reader.times(table.time)
    if timeless.any():
        reader.fixed["rows without time dropped"] = int(np.count_nonzero(timeless))
    order = _order(text, t_ns, ~timeless, reader)
    if not order.size:
        raise ImportFormatError(f"{path}: no row has a time")
    streams = tuple(_stream(reader, stream, t_ns, order) for stream in table.stream)
    return _File(path, table, streams, len(text.lines), dict(reader.fixed))


def _order(text: TableText, t_ns: NDArray[np.int64], timed: NDArray[np.bool_], reader: _Reader) -> NDArray[np.intp]:
    """The rows that have a time, by time; time that runs backwards is an error unless it may be sorted."""
    rows = np.flatnonzero(timed)
    backward = np.flatnonzero(np.diff(t_ns[rows]) < 0)
    if not backward.size:
        return rows
    if not reader.fix:
        at = rows[backward[0] + 1]
        step_ns = int(t_ns[rows[backward[0]]] - t_ns[at])
        remedy = "another time column, or import with --fix to sort the rows"
        if DAY_NS // 2 < step_ns <= DAY_NS and reader.table.time.clock == "boot":
            remedy = 'if it counts from midnight, say so: clock = "utc" and the `date` of the first row'
        raise ImportFormatError(
            f"{text.path}, line {text.numbers[at]}: time runs backwards by {step_ns / 1e9:g} s "
            f"({backward.size} such steps): {remedy}"
        )
    reader.fixed["backward time steps sorted"] = int(backward.size)
    return rows[np.argsort(t_ns[rows], kind="stable")]


def _stream(reader: _Reader, stream: StreamMapping, t_ns: NDArray[np.int64], order: NDArray[np.intp]) -> StreamData:
    rows = order[reader.changed(stream)[order]]
    columns = {name: reader.stored(name, source, stream.dtype)[rows] for name, source in stream.channels.items()}
    t_sensor_ns = None
    if stream.sensor_time is not None:
        stamps, bad = reader.times(stream.sensor_time, optional=True)
        t_sensor_ns = np.where(bad, NO_SENSOR_TIME_NS, stamps)[rows]
    return StreamData(stream.schema(), t_ns[rows], columns, t_sensor_ns)


def _on_one_clock(parts: Sequence[_File]) -> list[_File]:
    """Files whose clock has no known zero, moved to start with the stream that their table names."""
    moved = []
    for part in parts:
        anchor = part.table.time.starts_with
        hosts = [p for p in parts if p is not part and anchor in {s.schema.name for s in p.streams}]
        if anchor is None or not hosts:
            moved.append(part)
            continue
        if len(hosts) > 1:
            raise ImportFormatError(f"{part.path}: starts with {anchor}, which several files have: import them apart")
        first_t_ns = next(int(s.t_ns[0]) for s in hosts[0].streams if s.schema.name == anchor)
        shift_ns = first_t_ns - part.first_t_ns
        moved.append(replace(part, streams=tuple(replace(s, t_ns=s.t_ns + shift_ns) for s in part.streams)))
    return moved


def _clock(parts: Sequence[_File]) -> str:
    """What the log's clock is; files on clocks that have nothing to do with each other are refused."""
    names = {stream.schema.name for part in parts for stream in part.streams}
    free = [part for part in parts if part.table.time.starts_with not in names]
    dated = [part for part in free if part.table.time.clock != "boot"]
    if dated and len(dated) < len(free):
        own = next(part for part in free if part not in dated)
        raise ImportFormatError(
            f"{own.path}: its clock has a zero of its own, that of {dated[0].path} is a date: say in the mapping which "
            "stream it starts with (time.starts_with), or import them apart"
        )
    if dated:
        return UTC_CLOCK
    return ROWS_CLOCK if all(part.table.time.rate_hz for part in free) else OWN_CLOCK


def _distinct(parts: Sequence[_File]) -> tuple[StreamData, ...]:
    """All streams; those that several files give under one name get the file's name appended."""
    count = Counter(stream.schema.name for part in parts for stream in part.streams)
    streams: list[StreamData] = []
    origin: dict[str, Path] = {}
    for part in parts:
        for stream in part.streams:
            name = stream.schema.name
            if count[name] > 1:
                name = f"{name}_{name_from_file(part.path)}"
                stream = _renamed(stream, name, part.path)
            if name in origin:
                raise ImportFormatError(_twice(name, origin[name], part.path))
            origin[name] = part.path
            streams.append(stream)
    return tuple(streams)


def _renamed(stream: StreamData, name: str, path: Path) -> StreamData:
    try:
        return replace(stream, schema=replace(stream.schema, name=name))
    except ValueError as error:
        raise ImportFormatError(f"{path}: {error}: rename the file, or import it apart") from error


def _twice(name: str, first: Path, second: Path) -> str:
    if first.resolve() == second.resolve():
        return f"{first}: given twice: name each file once"
    return f"stream {name} comes twice, from {first} and from {second}: rename a file or a stream, or import them apart"


def _notes(parts: Sequence[_File], mapping: MappingFile | None, mapping_text: str) -> dict[str, str]:
    """Where everything came from: each file's size and hash, the mapping whole, repairs, reference channels."""
    notes = {}
    if mapping is not None:
        notes = {"mapping_toml": mapping_text, "description": mapping.description}
    references = []
    for part in parts:
        raw = part.path.read_bytes()
        notes[f"file {part.path.name}"] = f"{part.path}, {len(raw)} bytes, sha256 {hashlib.sha256(raw).hexdigest()}"
        for what, count in part.fixed.items():
            notes[f"fixed in {part.path.name}: {what}"] = str(count)
        if part.table.time.starts_with:
            notes[f"clock of {part.path.name}"] = f"zero unknown; taken to start with {part.table.time.starts_with}"
        for stream in part.table.stream:
            references += [f"{stream.name}.{name}" for name, source in stream.channels.items() if source.reference]
    if references:
        notes["reference_channels"] = ", ".join(dict.fromkeys(references))
    return notes


def _vehicle(mapping: MappingFile | None, source: Path | None) -> str | None:
    if mapping is None or source is None or mapping.vehicle is None:
        return None
    path = source.parent / mapping.vehicle
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(str(source), f"vehicle: {path} cannot be read: {error}") from error
