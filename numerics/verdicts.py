"""The verdicts of `core.Verdict` as plain integers, which kernels can read."""

from __future__ import annotations

from hodograph.core.reading import Verdict

USED = int(Verdict.USED)
LATE = int(Verdict.LATE)
GATED = int(Verdict.GATED)
STALE = int(Verdict.STALE)
INVALID = int(Verdict.INVALID)
