"""MDF4 for CANape, INCA, WinTAX, MATLAB and the asammdf viewer: a channel group per stream, with units and comments."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from hodograph.acquisition.log import LogReader
from hodograph.core import MissingExtraError
from hodograph.replay.exporters.options import (
    LOG_TIME,
    SENSOR_TIME,
    TIME,
    YEAR_2000_NS,
    Exported,
    ExportedFile,
    ExportOptions,
)
from hodograph.replay.exporters.options import UTC as UTC_COLUMN
from hodograph.replay.exporters.output import OutputFiles
from hodograph.replay.exporters.tables import ExportTable, export_tables

VERSION = "4.10"


def export_mf4(log: LogReader, path: Path, options: ExportOptions | None = None) -> Exported:
    """Writes one MDF4 file with a group per stream (or one group on a raster, when a rate is given).

    Channels that several streams have get the stream's name in front. `MissingExtraError` without asammdf.
    """
    options = options or ExportOptions()
    asammdf = _asammdf()
    tables, start_ns = export_tables(log, options, together=True)
    rows = 0
    # Samples wait in a temporary file beside the target, not in memory; `save` moves them over, compressed.
    folder = str(path.parent.resolve())
    with (
        OutputFiles([path], overwrite=options.overwrite) as output,
        asammdf.MDF(version=VERSION, temporary_folder=folder) as mdf,
    ):
        mdf.header.comment = f"exported from {log.path.name} by {log.meta.software}; clock: {log.meta.clock}"
        if start_ns >= YEAR_2000_NS:
            mdf.start_time = datetime.fromtimestamp(start_ns / 1e9, UTC)
        for table in tables:
            rows += _append(asammdf, mdf, table)
        mdf.save(output.temporary(path), compression=2, overwrite=True)
    streams = tuple(stream for table in tables for stream in table.streams)
    return Exported((ExportedFile(path, rows, streams),))


def _asammdf() -> Any:
    try:
        import asammdf
    except ImportError as error:
        raise MissingExtraError("MDF4 export", "asammdf", "mdf") from error
    return asammdf


def _append(asammdf: Any, mdf: Any, table: ExportTable) -> int:
    """One channel group; the first batch creates it, the others extend it."""
    rows = 0
    group: int | None = None
    for batch in table.batches():
        rows += batch.num_rows
        if group is None:
            group = _create_group(asammdf, mdf, table, batch)
            continue
        columns = [(batch.column(TIME).to_numpy(), None)]
        columns += [(_samples(batch.column(name)), None) for name in _channels(table)]
        mdf.extend(group, columns)
    if group is None:
        _create_group(asammdf, mdf, table, _empty(table.schema))
    return rows


def _create_group(asammdf: Any, mdf: Any, table: ExportTable, batch: pa.RecordBatch) -> int:
    t_s = batch.column(TIME).to_numpy()
    signals = [
        asammdf.Signal(
            samples=_samples(batch.column(name)),
            timestamps=t_s,
            name=f"{table.name}_{name}" if name == SENSOR_TIME else name,
            unit=_metadata(table.schema, name, "unit"),
            comment=_comment(table.schema, name),
        )
        for name in _channels(table)
    ]
    index: int = mdf.append(signals, acq_name=table.name, comment=table.description, common_timebase=True)
    return index


def _channels(table: ExportTable) -> list[str]:
    return [name for name in table.schema.names if name not in (TIME, LOG_TIME, UTC_COLUMN)]


def _samples(column: pa.Array) -> Any:
    """Values as numpy; a missing sensor stamp becomes 0, which no sensor's clock that is running says."""
    return np.asarray(column.fill_null(0).to_numpy(zero_copy_only=False))


def _metadata(schema: pa.Schema, name: str, key: str) -> str:
    text: bytes = schema.field(name).metadata.get(key.encode(), b"")
    return text.decode()


def _comment(schema: pa.Schema, name: str) -> str:
    frame = _metadata(schema, name, "frame")
    parts = [_metadata(schema, name, "description"), f"frame: {frame}" if frame else ""]
    return "; ".join(part for part in parts if part)


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.record_batch([pa.array([], field.type) for field in schema], schema=schema)
