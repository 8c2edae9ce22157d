"""Writing a log: readings in, sealed batches of at most one second out."""

from __future__ import annotations

import operator
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import numpy as np
import pyarrow as pa

from hodograph.acquisition.log.batches import MAX_BATCH_ROWS, batch_bounds, batch_of
from hodograph.acquisition.log.events import Event
from hodograph.acquisition.log.framing import BatchEncoder
from hodograph.acquisition.log.meta import CLOCK, META_NAME, DamagedMeta, new_meta, read_meta, write_meta
from hodograph.acquisition.log.schema import (
    arrow_schema,
    events_schema,
    raw_schema,
    same_columns,
    with_policy,
)
from hodograph.acquisition.log.segment import read_segment_schema, segment_number, segments_in
from hodograph.acquisition.log.segment_file import FsyncPolicy, SegmentFile
from hodograph.core import LogError, LogWriteError, Reading, StreamData, StreamSchema
from hodograph.core.channel import EVENTS_NAME, RAW_SUFFIX

MAX_BATCH_BYTES = 8 * 2**20  # what MAX_BATCH_ROWS is for rows, for raw bytes
SEGMENT_BYTES = 256 * 2**20
_NAME = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(slots=True)
class _Pending:
    """Rows of one stream that have not become a batch yet, and the segment they go to."""

    schema: pa.Schema
    encoder: BatchEncoder
    number: int
    file: SegmentFile | None = None
    t_ns: list[int] = field(default_factory=list)
    rows: list[tuple[object, ...]] = field(default_factory=list)
    bytes: int = 0
    t_last_ns: int | None = None


