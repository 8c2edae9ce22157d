"""For notebooks: what a person may print is one short line, tables escape names of strangers, frames have units."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from display_samples import reached

from hodograph.acquisition.geodesy import EnuFrame, Geodetic
from hodograph.acquisition.importers.mapping import MappingFile
from hodograph.acquisition.log import LogReader, LogWriter
from hodograph.acquisition.log.estimates import write_estimates
from hodograph.acquisition.log.events import Event, EventKind
from hodograph.acquisition.log.loss import Loss
from hodograph.acquisition.rig import rig_from_text
from hodograph.ann.model import VsaKind, VsaModel
from hodograph.ann.network import Domain, MemorySpec, VsaEstimate, VsaNetwork
from hodograph.ann.tansig import TansigNet
from hodograph.bench.linkages.config import LINKAGES, TUNING
from hodograph.bench.linkages.grid import Case, Score
from hodograph.core import Channel, Estimate, Reading, StateLayout, StreamData, StreamSchema, Verdict, read_settings
from hodograph.multibody.car.car import Car
from hodograph.multibody.model.build import build
from hodograph.multibody.model.mechanism import shipped_mechanism
from hodograph.observers.conformance import STEP_NS, pushed_rail
from hodograph.observers.conformance import simulate as simulate_case
from hodograph.observers.events import StreamColumns, events_of_columns, run_events
from hodograph.observers.on_mechanism.mechanism import engine, observer
from hodograph.observers.on_mechanism.recipes import RECIPES
from hodograph.observers.on_mechanism.uncertainty import Uncertainty, unknown_point_forces
from hodograph.observers.sideslip.drive import Heard, SideslipDrive
from hodograph.observers.sideslip.observer import engine_for, run_drive, sideslip_observer
from hodograph.observers.sideslip.parameters import FilterPart, SideslipParameters
from hodograph.observers.smoothing import smooth
from hodograph.observers.tools import Tuned, whiteness
from hodograph.replay.data_frames import std_name, to_pandas
from hodograph.replay.evaluate import Contender, evaluate
from hodograph.replay.exporters import ExportOptions
from hodograph.replay.motion import simulate
from hodograph.sensors import Encoder, Gyroscope, Quality, SensorGroup
from hodograph.twin.lap import synthetic_lap
from hodograph.vehicles.file import read_vehicle_file, shipped_files

ROOT = Path(__file__).parents[1]
LONGEST = 300
EVIL = "<script>alert(1)<b>"
NOT_PRINTED = {"Filter"}
"""Stands in the key of every filter's machine code, and is reached by nobody who prints."""


@cache
def car() -> Car:
    return Car.of("xbw")


@cache
def sideslip() -> SideslipDrive:
    t_s = 0.01 * np.arange(300)
    inputs = np.column_stack([20.0 + 0.0 * t_s, 0.02 * np.sin(t_s), np.sin(t_s), 0.0 * t_s, 0.05 * np.sin(t_s)])
    return SideslipDrive.sampled("<i>monday", t_s, inputs, 0.01 * np.sin(t_s))


@cache
def network() -> VsaNetwork:
    net = TansigNet(np.zeros((9, 5)), np.zeros(9), np.zeros(9), 0.0, np.zeros(5), np.ones(5), 0.0, 0.0, 1.0, 0.0)
    domain = Domain(np.zeros((7, 5)), np.zeros((7, 5, 5)), 9.0, np.zeros(5), np.ones(5))
    return VsaNetwork(MemorySpec(tuple(0.1 * k for k in range(40))), (net,) * 5, domain, np.zeros(12))


def mechanism_objects() -> list[Any]:
    model = build(shipped_mechanism("fourbar"))
    unsure = Uncertainty(1e-4, 0.05, 0.05, unknown_point_forces(model, 1e-5, 0.04))
    group = SensorGroup("group", tuple(Encoder(f"a_long_name_{k}", "theta", Quality(0.01)) for k in range(9)))
    truth = simulate(model, 0.2)
    result = evaluate(truth, {EVIL: Contender("force_ekf", unsure)}, [group], uncertainty=unsure, seeds=range(2))
    case = pushed_rail()
    online = observer(case.problem, "force_ekf")
    batch = engine(case.problem, "force_ekf")
    run = batch.run(np.zeros((30, 2)), for_smoother=True)
    for reading in simulate_case(case, 30, 1)[1]:
        online.correct(reading)
    column = StreamColumns(batch.streams["rate"], np.arange(9) * STEP_NS, np.zeros((9, 1)))
    nodes = run_events(engine(case.problem, "dekf_ej"), events_of_columns([column]), 9)
    return [
        truth, result, result.figures(EVIL), case, online, online.estimate, batch, run, smooth(run), nodes, column,
        RECIPES, whiteness(np.random.default_rng(0).standard_normal(500), np.ones(500), 100.0),
        Tuned(np.zeros(90), 0.0, 1.0), engine(result_problem(truth.model), "ukf_tr"),
    ]  # fmt: skip


