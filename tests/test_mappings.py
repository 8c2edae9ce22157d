"""Every table data set through its mapping, against the check values of its README."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hodograph.acquisition.importers.imported import Imported, ImportOptions
from hodograph.acquisition.importers.mapping import MappingFile
from hodograph.acquisition.importers.tables import import_tables
from hodograph.core import Array, StreamData, read_settings

pytestmark = pytest.mark.data
MAPPINGS = Path(__file__).parents[1] / "examples" / "mappings"
NOT_TABLES = {"gpsd-nmea"}


def imported(data_dir: Path, folder: str, *files: str) -> Imported:
    paths = [data_dir / folder / file for file in files] or [data_dir / folder]
    return import_tables(paths, ImportOptions(mapping=MAPPINGS / f"{folder}.toml"))


def streams(data_dir: Path, folder: str, *files: str) -> dict[str, StreamData]:
    return {stream.schema.name: stream for stream in imported(data_dir, folder, *files).streams}


def seconds(stream: StreamData) -> Array:
    return (stream.t_ns - stream.t_ns[0]) / 1e9


def smooth(values: Array, n: int) -> Array:
    return np.convolve(values, np.ones(n) / n, "same")


def test_every_table_data_set_has_a_mapping(data_dir: Path) -> None:
    folders = {path.name for path in data_dir.iterdir() if path.is_dir()} - NOT_TABLES
    assert folders == {path.stem for path in MAPPINGS.glob("*.toml")}


@pytest.mark.parametrize("mapping", sorted(MAPPINGS.glob("*.toml")), ids=lambda path: path.stem)
def test_each_folder_imports_whole_and_says_where_it_came_from(data_dir: Path, mapping: Path) -> None:
    result = imported(data_dir, mapping.stem)
    assert result.streams
    assert result.notes["mapping_toml"] == mapping.read_text()
    assert result.notes["description"] == read_settings(mapping, MappingFile).description != ""
    for file in result.report["tables"]:  # type: ignore[attr-defined]
        assert "sha256" in result.notes[f"file {file}"]
    for stream in result.streams:
        assert len(stream) > 400
        assert (np.diff(stream.t_ns) >= 0).all()


def test_250lm_converts_the_yaw_rate_that_is_in_degrees(data_dir: Path) -> None:
    car = streams(data_dir, "revs-250lm")
    assert {name: len(stream) for name, stream in car.items()} == dict.fromkeys(
        ("imu", "steering", "ins", "filtered"), 33001
    )
    assert car["imu"].t_ns[[0, -1]].tolist() == [149_990_000_000, 479_990_000_000]
    yaw_rate, filtered = car["imu"]["gyro_z_radps"], car["filtered"]["gyro_z_filt_radps"]
    assert np.polyfit(yaw_rate, filtered, 1)[0] == pytest.approx(1.0, abs=0.01)
    assert np.corrcoef(yaw_rate, filtered)[0, 1] > 0.99
    ins = car["ins"]
    np.testing.assert_allclose(np.arctan2(ins["v_y_mps"], ins["v_x_mps"]), ins["beta_cg_rad"], atol=1e-6)
    assert np.polyfit(yaw_rate * ins["v_x_mps"], car["imu"]["acc_y_mps2"], 1)[0] == pytest.approx(0.99, abs=0.01)
    assert np.degrees(np.abs(ins["beta_cg_rad"]).max()) == pytest.approx(5.5, abs=0.1)


@pytest.mark.parametrize(("file", "rows"), [("data_to_train_2.csv", 25065), ("data_to_train_12.csv", 24855)])
def test_tum_has_its_step_and_units(data_dir: Path, file: str, rows: int) -> None:
    car = streams(data_dir, "tum-vehicle-sim", file)
    truth, imu = car["truth"], car["imu"]
    assert len(truth) == rows
    assert set(np.diff(truth.t_ns)) == {8_000_000}
    predicted = imu["acc_x_mps2"] + imu["gyro_z_radps"] * truth["v_y_mps"]
    slope = np.polyfit(predicted, np.gradient(truth["v_x_mps"], seconds(truth)), 1)[0]
    assert slope == pytest.approx(1.0, abs=0.05)
    assert 1e5 < car["brakes"]["brake_pressure_front_pa"].max() < 2e7


def test_tum_files_taken_together_keep_their_names(data_dir: Path) -> None:
    names = streams(data_dir, "tum-vehicle-sim")
    assert {"imu_data_to_train_2", "imu_data_to_train_12"} <= set(names)


BICYCLE_ROWS = {
    "pilot_test1_high_speeds.log": 14726,
    "pilot_test3_working_speed.log": 21789,
    "sil_w_fric_comp_test.log": 16134,
    "standstill_lean_test.log": 14421,
    "lean_rate_bias_test.log": 9697,
}


@pytest.mark.parametrize(("file", "rows"), BICYCLE_ROWS.items())
def test_bicycle_rows_and_the_header_that_is_too_long(data_dir: Path, file: str, rows: int) -> None:
    bicycle = streams(data_dir, "tudelft-sbw-bicycle", file)
    assert {len(stream) for stream in bicycle.values()} == {rows}
    assert ("steering" in bicycle) == (file not in ("sil_w_fric_comp_test.log", "standstill_lean_test.log"))
    if file == "lean_rate_bias_test.log":
        assert bicycle["imu"]["gyro_y_radps"].mean() == pytest.approx(0.02, abs=0.004)  # about y left, z up
        assert bicycle["imu"]["gyro_z_radps"].mean() == pytest.approx(0.015, abs=0.004)
        assert np.isnan(bicycle["actuation"]["sil_command_raw"]).any()


def test_bicycle_leans_into_its_turns_and_steers_there(data_dir: Path) -> None:
    bicycle = streams(data_dir, "tudelft-sbw-bicycle", "pilot_test1_high_speeds.log")
    riding = bicycle["wheel"]["speed_mps"] > 1.5
    yaw_rate, roll = bicycle["imu"]["gyro_z_radps"][riding], bicycle["roll"]["roll_rad"][riding]
    assert np.corrcoef(yaw_rate, roll)[0, 1] < -0.4  # left turn, left side down
    assert np.corrcoef(yaw_rate, bicycle["steering"]["steer_rad"][riding])[0, 1] > 0.95
    assert np.degrees(np.sqrt(np.mean((_static_roll(bicycle) - bicycle["roll"]["roll_rad"]) ** 2))) == pytest.approx(
        1.72, abs=0.02
    )


def _static_roll(bicycle: dict[str, StreamData]) -> Array:
    """The README's baseline atan(v * omega_z / g), in its axes (z down)."""
    return np.arctan(-bicycle["wheel"]["speed_mps"] * bicycle["imu"]["gyro_z_radps"] / 9.81)


