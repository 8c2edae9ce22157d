"""Offset and drift between two clocks, on made-up drives whose answers are known and on real ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hodograph.acquisition.align import align, align_streams
from hodograph.acquisition.importers.imported import ImportOptions
from hodograph.acquisition.importers.tables import import_tables
from hodograph.acquisition.importers.write import write_imported
from hodograph.acquisition.log import LogReader
from hodograph.core import Array, Channel, HodographError, StreamData, StreamSchema

MAPPINGS = Path(__file__).parents[1] / "examples" / "mappings"
GNSS = StreamSchema("gnss", (Channel("v_east_mps", "m/s"), Channel("v_north_mps", "m/s")))
IMU = StreamSchema("imu", (Channel("gyro_z_radps", "rad/s"), Channel("acc_x_mps2", "m/s^2")))


class Drive:
    """A random drive: yaw rate and speed, smooth and never repeating, as functions of true time."""

    def __init__(self, duration_s: float, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.t_s = np.arange(0.0, duration_s, 0.02)
        self.yaw_rate = _wander(rng, self.t_s.size, 60) * 0.3
        self.speed = 15 + 4 * _wander(rng, self.t_s.size, 200)
        self.yaw = np.concatenate([[0.0], np.cumsum(self.yaw_rate[1:] + self.yaw_rate[:-1]) * 0.01])
        self.acc = np.gradient(self.speed, self.t_s)

    def gnss(self, t_true_s: Array, t_stamp_s: Array) -> StreamData:
        yaw, speed = np.interp(t_true_s, self.t_s, self.yaw), np.interp(t_true_s, self.t_s, self.speed)
        return StreamData(GNSS, _ns(t_stamp_s), {"v_east_mps": speed * np.cos(yaw), "v_north_mps": speed * np.sin(yaw)})

    def imu(self, t_true_s: Array, t_stamp_s: Array, *, sign: int = 1, noise: float = 0.02) -> StreamData:
        rng = np.random.default_rng(5)
        gyro = sign * np.interp(t_true_s, self.t_s, self.yaw_rate) + rng.normal(0, noise, t_true_s.size)
        acc = np.interp(t_true_s, self.t_s, self.acc) + rng.normal(0, 1.0, t_true_s.size)
        return StreamData(IMU, _ns(t_stamp_s), {"gyro_z_radps": gyro, "acc_x_mps2": acc})


def _wander(rng: np.random.Generator, n: int, width: int) -> Array:
    smooth = np.convolve(rng.normal(0, 1, n + 4 * width), np.hanning(2 * width), "same")[2 * width : 2 * width + n]
    return np.asarray(smooth / smooth.std())


def _ns(t_s: Array) -> NDArray[np.int64]:
    return np.rint(t_s * 1e9).astype(np.int64)


@pytest.mark.parametrize("offset_s", [-7.3, 0.0, 2.5, 40.0])
@pytest.mark.parametrize("sign", [1, -1])
def test_offset_is_recovered_with_its_sign(offset_s: float, sign: int) -> None:
    drive = Drive(300)
    t_gnss, t_imu = np.arange(20, 280, 0.25), np.arange(10, 270, 0.01)
    found = align_streams(drive.gnss(t_gnss, t_gnss + offset_s), drive.imu(t_imu, t_imu, sign=sign))
    assert found.offset_s == pytest.approx(offset_s, abs=0.02)
    assert found.offset_s == pytest.approx(offset_s, abs=5 * found.offset_std_s + 0.005)
    assert found.sign == sign
    assert found.correlation > 0.95
    assert found.offset_from_first_rows_s == pytest.approx(-10.0, abs=0.02)


def test_named_the_other_way_round_it_says_the_same() -> None:
    drive = Drive(300)
    t_gnss, t_imu = np.arange(20, 280, 0.25), np.arange(10, 270, 0.01)
    gnss, imu = drive.gnss(t_gnss, t_gnss + 2.5), drive.imu(t_imu, t_imu)
    there, back = align_streams(gnss, imu), align_streams(imu, gnss)
    assert back.offset_s == -there.offset_s
    assert (back.stream_a, back.stream_b) == ("imu", "gnss")
    assert f"T + {there.offset_s:.3f} s" in there.explanation
    assert f"add {there.offset_s:.3f} s to imu times" in there.explanation
    assert f"T - {there.offset_s:.3f} s" in back.explanation
    assert f"subtract {there.offset_s:.3f} s from gnss times" in back.explanation


def test_drift_of_50_ppm_over_half_an_hour() -> None:
    drive = Drive(1800)
    t_gnss, t_imu = np.arange(5, 1790, 0.2), np.arange(5, 1790, 0.01)
    stamps = t_gnss + 2.5 + 50e-6 * t_gnss  # gnss = imu + 2.5 s + 50 µs per second of imu
    found = align_streams(drive.gnss(t_gnss, stamps), drive.imu(t_imu, t_imu))
    assert found.drift_ppm is not None
    assert found.drift_std_ppm is not None
    assert found.drift_ppm == pytest.approx(50, abs=max(3 * found.drift_std_ppm, 1.0))
    assert found.drift_std_ppm < 5
    at_ref_s = 2.5 + 50e-6 * found.t_ref_ns / 1e9
    assert found.offset_s == pytest.approx(at_ref_s, abs=0.01)
    assert "drift +" in found.explanation


def test_clocks_of_another_epoch_show_both_figures() -> None:
    drive = Drive(200)
    t = np.arange(10, 190, 0.25)
    t_imu = np.arange(5, 195, 0.01)
    found = align_streams(drive.gnss(t, t + 1.7e9), drive.imu(t_imu, t_imu))
    assert found.offset_s == pytest.approx(1.7e9, abs=0.02)
    assert found.offset_from_first_rows_s == pytest.approx(-5.0, abs=0.02)
    assert "counted from its own first row: -5.0" in found.explanation
    assert found.as_json()["explanation"] == found.explanation


def test_gaps_in_both_do_not_disturb() -> None:
    drive = Drive(400)
    t_gnss, t_imu = np.arange(10, 390, 0.25), np.arange(10, 390, 0.01)
    t_gnss = t_gnss[(t_gnss < 100) | (t_gnss > 130)]
    t_imu = t_imu[(t_imu < 250) | (t_imu > 290)]
    found = align_streams(drive.gnss(t_gnss, t_gnss + 1.25), drive.imu(t_imu, t_imu))
    assert found.offset_s == pytest.approx(1.25, abs=0.02)
    assert found.common_s < 320


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: (Drive(300, 1), Drive(300, 2)), "too little in common"),
        (lambda: (Drive(15, 1), Drive(15, 1)), "less than 20 s of usable time in common"),
    ],
)
def test_what_cannot_be_told_is_refused(make: object, complaint: str) -> None:
    one, other = make()  # type: ignore[operator]
    t_gnss, t_imu = np.arange(0, one.t_s[-1], 0.25), np.arange(0, one.t_s[-1], 0.01)
    with pytest.raises(HodographError, match=f"gnss and imu cannot be aligned: .*{complaint}|{complaint}"):
        align_streams(one.gnss(t_gnss, t_gnss), other.imu(t_imu, t_imu))


def test_a_drive_that_repeats_itself_needs_a_bound() -> None:
    laps = Drive(400)
    lap = np.arange(laps.t_s.size) % 2000  # 40 s
    laps.yaw_rate, laps.speed = laps.yaw_rate[lap], laps.speed[lap]
    laps.yaw, laps.acc = np.cumsum(laps.yaw_rate) * 0.02, np.zeros_like(laps.acc)
    t_gnss, t_imu = np.arange(0, 399, 0.25), np.arange(0, 399, 0.01)
    gnss, imu = laps.gnss(t_gnss, t_gnss + 3.0), laps.imu(t_imu, t_imu)
    with pytest.raises(HodographError, match="repeats itself"):
        align_streams(gnss, imu)
    assert align_streams(gnss, imu, max_offset_s=15).offset_s == pytest.approx(3.0, abs=0.05)


def test_streams_with_nothing_to_compare() -> None:
    t_ns = _ns(np.arange(0, 100, 0.1))
    temperature = StreamSchema("weather", (Channel("temperature_k", "K"),))
    weather = StreamData(temperature, t_ns, {"temperature_k": np.linspace(280, 290, t_ns.size)})
    drive = Drive(100)
    t = np.arange(0, 99, 0.25)
    with pytest.raises(HodographError, match="no signal that both have"):
        align_streams(drive.gnss(t, t), weather)
    with pytest.raises(HodographError, match="it has 1 rows"):
        align_streams(drive.gnss(t[:1], t[:1]), weather)


@pytest.mark.data
def test_rtk_drive_is_3_40_s_apart(data_dir: Path, tmp_path: Path) -> None:
    mapping = MAPPINGS / "rtk-imu-drive.toml"
    imported = import_tables([data_dir / "rtk-imu-drive"], ImportOptions(mapping=mapping))
    write_imported(tmp_path / "rtk.drive", imported)
    log = LogReader(tmp_path / "rtk.drive")
    found = align(log, "gnss", "imu")
    assert found.offset_s == pytest.approx(3.40, abs=0.05)
    assert found.offset_from_first_rows_s == pytest.approx(3.40, abs=0.05)
    assert found.correlation > 0.99
    assert found.sign == 1  # the mapping has turned the IMU's axes to ours
    assert "an event stamped T in imu is stamped T + 3.3" in found.explanation
    assert align(log, "imu", "gnss").offset_s == pytest.approx(-3.40, abs=0.05)


@pytest.mark.data
def test_gps_of_the_low_cost_logger_is_a_second_late(data_dir: Path) -> None:
    mapping = MAPPINGS / "car-imu-gps-2014.toml"
    imported = import_tables([data_dir / "car-imu-gps-2014"], ImportOptions(mapping=mapping))
    streams = {stream.schema.name: stream for stream in imported.streams}
    found = align_streams(streams["gnss"], streams["imu"])
    assert found.offset_s == pytest.approx(1.0, abs=0.2)
    assert found.sign == 1
    assert found.drift_ppm is None  # too noisy to tell


@pytest.mark.data
def test_a_dead_link_is_not_aligned(data_dir: Path) -> None:
    mapping = MAPPINGS / "racechrono-v3.toml"
    imported = import_tables([data_dir / "racechrono-v3"], ImportOptions(mapping=mapping))
    streams = {stream.schema.name: stream for stream in imported.streams}
    with pytest.raises(HodographError, match="too little in common"):
        align_streams(streams["gnss"], streams["obd"])
