"""What happened to a recording besides its readings: gaps, drops, reconnects, markers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hodograph.core.display import short_repr


class EventKind(StrEnum):
    """The kinds of events. The words are written to logs: never rename."""

    GAP = "gap"  # a stream was silent for `duration_ns`
    DROP = "drop"  # `count` readings or bytes came in and could not be kept
    RECONNECT = "reconnect"  # a port was lost and is back
    CLOCK_JUMP = "clock_jump"  # a sensor's own clock jumped by `duration_ns`
    MARKER = "marker"  # somebody pressed a button: lap, start, something seen
    NOTE = "note"  # free text


@dataclass(frozen=True, slots=True)
class Event:
    """One event at `t_ns` on the log's clock; `stream` is empty when it concerns the whole log."""

    t_ns: int
    kind: EventKind
    stream: str = ""
    duration_ns: int = 0
    count: int = 0
    text: str = ""

    __repr__ = short_repr
