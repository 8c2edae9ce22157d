"""Estimates go out beside the readings under the names other tools know, and `info` says how good they are."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from hodograph.acquisition.health import estimate_health
from hodograph.acquisition.log import LogReader, LogWriter, write_estimates
from hodograph.cli.main import app
from hodograph.core import Channel, Frame, HodographError, StreamData, StreamSchema
from hodograph.replay.exporters import FORMATS, ExportOptions, export_csv, export_mf4, export_parquet

T0_NS, STEP_NS, ROWS = 1_700_000_000 * 10**9, 10**7, 400
IMU = StreamSchema("imu", (Channel("gyro_z_radps", "rad/s", Frame.BODY), Channel("beta_cg_rad", "rad")))
SIDESLIP = StreamSchema(
    "sideslip",
    (Channel("beta_cg_rad", "rad"), Channel("beta_cg_std_rad", "rad"), Channel("beta_cg_valid", "1")),
)


def sideslip(factor: float = 1.0) -> StreamData:
    """Invalid, and absurd, in every fourth row."""
    k = np.arange(ROWS)
    bad = k % 4 == 3
    columns = {
        "beta_cg_rad": np.where(bad, 1.5, factor * 1e-4 * k),
        "beta_cg_std_rad": np.where(bad, 3.0, 0.01),
        "beta_cg_valid": np.where(bad, 0.0, 1.0),
    }
    return StreamData(SIDESLIP, T0_NS + k * STEP_NS, columns)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Five seconds of an IMU, and a sideslip that it said itself; estimates of the first four."""
    k = np.arange(500)
    with LogWriter.create(tmp_path / "a.drive") as writer:
        writer.add_stream(IMU)
        columns = {"gyro_z_radps": 0.1 * np.sin(0.02 * k), "beta_cg_rad": 1e-3 * k}
        writer.append_data(StreamData(IMU, T0_NS + k * STEP_NS, columns))
    write_estimates(tmp_path / "a.drive", "vsa_250lm-hybrid", sideslip())
    return tmp_path / "a.drive"


@pytest.fixture
def log(path: Path) -> LogReader:
    return LogReader(path)


def rows_of(path: Path) -> tuple[list[str], list[str], list[list[str]]]:
    with path.open(encoding="utf-8", newline="") as file:
        names, units, *rows = csv.reader(file)
    return names, units, rows


def test_estimates_go_out_by_default_as_vsa(log: LogReader, tmp_path: Path) -> None:
    exported = export_csv(log, tmp_path / "x.csv")
    assert [(f.path.name, f.rows, f.streams) for f in exported.files] == [
        ("x_imu.csv", 500, ("imu",)),
        ("x_vsa_250lm_hybrid.csv", ROWS, ("vsa_250lm-hybrid",)),
    ]
    names, units, rows = rows_of(tmp_path / "x_vsa_250lm_hybrid.csv")
    assert (names, units) == (["t_s", "vsa", "vsa_std", "vsa_valid"], ["s", "rad", "rad", "1"])
    assert [float(row[1]) for row in rows] == sideslip()["beta_cg_rad"].tolist()
    assert rows_of(tmp_path / "x_imu.csv")[0] == [
        "t_s",
        "gyro_z_radps",
        "beta_cg_rad",
    ]  # what was recorded keeps its name


def test_display_units_are_degrees_in_every_format(log: LogReader, tmp_path: Path) -> None:
    options = ExportOptions(streams=("vsa_250lm-hybrid",), display_units=True)
    for name, export in FORMATS.items():
        export(log, tmp_path / f"x.{name}", options)
    degrees = np.degrees(sideslip()["beta_cg_rad"])
    names, units, rows = rows_of(tmp_path / "x.csv")
    assert (names, units) == (["t_s", "vsa", "vsa_std", "vsa_valid"], ["s", "deg", "deg", "1"])
    np.testing.assert_allclose([float(row[1]) for row in rows], degrees, rtol=1e-14)
    schema = pq.read_schema(tmp_path / "x.parquet")
    assert [schema.field(n).metadata[b"unit"] for n in ("vsa", "vsa_std", "vsa_valid")] == [b"deg", b"deg", b"1"]
    np.testing.assert_allclose(pd.read_parquet(tmp_path / "x.parquet")["vsa"], degrees, rtol=1e-14)
    asammdf = pytest.importorskip("asammdf")
    with asammdf.MDF(tmp_path / "x.mf4") as mdf:
        signal = mdf.get("vsa")
        assert (signal.unit, mdf.get("vsa_valid").unit) == ("deg", "1")
        np.testing.assert_allclose(signal.samples, degrees, rtol=1e-14)
        assert mdf.groups[0].channel_group.acq_name == "vsa_250lm_hybrid"


