"""What a sensor said, and what was made of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


@dataclass(frozen=True, slots=True)
class Reading:
    """One message of one sensor.

    `t_ns` is on the log's one monotonic clock, stamped at arrival (imported files: the sensor's time);
    `t_sensor_ns` is the sensor's own stamp, if it has one; `values` holds one SI float per channel of `stream`.
    """

    t_ns: int
    stream: str
    values: tuple[float, ...]
    t_sensor_ns: int | None = None

    def __repr__(self) -> str:
        more = f", … {len(self.values)} values" if len(self.values) > 6 else ""
        return f"Reading({self.stream} at {self.t_ns} ns: {', '.join(f'{v:.6g}' for v in self.values[:6])}{more})"


class Verdict(IntEnum):
    """What became of a reading; prints as its word. The numbers are written to logs: never renumber."""

    USED = 0  # corrected the estimate
    LATE = 1  # older than the newest estimate, taken in by rewinding
    GATED = 2  # improbable under the estimate, refused
    STALE = 3  # older than the rewind horizon, refused
    INVALID = 4  # not finite, no fix, out of range: no measurement at all

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return format(self.name, spec)
