"""Rate, jitter, gaps and drops, on made-up streams whose answers are known and on real ones."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hodograph.acquisition.health import LISTED_GAPS, stream_health, timing_of
from hodograph.acquisition.log import Event, EventKind, LogReader, LogWriter
from hodograph.core import NO_SENSOR_TIME_NS, Channel, StreamData, StreamSchema

S = 10**9
SCHEMA = StreamSchema("imu", (Channel("gyro_z_radps", "rad/s"), Channel("acc_x_mps2", "m/s^2")))


def regular(n: int, rate_hz: float) -> NDArray[np.int64]:
    return np.rint(np.arange(n) * S / rate_hz).astype(np.int64)


def test_a_clean_stream_has_no_jitter_and_no_gaps() -> None:
    timing = timing_of(regular(1000, 100))
    assert (timing.rate_hz, timing.jitter_std_s, timing.gaps, timing.clock) == (100.0, 0.0, 0, "log")


def test_jitter_is_measured_and_is_no_gap() -> None:
    noise_ns = np.random.default_rng(1).normal(0, 0.4e6, 20_000).astype(np.int64)
    timing = timing_of(regular(20_000, 100) + noise_ns)
    assert timing.rate_hz == pytest.approx(100, rel=0.005)
    assert timing.jitter_std_s == pytest.approx(0.4e-3 * np.sqrt(2), rel=0.05)  # a step has two stamps
    assert timing.jitter_p99_s == pytest.approx(0.4e-3 * np.sqrt(2) * 2.576, rel=0.05)
    assert timing.gaps == 0


def test_a_gap_is_found_where_it_is_and_leaves_the_rest_alone() -> None:
    t_ns = regular(2000, 100)
    t_ns[1200:] += 10 * S
    timing = timing_of(t_ns)
    assert timing.gaps == 1
    assert timing.longest_gaps[0].t_ns == t_ns[1199]
    assert timing.longest_gaps[0].duration_s == pytest.approx(10.01)
    assert (timing.rate_hz, timing.jitter_std_s) == (100.0, 0.0)


def test_single_missing_rows_are_gaps_and_the_longest_are_listed() -> None:
    keep = np.ones(10_000, dtype=np.bool_)
    keep[50:9000:100] = False
    keep[500:510] = False
    timing = timing_of(regular(10_000, 200)[keep])
    assert timing.gaps == 91
    assert len(timing.longest_gaps) == LISTED_GAPS
    assert timing.longest_gaps[0].duration_s == pytest.approx(11 / 200)


def test_regular_and_random_loss_is_counted_row_by_row() -> None:
    rows = np.arange(9000)
    assert timing_of(regular(9000, 100)[rows % 9 != 4]).gaps == 1000
    lost = np.random.default_rng(3).random(9000) < 0.2
    lost[[0, -1]] = False
    runs = int(np.count_nonzero(np.diff(lost.astype(int)) == 1))
    assert timing_of(regular(9000, 100)[~lost]).gaps == runs
    few = regular(5, 10)
    few[3:] += 10 * S
    assert timing_of(few).gaps == 1


def test_late_rows_are_jitter_not_loss() -> None:
    late_ns = np.where(np.arange(5000) % 5 == 0, 9_000_000, 0)  # every fifth comes 9 ms late
    assert timing_of(regular(5000, 100) + late_ns).gaps == 0


@pytest.mark.parametrize("within_ns", [0, 20_000])
def test_bursts_of_rows_under_one_stamp_are_no_jitter(within_ns: int) -> None:
    chunk_t_ns = np.repeat(regular(400, 20), 5) + np.tile(np.arange(5) * within_ns, 400)  # 5 rows each 50 ms
    timing = timing_of(chunk_t_ns)
    assert timing.rate_hz == pytest.approx(100, rel=0.01)
    assert timing.gaps == 0
    assert timing.jitter_std_s < 1e-4


def test_the_sensors_own_clock_is_preferred_when_it_is_sane() -> None:
    arrival = np.repeat(regular(200, 20), 5)
    sensor = regular(1000, 100)
    assert timing_of(arrival, sensor).clock == "sensor"
    assert timing_of(arrival, sensor).rate_hz == 100.0
    missing = np.where(np.arange(1000) < 50, NO_SENSOR_TIME_NS, sensor)
    assert timing_of(arrival, missing).clock == "sensor"
    assert timing_of(arrival, np.where(np.arange(1000) % 2, NO_SENSOR_TIME_NS, sensor)).clock == "log"
    assert timing_of(arrival, np.full(1000, 7, dtype=np.int64)).clock == "log"
    assert timing_of(arrival, sensor[::-1].copy()).clock == "log"


def test_a_receiver_that_lost_its_fix_for_minutes() -> None:
    utc = regular(600, 10)
    utc[300:] += 600 * S
    arrival = utc + np.random.default_rng(2).integers(20_000_000, 60_000_000, 600)
    timing = timing_of(arrival, utc)
    assert (timing.clock, timing.rate_hz, timing.gaps) == ("sensor", 10.0, 1)
    assert timing.longest_gaps[0].t_ns == arrival[299]


def test_stamps_that_stand_still_or_run_backwards_are_counted() -> None:
    t_ns = regular(100, 10)
    t_ns[50] = t_ns[49]
    t_ns[70] = t_ns[68]
    timing = timing_of(t_ns)
    assert (timing.equal_stamps, timing.backward_steps) == (1, 1)


@pytest.mark.parametrize("n", [0, 1])
def test_too_few_rows_say_nothing(n: int) -> None:
    timing = timing_of(regular(n, 10))
    assert np.isnan(timing.rate_hz)
    assert timing.gaps == 0


def test_health_of_a_stream_in_a_log(tmp_path: Path) -> None:
    t_ns = regular(3000, 100)
    t_ns[2000:] += 5 * S
    acc = np.where(np.arange(3000) < 300, np.nan, 1.0)
    with LogWriter.create(tmp_path / "a.drive") as writer:
        writer.add_stream(SCHEMA)
        writer.append_data(StreamData(SCHEMA, t_ns, {"gyro_z_radps": np.zeros(3000), "acc_x_mps2": acc}))
        writer.event(Event(t_ns[10], EventKind.DROP, "imu", count=7))
        writer.event(Event(t_ns[11], EventKind.DROP, "gnss", count=100))
        writer.event(Event(t_ns[12], EventKind.GAP, "imu", count=100))
    health = stream_health(LogReader(tmp_path / "a.drive"), "imu")
    assert (health.rows, health.drops, health.timing.gaps) == (3000, 7, 1)
    assert health.nan_share == {"acc_x_mps2": 0.1}
    assert health.duration_s == pytest.approx(34.99)
    told = json.loads(json.dumps(health.as_json(), allow_nan=False))
    assert (told["rows"], told["rate_hz"], told["gaps"]) == (3000, 100.0, 1)
    assert told["longest_gaps"] == [{"t_ns": int(t_ns[1999]), "duration_s": 5.01}]


def test_health_of_an_empty_stream(tmp_path: Path) -> None:
    with LogWriter.create(tmp_path / "a.drive") as writer:
        writer.add_stream(SCHEMA)
    log = LogReader(tmp_path / "a.drive")
    for name in log.streams:
        told = stream_health(log, name).as_json()
        assert (told["rows"], told["rate_hz"], told["first_t_ns"], told["duration_s"]) == (0, None, None, 0.0)
