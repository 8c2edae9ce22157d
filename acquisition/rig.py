"""The rig file: how each sensor is reached (transport, protocol, channels, units, signs).

schema = 1
name = "kart-07"

[sensors.gnss]
port = "/dev/ttyACM0"
baud = 115200
protocol = "nmea"

[sensors.imu]
port = "/dev/ttyUSB0"
baud = 921600
protocol = "lines"
time_unit = "us"                       # the first field is the sensor's clock
rate_hz = 100
columns = [
    { channel = "acc_x_mps2", unit = "g" },
    { channel = "gyro_z_radps", unit = "deg/s", sign = -1 },
]
"""

from __future__ import annotations
