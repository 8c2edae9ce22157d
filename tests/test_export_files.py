"""Exports read back with readers that are not ours."""

from __future__ import annotations

import csv
import gc
import math
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hodograph.acquisition.log import LogReader, LogWriter
from hodograph.core import (
    NO_SENSOR_TIME_NS,
    Channel,
    Frame,
    HodographError,
    MissingExtraError,
    StreamData,
    StreamSchema,
)
from hodograph.replay.exporters import FORMATS, ExportOptions, export_csv, export_mf4, export_parquet, tables
from hodograph.replay.exporters.options import display_column

T0_NS = 1_700_000_000 * 10**9
GNSS = StreamSchema(
    "gnss",
    (
        Channel("latitude_rad", "rad", Frame.GEODETIC),
        Channel("speed_mps", "m/s", description="over ground"),
        Channel("course_compass_rad", "rad"),
        Channel("quality", "1"),
    ),
)
IMU = StreamSchema(
    "imu", (Channel("acc_x_mps2", "m/s^2", Frame.SENSOR, 100.0), Channel("speed_mps", "m/s")), dtype="float32"
)
EMPTY = StreamSchema("empty", (Channel("pressure_pa", "Pa"),))


def gnss_data() -> StreamData:
    k = np.arange(50)
    speed = 0.1 * k
    speed[7] = math.nan
    stamps = T0_NS + 12_345 + k * 10**8
    stamps[3] = NO_SENSOR_TIME_NS
    columns = {
        "latitude_rad": 0.75 + 1e-9 * k,
        "speed_mps": speed,
        "course_compass_rad": (6.0 + 0.1 * k) % (2 * math.pi),
        "quality": np.where(k < 25, 4.0, 5.0),
    }
    return StreamData(GNSS, T0_NS + 5 * 10**7 + k * 10**8, columns, stamps)


def imu_data(rows: int = 500) -> StreamData:
    k = np.arange(rows)
    columns = {"acc_x_mps2": (0.1 * k).astype(np.float32), "speed_mps": np.full(rows, 0.3, np.float32)}
    return StreamData(IMU, T0_NS + k * 10**7, columns)


@pytest.fixture
def log(tmp_path: Path) -> LogReader:
    with LogWriter.create(tmp_path / "a.drive") as writer:
        for schema, data in ((GNSS, gnss_data()), (IMU, imu_data()), (EMPTY, None)):
            writer.add_stream(schema)
            if data is not None:
                writer.append_data(data)
    return LogReader(tmp_path / "a.drive")


def test_csv_has_a_name_row_a_unit_row_and_exact_numbers(log: LogReader, tmp_path: Path) -> None:
    exported = export_csv(log, tmp_path / "out.csv")
    assert {f.path.name: f.rows for f in exported.files} == {
        "out_gnss.csv": 50,
        "out_imu.csv": 500,
        "out_empty.csv": 0,
    }
    with (tmp_path / "out_gnss.csv").open(encoding="utf-8", newline="") as file:
        names, units, *rows = csv.reader(file)
    assert names == ["t_s", "t_sensor_s", *GNSS.names]
    assert units == ["s", "s", "rad", "m/s", "rad", "1"]
    assert rows[0][:2] == ["0.05", "1700000000.000012345"]
    assert rows[3][1] == ""
    assert rows[7][names.index("speed_mps")] == ""
    for name in GNSS.names:
        column = [float(row[names.index(name)] or "nan") for row in rows]
        assert np.array_equal(column, gnss_data()[name], equal_nan=True), name
    imu = pd.read_csv(tmp_path / "out_imu.csv", skiprows=[1], dtype=np.float32)
    assert np.array_equal(imu["acc_x_mps2"], imu_data()["acc_x_mps2"])
    assert "0.30000001" not in (tmp_path / "out_imu.csv").read_text()
    assert (tmp_path / "out_empty.csv").read_text() == "t_s,pressure_pa\ns,Pa\n"


def test_one_stream_is_one_file_with_the_name_given(log: LogReader, tmp_path: Path) -> None:
    options = ExportOptions(streams=("imu",), channels=("acc_x_mps2",), t_min_s=1.0, t_max_s=2.0)
    for name, export in FORMATS.items():
        exported = export(log, tmp_path / f"x.{name}", options)
        assert [f.path.name for f in exported.files] == [f"x.{name}"]
        assert exported.files[0].rows == 100
    assert (tmp_path / "x.csv").read_text().splitlines()[:3] == ["t_s,acc_x_mps2", "s,m/s^2", "1,10"]