def test_bicycle_wheel_turns_as_far_as_it_rolled(data_dir: Path) -> None:
    wheel = streams(data_dir, "tudelft-sbw-bicycle", "pilot_test1_high_speeds.log")["wheel"]
    steps = np.diff(wheel["wheel_angle_rad"], prepend=0.0)
    turned = np.cumsum(np.where(np.abs(steps) > 1, 0.0, steps))  # the counter starts anew every 500 rows
    rolled_mps = (turned[500:] - turned[:-500]) * 0.3498 / 5.0
    riding = rolled_mps > 1
    speed = wheel["speed_mps"][500:]
    assert np.corrcoef(rolled_mps[riding], speed[riding])[0, 1] > 0.999
    assert np.polyfit(rolled_mps[riding], speed[riding], 1)[0] == pytest.approx(1.0, abs=0.06)


def test_rtk_quality_is_nmea_and_time_is_utc(data_dir: Path) -> None:
    result = imported(data_dir, "rtk-imu-drive")
    gnss, imu = result.streams
    assert (gnss.schema.name, len(gnss), imu.schema.name, len(imu)) == ("gnss", 2197, "imu", 54860)
    digits, counts = np.unique(gnss["quality"], return_counts=True)
    assert dict(zip(digits.tolist(), counts.tolist(), strict=True)) == {4.0: 2189, 5.0: 8}
    assert np.datetime64(int(gnss.t_ns[0]), "ns") == np.datetime64("2025-07-08T19:34:00.499", "ns")  # GPST 19:34:18.499
    assert seconds(gnss)[-1] == pytest.approx(549.0)
    assert imu.t_ns[0] == gnss.t_ns[0]
    assert "start with gnss" in result.notes["clock of imu_1934.csv"]
    assert np.degrees(gnss["latitude_rad"][0]) == pytest.approx(40.0966268, abs=1e-9)


