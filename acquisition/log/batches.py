"""Columns as the record batches of a segment: of at most so long a time, without copying."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hodograph.core import NO_SENSOR_TIME_NS, StreamData

MAX_BATCH_ROWS = 65536  # bounds memory and message size for very fast streams


def batch_bounds(t_ns: NDArray[np.int64], batch_ns: int) -> Iterator[tuple[int, int]]:
    """Row ranges (begin, end) that span less than `batch_ns` and hold at most MAX_BATCH_ROWS."""
    begin = 0
    while begin < t_ns.size:
        end = int(np.searchsorted(t_ns, t_ns[begin] + batch_ns, side="left"))
        end = min(max(end, begin + 1), begin + MAX_BATCH_ROWS)
        yield begin, end
        begin = end


def batch_of(data: StreamData, schema: pa.Schema, begin: int, end: int) -> pa.RecordBatch:
    """Rows `begin` to `end` as a record batch, without copying columns that have the log's dtype already."""
    if data.t_sensor_ns is None:
        t_sensor = pa.nulls(end - begin, pa.int64())
    else:
        stamps = data.t_sensor_ns[begin:end]
        t_sensor = pa.array(stamps, mask=stamps == NO_SENSOR_TIME_NS)
    value_type = schema.field(2).type
    dtype = value_type.to_pandas_dtype()
    arrays = [pa.array(data.t_ns[begin:end]), t_sensor]
    arrays += [pa.array(np.asarray(c[begin:end], dtype=dtype), type=value_type) for c in data.columns.values()]
    return pa.record_batch(arrays, schema=schema)
