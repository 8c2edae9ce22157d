"""Bytes from a serial port (or pseudo-terminal), in chunks as they come; never `readline`."""

from __future__ import annotations

from types import TracebackType

import serial

from hodograph.core import TransportError

_GONE = (serial.SerialException, OSError, TypeError)  # TypeError: pyserial's, when the port is closed under it


class SerialPort:
    """An open port; `read` gives whatever is waiting, `b""` when nothing came within the time-out.

    Raises `TransportError` when the port cannot be opened or has gone (unplugged).
    """

    def __init__(self, port: str, baud: int, *, timeout_s: float = 0.05) -> None:
        self.port = port
        try:
            self._serial = serial.Serial(port, baud, timeout=timeout_s, exclusive=True)
        except (serial.SerialException, OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise TransportError(
                f"{port}: cannot be opened ({reason}); is it plugged in, and are you allowed to?"
            ) from error

    def read(self) -> bytes:
        """Everything that has arrived; waits for the first byte until the time-out."""
        try:
            first: bytes = self._serial.read(1)
        except _GONE as error:
            raise TransportError(f"{self.port}: gone while reading; is it unplugged?") from error
        if not first:
            return b""
        try:
            return first + self._serial.read(self._serial.in_waiting)
        except _GONE:  # gone this instant: keep what came, the next read will say so
            return first

    def close(self) -> None:
        """Closes the port; a port that has gone closes silently."""
        try:
            self._serial.close()
        except (serial.SerialException, OSError):
            return

    def __enter__(self) -> SerialPort:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
