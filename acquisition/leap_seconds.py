"""GPS time and UTC: GPS time has no leap seconds and runs ahead, by 18 s since 2017."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# From this UTC date on, GPS time is ahead by so many seconds (IERS Bulletin C). GPS time began on 1980-01-06.
_AHEAD_S = {
    "1980-01-06": 0,
    "1981-07-01": 1,
    "1982-07-01": 2,
    "1983-07-01": 3,
    "1985-07-01": 4,
    "1988-01-01": 5,
    "1990-01-01": 6,
    "1991-01-01": 7,
    "1992-07-01": 8,
    "1993-07-01": 9,
    "1994-07-01": 10,
    "1996-01-01": 11,
    "1997-07-01": 12,
    "1999-01-01": 13,
    "2006-01-01": 14,
    "2009-01-01": 15,
    "2012-07-01": 16,
    "2015-07-01": 17,
    "2017-01-01": 18,
}
_SECONDS = np.array(list(_AHEAD_S.values()), dtype=np.int64)
_SINCE_GPST_NS = np.array(list(_AHEAD_S), dtype="datetime64[ns]").astype(np.int64) + _SECONDS * 10**9


def gpst_to_utc_ns(t_gpst_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Calendar stamps of GPS time (n,), as nanoseconds since 1970, → UTC; before 1980 nothing is subtracted."""
    row = np.searchsorted(_SINCE_GPST_NS, t_gpst_ns, side="right") - 1
    return t_gpst_ns - _SECONDS[np.maximum(row, 0)] * 10**9
