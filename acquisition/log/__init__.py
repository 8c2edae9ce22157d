"""The `.drive` log: a folder of append-only Arrow segments that any crash leaves readable.

    <name>.drive/
        meta.toml              what, when, by which version, on which clock; the vehicle and rig files whole
        imu.0000.arrow         one Arrow IPC stream per sensor stream and segment, in batches of at most one second
        imu.0001.arrow         the next segment: the log was reopened, or the one before had grown large
        nmea_raw.0000.arrow    raw bytes as they came, beside the decoded values
        events.0000.arrow      gaps, drops, reconnects, clock jumps, markers, notes
        estimates/NAME.arrow   what an observer or a model made of the readings: written whole, replaced whole

Any Arrow library reads a segment without us. What we add travels in metadata: units and frames in the schema, and in
every batch a seal (`framing.py`) with its checksum, size, rows and time span, so that the tail which a power cut leaves
can be told from data.
"""

from hodograph.acquisition.log.estimates import estimate_name, write_estimates
from hodograph.acquisition.log.events import Event, EventKind
from hodograph.acquisition.log.loss import Loss
from hodograph.acquisition.log.meta import LogMeta
from hodograph.acquisition.log.reader import LogReader
from hodograph.acquisition.log.segment_file import FsyncPolicy
from hodograph.acquisition.log.writer import LogWriter

__all__ = [
    "Event",
    "EventKind",
    "FsyncPolicy",
    "LogMeta",
    "LogReader",
    "LogWriter",
    "Loss",
    "estimate_name",
    "write_estimates",
]
