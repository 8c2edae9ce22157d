"""Places in the row of counts that every filter keeps (`Node.counts`)."""

from __future__ import annotations

REPAIRS, RESETS, GATED_ROWS, FAILED_STEPS, NIS_SUM, NIS_ROWS, LOG_LIKELIHOOD, LAST_NIS = 0, 1, 2, 3, 4, 5, 6, 7
