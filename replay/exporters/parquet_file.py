"""Parquet for pandas, DuckDB and PlotJuggler: units in the metadata of every field."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from hodograph.acquisition.log import LogReader
from hodograph.replay.exporters.options import Exported, ExportedFile, ExportOptions
from hodograph.replay.exporters.output import OutputFiles, stream_path
from hodograph.replay.exporters.tables import ExportTable, export_tables


def export_parquet(log: LogReader, path: Path, options: ExportOptions | None = None) -> Exported:
    """Writes `path`, or `<path>_<stream>.parquet` per stream when there are several and no rate is given."""
    options = options or ExportOptions()
    tables, start_ns = export_tables(log, options)
    paths = [path] if len(tables) == 1 else [stream_path(path, table.name, ".parquet") for table in tables]
    about = {"clock": log.meta.clock, "software": log.meta.software, "start_ns": str(start_ns)}
    files = []
    with OutputFiles(paths, overwrite=options.overwrite) as output:
        for table, target in zip(tables, paths, strict=True):
            rows = _write(table, output.temporary(target), about)
            files.append(ExportedFile(target, rows, table.streams))
    return Exported(tuple(files))


def _write(table: ExportTable, path: Path, about: dict[str, str]) -> int:
    rows = 0
    metadata = about | {"stream": table.name, "description": table.description}
    with pq.ParquetWriter(path, table.schema.with_metadata(metadata), compression="zstd") as writer:
        for batch in table.batches():
            writer.write_batch(batch.replace_schema_metadata(metadata))
            rows += batch.num_rows
    return rows