def test_rtk_axes_are_ours(data_dir: Path) -> None:
    car = streams(data_dir, "rtk-imu-drive")
    gnss, imu = car["gnss"], car["imu"]
    t_imu, at = seconds(imu), seconds(gnss) - 3.40
    speed = np.hypot(gnss["v_east_mps"], gnss["v_north_mps"])
    course_rate = np.gradient(np.unwrap(np.arctan2(gnss["v_north_mps"], gnss["v_east_mps"])), at)
    moving = (speed > 3) & (at > 1) & (at < t_imu[-1] - 1)

    def felt(channel: str) -> Array:
        return np.interp(at, t_imu, smooth(np.asarray(imu[channel]), 25))[moving]

    assert np.corrcoef(course_rate[moving], felt("gyro_z_radps"))[0, 1] > 0.99
    assert np.polyfit(course_rate[moving], felt("gyro_z_radps"), 1)[0] == pytest.approx(1.0, abs=0.02)
    assert np.corrcoef((speed * course_rate)[moving], felt("acc_y_mps2"))[0, 1] > 0.95
    assert np.corrcoef(np.gradient(speed, at)[moving], felt("acc_x_mps2"))[0, 1] > 0.85
    assert imu["acc_z_mps2"][:2000].mean() == pytest.approx(9.86, abs=0.05)
    bias_degps = [np.degrees(imu[f"gyro_{axis}_radps"][:2000].mean()) for axis in "xyz"]
    assert bias_degps == pytest.approx([-0.01, 0.06, 0.17], abs=0.01)


def test_imu_alone_keeps_the_clock_of_its_logger(data_dir: Path) -> None:
    result = imported(data_dir, "rtk-imu-drive", "imu_1934.csv")
    assert result.streams[0].t_ns[0] == 261_906_000_000
    assert "not a date" in result.clock


def test_vbox_brake_stop_figures(data_dir: Path) -> None:
    car = streams(data_dir, "vbox-brake-stop")
    gnss, trigger = car["gnss"], car["trigger"]
    assert len(gnss) == 8582
    t, v = gnss.t_ns / 1e9, np.asarray(gnss["speed_mps"])
    distance = np.concatenate([[0], np.cumsum((v[1:] + v[:-1]) / 2 * np.diff(t))])
    assert distance[-1] == pytest.approx(858.3, abs=0.05)
    start = int(np.argmax(trigger["brake_trigger"] == 1))
    assert t[start] == pytest.approx(41310.962, abs=1e-6)
    assert v[start] * 3.6 == pytest.approx(112.13, abs=0.005)
    stop = start + int(np.argmax(v[start:] < 0.25))
    assert t[stop] - t[start] == pytest.approx(3.72, abs=0.011)
    assert distance[stop] - distance[start] == pytest.approx(60.99, abs=0.01)
    turning = v > 5
    sideways = -smooth(v * np.gradient(np.unwrap(gnss["course_compass_rad"]), t), 50)[turning]
    assert np.corrcoef(sideways, smooth(np.asarray(car["acceleration"]["acc_y_mps2"]), 50)[turning])[0, 1] > 0.99


def test_racechrono_tells_its_three_speeds_apart(data_dir: Path) -> None:
    car = streams(data_dir, "racechrono-v3")
    app, gnss, obd = car["app"], car["gnss"], car["obd"]
    assert (len(app), len(obd)) == (3850, 3850)
    assert np.count_nonzero(np.diff(app.t_ns) == 0) == 89
    assert app.t_ns[0] == 1_767_150_797_440_000_000  # exact, which a float of seconds is not
    first = {name: float(stream["speed_mps"][0]) for name, stream in car.items()}
    assert first == {"gnss": 33.453, "app": 33.411, "obd": 18.82739}
    assert np.diff(gnss.t_ns).min() == 40_000_000  # 25 Hz: interpolated rows are not fixes
    assert obd["engine_speed_radps"][0] == pytest.approx(3544.02065 * 2 * np.pi / 60)


def test_racechrono_lateral_acceleration_is_positive_to_the_left(data_dir: Path) -> None:
    car = streams(data_dir, "racechrono-v3")
    gnss, app = car["gnss"], car["app"]
    t = np.arange(gnss.t_ns[0] / 1e9 + 1, gnss.t_ns[-1] / 1e9 - 1, 0.1)
    course = np.interp(t, gnss.t_ns / 1e9, np.unwrap(gnss["course_compass_rad"]))
    speed = np.interp(t, gnss.t_ns / 1e9, gnss["speed_mps"])
    felt = np.interp(t, app.t_ns / 1e9, app["acc_y_mps2"])
    turning = -speed * np.gradient(course, t)
    assert np.corrcoef(turning, felt)[0, 1] > 0.97
    assert np.corrcoef(app["lean_rad"], app["acc_y_mps2"])[0, 1] < -0.99  # left turn, left side down


