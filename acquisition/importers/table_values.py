"""Text of a column → numbers, and numbers → times, all rows at once; what cannot be read is marked, not raised."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hodograph.acquisition.importers.mapping import TableMapping, TimeMapping
from hodograph.acquisition.leap_seconds import gpst_to_utc_ns
from hodograph.core import Array, unit_named

Bad = NDArray[np.bool_]  # (n,), where the text is neither a value nor a declared "missing"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_TEXT_DIGITS, _SCALE_DIGITS = 30, 7  # their product has 38, which is all that Arrow has
DAY_NS = 86_400 * 10**9
FARTHEST_NS = 2**62  # 146 years


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
    """Stamps (n,) in ns since 1970, in UTC unless the clock is "boot"; unreadable and missing ones are marked (0).

    Stamps further than `FARTHEST_NS` from the zero are marked as well, so that sums of two fit into int64.
    """
    if time.format is not None:
        t_ns, bad = _dates_ns(texts, time)
    else:
        t_ns, bad = _counted_ns(texts[0], unit_named(time.unit).scale if time.unit != "ns" else 1e-9)
    if time.clock != "boot":
        t_ns = _past_midnight(t_ns, ~bad)
    if time.date is not None:
        t_ns = t_ns + np.datetime64(time.date, "ns").astype(np.int64)
        bad = bad | (np.abs(t_ns) > FARTHEST_NS)
    if time.clock == "gpst":
        t_ns = gpst_to_utc_ns(t_ns)
    return np.where(bad, 0, t_ns), bad


def _past_midnight(t_ns: NDArray[np.int64], good: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Time of day (n,) that runs on past midnight: a step back by more than half a day begins the next day.

    A step forward by more than half a day takes that back, so that one wrong row remains an error of its own. Stamps
    that are no time of day are returned as they are.
    """
    rows = np.flatnonzero(good)
    of_day_ns = t_ns[rows]
    if not rows.size or of_day_ns.min() < 0 or of_day_ns.max() > DAY_NS + 10**9:  # there are leap seconds
        return t_ns
    steps_ns = np.diff(of_day_ns, prepend=of_day_ns[0])
    turns = (steps_ns < -DAY_NS // 2).astype(np.int64) - (steps_ns > DAY_NS // 2)
    days = np.cumsum(turns)
    days -= np.minimum.accumulate(np.minimum(days, 0))  # only a day that has begun can be taken back
    out = t_ns.copy()
    out[rows] += days * DAY_NS
    return out


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
    """Decimal text × scale → ns, exactly: a float has too few digits for a date in ns. Further digits are cut off."""
    missing = ~_valid(text)
    digits = 9 + math.ceil(round(math.log10(scale_s), 6))  # so many decimals make a nanosecond
    kind = pa.decimal128(_TEXT_DIGITS, digits)
    try:
        decimal, bad = _cast(text, kind)
    except pa.ArrowInvalid:  # some have more decimals, or are huge
        rough, bad = numbers(text)
        bad |= ~np.isnan(rough) & ~(np.abs(rough) <= FARTHEST_NS / (scale_s * 1e9))
        decimal, _ = _cast(_cut(pc.if_else(pa.array(bad), None, text), digits), kind)
    if scale_s > 1:
        scaled = pc.multiply(decimal, pa.scalar(Decimal(round(scale_s)), pa.decimal128(_SCALE_DIGITS, 0)))
        decimal = pc.cast(scaled, pa.decimal128(38, 9), safe=False)
    low_high = np.frombuffer(decimal.buffers()[1], dtype=np.int64).reshape(-1, 2)[decimal.offset :][: len(text)]
    t_ns, too_large = low_high[:, 0], low_high[:, 1] != low_high[:, 0] >> 63
    bad = bad | missing | too_large | ~((t_ns >= -FARTHEST_NS) & (t_ns <= FARTHEST_NS))
    return np.where(bad, 0, t_ns), bad


def _cut(text: pa.Array, decimals: int) -> pa.Array:
    """Numbers as text with at most so many decimals; those with an exponent are written out."""
    with_exponent = pc.fill_null(pc.match_substring(text, "e", ignore_case=True), False)
    if pc.any(with_exponent).as_py():
        pairs = zip(text.to_pylist(), with_exponent.to_pylist(), strict=True)
        text = pa.array([_plain(t, decimals) if e else t for t, e in pairs], text.type)
    return pc.replace_substring_regex(text, rf"(\.[0-9]{{{decimals}}})[0-9]+$", r"\1")


def _plain(text: str, decimals: int) -> str:
    number = Decimal(text)
    return "0" if number.is_zero() or number.adjusted() < -decimals else f"{number:f}"


def _dates_ns(texts: Sequence[pa.Array], time: TimeMapping) -> tuple[NDArray[np.int64], Bad]:
    """Stamps from text; those of a `format` without date count from midnight."""
    import pandas as pd

    joined = pc.binary_join_element_wise(*texts, pa.scalar(" ", texts[0].type))
    stamps = pd.to_datetime(joined.to_pandas(), format=time.format, errors="coerce", utc=True)
    dates = stamps.dt.tz_localize(None).to_numpy()  # in a unit that holds them, not always ns
    bad = np.isnat(dates) | (np.abs(dates.astype("datetime64[s]").astype(np.int64)) > FARTHEST_NS // 10**9)
    t_ns = np.where(bad, np.datetime64(0, "ns"), np.where(bad, np.datetime64("NaT"), dates).astype("datetime64[ns]"))
    midnight = np.datetime64("1900-01-01" if time.is_time_of_day else "1970-01-01", "ns")
    return (t_ns - midnight).astype(np.int64), bad
