"""What goes into a log comes out: rows, columns, raw bytes, events, header."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from log_samples import STEP_NS, check_prefix, wide_data, wide_row, wide_schema

from hodograph.acquisition.importers.imported import Imported, RawData
from hodograph.acquisition.importers.write import write_imported
from hodograph.acquisition.log import Event, EventKind, FsyncPolicy, LogReader, LogWriter
from hodograph.core import (
    NO_SENSOR_TIME_NS,
    Channel,
    Frame,
    LogError,
    LogWriteError,
    Reading,
    StreamData,
    StreamSchema,
)

GNSS = StreamSchema(
    "gnss",
    (Channel("latitude_rad", "rad", Frame.GEODETIC), Channel("v_east_mps", "m/s", Frame.ENU, 10.0, "to the east")),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "monday.drive"


def test_rows_come_back_merged_in_time_order(path: Path) -> None:
    gnss = [Reading(k * 100, "gnss", (k * 0.1, math.nan), None if k % 3 else k * 100 - 7) for k in range(30)]
    imu = [Reading(k * 10 + 5, "imu", wide_row(k)) for k in range(300)]
    with LogWriter.create(path) as log:
        log.add_stream(GNSS)
        log.add_stream(wide_schema())
        for reading in sorted(gnss + imu, key=lambda r: r.t_ns):
            log.append(reading)
    back = list(LogReader(path).readings())
    assert [r.t_ns for r in back] == sorted(r.t_ns for r in gnss + imu)
    assert [repr(r) for r in back if r.stream == "gnss"] == [repr(r) for r in gnss]  # repr: NaN equals NaN
    assert [r for r in back if r.stream == "imu"] == imu
    window = list(LogReader(path).readings(["imu"], t_min_ns=100, t_max_ns=200))
    assert window == [r for r in imu if 100 <= r.t_ns < 200]


def test_columns_come_back_as_arrow_numpy_and_pandas(path: Path) -> None:
    with LogWriter.create(path) as log:
        log.add_stream(wide_schema())
        log.append_data(wide_data(1234))
        log.append_data(wide_data(0))
        log.append_data(wide_data(766, first=1234))
    reader = LogReader(path)
    assert reader.streams == ("imu",)
    assert reader.rows("imu") == 2000
    assert reader.span_ns == (0, 1999 * STEP_NS)
    assert reader.schema("imu") == wide_schema()
    assert not reader.lost
    assert check_prefix(reader.numpy("imu")) == 2000
    table = reader.arrow("imu", channels=["c03_mps2"])
    assert table.column_names == ["t_ns", "t_sensor_ns", "c03_mps2"]
    assert table.schema.field("c03_mps2").metadata[b"unit"] == b"m/s^2"
    frame = reader.pandas("imu", channels=["c03_mps2", "c01_mps2"], t_min_ns=10 * STEP_NS, t_max_ns=20 * STEP_NS)
    assert list(frame.columns) == ["c03_mps2", "c01_mps2"]
    assert list(frame.index) == [k * STEP_NS for k in range(10, 20)]
    assert frame.attrs["units"]["c01_mps2"] == "m/s^2"


def test_arrow_tables_are_views_of_the_mapped_file(path: Path) -> None:
    with LogWriter.create(path) as log:
        log.add_stream(wide_schema())
        log.append_data(wide_data(500 * 200))
    before = pa.total_allocated_bytes()
    table = LogReader(path).arrow("imu")
    assert table.nbytes > 15e6
    assert pa.total_allocated_bytes() - before < 1e6


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(st.integers(0, 700_000_000), min_size=1, max_size=60),
    window=st.tuples(st.integers(-5, 10**10), st.integers(-5, 10**10)),
    seed=st.integers(0, 10**9),
)
def test_any_stream_and_any_window(
    tmp_path_factory: pytest.TempPathFactory, steps: list[int], window: tuple[int, int], seed: int
) -> None:
    path = tmp_path_factory.mktemp("any") / "a.drive"
    rng = np.random.default_rng(seed)
    t_ns = np.cumsum(np.array(steps, dtype=np.int64))
    stamps = np.where(rng.random(t_ns.size) < 0.3, NO_SENSOR_TIME_NS, t_ns - 3)
    data = StreamData(GNSS, t_ns, {n: rng.normal(size=t_ns.size) for n in GNSS.names}, stamps)
    with LogWriter.create(path, batch_s=float(rng.uniform(0.1, 1.0))) as log:
        log.add_stream(GNSS)
        log.append_data(data)
    low, high = window
    back = LogReader(path).numpy("gnss", t_min_ns=low, t_max_ns=high)
    inside = (t_ns >= low) & (t_ns < high)
    assert np.array_equal(back.t_ns, t_ns[inside])
    assert np.array_equal(back["v_east_mps"], data["v_east_mps"][inside])
    if back.t_sensor_ns is None:
        assert (stamps[inside] == NO_SENSOR_TIME_NS).all()
    else:
        assert np.array_equal(back.t_sensor_ns, stamps[inside])
    batches = list(LogReader(path).batches("gnss"))
    assert sum(b.num_rows for b in batches) == t_ns.size
    assert all(b.column(0)[-1].as_py() - b.column(0)[0].as_py() < 1_000_000_000 for b in batches)


def test_any_arrow_library_reads_a_segment_without_us(path: Path) -> None:
    with LogWriter.create(path) as log:
        log.add_stream(wide_schema())
        log.append_data(wide_data(1500))
    with pa.OSFile(str(path / "imu.0000.arrow")) as file:
        table = pa.ipc.open_stream(file).read_all()
    assert table.num_rows == 1500
    assert table.schema.field("c00_mps2").metadata == {
        b"unit": b"m/s^2",
        b"frame": b"body",
        b"description": b"number 0",
        b"rate_hz": b"500.0",
    }


def test_raw_bytes_and_events_are_kept_exactly(path: Path) -> None:
    chunks = [bytes([k % 256]) * (k % 50) for k in range(400)]
    events = [
        Event(5, EventKind.GAP, "gnss", duration_ns=4_000_000_000, text="unplugged"),
        Event(9, EventKind.DROP, "imu", count=17),
        Event(9, EventKind.MARKER, text="Runde 1 äöü"),
    ]
    with LogWriter.create(path) as log:
        log.add_raw("nmea_raw", "receiver on the roof")
        for k, chunk in enumerate(chunks):
            log.append_raw("nmea_raw", k * 10_000_000, chunk)
        for event in events:
            log.event(event)
    reader = LogReader(path)
    assert reader.raw_streams == ("nmea_raw",)
    assert list(reader.raw("nmea_raw")) == [(k * 10_000_000, c) for k, c in enumerate(chunks)]
    assert reader.events == tuple(events)
    assert reader.span_ns is None


def test_the_header_keeps_the_vehicle_and_rig_files_to_the_byte(path: Path) -> None:
    vehicle = '# my car\r\nname = "kart"\r\n'
    rig = 'schema = 1\n[sensors.imu] # "quoted" \\ and """ odd\n'
    with LogWriter.create(path, vehicle_toml=vehicle, rig_toml=rig, clock="atomic", notes={"driver": "Zoë"}):
        pass
    with LogWriter.create(path.with_name("odd.drive"), notes={"file": "caf\udce9.nmea"}):
        pass
    assert LogReader(path.with_name("odd.drive")).meta.notes == {"file": "caf\\udce9.nmea"}
    meta = LogReader(path).meta
    assert (meta.vehicle_toml, meta.rig_toml, meta.clock, meta.notes) == (vehicle, rig, "atomic", {"driver": "Zoë"})
    assert meta.software.startswith("hodograph")