def test_display_units_change_values_names_and_units(log: LogReader, tmp_path: Path) -> None:
    export_csv(log, tmp_path / "d.csv", ExportOptions(streams=("gnss",), display_units=True))
    frame = pd.read_csv(tmp_path / "d.csv", header=[0, 1])
    assert list(frame.columns)[2:] == [
        ("latitude_deg", "deg"),
        ("speed_kmh", "km/h"),
        ("course_compass_deg", "deg"),
        ("quality", "1"),
    ]
    assert frame[("speed_kmh", "km/h")].iloc[10] == pytest.approx(3.6)
    assert frame[("latitude_deg", "deg")].iloc[0] == pytest.approx(math.degrees(0.75))


@pytest.mark.parametrize(
    ("name", "unit", "shown"),
    [
        ("brake_pressure_pa", "Pa", "brake_pressure_bar"),
        ("acc_x_mps2", "m/s^2", "acc_x_g"),
        ("gyro_z_radps", "rad/s", "gyro_z_degps"),
        ("oil_k", "K", "oil_degc"),
        ("oil_std_k", "K", "oil_std_k"),
        ("std_v_east_mps", "m/s", "std_v_east_kmh"),
        ("mass_kg", "kg", "mass_kg"),
    ],
)
def test_display_names(name: str, unit: str, shown: str) -> None:
    assert display_column(Channel(name, unit)).name == shown


def test_a_raster_interpolates_holds_and_respects_gaps(log: LogReader, tmp_path: Path) -> None:
    exported = export_csv(log, tmp_path / "r.csv", ExportOptions(rate_hz=50.0, utc=True))
    assert len(exported.files) == 1
    frame = pd.read_csv(tmp_path / "r.csv", skiprows=[1])
    assert {"gnss_speed_mps", "imu_speed_mps", "latitude_rad", "pressure_pa"} <= set(frame.columns)
    assert np.allclose(np.diff(frame["t_s"]), 0.02)
    assert frame["utc"].iloc[1] == "2023-11-14T22:13:20.020000Z"
    assert frame["pressure_pa"].isna().all()
    assert math.isnan(frame["gnss_speed_mps"].iloc[0])  # the first fix comes at 0.05 s
    at = frame.set_index(frame["t_s"].round(3))
    assert at.loc[0.1, "gnss_speed_mps"] == pytest.approx(0.05)
    assert at.loc[0.76, "gnss_speed_mps"] != at.loc[0.76, "gnss_speed_mps"]  # beside the NaN of row 7
    assert at.loc[2.5, "quality"] == 4.0  # held, not 4.5
    assert at.loc[2.56, "quality"] == 5.0
    course = at.loc[0.3:0.44, "course_compass_rad"]  # passes north between 0.25 s and 0.35 s
    assert ((course >= 6.2) | (course <= 0.2)).all()


def one_stream(folder: Path, channel: Channel, values: Sequence[float]) -> LogReader:
    schema = StreamSchema("s", (channel,))
    path = folder / f"{channel.name}.drive"
    with LogWriter.create(path) as writer:
        writer.add_stream(schema)
        writer.append_data(
            StreamData(schema, np.arange(len(values)) * 10**8, {channel.name: np.array(values, dtype=np.float64)})
        )
    return LogReader(path)


@pytest.mark.parametrize(
    ("name", "values", "between"),
    [
        ("wheel_angle_rad", [0.0, 4.0, 8.0, 12.0], [2.0, 6.0, 10.0]),
        ("wheel_angle_rad", [-4.0, 0.0, 3.5], [-2.0, 1.75]),
        ("heading_compass_rad", [6.2, 0.2, 0.4], [3.2 - math.pi, 0.3]),
        ("heading_compass_rad", [3.1, -3.0, -2.8], [0.05 - math.pi, -2.9]),
        ("yaw_rad", [math.nan, 3.1, -3.0, -2.8], [math.nan, 0.05 - math.pi, -2.9]),
        ("yaw_rad", [float(np.float32(math.pi)), -3.0], [(math.pi - 3.0) / 2 - math.pi]),
        ("yaw_rad", [6.2, 0.2], [3.2 - math.pi]),
    ],
)
def test_only_angles_that_wrap_go_the_short_way_round(
    tmp_path: Path, name: str, values: list[float], between: list[float]
) -> None:
    log = one_stream(tmp_path, Channel(name, "rad"), values)
    export_parquet(log, tmp_path / "a.parquet", ExportOptions(rate_hz=20.0))
    found = pd.read_parquet(tmp_path / "a.parquet")[name].to_numpy()
    np.testing.assert_array_equal(found[::2], values)
    np.testing.assert_allclose(found[1::2], between, atol=1e-6)


