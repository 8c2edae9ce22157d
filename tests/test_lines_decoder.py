from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hodograph.acquisition.lines import MAX_LINE_BYTES, LineColumn, LineDecoder
from hodograph.core import Reading, UnitError

COLUMNS = (LineColumn("acc_x_mps2", "g"), LineColumn("gyro_z_radps", "deg/s", sign=-1.0))
TEXT = b"1000,0.5,90\r\n2000,-1,180\n3000,,0\n4000,oops,1\n5000,1,2,3\n6000,1.5,-90\r\n7000,0.1,9"


def decoder(time_unit: str | None = "us", delimiter: str = ",") -> LineDecoder:
    made = LineDecoder("imu", COLUMNS, time_unit=time_unit, delimiter=delimiter)
    made.feed(b"5,9.9\n", 0)  # the rest of a line whose beginning nobody heard
    return made


def test_values_are_si_with_signs_and_sensor_time() -> None:
    readings = decoder().feed(TEXT, 42)
    assert [r.t_sensor_ns for r in readings] == [1_000_000, 2_000_000, 3_000_000, 6_000_000]
    assert {r.t_ns for r in readings} == {42}
    assert readings[0].values == pytest.approx((0.5 * 9.80665, -math.pi / 2))
    assert readings[1].values == pytest.approx((-9.80665, -math.pi))
    assert math.isnan(readings[2].values[0])


def test_counts() -> None:
    lines = decoder()
    lines.feed(TEXT, 0)
    assert (lines.good, lines.malformed, lines.partial) == (4, 2, 1)
    assert lines.flush() == []
    assert lines.partial == 2


def test_a_line_whose_beginning_or_end_is_missing_is_never_used() -> None:
    lines = LineDecoder("imu", COLUMNS)
    assert lines.feed(b"1.25,90\n", 0) == []  # may be the rest of 11.25
    assert len(lines.feed(b"1.25,90\n1.25,9", 0)) == 1
    lines.flush()  # the port is gone; 9 may have been 90
    assert lines.feed(b"0\n", 0) == []
    assert len(lines.feed(b"1,1\n", 0)) == 1


def test_stamps_are_exact() -> None:
    readings = decoder("s").feed(b"1700000000.123456789,1,1\n", 0)
    assert readings[0].t_sensor_ns == 1_700_000_000_123_456_789
    assert decoder("us").feed(b"1700000000123457,1,1\n", 0)[0].t_sensor_ns == 1_700_000_000_123_457_000
    assert decoder("us").feed(b",1,1\n", 0)[0].t_sensor_ns is None
    for impossible in (b"nan,1,1\n", b"inf,1,1\n", b"1_0,1,1\n", b"1e400,1,1\n", b"x,1,1\n", b"\xff,1,1\n"):
        assert decoder("us").feed(impossible, 0) == [], impossible


def test_noise_without_line_ends_is_forgotten() -> None:
    lines = decoder(None)
    assert lines.feed(b"\x00" * (MAX_LINE_BYTES + 1), 0) == []
    assert lines.feed(b"7,8\n1,2\n", 0) == [Reading(0, "imu", (9.80665, -2 * math.pi / 180), None)]


def test_one_space_is_any_white_space() -> None:
    assert len(decoder(None, " ").feed(b"  1.0 \t 2.0 \n", 0)) == 1


def test_wrong_columns_are_refused() -> None:
    with pytest.raises(ValueError, match="sign"):
        LineColumn("acc_x_mps2", "g", sign=2.0)
    with pytest.raises(ValueError, match="ends in _mps2"):
        LineColumn("acc_x", "g")
    with pytest.raises(UnitError, match="furlong"):
        LineColumn("acc_x_mps2", "furlong")
    with pytest.raises(ValueError, match="unit of time"):
        LineDecoder("imu", COLUMNS, time_unit="g")
    with pytest.raises(ValueError, match="delimiter"):
        LineDecoder("imu", COLUMNS, delimiter="")


@given(st.lists(st.integers(0, len(TEXT)), max_size=8))
def test_any_split_gives_the_same_readings(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(TEXT)]
    lines = decoder()
    pieces = [TEXT[a:b] for a, b in pairwise(edges)]
    found = [repr(reading) for piece in pieces for reading in lines.feed(piece, 0)]
    assert found == [repr(reading) for reading in decoder().feed(TEXT, 0)]


@given(st.binary(max_size=300))
def test_no_bytes_raise(noise: bytes) -> None:
    lines = decoder()
    for reading in lines.feed(noise + b"\n", 0):
        assert len(reading.values) == 2
    lines.flush()
