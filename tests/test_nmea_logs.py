"""The nine logs of real receivers: exact counts, fixes as pynmea2 reads the same sentences, nothing lost."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path

import pynmea2
import pytest

from hodograph.acquisition.nmea import Fix, FixQuality, NmeaDecoder

# The table of the data set's README: sentences, bad, without checksum, talkers, GGA quality; then our fixes.
LOGS = {
    "nmea-rtk.log": (244, 0, 0, "GN GP", {"2": 104, "4": 18}, 122),
    "gp-320fw-2019-04-07-coldboot.log": (126, 29, 3, "GP", {"0": 8, "1": 2}, 2),
    "quectel-l76k-nmea.log": (2280, 0, 0, "BD GL GN GP", {"1": 150}, 151),  # 150 GGA and, first, a lone RMC
    "telit-he910.log": (1558, 0, 0, "GP", {"0": 37, "1": 187}, 187),
    "skytraq-PX1172RH_DS.log": (195, 0, 0, "GA GB GL GN GP P", {"5": 9}, 9),
    "bundg_zeus_9.log": (4999, 0, 0, "GP II SD WI", {"1": 138}, 148),  # 10 epochs have an RMC and no GGA
    "ublox-zed-f9p-nmea.log": (1015, 0, 0, "GA GB GL GN GP", {"1": 29}, 29),
    "ublox-f9p-hpnmea.log": (139, 0, 0, "GL GN GP", {"2": 9}, 9),
    "com-1289.log": (98, 1, 0, "GP P", {"1": 14}, 14),
}


def decode(path: Path, *, whole_epochs: bool = False) -> tuple[NmeaDecoder, list[Fix]]:
    decoder = NmeaDecoder(whole_epochs=whole_epochs)
    fixes = decoder.feed_fixes(path.read_bytes(), 0) + decoder.flush_fixes()
    return decoder, fixes


@pytest.mark.data
@pytest.mark.parametrize("name", LOGS)
def test_counts_are_exact(data_dir: Path, name: str) -> None:
    sentences, bad, missing, talkers, quality, positions = LOGS[name]
    decoder, fixes = decode(data_dir / "gpsd-nmea" / name)
    counts = decoder.counts
    assert counts.sentences == sentences
    assert counts.total.bad_checksum == bad
    assert counts.total.missing_checksum == missing
    assert counts.talkers == tuple(talkers.split())
    assert counts.gga_quality == quality
    assert counts.by_type["GGA"].good == sum(quality.values())
    assert sum(fix.has_position for fix in fixes) == positions


@pytest.mark.data
@pytest.mark.parametrize("name", [name for name in LOGS if "coldboot" not in name])
def test_early_fixes_miss_nothing_here(data_dir: Path, name: str) -> None:
    """Giving a fix as soon as its epoch is complete costs no field of any fix, except in the log of damaged lines."""
    path = data_dir / "gpsd-nmea" / name
    assert repr(decode(path)[1]) == repr(decode(path, whole_epochs=True)[1])


@pytest.mark.data
@pytest.mark.parametrize("name", LOGS)
def test_fixes_are_what_pynmea2_reads(data_dir: Path, name: str) -> None:
    """Latitude, longitude, height, satellites, HDOP and time of every GGA with a fix, by an independent reader."""
    content = (data_dir / "gpsd-nmea" / name).read_bytes()
    _, fixes = decode(data_dir / "gpsd-nmea" / name)
    by_time = {fix.time_of_day_ns: fix for fix in fixes if fix.has_position}
    compared = 0
    for raw in content.splitlines():
        if raw[3:6] != b"GGA":
            continue
        try:
            gga = pynmea2.parse(raw.decode("ascii", "replace"), check=True)
        except pynmea2.ParseError:
            continue
        if not gga.gps_qual:
            continue
        t = gga.timestamp
        fix = by_time[((t.hour * 60 + t.minute) * 60 + t.second) * 10**9 + t.microsecond * 1000]
        assert fix.latitude_rad == pytest.approx(math.radians(gga.latitude), abs=1e-15)
        assert fix.longitude_rad == pytest.approx(math.radians(gga.longitude), abs=1e-15)
        assert fix.quality == gga.gps_qual
        assert fix.satellites == int(gga.num_sats)
        assert fix.hdop == float(gga.horizontal_dil)
        if gga.geo_sep:
            assert fix.height_m == pytest.approx(gga.altitude + float(gga.geo_sep))
        else:
            assert math.isnan(fix.height_m)
        compared += 1
    assert compared == sum(n for digit, n in LOGS[name][4].items() if digit != "0")


def utc_of(fix: Fix) -> datetime:
    assert fix.t_utc_ns is not None
    return datetime.fromtimestamp(fix.t_utc_ns / 1e9, UTC)


@pytest.mark.data
def test_rtk_log(data_dir: Path) -> None:
    _, fixes = decode(data_dir / "gpsd-nmea" / "nmea-rtk.log")
    assert utc_of(fixes[0]) == datetime(2020, 3, 18, 13, 28, 19, 600000, UTC)
    assert fixes[0].quality is FixQuality.DGPS
    assert fixes[-1].quality is FixQuality.RTK_FIXED
    assert fixes[0].age_s == 6.6
    assert fixes[0].speed_mps == pytest.approx(0.148 * 1852 / 3600)
    assert math.isnan(fixes[0].course_compass_rad)  # 0.08 m/s is standing still
    moving = fixes[10]
    assert moving.speed_mps == pytest.approx(3.252 * 1852 / 3600)
    assert moving.course_compass_rad == pytest.approx(math.radians(92.308))
    assert fixes[-1].std_east_m == pytest.approx(0.01)


@pytest.mark.data
def test_dual_antenna_log(data_dir: Path) -> None:
    _, fixes = decode(data_dir / "gpsd-nmea" / "skytraq-PX1172RH_DS.log")
    assert fixes[0].heading_compass_rad == pytest.approx(math.radians(244.28))
    assert fixes[1].heading_compass_rad == pytest.approx(math.radians(244.65))
    assert all(fix.quality is FixQuality.RTK_FLOAT for fix in fixes)
    assert utc_of(fixes[0]) == datetime(2022, 3, 29, 0, 38, 32, tzinfo=UTC)


@pytest.mark.data
def test_spread_comes_from_gst(data_dir: Path) -> None:
    _, fixes = decode(data_dir / "gpsd-nmea" / "ublox-zed-f9p-nmea.log")
    assert (fixes[0].std_north_m, fixes[0].std_east_m, fixes[0].std_up_m) == (2.3, 3.5, 4.0)


@pytest.mark.data
def test_clock_corrected_after_the_first_fix(data_dir: Path) -> None:
    _, fixes = decode(data_dir / "gpsd-nmea" / "telit-he910.log")
    first = next(i for i, fix in enumerate(fixes) if fix.has_position)
    assert all(fix.t_utc_ns is None and math.isnan(fix.latitude_rad) for fix in fixes[:first])
    assert utc_of(fixes[first]) == datetime(2019, 3, 12, 10, 51, 53, 710000, UTC)
    assert utc_of(fixes[first + 1]) == datetime(2019, 3, 12, 10, 51, 53, 408000, UTC)


@pytest.mark.data
def test_void_positions_of_the_cold_boot_are_none(data_dir: Path) -> None:
    _, fixes = decode(data_dir / "gpsd-nmea" / "gp-320fw-2019-04-07-coldboot.log")
    void = [fix for fix in fixes if not fix.has_position]
    assert len(void) > 10
    assert all(math.isnan(fix.latitude_rad) and math.isnan(fix.std_east_m) for fix in void)
    assert fixes[0].t_utc_ns is None  # time of day only: no date has come yet
    assert utc_of(fixes[1]) == datetime(2019, 4, 7, 0, 3, 45, 30000, UTC)
    assert utc_of(fixes[-1]).year == 1999
