"""Text of a column → numbers, and numbers → times, all rows at once; what cannot be read is marked, not raised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hodograph.acquisition.importers.mapping import TableMapping, TimeMapping
from hodograph.acquisition.leap_seconds import gpst_to_utc_ns
from hodograph.core import Array, unit_named

Bad = NDArray[np.bool_]  # (n,), where the text is neither a value nor a declared "missing"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_EXACT_DIGITS = 38


def known_text(text: pa.Array, layout: TableMapping) -> pa.Array:
    """`text` with null where the table says that nothing is known, or the value above where blank means unchanged."""
    missing = pc.is_in(text, value_set=pa.array(["", *layout.missing], text.type))
    known = pc.if_else(missing, None, text)
    if layout.blank == "unchanged":
        filled = pc.fill_null_forward(pc.if_else(pc.equal(text, ""), None, text))
        known = pc.if_else(pc.equal(text, ""), filled, known)
    if layout.decimal == ",":
        known = pc.replace_substring(known, ",", ".")
    return known


def numbers(text: pa.Array) -> tuple[Array, Bad]:
    """Numbers (n,), NaN for null and for what is not a finite number; the latter is marked."""
    as_float, bad = _cast(text, pa.float64())
    values = as_float.to_numpy(zero_copy_only=False).astype(np.float64)
    bad |= ~np.isfinite(values) & _valid(text)
    values[bad] = np.nan
    return values, bad


def replaced(text: pa.Array, values: Mapping[str, float]) -> tuple[Array, Bad]:
    """The number that `values` gives for each text (n,), compared as numbers where all its keys are numbers."""
    keys = pa.array(list(values), pa.large_string())
    new = np.array([*values.values(), np.nan])
    key_numbers, not_numbers = numbers(keys)
    if not_numbers.any():
        place = pc.fill_null(pc.index_in(text, value_set=keys), len(values)).to_numpy()
    else:
        found, _ = numbers(text)
        equal = found[:, None] == key_numbers[None, :]
        place = np.where(equal.any(axis=1), equal.argmax(axis=1), len(values))
    return new[place], (place == len(values)) & _valid(text)


def times_ns(texts: Sequence[pa.Array], time: TimeMapping) -> tuple[NDArray[np.int64], Bad]:
    """Stamps (n,) in ns since 1970, in UTC unless the clock is "boot"; unreadable and missing ones are marked (0)."""
    if time.format is not None:
        t_ns, bad = _dates_ns(texts, time.format)
    else:
        t_ns, bad = _counted_ns(texts[0], unit_named(time.unit).scale if time.unit != "ns" else 1e-9)
    if time.date is not None:
        t_ns = t_ns + np.datetime64(time.date, "ns").astype(np.int64)
    if time.clock == "gpst":
        t_ns = gpst_to_utc_ns(t_ns)
    return np.where(bad, 0, t_ns), bad


def changes(texts: Sequence[pa.Array]) -> NDArray[np.bool_]:
    """Where a row (n,) says something else than the rows before in any of the columns; the first does."""
    changed = np.zeros(len(texts[0]), dtype=np.bool_)
    changed[:1] = True
    for text in texts:
        held = pc.fill_null(pc.fill_null_forward(text), "")
        changed[1:] |= pc.not_equal(held[1:], held[:-1]).to_numpy(zero_copy_only=False)
    return changed


def present(texts: Sequence[pa.Array]) -> NDArray[np.bool_]:
    """Where (n,) every one of the columns says something."""
    return np.asarray(np.all([_valid(text) for text in texts], axis=0), dtype=np.bool_)


def _valid(text: pa.Array) -> NDArray[np.bool_]:
    valid: NDArray[np.bool_] = text.is_valid().to_numpy(zero_copy_only=False)
    return valid


def _cast(text: pa.Array, kind: pa.DataType) -> tuple[pa.Array, Bad]:
    """`text` as `kind`, null where it is not a number; all at once when, as usual, everything is one."""
    try:
        return pc.cast(text, kind), np.zeros(len(text), dtype=np.bool_)
    except pa.ArrowInvalid:
        good = pc.match_substring_regex(text, _NUMBER)
        bad = ~pc.fill_null(good, True).to_numpy(zero_copy_only=False)
        plain = pc.utf8_ltrim(pc.if_else(good, text, None), "+")
        return pc.cast(plain, kind), bad


def _counted_ns(text: pa.Array, scale_s: float) -> tuple[NDArray[np.int64], Bad]:
    """Decimal text × scale → ns, exactly: a float has too few digits for a date in ns."""
    missing = ~_valid(text)
    digits = 9 + round(np.log10(scale_s)) if scale_s < 1 else 9
    try:
        decimal, bad = _cast(text, pa.decimal128(_EXACT_DIGITS, digits))
        low_high = np.frombuffer(decimal.buffers()[1], dtype=np.int64).reshape(-1, 2)[decimal.offset :][: len(text)]
        t_ns, too_large = low_high[:, 0].copy(), low_high[:, 1] != low_high[:, 0] >> 63
        if scale_s > 1:
            t_ns *= round(scale_s)
        return t_ns, bad | missing | (too_large & ~missing)
    except pa.ArrowInvalid:  # more digits than nanoseconds have
        values, bad = numbers(text)
        return np.rint(np.nan_to_num(values) * scale_s * 1e9).astype(np.int64), bad | missing


def _dates_ns(texts: Sequence[pa.Array], pattern: str) -> tuple[NDArray[np.int64], Bad]:
    import pandas as pd

    joined = pc.binary_join_element_wise(*texts, pa.scalar(" ", texts[0].type))
    stamps = pd.to_datetime(joined.to_pandas(), format=pattern, errors="coerce", utc=True)
    t_ns = stamps.to_numpy(dtype="datetime64[ns]").astype(np.int64)
    return t_ns, stamps.isna().to_numpy()
