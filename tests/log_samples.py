"""A small car's worth of data for the log tests: values that say which row and channel they are."""

from __future__ import annotations

import numpy as np

from hodograph.core import Channel, Frame, StreamData, StreamSchema

CHANNELS = 40
STEP_NS = 2_000_000  # 500 Hz


def wide_schema(name: str = "imu", channels: int = CHANNELS) -> StreamSchema:
    return StreamSchema(
        name,
        tuple(Channel(f"c{i:02d}_mps2", "m/s^2", Frame.BODY, 500.0, f"number {i}") for i in range(channels)),
        dtype="float32",
        description="forty accelerometers",
    )


def wide_row(k: int, channels: int = CHANNELS) -> tuple[float, ...]:
    return tuple(float((k + 7 * i) % 65536) for i in range(channels))


def wide_data(rows: int, schema: StreamSchema | None = None, first: int = 0) -> StreamData:
    schema = schema or wide_schema()
    k = np.arange(first, first + rows)
    columns = {name: ((k + 7 * i) % 65536).astype(np.float32) for i, name in enumerate(schema.names)}
    return StreamData(schema, (k * STEP_NS).astype(np.int64), columns)


def check_prefix(data: StreamData) -> int:
    """Rows 0 … n-1 exactly as `wide_row` makes them; returns n."""
    expected = wide_data(len(data), data.schema)
    assert np.array_equal(data.t_ns, expected.t_ns)
    for name in data.schema.names:
        assert np.array_equal(data[name], expected[name]), name
    return len(data)
