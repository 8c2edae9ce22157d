"""Write a log from your own program and read it back in four ways."""

import math
from pathlib import Path
from tempfile import TemporaryDirectory

from hodograph.acquisition.log import Event, EventKind, LogReader, LogWriter
from hodograph.core import Channel, Frame, Reading, StreamSchema

# A stream is a set of channels that arrive together. Names end in their unit; everything inside is SI.
steering = StreamSchema(
    "steering",
    (
        Channel("steering_wheel_rad", "rad", rate_hz=100.0, description="positive to the left"),
        Channel("torque_nm", "N*m", Frame.BODY, rate_hz=100.0),
    ),
)

with TemporaryDirectory() as folder:
    path = Path(folder, "bench.drive")
    with LogWriter.create(path, notes={"driver": "nobody"}) as writer:
        writer.add_stream(steering)
        for k in range(500):
            t_ns = k * 10_000_000
            angle_rad = 0.5 * math.sin(2 * math.pi * 0.5 * t_ns / 1e9)
            writer.append(Reading(t_ns, "steering", (angle_rad, 3.0 * angle_rad)))
        writer.event(Event(2_000_000_000, EventKind.MARKER, text="half time"))

    log = LogReader(path)
    print("Arrow, without a copy:", log.arrow("steering").num_rows, "rows")
    print("numpy:", log.numpy("steering", t_min_ns=1_000_000_000, t_max_ns=1_050_000_000)["torque_nm"].round(3))
    print("pandas:", log.pandas("steering").abs().max().round(3).to_dict())
    print("one reading at a time:", next(iter(log.readings())))
    print("events:", [event.text for event in log.events])
