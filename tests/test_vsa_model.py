"""Sideslip models end to end on simulated drives: every kind trains, runs, joins, saves, and refuses bad data."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sideslip_samples import simulated
from typer.testing import CliRunner

from hodograph.acquisition.log import LogWriter
from hodograph.ann.model import VsaKind, VsaModel, read_model
from hodograph.ann.network import MemorySpec, VsaEstimate
from hodograph.ann.observer import estimate_drive
from hodograph.ann.training import Recipe
from hodograph.cli.main import app
from hodograph.core import Channel, DataError, Frame, HodographError, ModelError, StreamData, StreamSchema
from hodograph.observers.sideslip.channels import CHANNELS, STEER
from hodograph.observers.sideslip.drive import SideslipDrive
from hodograph.observers.sideslip.parameters import SideslipParameters
from hodograph.replay.vsa_drive import check_plausible, check_trainable, read_drive
from hodograph.replay.vsa_score import by_acc_y, by_speed, delay_s, score
from hodograph.replay.vsa_training import Effort, train_model

CAR = SideslipParameters(acc_y_meas_std_mps2=0.5)
QUICK = Recipe(MemorySpec((1.0,), (0.3,), hold_spikes=True), hidden=5, members=2, every=15, max_iter=20, folds=2)
EFFORT = Effort(folds=2, iterations=1, fold_iterations=1)
HEADER = "t,speed,steer,ay,ax,yaw,vy"
MAPPING = """
schema = 1
[[table]]
files = "*.csv"
time = {{ column = "t", unit = "s" }}
[[table.stream]]
name = "all"
[table.stream.channels]
v_x_mps = {{ column = "speed", unit = "m/s" }}
steer_rad = {{ column = "steer", unit = "rad" }}
acc_y_mps2 = {{ column = "ay", unit = "{ay}" }}
acc_x_mps2 = {{ column = "ax", unit = "m/s^2" }}
{yaw}
v_y_mps = {{ column = "vy", unit = "m/s", reference = true }}
"""
YAW = 'gyro_z_radps = { column = "yaw", unit = "rad/s" }'


def drive(seed: int = 0, seconds: float = 40.0) -> SideslipDrive:
    t_s, states, inputs = simulated(CAR, seconds=seconds, seed=seed)
    beta = np.arctan2(states[:, 0], inputs[:, 0])
    return SideslipDrive.sampled(f"drive {seed}", t_s, inputs, beta)


def write_table(path: Path, d: SideslipDrive) -> Path:
    v_y = d.inputs[:, 0] * np.tan(d.beta_rad) if d.beta_rad is not None else np.zeros(len(d.t_s))
    rows = np.column_stack([d.t_s, d.inputs, v_y])
    np.savetxt(path, rows, delimiter=",", header=HEADER, comments="")
    return path


def write_mapping(path: Path, ay: str = "m/s^2", yaw: str = YAW) -> Path:
    path.write_text(MAPPING.format(ay=ay, yaw=yaw), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def hybrid() -> VsaModel:
    return train_model(VsaKind.HYBRID, [drive(0, 30.0)], recipe=QUICK, effort=EFFORT)


@pytest.mark.parametrize("kind", [VsaKind.STATIC, VsaKind.MEMORY])
def test_networks_train_and_run(kind: VsaKind) -> None:
    told: list[float] = []
    model = train_model(kind, [drive(0)], recipe=QUICK, on_progress=lambda _, done, total: told.append(done / total))
    result = score(drive(5), estimate_drive(model, drive(5)))
    assert result.rmse_deg < 0.8
    assert told[-1] == 1.0
    assert told == sorted(told)


def test_hybrid_joins_network_and_filter(hybrid: VsaModel, tmp_path: Path) -> None:
    d = drive(6)
    assert hybrid.filter is not None
    assert hybrid.network is not None
    joint = score(d, estimate_drive(hybrid, d))
    assert joint.rmse_deg < 0.6
    assert joint.coverage_95 > 0.85
    hybrid.save(tmp_path / "m.npz")
    again = read_model(tmp_path / "m.npz")
    np.testing.assert_array_equal(estimate_drive(again, d).beta_rad, estimate_drive(hybrid, d).beta_rad)
    assert again.filter == hybrid.filter or again.filter.parameters == hybrid.filter.parameters  # type: ignore[union-attr]


def test_filter_is_saved_as_json(hybrid: VsaModel, tmp_path: Path) -> None:
    model = VsaModel(VsaKind.EKF, None, hybrid.filter, {"drives": ["x"]})
    model.save(tmp_path / "m.json")
    header = json.loads((tmp_path / "m.json").read_text())
    assert header["schema"] == "hodograph-vsa"
    assert header["version"] == 1
    assert header["channels"]["acc_y_mps2"] == "m/s^2"
    d = drive(6)
    np.testing.assert_array_equal(
        estimate_drive(read_model(tmp_path / "m.json"), d).beta_rad, estimate_drive(model, d).beta_rad
    )


def test_the_filter_alone_notices_nonsense(hybrid: VsaModel) -> None:
    model = VsaModel(VsaKind.EKF, None, hybrid.filter)
    d = drive(6)
    assert estimate_drive(model, d).valid.mean() > 0.95
    d.inputs[:, STEER] *= 3.0  # the steering of quite another car
    assert estimate_drive(model, d).valid.mean() < 0.5


def test_models_that_are_none(tmp_path: Path) -> None:
    for content in (b"", b"{}", b'{"schema": "hodograph-vsa", "version": 99}', b"PK\x03\x04 rubbish"):
        (tmp_path / "m").write_bytes(content)
        with pytest.raises(ModelError, match="m: "):
            read_model(tmp_path / "m")
    with pytest.raises(ModelError, match="cannot be read"):
        read_model(tmp_path / "absent.npz")


def test_score_by_hand() -> None:
    d = drive(0, 20.0)
    assert d.beta_rad is not None
    inputs = d.inputs.copy()
    inputs[:100, 0] = 2.0
    slow = SideslipDrive("x", d.t_ns, inputs, d.beta_rad)
    error = np.radians(np.where(np.arange(len(d.t_s)) % 2, 0.3, -0.1))
    valid = np.arange(len(d.t_s)) >= 1050
    got = score(slow, VsaEstimate(d.t_ns, d.beta_rad + error, np.full(len(error), np.radians(0.1)), valid))
    assert got.n == 1900
    assert got.rmse_deg == pytest.approx(np.sqrt((0.09 + 0.01) / 2))
    assert got.mae_deg == pytest.approx(0.2)
    assert got.max_deg == pytest.approx(0.3)
    assert got.coverage_95 == pytest.approx(0.5)
    assert got.valid_fraction == pytest.approx(0.5)
    estimate = VsaEstimate(d.t_ns, np.roll(d.beta_rad, 7), np.full(len(error), 0.01), valid)
    assert delay_s(d, estimate) == pytest.approx(0.07)
    assert sum(b.n for b in by_acc_y(slow, estimate)) == 1900
    assert sum(b.n for b in by_speed(slow, estimate)) == 1900


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda x: x[:, 2].__imul__(1 / 9.81), "ay is in g"),
        (lambda x: x[:, 4].__imul__(57.3), "yaw rate is in deg/s"),
        (lambda x: x[:, 4].__imul__(-1), "sign"),
        (lambda x: x[:, 0].__imul__(3.6), "km/h"),
        (lambda x: x[:, 1].__imul__(-1), "steer_rad and yaw rate have opposite"),
        (lambda x: x[:, 1].__imul__(57.3), "degrees, or the angle of"),
        (lambda x: x[:, 3].fill(np.nan), "acc_x_mps2 is missing in 100%"),
        (lambda x: x[:, 0].fill(1.0), "never faster than 3 m/s"),
    ],
)
def test_wrong_units_are_one_clear_line(change: object, complaint: str) -> None:
    d = drive(0, 20.0)
    change(d.inputs)  # type: ignore[operator]
    with pytest.raises(DataError, match=complaint) as caught:
        check_plausible(d)
    assert "\n" not in str(caught.value)


def test_too_little_to_learn_from() -> None:
    d = drive(0, 40.0)
    with pytest.raises(DataError, match="want 20 s or more"):
        check_trainable(drive(0, 5.0), needs_reference=True)
    straight = d.inputs * [1, 0.01, 0.02, 1, 0.02]
    with pytest.raises(DataError, match="too little excitation"):
        check_trainable(SideslipDrive("x", d.t_ns, straight, d.beta_rad), needs_reference=True)
    with pytest.raises(DataError, match="no reference"):
        check_trainable(SideslipDrive("x", d.t_ns, d.inputs, None), needs_reference=True)


def test_streams_of_different_rates_are_held_causally(tmp_path: Path) -> None:
    path = tmp_path / "a.drive"
    n = 300
    t_ns = np.arange(n, dtype=np.int64) * 10_000_000
    imu = StreamSchema(
        "imu",
        tuple(Channel(c, u) for c, u in (("acc_x_mps2", "m/s^2"), ("acc_y_mps2", "m/s^2"), ("gyro_z_radps", "rad/s"))),
    )
    slow = StreamSchema("car", (Channel("v_x_mps", "m/s"), Channel("steer_rad", "rad")))
    with LogWriter.create(path) as log:
        log.add_stream(imu)
        log.append_data(StreamData(imu, t_ns, {c: np.arange(n) * 1.0 for c in imu.names}))
        log.add_stream(slow)
        every = t_ns[5:150:10]
        log.append_data(StreamData(slow, every, {c: np.arange(len(every)) + 10.0 for c in slow.names}))
    d = read_drive(path)
    assert np.isnan(d.inputs[4, 0])
    assert d.inputs[5, 0] == 10.0
    assert d.inputs[14, 0] == 10.0
    assert d.inputs[15, 0] == 11.0
    assert np.isnan(d.inputs[-1, 0])  # older than half a second
    with pytest.raises(DataError, match="no rows between"):
        d.between(500.0, None)


def test_a_missing_channel_is_named(tmp_path: Path) -> None:
    table = write_table(tmp_path / "a.csv", drive(0, 5.0))
    with pytest.raises(DataError, match=r"a\.csv: no stream has gyro_z_radps; name it so in the mapping"):
        read_drive(table, write_mapping(tmp_path / "m.toml", yaw=""))


def test_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hybrid: VsaModel) -> None:
    import hodograph.ann.training as training

    monkeypatch.setitem(training.RECIPES, "static", QUICK)  # type: ignore[arg-type]
    table = write_table(tmp_path / "a.csv", drive(0))
    mapping = write_mapping(tmp_path / "m.toml")
    runner = CliRunner()
    model = str(tmp_path / "s.npz")
    done = runner.invoke(app, ["vsa", "train", str(table), "--mapping", str(mapping), "--kind", "static", "-o", model])
    assert done.exit_code == 0, done.output
    done = runner.invoke(
        app, ["vsa", "eval", model, str(table), "--mapping", str(mapping), "--t-min", "10", "--t-max", "20", "--json"]
    )
    result = json.loads(done.stdout)
    assert set(result) == {"rmse_deg", "mae_deg", "max_deg", "n", "coverage_95", "valid_fraction"}
    assert result["n"] == 1000
    out = tmp_path / "out.csv"
    plot = tmp_path / "p.png"
    arguments = ["vsa", "run", model, str(table), "--mapping", str(mapping), "-o", str(out), "--plot", str(plot)]
    done = runner.invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert out.read_text().splitlines()[:2] == ["t,vsa,vsa_std,vsa_valid", "s,deg,deg,1"]
    assert plot.exists()
    assert (tmp_path / "p-residuals.png").exists()
    grams = write_mapping(tmp_path / "g.toml", ay="g")
    done = runner.invoke(app, ["vsa", "eval", model, str(table), "--mapping", str(grams)])
    assert isinstance(done.exception, HodographError)
    assert runner.invoke(app, ["vsa", "train", str(table), "--kind", "magic", "-o", model]).exit_code == 2


def test_estimates_land_in_the_log(tmp_path: Path, hybrid: VsaModel) -> None:
    from hodograph.acquisition.importers import ImportOptions
    from hodograph.acquisition.importers.tables import import_tables
    from hodograph.acquisition.importers.write import write_imported
    from hodograph.acquisition.log import LogReader

    table = write_table(tmp_path / "a.csv", drive(0))
    log = tmp_path / "a.drive"
    write_imported(log, import_tables([table], ImportOptions(mapping=write_mapping(tmp_path / "m.toml"))))
    hybrid.save(tmp_path / "m.npz")
    done = CliRunner().invoke(app, ["vsa", "run", str(tmp_path / "m.npz"), str(log), "--json"])
    assert done.exit_code == 0, done.output
    reader = LogReader(log, verify=True)
    assert reader.estimates == ("vsa_m",)
    said = reader.numpy("vsa_m")
    assert said.schema.names == ("beta_cg_rad", "beta_cg_std_rad", "beta_cg_valid")
    assert [c.unit for c in said.schema.channels] == ["rad", "rad", "1"]
    assert len(said) == reader.rows("all")
    shown = CliRunner().invoke(app, ["info", str(log)])
    assert "vsa_m" in shown.output
    done = CliRunner().invoke(app, ["export", str(log), "--to", "csv", "-o", str(tmp_path / "x.csv"), "--rate", "50"])
    assert done.exit_code == 0, done.output
    assert {"vsa", "vsa_std", "vsa_valid"} <= set((tmp_path / "x.csv").read_text().splitlines()[0].split(","))


@pytest.mark.parametrize("frame", ["sensor", ""])
def test_axes_are_consumed_or_refused(tmp_path: Path, hybrid: VsaModel, frame: str) -> None:
    """A sensor in axes of its own needs a mount; a table that does not say is asked about once, in words."""
    d, log = drive(0, 25.0), tmp_path / "a.drive"
    names = ("acc_x_mps2", "acc_y_mps2", "gyro_z_radps")
    units = {"acc_x_mps2": "m/s^2", "acc_y_mps2": "m/s^2", "gyro_z_radps": "rad/s"}
    imu = StreamSchema("imu", tuple(Channel(n, units[n], Frame(frame)) for n in names))
    car = StreamSchema("car", (Channel("v_x_mps", "m/s"), Channel("steer_rad", "rad")))
    with LogWriter.create(log) as writer:
        for schema in (imu, car):
            writer.add_stream(schema)
            columns = {n: d.inputs[:, list(CHANNELS).index(n)] for n in schema.names}
            writer.append_data(StreamData(schema, d.t_ns, columns))
    VsaModel(VsaKind.EKF, None, hybrid.filter).save(tmp_path / "m.json")
    command, runner = ["vsa", "run", str(tmp_path / "m.json"), str(log)], CliRunner()
    done = runner.invoke(app, command)
    if frame:
        assert isinstance(done.exception, DataError)
        assert "--mount imu=ROLL,PITCH,YAW,X,Y,Z" in str(done.exception)
    else:
        assert done.exit_code == 0
        asked = done.stderr.replace("\n", " ")
        assert asked.count("in whose axes are imu.acc_x_mps2, imu.acc_y_mps2, imu.gyro_z_radps?") == 1
    done = runner.invoke(app, [*command, "--mount", "imu=body"])
    assert done.exit_code == 0, done.output
    assert "axes" not in done.stderr
    for wrong in ("imu=1,2,3", "imu=x", "=body", "imu=nan,0,0,0,0,0"):
        assert runner.invoke(app, [*command, "--mount", wrong]).exit_code == 2, wrong
    done = runner.invoke(app, [*command, "--mount", "nobody=body"])
    assert "no such stream" in str(done.exception)
    done = runner.invoke(app, [*command, "--mount", "imu=10,0,0,0,0,0"])
    assert "needs acc_z_mps2" in str(done.exception)
