"""Batches as bytes: an Arrow IPC message with a seal, and the way to find sealed messages in a damaged file.

The seal is one entry of the message's custom metadata:

    crc32=5f0a11c2 size=0000090256 rows=0000000500 t=+0000000001000000000,+0000000001998000000

CRC-32 of the whole message (metadata and body) with its own eight digits taken as zeros; the message's size in bytes;
its rows; `t_ns` of the first and the last row. All numbers have a fixed width, so the seal can be filled in after
serialising. Arrow itself has no checksum, and takes a zero-filled tail for an orderly end of the stream.
"""

from __future__ import annotations

import re
import zlib

import pyarrow as pa

CONTINUATION = b"\xff\xff\xff\xff"
END_OF_STREAM = CONTINUATION + b"\x00\x00\x00\x00"
_PREFIX_BYTES = 8
_SEAL = re.compile(
    rb"crc32=(?P<crc>[0-9a-f]{8}) size=(?P<size>\d{10}) rows=(?P<rows>\d{10}) t=(?P<first>[+-]\d{19}),(?P<last>[+-]\d{19})"
)
_BLANK_CRC = b"00000000"
_CRC_AT, _SIZE_AT = len("crc32="), len("crc32=00000000 size=")
MAX_MESSAGE_BYTES = 2**31 - 1  # sizes in the format are at most this; batches are kept far below


class _Sink:
    """The file-like object that Arrow serialises into; emptied before each message."""

    closed = False

    def __init__(self) -> None:
        self.bytes = bytearray()

    def write(self, chunk: bytes) -> int:
        self.bytes += chunk
        return len(chunk)

    def flush(self) -> None:
        pass


class BatchEncoder:
    """Record batches of one schema → sealed messages; `header` is what stands before the first of them."""

    def __init__(self, schema: pa.Schema) -> None:
        self.header: bytes = schema.serialize().to_pybytes()
        self._sink = _Sink()
        self._stream = pa.ipc.new_stream(pa.PythonFile(self._sink, mode="w"), schema)
        # Arrow emits the schema with the first batch; ours goes out as `header`, once per segment.
        self._stream.write_batch(schema.empty_table().combine_chunks().to_batches()[0] if False else _empty(schema))

    def encode(self, batch: pa.RecordBatch, t_first_ns: int, t_last_ns: int) -> bytearray:
        """The sealed message of `batch`; valid until the next call."""
        message = self._sink.bytes
        message.clear()
        seal = f"crc32=00000000 size=0000000000 rows={batch.num_rows:010d} t={t_first_ns:+020d},{t_last_ns:+020d}"
        self._stream.write_batch(batch, custom_metadata={"seal": seal})
        at = message.index(seal.encode(), 0, _PREFIX_BYTES + _metadata_bytes(message, 0))
        message[at + _SIZE_AT : at + _SIZE_AT + 10] = b"%010d" % len(message)
        message[at + _CRC_AT : at + _CRC_AT + 8] = b"%08x" % zlib.crc32(message)
        return message


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.record_batch([pa.array([], field.type) for field in schema], schema=schema)
