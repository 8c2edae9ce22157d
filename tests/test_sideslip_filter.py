"""The sideslip filter: its Jacobians, its update against filterpy, its consistency, and what it does with bad data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sideslip_samples import STEP_S, simulated

from hodograph.core import Array, Verdict
from hodograph.observers.sideslip import kernels
from hodograph.observers.sideslip.filter import run_sideslip
from hodograph.observers.sideslip.parameters import LAYOUT, NAMES, SideslipParameters

CAR = SideslipParameters()
N = len(LAYOUT)
SCALE = np.array([1.0, 0.3, 2e3, 2e3, 0.01, 0.3, 0.3])  # a typical size of each row


def predicted(x: Array, v_x: float, steer: float, a_x: float) -> tuple[Array, Array]:
    f, F = np.zeros(N), np.zeros((N, N))
    kernels.predict(x, v_x, steer, a_x, STEP_S, CAR.array, f, F)
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
    near = [abs(v_x - s * 0.5 * CAR.track_m * r - kernels.V_FLOOR_MPS) < 1e-3 for s in (1, -1)]
    if any(near):  # the floor of the speed has a corner there
        return
    numeric = central_difference(x, v_x, steer, a_x)
    relative = (F - numeric) * SCALE[None, :] / SCALE[:, None]
    corner = np.abs(predicted(x + 1e-4 * SCALE, v_x, steer, a_x)[1] - F) * SCALE[None, :] / SCALE[:, None]
    assert np.max(np.abs(relative)) < 1e-4 + 2 * np.max(corner)


def test_linear_tyre_at_small_slip() -> None:
    """Axle force = stiffness × slip angle for small slip and no load transfer."""
    tyre = np.array([40e3, 1.2, 1.4, 0.1])
    force, slope, _ = kernels.wheel_force(1e-4, 3000.0, 3000.0, 0.0, tyre)
    assert force == pytest.approx(4.0, rel=1e-4)
    assert slope == pytest.approx(40e3, rel=1e-3)
    peak = max(kernels.wheel_force(a, 3000.0, 3000.0, 0.0, tyre)[0] for a in np.linspace(0, 0.5, 500))
    assert peak == pytest.approx(1.2 * 3000, rel=1e-3)
    braked = max(kernels.wheel_force(a, 3000.0, 3000.0, 2000.0, tyre)[0] for a in np.linspace(0, 0.5, 500))
    assert braked == pytest.approx(np.sqrt(3600**2 - 2000**2), rel=1e-3)  # the friction circle


def test_steady_cornering_is_the_single_track_of_the_textbook() -> None:
    """β = l_r/R - α_r and δ = L/R + K a_y, Gillespie; small angles, narrow track, no load sensitivity."""
    car = replace(CAR, load_sensitivity=0.0, cg_height_m=1e-6, friction_front=50.0, friction_rear=50.0)
    v, steer = 20.0, 0.01
    x, f, F = np.zeros(N), np.zeros(N), np.zeros((N, N))
    for _ in range(3000):
        kernels.predict(x, v, steer, 0.0, STEP_S, car.array, f, F)
        x = f.copy()
    l_f, l_r, m = car.cg_to_front_m, car.cg_to_rear_m, car.mass_kg
    k_f, k_r = car.stiffness_front_n_rad, car.stiffness_rear_n_rad
    base = l_f + l_r
    understeer = m / base * (l_r / k_f - l_f / k_r)
    r = v * steer / (base + understeer * v**2)
    assert x[1] == pytest.approx(r, rel=2e-3)
    assert x[0] / v == pytest.approx(l_r * r / v - m * l_f / base * v * r / k_r, rel=5e-3)


def test_update_is_filterpys() -> None:
    from filterpy.kalman import update

    rng = np.random.default_rng(3)
    A = rng.normal(size=(N, N))
    P, x, h = A @ A.T, rng.normal(size=N), rng.normal(size=N)
    want_x, want_P = update(x.copy(), P.copy(), np.array([0.7]), np.array([[0.3]]), h[None, :])
    nis, log_s = kernels.update(x, P, h, 0.7 - float(h @ x), 0.3)
    np.testing.assert_allclose(x, np.ravel(want_x), rtol=1e-9)
    np.testing.assert_allclose(P, want_P, rtol=1e-7, atol=1e-9)
    assert nis >= 0
    assert np.isfinite(log_s)
    np.testing.assert_array_equal(P, P.T)
    assert np.min(np.linalg.eigvalsh(P)) > 0


def test_consistent_on_its_own_model() -> None:
    """NEES of β and NIS of the measurements are what a correct filter shows."""
    ratios, surprise = [], []
    for seed in range(4):
        t_s, states, inputs = simulated(CAR, seconds=60, seed=seed)
        run = run_sideslip(t_s, inputs, CAR)
        beta = np.arctan2(states[:, 0], inputs[:, 0])
        ratios.append(((run.beta_rad - beta) / run.beta_std_rad)[200:])
        surprise.append(run.nis[200:])
    inside = np.mean(np.abs(np.concatenate(ratios)) < 1.96)
    assert 0.90 < inside <= 0.995
    assert np.mean(np.concatenate(surprise)) == pytest.approx(2.0, abs=0.1)


def test_offsets_are_found() -> None:
    truth = replace(CAR, steer_offset_start_rad=0.004, gravity_y_std_mps2=0.02)
    t_s, states, inputs = simulated(truth, seconds=60)
    run = run_sideslip(t_s, inputs, replace(truth, steer_offset_start_rad=0.0))
    assert run["steer_offset_rad"][-1] == pytest.approx(states[-1, LAYOUT["steer_offset_rad"]], abs=0.002)


def test_standstill_and_crawl_neither_drift_nor_break() -> None:
    n = 6000
    t_s = STEP_S * np.arange(n)
    rng = np.random.default_rng(0)
    inputs = np.zeros((n, 5))
    inputs[2000:, 0] = np.minimum(0.1 * (t_s[2000:] - 20.0), 4.0)
    inputs[:, 2] = 0.3 + 0.05 * rng.normal(size=n)  # a biased accelerometer
    inputs[:, 4] = 0.002 * rng.normal(size=n)
    run = run_sideslip(t_s, inputs, CAR)
    assert np.all(np.isfinite(run.states))
    assert np.max(np.abs(run["v_y_mps"])) < 0.3  # 0.3 m/s² integrated for a minute would be 18 m/s
    assert np.max(np.abs(run.beta_rad[t_s > 55])) < np.radians(3.0)


def test_bad_data_gets_a_verdict_and_no_more() -> None:
    t_s, states, inputs = simulated(CAR, seconds=40)
    clean = run_sideslip(t_s, inputs, CAR)
    bad = inputs.copy()
    bad[1000, 2] = 90.0  # a spike of ay
    bad[1500, 1] += 0.14  # of the steering, as the 250 LM has one
    bad[2000:2020, 4] = np.nan  # the gyro is off
    bad[2500:2505, 0] = np.nan
    run = run_sideslip(t_s, bad, CAR)
    assert run.verdicts[1000, 1] == Verdict.GATED
    assert np.all(run.verdicts[2000:2020, 0] == Verdict.INVALID)
    assert run.count("yaw_rate_radps", Verdict.INVALID) == 20
    moving = np.isfinite(bad[:, 0])
    assert np.max(np.abs(run.beta_rad - clean.beta_rad)[moving]) < np.radians(0.6)
    assert len(states) == len(run.states)


def test_a_gate_does_not_lock_out() -> None:
    t_s, _, inputs = simulated(CAR, seconds=20)
    inputs[1000:, 4] += 0.5  # the gyro jumps for good
    run = run_sideslip(t_s, inputs, CAR)
    assert run.count("yaw_rate_radps", Verdict.GATED) < 200


def test_strictly_causal() -> None:
    t_s, _, inputs = simulated(CAR, seconds=20)
    whole = run_sideslip(t_s, inputs, CAR)
    changed = inputs.copy()
    changed[1200:] *= 0.5
    np.testing.assert_array_equal(run_sideslip(t_s, changed, CAR).states[:1200], whole.states[:1200])
    np.testing.assert_array_equal(run_sideslip(t_s[:700], inputs[:700], CAR).states, whole.states[:700])


def test_a_network_as_a_measurement_pulls_the_estimate() -> None:
    t_s, states, inputs = simulated(CAR, seconds=40)
    beta = np.arctan2(states[:, 0], inputs[:, 0])
    alone = run_sideslip(t_s, inputs, CAR)
    said = run_sideslip(t_s, inputs, CAR, vsa_rad=beta, vsa_std_rad=np.full(len(t_s), 0.01))
    assert np.std(said.beta_rad - beta) < np.std(alone.beta_rad - beta)
    assert np.mean(said.beta_std_rad) < np.mean(alone.beta_std_rad)


def test_wrong_calls() -> None:
    with pytest.raises(ValueError, match="want \\(2, 5\\)"):
        run_sideslip(np.array([0.0, 0.1]), np.zeros((2, 4)), CAR)
    with pytest.raises(ValueError, match="backwards"):
        run_sideslip(np.array([0.1, 0.0]), np.zeros((2, 5)), CAR)
    with pytest.raises(ValueError, match="mass_kg"):
        SideslipParameters(mass_kg=-1.0)
    assert len(NAMES) == len(CAR.array)
