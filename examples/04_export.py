"""Hand a log to other tools: CSV with a row of units, Parquet, MDF4.

On the command line: hodograph export monday.drive --to csv --display-units -o monday.csv
"""

from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.parquet as pq

from hodograph.acquisition.geodesy import geodetic_from_degrees
from hodograph.acquisition.log import LogReader, LogWriter
from hodograph.acquisition.rig import rig_from_text
from hodograph.core import MissingExtraError
from hodograph.replay.exporters import ExportOptions, export_csv, export_mf4, export_parquet
from hodograph.twin.instruments import GnssReceiver, LineImu, rig_text
from hodograph.twin.lap import synthetic_lap

rng = np.random.default_rng(4)
lap = synthetic_lap()
origin = geodetic_from_degrees(latitude_deg=43.3325, longitude_deg=-8.4106, height_m=72.0)
start = datetime(2026, 6, 1, 9, 30, tzinfo=UTC)
sent = {"gnss": GnssReceiver(origin).send(lap, start, rng), "imu": LineImu().send(lap, rng)}
rig = rig_from_text(rig_text("/dev/ttyACM0", "/dev/ttyUSB0"))

with TemporaryDirectory() as name:
    folder = Path(name)
    with LogWriter.create(folder / "lap.drive", rig_toml=rig.text) as writer:
        for sensor, items in sent.items():
            decoder = rig.sensors[sensor].decoder(sensor)
            writer.add_stream(decoder.schema)
            for item in items:
                for reading in decoder.feed(item.chunk, round((start.timestamp() + item.t_s) * 1e9)):
                    writer.append(reading)
            for reading in decoder.flush():
                writer.append(reading)
    log = LogReader(folder / "lap.drive")

    # One CSV on a raster of 20 Hz, in the units that people read; angles are interpolated the short way round.
    wanted = ("speed_mps", "course_compass_rad", "acc_y_mps2", "gyro_z_radps")
    export_csv(log, folder / "lap.csv", ExportOptions(channels=wanted, rate_hz=20.0, display_units=True))
    print("".join((folder / "lap.csv").read_text().splitlines(keepends=True)[:5]))

    # One Parquet file per stream, each field with its unit.
    for file in export_parquet(log, folder / "lap.parquet").files:
        units = {field.name: field.metadata[b"unit"].decode() for field in pq.read_schema(file.path)}
        print(file.path.name, file.rows, "rows", units)

    try:
        print(export_mf4(log, folder / "lap.mf4").files[0].rows, "rows in one MF4 with a group per stream")
    except MissingExtraError as error:
        print(error)
