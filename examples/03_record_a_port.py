"""Record a serial port, pull the plug, put it back: the log has a gap and says so.

On the command line: hodograph record rig.toml -o monday.drive
"""

import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from hodograph.acquisition.log import LogReader
from hodograph.acquisition.rig import rig_from_text
from hodograph.onboard.recorder import Recorder
from hodograph.twin.player import PseudoPort

with TemporaryDirectory() as folder:
    # A pseudo-terminal stands in for the sensor; the link is like /dev/serial/by-id/…, the same after replugging.
    link = Path(folder, "ttyIMU")
    rig = rig_from_text(
        f"""
        schema = 1
        name = "bench"
        [sensors.imu]
        port = "{link}"
        protocol = "lines"
        rate_hz = 50
        columns = [
            {{ channel = "acc_x_mps2", unit = "g" }},
            {{ channel = "gyro_z_radps", unit = "deg/s", sign = -1 }},
        ]
        """
    )
    recorder = Recorder(rig, Path(folder, "bench.drive"))

    def sensor() -> None:
        """Sends 50 lines a second for a second; is unplugged; sends for another second."""
        for _ in range(2):
            with PseudoPort(link) as port:
                while not recorder.tally["imu"].connected:
                    time.sleep(0.01)
                for k in range(50):
                    port.write(b"%.4f,%.3f\r\n" % (0.01 * k, 0.1 * k))
                    time.sleep(0.02)
            time.sleep(0.3)
        recorder.stop.set()

    threading.Thread(target=sensor, daemon=True).start()
    recorder.run(seconds=15.0)

    log = LogReader(recorder.path)
    print(f"{log.rows('imu')} readings, {sum(len(chunk) for _, chunk in log.raw('imu_raw'))} raw bytes")
    for event in log.events:
        print(f"{event.kind}: {event.stream}, {event.duration_ns / 1e9:.2f} s, {event.text}")
