"""Files of format 1 must open ever after: a log, vehicles, sideslip models. They are never written again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from indication_samples import synthetic_drive
from typer.testing import CliRunner

from hodograph.acquisition.log import Event, EventKind, LogReader
from hodograph.acquisition.rig import rig_from_text
from hodograph.ann.model import read_model
from hodograph.ann.observer import estimate_drive
from hodograph.cli.main import app
from hodograph.core import NO_SENSOR_TIME_NS, Array, Reading
from hodograph.observers.sideslip.drive import SideslipDrive
from hodograph.observers.sideslip.vehicle import sideslip_vehicle_from_text
from hodograph.vehicles.file import SIDESLIP_FILTER, USES, read_vehicle_file

FOLDER = Path(__file__).parent / "fixtures"
MODELS = {
    "ekf": "model-1-ekf.json",
    "static": "model-1-static.npz",
    "memory": "model-1-memory.npz",
    "hybrid": "model-1-hybrid.npz",
}
VEHICLES = {"vehicle-1-car.toml": tuple(USES), "vehicle-1-header.toml": (SIDESLIP_FILTER,)}
START_NS = 1_000_000_000


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A copy, so that nothing can write into the original."""
    return Path(shutil.copytree(FOLDER / "log-1.drive", tmp_path / "log-1.drive"))


def test_the_log_is_whole(log: Path) -> None:
    reader = LogReader(log, verify=True)
    assert dict(reader.lost) == {}
    assert {name: reader.rows(name) for name in reader.streams} == {"car": 200, "gnss": 20, "imu": 400}
    assert reader.raw_streams == ("gnss_raw",)
    assert reader.rows("gnss_raw") == 80
    assert reader.span_ns == (START_NS, START_NS + 3_990_000_000)
    assert len(list(reader.readings())) == 620


def test_channels_have_their_names_units_and_frames(log: Path) -> None:
    reader = LogReader(log)
    imu = reader.schema("imu")
    assert [(c.name, c.unit, str(c.frame), c.rate_hz, c.description) for c in imu.channels] == [
        ("acc_x_mps2", "m/s^2", "body", 100.0, "forward"),
        ("acc_y_mps2", "m/s^2", "body", 100.0, "left"),
        ("gyro_z_radps", "rad/s", "body", 100.0, "counter-clockwise"),
    ]
    assert (imu.dtype, imu.description) == ("float32", "on the tunnel, by formula")
    car = reader.schema("car")
    assert [(c.name, c.unit, str(c.frame)) for c in car.channels] == [
        ("v_x_mps", "m/s", "body"),
        ("steer_rad", "rad", "wheel"),
    ]
    assert car.dtype == "float64"
    gnss = {c.name: c.unit for c in reader.schema("gnss").channels}
    assert gnss["latitude_rad"] == "rad"
    assert gnss["std_up_m"] == "m"
    assert gnss["speed_mps"] == "m/s"


def test_values_are_those_of_the_formula_they_were_made_by(log: Path) -> None:
    reader = LogReader(log)
    _, inputs = synthetic_drive()
    imu, car = reader.numpy("imu"), reader.numpy("car")
    assert np.array_equal(imu.t_ns, START_NS + 10_000_000 * np.arange(400))
    for name, column in (("acc_x_mps2", 3), ("acc_y_mps2", 2), ("gyro_z_radps", 4)):
        np.testing.assert_allclose(imu[name], inputs[:400, column], rtol=1e-6, atol=1e-6)
    for name, column in (("v_x_mps", 0), ("steer_rad", 1)):
        np.testing.assert_allclose(car[name], inputs[:400:2, column], rtol=1e-12, atol=1e-15)
    assert imu.t_sensor_ns is not None
    assert car.t_sensor_ns is None
    assert imu.t_sensor_ns[:9].tolist() == [*(10_000_000 * k for k in range(7)), NO_SENSOR_TIME_NS, 80_000_000]
    first = next(iter(reader.readings(["car"])))
    assert first == Reading(START_NS, "car", (25.0, 0.0), None)


def test_the_raw_bytes_decode_to_the_fixes_beside_them(log: Path) -> None:
    reader = LogReader(log)
    assert b"".join(chunk for _, chunk in reader.raw("gnss_raw")).startswith(
        b"$GNGGA,093000.00,4319.9500006,N,00824.6360072,W,4,18,0.6,24.7219"
    )
    rig = rig_from_text(reader.meta.rig_toml or "")
    decoder = rig.sensors["gnss"].decoder("gnss")
    again = [reading for t_ns, chunk in reader.raw("gnss_raw") for reading in decoder.feed(chunk, t_ns)]
    again += decoder.flush()
    stored = list(reader.readings(["gnss"]))
    assert [r.t_ns for r in again] == [r.t_ns for r in stored]
    np.testing.assert_allclose([r.values for r in again], [r.values for r in stored], rtol=1e-12)
    assert stored[0].t_sensor_ns == 1_780_306_200_000_000_000  # 2026-06-01 09:30 UTC
    assert stored[0].values[:5] == pytest.approx((0.7562947982949757, -0.14679266416263018, 72.0219, 4.0, 18.0))


