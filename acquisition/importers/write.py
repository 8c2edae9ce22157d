"""An imported recording becomes a log, whole or not at all."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from hodograph.acquisition.importers.imported import Imported
from hodograph.acquisition.log import FsyncPolicy, LogWriter
from hodograph.acquisition.log.meta import sync_folder
from hodograph.core import LogWriteError


def write_imported(path: str | Path, imported: Imported) -> None:
    """Write a new log at `path`; it appears there only when it is complete and on disk."""
    path = Path(path)
    if path.exists():
        raise LogWriteError(f"{path}: exists already; choose another name or move it away")
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        _write(partial, imported)
        os.rename(partial, path)
        sync_folder(path.parent)
    except LogWriteError as error:  # speaks of the partial log: say what the user asked for
        raise LogWriteError(str(error).replace(str(partial), str(path))) from error
    except OSError as error:
        raise LogWriteError(f"{path}: cannot be created: {error.strerror}") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _write(path: Path, imported: Imported) -> None:
    with LogWriter.create(
        path,
        clock=imported.clock,
        notes=imported.notes,
        vehicle_toml=imported.vehicle_toml,
        fsync=FsyncPolicy(every_s=None),  # closing forces everything at once; until then the log has another name
    ) as log:
        for data in imported.streams:
            log.add_stream(data.schema)
            log.append_data(data)
        for raw in imported.raw:
            log.add_raw(raw.name, raw.description)
            for t_ns, chunk in zip(raw.t_ns.tolist(), raw.chunks, strict=True):
                log.append_raw(raw.name, t_ns, chunk)
        for event in sorted(imported.events, key=lambda e: e.t_ns):
            log.event(event)