def test_nothing_is_interpolated_across_a_gap(tmp_path: Path) -> None:
    schema = StreamSchema("imu", (Channel("acc_x_mps2", "m/s^2"),))
    t_ns = np.concatenate([np.arange(0, 10**9, 10**7), np.arange(3 * 10**9, 4 * 10**9, 10**7)])
    with LogWriter.create(tmp_path / "g.drive") as writer:
        writer.add_stream(schema)
        writer.append_data(StreamData(schema, t_ns, {"acc_x_mps2": np.ones(t_ns.size)}))
    export_parquet(LogReader(tmp_path / "g.drive"), tmp_path / "g.parquet", ExportOptions(rate_hz=10.0))
    frame = pd.read_parquet(tmp_path / "g.parquet")
    silent = (frame["t_s"] > 1.0) & (frame["t_s"] < 3.0)
    assert frame["acc_x_mps2"][silent].isna().all()
    assert frame["acc_x_mps2"][frame["t_s"] < 0.95].eq(1.0).all()


def test_parquet_keeps_units_frames_and_types(log: LogReader, tmp_path: Path) -> None:
    export_parquet(log, tmp_path / "out.parquet")
    table = pq.read_table(tmp_path / "out_gnss.parquet")
    assert table.schema.field("speed_mps").metadata[b"unit"] == b"m/s"
    assert table.schema.field("speed_mps").metadata[b"description"] == b"over ground"
    assert table.schema.field("latitude_rad").metadata[b"frame"] == b"geodetic"
    assert table.schema.metadata[b"start_ns"] == str(T0_NS).encode()
    assert table["t_ns"].to_pylist() == gnss_data().t_ns.tolist()
    assert table["t_sensor_ns"][3].as_py() is None
    assert str(pq.read_schema(tmp_path / "out_imu.parquet").field("acc_x_mps2").type) == "float"
    assert pq.read_table(tmp_path / "out_empty.parquet").num_rows == 0


def test_mf4_has_a_group_per_stream(log: LogReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asammdf = pytest.importorskip("asammdf")
    monkeypatch.setattr(tables, "ROWS_PER_BATCH", 64)  # several batches: the group is extended
    export_mf4(log, tmp_path / "out.mf4")
    with asammdf.MDF(tmp_path / "out.mf4") as mdf:
        assert mdf.start_time.timestamp() == T0_NS / 1e9
        assert {g.channel_group.acq_name for g in mdf.groups} == {"gnss", "imu", "empty"}
        speed = mdf.get("gnss_speed_mps")
        assert speed.unit == "m/s"
        assert "over ground" in speed.comment
        assert np.array_equal(speed.samples, gnss_data()["speed_mps"], equal_nan=True)
        assert np.allclose(speed.timestamps, 0.05 + 0.1 * np.arange(50), atol=1e-9)
        acc = mdf.get("acc_x_mps2")
        assert np.array_equal(acc.samples, imu_data()["acc_x_mps2"])
        assert np.allclose(acc.timestamps, 0.01 * np.arange(500), atol=1e-9)
        assert mdf.get("gnss_t_sensor_ns").samples[0] == T0_NS + 12_345
        assert mdf.get("pressure_pa").samples.size == 0


def test_mf4_without_asammdf_says_what_to_install(
    log: LogReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "asammdf", None)
    with pytest.raises(MissingExtraError, match=r"hodograph\[mdf\]"):
        export_mf4(log, tmp_path / "out.mf4")
    assert not (tmp_path / "out.mf4").exists()


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_existing_files_are_refused_and_nothing_is_left(log: LogReader, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    target = folder / f"x.{name}"
    target.write_text("precious")
    with pytest.raises(HodographError, match="exists already"):
        FORMATS[name](log, target, ExportOptions(streams=("imu",)))
    assert target.read_text() == "precious"

    def fail(done: int, total: int) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(HodographError, match=f"x.{name}: cannot be written: No space"):
        FORMATS[name](log, target, ExportOptions(streams=("imu",), overwrite=True, on_rows=fail))
    assert target.read_text() == "precious"
    assert [path.name for path in folder.iterdir()] == [target.name]
    FORMATS[name](log, target, ExportOptions(streams=("imu",), overwrite=True))
    assert target.stat().st_size > 100
    assert [path.name for path in folder.iterdir()] == [target.name]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (ExportOptions(streams=("lidar",)), "no stream 'lidar'"),
        (ExportOptions(channels=("wrong",)), "no channel 'wrong'"),
        (ExportOptions(streams=("imu",), channels=("gnss.speed_mps",)), "no channel 'gnss.speed_mps'"),
    ],
)
def test_names_that_the_log_lacks(log: LogReader, tmp_path: Path, options: ExportOptions, complaint: str) -> None:
    with pytest.raises(HodographError, match=complaint):
        export_csv(log, tmp_path / "x.csv", options)


