"""NMEA files → streams: report, time axis, raw bytes, and one clear line for what cannot be imported."""

from __future__ import annotations

import functools
import operator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from hodograph.acquisition.importers.imported import Imported, ImportOptions
from hodograph.acquisition.importers.nmea import import_nmea
from hodograph.acquisition.log.events import EventKind
from hodograph.core import NO_SENSOR_TIME_NS, ImportFormatError

S = 10**9
VOID = "GPGGA,,,,,,0,,,,M,,M,,"


def line(text: str) -> bytes:
    return f"${text}*{functools.reduce(operator.xor, text.encode()):02X}\r\n".encode()


def gga(time: str) -> str:
    return f"GNGGA,{time},4329.6,N,00814.8,W,1,08,0.9,6.8,M,53.0,M,,"


def rmc(time: str, ddmmyy: str) -> str:
    return f"GNRMC,{time},A,4329.6,N,00814.8,W,10.0,90.0,{ddmmyy},,,A"


def void_rmc(time: str, ddmmyy: str) -> str:
    return f"GNRMC,{time},V,,,,,,,{ddmmyy},,,N"


def utc_ns(*ymdhms: int) -> int:
    return int(datetime(*ymdhms[:6], tzinfo=UTC).timestamp()) * S  # type: ignore[misc,arg-type]


def imported(folder: Path, *texts: str) -> Imported:
    path = folder / "drive.nmea"
    path.write_bytes(b"".join(line(text) for text in texts))
    return import_nmea([path], ImportOptions())


LOGS = {
    "nmea-rtk.log": (122, 641.9),
    "gp-320fw-2019-04-07-coldboot.log": (2, 2.0),
    "quectel-l76k-nmea.log": (151, 30.0),
    "telit-he910.log": (187, 185.698),
    "skytraq-PX1172RH_DS.log": (9, 8.0),
    "bundg_zeus_9.log": (148, 147.0),
    "ublox-zed-f9p-nmea.log": (29, 28.0),
    "ublox-f9p-hpnmea.log": (9, 8.0),
    "com-1289.log": (14, 13.0),
}


@pytest.mark.data
@pytest.mark.parametrize("name", LOGS)
def test_the_nine_logs(data_dir: Path, name: str) -> None:
    path = data_dir / "gpsd-nmea" / name
    result = import_nmea([path], ImportOptions())
    report = result.report["nmea"]
    assert isinstance(report, dict)
    assert (report["fixes"], report["duration_s"]) == LOGS[name]
    assert set(report) == {
        *("sentences", "bad_checksum", "missing_checksum", "talkers", "gga_quality", "fixes", "duration_s")
    }
    (stream,), (raw,) = result.streams, result.raw
    assert stream.schema.name == "gnss"
    assert raw.name == "nmea_raw"
    assert b"".join(raw.chunks) == path.read_bytes()
    assert len(raw.chunks) == len(raw.t_ns)
    assert (np.diff(stream.t_ns) >= 0).all()
    assert (np.diff(raw.t_ns) >= 0).all()
    np.testing.assert_array_equal(np.isnan(stream["latitude_rad"]), stream["quality"] == 0)
    assert np.count_nonzero(~np.isnan(stream["latitude_rad"])) == report["fixes"]


@pytest.mark.data
def test_pieces_of_one_recording(data_dir: Path, tmp_path: Path) -> None:
    """Cut in the middle of a sentence: the pieces give what the whole gives."""
    whole = data_dir / "gpsd-nmea" / "nmea-rtk.log"
    content = whole.read_bytes()
    pieces = [tmp_path / "a.nmea", tmp_path / "b.nmea"]
    pieces[0].write_bytes(content[:5000])
    pieces[1].write_bytes(content[5000:])
    told: list[tuple[int, int]] = []
    parts = import_nmea(pieces, ImportOptions(on_bytes=lambda done, total: told.append((done, total))))
    assert parts.report == import_nmea([whole], ImportOptions()).report
    assert b"".join(parts.raw[0].chunks) == content
    assert told[-1] == (len(content), len(content))


@pytest.mark.data
def test_the_good_part_of_the_telit_log_keeps_its_utc(data_dir: Path) -> None:
    result = import_nmea([data_dir / "gpsd-nmea" / "telit-he910.log"], ImportOptions())
    (stream,) = result.streams
    assert stream.t_sensor_ns is not None
    assert stream.t_ns[-1] == stream.t_sensor_ns[-1]
    assert (stream.t_sensor_ns[:37] == NO_SENSOR_TIME_NS).all()
    (jump,) = result.events
    assert jump.kind is EventKind.CLOCK_JUMP
    assert jump.duration_ns == -1_302_000_000


def test_raw_bytes_begin_with_their_epoch(tmp_path: Path) -> None:
    result = imported(tmp_path, "GPTXT,hello", gga("100000"), rmc("100000", "010124"), gga("100001"))
    assert [len(chunk.splitlines()) for chunk in result.raw[0].chunks] == [3, 1]


