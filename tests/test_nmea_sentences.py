"""Framing and fields, case by case: what counts as a sentence and what its fields mean."""

from __future__ import annotations

import functools
import math
import operator
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hodograph.acquisition.nmea import (
    AddressCount,
    ChecksumPolicy,
    Fix,
    FixQuality,
    NmeaDecoder,
    SentenceSplitter,
    checksum,
    fix_schema,
)
from hodograph.acquisition.nmea.fields import day_from_ddmmyy, read_body, time_of_day_ns

GGA = "GPGGA,100412.58,4329.61417292,N,00814.86569421,W,4,14,0.7,6.846,M,53.031,M,1.6,1503"


def line(text: str) -> bytes:
    return f"${text}*{functools.reduce(operator.xor, text.encode()):02X}\r\n".encode()


def fixes_of(*texts: str, policy: ChecksumPolicy = ChecksumPolicy.REQUIRE) -> list[Fix]:
    decoder = NmeaDecoder(policy=policy)
    return decoder.feed_fixes(b"".join(line(text) for text in texts), 7) + decoder.flush_fixes()


def only_fix(*texts: str) -> Fix:
    (fix,) = fixes_of(*texts)
    return fix


def test_a_published_example() -> None:
    """Sanjurjo 2016, section 5.1.2."""
    fix = only_fix(GGA)
    assert fix.latitude_rad == pytest.approx(math.radians(43 + 29.61417292 / 60), abs=1e-15)
    assert fix.longitude_rad == pytest.approx(-math.radians(8 + 14.86569421 / 60), abs=1e-15)
    assert fix.height_m == pytest.approx(59.877)
    assert fix.quality is FixQuality.RTK_FIXED
    assert (fix.satellites, fix.hdop, fix.age_s) == (14, 0.7, 1.6)
    assert fix.time_of_day_ns == (10 * 3600 + 4 * 60 + 12) * 10**9 + 580_000_000
    assert fix.t_utc_ns is None
    assert fix.t_ns == 7
    assert checksum(GGA.encode()) == 0x5A


@given(st.binary(max_size=1100))
def test_checksum_is_the_exclusive_or(data: bytes) -> None:
    assert checksum(data) == functools.reduce(operator.xor, data, 0)


@pytest.mark.parametrize(
    "gga",
    [
        "GPGGA,,,,,,0,,,,M,,M,,",
        "GPGGA,235952.00,0000.0000,N,00000.0000,E,0,00,0.0,,M,,M,,",
        "GPGGA,100412,4329.6,N,00814.8,W,0,03,9.9,6.8,M,53.0,M,,",
        "GPGGA,100412,4329.6,N,00814.8,W,,03,9.9,6.8,M,53.0,M,,",
    ],
)
def test_no_fix_carries_no_coordinates(gga: str) -> None:
    fix = only_fix(gga)
    assert fix.quality is FixQuality.NONE
    assert not fix.has_position
    values = dict(zip(fix_schema().names, fix.values, strict=True))
    assert all(math.isnan(v) for name, v in values.items() if name not in ("quality", "satellites"))


def test_a_void_rmc_overrules_a_position() -> None:
    gga = "GNGGA,100412,4329.6,N,00814.8,W,6,03,9.9,6.8,M,53.0,M,,"
    fix = only_fix(gga, "GNRMC,100412,V,4329.6,N,00814.8,W,3.0,10.0,010124,,,E")
    assert math.isnan(fix.latitude_rad)
    assert math.isnan(fix.speed_mps)