def test_places_that_cannot_be_written(log: LogReader, tmp_path: Path) -> None:
    with pytest.raises(HodographError, match="is a folder"):
        export_csv(log, tmp_path, ExportOptions(streams=("imu",)))
    with pytest.raises(HodographError, match="there is no folder"):
        export_csv(log, tmp_path / "no" / "x.csv", ExportOptions(streams=("imu",)))


def test_a_folder_that_cannot_be_written_is_one_error_and_no_noise(
    log: LogReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", noise.append)

    def read_only(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", read_only)
    monkeypatch.setattr(Path, "touch", read_only)
    monkeypatch.setattr(tempfile, "_get_candidate_names", read_only)  # what asammdf makes beside the target
    for name, export in FORMATS.items():
        with pytest.raises(HodographError, match=f"x.{name}: cannot be written: Permission denied"):
            export(log, tmp_path / f"x.{name}", ExportOptions(streams=("imu",)))
    gc.collect()
    assert noise == []


def clashing_log(path: Path) -> LogReader:
    """Channels with the names of our own columns, and names that clash once the stream stands in front."""
    schemas = (
        StreamSchema("a", (Channel("t_s", "s"), Channel("utc", "1"), Channel("time", "1"), Channel("b_c_m", "m"))),
        StreamSchema("a_b", (Channel("c_m", "m"), Channel("t_sensor_s", "s"))),
        StreamSchema("z", (Channel("b_c_m", "m"), Channel("c_m", "m"), Channel("a_t_sensor_ns", "ns"))),
    )
    t_ns = T0_NS + np.arange(3) * 10**8
    with LogWriter.create(path) as writer:
        for number, schema in enumerate(schemas):
            writer.add_stream(schema)
            columns = {name: 100.0 * number + 10.0 * i + np.arange(3) for i, name in enumerate(schema.names)}
            writer.append_data(StreamData(schema, t_ns, columns, t_ns))
    return LogReader(path)


TOGETHER = {
    "a_t_s": 0,
    "a_utc": 10,
    "a_time": 20,
    "a_b_c_m": 30,
    "a_b_c_2_m": 100,
    "a_b_t_sensor_s": 110,
    "z_b_c_m": 200,
    "z_c_m": 210,
    "z_a_t_sensor_ns": 220,
}


@pytest.mark.parametrize("utc", [False, True])
def test_channels_named_like_our_columns_keep_their_values_in_every_format(tmp_path: Path, utc: bool) -> None:
    log = clashing_log(tmp_path / "c.drive")
    ours = ["t_s", "utc"] if utc else ["t_s"]
    alone = ["a_t_s", "a_utc", "a_time", "b_c_m"]
    export_csv(log, tmp_path / "c.csv", ExportOptions(utc=utc))
    frame = pd.read_csv(tmp_path / "c_a.csv", header=[0, 1])
    assert [name for name, _ in frame.columns] == [*ours, "t_sensor_s", *alone]
    assert frame["t_s"].to_numpy().ravel().tolist() == [0.0, 0.1, 0.2]
    assert frame["a_t_s"].to_numpy().ravel().tolist() == [0, 1, 2]
    export_parquet(log, tmp_path / "c.parquet", ExportOptions(utc=utc))
    table = pq.read_table(tmp_path / "c_a.parquet")
    assert table.schema.names == [*ours, "t_ns", "t_sensor_ns", *alone]
    assert table["a_utc"].to_pylist() == [10, 11, 12]
    export_csv(log, tmp_path / "r.csv", ExportOptions(utc=utc, rate_hz=10.0))
    raster = pd.read_csv(tmp_path / "r.csv", skiprows=[1])
    assert list(raster.columns) == [*ours, *TOGETHER]
    assert {name: raster[name][0] for name in TOGETHER} == TOGETHER


def test_names_in_an_mf4_are_unique(tmp_path: Path) -> None:
    asammdf = pytest.importorskip("asammdf")
    export_mf4(clashing_log(tmp_path / "c.drive"), tmp_path / "c.mf4", ExportOptions(utc=True))
    with asammdf.MDF(tmp_path / "c.mf4") as mdf:
        names = [channel.name for group in mdf.groups for channel in group.channels]
        assert sorted(names) == sorted(["time"] * 3 + [f"{s}_t_sensor_ns" for s in ("a", "a_b", "z")] + list(TOGETHER))
        assert {name: mdf.get(name).samples[0] for name in TOGETHER} == TOGETHER
        assert mdf.get("a_t_sensor_ns").samples[0] == T0_NS
        assert np.allclose(mdf.get("a_time").timestamps, [0.0, 0.1, 0.2])


def test_display_names_that_fall_together_get_a_number_before_the_unit(tmp_path: Path) -> None:
    schema = StreamSchema("s", (Channel("speed_mps", "m/s"), Channel("speed_kmh", "1"), Channel("s_speed_kmh", "1")))
    columns = {name: np.full(2, number + 1.0) for number, name in enumerate(schema.names)}
    with LogWriter.create(tmp_path / "d.drive") as writer:
        writer.add_stream(schema)
        writer.append_data(StreamData(schema, np.array([0, 5]), columns))
    export_csv(LogReader(tmp_path / "d.drive"), tmp_path / "d.csv", ExportOptions(display_units=True))
    frame = pd.read_csv(tmp_path / "d.csv", skiprows=[1])
    assert list(frame.columns) == ["t_s", "s_speed_2_kmh", "s_speed_kmh_2", "s_speed_kmh"]
    assert frame.iloc[0].tolist() == pytest.approx([0.0, 3.6, 2.0, 3.0])


def test_a_channel_of_one_stream_only(log: LogReader, tmp_path: Path) -> None:
    exported = export_csv(log, tmp_path / "x.csv", ExportOptions(channels=("gnss.speed_mps", "acc_x_mps2")))
    assert {f.path.name for f in exported.files} == {"x_gnss.csv", "x_imu.csv"}
    assert (tmp_path / "x_imu.csv").read_text().startswith("t_s,acc_x_mps2\n")


def test_impossible_options() -> None:
    with pytest.raises(ValueError, match="rate_hz"):
        ExportOptions(rate_hz=0.0)
    with pytest.raises(ValueError, match="t_min_s"):
        ExportOptions(t_min_s=2.0, t_max_s=1.0)
    for t_s in (math.nan, math.inf, -math.inf, 1e300):
        with pytest.raises(ValueError, match=r"t_min_s is .*, want seconds from the log's start"):
            ExportOptions(t_min_s=t_s)
        with pytest.raises(ValueError, match=r"t_max_s is .*, want seconds from the log's start"):
            ExportOptions(t_max_s=t_s)
    with pytest.raises(ValueError, match="streams: none is named"):
        ExportOptions(streams=())
    with pytest.raises(ValueError, match="channels: none is named"):
        ExportOptions(channels=())


def test_a_log_without_a_date_has_no_utc(tmp_path: Path) -> None:
    schema = StreamSchema("imu", (Channel("acc_x_mps2", "m/s^2"),))
    with LogWriter.create(tmp_path / "z.drive") as writer:
        writer.add_stream(schema)
        writer.append_data(StreamData(schema, np.array([0, 5]), {"acc_x_mps2": np.zeros(2)}))
    with pytest.raises(HodographError, match="does not know the date"):
        export_csv(LogReader(tmp_path / "z.drive"), tmp_path / "z.csv", ExportOptions(utc=True))


@given(st.lists(st.floats(allow_nan=True, allow_infinity=False), min_size=1, max_size=20))
def test_any_number_survives_csv(tmp_path_factory: pytest.TempPathFactory, numbers: list[float]) -> None:
    folder = tmp_path_factory.mktemp("numbers")
    schema = StreamSchema("s", (Channel("x", "1"),))
    with LogWriter.create(folder / "n.drive") as writer:
        writer.add_stream(schema)
        writer.append_data(StreamData(schema, np.arange(len(numbers)), {"x": np.array(numbers)}))
    export_csv(LogReader(folder / "n.drive"), folder / "n.csv")
    with (folder / "n.csv").open(newline="") as file:
        rows = list(csv.reader(file))[2:]
    found = [float(row[1]) if row[1] else math.nan for row in rows]
    assert np.array_equal(found, numbers, equal_nan=True)
