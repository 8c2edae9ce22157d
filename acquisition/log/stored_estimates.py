"""Opening what lies in a log's `estimates/`: whole files, the segments of live runs, and files of the former format.

Nothing in that folder may keep a log from opening: what cannot be read is a `Loss` under `estimates/<name>`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from hodograph.acquisition.log.batches import batch_bounds, batch_of
from hodograph.acquisition.log.estimate_names import ESTIMATES_FOLDER, LIVE_PREFIX, schema_name
from hodograph.acquisition.log.framing import END_OF_STREAM, BatchEncoder
from hodograph.acquisition.log.joined import JoinedStream, joined, missing_segments
from hodograph.acquisition.log.loss import Loss
from hodograph.acquisition.log.schema import ESTIMATE_KIND, arrow_schema, same_columns, segment_metadata, stream_schema
from hodograph.acquisition.log.segment import Segment, open_segment, segment_from, segment_number
from hodograph.core import Channel, LogError, StreamData, StreamSchema

_SUFFIX = ".arrow"
_BATCH_NS = 10**9
_LIVE_SEGMENT = re.compile(rf"(?P<name>{LIVE_PREFIX}.+)\.\d{{4,6}}\{_SUFFIX}", re.ASCII)
_UNREADABLE = (LogError, OSError, ValueError, KeyError, pa.ArrowException)
_FORMER_COLUMNS = {"t_ns": pa.int64(), "vsa": pa.float64(), "vsa_std": pa.float64(), "vsa_valid": pa.uint8()}
_FORMER_CHANNELS = (
    Channel("beta_cg_rad", "rad", description="centre of gravity; ISO 8855, positive when moving left of the nose"),
    Channel("beta_cg_std_rad", "rad"),
    Channel("beta_cg_valid", "1"),
)


def open_estimates(log: Path, *, verify: bool) -> tuple[dict[str, JoinedStream], dict[str, Loss]]:
    """(estimates by name, losses by `estimates/<name>`) of the log; both empty when there is no such folder."""
    folder = log / ESTIMATES_FOLDER
    found: dict[str, JoinedStream] = {}
    lost: dict[str, Loss] = {}
    try:
        files = _files_in(folder)
    except FileNotFoundError:
        return found, lost
    except OSError as error:
        return found, {ESTIMATES_FOLDER: _all_lost(0, f"{ESTIMATES_FOLDER}: cannot be read: {error.strerror}")}
    for name, paths in files.items():
        segments, losses = _opened(paths, verify=verify)
        if losses:
            lost[f"{ESTIMATES_FOLDER}/{name}"] = sum(losses[1:], start=losses[0])
        if stream := joined(segments):
            about = segment_metadata(stream.schema) | {"stream": schema_name(name)}  # a file that was renamed, is
            found[name] = replace(stream, schema=stream.schema.with_metadata(about))
    return found, lost


def _files_in(folder: Path) -> dict[str, list[Path]]:
    """The files of each estimate, in order; hidden ones (not yet whole) and those of other kinds are none."""
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix != _SUFFIX or path.name.startswith("."):
            continue
        live = _LIVE_SEGMENT.fullmatch(path.name)
        found.setdefault(live["name"] if live else path.stem, []).append(path)
    return found


def _opened(paths: Sequence[Path], *, verify: bool) -> tuple[list[Segment], list[Loss]]:
    """What of an estimate's files can be read together, and what is lost."""
    segments: list[Segment] = []
    losses: list[Loss] = []
    for path in paths:
        try:
            segment = _estimate_in(path, verify=verify)
            if segments and not same_columns(segments[0].schema, segment.schema):
                raise LogError(f"holds other channels than {segments[0].path.name}")
        except _UNREADABLE as error:
            losses.append(_all_lost(_size_of(path), _reason(path, error)))
            continue
        segments.append(segment)
        losses += [segment.loss] if segment.loss is not None else []
    if any(_LIVE_SEGMENT.fullmatch(path.name) for path in paths):
        segments.sort(key=lambda segment: segment_number(segment.path))
        losses += missing_segments(segments)
    return segments, losses


def _estimate_in(path: Path, *, verify: bool) -> Segment:
    """The estimates in one file; one of `_UNREADABLE` when there are none."""
    if not path.is_file():
        raise LogError("is not a file")
    live = path.name.startswith(LIVE_PREFIX)
    if live and not _LIVE_SEGMENT.fullmatch(path.name):
        raise LogError(f"has no number, as the segments of a live run have ({path.stem}.0000{_SUFFIX})")
    segment = open_segment(path, verify=verify)
    if segment.schema is None:
        former = _former(segment.data)
        if former is None:
            raise LogError("its head is missing or damaged, or it is no file of ours")
        return segment_from(path, former, verify=False)
    kind = segment_metadata(segment.schema).get("kind", "")
    if kind != ESTIMATE_KIND:
        raise LogError(f"holds no estimates but {kind or 'something else'}")
    wanted = arrow_schema(stream_schema(segment.schema), kind)
    if [(f.name, f.type) for f in segment.schema] != [(f.name, f.type) for f in wanted]:
        raise LogError("its columns are not those of estimates")
    return segment


def _former(data: pa.Buffer) -> pa.Buffer | None:
    """A file of the former format (a bare Arrow stream of t_ns, vsa, vsa_std, vsa_valid) as today's; None for others.

    It has no checksums; what tells that it is whole is its end mark, which must stand where Arrow stops reading.
    """
    source = pa.BufferReader(data)
    try:
        reader = pa.ipc.open_stream(source)
    except (pa.ArrowException, OSError):
        return None
    if {field.name: field.type for field in reader.schema} != _FORMER_COLUMNS:
        return None
    table = reader.read_all()
    if source.tell() != data.size or bytes(memoryview(data)[-len(END_OF_STREAM) :]) != END_OF_STREAM:
        raise LogError("a file of the former format, cut short: make the estimates again")
    table.validate(full=True)  # what it refuses, no array may be made of
    t_ns, *values = (table[name].to_numpy() for name in _FORMER_COLUMNS)
    if table["t_ns"].null_count or np.any(np.diff(t_ns) < 0):
        raise LogError("a file of the former format whose stamps run backwards: make the estimates again")
    schema = StreamSchema("former", _FORMER_CHANNELS)
    columns = {name: np.asarray(v, dtype=np.float64) for name, v in zip(schema.names, values, strict=True)}
    return _framed(StreamData(schema, t_ns, columns))


def _framed(data: StreamData) -> pa.Buffer:
    """`data` as the bytes of a segment."""
    schema = arrow_schema(data.schema, ESTIMATE_KIND)
    encoder = BatchEncoder(schema)
    parts = [encoder.header]
    for begin, end in batch_bounds(data.t_ns, _BATCH_NS):
        batch = batch_of(data, schema, begin, end)
        parts.append(bytes(encoder.encode(batch, int(data.t_ns[begin]), int(data.t_ns[end - 1]))))
    return pa.py_buffer(b"".join([*parts, END_OF_STREAM]))


def _reason(path: Path, error: Exception) -> str:
    """One line that begins with the file's name."""
    said = str(error).removeprefix(f"{path}: ").removeprefix(f"{path.name}: ")
    if not isinstance(error, LogError):
        said = f"cannot be read as estimates ({type(error).__name__}: {said})"
    return f"{path.name}: {' '.join(said.split())}"


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:
        return 0


def _all_lost(size: int, reason: str) -> Loss:
    return Loss(size, 0, reason, float("inf"), float("inf"))
