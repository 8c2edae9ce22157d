"""Text lines of numbers from a serial sensor (most hobby and many professional IMUs) → readings.

Fed with chunks of bytes of any size; a line ends at LF or CR. A line that does not parse is counted, never raised:
a cable that is plugged in mid-line is normal. For the same reason the first line is never used, nor a last one that
has no end: half a number is a number, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from hodograph.core import Channel, Frame, Reading, StreamSchema, unit_named

MAX_LINE_BYTES = 4096  # more without a line end is noise, not a line


@dataclass(frozen=True, slots=True)
class LineColumn:
    """One field of the line: `channel` is our SI name; `unit` the sensor's; `sign` -1 turns an axis round."""

    channel: str  # our name, which ends in the SI unit
    unit: str  # the sensor's
    sign: float = 1.0  # -1 turns an axis round
    frame: Frame = Frame.SENSOR  # axes of a vector
    description: str = ""  # kept in the log

    def __post_init__(self) -> None:
        if self.sign not in (1.0, -1.0):
            raise ValueError(f"sign of {self.channel} is {self.sign}, want 1 or -1")
        self.si_channel()

    def si_channel(self, rate_hz: float | None = None) -> Channel:
        """The channel as logs hold it."""
        return Channel(self.channel, unit_named(self.unit).si, self.frame, rate_hz, self.description)


class LineDecoder:
    """Lines `v0,v1,…` → readings of one stream; `time_unit` set means that the first field is the sensor's clock.

    An empty field is a value that the sensor did not give (NaN). A delimiter of one space means any white space.
    `good`, `malformed` and `partial` count lines.
    """

    def __init__(
        self,
        stream: str,
        columns: Sequence[LineColumn],
        *,
        delimiter: str = ",",
        time_unit: str | None = None,
        rate_hz: float | None = None,
    ) -> None:
        if not delimiter:
            raise ValueError("delimiter is empty; one space means any white space")
        if time_unit is not None and unit_named(time_unit).si != "s":
            raise ValueError(f"time_unit is {time_unit!r}, want a unit of time such as us or ms")
        self.schema = StreamSchema(stream, tuple(c.si_channel(rate_hz) for c in columns))
        self.good = 0
        self.malformed = 0
        self.partial = 0
        self._units = [unit_named(c.unit) for c in columns]
        self._signs = [c.sign for c in columns]
        self._delimiter = None if delimiter == " " else delimiter.encode()
        self._ns_per_tick = None if time_unit is None else _ns_per(time_unit)
        self._rest = b""
        self._in_step = False  # whether a line end has been seen, so that the next line is whole

    def feed(self, chunk: bytes, t_ns: int) -> list[Reading]:
        """Readings of the lines that `chunk`, arrived at `t_ns`, completes."""
        *lines, self._rest = (self._rest + chunk).replace(b"\r", b"\n").split(b"\n")
        if lines and not self._in_step:
            self.partial += bool(lines[0])
            del lines[0]
            self._in_step = True
        if len(self._rest) > MAX_LINE_BYTES:
            self.malformed += 1
            self._rest = b""
            self._in_step = False
        return [reading for line in lines if line.strip() and (reading := self._decode(line, t_ns)) is not None]

    def flush(self) -> list[Reading]:
        """The bytes end or are interrupted here: an unfinished line is counted as partial and forgotten."""
        self.partial += bool(self._rest)
        self._rest = b""
        self._in_step = False
        return []

    def _decode(self, line: bytes, t_ns: int) -> Reading | None:
        fields = line.split(self._delimiter)
        try:
            t_sensor_ns = None if self._ns_per_tick is None else _stamp_ns(fields.pop(0), self._ns_per_tick)
            numbers = [_number(field) for field in fields]
        except ValueError:
            numbers = []
        if len(numbers) != len(self._units):
            self.malformed += 1
            return None
        self.good += 1
        scaled = zip(numbers, self._units, self._signs, strict=True)
        values = tuple(sign * x * unit.scale + unit.offset for x, unit, sign in scaled)
        return Reading(t_ns, self.schema.name, values, t_sensor_ns)


def _ns_per(time_unit: str) -> Decimal:
    return Decimal(round(unit_named(time_unit).scale * 1e9))


def _number(field: bytes) -> float:
    """A field as a number; NaN when it is empty or not finite. `ValueError` for anything else."""
    if not field or field.isspace():
        return math.nan
    if b"_" in field:  # Python takes 1_000 for a number, no sensor does
        raise ValueError(field)
    number = float(field)
    return number if math.isfinite(number) else math.nan


def _stamp_ns(field: bytes, ns_per_tick: Decimal) -> int | None:
    """The sensor's clock in ns, exact; None when the field is empty. `ValueError` when it is no number."""
    if not field or field.isspace():
        return None
    if b"_" in field:
        raise ValueError(field)
    try:
        t_ns = round(Decimal(field.decode("ascii").strip()) * ns_per_tick)
    except (InvalidOperation, UnicodeDecodeError, OverflowError) as error:
        raise ValueError(field) from error
    if abs(t_ns) >= 2**63:
        raise ValueError(field)
    return t_ns
