from __future__ import annotations

from pathlib import Path

import pytest

from hodograph.acquisition import rig as rig_module
from hodograph.acquisition.lines import LineDecoder
from hodograph.acquisition.nmea import NmeaDecoder
from hodograph.acquisition.rig import load_rig, rig_from_text
from hodograph.core import SettingsError

TEXT = """schema = 1
name = "kart-07"

[sensors.gnss]  # comments stay
port = "/dev/ttyACM0"
protocol = "nmea"

[sensors.imu]
port = "/dev/ttyUSB0"
baud = 921600
protocol = "lines"
time_unit = "us"
rate_hz = 100
columns = [
    { channel = "acc_x_mps2", unit = "g", frame = "body" },
    { channel = "gyro_z_radps", unit = "deg/s", sign = -1 },
]
"""


def test_a_rig_is_read_with_its_decoders(tmp_path: Path) -> None:
    path = tmp_path / "rig.toml"
    path.write_text(TEXT, encoding="utf-8")
    rig = load_rig(path)
    assert rig.name == "kart-07"
    assert rig.text == TEXT
    assert rig.sensors["imu"].baud == 921600
    imu, gnss = (rig.sensors[name].decoder(name) for name in ("imu", "gnss"))
    assert isinstance(imu, LineDecoder)
    assert isinstance(gnss, NmeaDecoder)
    assert imu.schema.names == ("acc_x_mps2", "gyro_z_radps")
    assert imu.schema.channels[0].rate_hz == 100.0
    assert gnss.schema.name == "gnss"


def test_the_example_in_the_docstring_is_a_rig() -> None:
    text = (rig_module.__doc__ or "").split("\n\n", 1)[1]
    assert set(rig_from_text(text).sensors) == {"gnss", "imu"}


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("schema = 1", "schema = 2", "schema is 2"),
        ('port = "/dev/ttyACM0"', "", "'port' is missing"),
        ('"nmea"', '"nmae"', "want one of 'nmea', 'lines'"),
        ("baud = 921600", "baud = -1", "baud is -1"),
        ("baud = 921600", "buad = 9600", "did you mean baud"),
        ("rate_hz = 100", "rate_hz = 0", "rate_hz is 0"),
        ("/dev/ttyUSB0", "/dev/ttyACM0", "share the port"),
        ("sensors.imu", "sensors.imu_raw", "is taken"),
        ("sensors.imu", "sensors.events", "is taken"),
        ("sensors.imu", "sensors.IMU", "lower-case"),
        ('unit = "g"', 'unit = "gee"', "unknown unit 'gee'"),
        ("sign = -1", "sign = 2", "want 1 or -1"),
        ('"us"', '"km"', "unit of time"),
        ('protocol = "nmea"', 'protocol = "nmea"\ntime_unit = "us"', "are for protocol lines"),
        ('protocol = "nmea"', 'protocol = "lines"', "needs columns"),
        ('channel = "gyro_z_radps", unit = "deg/s"', 'channel = "acc_x_mps2", unit = "g"', "named twice"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(old: str, new: str, complaint: str) -> None:
    with pytest.raises(SettingsError, match=complaint) as caught:
        rig_from_text(TEXT.replace(old, new), source="rig.toml")
    assert str(caught.value).startswith("rig.toml")
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_an_empty_rig(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        load_rig(tmp_path / "none.toml")
    with pytest.raises(SettingsError, match="at least one sensor"):
        rig_from_text('schema = 1\nname = "x"\n[sensors]\n')
