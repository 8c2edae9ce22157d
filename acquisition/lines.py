"""Text lines of numbers from a serial sensor (most hobby and many professional IMUs) → readings.

Fed with chunks of bytes of any size; a line ends at LF or CR. A line that does not parse is counted, never raised:
a cable that is plugged in mid-line is normal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hodograph.core import Channel, Frame, Reading, StreamSchema, unit_named

MAX_LINE_BYTES = 4096  # more without a line end is noise, not a line


@dataclass(frozen=True, slots=True)
class LineColumn:
    """One field of the line: `channel` is our SI name; `unit` the sensor's; `sign` -1 turns an axis round."""

    channel: str
    unit: str
    sign: float = 1.0
    frame: Frame = Frame.SENSOR
    description: str = ""

    def __post_init__(self) -> None:
        if self.sign not in (1.0, -1.0):
            raise ValueError(f"sign of {self.channel} is {self.sign}, want 1 or -1")
        self.si_channel()

    def si_channel(self, rate_hz: float | None = None) -> Channel:
        """The channel as logs hold it."""
        return Channel(self.channel, unit_named(self.unit).si, self.frame, rate_hz, self.description)


class LineDecoder:
    """Lines `v0,v1,…` → readings of one stream; `time_unit` set means that the first field is the sensor's clock."""

    def __init__(
        self,
        stream: str,
        columns: Sequence[LineColumn],
        *,
        delimiter: str = ",",
        time_unit: str | None = None,
        rate_hz: float | None = None,
    ) -> None:
        self.schema = StreamSchema(stream, tuple(c.si_channel(rate_hz) for c in columns))
        self.good = 0
        self.malformed = 0
        self._units = [unit_named(c.unit) for c in columns]
        self._signs = [c.sign for c in columns]
        self._delimiter = delimiter.encode()
        self._ns_per_tick = None if time_unit is None else unit_named(time_unit).scale * 1e9
        self._rest = b""

    def feed(self, chunk: bytes, t_ns: int) -> list[Reading]:
        """Readings of the lines that `chunk`, arrived at `t_ns`, completes."""
        *lines, self._rest = (self._rest + chunk).replace(b"\r", b"\n").split(b"\n")
        if len(self._rest) > MAX_LINE_BYTES:
            self._rest = b""
            self.malformed += 1
        return [reading for line in lines if line and (reading := self._decode(line, t_ns)) is not None]

    def _decode(self, line: bytes, t_ns: int) -> Reading | None:
        try:
            numbers = [float(field) for field in line.split(self._delimiter)]
        except ValueError:
            numbers = []
        t_sensor_ns = None
        if self._ns_per_tick is not None and numbers:
            ticks = numbers.pop(0)
            t_sensor_ns = round(ticks * self._ns_per_tick) if math.isfinite(ticks) else None
        if len(numbers) != len(self._units):
            self.malformed += 1
            return None
        self.good += 1
        scaled = zip(numbers, self._units, self._signs, strict=True)
        values = tuple(sign * (x * unit.scale + unit.offset) for x, unit, sign in scaled)
        return Reading(t_ns, self.schema.name, values, t_sensor_ns)
