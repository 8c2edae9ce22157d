"""How far apart are two clocks? Offset and drift between two streams that felt the same motion.

The streams are searched for signals both must have seen (course rate and a gyro, change of speed and an
accelerometer, two speeds, two channels of one name). Their normalised cross-correlation over all lags, each lag with
the time that is usable in both (Padfield 2012, masked normalised cross-correlation), finds the pair and a first
lag; its peak in windows along the drive, with a robust line through them, gives offset and drift.

The convention, everywhere: an event stamped T in stream b is stamped T + offset_s in stream a.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hodograph.acquisition.correlation import masked_correlation, peak_width_s, samples_per_independent
from hodograph.acquisition.health import timing_of
from hodograph.acquisition.signals import Column, Signal, comparable_pairs, signals_of
from hodograph.core import Array, HodographError, StreamData, StreamSchema
from hodograph.core.display import short_repr

if TYPE_CHECKING:
    from hodograph.acquisition.log import LogReader

MIN_WINDOW_S = 0.5  # signals are averaged over this or two steps of the slower stream: below is mostly noise
MIN_COMMON_S = 20.0  # usable time in common without which no lag is believed
MIN_CORRELATION = 0.6
MIN_SIGNIFICANCE = 6.0  # of the correlation, in standard deviations of chance; thousands of lags are tried
MIN_LEAD = 3.0  # … and over the best lag elsewhere, else the drive repeats itself
MAX_DRIFT = 500e-6  # two crystals differ by less
MAX_DRIFT_STD = 100e-6  # a drift known no better is not worth telling
_DRIFT_WINDOWS = 12
_DRIFT_WINDOWS_MIN = 4  # fewer, and one bad window decides the slope
_DRIFT_WINDOW_MIN_S = 30.0


@dataclass(frozen=True, slots=True)
class Alignment:
    """An event stamped T in `stream_b` is stamped T + `offset_s` in `stream_a`; both on the log's clock.

    With drift the offset holds at `t_ref_ns` (stamp of stream b, middle of the common time) and grows by `drift_ppm`
    µs per second; None when the data cannot tell it. `correlation` is that of the two signals once
    aligned, without its `sign`; `offset_from_first_rows_s` is the offset with each stream counted from its first row.
    """

    stream_a: str
    stream_b: str
    offset_s: float
    offset_std_s: float
    drift_ppm: float | None
    drift_std_ppm: float | None
    correlation: float
    sign: int
    signal_a: str
    signal_b: str
    common_s: float
    t_ref_ns: int
    offset_from_first_rows_s: float

    @property
    def explanation(self) -> str:
        """The result in words, with the direction spelt out."""
        a, b, offset_s = self.stream_a, self.stream_b, self.offset_s
        plus, verb = ("+", "add") if offset_s >= 0 else ("-", "subtract")
        size_s = f"{abs(offset_s):.3f} s"
        inverted = "" if self.sign > 0 else ", inverted"
        words = (
            f"an event stamped T in {b} is stamped T {plus} {size_s} (1-sigma {self.offset_std_s:.3f} s) in {a}: "
            f"{verb} {size_s} {'to' if offset_s >= 0 else 'from'} {b} times to bring them onto the clock of {a}. "
            f"Found by comparing {self.signal_a} of {a} with {self.signal_b} of {b}{inverted}: correlation "
            f"{self.correlation:.3f} over {self.common_s:.0f} s"
        )
        if self.drift_ppm is None or self.drift_std_ppm is None:
            words += "; too little to tell a drift."
        else:
            words += f"; drift {self.drift_ppm:+.1f} ppm (1-sigma {self.drift_std_ppm:.1f})."
        if abs(self.offset_from_first_rows_s - offset_s) < 1e-3:
            return words
        return words + f" With each stream counted from its own first row: {self.offset_from_first_rows_s:+.3f} s."

    def as_json(self) -> dict[str, object]:
        """Plain values for `json.dumps`."""
        return {
            "a": self.stream_a,
            "b": self.stream_b,
            "offset_s": self.offset_s,
            "offset_std_s": self.offset_std_s,
            "drift_ppm": self.drift_ppm,
            "drift_std_ppm": self.drift_std_ppm,
            "correlation": self.correlation,
            "sign": self.sign,
            "signal_a": self.signal_a,
            "signal_b": self.signal_b,
            "common_s": self.common_s,
            "t_ref_ns": self.t_ref_ns,
            "offset_from_first_rows_s": self.offset_from_first_rows_s,
            "explanation": self.explanation,
        }

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class _Match:
    """A pair of signals at its best lag: b delayed by `lag_s` looks like `sign` times a."""

    a: Signal
    b: Signal
    window_s: float
    lag_s: float
    sign: int
    correlation: float
    significance: float
    lead: float


def align(log: LogReader, a: str, b: str, *, max_offset_s: float | None = None) -> Alignment:
    """Offset and drift between the streams `a` and `b` of a log; `HodographError` when they have too little in common.

    `max_offset_s` bounds the search, for drives that repeat themselves.
    """
    return _aligned(_of_log(log, a), _of_log(log, b), max_offset_s)


def align_streams(a: StreamData, b: StreamData, *, max_offset_s: float | None = None) -> Alignment:
    """Same for two stretches of data already at hand."""
    return _aligned(_of_data(a), _of_data(b), max_offset_s)


@dataclass(frozen=True, slots=True)
class _Side:
    """One stream to be aligned: its signals, counted in seconds from its first row, stamped `zero_ns`."""

    name: str
    zero_ns: int
    step_s: float
    signals: tuple[Signal, ...]


def _side(schema: StreamSchema, t_ns: NDArray[np.int64], column: Column) -> _Side:
    if t_ns.size < 2:
        raise HodographError(f"{schema.name} cannot be aligned: it has {t_ns.size} rows")
    zero_ns = int(t_ns[0])
    return _Side(schema.name, zero_ns, timing_of(t_ns).step_s, tuple(signals_of(schema, t_ns, column, zero_ns)))


def _of_data(data: StreamData) -> _Side:
    return _side(data.schema, data.t_ns, lambda name: np.asarray(data[name], dtype=np.float64))


def _of_log(log: LogReader, stream: str) -> _Side:
    def column(name: str) -> Array:  # one channel at a time: an hour at 500 Hz has more of them than fit in memory
        return np.asarray(log.numpy(stream, channels=[name])[name], dtype=np.float64)

    schema = log.schema(stream)
    return _side(schema, log.numpy(stream, channels=[schema.names[0]]).t_ns, column)


def _aligned(a: _Side, b: _Side, max_offset_s: float | None) -> Alignment:
    if b.step_s > a.step_s:  # the grid lies on the slower stream's rows: same answer whichever is named first
        return _turned_round(_aligned(b, a, max_offset_s))
    names = f"{a.name} and {b.name}"
    first_rows_s = (a.zero_ns - b.zero_ns) / 1e9
    pairs = comparable_pairs(a.signals, b.signals)
    if not pairs:
        raise HodographError(f"{names} cannot be aligned: no signal that both have (speed, yaw rate, acceleration …)")
    bounds_s = None if max_offset_s is None else (-max_offset_s - first_rows_s, max_offset_s - first_rows_s)
    matches = [match for pair in pairs if (match := _best_lag(*pair, bounds_s)) is not None]
    if not matches:
        raise HodographError(f"{names} cannot be aligned: less than {MIN_COMMON_S:.0f} s of usable time in common")
    match = max(matches, key=lambda m: m.significance)
    _believe(match, names)
    return _refined(match, a, b, names)


def _believe(match: _Match, names: str) -> None:
    """Refuse what may be chance, or one of several equally good lags."""
    best = f"best: {match.a.name} against {match.b.name}, correlation {match.correlation:.2f}"
    if match.correlation < MIN_CORRELATION or match.significance < MIN_SIGNIFICANCE:
        raise HodographError(f"{names} cannot be aligned: their signals have too little in common ({best})")
    if match.lead < MIN_LEAD:
        raise HodographError(
            f"{names} cannot be aligned: the drive repeats itself and other lags fit as well ({best} at "
            f"{match.lag_s:.2f} s from first row to first row); bound the offset (info --max-offset S)"
        )


def _best_lag(a: Signal, b: Signal, bounds_s: tuple[float, float] | None) -> _Match | None:
    """The most significant lag of a pair on a common grid, or None when they never share enough usable time."""
    window_s = max(MIN_WINDOW_S, 2 * max(a.step_s, b.step_s))
    step_s = window_s / 2
    xa, ok_a = _gridded(a, step_s, window_s)
    xb, ok_b = _gridded(b, step_s, window_s)
    correlation, count = masked_correlation(xa, ok_a, xb, ok_b)
    lags_s = step_s * (np.arange(correlation.size) - (xb.size - 1)) + a.t_s[0] - b.t_s[0]
    allowed = count * step_s >= MIN_COMMON_S
    if bounds_s is not None:
        allowed &= (lags_s >= bounds_s[0]) & (lags_s <= bounds_s[1])
    if not allowed.any():
        return None
    independent = np.maximum(count / samples_per_independent(xa, ok_a, xb, ok_b) - 3, 0.0)
    fisher = np.arctanh(np.minimum(np.abs(correlation), 0.999999))
    score = np.where(allowed, fisher * np.sqrt(independent), 0.0)
    k = int(np.argmax(score))
    near = np.abs(lags_s - lags_s[k]) <= peak_width_s(correlation, k, step_s)
    return _Match(
        a,
        b,
        window_s,
        float(lags_s[k]),
        1 if correlation[k] >= 0 else -1,
        float(abs(correlation[k])),
        float(score[k]),
        _lead(k, fisher, independent, np.where(near, 0.0, score), float(score[k])),
    )


def _lead(k: int, fisher: Array, independent: Array, rival_score: Array, best_score: float) -> float:
    """By how many standard deviations lag `k` is better than any other.

    Lags that chance cannot explain (the lap before) must fit worse, however much time they share; among the others
    the most significant one counts.
    """
    rivals = rival_score >= MIN_SIGNIFICANCE
    if not rivals.any():
        return float((best_score - np.max(rival_score)) / np.sqrt(2))
    rival = int(np.argmax(np.where(rivals, fisher, 0.0)))
    return float((fisher[k] - fisher[rival]) / np.sqrt(1 / independent[k] + 1 / independent[rival]))


def _gridded(signal: Signal, step_s: float, window_s: float) -> tuple[Array, NDArray[np.bool_]]:
    grid_s = np.arange(signal.t_s[0], signal.t_s[-1] + step_s, step_s)
    values, ok = signal.mean_over(grid_s, window_s)
    return np.where(ok, values, 0.0), ok


def _refined(match: _Match, a: _Side, b: _Side, names: str) -> Alignment:
    """Offset and drift of a believed match by its peak in windows along the drive."""
    grid_s = np.arange(match.a.t_s[0], match.a.t_s[-1], match.window_s / 2)
    begin_s = max(match.a.t_s[0], match.b.t_s[0] + match.lag_s)
    end_s = min(match.a.t_s[-1], match.b.t_s[-1] + match.lag_s)
    middle_s = (begin_s + end_s) / 2
    windows = _window_lags(match, grid_s, begin_s, end_s)
    told = len(windows) >= _DRIFT_WINDOWS_MIN
    line = _robust_line(windows[:, 0] - middle_s, windows[:, 1], windows[:, 2]) if told else None
    slope, slope_std = None, None
    if line is not None and line[3] <= MAX_DRIFT_STD and abs(line[1]) <= MAX_DRIFT:
        lag_s, slope, lag_std_s, slope_std = line
    else:
        whole = _peak(match, grid_s, match.lag_s)
        if whole is None:
            raise HodographError(f"{names} cannot be aligned: no clear peak near {match.lag_s:.2f} s")
        lag_s, lag_std_s = whole
    correlation, common_s = _correlation_along(match, grid_s, lag_s, slope or 0.0, middle_s)
    return Alignment(
        stream_a=a.name,
        stream_b=b.name,
        offset_s=lag_s + (a.zero_ns - b.zero_ns) / 1e9,
        offset_std_s=lag_std_s,
        drift_ppm=None if slope is None else 1e6 * slope / (1 - slope),  # per second of a → of b
        drift_std_ppm=None if slope_std is None else 1e6 * slope_std,
        correlation=correlation,
        sign=match.sign,
        signal_a=match.a.name,
        signal_b=match.b.name,
        common_s=common_s,
        t_ref_ns=b.zero_ns + round((middle_s - lag_s) * 1e9),
        offset_from_first_rows_s=lag_s,
    )


def _turned_round(found: Alignment) -> Alignment:
    """The same finding told from b to a."""
    drift_ppm = found.drift_ppm
    return replace(
        found,
        stream_a=found.stream_b,
        stream_b=found.stream_a,
        offset_s=-found.offset_s,
        drift_ppm=None if drift_ppm is None else -drift_ppm / (1 + 1e-6 * drift_ppm),
        signal_a=found.signal_b,
        signal_b=found.signal_a,
        t_ref_ns=found.t_ref_ns + round(found.offset_s * 1e9),
        offset_from_first_rows_s=-found.offset_from_first_rows_s,
    )


def _correlation_along(
    match: _Match, grid_s: Array, lag_s: float, slope: float = 0.0, middle_s: float = 0.0
) -> tuple[float, float]:
    """|correlation| at the lags lag_s + slope * (t - middle_s), and the usable time it was taken over."""
    xa, ok_a = match.a.mean_over(grid_s, match.window_s)
    xb, ok_b = match.b.mean_over(grid_s - lag_s - slope * (grid_s - middle_s), match.window_s)
    both = ok_a & ok_b
    if np.count_nonzero(both) < 8 or np.ptp(xa[both]) == 0 or np.ptp(xb[both]) == 0:
        return 0.0, 0.0
    step_s = float(grid_s[1] - grid_s[0])
    return float(match.sign * np.corrcoef(xa[both], xb[both])[0, 1]), float(np.count_nonzero(both)) * step_s


def _peak(match: _Match, grid_s: Array, near_s: float, reach_s: float = 0.0) -> tuple[float, float] | None:
    """(lag, its 1-sigma) where the grid points of a correlate best, within reach; None without a peak.

    First a scan, then a parabola through the top, both of the correlation itself; the deviation is that of a
    least-squares lag, residual over slope, with the samples a window overlaps counted once.
    """
    step_s = match.window_s / 8
    steps = int(np.ceil((match.window_s + reach_s) / step_s))
    lags_s = near_s + step_s * np.arange(-steps, steps + 1)
    heights = np.array([_correlation_along(match, grid_s, lag_s)[0] for lag_s in lags_s])
    k = int(np.argmax(heights))
    if k in (0, lags_s.size - 1) or heights[k] < MIN_CORRELATION:
        return None
    below, top, above = heights[k - 1 : k + 2]
    lag_s = float(lags_s[k] + step_s * 0.5 * (below - above) / (below - 2 * top + above))
    correlation, common_s = _correlation_along(match, grid_s, lag_s)
    curvature = (2 * top - below - above) / step_s**2 / max(top, 1e-9)  # = var(db/dt) / var(b)
    independent = max(common_s / match.window_s, 1.0)
    unexplained = max(1 - correlation**2, 1e-9) / correlation**2
    return lag_s, float(np.sqrt(unexplained / (curvature * independent)))


def _window_lags(match: _Match, grid_s: Array, begin_s: float, end_s: float) -> Array:
    """Rows (time, lag, 1-sigma) (k, 3) of the windows along the common time in which the signals show a clear peak."""
    length_s = max((end_s - begin_s) / _DRIFT_WINDOWS, _DRIFT_WINDOW_MIN_S)
    edges_s = np.linspace(begin_s, end_s, max(int((end_s - begin_s) / length_s), 1) + 1)
    rows = []
    for lo_s, hi_s in pairwise(edges_s):
        grid = grid_s[(grid_s >= lo_s) & (grid_s < hi_s)]
        peak = _peak(match, grid, match.lag_s, MAX_DRIFT * (end_s - begin_s) / 2) if grid.size > 8 else None
        if peak is not None:
            rows.append(((lo_s + hi_s) / 2, peak[0], peak[1]))
    return np.array(rows).reshape(-1, 3)


def _robust_line(t_s: Array, lag_s: Array, std_s: Array) -> tuple[float, float, float, float]:
    """(lag at t = 0, slope, their 1-sigmas) of a line through windows, those far off it weighing less (Huber 1964)."""
    design = np.column_stack([np.ones_like(t_s), t_s])
    trust = np.ones_like(t_s)
    for _ in range(30):
        weight = trust / std_s**2
        normal = design.T @ (design * weight[:, None])
        lag, slope = np.linalg.solve(normal, design.T @ (weight * lag_s))
        pull = np.abs(lag_s - lag - slope * t_s) / std_s
        scale = max(1.0, float(np.median(pull)) / 0.6745)
        trust = np.minimum(1.0, 1.5 * scale / np.maximum(pull, 1e-12))
    spread = max(1.0, float(np.sum(trust * pull**2)) / max(t_s.size - 2, 1))  # scatter beyond what was expected
    covariance = np.linalg.inv(normal) * spread
    return float(lag), float(slope), float(np.sqrt(covariance[0, 0])), float(np.sqrt(covariance[1, 1]))
