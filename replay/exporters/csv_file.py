"""CSV as every tool takes it: a row of names, a row of units, then numbers.

UTF-8, comma, decimal point whatever the locale, empty field for a value that the sensor did not give. One file per
stream, because streams have different times, or one file on a raster of time.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from hodograph.acquisition.log import LogReader
from hodograph.core import NO_SENSOR_TIME_NS
from hodograph.replay.exporters.options import LOG_TIME, SENSOR_TIME, UTC, Exported, ExportedFile, ExportOptions
from hodograph.replay.exporters.output import OutputFiles, stream_path
from hodograph.replay.exporters.tables import ExportTable, export_tables, nan_as_null


def export_csv(log: LogReader, path: Path, options: ExportOptions | None = None) -> Exported:
    """Writes `path`, or `<path>_<stream>.csv` per stream when there are several and no rate is given."""
    options = options or ExportOptions()
    tables, _ = export_tables(log, options)
    paths = [path] if len(tables) == 1 else [stream_path(path, table.name, ".csv") for table in tables]
    files = []
    with OutputFiles(paths, overwrite=options.overwrite) as output:
        for table, target in zip(tables, paths, strict=True):
            rows = _write(table, output.temporary(target))
            files.append(ExportedFile(target, rows, table.streams))
    return Exported(tuple(files))


def _write(table: ExportTable, path: Path) -> int:
    rows = 0
    with path.open("wb") as file:
        file.write(_heading(table).encode())
        for batch in table.batches():
            pacsv.write_csv(_as_text(batch), file, pacsv.WriteOptions(include_header=False, quoting_style="none"))
            rows += batch.num_rows
    return rows


def _heading(table: ExportTable) -> str:
    """Name row and unit row."""
    fields = [field for field in table.schema if field.name != LOG_TIME]
    names = ["t_sensor_s" if field.name == SENSOR_TIME else field.name for field in fields]
    units = ["s" if field.name == SENSOR_TIME else field.metadata[b"unit"].decode() for field in fields]
    out = _Text()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows([names, units])
    return out.text


class _Text:
    """The least that `csv.writer` writes into."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, part: str) -> int:
        self.text += part
        return len(part)


def _as_text(batch: pa.RecordBatch) -> pa.RecordBatch:
    """What `pyarrow.csv` shall print: dates as ISO 8601, big stamps without loss, NaN as nothing."""
    columns = {}
    for field, column in zip(batch.schema, batch.columns, strict=True):
        if field.name == LOG_TIME:
            continue
        if field.name == UTC:
            iso = np.datetime_as_string(column.to_numpy(zero_copy_only=False), unit="us", timezone="UTC")
            columns[field.name] = pa.array(iso)
        elif field.name == SENSOR_TIME:
            columns[field.name] = _seconds(column)
        else:
            columns[field.name] = nan_as_null(column)
    return pa.RecordBatch.from_pydict(columns)


def _seconds(stamps_ns: pa.Array) -> pa.Array:
    """Nanoseconds as seconds with nine decimals; exact, which a float would not be for a date."""
    exact = stamps_ns.fill_null(NO_SENSOR_TIME_NS).to_pylist()
    texts = [
        None if t == NO_SENSOR_TIME_NS else f"{'-' * (t < 0)}{abs(t) // 10**9}.{abs(t) % 10**9:09d}" for t in exact
    ]
    return pa.array(texts, pa.string())