def result_problem(model: Any) -> Any:
    problem = pushed_rail().problem
    sensors = [Gyroscope("gyro", "coupler", Quality(0.01))]
    from hodograph.sensors import mount

    return replace(problem, model=model, sensors=mount(model, sensors), uncertainty=Uncertainty(0.1, 0.1, 0.1),
                   start=simulate(model, 0.01).states[0])  # fmt: skip


def sideslip_objects() -> list[Any]:
    part = FilterPart(SideslipParameters(), limits={f"parameter_{k}": (0.0, 1.0) for k in range(30)})
    drive = sideslip()
    estimate = VsaEstimate(drive.t_ns, drive.inputs[:, 0], drive.inputs[:, 1], drive.t_ns > 0)
    engine_ = engine_for(part, drive)
    return [
        drive, part, drive.sources, run_drive(engine_, drive), engine_, estimate, network(), network().domain,
        VsaModel(VsaKind.EKF, filter=part), VsaModel(VsaKind.STATIC, network()), Heard(drive.t_ns, drive.inputs),
        sideslip_observer(part, drive.sources),
    ]  # fmt: skip


def log_objects(folder: Path) -> list[Any]:
    log = strange_log(folder)
    rig = 'schema = 1\nname = "k"\n[sensors.gnss]\nport = "/dev/ttyACM0"\nbaud = 115200\nprotocol = "nmea"\n'
    mappings = [read_settings(path, MappingFile) for path in sorted((ROOT / "examples/mappings").glob("*.toml"))]
    assert len(mappings) > 5
    east = EnuFrame(Geodetic(latitude_rad=0.9, longitude_rad=0.1, height_m=0.0))
    return [
        log, log.meta, log.schema("imu"), log.numpy("imu"), log.lost, rig_from_text(rig), *mappings, east,
        Geodetic(latitude_rad=np.zeros(90), longitude_rad=np.zeros(90), height_m=np.zeros(90)), ExportOptions(),
        Event(1, EventKind.NOTE, "imu", 0, 0, "a\nlong text " * 90), Loss(1, 2, "many\nreasons; " * 90, 0.1, 0.2),
        Reading(1, "imu", tuple(map(float, range(90)))),
    ]  # fmt: skip


def other_objects() -> list[Any]:
    standing = car().settle()
    return [
        car(), standing, car().drive(standing, {"rack_m": np.zeros(4)}), synthetic_lap(), TUNING, LINKAGES,
        [read_vehicle_file(name) for name in shipped_files()], car().stepper,
        Score(Case("fourbar", "encoder_crank", "dekf", 200, "high"), 0.01, False, 0.01),
    ]  # fmt: skip


def strange_log(folder: Path) -> LogReader:
    """A log whose folder and estimate have names that a page must not run; one segment is cut."""
    path = folder / f"{EVIL}.drive"
    channels = tuple(Channel(f"acc_{k}_mps2", "m/s^2", description=EVIL) for k in range(60))
    schema = StreamSchema("imu", channels)
    data = StreamData(schema, np.arange(50) * 10_000_000, {c.name: np.zeros(50) for c in channels})
    with LogWriter.create(path, vehicle_toml="name = 'x'\n" * 200, notes={EVIL: EVIL}) as writer:
        writer.add_stream(schema)
        writer.append_data(data)
        writer.add_raw("gnss_raw")
        writer.append_raw("gnss_raw", 5, b"$GP" * 100)
    beta = StreamSchema("vsa", (Channel("beta_cg_rad", "rad"),))
    written = write_estimates(path, "vsa", StreamData(beta, data.t_ns, {"beta_cg_rad": np.zeros(50)}))
    written.rename(written.with_name("vsa_<u>.arrow"))  # as a stranger can
    return LogReader(path)


ROOTS = {"mechanism": mechanism_objects, "sideslip": sideslip_objects, "log": log_objects, "others": other_objects}