def test_several_estimates_get_their_names_in_front(path: Path, tmp_path: Path) -> None:
    write_estimates(path, "vsa_ekf", sideslip(2.0))
    write_estimates(path, "vsa-ekf", sideslip(3.0))
    write_estimates(path, "imu", sideslip(4.0))
    log = LogReader(path)
    assert log.estimates == ("estimates/imu", "vsa-ekf", "vsa_250lm-hybrid", "vsa_ekf")
    exported = export_parquet(log, tmp_path / "r.parquet", ExportOptions(rate_hz=100.0))
    assert exported.files[0].streams == ("imu", *log.estimates)
    frame = pd.read_parquet(tmp_path / "r.parquet")
    prefixes = {"imu_estimate": 4.0, "vsa_ekf": 3.0, "vsa_250lm_hybrid": 1.0, "vsa_ekf_estimate": 2.0}
    for prefix, factor in prefixes.items():
        assert frame[f"{prefix}_vsa"][10] == factor * 1e-3
        assert {f"{prefix}_vsa_std", f"{prefix}_vsa_valid"} <= set(frame.columns)
    assert len({f.path for f in export_csv(log, tmp_path / "x.csv").files}) == 5
    export_mf4(log, tmp_path / "x.mf4")
    asammdf = pytest.importorskip("asammdf")
    with asammdf.MDF(tmp_path / "x.mf4") as mdf:
        assert {f"{prefix}_vsa" for prefix in prefixes} <= set(mdf.channels_db)


@pytest.mark.parametrize(
    ("options", "columns"),
    [
        (ExportOptions(streams=("vsa_250lm-hybrid",), channels=("vsa",)), ["vsa"]),
        (ExportOptions(streams=("estimates/vsa_250lm-hybrid",), channels=("beta_cg_std_rad",)), ["vsa_std"]),
        (ExportOptions(channels=("vsa_250lm-hybrid.vsa_valid",)), ["vsa_valid"]),
        (ExportOptions(channels=("imu.beta_cg_rad",)), ["beta_cg_rad"]),
        (ExportOptions(channels=("vsa_std",), display_units=True), ["vsa_std"]),
    ],
)
def test_choosing_by_name(log: LogReader, tmp_path: Path, options: ExportOptions, columns: list[str]) -> None:
    export_csv(log, tmp_path / "x.csv", options)
    assert rows_of(tmp_path / "x.csv")[0] == ["t_s", *columns]


def test_names_that_the_log_lacks_are_answered_with_those_it_has(log: LogReader, tmp_path: Path) -> None:
    with pytest.raises(HodographError, match="no stream 'vsa_ekf'; it has imu, vsa_250lm-hybrid"):
        export_csv(log, tmp_path / "x.csv", ExportOptions(streams=("vsa_ekf",)))
    with pytest.raises(HodographError, match=r"no channel 'imu\.vsa'"):
        export_csv(log, tmp_path / "x.csv", ExportOptions(channels=("imu.vsa",)))


@pytest.mark.parametrize("rate_hz", [30.0, 130.0, 400.0])
def test_on_a_raster_nothing_made_of_an_invalid_row_is_valid(log: LogReader, tmp_path: Path, rate_hz: float) -> None:
    export_parquet(log, tmp_path / "r.parquet", ExportOptions(streams=("vsa_250lm-hybrid",), rate_hz=rate_hz))
    frame = pd.read_parquet(tmp_path / "r.parquet")
    t_ns, vsa, valid = (frame[name].to_numpy() for name in ("t_ns", "vsa", "vsa_valid"))
    assert set(valid) == {0.0, 1.0}
    np.testing.assert_allclose(vsa[valid > 0], 1e-4 * (t_ns[valid > 0] - T0_NS) / STEP_NS, atol=1e-9)
    of_row = (t_ns - T0_NS) / STEP_NS
    both_good = (np.floor(of_row) % 4 != 3) & (np.ceil(of_row) % 4 != 3)
    assert np.array_equal(valid > 0, both_good)


