"""Stream schemas as Arrow schemas and back: units, frames, rates and descriptions live in the metadata."""

from __future__ import annotations

import json

import pyarrow as pa

from hodograph.acquisition.log.framing import SEAL_KEY
from hodograph.core import Channel, Frame, StreamSchema
from hodograph.core.channel import EVENTS_NAME, TIME_COLUMNS

FORMAT_VERSION = "1"
TIME, SENSOR_TIME = TIME_COLUMNS
STREAM_KIND, ESTIMATE_KIND = "stream", "estimate"
BATCH_KEY = "batch_s"  # a batch spans at most this
FSYNC_KEY = "fsync_every_s"  # … and is forced to disk after at most this, or "never"
ROWS_KEY = "rows"  # of a file that is written whole: how many rows it has
NOTES_KEY = "notes"  # of an estimate: what it was made from and by, as JSON


def arrow_schema(schema: StreamSchema, kind: str = STREAM_KIND) -> pa.Schema:
    """`t_ns`, `t_sensor_ns` (nullable), then one column per channel in the stream's dtype."""
    value = pa.float32() if schema.dtype == "float32" else pa.float64()
    fields = [_time_field(), pa.field(SENSOR_TIME, pa.int64(), metadata={"unit": "ns"})]
    fields += [pa.field(c.name, value, nullable=False, metadata=_channel_metadata(c)) for c in schema.channels]
    return pa.schema(fields, metadata=stream_metadata(schema.name, schema.description, kind))


def raw_schema(name: str, description: str) -> pa.Schema:
    """`t_ns` and `bytes`: chunks as they arrived."""
    fields = [_time_field(), pa.field("bytes", pa.binary(), nullable=False)]
    return pa.schema(fields, metadata=stream_metadata(name, description, "raw"))


def events_schema() -> pa.Schema:
    """One column per field of `Event`."""
    columns = {
        "kind": pa.string(),
        "stream": pa.string(),
        "duration_ns": pa.int64(),
        "count": pa.int64(),
        "text": pa.string(),
    }
    fields = [_time_field(), *(pa.field(name, kind, nullable=False) for name, kind in columns.items())]
    return pa.schema(fields, metadata=stream_metadata(EVENTS_NAME, "what happened to the recording", "events"))


def stream_metadata(name: str, description: str, kind: str) -> dict[str, str]:
    """The schema metadata that every segment carries."""
    return {"hodograph": FORMAT_VERSION, "stream": name, "kind": kind, "description": description}


def with_policy(schema: pa.Schema, batch_s: float, fsync_every_s: str) -> pa.Schema:
    """`schema` with what a reader needs to bound the loss of a crash."""
    return schema.with_metadata({**schema.metadata, BATCH_KEY: repr(float(batch_s)), FSYNC_KEY: fsync_every_s})


def bare_schema(schema: pa.Schema) -> pa.Schema:
    """`schema` without what belongs to one segment only (its seal and write policy)."""
    own = {SEAL_KEY, BATCH_KEY, FSYNC_KEY}
    return schema.with_metadata({k: v for k, v in segment_metadata(schema).items() if k not in own})


def same_columns(a: pa.Schema, b: pa.Schema) -> bool:
    """Whether two segments can be one stream: the same columns with the same types, units and frames."""

    def essence(schema: pa.Schema) -> list[tuple[str, pa.DataType, str, str]]:
        fields = [(f, _text(f.metadata)) for f in schema]
        return [(f.name, f.type, text.get("unit", ""), text.get("frame", "")) for f, text in fields]

    return essence(a) == essence(b)


def stream_schema(schema: pa.Schema) -> StreamSchema:
    """The inverse of `arrow_schema`; `ValueError` or `KeyError` when it was not one of ours."""
    metadata = _text(schema.metadata)
    values = list(schema)[2:]
    dtype = "float32" if values and values[0].type == pa.float32() else "float64"
    channels = tuple(_channel(field) for field in values)
    return StreamSchema(metadata["stream"], channels, dtype, metadata["description"])  # type: ignore[arg-type]


def estimate_notes(schema: pa.Schema) -> dict[str, str]:
    """The notes of an estimate; none where they are missing or not what they should be."""
    try:
        notes = json.loads(segment_metadata(schema).get(NOTES_KEY, "{}"))
    except (ValueError, RecursionError):
        return {}
    return {str(key): str(text) for key, text in notes.items()} if isinstance(notes, dict) else {}


def segment_metadata(schema: pa.Schema) -> dict[str, str]:
    """Schema metadata as text; empty when there is none."""
    return _text(schema.metadata)


def _time_field() -> pa.Field:
    return pa.field(TIME, pa.int64(), nullable=False, metadata={"unit": "ns"})


def _channel_metadata(channel: Channel) -> dict[str, str]:
    metadata = {"unit": channel.unit, "frame": str(channel.frame), "description": channel.description}
    if channel.rate_hz is not None:
        metadata["rate_hz"] = repr(float(channel.rate_hz))
    return metadata


def _channel(field: pa.Field) -> Channel:
    metadata = _text(field.metadata)
    rate_hz = metadata.get("rate_hz")
    return Channel(
        field.name,
        metadata["unit"],
        Frame(metadata["frame"]),
        None if rate_hz is None else float(rate_hz),
        metadata["description"],
    )


def _text(metadata: dict[bytes, bytes] | None) -> dict[str, str]:
    return {key.decode(): value.decode() for key, value in (metadata or {}).items()}
