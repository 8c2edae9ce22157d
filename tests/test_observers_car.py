"""A filter on the car: without readings it is the stepper, bit for bit; its state holds wheels, inputs and clock."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from car_drives import car_of, settled
from state_samples import arrays_of, car_inputs, car_problem, make, readings_of

from hodograph.core.reading import Reading, Verdict
from hodograph.multibody.model.build import State
from hodograph.multibody.steps.stepper import Stepper
from hodograph.observers.engine import events_of
from hodograph.observers.loop import RESETS
from hodograph.observers.on_mechanism.mechanism import MechanismEngine, engine
from hodograph.observers.on_mechanism.problem import Problem
from hodograph.observers.online import OnlineObserver

STEPS = 2500
HORIZON_S = 0.1


def inputs_of(made: MechanismEngine) -> np.ndarray:
    """The inputs now, (inputs, 3)."""
    return np.array(made.filter.arrays.c.plant.work.inputs[1:])


def driven(made: MechanismEngine, steps: int) -> tuple[list[State], np.ndarray]:
    """States after each step of a drive without sensors, and the inputs that led there (steps, inputs, 3)."""
    readings = car_inputs(made.problem, steps)
    width = len(made.problem.model.inputs)
    states, schedule = [], []
    for k in range(steps):
        told = sorted(readings[k * width : (k + 1) * width], key=lambda r: made.streams[r.stream].index)
        events = events_of([(r.t_ns, made.streams[r.stream], r.values, None) for r in told])
        made.process(events, k + 1)
        schedule.append(inputs_of(made))
        states.append(made.state)
    return states, np.array(schedule)


@pytest.mark.parametrize("name", ["error_ekf", "error_ekf_ej"])
def test_without_readings_a_filter_is_the_stepper_bit_for_bit(name: str) -> None:
    """Ten seconds of steering, driving and braking; the covariance stays one."""
    problem = car_problem()
    made = engine(problem, name)
    states, schedule = driven(made, STEPS)
    assert not made.failed
    stepper = Stepper(problem.model, options=problem.newton)
    stepper.set_road(car_of("xbw").road)
    run = stepper.run(problem.start, problem.step_s, STEPS, 1, schedule)
    for field, wanted in (("q", run.q), ("qd", run.qd), ("qdd", run.qdd), ("wheels", run.wheels[:, :, :3])):
        assert np.array_equal(np.array([getattr(s, field) for s in states]), wanted), field
    work, last = made.filter.arrays.c.plant.work, made.state
    assert np.array_equal(last.multipliers, run.last.multipliers)
    assert np.array_equal(work.wheels, run.wheels[-1])
    assert last.t_s == run.last.t_s
    assert work.clock[0] == pytest.approx(run.last.t_s, abs=1e-14)
    told = schedule[:, problem.model.inputs.index("rack_m")]
    assert np.abs(told[:, 0]).max() > 0.005, "the drive must turn the wheels"
    assert np.abs(np.degrees(np.diff([s.q[problem.model.index("ex.y")] for s in states]))).max() > 0.05
    assert np.linalg.eigvalsh(made.P).min() > 0.0
    assert np.sqrt(np.diag(made.P)).max() < 500.0, "noise of 1 m/s on each wheel turns the car round within ten seconds"


def mixed(problem: Problem, steps: int) -> list[Reading]:
    """Inputs at the nodes and readings of sensors in between, in order of time."""
    return sorted(readings_of(problem, steps) + car_inputs(problem, steps), key=lambda r: r.t_ns)


def served(problem: Problem, name: str = "error_ekf") -> OnlineObserver:
    """The filter in service, never gating."""
    return OnlineObserver(make(problem, name, HORIZON_S, gate=np.inf))


@pytest.mark.parametrize("name", ["error_ekf", "error_ekf_ej"])
def test_a_detour_leaves_no_trace(name: str) -> None:
    """Rewind and replay, by hand and by late readings, equal the run without, bit for bit."""
    problem = car_problem()
    readings = mixed(problem, 100)
    straight, late, back = served(problem, name), served(problem, name), served(problem, name)
    assert set(straight.feed(readings)) == {Verdict.USED}
    held = [k for k, r in enumerate(readings) if k % 7 == 3 and 20 < k < len(readings) - 20]
    for k, reading in enumerate(readings):
        if k not in held:
            late.feed([reading])
        if k - 12 in held:
            assert late.correct(readings[k - 12]) in (Verdict.LATE, Verdict.USED)
    assert late.counts["gyro", Verdict.LATE] > 0
    assert late.engine.core.memory.tobytes() == straight.engine.core.memory.tobytes()
    for k, reading in enumerate(readings):
        if k % 11 == 0:
            kept, ring = back.engine.snapshot(), back.engine.core.ring.copy()
            back.engine.advance(0.05)
            back.engine.restore(kept)
            back.engine.core.ring[:] = ring
        back.feed([reading])
    assert back.engine.core.memory.tobytes() == straight.engine.core.memory.tobytes()


def test_a_rewound_engine_drives_on_as_if_it_had_never_been_further() -> None:
    problem = car_problem()
    made = make(problem, "error_ekf", HORIZON_S)
    driven(made, 60)
    here = made.core.memory.copy()
    ahead = copy.deepcopy(made)
    made.advance(15 * problem.step_s)
    wanted = made.core.memory.copy()
    assert made.rewind(60)
    assert made.core.memory.tobytes() == here.tobytes()
    made.advance(15 * problem.step_s)
    ahead.advance(15 * problem.step_s)
    assert made.core.memory.tobytes() == wanted.tobytes() == ahead.core.memory.tobytes()


def test_batches_of_any_size_give_the_same_bytes() -> None:
    problem = car_problem()
    readings = mixed(problem, 80)
    whole, single, asked = served(problem), served(problem), served(problem)
    calls = whole.engine.calls
    whole.feed(readings)
    assert whole.engine.calls == calls + 1
    rng = np.random.default_rng(5)
    for reading in readings:
        single.correct(reading)
        asked.predict_to(reading.t_ns - int(rng.integers(0, 6_000_000)))
        assert np.isfinite(asked.estimate.x).all()
        asked.correct(reading)
    assert single.engine.core.memory.tobytes() == whole.engine.core.memory.tobytes()
    assert asked.engine.core.memory.tobytes() == whole.engine.core.memory.tobytes()


def test_a_copy_drives_on_like_the_original() -> None:
    problem = car_problem()
    readings = mixed(problem, 60)
    first, second = readings[:150], readings[150:]
    made = served(problem)
    made.feed(first)
    copies = [copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))]
    made.feed(second)
    for one in copies:
        one.feed(second)
        assert one.engine.core.memory.tobytes() == made.engine.core.memory.tobytes()
        assert one.estimate.x.tobytes() == made.estimate.x.tobytes()


def test_a_new_start_keeps_wheels_and_inputs() -> None:
    """Where the state is lost the rack stays turned and the tyres stay deflected; the clock goes on."""
    problem = car_problem()
    made = make(problem, "error_ekf", HORIZON_S)
    driven(made, 300)
    work = made.filter.arrays.c.plant.work
    rack = problem.model.inputs.index("rack_m")
    before, wheels = inputs_of(made), work.wheels[:, :3].copy()
    assert abs(before[rack, 0]) > 1e-3
    assert np.abs(wheels).max() > 1e-4
    made.node.P[:] = np.nan
    made.advance(problem.step_s)
    assert made.core.counts[RESETS] == 1.0
    assert np.isfinite(made.x).all()
    assert np.array_equal(inputs_of(made), before)
    assert np.array_equal(work.wheels[:, :3], wheels)
    assert work.clock[0] == pytest.approx(301 * problem.step_s)
    x = made.state
    assert abs(x.q[problem.model.index("RL.y")] - problem.start.q[problem.model.index("RL.y")]) > 1e-4


def test_a_problem_carries_inputs_road_and_newton() -> None:
    """The start's rack is where the start says, the road's table is the filter's own, Newton is the problem's."""
    car = car_of("xbw")
    problem = car_problem()
    turned = replace(problem.start, inputs=problem.start.inputs.copy())
    turned.inputs[0] = (0.004, 0.01, 0.0)
    made = engine(replace(problem, start=turned), "error_ekf")
    plant = made.filter.arrays.c.plant
    assert np.array_equal(made.state.inputs, turned.inputs)
    assert np.array_equal(plant.work.road, car.road.table())
    assert np.array_equal(plant.augmented, problem.newton.newton())
    made.advance(problem.step_s)
    assert made.state.inputs[0, 0] == pytest.approx(0.004 + 0.01 * problem.step_s)
    rested = settled("xbw")
    assert np.array_equal(engine(replace(problem, start=rested), "error_ekf").state.wheels, rested.wheels)


def test_a_repaired_state_keeps_its_own_inputs() -> None:
    """The rack of the stepper once moved it to where another drive had ended."""
    problem = car_problem()
    made = engine(problem, "error_ekf")
    states, _ = driven(made, 300)
    stepper = Stepper(problem.model, options=problem.newton)
    stepper.set_road(car_of("xbw").road)
    repaired = stepper.repair(states[-1])
    assert np.abs(repaired.q - states[-1].q).max() < 1e-6
    assert np.array_equal(repaired.inputs, states[-1].inputs)
    assert len(list(arrays_of(made.filter.arrays))) > 50