class LogWriter:
    """An open log. Rows become a batch, and a batch a write, when they span `batch_s`; then no crash can take them.

    Stamps of one stream never run backwards (`ValueError`). Not thread-safe: one writer, one thread. A failed write
    (`LogWriteError`: disk full, gone) leaves the log readable; the writer then refuses everything but `close`.
    """

    def __init__(self, path: Path, *, fsync: FsyncPolicy, batch_s: float, segment_bytes: int) -> None:
        if not 0 < batch_s <= 1.0:
            raise ValueError(f"batch_s is {batch_s}, want 0 < batch_s <= 1")
        self.path = path
        self._fsync = fsync
        self._batch_s = batch_s
        self._batch_ns = round(batch_s * 1e9)
        self._segment_bytes = segment_bytes
        self._streams: dict[str, _Pending] = {}
        self._schemas: dict[str, StreamSchema] = {}
        self._failed = ""
        self._closed = False

    @classmethod
    def create(
        cls,
        path: str | Path,
        *,
        vehicle_toml: str | None = None,
        rig_toml: str | None = None,
        clock: str = CLOCK,
        notes: Mapping[str, str] | None = None,
        fsync: FsyncPolicy | None = None,
        batch_s: float = 1.0,
        segment_bytes: int = SEGMENT_BYTES,
    ) -> LogWriter:
        """A new log at `path`, which must not exist; the vehicle and rig files travel inside it."""
        path = Path(path)
        writer = cls(path, fsync=fsync or FsyncPolicy(), batch_s=batch_s, segment_bytes=segment_bytes)
        try:
            path.mkdir(parents=True)
            try:
                write_meta(path, new_meta(vehicle_toml, rig_toml, clock, notes or {}))
            except BaseException:
                shutil.rmtree(path, ignore_errors=True)
                raise
        except FileExistsError as error:
            raise LogWriteError(f"{path}: exists already; choose another name or move it away") from error
        except OSError as error:
            raise LogWriteError(f"{path}: cannot be created: {error.strerror}") from error
        return writer

    @classmethod
    def append_to(
        cls,
        path: str | Path,
        *,
        fsync: FsyncPolicy | None = None,
        batch_s: float = 1.0,
        segment_bytes: int = SEGMENT_BYTES,
    ) -> LogWriter:
        """The log at `path` again, for more data in new segments; what is in it is not touched."""
        path = Path(path)
        try:
            read_meta(path / META_NAME)
        except OSError as error:
            raise LogError(f"{path}: not a log ({META_NAME}: {error.strerror})") from error
        except DamagedMeta:
            if not segments_in(path):
                raise
        return cls(path, fsync=fsync or FsyncPolicy(), batch_s=batch_s, segment_bytes=segment_bytes)

    def add_stream(self, schema: StreamSchema) -> None:
        """Announce a stream; its readings may then be appended."""
        self._open(schema.name, arrow_schema(schema))
        self._schemas[schema.name] = schema

    def add_raw(self, name: str, description: str = "") -> None:
        """Announce a stream of raw bytes; its name ends in `_raw`."""
        if not _NAME.fullmatch(name) or not name.endswith(RAW_SUFFIX):
            raise ValueError(f"raw stream name {name!r}: want lower-case letters, digits, _, ending in {RAW_SUFFIX}")
        self._open(name, raw_schema(name, description))

    def append(self, reading: Reading) -> None:
        """One reading of an announced stream."""
        schema = self._schema(reading.stream)
        if len(reading.values) != len(schema.channels):
            raise ValueError(f"{reading.stream}: {len(reading.values)} values, want {len(schema.channels)}")
        try:  # now, for in a batch one bad value would take its neighbours along
            values = tuple(map(float, reading.values))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{reading.stream}: values {reading.values} are not all numbers") from error
        t_sensor_ns = None if reading.t_sensor_ns is None else _int64(reading.t_sensor_ns, "t_sensor_ns")
        self._append(reading.stream, reading.t_ns, (t_sensor_ns, *values))

    def append_data(self, data: StreamData) -> None:
        """A stretch of an announced stream, cut into batches here; faster than row by row."""
        stream = data.schema.name
        if data.schema.names != self._schema(stream).names:
            raise ValueError(f"{stream}: channels {data.schema.names}, announced {self._schema(stream).names}")
        if not len(data):
            return
        pending = self._ready(stream, int(data.t_ns[0]))
        if np.any(np.diff(data.t_ns) < 0):
            raise ValueError(f"{stream}: t_ns runs backwards within the data")
        self._flush(stream)
        for begin, end in batch_bounds(data.t_ns, self._batch_ns):
            self._write(stream, batch_of(data, pending.schema, begin, end), data.t_ns[begin], data.t_ns[end - 1])
        pending.t_last_ns = int(data.t_ns[-1])

    def append_raw(self, name: str, t_ns: int, chunk: bytes) -> None:
        """Bytes as they arrived at `t_ns`."""
        if name in self._schemas or name == EVENTS_NAME:
            raise ValueError(f"raw stream {name!r} was not announced by add_raw")
        chunk = bytes(memoryview(chunk))
        self._append(name, t_ns, (chunk,), size=len(chunk))

    def event(self, event: Event) -> None:
        """Something that happened to the recording. Events are rare: each is written at once."""
        if EVENTS_NAME not in self._streams:
            self._open(EVENTS_NAME, events_schema())
        last_ns = self._streams[EVENTS_NAME].t_last_ns
        t_ns = event.t_ns if last_ns is None else max(event.t_ns, last_ns)  # several threads report: keep order
        text = event.text.encode("utf-8", "backslashreplace").decode()
        numbers = (_int64(event.duration_ns, "duration_ns"), _int64(event.count, "count"))
        self._append(EVENTS_NAME, t_ns, (str(event.kind), event.stream, *numbers, text))
        self._flush(EVENTS_NAME)

    def flush_due(self, now_ns: int) -> None:
        """Write what has waited for `batch_s`; call it now and then so that a silent stream does not keep its rows."""
        for name, pending in self._streams.items():
            if pending.t_ns and now_ns - pending.t_ns[0] >= self._batch_ns:
                self._flush(name)

    def flush(self) -> None:
        """Write everything that waits."""
        for name in self._streams:
            self._flush(name)

    def close(self) -> None:
        """Write what waits and end every segment in order; after a failed write segments stay without end mark."""
        errors: list[Exception] = []
        for name, pending in self._streams.items():
            try:
                if not self._failed:
                    self._flush(name)
                    if pending.file is not None:
                        pending.file.close()
            except Exception as error:
                errors.append(error)
            finally:
                if pending.file is not None:
                    pending.file.abandon()
        self._closed = True
        if errors:
            raise errors[0]

    def __enter__(self) -> LogWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _schema(self, stream: str) -> StreamSchema:
        try:
            return self._schemas[stream]
        except KeyError:
            known = ", ".join(self._schemas) or "none"
            raise ValueError(f"stream {stream!r} was not announced by add_stream; announced: {known}") from None

    def _open(self, name: str, schema: pa.Schema) -> None:
        if self._closed:
            raise ValueError(f"{self.path}: the log is closed")
        if name in self._streams:
            raise ValueError(f"stream {name!r} is announced twice")
        earlier = segments_in(self.path).get(name, [])
        for path in earlier:
            before = read_segment_schema(path)
            if before is not None and not same_columns(before, schema):
                raise LogWriteError(f"{path}: holds other channels than {name} has now; record into a new log")
        number = 1 + max(map(segment_number, earlier), default=-1)
        schema = with_policy(schema, self._batch_s, self._fsync.as_text)
        self._streams[name] = _Pending(schema, BatchEncoder(schema), number)
        self._segment(name)

    def _ready(self, stream: str, t_ns: int) -> _Pending:
        if self._closed:
            raise ValueError(f"{self.path}: the log is closed")
        if self._failed:
            raise LogWriteError(self._failed)
        if stream not in self._streams:
            raise ValueError(f"stream {stream!r} was not announced; announced: {', '.join(self._streams) or 'none'}")
        pending = self._streams[stream]
        if pending.t_last_ns is not None and t_ns < pending.t_last_ns:
            raise ValueError(f"{stream}: t_ns runs backwards, {t_ns} after {pending.t_last_ns}")
        return pending

    def _append(self, stream: str, t_ns: int, row: tuple[object, ...], size: int = 0) -> None:
        t_ns = _int64(t_ns, "t_ns")
        pending = self._ready(stream, t_ns)
        full = len(pending.t_ns) >= MAX_BATCH_ROWS or pending.bytes + size > MAX_BATCH_BYTES
        if pending.t_ns and (full or t_ns - pending.t_ns[0] >= self._batch_ns):
            self._flush(stream)
        pending.t_ns.append(t_ns)
        pending.rows.append(row)
        pending.bytes += size
        pending.t_last_ns = t_ns

    def _flush(self, stream: str) -> None:
        pending = self._streams[stream]
        if not pending.t_ns:
            return
        columns = [pending.t_ns, *zip(*pending.rows, strict=True)]
        arrays = [pa.array(column, kind.type) for column, kind in zip(columns, pending.schema, strict=True)]
        batch = pa.record_batch(arrays, schema=pending.schema)
        self._write(stream, batch, pending.t_ns[0], pending.t_ns[-1])
        pending.t_ns.clear()
        pending.rows.clear()
        pending.bytes = 0

    def _write(self, stream: str, batch: pa.RecordBatch, t_first_ns: int, t_last_ns: int) -> None:
        if self._failed:
            raise LogWriteError(self._failed)
        file = self._segment(stream)
        try:
            file.append(self._streams[stream].encoder.encode(batch, t_first_ns, t_last_ns), t_last_ns)
        except LogWriteError as error:
            self._failed = str(error)
            raise

    def _segment(self, stream: str) -> SegmentFile:
        """The file that takes the next batch: the open one, or the next when there is none or it has grown large."""
        pending = self._streams[stream]
        if pending.file is not None and pending.file.size < self._segment_bytes:
            return pending.file
        try:
            if pending.file is not None:
                pending.file.close()
                pending.number += 1
            name = f"{stream}.{pending.number:04d}.arrow"
            pending.file = SegmentFile(self.path / name, pending.encoder.header, self._fsync)
        except LogWriteError as error:
            self._failed = str(error)
            raise
        return pending.file


def _int64(value: int, name: str) -> int:
    """`value` as an int that an int64 column takes; `ValueError` otherwise."""
    try:
        number = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} is {value!r}, want an integer") from None
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"{name} is {value}, beyond 64 bits")
    return number
