"""The sideslip filter fed reading by reading: equal to the batch, tolerant of order, rates, gaps and its own clocks."""

from __future__ import annotations

import numpy as np
import pytest
from sideslip_samples import simulated

from hodograph.core import DataError, Reading, Verdict
from hodograph.observers.sideslip.channels import CHANNELS
from hodograph.observers.sideslip.drive import SideslipDrive
from hodograph.observers.sideslip.observer import engine_for, run_drive, sideslip_observer
from hodograph.observers.sideslip.parameters import SideslipParameters
from hodograph.observers.sideslip.sources import Sources

CAR = SideslipParameters()
TOGETHER = Sources({"raster": tuple(CHANNELS)})
APART = Sources(
    {"speed": ("v_x_mps",), "steering": ("steer_rad",), "imu": ("acc_x_mps2", "acc_y_mps2", "yaw_rate_radps")}
)
STEP_NS = 10_000_000


def test_reading_by_reading_equals_the_batch_bit_for_bit() -> None:
    t_s, _, inputs = simulated(CAR, seconds=8)
    inputs[400:402, 1] += 0.4  # a spike of the steering
    drive = SideslipDrive.sampled("drive", t_s, inputs)
    batch = run_drive(engine_for(CAR, drive), drive)
    observer = sideslip_observer(CAR, TOGETHER)
    for k, row in enumerate(inputs):
        assert observer.correct(Reading(int(drive.t_ns[k]), "raster", tuple(row))) is Verdict.USED
        assert np.array_equal(observer.estimate.x, batch.x[k])
        assert np.array_equal(np.sqrt(np.diagonal(observer.estimate.P)), batch.std[k])
        assert observer.estimate.valid == batch.valid[k]


def test_a_spike_of_the_steering_is_held_off() -> None:
    t_s, _, inputs = simulated(CAR, seconds=8)
    clean = SideslipDrive.sampled("drive", t_s, inputs)
    spiked = SideslipDrive.sampled("spiked", t_s, inputs.copy())
    spiked.inputs[400:402, 1] += 0.4
    one, other = (run_drive(engine_for(CAR, d), d)["beta_cg_rad"] for d in (clean, spiked))
    assert np.degrees(np.abs(one - other).max()) < 0.02


def test_sensors_of_their_own_rates() -> None:
    t_s, states, inputs = simulated(CAR, seconds=20)
    observer = sideslip_observer(CAR, APART)
    errors = []
    for k, (v_x, steer, a_y, a_x, r) in enumerate(inputs):
        t_ns = round(t_s[k] * 1e9)
        if k % 10 == 3:
            observer.correct(Reading(t_ns, "speed", (v_x,)))
        if k % 2 == 0:
            observer.correct(Reading(t_ns, "steering", (steer,)))
        observer.correct(Reading(t_ns, "imu", (a_x, a_y, r)))
        assert np.isfinite(observer.estimate.x).all()
        assert observer.estimate.valid == (k >= 3)
        if k > 300:
            errors.append(observer.estimate["beta_cg_rad"] - np.arctan2(states[k, 0], v_x))
    assert np.degrees(np.sqrt(np.mean(np.square(errors)))) < 0.3


def test_verdicts() -> None:
    observer = sideslip_observer(CAR, APART)
    assert observer.correct(Reading(0, "speed", (20.0,))) is Verdict.USED
    assert observer.correct(Reading(0, "steering", (0.0,))) is Verdict.USED
    assert observer.correct(Reading(0, "imu", (0.0, 0.0, 0.0))) is Verdict.USED
    assert observer.correct(Reading(STEP_NS, "imu", (np.nan,) * 3)) is Verdict.INVALID
    assert observer.correct(Reading(STEP_NS, "imu", (0.0, 0.0))) is Verdict.INVALID
    assert observer.correct(Reading(STEP_NS, "imu", (0.0, 1e4, 0.0))) is Verdict.INVALID  # no car has a thousand g
    assert observer.correct(Reading(2 * STEP_NS, "imu", (0.0, 90.0, 0.0))) is Verdict.USED  # its yaw rate was
    assert observer.correct(Reading(3 * STEP_NS, "imu", (0.0, 90.0, 9.0))) is Verdict.GATED
    assert observer.correct(Reading(STEP_NS, "imu", (0.0, 0.0, 0.0))) is Verdict.LATE
    assert observer.correct(Reading(30_000_000, "gnss", (1.0,))) is Verdict.INVALID
    for _ in range(2):  # after a gap: anew, when a second reading agrees that so much time has passed
        said = observer.correct(Reading(60_000_000_000, "imu", (0.0, 1.0, 0.05)))
    assert said is Verdict.USED
    assert not observer.estimate.valid  # nobody knows the speed any more
    observer.correct(Reading(60_000_000_000, "speed", (20.0,)))
    observer.correct(Reading(60_000_000_000, "steering", (0.0,)))
    observer.correct(Reading(60_000_000_000 + STEP_NS, "imu", (0.0, 1.0, 0.05)))
    assert observer.estimate["yaw_rate_radps"] == pytest.approx(0.05, abs=0.01)
    assert observer.estimate.verdicts["imu"] is Verdict.USED
    assert observer.estimate.valid
    assert observer.correct(Reading(STEP_NS, "imu", (0.0, 0.0, 0.0))) is Verdict.STALE


def test_a_sensors_own_clock_is_used() -> None:
    """The same readings, stamped by the sensor and arriving late and unevenly, say the same."""
    t_s, _, inputs = simulated(CAR, seconds=5)
    rng = np.random.default_rng(0)
    plain = sideslip_observer(CAR, TOGETHER)
    stamped = sideslip_observer(CAR, TOGETHER, clocks={"raster": lambda t: t - 7_000_000_000})
    for k, row in enumerate(inputs):
        t_ns = round(t_s[k] * 1e9)
        plain.correct(Reading(t_ns, "raster", tuple(row)))
        arrival = t_ns + int(rng.integers(0, 30_000_000))
        stamped.correct(Reading(arrival, "raster", tuple(row), t_sensor_ns=t_ns + 7_000_000_000))
    assert np.array_equal(plain.estimate.x, stamped.estimate.x)


def test_a_channel_nobody_sends() -> None:
    with pytest.raises(DataError, match="no stream has steer_rad"):
        Sources({"x": ("v_x_mps", "acc_x_mps2", "acc_y_mps2", "yaw_rate_radps")})
