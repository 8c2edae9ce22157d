"""Batches as bytes: an Arrow IPC message with a seal, and the way to find sealed messages in a damaged file.

The seal is one entry of the message's custom metadata (for the schema at a segment's head: of the schema's metadata):

    crc32=5f0a11c2 size=0000090256 rows=0000000500 t=+0000000001000000000,+0000000001998000000

CRC-32 of the whole message (metadata and body) with its own eight digits taken as zeros; the message's size in bytes;
its rows; `t_ns` of the first and the last row. All numbers have a fixed width, so the seal can be filled in after
serialising. Arrow itself has no checksum, and takes a zero-filled tail for an orderly end of the stream.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass

import pyarrow as pa

CONTINUATION = b"\xff\xff\xff\xff"
END_OF_STREAM = CONTINUATION + b"\x00\x00\x00\x00"
SEAL_KEY = "seal"
_PREFIX_BYTES = 8
_ALIGNMENT = 8
_SEAL = re.compile(
    rb"crc32=(?P<crc>[0-9a-f]{8}) size=(?P<size>\d{10}) rows=(?P<rows>\d{10})"
    rb" t=(?P<first>[+-]\d{19}),(?P<last>[+-]\d{19})"
)
_BLANK_CRC = b"00000000"
_CRC_AT, _SIZE_AT = len("crc32="), len("crc32=00000000 size=")


def _blank_seal(rows: int, t_first_ns: int, t_last_ns: int) -> str:
    return f"crc32=00000000 size=0000000000 rows={rows:010d} t={t_first_ns:+020d},{t_last_ns:+020d}"


def _fill_in(message: bytearray, blank_seal: str) -> None:
    """Write size and checksum into the blank seal of a whole message."""
    at = message.index(blank_seal.encode())  # metadata stands before the body: the first match is the seal
    message[at + _SIZE_AT : at + _SIZE_AT + 10] = b"%010d" % len(message)
    message[at + _CRC_AT : at + _CRC_AT + 8] = b"%08x" % zlib.crc32(message)


class _MessageBuffer:
    """The file-like object that Arrow serialises into; emptied before each message."""

    closed = False

    def __init__(self) -> None:
        self.bytes = bytearray()

    def write(self, chunk: bytes) -> int:
        self.bytes += chunk
        return len(chunk)

    def flush(self) -> None:
        return


class BatchEncoder:
    """Record batches of one schema → sealed messages; `header` is the sealed schema that stands before the first."""

    def __init__(self, schema: pa.Schema) -> None:
        blank = _blank_seal(0, 0, 0)
        header = bytearray(schema.with_metadata({**(schema.metadata or {}), SEAL_KEY: blank}).serialize().to_pybytes())
        _fill_in(header, blank)
        self.header = bytes(header)
        self._sink = _MessageBuffer()
        self._stream = pa.ipc.new_stream(pa.PythonFile(self._sink, mode="w"), schema)
        # Arrow emits the schema with the first batch; an empty one gets that out of the way.
        self._stream.write_batch(pa.record_batch([pa.array([], field.type) for field in schema], schema=schema))

    def encode(self, batch: pa.RecordBatch, t_first_ns: int, t_last_ns: int) -> bytearray:
        """The sealed message of `batch`; valid until the next call."""
        message = self._sink.bytes
        message.clear()
        blank = _blank_seal(batch.num_rows, t_first_ns, t_last_ns)
        self._stream.write_batch(batch, custom_metadata={SEAL_KEY: blank})
        _fill_in(message, blank)
        return message


@dataclass(frozen=True, slots=True)
class Sealed:
    """Where a sealed message lies in its file, and what its seal says of it."""

    offset: int
    size: int
    rows: int
    t_first_ns: int
    t_last_ns: int


@dataclass(frozen=True, slots=True)
class Walk:
    """What a segment holds behind its header: its batches, and the stretches (offset, bytes, batches) that do not read.

    `closed` says that the orderly end mark is there and nothing behind it.
    """

    batches: tuple[Sealed, ...]
    damage: tuple[tuple[int, int, int], ...]
    closed: bool


def sealed_at(data: memoryview, offset: int, *, verify: bool) -> Sealed | None:
    """The sealed message that starts at `offset`, or None; its checksum is computed if `verify`."""
    head = bytes(data[offset : offset + _PREFIX_BYTES])
    if len(head) < _PREFIX_BYTES or head[:4] != CONTINUATION:
        return None
    metadata_end = offset + _PREFIX_BYTES + int.from_bytes(head[4:], "little")
    if metadata_end > len(data):
        return None
    seal = _SEAL.search(data, offset + _PREFIX_BYTES, metadata_end)
    if seal is None:
        return None
    size = int(seal["size"])
    end = offset + size
    if size < metadata_end - offset or end > len(data):
        return None
    if verify and _checksum(data, offset, seal.start() + _CRC_AT, end) != int(seal["crc"], 16):
        return None
    return Sealed(offset, size, int(seal["rows"]), int(seal["first"]), int(seal["last"]))


def _checksum(data: memoryview, begin: int, crc_at: int, end: int) -> int:
    crc = zlib.crc32(_BLANK_CRC, zlib.crc32(data[begin:crc_at]))
    return zlib.crc32(data[crc_at + 8 : end], crc)


def walk(data: memoryview, offset: int, *, verify: bool) -> Walk:
    """Every sealed message from `offset` on; a stretch that does not read is stepped over to the next that does.

    Without `verify` only the chain of sizes is followed, as long as it holds to an orderly end.
    """
    if not verify:
        trusting = _walk(data, offset, verify=False)
        if trusting.closed and not trusting.damage:
            return trusting
    return _walk(data, offset, verify=True)


def _walk(data: memoryview, offset: int, *, verify: bool) -> Walk:
    batches: list[Sealed] = []
    damage: list[tuple[int, int, int]] = []
    end = len(data)
    while offset < end:
        if end - offset == len(END_OF_STREAM) and data[offset:] == END_OF_STREAM:
            return Walk(tuple(batches), tuple(damage), closed=True)
        message = sealed_at(data, offset, verify=verify)
        if message is None:
            resumed = _next_sealed(data, offset + _ALIGNMENT)
            torn = len(_SEAL.findall(data, offset, resumed))
            damage.append((offset, resumed - offset, max(torn, 1)))
            offset = resumed
        else:
            batches.append(message)
            offset += message.size
    return Walk(tuple(batches), tuple(damage), closed=False)


def _next_sealed(data: memoryview, offset: int) -> int:
    """Offset of the next message whose checksum holds, or of an end mark at the very end; else the end of the data."""
    end = len(data)
    for found in re.compile(re.escape(CONTINUATION)).finditer(data, offset):
        at = found.start()
        if sealed_at(data, at, verify=True) is not None or bytes(data[at:]) == END_OF_STREAM:
            return at
    return end
