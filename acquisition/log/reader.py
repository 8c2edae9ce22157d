"""Reading a log: one merged iterator of readings, or whole streams as Arrow, numpy or pandas.

Segments are mapped, not read: opening a log costs the walk over its batch headers, and memory follows what is used.
Times select half-open: t_min_ns <= t_ns < t_max_ns.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING

import pyarrow as pa

from hodograph.acquisition.log.estimate_names import ESTIMATES_FOLDER
from hodograph.acquisition.log.events import Event, EventKind
from hodograph.acquisition.log.joined import JoinedStream, decoded, joined, missing_segments
from hodograph.acquisition.log.loss import Loss
from hodograph.acquisition.log.meta import META_NAME, UNKNOWN_META, DamagedMeta, LogMeta, read_meta
from hodograph.acquisition.log.schema import (
    ESTIMATE_KIND,
    SENSOR_TIME,
    STREAM_KIND,
    TIME,
    estimate_notes,
    stream_schema,
)
from hodograph.acquisition.log.segment import open_segment, segments_in
from hodograph.acquisition.log.stored_estimates import open_estimates
from hodograph.core import NO_SENSOR_TIME_NS, LogError, Reading, StreamData, StreamSchema
from hodograph.core.channel import EVENTS_NAME
from hodograph.core.display import cut, html_table, listed

if TYPE_CHECKING:
    import pandas as pd

_READINGS_AT_ONCE = 2048  # rows turned into objects at a time


class LogReader:
    """The log at `path`, as far as it can be read; `lost` says what cannot.

    Segments that were ended in order are trusted; with `verify` every checksum is computed (about 1 GB/s).
    """

    def __init__(self, path: str | Path, *, verify: bool = False) -> None:
        self.path = Path(path)
        if not self.path.is_dir():
            what = "is a file, not a log folder" if self.path.exists() else "does not exist"
            raise LogError(f"{self.path}: {what}; a log is a folder NAME.drive (import other files first)")
        segments = segments_in(self.path)
        lost: dict[str, Loss] = {}
        self.meta = self._read_meta(bool(segments), lost)
        self._streams: dict[str, JoinedStream] = {}
        for name, paths in segments.items():
            opened = [open_segment(p, verify=verify) for p in paths]
            losses = [*missing_segments(opened), *(s.loss for s in opened if s.loss is not None)]
            if losses:
                lost[name] = sum(losses[1:], start=losses[0])
            if stream := joined([s for s in opened if s.schema is not None]):
                self._streams[name] = stream
        self._estimates, lost_estimates = open_estimates(self.path, verify=verify)
        self.lost: Mapping[str, Loss] = MappingProxyType(lost | lost_estimates)

    def _read_meta(self, has_segments: bool, lost: dict[str, Loss]) -> LogMeta:
        try:
            return read_meta(self.path / META_NAME)
        except OSError as error:
            reason = f"{META_NAME}: {error.strerror}"
            if not has_segments:
                raise LogError(f"{self.path}: not a log ({reason}, and no segments)") from error
        except DamagedMeta as error:
            if not has_segments:
                raise
            reason = str(error)
        lost["meta"] = Loss(0, 0, reason, 0.0, 0.0)
        return UNKNOWN_META

    def __repr__(self) -> str:
        estimates = f"; estimates {listed(self.estimates, 40)}" if self._estimates else ""
        lost = f"; lost: {listed(self.lost, 30)}" if self.lost else ""
        return f"LogReader({cut(self.path.name, 50)}: {self._lasts()}; streams {listed(self.streams)}{estimates}{lost})"

    def _repr_html_(self) -> str:
        rows = [(name, *self._told(name)) for name in (*self.streams, *self.estimates, *self.raw_streams)]
        rows += [(f"{name}: lost", 0, "", loss.reason) for name, loss in self.lost.items()]
        return html_table(f"{self.path.name}, {self._lasts()}", ("stream", "rows", "span", "channels"), rows)

    def _lasts(self) -> str:
        span = self.span_ns
        return "no readings" if span is None else f"{(span[1] - span[0]) / 1e9:.2f} s"

    def _told(self, name: str) -> tuple[int, str, str]:
        """Rows, span and channels with their units."""
        stream = self._stream(name)
        span = stream.span_ns
        lasts = "" if span is None else f"{(span[1] - span[0]) / 1e9:.2f} s"
        if stream.kind == "raw":
            return stream.rows, lasts, "raw bytes"
        return stream.rows, lasts, listed((f"{c.name} [{c.unit}]" for c in self.schema(name).channels), 200)

    def __enter__(self) -> LogReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._streams = {}
        self._estimates = {}

    @property
    def streams(self) -> tuple[str, ...]:
        """Names of the streams of readings."""
        return tuple(name for name, stream in self._streams.items() if stream.kind == STREAM_KIND)

    @property
    def raw_streams(self) -> tuple[str, ...]:
        """Names of the streams of raw bytes."""
        return tuple(name for name, stream in self._streams.items() if stream.kind == "raw")

    @property
    def estimates(self) -> tuple[str, ...]:
        """What observers and models made of the readings, each by the name that `numpy` and the others take.

        That is its own (`vsa_hybrid`, `live_cekf`), or `estimates/<name>`, which always does, where a stream has it.
        """
        return tuple(f"{ESTIMATES_FOLDER}/{n}" if n in self._streams else n for n in self._estimates)

    @property
    def span_ns(self) -> tuple[int, int] | None:
        """Stamps of the first and the last reading of all streams; None when there is none."""
        spans = [span for name in self.streams if (span := self._streams[name].span_ns)]
        return (min(s[0] for s in spans), max(s[1] for s in spans)) if spans else None

    def schema(self, stream: str) -> StreamSchema:
        """The channels of a stream; the schema of an estimate has a name as near to its own as a stream's can be."""
        return stream_schema(self._stream(stream, STREAM_KIND, ESTIMATE_KIND).schema)

    def notes(self, estimate: str) -> Mapping[str, str]:
        """What an estimate was made from and by, as its maker wrote it down."""
        return estimate_notes(self._stream(estimate, ESTIMATE_KIND).schema)

    def rows(self, stream: str) -> int:
        """Number of rows of a stream, readings or raw chunks."""
        return self._stream(stream).rows

    def batches(
        self,
        stream: str,
        *,
        channels: Sequence[str] | None = None,
        t_min_ns: int | None = None,
        t_max_ns: int | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Record batches (t_ns, t_sensor_ns, channels…) in time order, each a view into the mapped file."""
        found = self._stream(stream)
        columns = _columns(found, channels)
        if not found.ordered:
            yield from self.arrow(stream, channels=channels, t_min_ns=t_min_ns, t_max_ns=t_max_ns).to_batches()
            return
        for batch in decoded(found, t_min_ns, t_max_ns):
            yield batch if columns is None else batch.select(columns)

    def arrow(
        self,
        stream: str,
        *,
        channels: Sequence[str] | None = None,
        t_min_ns: int | None = None,
        t_max_ns: int | None = None,
    ) -> pa.Table:
        """A stream as an Arrow table without copying (unless a clock was set back between two segments)."""
        found = self._stream(stream)
        table = pa.Table.from_batches(decoded(found, t_min_ns, t_max_ns), schema=found.schema)
        columns = _columns(found, channels)
        if columns is not None:
            table = table.select(columns)
        return table if found.ordered else table.sort_by(TIME)

    def numpy(
        self,
        stream: str,
        *,
        channels: Sequence[str] | None = None,
        t_min_ns: int | None = None,
        t_max_ns: int | None = None,
    ) -> StreamData:
        """A stream as contiguous columns, one copy; the schema is cut down to `channels`."""
        table = self.arrow(stream, channels=channels, t_min_ns=t_min_ns, t_max_ns=t_max_ns)
        schema = self.schema(stream)
        if channels is not None:
            chosen = tuple(schema.channels[schema.index(name)] for name in channels)
            schema = StreamSchema(schema.name, chosen, schema.dtype, schema.description)
        stamps = table[SENSOR_TIME]
        t_sensor_ns = None
        if stamps.null_count < table.num_rows:
            t_sensor_ns = stamps.fill_null(NO_SENSOR_TIME_NS).to_numpy()
        columns = {name: table[name].to_numpy() for name in schema.names}
        return StreamData(schema, table[TIME].to_numpy(), columns, t_sensor_ns)

    def pandas(
        self,
        stream: str,
        *,
        channels: Sequence[str] | None = None,
        t_min_ns: int | None = None,
        t_max_ns: int | None = None,
    ) -> pd.DataFrame:
        """A stream as a data frame indexed by `t_ns`; units are in `frame.attrs["units"]`."""
        import pandas as pd

        data = self.numpy(stream, channels=channels, t_min_ns=t_min_ns, t_max_ns=t_max_ns)
        frame = pd.DataFrame(dict(data.columns), index=pd.Index(data.t_ns, name=TIME), copy=False)
        frame.attrs["units"] = {c.name: c.unit for c in data.schema.channels}
        return frame

    def readings(
        self, streams: Sequence[str] | None = None, *, t_min_ns: int | None = None, t_max_ns: int | None = None
    ) -> Iterator[Reading]:
        """Readings of all (or the named) streams in order of `t_ns`; equal stamps in order of the stream names."""
        names = sorted(self.streams if streams is None else streams)
        sources = [self._readings_of(name, t_min_ns, t_max_ns) for name in names]
        return heapq.merge(*sources, key=attrgetter("t_ns")) if len(sources) != 1 else sources[0]

    def _readings_of(self, stream: str, t_min_ns: int | None, t_max_ns: int | None) -> Iterator[Reading]:
        self._stream(stream, STREAM_KIND)
        for batch in self.batches(stream, t_min_ns=t_min_ns, t_max_ns=t_max_ns):
            for begin in range(0, batch.num_rows, _READINGS_AT_ONCE):
                t_ns, t_sensor_ns, *values = (c.to_pylist() for c in batch.slice(begin, _READINGS_AT_ONCE).columns)
                for t, t_sensor, row in zip(t_ns, t_sensor_ns, zip(*values, strict=True), strict=True):
                    yield Reading(t, stream, row, t_sensor)

    def raw(
        self, name: str, *, t_min_ns: int | None = None, t_max_ns: int | None = None
    ) -> Iterator[tuple[int, bytes]]:
        """(t_ns, bytes) of a raw stream, chunk by chunk as they arrived."""
        self._stream(name, "raw")
        for batch in self.batches(name, t_min_ns=t_min_ns, t_max_ns=t_max_ns):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    @property
    def events(self) -> tuple[Event, ...]:
        """What happened to the recording, in order."""
        if EVENTS_NAME not in self._streams:
            return ()
        return tuple(_events(self.arrow(EVENTS_NAME)))

    def _stream(self, name: str, *kinds: str) -> JoinedStream:
        """The stream, or else the estimate, of that name; of one of `kinds`, if any are named."""
        found = self._streams.get(name) or self._estimates.get(name.removeprefix(f"{ESTIMATES_FOLDER}/"))
        if found is None or (kinds and found.kind not in kinds):
            everything = [*self._streams.items(), *self._estimates.items()]
            known = ", ".join(n for n, s in everything if not kinds or s.kind in kinds) or "none"
            raise LogError(f"{self.path}: has no stream {name!r}; it has: {known}")
        return found


def _columns(stream: JoinedStream, channels: Sequence[str] | None) -> list[str] | None:
    """Column names to select, or None for all; an unknown channel is a `ValueError` that lists the known."""
    if channels is None:
        return None
    names = stream_schema(stream.schema)
    for channel in channels:
        names.index(channel)
    return [TIME, SENSOR_TIME, *channels]


def _events(table: pa.Table) -> Iterator[Event]:
    columns = (table[name].to_pylist() for name in (TIME, "kind", "stream", "duration_ns", "count", "text"))
    for t_ns, kind, stream, duration_ns, count, text in zip(*columns, strict=True):
        if kind in EventKind.__members__.values():
            yield Event(t_ns, EventKind(kind), stream, duration_ns, count, text)
        else:  # written by a newer version
            yield Event(t_ns, EventKind.NOTE, stream, duration_ns, count, f"{kind}: {text}")
