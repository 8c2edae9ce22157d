"""The sideslip filter: its Jacobians, its consistency, and what it does with bad data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sideslip_samples import STEP_S, predict, simulated, wheel

from hodograph.core import Array, DataError, Verdict
from hodograph.observers.counts import GATED_ROWS, NIS_ROWS, NIS_SUM
from hodograph.observers.sideslip.channels import ACC_Y, CHANNELS, GYRO_Z, STEER, V_X
from hodograph.observers.sideslip.drive import Heard, SideslipDrive
from hodograph.observers.sideslip.observer import SideslipEngine, SideslipRun, engine_for, run_drive
from hodograph.observers.sideslip.parameters import LAYOUT, NAMES, STATES, SideslipParameters
from hodograph.observers.sideslip.single_track import Inputs
from hodograph.observers.sideslip.sources import Sources
from hodograph.observers.sideslip.tyres import V_FLOOR_MPS, AxleTyre
from hodograph.sensors.mounting import Mount

CAR = SideslipParameters()
N = STATES
SCALE = np.array([1.0, 0.3, 2e3, 2e3, 0.01, 0.3, 0.3])  # a typical size of each row


def run(t_s: Array, inputs: Array, car: SideslipParameters = CAR) -> tuple[SideslipRun, SideslipEngine]:
    drive = SideslipDrive.sampled("drive", t_s, inputs)
    engine = engine_for(car, drive)
    return run_drive(engine, drive), engine


def predicted(x: Array, v_x: float, steer: float, a_x: float) -> tuple[Array, Array]:
    f, F = np.zeros(N), np.zeros((N, N))
    predict(CAR.numbers, x, Inputs(v_x, steer, a_x), STEP_S, f, F)
    return f, F


def central_difference(x: Array, v_x: float, steer: float, a_x: float) -> Array:
    columns = []
    for row in range(N):
        step = np.zeros(N)
        step[row] = 1e-5 * SCALE[row]
        plus, minus = predicted(x + step, v_x, steer, a_x)[0], predicted(x - step, v_x, steer, a_x)[0]
        columns.append((plus - minus) / (2 * step[row]))
    return np.stack(columns, axis=1)


def test_jacobian_at_visited_states() -> None:
    _, states, inputs = simulated(CAR, seconds=30)
    for k in range(0, len(states), 97):
        v_x, steer, _, a_x, _ = inputs[k]
        F = predicted(states[k], v_x, steer, a_x)[1]
        relative = (F - central_difference(states[k], v_x, steer, a_x)) * SCALE[None, :] / SCALE[:, None]
        assert np.max(np.abs(relative)) < 1e-6


@given(
    v_x=st.floats(0.5, 70),
    steer=st.floats(-0.3, 0.3),
    a_x=st.floats(-10, 6),
    beta=st.floats(-0.3, 0.3),
    r=st.floats(-0.8, 0.8),
    front=st.floats(-9e3, 9e3),
    rear=st.floats(-9e3, 9e3),
)
@settings(max_examples=100, deadline=None)
def test_jacobian_anywhere(
    v_x: float, steer: float, a_x: float, beta: float, r: float, front: float, rear: float
) -> None:
    x = np.array([v_x * np.tan(beta), r, front, rear, 0.002, 0.1, 0.2])
    f, F = predicted(x, v_x, steer, a_x)
    assert np.all(np.isfinite(f))
    near = [abs(v_x - s * 0.5 * CAR.track_m * r - V_FLOOR_MPS) < 1e-3 for s in (1, -1)]
    if any(near):  # the floor of the speed has a corner there
        return
    numeric = central_difference(x, v_x, steer, a_x)
    relative = (F - numeric) * SCALE[None, :] / SCALE[:, None]
    corner = np.abs(predicted(x + 1e-4 * SCALE, v_x, steer, a_x)[1] - F) * SCALE[None, :] / SCALE[:, None]
    assert np.max(np.abs(relative)) < 1e-4 + 2 * np.max(corner)


def test_linear_tyre_at_small_slip() -> None:
    """Axle force = stiffness × slip angle for small slip and no load transfer."""
    tyre = AxleTyre(40e3, 1.2, 1.4, 0.1, 3000.0)
    force, slope, _ = wheel(1e-4, 3000.0, 0.0, tyre)
    assert force == pytest.approx(4.0, rel=1e-4)
    assert slope == pytest.approx(40e3, rel=1e-3)
    peak = max(wheel(a, 3000.0, 0.0, tyre)[0] for a in np.linspace(0, 0.5, 500))
    assert peak == pytest.approx(1.2 * 3000, rel=1e-3)
    braked = max(wheel(a, 3000.0, 2000.0, tyre)[0] for a in np.linspace(0, 0.5, 500))
    assert braked == pytest.approx(np.sqrt(3600**2 - 2000**2), rel=1e-3)  # the friction circle


def test_steady_cornering_is_the_single_track_of_the_textbook() -> None:
    """β = l_r/R - α_r and δ = L/R + K a_y, Gillespie; small angles, narrow track, no load sensitivity."""
    car = replace(CAR, load_sensitivity=0.0, cg_height_m=1e-6, friction_front=50.0, friction_rear=50.0)
    v, steer = 20.0, 0.01
    x, f, F = np.zeros(N), np.zeros(N), np.zeros((N, N))
    for _ in range(3000):
        predict(car.numbers, x, Inputs(v, steer, 0.0), STEP_S, f, F)
        x = f.copy()
    l_f, l_r, m = car.cg_to_front_m, car.cg_to_rear_m, car.mass_kg
    k_f, k_r = car.stiffness_front_n_rad, car.stiffness_rear_n_rad
    base = l_f + l_r
    understeer = m / base * (l_r / k_f - l_f / k_r)
    r = v * steer / (base + understeer * v**2)
    assert x[1] == pytest.approx(r, rel=2e-3)
    assert x[0] / v == pytest.approx(l_r * r / v - m * l_f / base * v * r / k_r, rel=5e-3)


def test_consistent_on_its_own_model() -> None:
    """NEES of β and NIS of the measurements are what a correct filter shows."""
    ratios, surprise, count = [], 0.0, 0.0
    for seed in range(4):
        t_s, states, inputs = simulated(CAR, seconds=60, seed=seed)
        said, engine = run(t_s, inputs)
        beta = np.arctan2(states[:, 0], inputs[:, V_X])
        ratios.append(((said["beta_cg_rad"] - beta) / said.std_of("beta_cg_rad"))[200:])
        surprise, count = surprise + engine.core.counts[NIS_SUM], count + engine.core.counts[NIS_ROWS]
    inside = np.mean(np.abs(np.concatenate(ratios)) < 1.96)
    assert 0.90 < inside <= 0.995
    assert surprise / count == pytest.approx(1.0, abs=0.05)


def test_offsets_are_found() -> None:
    truth = replace(CAR, steer_offset_start_rad=0.004, gravity_y_std_mps2=0.02)
    t_s, states, inputs = simulated(truth, seconds=60)
    said, _ = run(t_s, inputs, replace(truth, steer_offset_start_rad=0.0))
    assert said["steer_offset_rad"][-1] == pytest.approx(states[-1, LAYOUT["steer_offset_rad"]], abs=0.002)


def test_standstill_and_crawl_neither_drift_nor_break() -> None:
    n = 6000
    t_s = STEP_S * np.arange(n)
    rng = np.random.default_rng(0)
    inputs = np.zeros((n, 5))
    inputs[2000:, V_X] = np.minimum(0.1 * (t_s[2000:] - 20.0), 4.0)
    inputs[:, ACC_Y] = 0.3 + 0.05 * rng.normal(size=n)  # a biased accelerometer
    inputs[:, GYRO_Z] = 0.002 * rng.normal(size=n)
    said, _ = run(t_s, inputs)
    assert np.all(np.isfinite(said.x))
    assert np.all(said.std_of("beta_cg_rad") > 0.0)
    assert np.max(np.abs(said["v_y_mps"])) < 0.3  # 0.3 m/s² integrated for a minute would be 18 m/s
    assert np.max(np.abs(said["beta_cg_rad"][t_s > 55])) < np.radians(3.0)
    assert not said.valid[inputs[:, V_X] < 3.0].any()


def test_bad_data_changes_little() -> None:
    t_s, _, inputs = simulated(CAR, seconds=40)
    clean, _ = run(t_s, inputs)
    bad = inputs.copy()
    bad[1000, ACC_Y] = 90.0  # a spike of ay
    bad[1500, STEER] += 0.14  # of the steering, as the 250 LM has one
    bad[2000:2020, GYRO_Z] = np.nan  # the gyro is off
    bad[2500:2505, V_X] = np.nan
    said, engine = run(t_s, bad)
    assert engine.core.counts[GATED_ROWS] == 1.0
    assert engine.core.counts[NIS_ROWS] == 2 * len(t_s) - 1 - 20
    assert np.max(np.abs(said["beta_cg_rad"] - clean["beta_cg_rad"])) < np.radians(0.6)
    assert not said.valid[2000:2020].any()
    assert not said.valid[2500:2505].any()
    assert said.valid[2021:2500].all()


def test_a_gate_does_not_lock_out() -> None:
    t_s, _, inputs = simulated(CAR, seconds=20)
    inputs[1000:, GYRO_Z] += 0.5  # the gyro jumps for good
    _, engine = run(t_s, inputs)
    assert engine.core.counts[GATED_ROWS] < 400  # of 2000: it begins anew, and ay contradicts the gyro for good


def test_strictly_causal() -> None:
    t_s, _, inputs = simulated(CAR, seconds=20)
    whole, _ = run(t_s, inputs)
    changed = inputs.copy()
    changed[1200:] *= 0.5
    np.testing.assert_array_equal(run(t_s, changed)[0].x[:1200], whole.x[:1200])
    np.testing.assert_array_equal(run(t_s[:700], inputs[:700])[0].x, whole.x[:700])


def test_a_sensor_of_sideslip_pulls_the_estimate() -> None:
    t_s, states, inputs = simulated(CAR, seconds=40)
    beta = np.arctan2(states[:, 0], inputs[:, V_X])
    alone, _ = run(t_s, inputs)
    drive = SideslipDrive.sampled("with optics", t_s, inputs)
    sources = Sources({"raster": tuple(CHANNELS), "optics": ("beta_cg_rad",)})
    heard = (("raster", Heard(drive.t_ns, inputs)), ("optics", Heard(drive.t_ns, beta[:, None])))
    drive = replace(drive, sources=sources, heard=heard)
    events, engine = drive.events(), engine_for(CAR, drive)
    optics = engine.streams["optics"]
    events.var[events.start[:-1][events.stream == optics.index]] = 0.01**2
    engine.process(events, len(t_s) - 1)
    helped = engine.P[LAYOUT["beta_cg_rad"], LAYOUT["beta_cg_rad"]] ** 0.5
    assert helped < alone.std_of("beta_cg_rad")[-1]
    assert abs(engine.x[LAYOUT["beta_cg_rad"]] - beta[-1]) < 4 * helped


def test_a_turned_sensor_away_from_the_centre_of_gravity_is_brought_back() -> None:
    """The same drive by an IMU turned by 90° about z and 0.8 m ahead, and by one at the centre of gravity."""
    t_s, _, inputs = simulated(CAR, seconds=30, quiet=True)
    v_x, steer, a_y, a_x, r = inputs.T
    turn = np.gradient(r, STEP_S)
    ahead = 0.8
    at_imu = np.column_stack([a_y + turn * ahead, -(a_x - r**2 * ahead), np.full(len(r), 9.81), r])
    drive = SideslipDrive.sampled("turned", t_s, inputs)
    names = ("acc_x_mps2", "acc_y_mps2", "acc_z_mps2", "gyro_z_radps")
    sources = Sources(
        {"imu": names, "car": ("v_x_mps", "steer_rad")}, {"imu": Mount((0.0, 0.0, 90.0), (ahead, 0.0, 0.0))}
    )
    heard = (("imu", Heard(drive.t_ns, at_imu)), ("car", Heard(drive.t_ns, np.column_stack([v_x, steer]))))
    turned = replace(drive, sources=sources, heard=heard)
    want, _ = run(t_s, inputs)
    got = run_drive(engine_for(CAR, turned), turned)
    unlevered = replace(turned, sources=Sources(sources.streams, {"imu": Mount((0.0, 0.0, 90.0), (0.0, 0.0, 0.0))}))
    wrong = run_drive(engine_for(CAR, unlevered), unlevered)
    off = np.max(np.abs(got["v_y_mps"] - want["v_y_mps"])[200:])
    assert off < 0.2 * np.max(np.abs(wrong["v_y_mps"] - want["v_y_mps"])[200:])
    assert np.degrees(np.max(np.abs(got["beta_cg_rad"] - want["beta_cg_rad"])[200:])) < 0.02


def test_wrong_calls() -> None:
    with pytest.raises(ValueError, match="want \\(2, 5\\)"):
        SideslipDrive.sampled("x", np.array([0.0, 0.1]), np.zeros((2, 4)))
    with pytest.raises(ValueError, match="backwards"):
        SideslipDrive.sampled("x", np.array([0.1, 0.0]), np.zeros((2, 5)))
    with pytest.raises(ValueError, match="mass_kg"):
        SideslipParameters(mass_kg=-1.0)
    with pytest.raises(DataError, match="no stream has steer_rad"):
        Sources({"x": ("v_x_mps", "acc_x_mps2", "acc_y_mps2", "gyro_z_radps")})
    with pytest.raises(ValueError, match="mount"):
        Mount((0.0, 0.0, np.nan), (0.0, 0.0, 0.0))
    assert CAR.numbers._fields == NAMES


def test_verdicts_are_counted() -> None:
    t_s, _, inputs = simulated(CAR, seconds=5)
    inputs[100] = 1e9
    said, _ = run(t_s, inputs)
    assert said.verdicts == {Verdict.USED: 499, Verdict.INVALID: 1}
