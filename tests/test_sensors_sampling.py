"""Simulated readings honour noise, rate, latency, bias and resolution, and an observer takes them as they come."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from hodograph.bench.linkages.config import RATES_HZ, STEP_S, STEPS, delivered
from hodograph.core.reading import Verdict
from hodograph.multibody.model.build import Model, State, build
from hodograph.multibody.model.mechanism import shipped_mechanism
from hodograph.multibody.steps.stepper import Stepper
from hodograph.observers.on_mechanism.mechanism import observer
from hodograph.observers.on_mechanism.problem import Problem
from hodograph.observers.on_mechanism.uncertainty import Uncertainty
from hodograph.sensors import Encoder, Gyroscope, Quality, SensorSet, due, ideal, mount, sample, simulate_readings

MODEL: Model = build(shipped_mechanism("fourbar"))


def motion(steps: int) -> list[State]:
    stepper = Stepper(MODEL)
    state, states = stepper.start(), []
    for _ in range(steps):
        state = stepper.run(state, STEP_S, 1).last
        states.append(state)
    return states


def sensors() -> SensorSet:
    return mount(
        MODEL,
        [
            Encoder("crank", "theta", Quality(0.004, rate_hz=50.0, resolution=0.01), wraps=True),
            Gyroscope("gyro", "coupler", Quality(0.002, latency_s=0.012, bias=0.3)),
        ],
    )


def test_noise_bias_resolution_and_wrap() -> None:
    rows, states = sensors(), motion(400)
    clean = ideal(rows, states)
    assert clean[:, 1] == pytest.approx([rows.h(s.q, s.qd, s.qdd)[1] for s in states])
    unbiased = ideal(mount(MODEL, [Gyroscope("gyro", "coupler", Quality(0.002))]), states)
    assert clean[:, 1] - unbiased[:, 0] == pytest.approx(0.3)
    read = sample(rows, clean, np.random.default_rng(1).standard_normal(clean.shape))
    steps = read[:, 0] / 0.01
    turns = np.round((clean[:, 0] - read[:, 0]) / (2.0 * np.pi))
    assert np.abs(steps + turns * 2.0 * np.pi / 0.01 - np.round(steps + turns * 2.0 * np.pi / 0.01)).max() < 1e-9
    assert (np.abs(read[:, 0]) <= np.pi).all()
    error = read - clean
    error[:, 0] += 2.0 * np.pi * turns
    assert error[:, 0].std() == pytest.approx(rows.table.var[0] ** 0.5, rel=0.15)
    assert error[:, 1].std() == pytest.approx(0.002, rel=0.15)
    with pytest.raises(ValueError, match="noise"):
        sample(rows, clean, np.zeros((3, 2)))


def test_rates_are_those_of_the_benchmark() -> None:
    t_s = STEP_S * np.arange(1, STEPS + 1)
    for rate in RATES_HZ:
        every = round(1.0 / (rate * STEP_S))
        assert np.array_equal(due(float(rate), t_s), np.arange(1, STEPS + 1) % every == 0)
        assert np.array_equal(delivered(rate), due(float(rate), t_s))
    assert due(None, t_s).all()
    assert due(30.0, t_s).sum() == pytest.approx(10.0 * 30.0, rel=0.06)


def test_latency_moves_the_arrival_and_the_observer_takes_it_off() -> None:
    rows, states = sensors(), motion(300)
    readings = simulate_readings(rows, states, np.random.default_rng(2), start_ns=7_000_000)
    crank, gyro = ([r for r in readings if r.stream == name] for name in ("crank", "gyro"))
    assert (len(crank), len(gyro)) == (75, 300)
    assert gyro[0].t_sensor_ns == 7_000_000 + 5_000_000
    assert gyro[0].t_ns == 7_000_000 + 17_000_000
    assert all(a.t_ns <= b.t_ns for a, b in itertools.pairwise(readings))
    made = observer(
        Problem(MODEL, rows, Uncertainty(0.01, 0.1, 0.1), Stepper(MODEL).start()), "error_ekf_ej", t_ns=7_000_000
    )
    verdicts = [made.correct(reading) for reading in readings]
    assert set(verdicts) == {Verdict.USED, Verdict.LATE}
    made.predict_to(7_000_000 + 1_500_000_000)
    off = made.estimate.x[0] - states[-1].q[MODEL.independent[0]]
    assert abs(off) < 5.0 * made.estimate.P[0, 0] ** 0.5
    assert abs(off) < 0.01