@pytest.mark.parametrize(
    "body",
    [
        "100412,4360.1,N,00814.8,W,1,08,0.9,6.8,M,53.0,M,,",  # 60 minutes
        "100412,9100.0,N,00814.8,W,1,08,0.9,6.8,M,53.0,M,,",
        "100412,4329.6,N,18100.0,W,1,08,0.9,6.8,M,53.0,M,,",
        "100412,4329.6,E,00814.8,N,1,08,0.9,6.8,M,53.0,M,,",  # letters swapped
        "100412,43.29.6,N,00814.8,W,1,08,0.9,6.8,M,53.0,M,,",
        "100412,-4329.6,N,00814.8,W,1,08,0.9,6.8,M,53.0,M,,",
        "100412,,,,,1,08,0.9,6.8,M,53.0,M,,",  # a fix without coordinates
        "100412,4329.6,N,00814.8,W,x,08,0.9,6.8,M,53.0,M,,",
        "100412,4329.6,N,00814.8,W,1,08,nan,6.8,M,53.0,M,,",
        "100412,4329.6,N,00814.8,W,1,08,0.9,1e999,M,53.0,M,,",
        "100412,4329.6,N,00814.8,W,1,08,0.9,1_0,M,53.0,M,,",
        "100412,4329.6,N,00814.8,W,1,08,0.9,6.8,F,53.0,M,,",  # feet
        "250412,4329.6,N,00814.8,W,1,08,0.9,6.8,M,53.0,M,,",
        "100412,4329.6,N,00814.8",
        "",
    ],
)
def test_unreadable_with_a_right_checksum_is_malformed(body: str) -> None:
    decoder = NmeaDecoder()
    assert decoder.feed(line("GPGGA," + body), 0) + decoder.flush() == []
    assert decoder.counts.by_type["GGA"] == AddressCount(good=1, malformed=1)


def test_height_without_separation_is_unknown() -> None:
    fix = only_fix("GPGGA,105459.408,5050.4126,N,00420.8228,E,1,05,1.75,102.0,M,,M,,0000")
    assert math.isnan(fix.height_m)
    assert fix.has_position


@pytest.mark.parametrize(
    ("modes", "quality"),
    [
        ("NN", FixQuality.NONE),
        ("", FixQuality.NONE),
        ("AN", FixQuality.SINGLE),
        ("AD", FixQuality.DGPS),
        ("DRF", FixQuality.RTK_FIXED),
        ("FAN", FixQuality.RTK_FLOAT),
        ("P", FixQuality.PPS),
        ("E", FixQuality.DEAD_RECKONING),
    ],
)
def test_gns_takes_its_best_system(modes: str, quality: FixQuality) -> None:
    fix = only_fix(f"GNGNS,100412,4329.6,N,00814.8,W,{modes},13,0.9,25.6,53.0,2.5,0130")
    assert fix.quality is quality
    assert fix.has_position == (quality is not FixQuality.NONE)
    if fix.has_position:
        assert fix.height_m == pytest.approx(78.6)
        assert fix.age_s == 2.5


def test_gga_goes_before_gns_in_either_order() -> None:
    gns = "GNGNS,100412,4329.7,N,00814.8,W,RR,13,0.9,25.6,53.0,,"
    gga = "GPGGA,100412,4329.6,N,00814.8,W,1,08,0.9,6.8,M,53.0,M,,"
    for order in ((gga, gns), (gns, gga)):
        fix = only_fix(*order)
        assert fix.quality is FixQuality.SINGLE
        assert fix.latitude_rad == pytest.approx(math.radians(43 + 29.6 / 60))


def test_two_talkers_saying_the_same_make_one_fix() -> None:
    void = "GPGGA,100412,,,,,0,,,,M,,M,,"
    good = "GNGGA,100412,4329.6,N,00814.8,W,2,08,0.9,6.8,M,53.0,M,,"
    assert only_fix(void, good).quality is FixQuality.DGPS
    assert only_fix(good, void).quality is FixQuality.DGPS