def test_events_and_header(log: Path) -> None:
    reader = LogReader(log)
    assert reader.events == (
        Event(1_500_000_000, EventKind.GAP, "imu", 20_000_000, 0, "a gap, 50 °"),
        Event(2_000_000_000, EventKind.DROP, "imu", 0, 7, "a drop, 50 °"),
        Event(2_500_000_000, EventKind.RECONNECT, "imu", 0, 0, "a reconnect, 50 °"),
        Event(3_000_000_000, EventKind.CLOCK_JUMP, "imu", -3_000_000, 0, "a clock_jump, 50 °"),
        Event(3_500_000_000, EventKind.MARKER, "", 0, 0, "a marker, 50 °"),
        Event(4_000_000_000, EventKind.NOTE, "", 0, 0, "a note, 50 °"),
    )
    meta = reader.meta
    assert (meta.schema, meta.software) == (1, "hodograph 0.1.0")
    assert meta.notes["purpose"] == "format 1, to be opened ever after; β"
    assert sideslip_vehicle_from_text(meta.vehicle_toml or "", "fixture").name == "250lm"


def test_info_prints_the_log(log: Path) -> None:
    done = CliRunner().invoke(app, ["info", str(log)])
    assert done.exit_code == 0, done.output
    assert "nothing lost" in done.output
    done = CliRunner().invoke(app, ["info", str(log), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["created_utc"].startswith("2026-11-")


def test_estimates_in_the_log_open_and_come_out_again(log: Path) -> None:
    """Those of the former form under today's names, and those of today's run of the same model beside them."""
    names = ("beta_cg_rad", "beta_cg_std_rad", "beta_cg_valid")
    stored = LogReader(log).numpy("vsa_hybrid")
    assert stored.schema.names == names
    assert stored.t_ns.tolist() == (START_NS + 10_000_000 * np.arange(400)).tolist()
    done = CliRunner().invoke(app, ["vsa", "run", str(FOLDER / MODELS["hybrid"]), str(log)])
    assert done.exit_code == 0, done.output
    reader = LogReader(log, verify=True)
    assert reader.estimates == ("vsa_hybrid", "vsa_model-1-hybrid")
    again = reader.numpy("vsa_model-1-hybrid")
    assert np.array_equal(again.t_ns, stored.t_ns)
    for name, tolerance in zip(names, (5e-4, 5e-4, 0.0), strict=True):
        np.testing.assert_allclose(again[name][20:], stored[name][20:], rtol=0, atol=tolerance)
    assert dict(reader.lost) == {}


def samples() -> dict[str, Array]:
    path = FOLDER / "model-1.csv"
    names = path.read_text(encoding="utf-8").partition("\n")[0].split(",")
    return dict(zip(names, np.loadtxt(path, delimiter=",", skiprows=1, unpack=True), strict=True))


@pytest.mark.parametrize("kind", MODELS)
def test_a_model_of_each_kind_says_what_it_said(kind: str) -> None:
    """Within a thousandth of a degree; how its numbers move from version to version, `test_indication` watches."""
    table = samples()
    inputs = np.column_stack([table[n] for n in ("v_x_mps", "steer_rad", "acc_y_mps2", "acc_x_mps2", "gyro_z_radps")])
    model = read_model(FOLDER / MODELS[kind])
    assert str(model.kind) == kind
    assert (model.network is None) == (kind == "ekf")
    assert (model.filter is None) == (kind in ("static", "memory"))
    assert model.trained_on["drives"] == ["simulated, seed 0"]
    said = estimate_drive(model, SideslipDrive.sampled(kind, table["t_s"], inputs))
    np.testing.assert_allclose(said.beta_rad, table[f"{kind}_beta_rad"], rtol=0, atol=2e-5)
    np.testing.assert_allclose(said.std_rad, table[f"{kind}_beta_rad_std"], rtol=1e-3)
    assert np.array_equal(said.valid, table[f"{kind}_valid"] > 0)
    assert 0.2 < said.valid.mean() < 1.0


@pytest.mark.parametrize("name", VEHICLES)
def test_a_vehicle_file_serves_what_it_served(name: str) -> None:
    """Of schema 1, where [chassis] was the sprung body in one and the header in the other."""
    file = read_vehicle_file(FOLDER / name)
    assert file.serves() == VEHICLES[name]
    assert file.tables.schema == 2


def test_every_fixture_is_opened() -> None:
    found = {p.name for p in FOLDER.iterdir()}
    assert found == {"README.md", "log-1.drive", "model-1.csv", *MODELS.values(), *VEHICLES}
