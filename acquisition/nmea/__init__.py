"""NMEA 0183: a streaming decoder from bytes to fixes."""

from hodograph.acquisition.nmea.decoder import NmeaDecoder
from hodograph.acquisition.nmea.fix import STD_BY_QUALITY_M, Fix, FixQuality, fix_schema
from hodograph.acquisition.nmea.framing import (
    AddressCount,
    ChecksumPolicy,
    Sentence,
    SentenceCounts,
    SentenceSplitter,
    checksum,
)

__all__ = [
    "STD_BY_QUALITY_M",
    "AddressCount",
    "ChecksumPolicy",
    "Fix",
    "FixQuality",
    "NmeaDecoder",
    "Sentence",
    "SentenceCounts",
    "SentenceSplitter",
    "checksum",
    "fix_schema",
]