@pytest.mark.parametrize(
    ("tail", "quality"),
    [
        ("", FixQuality.SINGLE),
        (",A", FixQuality.SINGLE),
        (",D,V", FixQuality.DGPS),
        (",R", FixQuality.RTK_FIXED),
        (",F,V", FixQuality.RTK_FLOAT),
        (",E", FixQuality.DEAD_RECKONING),
        (",N", FixQuality.NONE),
    ],
)
def test_rmc_alone(tail: str, quality: FixQuality) -> None:
    fix = only_fix("GPRMC,094737,A,5251.0093,N,00518.8170,E,5.6,230.5,290224,1.4,E" + tail)
    assert fix.quality is quality
    assert fix.t_utc_ns == int(datetime(2024, 2, 29, 9, 47, 37, tzinfo=UTC).timestamp()) * 10**9
    if fix.has_position:
        assert math.isnan(fix.height_m)
        assert fix.speed_mps == pytest.approx(5.6 * 1852 / 3600)
        assert fix.course_compass_rad == pytest.approx(math.radians(230.5))


@pytest.mark.parametrize(
    ("vtg", "speed_mps", "course_deg"),
    [
        ("GPVTG,54.7,T,34.4,M,005.5,N,010.2,K,A", 5.5 * 1852 / 3600, 54.7),
        ("GPVTG,360.0,T,,M,,N,36.0,K", 10.0, 0.0),
        ("GPVTG,54.7,T,34.4,M,0.9,N,1.7,K,A", 0.9 * 1852 / 3600, math.nan),  # 0.46 m/s
        ("GPVTG,,T,,M,,N,,K,N", math.nan, math.nan),
        ("GPVTG,054.7,034.4,005.5,010.2", math.nan, math.nan),  # NMEA 1
    ],
)
def test_vtg_where_rmc_is_silent(vtg: str, speed_mps: float, course_deg: float) -> None:
    fix = only_fix(GGA, vtg)
    assert fix.speed_mps == pytest.approx(speed_mps, nan_ok=True)
    assert fix.course_compass_rad == pytest.approx(math.radians(course_deg), nan_ok=True)


def test_heading_of_two_antennas() -> None:
    assert only_fix(GGA, "GNHDT,244.28,T").heading_compass_rad == pytest.approx(math.radians(244.28))
    assert only_fix(GGA, "GNTHS,12.5,A").heading_compass_rad == pytest.approx(math.radians(12.5))
    assert math.isnan(only_fix(GGA, "GNTHS,12.5,V").heading_compass_rad)
    assert math.isnan(only_fix(GGA, "GNHDT,,T").heading_compass_rad)
    assert fixes_of("GNHDT,244.28,T") == []


def test_spread_by_gst_axis_by_axis_else_by_quality_and_hdop() -> None:
    by_table = only_fix("GPGGA,100412,4329.6,N,00814.8,W,5,08,2.0,6.8,M,53.0,M,,")
    assert (by_table.std_east_m, by_table.std_north_m, by_table.std_up_m) == (0.5, 0.5, 1.0)
    fix = only_fix(GGA, "GPGST,100412.58,1.0,,,,0.011,0.0,0.025")
    assert (fix.std_east_m, fix.std_north_m, fix.std_up_m) == (0.01, 0.011, 0.025)
    simulated = only_fix("GPGGA,100412,4329.6,N,00814.8,W,8,08,2.0,6.8,M,53.0,M,,")
    assert math.isnan(simulated.std_east_m)


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("000000", 0),
        ("132819.6", 48499_600_000_000),
        ("132819.", 48499_000_000_000),
        ("235959.999999999", 86_400 * 10**9 - 1),
        ("235960", 86_400 * 10**9 - 1000),
        ("235960.75", 86_400 * 10**9 - 250),
        ("143748.0000000019", 52668 * 10**9 + 1),
    ],
)
def test_time_of_day(text: str, ns: int) -> None:
    assert time_of_day_ns(text) == ns


@pytest.mark.parametrize(
    "text", ["1", "12345", "1234567", "240000", "126000", "123461", "12345a", "-12345", "123456.7x"]
)
def test_no_time_of_day(text: str) -> None:
    with pytest.raises(ValueError, match="time of day"):
        time_of_day_ns(text)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("290224", date(2024, 2, 29)),
        ("220899", date(1999, 8, 22)),
        ("060180", date(1980, 1, 6)),
        ("311279", date(2079, 12, 31)),
        ("290223", None),
        ("000000", None),
        ("", None),
        ("1203199", None),
    ],
)
def test_date_of_two_digits(text: str, day: date | None) -> None:
    assert day_from_ddmmyy(text) == (None if day is None else (day - date(1970, 1, 1)).days)