@pytest.mark.parametrize(
    ("track", "points", "length_m", "width_m"),
    [("Norisring.csv", 460, 2295.8, 15.88), ("Oschersleben.csv", 739, 3692.3, 10.60)],
)
def test_racetracks_have_no_time_but_a_length(
    data_dir: Path, track: str, points: int, length_m: float, width_m: float
) -> None:
    result = imported(data_dir, "racetracks", track)
    line = result.streams[0]
    assert (line.schema.name, len(line)) == ("centre_line", points)
    dx = np.diff(line["x_m"], append=line["x_m"][:1])
    dy = np.diff(line["y_m"], append=line["y_m"][:1])
    assert np.hypot(dx, dy).sum() == pytest.approx(length_m, abs=0.05)
    assert (line["width_left_m"] + line["width_right_m"]).mean() == pytest.approx(width_m, abs=0.005)
    assert "has no time" in result.clock
    assert "NO TIME" in result.notes["description"]


def test_car_2014_keeps_new_fixes_only(data_dir: Path) -> None:
    car = streams(data_dir, "car-imu-gps-2014")
    imu, gnss = car["imu"], car["gnss"]
    assert len(imu) == 10800
    assert len(gnss) == pytest.approx(2160, abs=5)
    assert seconds(imu)[-1] == pytest.approx(216.0, abs=0.1)
    assert np.diff(imu.t_ns).max() / 1e6 == pytest.approx(105, abs=0.5)
    assert gnss.t_sensor_ns is not None
    steps_ns, counts = np.unique(np.diff(gnss.t_sensor_ns), return_counts=True)
    assert steps_ns[counts.argmax()] == 100_000_000
    assert np.abs(gnss.t_ns - gnss.t_sensor_ns).max() < 2e9  # ddmmyy hhmmssmmm read rightly
    assert gnss["speed_mps"].max() * 3.6 < 60


def test_car_2014_axes_are_ours(data_dir: Path) -> None:
    car = streams(data_dir, "car-imu-gps-2014")
    imu, gnss = car["imu"], car["gnss"]
    t = imu.t_ns / 1e9
    speed = np.interp(t, gnss.t_ns / 1e9, gnss["speed_mps"])
    moving = speed > 3
    turning = smooth(speed * imu["gyro_z_radps"], 50)[moving]
    assert np.corrcoef(turning, smooth(np.asarray(imu["acc_y_mps2"]), 50)[moving])[0, 1] > 0.9
    assert (
        np.corrcoef(np.gradient(smooth(speed, 50), t)[moving], smooth(np.asarray(imu["acc_x_mps2"]), 50)[moving])[0, 1]
        > 0.5
    )
    assert imu["acc_z_mps2"].mean() == pytest.approx(9.6, abs=0.1)
    course = -np.interp(t, gnss.t_ns / 1e9, np.unwrap(gnss["course_compass_rad"]))
    course_rate = np.gradient(smooth(course, 50), t)
    assert (
        np.corrcoef(course_rate[moving][50:-50], smooth(np.asarray(imu["gyro_z_radps"]), 50)[moving][50:-50])[0, 1]
        > 0.5
    )


def test_linkages_import_as_a_folder_without_their_result_tables(data_dir: Path) -> None:
    linkages = streams(data_dir, "linkages")
    assert {name: len(stream) for name, stream in linkages.items()} == {
        "fivebar": 2001,
        "fivebar_g981": 2001,
        "fourbar": 2001,
        "fourbar_g981": 2001,
        "noise": 2000,
        "traces_encoder_crank": 2000,
        "traces_gyro_coupler": 2000,
    }
    four = linkages["fourbar"]
    assert four["theta_rad"][0] == pytest.approx(np.pi / 3, abs=1e-12)
    assert four["theta_radps2"][0] == pytest.approx(-1.01410311918, abs=1e-10)
    assert linkages["fivebar"]["theta2_radps2"][0] == pytest.approx(25.1612903226, abs=1e-9)
    assert set(np.diff(four.t_ns)) == {5_000_000}
    encoder = linkages["traces_encoder_crank"]
    assert np.abs(encoder["theta_dekf_rad"] - four["theta_rad"][1:]).max() < 0.1
    named = [str(path) for path in (data_dir / "linkages").glob("*.csv")]
    assert len(imported(data_dir, "linkages", *named).streams) == 7


def test_reference_channels_are_named_in_the_log(data_dir: Path) -> None:
    notes = imported(data_dir, "revs-250lm").notes
    assert notes["reference_channels"] == "ins.v_y_mps, ins.beta_cg_rad"
