"""Segments joined to streams: all batches of one name in time order, and what is missing between them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa

from hodograph.acquisition.log.framing import Sealed
from hodograph.acquisition.log.loss import Loss
from hodograph.acquisition.log.schema import bare_schema, same_columns, segment_metadata
from hodograph.acquisition.log.segment import Segment
from hodograph.core import LogError


@dataclass(frozen=True, slots=True)
class JoinedStream:
    """All batches of one stream in time order; `ordered` is False when segments overlap (a clock was set back)."""

    kind: str
    schema: pa.Schema
    batches: tuple[tuple[Segment, Sealed], ...]
    ordered: bool

    @property
    def rows(self) -> int:
        """Rows of all batches."""
        return sum(batch.rows for _, batch in self.batches)

    @property
    def span_ns(self) -> tuple[int, int] | None:
        """Stamps of the first and the last row."""
        if not self.batches:
            return None
        return self.batches[0][1].t_first_ns, max(batch.t_last_ns for _, batch in self.batches)


def missing_segments(segments: Sequence[Segment]) -> Iterator[Loss]:
    """Segments are numbered from 0 without holes: a hole is a file that somebody took away."""
    expected = 0
    end_ns: int | None = None
    for segment in segments:
        begin_ns = segment.batches[0].t_first_ns if segment.batches else None
        if segment.number > expected:
            bound_s = float("inf") if end_ns is None or begin_ns is None else (begin_ns - end_ns) / 1e9
            reason = f"{segment.number - expected} segments before {segment.path.name} are missing"
            yield Loss(0, 0, reason, bound_s, bound_s)
        expected = segment.number + 1
        end_ns = segment.batches[-1].t_last_ns if segment.batches else end_ns


def joined(segments: Sequence[Segment]) -> JoinedStream | None:
    """The segments of one stream joined; `LogError` when they do not belong together."""
    if not segments:
        return None
    first = segments[0].schema
    for segment in segments[1:]:
        if not same_columns(first, segment.schema):
            raise LogError(f"{segment.path}: holds other channels than {segments[0].path.name}: not one stream")
    batches = [(segment, batch) for segment in segments for batch in segment.batches if batch.rows]
    batches.sort(key=lambda entry: entry[1].t_first_ns)  # stable: file order where stamps are equal
    spans = [batch for _, batch in batches]
    ordered = all(a.t_last_ns <= b.t_first_ns for a, b in pairwise(spans))
    return JoinedStream(segment_metadata(first).get("kind", ""), bare_schema(first), tuple(batches), ordered)


def decoded(stream: JoinedStream, t_min_ns: int | None, t_max_ns: int | None) -> Iterator[pa.RecordBatch]:
    """Batches that touch the wanted time, cut to it."""
    for segment, sealed in stream.batches:
        if t_min_ns is not None and sealed.t_last_ns < t_min_ns:
            continue
        if t_max_ns is not None and sealed.t_first_ns >= t_max_ns:
            continue
        batch = segment.read(sealed, stream.schema)
        if (t_min_ns is None or sealed.t_first_ns >= t_min_ns) and (t_max_ns is None or sealed.t_last_ns < t_max_ns):
            yield batch
            continue
        t_ns = batch.column(0).to_numpy()
        begin = 0 if t_min_ns is None else bisect_left(t_ns, t_min_ns)
        end = batch.num_rows if t_max_ns is None else bisect_left(t_ns, t_max_ns)
        if begin < end:
            yield batch.slice(begin, end - begin)