def test_reading_fields_never_raises_on_short_bodies() -> None:
    for kind in (b"GGA", b"GNS", b"RMC", b"VTG", b"GST", b"ZDA", b"HDT", b"THS"):
        for commas in range(20):
            read_body(kind, b"," * commas)


# --- framing -----------------------------------------------------------------------------------------------------


def counts_of(data: bytes, policy: ChecksumPolicy = ChecksumPolicy.REQUIRE) -> tuple[AddressCount, int]:
    splitter = SentenceSplitter(policy)
    found = splitter.feed(data)
    splitter.flush()
    return splitter.counts.total, len(found)


@pytest.mark.parametrize(
    ("data", "count", "accepted"),
    [
        (line("GPGLL,1"), AddressCount(good=1), 1),
        (b"$GPGLL,1*00\r\n", AddressCount(bad_checksum=1), 0),
        (b"$PLCS,REV,1\r\n", AddressCount(missing_checksum=1), 0),
        (b"$PLCS,REV,1", AddressCount(malformed=1), 0),
        (b"$GPRMC,0003\x00\x00" + line("GPGLL,1"), AddressCount(good=1, malformed=1), 1),
        (b"$GPGSA,A,1,,$" + line("GPGLL,1")[1:], AddressCount(good=1, malformed=1), 1),
        (b"$GPGSA,A*1\r\n", AddressCount(malformed=1), 0),
        (b"$GPGSA,A*xy", AddressCount(malformed=1), 0),
        (b"$GP\r\n$11,2*7E$$$gpgga,1*00", AddressCount(), 0),
        (b"$GPGLL," + b"x" * 2000 + b"*00", AddressCount(malformed=1), 0),
        (line("GPGLL,1").strip() + line("GPGLL,1").lower() + line("GPGLL,1"), AddressCount(good=2), 2),
        (b"\xff\x00noise$" + line("GPGLL,1") + b"\xb5\x62" + line("PSTI,2"), AddressCount(good=2), 2),
        (b"!AIVDM,1*00\r\n", AddressCount(), 0),
    ],
)
def test_framing(data: bytes, count: AddressCount, accepted: int) -> None:
    assert counts_of(data) == (count, accepted)


def test_missing_checksum_is_taken_on_request_only() -> None:
    data = f"${GGA}\r\n".encode()
    assert NmeaDecoder().feed(data, 0) == []
    decoder = NmeaDecoder(policy=ChecksumPolicy.ACCEPT_MISSING)
    assert decoder.feed(data, 0) == []
    assert len(decoder.flush()) == 1
    assert decoder.counts.total == AddressCount(missing_checksum=1)
    assert decoder.counts.gga_quality == {}
    wrong = NmeaDecoder(policy=ChecksumPolicy.ACCEPT_MISSING)
    assert wrong.feed(f"${GGA}*00\r\n".encode(), 0) + wrong.flush() == []


def test_other_instruments_are_ignored_and_counted() -> None:
    decoder = NmeaDecoder()
    decoder.feed(line("SDDPT,5.3,0.4,") + line("WIMWV,57.5,R,13.0,N,A") + line("PSTI,030,1"), 0)
    assert decoder.counts.total == AddressCount(good=3, ignored=3)
    assert decoder.counts.talkers == ("P", "SD", "WI")


def test_noise_does_not_grow_the_counts() -> None:
    splitter = SentenceSplitter()
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    for a in letters:
        for b in letters:
            splitter.feed(f"$Q{a}{b},1*00".encode())
    assert len(splitter.counts.by_address) <= 513
    assert splitter.counts.total.bad_checksum == 26 * 26
