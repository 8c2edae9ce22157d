from __future__ import annotations

import math
import os
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pynmea2
import pytest

from hodograph.acquisition.geodesy import EnuFrame, Geodetic, geodetic_from_degrees
from hodograph.acquisition.rig import rig_from_text
from hodograph.twin.instruments import GnssReceiver, LineImu, TimedBytes, nmea_sentence, rig_text
from hodograph.twin.lap import LapLimits, synthetic_lap
from hodograph.twin.player import Player, PseudoPort

START = datetime(2024, 2, 29, 23, 59, 50, tzinfo=UTC)
ORIGIN = geodetic_from_degrees(latitude_deg=-33.9, longitude_deg=-0.001, height_m=12.0)


def test_the_lap_is_closed_and_within_the_limits() -> None:
    limits, lap = LapLimits(), synthetic_lap()
    assert np.hypot(lap.east_m[-1] - lap.east_m[0], lap.north_m[-1] - lap.north_m[0]) < 1e-9
    assert lap.speed_mps[0] == pytest.approx(lap.speed_mps[-1])
    assert lap.yaw_rad[-1] - lap.yaw_rad[0] == pytest.approx(2 * math.pi, abs=1e-3)
    assert lap.speed_mps.max() <= limits.speed_max_mps
    assert np.abs(lap.acc_y_mps2).max() <= limits.acc_lateral_mps2 * 1.001
    assert lap.acc_x_mps2.min() >= -limits.acc_braking_mps2 * 1.05


def test_the_motion_is_consistent_with_its_derivatives() -> None:
    lap = synthetic_lap()
    inner = slice(10, -10)
    v_east = np.gradient(lap.east_m, lap.t_s)[inner]
    v_north = np.gradient(lap.north_m, lap.t_s)[inner]
    assert np.abs(v_east - lap.v_east_mps[inner]).max() < 0.02
    assert np.abs(v_north - lap.v_north_mps[inner]).max() < 0.02
    assert np.abs(np.gradient(lap.yaw_rad, lap.t_s) - lap.yaw_rate_radps)[inner].max() < 0.02


def test_the_receiver_speaks_nmea_that_others_understand() -> None:
    lap = synthetic_lap()
    sent = GnssReceiver(ORIGIN).send(lap, START, np.random.default_rng(0))
    sentences = [pynmea2.parse(line, check=True) for line in sent[120].chunk.decode().split()]
    gga, rmc, gst = sentences
    assert [s.sentence_type for s in sentences] == ["GGA", "RMC", "GST"]
    assert gga.gps_qual == 4
    assert rmc.datestamp.isoformat() == "2024-03-01"  # past midnight, after a leap day
    assert str(rmc.timestamp).startswith("00:00:02")
    assert gst.std_dev_latitude == pytest.approx(0.0067)
    truth = lap.at(np.array([12.0]))
    point = Geodetic(
        latitude_rad=math.radians(gga.latitude),
        longitude_rad=math.radians(gga.longitude),
        height_m=float(gga.altitude) + float(gga.geo_sep),
    )
    east_m, north_m, up_m = EnuFrame(ORIGIN).enu_from_geodetic(point)
    assert math.hypot(east_m - truth.east_m[0], north_m - truth.north_m[0]) < 0.05
    assert abs(up_m) < 0.1
    assert rmc.spd_over_grnd * 1852 / 3600 == pytest.approx(truth.speed_mps[0], abs=0.2)


def test_what_the_instruments_send_is_what_their_rig_decodes() -> None:
    lap = synthetic_lap()
    rig = rig_from_text(rig_text("/dev/a", "/dev/b"))
    gnss, imu = (rig.sensors[name].decoder(name) for name in ("gnss", "imu"))
    sent = GnssReceiver(ORIGIN).send(lap, START, np.random.default_rng(0))
    fixes = [r for item in sent for r in gnss.feed(item.chunk, round(item.t_s * 1e9))] + gnss.flush()
    assert len(fixes) == len(sent) == 238
    assert fixes[-1].t_sensor_ns == int(START.timestamp()) * 10**9 + 23_700_000_000
    lines = LineImu().send(lap, np.random.default_rng(0))
    samples = [r for item in lines for r in imu.feed(item.chunk, round(item.t_s * 1e9))]
    assert len(samples) == len(lines) - 1
    values = np.array([r.values for r in samples])
    truth = lap.at(np.array([item.t_s for item in lines[1:]]) - 0.0005)
    assert np.std(values[:, 1] - truth.acc_y_mps2) < 0.12
    assert np.mean(values[:, 2]) == pytest.approx(9.85, abs=0.02)
    assert np.std(values[:, 5] - truth.yaw_rate_radps) < 0.003


def test_the_same_seed_gives_the_same_bytes() -> None:
    lap = synthetic_lap()
    first, second = (LineImu().send(lap, np.random.default_rng(3)) for _ in range(2))
    assert first == second


def test_checksum() -> None:
    assert nmea_sentence("GPGLL,5057.970,N,00146.110,E,142451,A") == b"$GPGLL,5057.970,N,00146.110,E,142451,A*27\r\n"


def test_a_player_sends_everything_in_order(tmp_path: Path) -> None:
    with PseudoPort(tmp_path / "ttyA") as port:
        reader = os.open(port.path, os.O_RDONLY | os.O_NOCTTY)
        player = Player({port: [TimedBytes(0.02, b"second\r\n"), TimedBytes(0.0, b"first\r")]})
        player.start()
        player.join(timeout=5.0)
        expected, got = b"first\rsecond\r\n", b""
        while len(got) < len(expected):  # a terminal hands out what it has, not what was written at once
            got += os.read(reader, 100)
        assert got == expected
        os.close(reader)
        assert (player.lost_bytes, player.t_s, player.duration_s) == (0, 0.02, 0.02)
    assert not (tmp_path / "ttyA").exists()


def test_a_line_that_nobody_reads_loses_bytes_and_counts_them() -> None:
    with PseudoPort() as port:
        player = Player({port: [TimedBytes(0.0, b"x" * 1_000_000)]})
        player.start()
        player.join(timeout=5.0)
        assert 0 < player.lost_bytes < 1_000_000
    port.close()
