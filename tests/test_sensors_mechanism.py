"""Every sensor's Jacobians against central differences at states a simulation visits, and what they read."""

from __future__ import annotations

import numpy as np
import pytest

from hodograph.multibody.model.build import Model, State, build
from hodograph.multibody.model.mechanism import shipped_mechanism
from hodograph.multibody.motion.kinematics import from_independent
from hodograph.multibody.steps.stepper import Stepper
from hodograph.sensors import (
    AbsolutePoint,
    Accelerometer,
    DistanceMeter,
    Encoder,
    Gyroscope,
    MechanismSensor,
    PointVelocity,
    Quality,
    RateEncoder,
    SensorGroup,
    SensorSet,
    mount,
)

FAIR = Quality(0.01)


def planar_sensors(angle: str, places: tuple[str, str], body: str) -> list[MechanismSensor]:
    return [
        Encoder("encoder", angle, FAIR),
        RateEncoder("rate", angle, FAIR),
        Gyroscope("gyro", body, FAIR),
        Accelerometer("acc_body", places[0], (0.6, 0.8), FAIR, body=body),
        Accelerometer("acc_ground", places[1], (0.0, 1.0), FAIR),
        DistanceMeter("wire", ("A", places[1]), FAIR),
        AbsolutePoint("gps", places[1], FAIR),
        PointVelocity("doppler", places[0], FAIR),
    ]


def spatial_sensors() -> list[MechanismSensor]:
    return [
        Gyroscope("gyro_rocker", "rocker", FAIR, axis=(0.3, 1.0, -0.2)),
        Gyroscope("gyro_crank", "crank", FAIR, axis=(1.0, 0.0, 0.0)),
        Accelerometer("acc", "C", (1.0, 2.0, 3.0), FAIR, body="rocker"),
        DistanceMeter("wire", ("A", "C"), FAIR),
        AbsolutePoint("gps", "C", FAIR, axes=(0, 2)),
    ]


CASES = {
    "fourbar": planar_sensors("theta", ("P1", "P2"), "coupler"),
    "fivebar": planar_sensors("theta2", ("P2", "P3"), "coupler1"),
    "slider_crank": planar_sensors("theta", ("P1", "P2"), "rod"),
    "spatial_fourbar": spatial_sensors(),
}


def visited(model: Model, count: int = 6) -> list[State]:
    stepper = Stepper(model)
    state, states = stepper.start(), []
    for _ in range(count):
        state = stepper.run(state, 2e-3, 137).last
        states.append(stepper.repair(state))
    return states


def difference(rows: SensorSet, arrays: list[np.ndarray], which: int, step: float = 1e-6) -> np.ndarray:
    out = np.zeros((len(rows.rows), len(arrays[0])))
    for k in range(len(arrays[0])):
        ahead, back = [a.copy() for a in arrays], [a.copy() for a in arrays]
        ahead[which][k] += step
        back[which][k] -= step
        out[:, k] = (rows.h(*ahead) - rows.h(*back)) / (2.0 * step)
    return out


@pytest.mark.parametrize("name", sorted(CASES))
def test_jacobians_at_visited_states(name: str) -> None:
    model = build(shipped_mechanism(name))
    rows = mount(model, CASES[name])
    for state in visited(model):
        arrays = [state.q, state.qd, state.qdd]
        for which, jacobian in enumerate(rows.jacobians(*arrays)):
            numeric = difference(rows, arrays, which)
            assert np.allclose(jacobian, numeric, rtol=1e-6, atol=1e-6 * (1.0 + np.abs(numeric).max()))


@pytest.mark.parametrize("name", sorted(CASES))
def test_chain_to_independent_coordinates(name: str) -> None:
    model = build(shipped_mechanism(name))
    rows = mount(model, CASES[name])
    step = 1e-5
    for state in visited(model, 4):
        z, zd = state.q[model.independent], state.qd[model.independent]
        by_z, by_zd = rows.chained(state)
        for k in range(len(z)):
            e = step * np.eye(len(z))[k]
            for jacobian, dz, dzd in ((by_z, e, 0.0 * e), (by_zd, 0.0 * e, e)):
                ahead = from_independent(model, state.t_s, z + dz, zd + dzd, state.q)
                back = from_independent(model, state.t_s, z - dz, zd - dzd, state.q)
                numeric = (rows.h(ahead.q, ahead.qd, ahead.qdd) - rows.h(back.q, back.qd, back.qdd)) / (2.0 * step)
                assert np.allclose(jacobian[:, k], numeric, rtol=1e-5, atol=1e-6 * (1.0 + np.abs(numeric).max()))


def test_what_they_read_at_rest() -> None:
    model = build(shipped_mechanism("fourbar"))
    state = Stepper(model).start()
    still = State(0.0, state.q, 0.0 * state.q, 0.0 * state.q, state.multipliers)
    rows = mount(
        model, [Accelerometer("up", "P1", (0.0, 1.0), FAIR), Accelerometer("crank", "P1", (1.0, 0.0), FAIR, "crank")]
    )
    up, along = rows.h(still.q, still.qd, still.qdd)
    assert up == pytest.approx(9.81)
    assert along == pytest.approx(9.81 * np.sin(np.pi / 3.0))


def test_the_spatial_gyroscope_reads_the_angular_rate() -> None:
    model = build(shipped_mechanism("spatial_fourbar"))
    rows = mount(model, [Gyroscope("g", "crank", FAIR, axis=(1.0, 0.0, 0.0)), RateEncoder("r", "theta", FAIR)])
    for state in visited(model):
        gyro, rate = rows.h(state.q, state.qd, state.qdd)
        assert gyro == pytest.approx(rate, rel=1e-9, abs=1e-9)


def test_noise_wrap_and_groups() -> None:
    model = build(shipped_mechanism("fivebar"))
    coarse = Quality(0.01, resolution=0.12, bias=0.5)
    assert coarse.var == pytest.approx(1e-4 + 0.0012)
    group = SensorGroup("cranks", (Encoder("a", "theta1", coarse, wraps=True), Encoder("b", "theta2", FAIR)))
    rows = mount(model, [group])
    assert rows.span("cranks") == (0, 2)
    assert rows.span("nothing") is None
    assert list(rows.table.period) == [pytest.approx(2.0 * np.pi), 0.0]
    assert rows.h(model.start_q, model.start_q, model.start_q)[0] == pytest.approx(0.5)
    with pytest.raises(ValueError, match="two sensors"):
        mount(model, [group, group])
    with pytest.raises(ValueError, match="noise"):
        Quality(0.0)
