"""The sideslip filter fed reading by reading: equal to the batch, tolerant of order, rates and gaps."""

from __future__ import annotations

import numpy as np
import pytest
from sideslip_samples import simulated

from hodograph.core import Reading, Verdict
from hodograph.observers.sideslip.filter import INPUTS, run_sideslip
from hodograph.observers.sideslip.observer import SideslipObserver
from hodograph.observers.sideslip.parameters import SideslipParameters

CAR = SideslipParameters()
APART = {"speed": ("v_x_mps",), "steering": ("steer_rad",), "imu": ("acc_x_mps2", "acc_y_mps2", "yaw_rate_radps")}


def test_reading_by_reading_equals_the_batch() -> None:
    t_s, _, inputs = simulated(CAR, seconds=8)
    batch = run_sideslip(t_s, inputs, CAR)
    observer = SideslipObserver(CAR, {"car": INPUTS})
    for k, row in enumerate(inputs):
        assert observer.correct(Reading(round(t_s[k] * 1e9), "car", tuple(row))) is Verdict.USED
        assert observer.beta_rad == pytest.approx(batch.beta_rad[k], abs=1e-9)
    assert observer.estimate is not None
    assert observer.estimate.std("v_y_mps") == pytest.approx(batch.stds[-1, 0], rel=1e-6)


def test_sensors_of_their_own_rates() -> None:
    t_s, states, inputs = simulated(CAR, seconds=20)
    observer = SideslipObserver(CAR, APART)
    errors = []
    for k, (v_x, steer, a_y, a_x, r) in enumerate(inputs):
        t_ns = round(t_s[k] * 1e9)
        if k % 10 == 3:
            observer.correct(Reading(t_ns, "speed", (v_x,)))
        if k % 2 == 0:
            observer.correct(Reading(t_ns, "steering", (steer,)))
        verdict = observer.correct(Reading(t_ns, "imu", (a_x, a_y, r)))
        if k < 3:
            assert verdict is Verdict.INVALID
            assert observer.estimate is None
        elif k > 300:
            errors.append(observer.beta_rad - np.arctan2(states[k, 0], v_x))
    assert np.degrees(np.sqrt(np.mean(np.square(errors)))) < 0.3


def test_verdicts() -> None:
    observer = SideslipObserver(CAR, APART)
    observer.correct(Reading(0, "speed", (20.0,)))
    assert observer.correct(Reading(0, "imu", (0.0, 0.0, 0.0))) is Verdict.USED
    assert observer.correct(Reading(10_000_000, "imu", (np.nan,) * 3)) is Verdict.INVALID
    assert observer.correct(Reading(20_000_000, "imu", (0.0, 90.0, 0.0))) is Verdict.GATED
    assert observer.correct(Reading(10_000_000, "imu", (0.0, 0.0, 0.0))) is Verdict.STALE
    assert observer.correct(Reading(30_000_000, "gnss", (1.0,))) is Verdict.INVALID
    assert observer.correct(Reading(60_000_000_000, "imu", (0.0, 1.0, 0.05))) is Verdict.USED  # after a gap: anew
    assert observer.estimate is not None
    assert observer.estimate["yaw_rate_radps"] == pytest.approx(0.05, abs=0.01)
    assert observer.estimate.verdicts["imu"] is Verdict.USED


def test_a_channel_nobody_sends() -> None:
    with pytest.raises(ValueError, match="no stream has steer_rad"):
        SideslipObserver(CAR, {"x": ("v_x_mps", "acc_x_mps2", "acc_y_mps2", "yaw_rate_radps")})
