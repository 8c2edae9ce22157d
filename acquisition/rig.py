"""The rig file: how each sensor is reached (transport, protocol, channels, units, signs).

schema = 1
name = "kart-07"

[sensors.gnss]
port = "/dev/ttyACM0"
baud = 115200
protocol = "nmea"

[sensors.imu]
port = "/dev/ttyUSB0"
baud = 921600
protocol = "lines"
time_unit = "us"                       # the first field is the sensor's clock
rate_hz = 100
columns = [
    { channel = "acc_x_mps2", unit = "g" },
    { channel = "gyro_z_radps", unit = "deg/s", sign = -1 },
]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from hodograph.acquisition.lines import LineColumn, LineDecoder
from hodograph.core import Reading, SettingsError, StreamSchema, settings_from_text
from hodograph.core.display import short_repr

RIG_VERSION = 1


class Decoder(Protocol):
    """Bytes of one sensor → readings of one stream, in chunks of any size."""

    @property
    def schema(self) -> StreamSchema:
        """The stream that comes out."""

    def feed(self, chunk: bytes, t_ns: int) -> list[Reading]:
        """Readings that `chunk`, arrived at `t_ns`, completes."""

    def flush(self) -> list[Reading]:
        """Readings that are complete though nothing follows; what comes next does not continue what was."""


@dataclass(frozen=True, slots=True)
class SensorLink:
    """The way to one sensor: its port, what it speaks, and for `lines` what each field of a line is."""

    port: str  # device or URL
    protocol: Literal["nmea", "lines"]  # what it speaks
    baud: int = 115_200  # speed of a serial port
    rate_hz: float | None = None  # nominal
    accept_missing_checksum: bool = False  # nmea: take sentences without checksum
    columns: tuple[LineColumn, ...] = ()  # lines: what each field of a line is
    delimiter: str = ","  # lines: between fields; a blank means any white space
    time_unit: str | None = None  # lines: the first field is the sensor's clock, in this unit

    def __post_init__(self) -> None:
        if not self.port:
            raise ValueError("port is empty, want e.g. /dev/ttyUSB0")
        if self.baud <= 0:
            raise ValueError(f"baud is {self.baud}, want > 0")
        if self.rate_hz is not None and not self.rate_hz > 0:
            raise ValueError(f"rate_hz is {self.rate_hz}, want > 0")
        if self.protocol == "lines":
            if not self.columns:
                raise ValueError("protocol lines needs columns: what each field of a line is")
            if self.accept_missing_checksum:
                raise ValueError("accept_missing_checksum is for protocol nmea")
            self.decoder("check")
        elif self.columns or self.time_unit is not None or self.delimiter != ",":
            raise ValueError("columns, delimiter and time_unit are for protocol lines")

    def decoder(self, name: str) -> Decoder:
        """A fresh decoder whose stream is called `name`."""
        if self.protocol == "lines":
            return LineDecoder(
                name, self.columns, delimiter=self.delimiter, time_unit=self.time_unit, rate_hz=self.rate_hz
            )
        from hodograph.acquisition.nmea import ChecksumPolicy, NmeaDecoder

        policy = ChecksumPolicy.ACCEPT_MISSING if self.accept_missing_checksum else ChecksumPolicy.REQUIRE
        return NmeaDecoder(name, policy)

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class Rig:
    """All sensors of a rig by name; `text` is the file as it was, comments included, to be kept in every log."""

    name: str
    sensors: Mapping[str, SensorLink]
    text: str = ""

    def __post_init__(self) -> None:
        if not self.sensors:
            raise ValueError("a rig needs at least one sensor, [sensors.NAME]")
        ports: dict[str, str] = {}
        for name, link in self.sensors.items():
            link.decoder(name)
            if link.port in ports:
                raise ValueError(f"sensors {ports[link.port]} and {name} share the port {link.port}")
            ports[link.port] = name

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class _RigFile:
    """A rig file."""

    schema: int  # of this dialect: 1
    name: str  # of the rig
    sensors: dict[str, SensorLink]  # by name, which is that of the stream

    def __post_init__(self) -> None:
        if self.schema != RIG_VERSION:
            raise ValueError(f"schema is {self.schema}, this version reads {RIG_VERSION}")
        Rig(self.name, self.sensors)


def load_rig(path: str | Path) -> Rig:
    """The rig file at `path`; `SettingsError` says what is wrong and in which line."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(str(path), f"cannot be read: {error}") from error
    return rig_from_text(text, source=str(path))


def rig_from_text(text: str, source: str = "rig") -> Rig:
    """Same for TOML text already at hand; `source` is named in errors."""
    file = settings_from_text(text, _RigFile, source=source)
    return Rig(file.name, file.sensors, text)
