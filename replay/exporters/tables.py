"""What the writers take: tables with named, unit-carrying columns, that come in batches of bounded size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hodograph.acquisition.log import LogReader
from hodograph.core.display import short_repr
from hodograph.replay.exporters.options import (
    LOG_TIME,
    SENSOR_TIME,
    TIME,
    UTC,
    Column,
    ExportOptions,
    Part,
    Selection,
    select,
    unique_names,
)
from hodograph.replay.exporters.raster import raster_batches

ROWS_PER_BATCH = 50_000
Values: TypeAlias = NDArray[np.float64] | NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ExportTable:
    """One table: its fields (units and descriptions in the metadata of `schema`), and its rows, batch by batch.

    The first column is `t_s`, seconds from `start_ns` on the log's clock; `t_ns` is always there as well.
    """

    name: str
    streams: tuple[str, ...]
    schema: pa.Schema
    batches: Callable[[], Iterator[pa.RecordBatch]]
    description: str = ""

    __repr__ = short_repr


def export_tables(log: LogReader, options: ExportOptions, *, together: bool = False) -> tuple[list[ExportTable], int]:
    """(tables, start_ns): one table per stream or estimate, or one in all when a rate is given.

    Column names are unique within a table, and `together` over all tables (for a file that holds them all).
    """
    selection = select(log, options)
    if options.rate_hz is not None:
        parts = unique_names(selection.parts)
        columns = [column for part in parts for column in part.columns]
        schema = _schema(columns, "float64", sensor_time=False, utc=options.utc)
        rate_hz = options.rate_hz
        progress = _Progress(options, 0)

        def raster() -> Iterator[pa.RecordBatch]:
            for t_ns, arrays, done, total in raster_batches(log, parts, selection, rate_hz):
                yield _batch(schema, columns, t_ns, arrays, None, selection.start_ns)
                progress.set(done, total)

        streams = tuple(part.stream for part in parts)
        return [ExportTable("raster", streams, schema, raster, f"raster of {rate_hz:g} Hz")], selection.start_ns
    progress = _Progress(options, selection.rows)
    groups = [selection.parts] if together else [(part,) for part in selection.parts]
    parts = tuple(part for group in groups for part in unique_names(group))
    return [_stream_table(log, part, selection, options, progress) for part in parts], selection.start_ns


def _stream_table(
    log: LogReader, part: Part, selection: Selection, options: ExportOptions, progress: _Progress
) -> ExportTable:
    sensor_time = part.sensor_time and _has_sensor_time(log, part.stream)
    schema = _schema(part.columns, part.dtype, sensor_time=sensor_time, utc=options.utc)
    names = tuple(column.channel.name for column in part.columns)

    def batches() -> Iterator[pa.RecordBatch]:
        source = log.batches(part.stream, channels=names, t_min_ns=selection.t_min_ns, t_max_ns=selection.t_max_ns)
        for table in _gathered(source):
            arrays = [table[name].to_numpy() for name in names]
            stamps = table[SENSOR_TIME].combine_chunks() if sensor_time else None
            yield _batch(schema, part.columns, table[LOG_TIME].to_numpy(), arrays, stamps, selection.start_ns)
            progress.add(table.num_rows)

    return ExportTable(part.name, (part.stream,), schema, batches, part.description)


def _gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The one-second batches of a log, gathered to about ROWS_PER_BATCH rows."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= ROWS_PER_BATCH:
            yield pa.Table.from_batches(waiting)
            waiting, rows = [], 0
    if rows:
        yield pa.Table.from_batches(waiting)


def _has_sensor_time(log: LogReader, stream: str) -> bool:
    return any(b.column(SENSOR_TIME).null_count < b.num_rows for b in log.batches(stream, channels=()))


def _schema(columns: Sequence[Column], dtype: str, *, sensor_time: bool, utc: bool) -> pa.Schema:
    fields = [pa.field(TIME, pa.float64(), metadata={"unit": "s", "description": "time from the log's start"})]
    if utc:
        fields.append(pa.field(UTC, pa.timestamp("ns", "UTC"), metadata={"unit": "UTC"}))
    fields.append(pa.field(LOG_TIME, pa.int64(), metadata={"unit": "ns", "description": "the log's clock"}))
    if sensor_time:
        fields.append(pa.field(SENSOR_TIME, pa.int64(), metadata={"unit": "ns", "description": "the sensor's clock"}))
    for column in columns:
        channel = column.channel
        metadata = {"unit": column.unit, "frame": str(channel.frame), "description": channel.description}
        if channel.rate_hz is not None:
            metadata["rate_hz"] = f"{channel.rate_hz:g}"
        kind = pa.float32() if dtype == "float32" and column.is_si else pa.float64()
        fields.append(pa.field(column.name, kind, metadata=metadata))
    return pa.schema(fields)


def _batch(
    schema: pa.Schema,
    columns: Sequence[Column],
    t_ns: NDArray[np.int64],
    arrays: Sequence[Values],
    t_sensor_ns: pa.Array | None,
    start_ns: int,
) -> pa.RecordBatch:
    out = [pa.array((t_ns - start_ns) / 1e9)]
    if UTC in schema.names:
        out.append(pa.array(t_ns).cast(pa.timestamp("ns", "UTC")))
    out.append(pa.array(t_ns))
    if t_sensor_ns is not None:
        out.append(t_sensor_ns)
    for column, values in zip(columns, arrays, strict=True):
        out.append(pa.array(_in_unit(column, values)))
    return pa.record_batch(out, schema=schema)


def _in_unit(column: Column, si: Values) -> Values:
    return si if column.is_si else (si.astype(np.float64) - column.offset) / column.scale


def nan_as_null(array: pa.Array) -> pa.Array:
    """The same numbers, with null where they were NaN."""
    return pc.if_else(pc.is_nan(array), None, array)


class _Progress:
    """Adds up rows over all tables of one export."""

    def __init__(self, options: ExportOptions, total: int) -> None:
        self._tell = options.on_rows
        self._done = 0
        self._total = total

    def add(self, rows: int) -> None:
        """Counts `rows` more."""
        self._done += rows
        self.set(self._done, self._total)

    def set(self, done: int, total: int) -> None:
        """Tells the caller, if it wants to know."""
        if self._tell is not None:
            self._tell(done, total)