@pytest.mark.parametrize("room", ROOTS)
def test_whatever_a_person_prints_is_one_short_line(room: str, tmp_path: Path) -> None:
    make: Any = ROOTS[room]
    seen: dict[int, object] = {}
    kept = make(tmp_path) if room == "log" else make()
    reached(kept, seen, tables=False)
    found = {type(v).__name__: repr(v) for v in seen.values() if type(v).__name__ not in NOT_PRINTED}
    long = {name: text for name, text in found.items() if len(text) > LONGEST or "\n" in text or "array([" in text}
    assert long == {}
    assert len(found) >= 8
    nameless = [name for name, text in found.items() if " object at 0x" in text]
    assert nameless == []


def without_repr(source: str) -> list[str]:
    """Public dataclasses of a module that hold arrays and leave their repr to the decorator."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
            continue
        if not any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list):
            continue
        held = [ast.unparse(n) for n in node.body if isinstance(n, ast.AnnAssign)]
        own = any("__repr__" in ast.unparse(n).split("=")[0] for n in node.body if not isinstance(n, ast.AnnAssign))
        if not own and any(re.search(r"\b(Array|NDArray|FloatOrArray)\b", text.split("=")[0]) for text in held):
            found.append(node.name)
    return found


def test_every_dataclass_with_arrays_in_it_has_a_repr_of_its_own() -> None:
    found = []
    for mark in sorted(ROOT.glob("*/py.typed")):
        for path in sorted(mark.parent.rglob("*.py")):
            found += without_repr(path.read_text(encoding="utf-8"))
    assert sorted(set(found) - NOT_PRINTED) == []
    assert without_repr("@dataclass\nclass A:\n    x: Array\n") == ["A"]
    assert without_repr("@dataclass\nclass A:\n    x: Array\n    __repr__ = short_repr\n") == []


def test_the_line_says_what_it_is(tmp_path: Path) -> None:
    log = strange_log(tmp_path)
    assert repr(log).startswith(f"LogReader({EVIL}.drive: 0.49 s; streams imu; estimates vsa_<u>")
    case = pushed_rail()
    made = observer(case.problem, "force_ekf")
    assert repr(made) == "OnlineObserver(MechanismEngine at 0 ns; no readings yet)"
    made.correct(Reading(STEP_NS, "position", (0.1,)))
    assert repr(made) == "OnlineObserver(MechanismEngine at 10000000 ns; position 1 USED)"
    assert repr(case.problem) == "Problem(rail, steps of 0.01 s, 1 disturbance; reads position, rate)"
    assert repr(made.engine).startswith("MechanismEngine(Ekf on rail, at 0.01 s")
    assert repr(case.problem.uncertainty.disturbances[0]).startswith("Disturbance(force_P.x, FORCE: std 0.5")
    run = engine(case.problem, "force_ekf").run(np.zeros((5, 2)))
    assert repr(run) == "Run(5 steps of 3 rows)"
    assert repr(replace(run, done=2)) == "Run(5 steps of 3 rows, lost after 2)"
    assert "300 rows, 2.99 s, 100 Hz" in repr(run_drive(engine_for(SideslipParameters(), sideslip()), sideslip()))


def test_verdicts_print_as_words() -> None:
    verdict = Verdict(2)
    assert [str(verdict), repr(verdict), f"{verdict}", f"{verdict:>6}", f"{[verdict]}"] == [
        "GATED", "GATED", "GATED", " GATED", "[GATED]",
    ]  # fmt: skip


def test_tables_of_notebooks_escape_the_names_of_strangers(tmp_path: Path) -> None:
    log = strange_log(tmp_path)
    layout = StateLayout((EVIL, "b_rad"))
    estimate = Estimate(5, layout, np.zeros(2), np.eye(2), {EVIL: Verdict.GATED})
    nodes = replace(mechanism_nodes(), layout=layout)
    drive = sideslip()
    run = replace(run_drive(engine_for(SideslipParameters(), drive), drive), layout=StateLayout(tuple("abcdef<h")))
    vsa = VsaEstimate(drive.t_ns, drive.inputs[:, 0], drive.inputs[:, 1], drive.t_ns > 0)
    for thing in (log, estimate, nodes, run, vsa):
        page = thing._repr_html_()
        assert page.startswith("<table>")
        tags = set(re.findall(r"<(\w+)", page))
        assert tags <= {"table", "caption", "tr", "th", "td"}, type(thing)
    page = log._repr_html_()
    assert "&lt;script&gt;" in page
    assert "acc_0_mps2 [m/s^2]" in page
    assert ">50<" in page
    assert "raw bytes" in page


def mechanism_nodes() -> Any:
    problem = replace(pushed_rail().problem, uncertainty=Uncertainty(0.1, 0.1, 0.1))
    made = engine(problem, "dekf")
    column = StreamColumns(made.streams["rate"], np.arange(9) * STEP_NS, np.full((9, 1), 0.5))
    return run_events(made, events_of_columns([column]), 9)


def test_a_log_that_lost_something_says_so(tmp_path: Path) -> None:
    log = strange_log(tmp_path)
    segment = next(log.path.glob("imu.*"))
    segment.write_bytes(segment.read_bytes()[:-3000])
    cut = LogReader(log.path)
    assert "imu" in cut.lost
    assert "; lost: imu" in repr(cut)
    assert "imu: lost" in cut._repr_html_()


def test_estimates_and_drives_become_frames(tmp_path: Path) -> None:
    nodes = mechanism_nodes()
    frame = to_pandas(nodes)
    assert list(frame.columns) == ["P.x_m", "P.x_std_m", "P.x_dot_mps", "P.x_dot_std_mps", "valid"]
    assert np.array_equal(frame["P.x_dot_std_mps"], nodes.std[:, 1])
    assert np.array_equal(frame.index, nodes.t_ns)
    assert frame.attrs["units"] == {"P.x_m": "m", "P.x_std_m": "m", "P.x_dot_mps": "m/s", "P.x_dot_std_mps": "m/s",
                                    "valid": "1"}  # fmt: skip
    drive = sideslip()
    frame = to_pandas(drive)
    assert list(frame.columns) == ["v_x_mps", "steer_rad", "acc_y_mps2", "acc_x_mps2", "gyro_z_radps", "beta_cg_rad"]
    assert np.array_equal(frame["acc_y_mps2"], drive.inputs[:, 2])
    assert "beta_cg_rad" not in to_pandas(replace(drive, beta_rad=None))
    run = run_drive(engine_for(SideslipParameters(), drive), drive)
    assert np.array_equal(to_pandas(run)["beta_cg_rad"], run["beta_cg_rad"], equal_nan=True)
    vsa = VsaEstimate(drive.t_ns, drive.inputs[:, 0], drive.inputs[:, 1], drive.t_ns > 0)
    assert list(to_pandas(vsa).columns) == ["beta_cg_rad", "beta_cg_std_rad", "valid"]
    log = strange_log(tmp_path)
    assert to_pandas(log.numpy("imu")).equals(log.pandas("imu"))


def test_estimates_one_by_one_become_frames() -> None:
    made, series = observer(pushed_rail().problem, "force_ekf"), []
    for k in range(4):
        made.correct(Reading(k * STEP_NS, "position", (0.1 * k,)))
        series.append(made.estimate)
    one = to_pandas(series[-1])
    assert list(one.index) == ["P.x_m", "P.x_dot_mps", "force_P.x"]
    assert one.loc["P.x_m", "std"] == pytest.approx(series[-1].std("P.x_m"))
    assert list(one["unit"]) == ["m", "m/s", "1"]
    frame = to_pandas(series)
    assert list(frame.index) == [k * STEP_NS for k in range(4)]
    assert frame["P.x_m"].iloc[-1] == series[-1]["P.x_m"]
    assert frame["P.x_std_m"].iloc[2] == pytest.approx(series[2].std("P.x_m"))
    other = Estimate(5, StateLayout(("b_rad",)), np.zeros(1), np.eye(1))
    with pytest.raises(ValueError, match="several observers"):
        to_pandas([series[0], other])
    assert std_name("force_P.x") == "force_P.x_std"


def test_motions_and_the_car_become_frames() -> None:
    truth = simulate(build(shipped_mechanism("fourbar")), 0.05)
    frame = to_pandas(truth)
    assert list(frame.columns) == ["theta_rad", "theta_dot_radps"]
    assert frame.index[-1] == 50_000_000
    drive = car().drive(car().settle(), {"rack_m": np.zeros(4)})
    frame = to_pandas(drive)
    assert np.array_equal(frame["load_rl_n"], drive.load_n[:, 2])
    assert np.array_equal(frame["body_y_mps"], drive.body_mps[:, 1])
    assert np.array_equal(frame["yaw_rad"], drive.rpy_rad[:, 2])
    assert frame.attrs["units"]["slip_x_fl_mps"] == "m/s"
    result = evaluate(truth, ["dekf"], [Encoder("e", "theta", Quality(0.1))], uncertainty=Uncertainty(0.1, 0.1, 0.1))
    assert to_pandas(result).equals(result.to_pandas())


@pytest.mark.parametrize("thing", [None, [], [1], "text", np.zeros(3)])
def test_what_is_no_table_is_refused_by_name(thing: Any) -> None:
    with pytest.raises(ValueError, match=f"no data frame of a {type(thing).__name__}"):
        to_pandas(thing)
