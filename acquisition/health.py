"""Is this stream healthy? Rate, jitter, gaps, drops and missing values of one stream of a log, and what an estimate
says of itself.

Timing is judged on the best clock the stream has: the sensor's own stamps when nearly every row has one and they run
forward, else the log's (arrival when it was live, the file's time column when it was imported). Arrival stamps come in
bursts (one chunk of bytes, many rows, one stamp); a burst then counts as one step, and the rate as rows per burst over
the time from burst to burst.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from hodograph.core import NO_SENSOR_TIME_NS, Array
from hodograph.core.display import short_repr

if TYPE_CHECKING:
    from hodograph.acquisition.log import LogReader

Clock = Literal["sensor", "log"]
Times = NDArray[np.int64]

BETA_STD = "beta_cg_std_rad"
GAP_FACTOR = 1.5  # a step is a gap when it is longer than this times the usual step
LISTED_GAPS = 20  # how many gaps a report lists, the longest first
_BURST_SHARE = 0.005  # rows closer than this share of a long (98th percentile) step came in one burst
_BURST_TIME = 0.05  # … provided that bursts take less than this share of the time: a slow stream with gaps is no burst
_MERGED_ROWS = 0.1  # fewer merged rows than this are duplicates, not a bursty stream
_WHOLE = 0.2  # a step this close to a whole number of usual ones means rows that are missing …
_FAR_TOO_LONG = 5.0  # … and so does one of more than so many
_MOSTLY = 0.8
_STAMPED = 0.9  # share of rows with a sensor stamp below which the log's clock is the better one
_BACKWARD = 0.01  # share of backward steps above which a sensor clock is not believed


@dataclass(frozen=True, slots=True)
class Gap:
    """A stretch without rows: it begins at the row stamped `t_ns` (log clock) and lasts `duration_s`."""

    t_ns: int
    duration_s: float


@dataclass(frozen=True, slots=True)
class StreamTiming:
    """How regularly rows come, on `clock`. NaN where there are too few rows to say; jitter leaves gaps out.

    `step_s` is the median time from row to row (bursts: from burst to burst), `gap_limit_s` the step from which on
    a step counts as a gap. `gaps` is the number of all gaps, `longest_gaps` lists the longest of them by duration.
    """

    clock: Clock
    step_s: float
    rate_hz: float
    jitter_std_s: float
    jitter_p99_s: float
    gap_limit_s: float
    gaps: int
    longest_gaps: tuple[Gap, ...]
    equal_stamps: int
    backward_steps: int

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class StreamHealth:
    """What `info` says about one stream; `nan_share` holds the channels that have NaN, as a share of the rows."""

    stream: str
    rows: int
    first_t_ns: int | None
    last_t_ns: int | None
    timing: StreamTiming
    drops: int
    nan_share: Mapping[str, float]

    @property
    def duration_s(self) -> float:
        """Time from the first to the last row on the log's clock, 0 for an empty stream."""
        if self.first_t_ns is None or self.last_t_ns is None:
            return 0.0
        return (self.last_t_ns - self.first_t_ns) / 1e9

    def as_json(self) -> dict[str, object]:
        """Plain values for `json.dumps`; what is not known is None."""
        timing = self.timing
        return {
            "rows": self.rows,
            "rate_hz": _known(timing.rate_hz),
            "gaps": timing.gaps,
            "longest_gaps": [{"t_ns": gap.t_ns, "duration_s": gap.duration_s} for gap in timing.longest_gaps],
            "gap_limit_s": _known(timing.gap_limit_s),
            "drops": self.drops,
            "jitter_std_s": _known(timing.jitter_std_s),
            "jitter_p99_s": _known(timing.jitter_p99_s),
            "clock": timing.clock,
            "equal_stamps": timing.equal_stamps,
            "backward_steps": timing.backward_steps,
            "nan_share": dict(self.nan_share),
            "first_t_ns": self.first_t_ns,
            "last_t_ns": self.last_t_ns,
            "duration_s": self.duration_s,
        }

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class EstimateHealth:
    """What `info` says about one estimate of a log.

    `valid_share` is the share of rows in which every flag (`…_valid`) is set, None when it has none;
    `beta_cg_std_rad` the mean 1-sigma of its sideslip over those rows (all, without flags), NaN when none is known.
    """

    estimate: str
    rows: int
    duration_s: float
    rate_hz: float
    gaps: int
    valid_share: float | None
    beta_cg_std_rad: float

    def as_json(self) -> dict[str, object]:
        """Plain values for `json.dumps`; what is not known is None."""
        return {
            "rows": self.rows,
            "duration_s": self.duration_s,
            "rate_hz": _known(self.rate_hz),
            "gaps": self.gaps,
            "valid_share": self.valid_share,
            "mean_beta_cg_std_rad": _known(self.beta_cg_std_rad),
        }

    __repr__ = short_repr


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def stream_health(log: LogReader, stream: str) -> StreamHealth:
    """What a log knows about one of its streams; channels are read one at a time, so that a long log fits."""
    nan_share, t_ns, t_sensor_ns = {}, np.empty(0, dtype=np.int64), None
    for k, channel in enumerate(log.schema(stream).names):
        data = log.numpy(stream, channels=[channel])
        if k == 0:
            t_ns, t_sensor_ns = data.t_ns, data.t_sensor_ns
        if missing := int(np.count_nonzero(np.isnan(data[channel]))):
            nan_share[channel] = missing / len(data)
    drops = sum(event.count for event in log.events if event.kind == "drop" and event.stream == stream)
    first, last = (int(t_ns[0]), int(t_ns[-1])) if t_ns.size else (None, None)
    return StreamHealth(stream, int(t_ns.size), first, last, timing_of(t_ns, t_sensor_ns), drops, nan_share)


