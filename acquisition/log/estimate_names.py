"""The names of estimates: of their files, of the streams inside, and those that live runs keep for themselves."""

from __future__ import annotations

import re
import unicodedata

from hodograph.core.channel import EVENTS_NAME, RAW_SUFFIX

ESTIMATES_FOLDER = "estimates"
LIVE_PREFIX = "live_"
LONGEST_NAME_BYTES = 160  # of what a file system holds, 255; the rest is for prefixes, a number and a suffix
LONGEST_PREFIXED_BYTES = 200
_LIKE_A_SEGMENT = re.compile(r"\.(?=\d{4,6}\Z)", re.ASCII)


def estimate_name(text: str) -> str:
    """`text` (a model's stem, an observer's name) as the name of an estimate.

    Letters, digits, `-`, `_` and `.` inside stay; all else becomes `_`, and so does the point of an ending that would
    make the file look like a segment (`.0001`). What is too long for a file name is cut.
    """
    return fitted_name(text, LONGEST_NAME_BYTES)


def fitted_name(text: str, longest_bytes: int) -> str:
    """`estimate_name` for a name of at most so many bytes; what it leaves as it is can be a name."""
    kept = "".join(c if c.isalnum() or c in "-_." else "_" for c in unicodedata.normalize("NFC", text))
    kept = kept.encode()[:longest_bytes].decode(errors="ignore")
    begun = kept.lstrip(".")
    inside = begun.rstrip(".")
    name = "_" * (len(kept) - len(begun)) + inside + "_" * (len(begun) - len(inside))
    return _LIKE_A_SEGMENT.sub("_", name) or "_"


def schema_name(name: str) -> str:
    """The estimate's name as a stream's can be: `vsa_250lm-Hybrid` → `vsa_250lm_hybrid`."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    plain = re.sub(r"[^a-z0-9_]", "_", plain)
    if not plain[:1].isalpha():
        plain = f"estimate_{plain}"
    return f"{plain}_estimate" if plain == EVENTS_NAME or plain.endswith(RAW_SUFFIX) else plain
