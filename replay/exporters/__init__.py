"""Logs → files of other tools: CSV, Parquet, MDF4.

A format is a function `(log, path, options) -> Exported` and an entry in `FORMATS`.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from hodograph.acquisition.log import LogReader
from hodograph.replay.exporters.csv_file import export_csv
from hodograph.replay.exporters.mf4_file import export_mf4
from hodograph.replay.exporters.options import Exported, ExportedFile, ExportOptions
from hodograph.replay.exporters.parquet_file import export_parquet

Exporter: TypeAlias = Callable[[LogReader, Path, ExportOptions], Exported]

FORMATS: Mapping[str, Exporter] = {"csv": export_csv, "mf4": export_mf4, "parquet": export_parquet}

__all__ = [
    "FORMATS",
    "ExportOptions",
    "Exported",
    "ExportedFile",
    "Exporter",
    "export_csv",
    "export_mf4",
    "export_parquet",
]
