"""Import what a receiver sent, and look at it.

On the command line: hodograph import receiver.nmea -o monday.drive; hodograph info monday.drive
"""

from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from hodograph.acquisition.geodesy import geodetic_from_degrees
from hodograph.acquisition.health import stream_health
from hodograph.acquisition.importers import FORMATS, ImportOptions
from hodograph.acquisition.importers.write import write_imported
from hodograph.acquisition.log import LogReader
from hodograph.twin.instruments import GnssReceiver
from hodograph.twin.lap import synthetic_lap

# A file of NMEA sentences. Yours comes from a receiver; this one from a simulated lap, with one byte broken.
origin = geodetic_from_degrees(latitude_deg=43.3325, longitude_deg=-8.4106, height_m=72.0)
start = datetime(2026, 6, 1, 9, 30, tzinfo=UTC)
sent = GnssReceiver(origin).send(synthetic_lap(), start, np.random.default_rng(1))
broken = b"".join(item.chunk for item in sent).replace(b"GNGGA,093005.00", b"GNGGA,093006.00")

with TemporaryDirectory() as folder:
    nmea_file, log_path = Path(folder, "receiver.nmea"), Path(folder, "monday.drive")
    nmea_file.write_bytes(broken)

    imported = FORMATS["nmea"]([nmea_file], ImportOptions())
    print("sentences:", imported.report["nmea"])
    write_imported(log_path, imported)

    log = LogReader(log_path)
    health = stream_health(log, "gnss")
    print(f"{health.rows} fixes at {health.timing.rate_hz:.1f} Hz, {health.timing.gaps} gaps")

    gnss = log.pandas("gnss")  # a data frame; units are part of the names
    print(gnss[["latitude_rad", "longitude_rad", "quality", "speed_mps"]].describe().loc[["min", "mean", "max"]])
