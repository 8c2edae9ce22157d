"""Sentences → one fix per epoch.

Sentences with the same time of day belong together; those without a time (VTG, HDT, THS) belong to the epoch of the
last one with a time. An epoch is over when another time of day comes. It is *known to be complete* earlier, when every
sentence type that this receiver sends in each epoch has come: a live filter gets its fix without waiting a period.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

from hodograph.acquisition.nmea.fields import DAY_NS, Clock, GroundVelocity, Heading, Minimum, Position, Report, Spread
from hodograph.acquisition.nmea.fix import Fix, FixQuality, table_std_m

COURSE_MIN_SPEED_MPS = 0.5  # slower, the course over ground is noise
LEARN_EPOCHS = 2  # a sentence type is expected once that many epochs in a row had it ...
FORGET_EPOCHS = 5  # ... and no longer when that many in a row did not
_NAN = math.nan
_TIMELESS = (GroundVelocity, Heading)
_POSITION_KINDS = frozenset((b"GGA", b"GNS", b"RMC"))


def nearest_utc_ns(time_of_day_ns: int, near_utc_ns: int) -> int:
    """The instant with that time of day that lies nearest to `near_utc_ns`: midnight passes without a date."""
    day = near_utc_ns // DAY_NS
    return min(((day + k) * DAY_NS + time_of_day_ns for k in (-1, 0, 1)), key=lambda t: abs(t - near_utc_ns))


class _Cadence:
    """Which sentence types come in every epoch."""

    def __init__(self) -> None:
        self.expected: frozenset[bytes] = frozenset()
        self._present: Counter[bytes] = Counter()
        self._absent: Counter[bytes] = Counter()

    def epoch_over(self, kinds: set[bytes]) -> None:
        for kind in kinds:
            self._present[kind] += 1
            self._absent[kind] = 0
        for kind in self._present.keys() - kinds:
            self._absent[kind] += 1
            if kind not in self.expected or self._absent[kind] >= FORGET_EPOCHS:
                self._present[kind] = 0
        self.expected = frozenset(kind for kind, count in self._present.items() if count >= LEARN_EPOCHS)


@dataclass(slots=True)
class _Epoch:
    """What has come of one epoch so far."""

    t_ns: int
    time_of_day_ns: int | None = None
    kinds: set[bytes] = field(default_factory=set)
    given: bool = False
    day: int | None = None
    position: Position | None = None
    position_kind: bytes = b""
    minimum: Minimum | None = None
    motion: GroundVelocity | None = None
    spread: Spread | None = None
    heading_rad: float = _NAN

    def owns(self, kind: bytes, report: Report) -> bool:
        """Whether the report belongs to this epoch, or begins the next one."""
        if isinstance(report, _TIMELESS):
            return True
        if report.time_of_day_ns is None and self.time_of_day_ns is None:
            return kind not in self.kinds
        if report.time_of_day_ns is None or self.time_of_day_ns is None:
            return kind not in self.kinds and self._agrees(report)
        return report.time_of_day_ns == self.time_of_day_ns

    def _agrees(self, report: Report) -> bool:
        """Whether the report may be of this epoch although only one has a time: both with a fix, or both without."""
        if not isinstance(report, Position | Minimum) or (self.position is None and self.minimum is None):
            return True
        return (report.quality is FixQuality.NONE) == (self.quality() is FixQuality.NONE)

    def take(self, kind: bytes, report: Report) -> None:
        """Add the report; where two talkers say the same, the first one with a position counts."""
        self.kinds.add(kind)
        if isinstance(report, Position):
            if self._is_better(kind, report):
                self.position, self.position_kind = report, kind
        elif isinstance(report, Minimum):
            if self.minimum is None or self.minimum.quality is FixQuality.NONE:
                self.minimum = report
            if self.day is None:
                self.day = report.day
        elif isinstance(report, GroundVelocity):
            self.motion = report
        elif isinstance(report, Spread):
            self.spread = report
        elif isinstance(report, Clock):
            self.day = report.day if report.day is not None else self.day
        elif not math.isnan(report.heading_rad):
            self.heading_rad = report.heading_rad
        if not isinstance(report, _TIMELESS) and self.time_of_day_ns is None:
            self.time_of_day_ns = report.time_of_day_ns

    def _is_better(self, kind: bytes, report: Position) -> bool:
        """GGA before GNS, whatever it says; of the same type the first one with a position."""
        if self.position is None:
            return True
        if kind == self.position_kind:
            return self.position.quality is FixQuality.NONE
        return kind == b"GGA"

    def quality(self) -> FixQuality:
        """By GGA, else GNS, else RMC; a void RMC overrules the others."""
        if self.minimum is not None and self.minimum.quality is FixQuality.NONE:
            return FixQuality.NONE
        if self.position is not None:
            return self.position.quality
        return self.minimum.quality if self.minimum is not None else FixQuality.NONE

    def fix(self, t_utc_ns: int | None) -> Fix:
        """The fix that the reports make."""
        quality = self.quality()
        place = self._place(quality)
        speed_mps, course_rad = self._speed_and_course(quality)
        std_east_m, std_north_m, std_up_m = self._std_east_north_up_m(quality, place.hdop)
        return Fix(
            t_ns=self.t_ns,
            t_utc_ns=t_utc_ns,
            time_of_day_ns=self.time_of_day_ns,
            latitude_rad=place.latitude_rad,
            longitude_rad=place.longitude_rad,
            height_m=place.height_m,
            quality=quality,
            satellites=place.satellites,
            hdop=place.hdop,
            age_s=place.age_s,
            speed_mps=speed_mps,
            course_compass_rad=course_rad,
            heading_compass_rad=self.heading_rad,
            std_east_m=std_east_m,
            std_north_m=std_north_m,
            std_up_m=std_up_m,
        )

    def _place(self, quality: FixQuality) -> Position:
        """Where: GGA or GNS, else RMC, which knows no height; nowhere without a fix."""
        if quality is FixQuality.NONE:
            satellites = self.position.satellites if self.position is not None else _NAN
            return Position(None, quality, _NAN, _NAN, _NAN, satellites, _NAN, _NAN)
        if self.position is not None:
            return self.position
        assert self.minimum is not None
        latitude_rad, longitude_rad = self.minimum.latitude_rad, self.minimum.longitude_rad
        return Position(None, quality, latitude_rad, longitude_rad, _NAN, _NAN, _NAN, _NAN)

    def _speed_and_course(self, quality: FixQuality) -> tuple[float, float]:
        """By RMC, which carries its time; by VTG where RMC is silent."""
        speed_mps, course_rad = _NAN, _NAN
        if quality is FixQuality.NONE:
            return speed_mps, course_rad
        if self.minimum is not None:
            speed_mps, course_rad = self.minimum.speed_mps, self.minimum.course_rad
        if self.motion is not None:
            speed_mps = self.motion.speed_mps if math.isnan(speed_mps) else speed_mps
            course_rad = self.motion.course_rad if math.isnan(course_rad) else course_rad
        return speed_mps, course_rad if speed_mps >= COURSE_MIN_SPEED_MPS else _NAN

    def _std_east_north_up_m(self, quality: FixQuality, hdop: float) -> tuple[float, float, float]:
        """By GST, each axis that it gives; else by the table."""
        horizontal_m, up_m = table_std_m(quality, hdop)
        spread = self.spread
        if spread is None or quality is FixQuality.NONE:
            return horizontal_m, horizontal_m, up_m
        return (
            horizontal_m if math.isnan(spread.std_east_m) else spread.std_east_m,
            horizontal_m if math.isnan(spread.std_north_m) else spread.std_north_m,
            up_m if math.isnan(spread.std_up_m) else spread.std_up_m,
        )


class EpochAssembler:
    """Reports in, fixes out. `whole_epochs` waits for the next epoch always: later, but nothing can come too late."""

    def __init__(self, *, whole_epochs: bool = False) -> None:
        self._whole_epochs = whole_epochs
        self._cadence = _Cadence()
        self._epoch: _Epoch | None = None
        self._last_utc_ns: int | None = None

    def add(self, kind: bytes, report: Report, t_ns: int) -> list[Fix]:
        """The fixes that become complete by this report: mostly none, at most two."""
        fixes: list[Fix] = []
        epoch = self._epoch
        if epoch is None or not epoch.owns(kind, report):
            if isinstance(report, _TIMELESS):
                return fixes  # whose epoch it was is unknown: the recording began after it
            fixes += self.flush()
            epoch = self._epoch = _Epoch(t_ns)
        if epoch.given:
            self._come_late(epoch, kind, report)
            return fixes
        epoch.take(kind, report)
        if not self._whole_epochs and self._is_complete(epoch):
            fixes.append(self._give(epoch))
        return fixes

    def flush(self) -> list[Fix]:
        """End the open epoch; its fix, unless it was given already."""
        epoch, self._epoch = self._epoch, None
        if epoch is None:
            return []
        if not epoch.kinds & _POSITION_KINDS:
            self._resolve(epoch.time_of_day_ns, epoch.day)
            return []
        self._cadence.epoch_over(epoch.kinds)
        return [] if epoch.given else [self._give(epoch)]

    def _is_complete(self, epoch: _Epoch) -> bool:
        expected = self._cadence.expected
        return bool(expected) and expected <= epoch.kinds and bool(epoch.kinds & _POSITION_KINDS)

    def _give(self, epoch: _Epoch) -> Fix:
        epoch.given = True
        return epoch.fix(self._resolve(epoch.time_of_day_ns, epoch.day))

    def _come_late(self, epoch: _Epoch, kind: bytes, report: Report) -> None:
        """The fix is out: learn that this type comes too, and keep the date."""
        epoch.kinds.add(kind)
        if isinstance(report, Minimum | Clock):
            self._resolve(report.time_of_day_ns, report.day)

    def _resolve(self, time_of_day_ns: int | None, day: int | None) -> int | None:
        """UTC by the epoch's own date, else near the last known UTC; None while no date is known."""
        if time_of_day_ns is None:
            return None
        if day is not None:
            self._last_utc_ns = day * DAY_NS + time_of_day_ns
        elif self._last_utc_ns is not None:
            self._last_utc_ns = nearest_utc_ns(time_of_day_ns, self._last_utc_ns)
        return self._last_utc_ns