def estimate_health(log: LogReader, estimate: str) -> EstimateHealth:
    """What a log knows about one of its estimates."""
    names = log.schema(estimate).names
    flags = [name for name in names if name.endswith("_valid")]
    wanted = [*flags, *(name for name in names if name == BETA_STD)]
    table = log.arrow(estimate, channels=wanted)
    t_ns = np.asarray(table["t_ns"].to_numpy())
    valid = np.ones(t_ns.size, dtype=bool)
    for flag in flags:
        valid &= table[flag].to_numpy() > 0
    std_rad = table[BETA_STD].to_numpy()[valid].astype(np.float64) if BETA_STD in names else np.empty(0)
    std_rad = std_rad[np.isfinite(std_rad)]
    timing = timing_of(t_ns)
    return EstimateHealth(
        estimate=estimate,
        rows=int(t_ns.size),
        duration_s=(int(t_ns[-1]) - int(t_ns[0])) / 1e9 if t_ns.size else 0.0,
        rate_hz=timing.rate_hz,
        gaps=timing.gaps,
        valid_share=float(valid.mean()) if flags and t_ns.size else None,
        beta_cg_std_rad=float(std_rad.mean()) if std_rad.size else float("nan"),
    )


def timing_of(t_ns: Times, t_sensor_ns: Times | None = None) -> StreamTiming:
    """Rate, jitter and gaps of rows stamped `t_ns` (n,) by the log and `t_sensor_ns` (n,) by the sensor, if it does."""
    clock: Clock = "log"
    stamps, rows_t_ns = t_ns, t_ns
    if t_sensor_ns is not None and _is_sane(t_sensor_ns):
        clock = "sensor"
        stamped = t_sensor_ns != NO_SENSOR_TIME_NS
        stamps, rows_t_ns = t_sensor_ns[stamped], t_ns[stamped]
    steps_ns = np.diff(stamps)
    counts = (int(np.count_nonzero(steps_ns == 0)), int(np.count_nonzero(steps_ns < 0)))
    if not (steps_ns > 0).any():
        nan = float("nan")
        return StreamTiming(clock, nan, nan, nan, nan, nan, 0, (), *counts)
    leaders, rows_per_burst = _bursts(steps_ns)
    steps_s = np.diff(stamps[leaders]) / 1e9
    forward = steps_s > 0
    starts_t_ns = rows_t_ns[leaders][:-1][forward]
    steps_s = steps_s[forward]
    step_s = float(np.median(steps_s))
    limit_s = GAP_FACTOR * _usual_step_s(steps_s, step_s)
    is_gap = steps_s > limit_s
    deviation_s = np.abs(steps_s[~is_gap] - step_s)
    return StreamTiming(
        clock=clock,
        step_s=step_s,
        rate_hz=rows_per_burst / step_s,
        jitter_std_s=float(np.sqrt(np.mean(deviation_s**2))),
        jitter_p99_s=float(np.percentile(deviation_s, 99)),
        gap_limit_s=limit_s,
        gaps=int(np.count_nonzero(is_gap)),
        longest_gaps=_longest(starts_t_ns[is_gap], steps_s[is_gap]),
        equal_stamps=counts[0],
        backward_steps=counts[1],
    )


def _usual_step_s(steps_s: Array, median_s: float) -> float:
    """The longest step that is nothing special: the median where rows are missing, the 90th percentile where they are
    late. Missing rows leave whole multiples of the median; a late row is made up for by a short step after it.
    """
    ratio = steps_s / median_s
    long = ratio[ratio > GAP_FACTOR]
    short = int(np.count_nonzero(ratio < 2 - GAP_FACTOR))
    whole = int(np.count_nonzero((long > _FAR_TOO_LONG) | (np.abs(long - np.rint(long)) < _WHOLE)))
    if whole >= _MOSTLY * long.size and short <= (1 - _MOSTLY) * long.size:
        return median_s
    return float(np.percentile(steps_s, 90))


def _is_sane(t_sensor_ns: Times) -> bool:
    """Whether a sensor clock can be believed: nearly every row stamped, running forward, not standing still."""
    stamped = t_sensor_ns[t_sensor_ns != NO_SENSOR_TIME_NS]
    if stamped.size < 2 or stamped.size < _STAMPED * t_sensor_ns.size:
        return False
    steps_ns = np.diff(stamped)
    backward, forward = np.count_nonzero(steps_ns < 0), np.count_nonzero(steps_ns > 0)
    return bool(backward <= _BACKWARD * steps_ns.size and forward >= 0.5 * steps_ns.size)


def _bursts(steps_ns: Times) -> tuple[NDArray[np.bool_], float]:
    """(mask (n,) of the rows that open a burst, rows per burst) for n - 1 steps; without bursts every row opens one."""
    positive = steps_ns[steps_ns > 0]
    joined = (steps_ns >= 0) & (steps_ns <= _BURST_SHARE * np.percentile(positive, 98))
    if steps_ns[joined].sum() > _BURST_TIME * positive.sum():
        joined = steps_ns == 0
    leaders = np.concatenate([[True], ~joined])
    if np.count_nonzero(joined) < _MERGED_ROWS * steps_ns.size:
        return leaders, 1.0
    return leaders, leaders.size / int(np.count_nonzero(leaders))


def _longest(starts_t_ns: Times, durations_s: Array) -> tuple[Gap, ...]:
    order = np.argsort(-durations_s, kind="stable")[:LISTED_GAPS]
    return tuple(Gap(int(starts_t_ns[i]), float(durations_s[i])) for i in order)
