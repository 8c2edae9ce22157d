"""Plays a simulated drive into pseudo-terminals in real time: for the recorder they are serial ports."""

from __future__ import annotations

import os
import pty
import threading
import time
import tty
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from hodograph.twin.instruments import TimedBytes


class PseudoPort:
    """A pseudo-terminal with a sensor at its end; `path` is what a rig file names.

    With `link` the port has a name that survives unplugging: closing and opening again points it to the new terminal.
    """

    def __init__(self, link: Path | None = None) -> None:
        self._sensor_end, self._computer_end = pty.openpty()
        tty.setraw(self._computer_end)
        os.set_blocking(self._sensor_end, False)
        self._link = link
        self.path = os.ttyname(self._computer_end)
        if link is not None:
            link.unlink(missing_ok=True)
            link.symlink_to(self.path)
            self.path = str(link)

    def write(self, chunk: bytes) -> int:
        """Sends bytes; returns how many fitted. A serial line does not wait for anybody: the rest is lost."""
        sent = 0
        try:
            while sent < len(chunk):
                sent += os.write(self._sensor_end, chunk[sent:])
        except BlockingIOError:
            pass
        return sent

    def close(self) -> None:
        """Pulls the plug."""
        if self._sensor_end >= 0:
            os.close(self._sensor_end)
            os.close(self._computer_end)
            self._sensor_end = self._computer_end = -1
            if self._link is not None:
                self._link.unlink(missing_ok=True)

    def __enter__(self) -> PseudoPort:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Player(threading.Thread):
    """Sends what each instrument has to say at its time; `stop` ends it early.

    The drive begins at `start_s` on `time.monotonic()`, or with `start()` when None.
    `lost_bytes` counts what did not fit because nobody was reading; `t_s` is how far the drive has come.
    """

    def __init__(self, drive: Mapping[PseudoPort, Sequence[TimedBytes]], start_s: float | None = None) -> None:
        super().__init__(name="player", daemon=True)
        entries = [(item.t_s, port, item.chunk) for port, items in drive.items() for item in items]
        self._entries = sorted(entries, key=lambda entry: entry[0])
        self._start_s = start_s
        self.stop = threading.Event()
        self.lost_bytes = 0
        self.t_s = 0.0

    @property
    def duration_s(self) -> float:
        """When the last bytes leave."""
        return self._entries[-1][0] if self._entries else 0.0

    def run(self) -> None:
        """Plays to the end or until `stop`."""
        start_s = time.monotonic() if self._start_s is None else self._start_s
        for t_s, port, chunk in self._entries:
            wait_s = start_s + t_s - time.monotonic()
            if wait_s > 0 and self.stop.wait(wait_s):
                return
            self.lost_bytes += len(chunk) - port.write(chunk)
            self.t_s = t_s