def test_a_flag_has_no_value_where_its_estimate_has_none(log: LogReader, tmp_path: Path) -> None:
    """The IMU goes on for a second: there is no estimate there, so nothing is valid either."""
    export_parquet(log, tmp_path / "r.parquet", ExportOptions(rate_hz=200.0))
    frame = pd.read_parquet(tmp_path / "r.parquet")
    assert np.array_equal(frame["vsa"].isna(), frame["vsa_valid"].isna())
    assert frame["vsa"].isna().sum() == pytest.approx(200, abs=2)


def test_an_exported_estimate_imports_again(log: LogReader, path: Path, tmp_path: Path) -> None:
    export_csv(log, tmp_path / "x.csv", ExportOptions(streams=("vsa_250lm-hybrid",), display_units=True))
    export_csv(log, tmp_path / "r.csv", ExportOptions(rate_hz=100.0))
    for name in ("x", "r"):
        done = CliRunner().invoke(app, ["import", str(tmp_path / f"{name}.csv"), "-o", str(tmp_path / f"{name}.drive")])
        assert done.exit_code == 0, done.output
    again = LogReader(tmp_path / "x.drive").numpy("x")
    assert again.schema.names == SIDESLIP.names
    np.testing.assert_allclose(again["beta_cg_rad"], sideslip()["beta_cg_rad"], rtol=1e-14)
    assert set(LogReader(tmp_path / "r.drive").schema("r").names) > {"beta_cg_rad", "beta_cg_std_rad"}


def test_a_log_whose_readings_are_lost_still_exports_its_estimates(path: Path, tmp_path: Path) -> None:
    (path / "imu.0000.arrow").unlink()
    export_csv(LogReader(path), tmp_path / "x.csv")
    rows = rows_of(tmp_path / "x.csv")[2]
    assert (len(rows), float(rows[0][0])) == (ROWS, 0.0)


def test_health_of_an_estimate(path: Path, log: LogReader) -> None:
    health = estimate_health(log, "vsa_250lm-hybrid")
    assert (health.rows, health.gaps, health.valid_share) == (ROWS, 0, 0.75)
    assert health.rate_hz == pytest.approx(100.0)
    assert health.duration_s == pytest.approx(3.99)
    assert health.beta_cg_std_rad == pytest.approx(0.01)  # of valid rows: the others say 3 rad
    roll = StreamSchema("roll", (Channel("roll_rad", "rad"),))
    write_estimates(path, "roll", StreamData(roll, np.array([T0_NS]), {"roll_rad": np.array([0.1])}))
    nothing = {name: column[:0] for name, column in sideslip().columns.items()}
    write_estimates(path, "none", StreamData(SIDESLIP, sideslip().t_ns[:0], nothing))
    again = LogReader(path)
    for name, rows in (("roll", 1), ("none", 0)):
        health = estimate_health(again, name)
        assert (health.rows, health.valid_share, health.duration_s) == (rows, None, 0.0)
        assert math.isnan(health.beta_cg_std_rad)


def test_info_shows_estimates_and_what_is_lost_of_them(path: Path) -> None:
    write_estimates(path, "vsa_ekf", sideslip(), notes={"model": "250lm.json"})
    done = CliRunner().invoke(app, ["info", str(path)], env={"COLUMNS": "80"})
    assert done.exit_code == 0, done.output
    line = next(line for line in done.output.splitlines() if line.startswith("vsa_250lm-hybrid"))
    assert line.split() == ["vsa_250lm-hybrid", "400", "100.00", "0", "75.0", "%", "0.57"]
    assert all(len(line) <= 80 for line in done.output.splitlines() if line.startswith(("estimate", "vsa_")))
    (path / "estimates" / "vsa_250lm-hybrid.arrow").write_bytes(b"rubbish")
    done = CliRunner().invoke(app, ["info", str(path), "--json"])
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert document["estimates"] == {
        "vsa_ekf": {
            "rows": 400,
            "duration_s": 3.99,
            "rate_hz": 100.0,
            "gaps": 0,
            "valid_share": 0.75,
            "mean_beta_cg_std_rad": pytest.approx(0.01),
            "notes": {"model": "250lm.json"},
        }
    }
    assert set(document["streams"]) == {"imu"}
    assert document["lost"]["estimates/vsa_250lm-hybrid"]["bytes"] == 7
    done = CliRunner().invoke(app, ["export", str(path), "--to", "csv", "-o", str(path.parent / "x.csv")])
    assert done.exit_code == 0, done.output
    assert "lost from estimates/vsa_250lm-hybrid: 7 bytes" in done.stderr
