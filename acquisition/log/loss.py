"""What is missing from a log, in words and numbers."""

from __future__ import annotations

from dataclasses import dataclass

from hodograph.core.display import short_repr


@dataclass(frozen=True, slots=True)
class Loss:
    """What one stream lost.

    `bytes` and `batches` count what lies in the files but cannot be used (`batches` is a lower bound where the
    boundaries themselves are gone). `at_most_s` bounds the time lost if the program was killed, rows that had not
    left its memory included; `at_most_power_cut_s` bounds it if the power went, when the disk may also lack what was
    written since the last fsync. Infinite: nothing left to bound it with. A file cut short by other means than a
    crash may lack more: what is not there cannot be counted.
    """

    bytes: int
    batches: int
    reason: str
    at_most_s: float
    at_most_power_cut_s: float

    def __add__(self, other: Loss) -> Loss:
        return Loss(
            self.bytes + other.bytes,
            self.batches + other.batches,
            "; ".join(filter(None, (self.reason, other.reason))),
            self.at_most_s + other.at_most_s,
            self.at_most_power_cut_s + other.at_most_power_cut_s,
        )

    __repr__ = short_repr
