"""A child process that writes a log at 500 Hz × 40 channels until it is killed: `python log_child.py LOG TALLY SPEED`.

TALLY is a small mapped file in which it counts the rows whose `append` has returned; it outlives the process.
SPEED is how many times faster than real time the rows come.
"""

from __future__ import annotations

import mmap
import struct
import sys
import time
from pathlib import Path

from log_samples import STEP_NS, wide_row, wide_schema

from hodograph.acquisition.log import Event, EventKind, LogWriter
from hodograph.core import Reading


def main(path: str, tally_path: str, speed: float) -> None:
    with Path(tally_path).open("r+b") as file:
        tally = mmap.mmap(file.fileno(), 8)
    log = LogWriter.create(path)
    log.add_stream(wide_schema())
    log.add_raw("imu_raw")
    start_s = time.monotonic()
    done = 0
    while True:
        due = int((time.monotonic() - start_s) * 500 * speed)
        for k in range(done, due):
            log.append(Reading(k * STEP_NS, "imu", wide_row(k)))
            log.append_raw("imu_raw", k * STEP_NS, b"%d\n" % k)
            if k % 997 == 0:
                log.event(Event(k * STEP_NS, EventKind.MARKER, text=str(k)))
            struct.pack_into("<q", tally, 0, k + 1)
        done = due
        log.flush_due(done * STEP_NS)
        time.sleep(0.002)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
