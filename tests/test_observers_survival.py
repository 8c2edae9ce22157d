"""Every observer through garbage, impossible times and readings of the wrong shape: linkages, sideslip, networks."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sideslip_samples import simulated
from test_observers_conformance import CASES

from hodograph.ann.model import read_model
from hodograph.ann.observer import model_observer
from hodograph.core import Reading, Verdict
from hodograph.multibody.model.build import build
from hodograph.multibody.model.mechanism import shipped_mechanism
from hodograph.multibody.motion.kinematics import from_independent
from hodograph.multibody.steps.stepper import Stepper
from hodograph.observers.conformance import STEP_NS, rail, simulate
from hodograph.observers.on_mechanism.mechanism import MechanismEngine, observer
from hodograph.observers.on_mechanism.problem import Problem
from hodograph.observers.on_mechanism.recipes import RECIPES
from hodograph.observers.on_mechanism.uncertainty import Uncertainty, gravity_error
from hodograph.observers.online import OnlineObserver
from hodograph.observers.protocol import Observer
from hodograph.observers.sideslip.observer import sideslip_observer
from hodograph.observers.sideslip.parameters import FilterPart, SideslipParameters
from hodograph.observers.sideslip.sources import Sources
from hodograph.observers.survival import SECOND_NS, SURVIVAL, Trial, check_far_prediction, check_recovers, check_repeats
from hodograph.sensors import Encoder, Gyroscope, Quality, RateEncoder, mount

NAMES = sorted(RECIPES)
BANDS = {"error_ekf_adaptive": 6.0}  # it adapts its noise, so its band is no promise


@cache
def on_a_rail(name: str) -> Trial:
    """Every recipe on the case that the conformance suite holds it to."""
    case = CASES.get(name, rail)()
    states, readings = simulate(case, 2000, 7)
    rows = case.problem.layout.names[:2]

    def truth(t_ns: int) -> Mapping[str, float]:
        return dict(zip(rows, states[min(t_ns // STEP_NS, len(states) - 1)], strict=False))

    def make() -> Observer:
        return observer(case.problem, name)

    return Trial(make, tuple(readings), truth, begin_s=3.0, band=BANDS.get(name, 3.0))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("check", SURVIVAL)
def test_survives_on_a_rail(name: str, check: Callable[[Trial], None]) -> None:
    # Free fall makes 300 m in the five seconds of garbage, so the estimators of gravity are tried on a four-bar.
    falls = name.startswith("gravity") and check in (check_recovers, check_far_prediction)
    if falls:
        check_recovers(on_a_fourbar(name), together=False) if check is check_recovers else check(on_a_fourbar(name))
    else:
        check(on_a_rail(name))


@cache
def on_a_fourbar(name: str) -> Trial:
    """A four-bar whose model is right, with a gyroscope on the coupler and an encoder and its rate on the crank."""
    model = build(shipped_mechanism("fourbar"))
    sensors = mount(
        model,
        [
            Encoder("angle", "theta", Quality(0.02)),
            RateEncoder("rate", "theta", Quality(0.05)),
            Gyroscope("gyro", "coupler", Quality(0.05)),
        ],
    )
    start = Stepper(model).start()
    stepper, rng = Stepper(model), np.random.default_rng(11)
    z, readings, visited = int(model.independent[0]), [], []
    states = stepper.run(start, 0.005, 4000)
    for k in range(len(states.t_s)):
        q, qd, qdd = states.q[k], states.qd[k], states.qdd[k]
        visited.append((q[z], qd[z]))
        h = sensors.h(q, qd, qdd)
        for row, stream in enumerate(("angle", "rate", "gyro")):
            if k > 0 and k % (4, 3, 2)[row] == 0:
                value = h[row] + np.sqrt(sensors.table.var[row]) * rng.standard_normal()
                readings.append(Reading(k * 5_000_000, stream, (float(value),)))
    unknown = (gravity_error(model, 1e-4, 0.3),) if name.startswith("gravity") else ()
    problem = Problem(model, sensors, Uncertainty(0.2, 0.1, 0.1, unknown), start, 0.005)
    names = problem.layout.names

    def truth(t_ns: int) -> Mapping[str, float]:
        return dict(zip(names, visited[min(t_ns // 5_000_000, len(visited) - 1)], strict=False))

    return Trial(lambda: observer(problem, name), tuple(readings), truth, begin_s=3.0)


# Filters on all coordinates are not among them: after garbage on all sensors their constraints pull the four-bar into
# its other assembly, where it stays.
@pytest.mark.parametrize("name", ["dekf", "error_ekf", "error_ekf_ej", "cekf", "ukf_tr", "srukf"])
def test_survives_on_a_fourbar(name: str) -> None:
    check_recovers(on_a_fourbar(name), together=False)


CAR = SideslipParameters()
STREAMS = {"speed": ("v_x_mps",), "steering": ("steer_rad",), "imu": ("acc_x_mps2", "acc_y_mps2", "gyro_z_radps")}
INPUTS = frozenset({"speed", "steering"})
MODELS = Path(__file__).parent / "fixtures"


def in_a_car(kind: str) -> Trial:
    """The sideslip filter, or a model of it, with three sensors of their own rates."""
    t_s, states, inputs = simulated(CAR, seconds=28 if kind == "memory" else 21)
    t_ns = np.round(t_s * 1e9).astype(np.int64)
    readings = []
    for k, (v_x, steer, a_y, a_x, r) in enumerate(inputs):
        if k % 5 == 0:
            readings.append(Reading(int(t_ns[k]), "speed", (v_x,)))
        if k % 2 == 0:
            readings.append(Reading(int(t_ns[k]), "steering", (steer,)))
        readings.append(Reading(int(t_ns[k]), "imu", (a_x, a_y, r)))
    beta = np.arctan2(states[:, 0], inputs[:, 0])

    def truth(at_ns: int) -> Mapping[str, float]:
        return {"beta_cg_rad": float(beta[min(round(at_ns * 1e-7), len(beta) - 1)])}

    sources = Sources(STREAMS)
    if kind == "filter":
        part = FilterPart(CAR, nis_limit=6.0)
        return Trial(lambda: sideslip_observer(part, sources), tuple(readings), truth, begin_s=4.0, inputs=INPUTS)
    model = read_model(MODELS / f"model-1-{kind}.{'json' if kind == 'ekf' else 'npz'}")
    well_s = 8.0 if kind == "memory" else 5.0  # its filters forget within seconds
    return Trial(
        lambda: model_observer(model, sources), tuple(readings), truth, begin_s=4.0, band=4.0, inputs=INPUTS,
        well_s=well_s,
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["filter", "ekf", "static", "memory", "hybrid"])
@pytest.mark.parametrize("check", SURVIVAL)
def test_survives_in_a_car(kind: str, check: Callable[[Trial], None]) -> None:
    check(in_a_car(kind))


@pytest.mark.parametrize("kind", ["filter", "static", "memory", "hybrid"])
def test_late_in_a_car_is_as_in_time(kind: str) -> None:
    trial = in_a_car(kind)
    in_time, late = trial.make(), trial.make()
    readings = trial.readings[:900]
    for reading in readings:
        in_time.correct(reading)
    held = readings[-9]
    for reading in (*readings[:-9], *readings[-8:]):
        late.correct(reading)
    assert late.correct(held) in (Verdict.LATE, Verdict.USED)
    assert np.array_equal(late.estimate.x, in_time.estimate.x)
    assert np.array_equal(late.estimate.P, in_time.estimate.P)


@pytest.mark.parametrize("name", ["error_ekf", "ukf_tr"])
def test_a_gap_is_the_same_however_one_asks(name: str) -> None:
    trial = on_a_rail(name)
    at_once, often = trial.make(), trial.make()
    for reading in trial.readings[:200]:
        at_once.correct(reading)
        often.correct(reading)
    begin_ns = trial.readings[199].t_ns
    for k in range(1, 80):
        often.predict_to(begin_ns + k * SECOND_NS // 2)
    at_once.predict_to(begin_ns + 79 * SECOND_NS // 2)
    assert np.array_equal(often.estimate.x, at_once.estimate.x)
    assert np.array_equal(often.estimate.P, at_once.estimate.P)
    assert often.estimate.valid == at_once.estimate.valid


def pickled(one: Observer) -> int:
    return len(pickle.dumps(one))


@pytest.mark.parametrize("trial", [on_a_rail("error_ekf"), in_a_car("filter")], ids=["linkage", "car"])
def test_many_readings_of_one_stamp_need_no_more_room(trial: Trial) -> None:
    check_repeats(trial, pickled, 4000)


@pytest.mark.parametrize("name", ["ukf_tr", "error_ekf", "cekf"])
def test_a_gap_of_half_a_minute_does_not_end_in_starts_anew(name: str) -> None:
    trial = on_a_fourbar(name)
    made = trial.make()
    assert isinstance(made, OnlineObserver)
    for reading in trial.readings:
        if reading.t_ns < 3_000_000_000:
            made.correct(reading)
    made.predict_to(32_000_000_000)
    assert isinstance(made.engine, MechanismEngine)
    assert made.engine.node.counts[1] <= 1.0
    assert np.isfinite(made.estimate.P).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_very_precise_sensor_is_usable(name: str) -> None:
    case = CASES.get(name, rail)()
    p = case.problem
    coordinate = p.model.names[p.model.independent[0]]
    sensors = mount(p.model, [Encoder("position", coordinate, Quality(1e-9))])
    start = from_independent(p.model, 0.0, p.start.q[p.model.independent], np.zeros(1), p.start.q)
    made = observer(Problem(p.model, sensors, p.uncertainty, start, p.step_s), name)
    verdicts = [
        made.correct(Reading(k * STEP_NS, "position", (float(case.x0[0] + 5e-5 * k**2),)))
        for k in range(1, 200)
    ]  # fmt: skip
    assert verdicts.count(Verdict.USED) > 180
    e = made.estimate
    assert np.isfinite(e.x).all()
    assert abs(e.x[0] - case.x0[0] - 0.5 * 1.99**2) < 1e-4
