"""Writing estimates into a log: `estimates/<name>.arrow`, whole, in place of the file of that name if there is one.

The name is the file's, and the schema inside carries as much of it as a stream's name can (`schema_name`). Names that
begin with `live_` belong to live runs, which write segments (`live_<name>.0000.arrow`) as a recorder does.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pyarrow as pa

from hodograph.acquisition.log.batches import batch_bounds, batch_of
from hodograph.acquisition.log.estimate_names import (
    ESTIMATES_FOLDER,
    LIVE_PREFIX,
    LONGEST_PREFIXED_BYTES,
    estimate_name,
    fitted_name,
    schema_name,
)
from hodograph.acquisition.log.framing import BatchEncoder
from hodograph.acquisition.log.meta import META_NAME, as_utf8, sync_folder
from hodograph.acquisition.log.schema import ESTIMATE_KIND, NOTES_KEY, ROWS_KEY, arrow_schema, with_policy
from hodograph.acquisition.log.segment import segments_in
from hodograph.acquisition.log.segment_file import FsyncPolicy, SegmentFile
from hodograph.core import LogWriteError, StreamData, StreamSchema

_BATCH_S = 1.0
_NO_NOTES: Mapping[str, str] = MappingProxyType({})

__all__ = ["estimate_name", "write_estimates"]


def write_estimates(
    log: Path, name: str, data: StreamData, *, description: str = "", notes: Mapping[str, str] = _NO_NOTES
) -> Path:
    """Writes `data` as `estimates/<name>.arrow` of the log, whole or not at all; an earlier one is replaced.

    `description` stands in the place of the schema's own; `notes` say what the estimates were made from and by.
    `LogWriteError` for a name or a place that cannot be, and when it cannot be written.
    """
    _check_name(log, name)
    if np.any(np.diff(data.t_ns) < 0):
        raise ValueError(f"estimates {name}: t_ns runs backwards")
    path = log / ESTIMATES_FOLDER / f"{name}.arrow"
    temporary = path.with_name(f".{name}.{secrets.token_hex(4)}.part")
    schema = _schema(name, data, description, notes)
    try:
        _make_folder(log)
        if path.is_symlink() or path.is_dir():
            raise LogWriteError(f"{path}: is no file but a link or a folder; remove it first")
        _write(temporary, schema, data)
        os.replace(temporary, path)
        sync_folder(path.parent)
    except LogWriteError as error:  # speaks of the temporary file: say what the user asked for
        raise LogWriteError(str(error).replace(str(temporary), str(path))) from error
    except OSError as error:
        raise LogWriteError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    return path


def _check_name(log: Path, name: str) -> None:
    if name.casefold().startswith(LIVE_PREFIX):
        raise LogWriteError(f"{log}: estimates cannot be named {name!r}: {LIVE_PREFIX}… is kept for live runs")
    fitting = fitted_name(name, LONGEST_PREFIXED_BYTES)
    if fitting != name:
        raise LogWriteError(f"{log}: estimates cannot be named {name!r}; a name that can be is {fitting!r}")


def _make_folder(log: Path) -> None:
    if not (log / META_NAME).is_file() and not (log.is_dir() and segments_in(log)):
        raise LogWriteError(f"{log}: not a log; a log is a folder NAME.drive")
    folder = log / ESTIMATES_FOLDER
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise LogWriteError(f"{folder}: is no folder of the log but a link or a file; remove it first")
    if not folder.exists():
        folder.mkdir(exist_ok=True)
        sync_folder(log)


def _schema(name: str, data: StreamData, description: str, notes: Mapping[str, str]) -> pa.Schema:
    own = data.schema
    stored = StreamSchema(schema_name(name), own.channels, own.dtype, as_utf8(description or own.description))
    schema = with_policy(arrow_schema(stored, ESTIMATE_KIND), _BATCH_S, FsyncPolicy(None).as_text)
    about = {ROWS_KEY: str(len(data))}
    if notes:
        about[NOTES_KEY] = json.dumps({str(key): str(text) for key, text in notes.items()})
    return schema.with_metadata({**schema.metadata, **about})


def _write(path: Path, schema: pa.Schema, data: StreamData) -> None:
    encoder = BatchEncoder(schema)
    file = SegmentFile(path, encoder.header, FsyncPolicy(None))
    try:
        for begin, end in batch_bounds(data.t_ns, round(_BATCH_S * 1e9)):
            t_first_ns, t_last_ns = int(data.t_ns[begin]), int(data.t_ns[end - 1])
            file.append(encoder.encode(batch_of(data, schema, begin, end), t_first_ns, t_last_ns), t_last_ns)
        file.close()  # which forces it to the disk, whatever the policy
    finally:
        file.abandon()
