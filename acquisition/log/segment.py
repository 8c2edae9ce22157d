"""The reading side of one segment: what is in it, what of it cannot be read, batches without copying."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from hodograph.acquisition.log.framing import Sealed, sealed_at, walk
from hodograph.acquisition.log.loss import Loss
from hodograph.acquisition.log.schema import BATCH_KEY, FORMAT_VERSION, FSYNC_KEY, ROWS_KEY, segment_metadata
from hodograph.core import LogError

_SEGMENT = re.compile(r"(?P<stream>[a-z][a-z0-9_]*)\.\d{4,6}\.arrow")


@dataclass(frozen=True, slots=True)
class Segment:
    """An opened segment: its schema (None when not even that is whole), its batches in file order, its loss if any."""

    path: Path
    schema: pa.Schema | None
    batches: tuple[Sealed, ...]
    loss: Loss | None
    data: pa.Buffer

    @property
    def number(self) -> int:
        """Its place among the segments of its stream."""
        return segment_number(self.path)

    def read(self, batch: Sealed, schema: pa.Schema) -> pa.RecordBatch:
        """One of `batches` under the stream's `schema`, a view into the mapped file."""
        message = self.data.slice(batch.offset, batch.size)
        try:
            decoded = pa.ipc.read_record_batch(message, schema)
            decoded.validate(full=not _fixed_width(schema))
        except (pa.ArrowException, OSError) as error:
            raise LogError(f"{self.path}: batch at byte {batch.offset} does not decode: {error}") from error
        return decoded


def _fixed_width(schema: pa.Schema) -> bool:
    """Whether buffer sizes alone prove a batch sound; offsets of bytes and text need a look at each."""
    return not any(pa.types.is_binary(f.type) or pa.types.is_string(f.type) for f in schema)


def segment_number(path: Path) -> int:
    """The number in a segment's file name."""
    return int(path.name.split(".")[-2])


def segments_in(folder: Path) -> dict[str, list[Path]]:
    """Segment files of each stream, in order of their numbers."""
    found: dict[str, list[Path]] = {}
    for path in folder.iterdir():
        if name := _SEGMENT.fullmatch(path.name):
            found.setdefault(name["stream"], []).append(path)
    return {stream: sorted(found[stream], key=segment_number) for stream in sorted(found)}


def read_segment_schema(path: Path) -> pa.Schema | None:
    """The schema at the head of a segment, or None when it is not whole."""
    return _schema_of(_bytes_of(_mapped(path)), path)[0]


def open_segment(path: Path, *, verify: bool = False) -> Segment:
    """Map the segment at `path` and find its batches.

    A segment that was ended in order is trusted, unless `verify`; of any other every checksum is computed.
    """
    return segment_from(path, _mapped(path), verify=verify)


def segment_from(path: Path, data: pa.Buffer, *, verify: bool) -> Segment:
    """The segment whose bytes are `data`; `path` is what messages name."""
    view = _bytes_of(data)
    schema, header_bytes = _schema_of(view, path)
    if schema is None:
        reason = f"{path.name}: its head is missing or damaged"
        nothing = float("inf") if len(view) else 1.0  # an empty file lived for an instant only
        return Segment(path, None, (), Loss(len(view), 0, reason, nothing, nothing), data)
    found = walk(view, header_bytes, verify=verify)
    return Segment(path, schema, found.batches, _loss(path, schema, found.batches, found.damage, found.closed), data)


def _mapped(path: Path) -> pa.Buffer:
    try:
        if path.stat().st_size == 0:
            return pa.py_buffer(b"")
        with pa.memory_map(str(path)) as source:
            return source.read_buffer()
    except OSError as error:
        raise LogError(f"{path}: cannot be read: {error.strerror or error}") from error


def _bytes_of(data: pa.Buffer) -> memoryview:
    return memoryview(data).cast("B")


def _schema_of(view: memoryview, path: Path) -> tuple[pa.Schema | None, int]:
    head = sealed_at(view, 0, verify=True)
    if head is None:
        return None, 0
    try:
        schema = pa.ipc.read_schema(pa.py_buffer(view[: head.size]))
    except (pa.ArrowException, OSError):
        return None, 0
    version = segment_metadata(schema).get("hodograph", "")
    if version != FORMAT_VERSION:
        raise LogError(f"{path}: segment format {version or 'unknown'}, this version reads {FORMAT_VERSION}: update")
    return schema, head.size


def _loss(
    path: Path, schema: pa.Schema, batches: tuple[Sealed, ...], damage: tuple[tuple[int, int, int], ...], closed: bool
) -> Loss | None:
    """What is missing between and behind `batches`."""
    if closed and not damage:
        return None
    metadata = segment_metadata(schema)
    batch_s = float(metadata.get(BATCH_KEY, "1.0"))
    fsync = metadata.get(FSYNC_KEY, "never")
    unsynced_s = float("inf" if fsync == "never" else fsync)
    smallest = min((b.size for b in batches), default=1)
    total = Loss(0, 0, "", 0.0, 0.0)
    for offset, size, torn in damage:
        before = [b for b in batches if b.offset < offset]
        after = [b for b in batches if b.offset > offset]
        gone_s = batch_s * max(torn, size / smallest)
        reason = f"{path.name}: {size} damaged bytes at byte {offset}"
        if before and after:
            gone_s = (after[0].t_first_ns - before[-1].t_last_ns) / 1e9
        elif not after:
            reason = f"{path.name}: the last {size} bytes are a torn or damaged batch"
            gone_s -= 0.0 if closed else batch_s  # the batch that a crash tears counts below
        total += Loss(size, torn, reason, gone_s, gone_s)
    if not closed and ROWS_KEY in metadata:  # written whole: no crash left this, and nothing bounds it
        reason = f"{path.name}: cut short, {sum(b.rows for b in batches)} of {metadata[ROWS_KEY]} rows are left"
        total += Loss(0, 0, reason, float("inf"), float("inf"))
    elif not closed:
        reason = f"{path.name}: never closed (killed, power cut, or still being recorded)"
        total += Loss(0, 0, reason, batch_s, batch_s + unsynced_s)
    return total
