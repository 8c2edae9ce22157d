"""The writing side of one segment: append sealed messages, make them durable, close with the end mark."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from hodograph.acquisition.log.framing import END_OF_STREAM
from hodograph.acquisition.log.meta import sync_folder
from hodograph.core import LogWriteError


@dataclass(frozen=True, slots=True)
class FsyncPolicy:
    """How often data is forced to the disk itself, in seconds of recorded time.

    `every_s` = 0: after every batch (slowest, a power cut costs one batch); None: never, the operating system decides
    (some 30 s on Linux). What a killed *program* loses does not depend on it. Closing a segment always forces it.
    """

    every_s: float | None = 5.0

    def __post_init__(self) -> None:
        if self.every_s is not None and not self.every_s >= 0:
            raise ValueError(f"fsync every_s is {self.every_s}, want >= 0 or None")

    @property
    def as_text(self) -> str:
        """As it is written into segment metadata."""
        return "never" if self.every_s is None else repr(float(self.every_s))


class SegmentFile:
    """A new segment at `path`, header first. Every write is whole or taken back; errors are `LogWriteError`."""

    def __init__(self, path: Path, header: bytes, fsync: FsyncPolicy) -> None:
        self.path = path
        self.size = 0
        self._fsync = fsync
        self._synced_t_ns: int | None = None
        try:
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise LogWriteError(f"{path}: cannot be created: {error.strerror}") from error
        self._write(header)
        try:
            sync_folder(path.parent)
        except OSError as error:
            raise LogWriteError(f"{path}: cannot be made durable: {error.strerror}") from error

    def append(self, message: bytes | bytearray, t_last_ns: int) -> None:
        """Write a sealed message whose last row is stamped `t_last_ns`; forced to disk when the policy says so."""
        self._write(message)
        if self._fsync.every_s is None:
            return
        if self._synced_t_ns is None:
            self._synced_t_ns = t_last_ns
        if self._fsync.every_s == 0 or t_last_ns - self._synced_t_ns >= self._fsync.every_s * 1e9:
            self._sync()
            self._synced_t_ns = t_last_ns

    def close(self) -> None:
        """End mark, to the disk, closed; a segment that cannot be ended is closed without the mark."""
        if self._fd < 0:
            return
        try:
            self._write(END_OF_STREAM)
            self._sync()
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Close the file as it is."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _write(self, data: bytes | bytearray) -> None:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._fd, rest) :]
        except OSError as error:
            self._take_back()
            raise LogWriteError(
                f"{self.path}: cannot be written: {error.strerror}; what was recorded before stays readable"
            ) from error
        self.size += len(data)

    def _take_back(self) -> None:
        """Cut off a torn message, so that other Arrow readers are not disturbed; ours would step over it anyway."""
        try:
            os.ftruncate(self._fd, self.size)
        except OSError:
            return

    def _sync(self) -> None:
        try:
            os.fsync(self._fd)
        except OSError as error:
            raise LogWriteError(f"{self.path}: cannot be made durable: {error.strerror}") from error