def test_dates_reach_back_to_the_start(tmp_path: Path) -> None:
    (stream,) = imported(tmp_path, gga("235959"), gga("000000"), rmc("000000", "010324"), gga("000001")).streams
    expected = [utc_ns(2024, 2, 29, 23, 59, 59), utc_ns(2024, 3, 1, 0, 0, 0), utc_ns(2024, 3, 1, 0, 0, 1)]
    assert stream.t_ns.tolist() == expected
    assert stream.t_sensor_ns is not None
    assert stream.t_sensor_ns.tolist() == expected


def test_rows_without_time_lead_up_at_the_usual_period(tmp_path: Path) -> None:
    (stream,) = imported(tmp_path, VOID, VOID, *(rmc(f"10000{k}", "010124") for k in range(3)), VOID).streams
    start = utc_ns(2024, 1, 1, 10, 0, 0)
    assert stream.t_ns.tolist() == [start + k * S for k in (-2, -1, 0, 1, 2, 3)]
    assert stream.t_sensor_ns is not None
    assert stream.t_sensor_ns.tolist()[:2] == [NO_SENSOR_TIME_NS] * 2


def test_rows_without_time_in_between(tmp_path: Path) -> None:
    times = [rmc("100000", "010124"), rmc("100001", "010124"), VOID, VOID, rmc("100003", "010124")]
    (stream,) = imported(tmp_path, *times, rmc("100004", "010124")).streams
    steps = np.diff(stream.t_ns)
    assert (steps > 0).all()
    assert stream.t_ns[-1] - stream.t_ns[0] == 4 * S


def test_a_wrong_clock_before_the_first_fix_leads_up_to_it(tmp_path: Path) -> None:
    void = [void_rmc(f"12001{k}", "010180") for k in range(3)]
    result = imported(tmp_path, *void, *(rmc(f"10000{k}", "010124") for k in range(3)))
    start = utc_ns(2024, 1, 1, 10, 0, 0)
    assert result.streams[0].t_ns.tolist() == [start + k * S for k in range(-3, 3)]
    (event,) = result.events
    assert event.kind is EventKind.CLOCK_JUMP
    assert event.t_ns == start
    assert event.duration_ns > 0


def test_a_clock_jumping_back_runs_on(tmp_path: Path) -> None:
    texts = [*(rmc(f"10001{k}", "010124") for k in range(4)), rmc("100005", "010124"), rmc("100006", "010124")]
    result = imported(tmp_path, *texts)
    start = utc_ns(2024, 1, 1, 10, 0, 10)
    assert result.streams[0].t_ns.tolist() == [start + k * S for k in range(6)]
    (event,) = result.events
    assert event.duration_ns == -9 * S
    assert "back by 9.000 s" in event.text


def test_a_long_pause_is_no_jump(tmp_path: Path) -> None:
    result = imported(tmp_path, rmc("100000", "010124"), rmc("100001", "010124"), rmc("100000", "030124"))
    assert result.events == ()
    assert np.diff(result.streams[0].t_ns).tolist() == [S, 2 * 86400 * S - S]


def test_time_of_day_without_any_date(tmp_path: Path) -> None:
    result = imported(tmp_path, gga("235959"), gga("000000"), gga("000001"))
    assert result.streams[0].t_ns.tolist() == [86399 * S, 86400 * S, 86401 * S]
    assert result.streams[0].t_sensor_ns is None
    assert "no sentence carries a date" in result.clock
    report = result.report["nmea"]
    assert isinstance(report, dict)
    assert report["duration_s"] == 2.0


def test_no_fix_at_all_but_a_clock(tmp_path: Path) -> None:
    report = imported(tmp_path, void_rmc("100000", "010124"), void_rmc("100001", "010124")).report["nmea"]
    assert isinstance(report, dict)
    assert (report["fixes"], report["duration_s"]) == (0, 0.0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"t,x\n1,2\n", "no NMEA sentence in it"),
        (bytes(range(256)) * 20, "no NMEA sentence in it"),
        (b"$" + gga("100000").encode() + b"\r\n", "none with a checksum"),
        (b"$" + gga("100000").encode() + b"*00\r\n", "all with a wrong checksum"),
        (line("SDDPT,5.3,0.4,"), "no GGA, GNS or RMC"),
        (line(VOID) * 3, "none has a time"),
    ],
)
def test_one_clear_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "odd.nmea"
    path.write_bytes(content)
    with pytest.raises(ImportFormatError, match=message) as caught:
        import_nmea([path], ImportOptions())
    assert "odd.nmea" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_and_a_mapping_that_is_not_needed(tmp_path: Path) -> None:
    with pytest.raises(ImportFormatError, match="cannot be read: No such file"):
        import_nmea([tmp_path / "gone.nmea"], ImportOptions())
    with pytest.raises(ImportFormatError, match="mapping"):
        import_nmea([tmp_path / "gone.nmea"], ImportOptions(mapping=tmp_path / "m.toml"))


def test_missing_checksums_on_request(tmp_path: Path) -> None:
    path = tmp_path / "old.nmea"
    path.write_bytes(b"".join(f"${gga(t)}\r\n".encode() for t in ("100000", "100001")))
    report = import_nmea([path], ImportOptions(accept_missing_checksum=True)).report["nmea"]
    assert isinstance(report, dict)
    assert (report["sentences"], report["missing_checksum"], report["fixes"]) == (0, 2, 2)
