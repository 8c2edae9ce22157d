"""Places in the row of counts that every filter keeps: covariances mended, starts anew by the loop, rows refused by the
gate, steps that failed, the sum of ν²/S over the rows used and how many they were, their log likelihood, and ν²/S of
the last row looked at.
"""

from __future__ import annotations

REPAIRS, RESETS, GATED_ROWS, FAILED_STEPS, NIS_SUM, NIS_ROWS, LOG_LIKELIHOOD, LAST_NIS = range(8)
