"""Epochs: which sentences make one fix, when it is given, and which UTC it has."""

from __future__ import annotations

import functools
import math
import operator
from datetime import UTC, datetime

import pytest

from hodograph.acquisition.nmea import Fix, NmeaDecoder


def line(text: str) -> bytes:
    return f"${text}*{functools.reduce(operator.xor, text.encode()):02X}\r\n".encode()


def gga(time: str, talker: str = "GN") -> bytes:
    return line(f"{talker}GGA,{time},4329.6,N,00814.8,W,1,08,0.9,6.8,M,53.0,M,,")


def rmc(time: str, ddmmyy: str, talker: str = "GN") -> bytes:
    return line(f"{talker}RMC,{time},A,4329.6,N,00814.8,W,10.0,90.0,{ddmmyy},,,A")


def zda(time: str, day: str, month: str, year: str) -> bytes:
    return line(f"GNZDA,{time},{day},{month},{year},00,00")


VTG = line("GNVTG,90.0,T,,M,10.0,N,18.5,K,A")
GST = {t: line(f"GNGST,{t},,,,,1.1,1.2,1.3") for t in (f"10000{k}" for k in range(10))}


def fixes_of(data: bytes, *, whole_epochs: bool = False) -> list[Fix]:
    decoder = NmeaDecoder(whole_epochs=whole_epochs)
    return decoder.feed_fixes(data, 0) + decoder.flush_fixes()


def utc(*ymdhms: int) -> int:
    return int(datetime(*ymdhms[:6], tzinfo=UTC).timestamp()) * 10**9  # type: ignore[misc,arg-type]


def test_midnight_with_dates() -> None:
    data = gga("235959") + rmc("235959", "311223") + gga("000000") + rmc("000000", "010124")
    assert [f.t_utc_ns for f in fixes_of(data)] == [utc(2023, 12, 31, 23, 59, 59), utc(2024, 1, 1, 0, 0, 0)]


def test_midnight_without_dates_after_one() -> None:
    data = gga("235958") + rmc("235958", "280224") + gga("235959") + gga("000000") + gga("000001")
    expected = [(2024, 2, 28, 23, 59, 58), (2024, 2, 28, 23, 59, 59), (2024, 2, 29, 0, 0, 0), (2024, 2, 29, 0, 0, 1)]
    assert [f.t_utc_ns for f in fixes_of(data)] == [utc(*t) for t in expected]


def test_leap_day_by_zda_alone() -> None:
    data = gga("120000") + gga("120001") + zda("120001", "29", "02", "2024") + gga("120002")
    assert [f.t_utc_ns for f in fixes_of(data)] == [None, utc(2024, 2, 29, 12, 0, 1), utc(2024, 2, 29, 12, 0, 2)]


def test_the_four_digit_year_wins() -> None:
    (fix,) = fixes_of(rmc("120000", "290204") + zda("120000", "29", "02", "2024"))
    assert fix.t_utc_ns == utc(2024, 2, 29, 12, 0, 0)


def test_clock_jumping_back_at_the_first_fix() -> None:
    void = line("GNRMC,120010,V,,,,,,,010180,,,N")
    data = void + rmc("115900", "290224") + rmc("115901", "290224")
    assert [f.t_utc_ns for f in fixes_of(data)] == [
        utc(1980, 1, 1, 12, 0, 10),
        utc(2024, 2, 29, 11, 59, 0),
        utc(2024, 2, 29, 11, 59, 1),
    ]


def test_leap_second_does_not_run_backwards() -> None:
    data = rmc("235959.5", "311216") + rmc("235960.0", "311216") + rmc("235960.5", "311216") + rmc("000000", "010117")
    times = [f.t_utc_ns or 0 for f in fixes_of(data)]
    assert len(times) == 4
    assert times == sorted(times)
    assert times[-1] == utc(2017, 1, 1, 0, 0, 0)


def test_the_same_instant_written_differently_is_one_epoch() -> None:
    assert len(fixes_of(gga("100000.0") + rmc("100000", "010124") + zda("100000.000", "01", "01", "2024"))) == 1


def test_a_sentence_without_time_belongs_to_the_last_one_with() -> None:
    first, second = fixes_of(VTG + gga("100000") + gga("100001") + VTG)
    assert math.isnan(first.speed_mps)
    assert second.speed_mps == pytest.approx(10 * 1852 / 3600)