def test_segments_rotate_and_a_log_can_be_continued(path: Path) -> None:
    with LogWriter.create(path, segment_bytes=200_000) as log:
        log.add_stream(wide_schema())
        log.append_data(wide_data(5000))
    assert len(list(path.glob("imu.*.arrow"))) > 3
    with LogWriter.append_to(path, fsync=FsyncPolicy(every_s=0)) as log:
        log.add_stream(wide_schema())
        log.append_data(wide_data(2000, first=5000))
    assert check_prefix(LogReader(path).numpy("imu")) == 7000
    with LogWriter.append_to(path) as log, pytest.raises(LogWriteError, match="other channels"):
        log.add_stream(wide_schema(channels=3))


def test_a_clock_set_back_between_two_recordings_still_reads_in_order(path: Path) -> None:
    with LogWriter.create(path) as log:
        log.add_stream(GNSS)
        for k in range(20):
            log.append(Reading(k * 500_000_000, "gnss", (float(k), 0.0)))
    with LogWriter.append_to(path) as log:
        log.add_stream(GNSS)
        for k in range(20):
            log.append(Reading(k * 500_000_000 - 250_000_000, "gnss", (k - 0.5, 0.0)))
    expected = [k / 2 - 0.5 for k in range(40)]
    assert list(LogReader(path).numpy("gnss")["latitude_rad"]) == expected
    assert [r.values[0] for r in LogReader(path).readings()] == expected


def test_rows_wait_no_longer_than_a_batch(path: Path) -> None:
    with LogWriter.create(path) as log:
        log.add_stream(GNSS)
        log.append(Reading(0, "gnss", (0.0, 0.0)))
        log.flush_due(999_999_999)
        assert LogReader(path).rows("gnss") == 0
        log.flush_due(1_000_000_000)
        assert LogReader(path).rows("gnss") == 1
        log.append(Reading(2_000_000_000, "gnss", (0.0, 0.0)))
        log.append(Reading(2_999_999_999, "gnss", (0.0, 0.0)))
        log.append(Reading(3_000_000_000, "gnss", (0.0, 0.0)))
        assert LogReader(path).rows("gnss") == 3


