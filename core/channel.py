"""What a number means: its name, unit and frame; and a stream, the channels that arrive together."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from hodograph.core.display import counted, cut, listed
from hodograph.core.units import unit_named

_NAME = re.compile(r"[a-z][a-z0-9_]*")
TIME_COLUMNS = ("t_ns", "t_sensor_ns")  # what a log stores beside the channels of a stream
EVENTS_NAME, RAW_SUFFIX = "events", "_raw"  # names that a log keeps for itself


class Frame(StrEnum):
    """The axes a vector is expressed in (ISO 8855: x forward, y left, z up; world: east, north, up)."""

    NONE = ""
    BODY = "body"
    ENU = "enu"
    ECEF = "ecef"
    GEODETIC = "geodetic"
    SENSOR = "sensor"
    WHEEL = "wheel"


@dataclass(frozen=True, slots=True)
class Channel:
    """One named quantity in SI; the name ends in its unit (`v_east_mps`), unless it is dimensionless.

    `rate_hz` is the nominal rate, None when the source has none (events, irregular tables).
    """

    name: str
    unit: str
    frame: Frame = Frame.NONE
    rate_hz: float | None = None
    description: str = ""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"channel name {self.name!r}: want lower-case letters, digits and _")
        if self.name in TIME_COLUMNS:
            raise ValueError(f"channel name {self.name!r} is taken: every stream has its time beside its channels")
        unit = unit_named(self.unit)
        if unit.symbol != unit.si:
            raise ValueError(f"channel {self.name}: unit {self.unit!r} is not SI, want {unit.si!r}")
        if unit.suffix and not self.name.endswith("_" + unit.suffix):
            raise ValueError(f"channel {self.name}: a name in {unit.si} ends in _{unit.suffix}")
        if self.rate_hz is not None and not self.rate_hz > 0:
            raise ValueError(f"channel {self.name}: rate_hz is {self.rate_hz}, want > 0")

    def __repr__(self) -> str:
        rate = "" if self.rate_hz is None else f"{self.rate_hz:g} Hz"
        about = ", ".join(part for part in (str(self.frame), rate, cut(self.description, 40)) if part)
        return f"Channel({cut(self.name)} [{self.unit}]{', ' if about else ''}{about})"


@dataclass(frozen=True, slots=True)
class StreamSchema:
    """The channels that arrive together, in the order of `Reading.values`; `dtype` is how a log stores them."""

    name: str
    channels: tuple[Channel, ...]
    dtype: Literal["float64", "float32"] = "float64"
    description: str = ""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"stream name {self.name!r}: want lower-case letters, digits and _")
        if self.name == EVENTS_NAME or self.name.endswith(RAW_SUFFIX):
            raise ValueError(f"stream name {self.name!r} is taken: logs keep events and raw bytes under such names")
        if not self.channels:
            raise ValueError(f"stream {self.name}: no channels")
        names = self.names
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise ValueError(f"stream {self.name}: channel named twice: {', '.join(twice)}")

    def __repr__(self) -> str:
        return f"StreamSchema({cut(self.name)}: {counted(len(self.channels), 'channel')}, {listed(self.names)})"

    @property
    def names(self) -> tuple[str, ...]:
        """Channel names in order."""
        return tuple(c.name for c in self.channels)

    def index(self, name: str) -> int:
        """Position of the channel `name` in `Reading.values`."""
        try:
            return self.names.index(name)
        except ValueError:
            raise ValueError(f"stream {self.name} has no channel {name!r}; it has {', '.join(self.names)}") from None