def test_epochs_without_any_time_are_kept_apart() -> None:
    empty = line("GPGGA,,,,,,0,,,,M,,M,,") + line("GPRMC,,V,,,,,,,,,,N") + line("GPVTG,,T,,M,,N,,K,N")
    fixes = fixes_of(empty * 5 + gga("100000") + rmc("100000", "010124"))
    assert len(fixes) == 6
    assert [f.has_position for f in fixes] == [False] * 5 + [True]


def test_an_empty_sentence_does_not_void_the_fix_beside_it() -> None:
    void = line("GPGGA,,,,,,0,,,,M,,M,,")
    fixes = fixes_of(void + rmc("100000", "010124") + void)
    assert [f.has_position for f in fixes] == [False, True, False]
    clock_runs = line("GPRMC,100000,V,,,,,,,010124,,,N")
    (fix,) = fixes_of(void + clock_runs)
    assert fix.t_utc_ns == utc(2024, 1, 1, 10, 0, 0)


def test_a_clock_alone_is_no_fix() -> None:
    assert fixes_of(zda("100000", "01", "01", "2024") + zda("100001", "01", "01", "2024")) == []


def test_given_as_soon_as_complete() -> None:
    """From the third epoch on, the fix comes with the last sentence of its own epoch, stamped at its first."""
    decoder = NmeaDecoder()
    came: list[tuple[int, int]] = []
    for k in range(6):
        for j, sentence in enumerate((gga(f"10000{k}"), rmc(f"10000{k}", "010124"), VTG)):
            came += [(reading.t_ns, 10 * k + j) for reading in decoder.feed(sentence, 10 * k + j)]
    assert came == [(0, 10), (10, 20), (20, 22), (30, 32), (40, 42), (50, 52)]
    assert decoder.flush() == []


def test_a_lost_sentence_costs_waiting_not_data() -> None:
    decoder = NmeaDecoder()
    fixes: list[Fix] = []
    for k in range(9):
        fixes += decoder.feed_fixes(gga(f"10000{k}") + (b"" if k == 4 else rmc(f"10000{k}", "010124")) + VTG, k)
    assert len(fixes) == 9
    assert [f.t_ns for f in fixes] == list(range(9))
    assert all(f.speed_mps > 5 for f in fixes)


def test_a_type_that_stops_is_forgotten_and_one_that_starts_is_learnt() -> None:
    decoder = NmeaDecoder()
    waited: list[bool] = []
    for k in range(30):
        second = f"1000{k:02d}"
        spread = line(f"GNGST,{second},,,,,1.1,1.2,1.3") if k < 5 or k >= 20 else b""
        given = decoder.feed_fixes(gga(second) + rmc(second, "010124") + spread, k)
        waited.append(not any(f.t_ns == k for f in given))
    assert waited[2:5] == [False] * 3
    assert waited[5:10] == [True] * 5  # the spread might still come
    assert waited[10:20] == [False] * 10
    assert waited[22:] == [False] * 8


def test_a_type_that_comes_now_and_then_does_not_delay() -> None:
    decoder = NmeaDecoder()
    waited = 0
    for k in range(60):
        second = f"1000{k:02d}"
        clock = zda(second, "01", "01", "2024") if k % 5 == 4 else b""
        given = decoder.feed_fixes(gga(second) + VTG + clock, k)
        waited += not any(f.t_ns == k for f in given)
    assert waited == 2  # only while learning


def test_whole_epochs_miss_nothing() -> None:
    data = b"".join(gga(f"10000{k}") + (GST[f"10000{k}"] if k == 7 else b"") for k in range(9))
    assert [f.std_east_m for f in fixes_of(data)][7] == 1.5
    assert [f.std_east_m for f in fixes_of(data, whole_epochs=True)][7] == 1.2


def test_readings_follow_the_schema() -> None:
    decoder = NmeaDecoder("rover")
    decoder.feed(gga("100000") + rmc("100000", "010124"), 5)
    (reading,) = decoder.flush()
    assert reading.stream == decoder.schema.name == "rover"
    assert len(reading.values) == len(decoder.schema.channels)
    assert reading.values[decoder.schema.index("height_m")] == pytest.approx(59.8)
    assert (reading.t_ns, reading.t_sensor_ns) == (5, utc(2024, 1, 1, 10, 0, 0))
