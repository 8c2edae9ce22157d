"""The vocabulary: small frozen values that every other folder speaks. Needs numpy and nothing else."""

from hodograph.core.channel import Channel, Frame, StreamSchema
from hodograph.core.errors import (
    DataError,
    HodographError,
    ImportFormatError,
    LogError,
    LogWriteError,
    MissingExtraError,
    ModelError,
    SettingsError,
    TransportError,
    UnitError,
)
from hodograph.core.estimate import Estimate
from hodograph.core.frames import Array, wrap_rad
from hodograph.core.layout import StateLayout
from hodograph.core.reading import Reading, Verdict
from hodograph.core.settings import read_settings, settings_from_text, settings_with_gaps, toml_table
from hodograph.core.stream_data import NO_SENSOR_TIME_NS, StreamData
from hodograph.core.units import from_si, to_si, unit_named

__all__ = [
    "NO_SENSOR_TIME_NS",
    "Array",
    "Channel",
    "DataError",
    "Estimate",
    "Frame",
    "HodographError",
    "ImportFormatError",
    "LogError",
    "LogWriteError",
    "MissingExtraError",
    "ModelError",
    "Reading",
    "SettingsError",
    "StateLayout",
    "StreamData",
    "StreamSchema",
    "TransportError",
    "UnitError",
    "Verdict",
    "from_si",
    "read_settings",
    "settings_from_text",
    "settings_with_gaps",
    "to_si",
    "toml_table",
    "unit_named",
    "wrap_rad",
]