def test_programmer_errors_are_refused_by_name(path: Path) -> None:
    with LogWriter.create(path) as log:
        log.add_stream(GNSS)
        log.append(Reading(10, "gnss", (0.0, 0.0)))
        with pytest.raises(ValueError, match="backwards"):
            log.append(Reading(9, "gnss", (0.0, 0.0)))
        with pytest.raises(ValueError, match="1 values, want 2"):
            log.append(Reading(11, "gnss", (0.0,)))
        with pytest.raises(ValueError, match="not announced"):
            log.append(Reading(11, "imu", (0.0,)))
        with pytest.raises(ValueError, match="not announced"):
            log.append_raw("gnss", 11, b"")
        with pytest.raises(ValueError, match="twice"):
            log.add_stream(GNSS)
        with pytest.raises(ValueError, match="_raw"):
            log.add_raw("nmea")
        with pytest.raises(ValueError, match="backwards"):
            log.append_data(StreamData(GNSS, np.array([20, 19]), {n: np.zeros(2) for n in GNSS.names}))
    with pytest.raises(LogError, match="has no stream 'wheel'; it has: gnss"):
        LogReader(path).numpy("wheel")
    with pytest.raises(ValueError, match="no channel 'x_m'"):
        LogReader(path).numpy("gnss", channels=["x_m"])
    with pytest.raises(ValueError, match="batch_s"):
        LogWriter.create(path.with_name("b.drive"), batch_s=2.0)
    with pytest.raises(ValueError, match="every_s"):
        FsyncPolicy(every_s=-1.0)


def test_one_bad_reading_is_refused_and_takes_nothing_along(path: Path) -> None:
    log = LogWriter.create(path)
    log.add_stream(GNSS)
    log.add_raw("nmea_raw")
    for k in range(50):
        log.append(Reading(k, "gnss", (float(k), 0.0)))
    bad: list[tuple[int, tuple[object, ...], object, str]] = [
        (50, (1.0, "fast"), None, "not all numbers"),
        (50, (1.0, None), None, "not all numbers"),
        (50, (1.0, 2.0), math.nan, "t_sensor_ns is nan"),
        (50, (1.0, 2.0), 2**63, "beyond 64 bits"),
    ]
    for t_ns, values, t_sensor_ns, complaint in bad:
        with pytest.raises(ValueError, match=complaint):
            log.append(Reading(t_ns, "gnss", values, t_sensor_ns))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"t_ns is 0\.5"):
        log.append(Reading(0.5, "gnss", (1.0, 2.0)))  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        log.append_raw("nmea_raw", 0, "text")  # type: ignore[arg-type]
    log.event(Event(0, EventKind.NOTE, text="caf\udce9"))  # a file name that is not UTF-8
    log.close()
    log.close()
    with pytest.raises(ValueError, match="closed"):
        log.append(Reading(99, "gnss", (1.0, 2.0)))
    reader = LogReader(path)
    assert reader.rows("gnss") == 50
    assert reader.events[0].text == "caf\\udce9"


def test_what_is_not_a_log_is_said_in_one_line(path: Path, tmp_path: Path) -> None:
    with pytest.raises(LogError, match="does not exist"):
        LogReader(path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(LogError, match="is a file"):
        LogReader(tmp_path / "file")
    with pytest.raises(LogError, match="not a log"):
        LogReader(tmp_path)
    with pytest.raises(LogError, match="not a log"):
        LogWriter.append_to(tmp_path)
    with LogWriter.create(path):
        pass
    with pytest.raises(LogWriteError, match="exists already"):
        LogWriter.create(path)
    (path / "meta.toml").write_text("schema = 99\nsoftware = 'hodograph 42'\n")
    with pytest.raises(LogError, match=r"written by hodograph 42.*update"):
        LogReader(path)


def test_an_import_appears_whole_or_not_at_all(path: Path) -> None:
    good = wide_data(1000)
    raw = RawData("imu_raw", np.array([0, 5]), [b"ab", b"c"])
    event = Event(0, EventKind.NOTE, text="n")
    write_imported(path, Imported((good,), "sensor time", (raw,), (event,), {"source": "x.csv"}))
    reader = LogReader(path)
    assert check_prefix(reader.numpy("imu")) == 1000
    assert b"".join(chunk for _, chunk in reader.raw("imu_raw")) == b"abc"
    assert reader.events == (event,)
    with pytest.raises(LogWriteError, match="exists already"):
        write_imported(path, Imported((good,), "sensor time"))
    backwards = StreamData(good.schema, good.t_ns[::-1].copy(), good.columns)
    with pytest.raises(ValueError, match="backwards"):
        write_imported(path.with_name("b.drive"), Imported((backwards,), "sensor time"))
    assert sorted(p.name for p in path.parent.iterdir()) == ["monday.drive"]
