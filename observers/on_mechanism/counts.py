"""Places in the row of counts that every filter keeps (`Node.counts`)."""

from __future__ import annotations

from hodograph.observers.loop import GATED_ROWS, LAST_NIS, NIS_ROWS, NIS_SUM, RESETS

REPAIRS, FAILED_STEPS, LOG_LIKELIHOOD = 0, 3, 6

__all__ = [
    "FAILED_STEPS", "GATED_ROWS", "LAST_NIS", "LOG_LIKELIHOOD", "NIS_ROWS", "NIS_SUM", "REPAIRS", "RESETS",
]  # fmt: skip
