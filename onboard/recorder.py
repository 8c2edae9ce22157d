"""Live acquisition: ports → raw bytes and readings → log. One reader thread per port, one writer.

A reader thread only waits, stamps and hands over; decoding and writing happen in `Recorder.run`, so the log has one
writer and no locks. A port that goes away is a gap in the log and is tried again with growing pauses, for ever. When
the writer cannot keep up, the newest chunks are dropped, counted and logged: never a silent loss, never a full memory.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from hodograph.acquisition.log import Event, EventKind, LogWriter
from hodograph.acquisition.rig import Rig, SensorLink
from hodograph.acquisition.serial_port import SerialPort
from hodograph.core import TransportError

QUEUE_CHUNKS = 4096  # about 3 min of one 20 Hz port, some MB at most
RETRY_FIRST_S, RETRY_MAX_S = 0.2, 5.0
IDLE_S = 0.1  # how often the writer looks at the clock when nothing arrives


@dataclass(frozen=True, slots=True)
class Arrival:
    """What a reader thread hands over: bytes of one sensor, or a note about its port."""

    sensor: str
    t_ns: int
    chunk: bytes = b""
    event: Event | None = None


@dataclass(slots=True)
class SensorTally:
    """Running counts of one sensor, for the progress display and the summary."""

    bytes: int = 0
    readings: int = 0
    dropped_chunks: int = 0
    connected: bool = False


class ArrivalClock:
    """Monotonic nanoseconds anchored to UTC once, at the start: it never jumps, and still tells the date."""

    def __init__(self) -> None:
        self._anchor_ns = time.time_ns() - time.monotonic_ns()

    def now_ns(self) -> int:
        """Now, on the log's clock."""
        return self._anchor_ns + time.monotonic_ns()


CLOCK_NOTE = "arrival time: CLOCK_MONOTONIC anchored to the computer's UTC when the recording started"


@dataclass(slots=True)
class Recorder:
    """Records every sensor of `rig` into a new log at `path` until `stop` is set or `seconds` have passed."""

    rig: Rig
    path: Path
    vehicle_toml: str | None = None
    clock: ArrivalClock = field(default_factory=ArrivalClock)
    stop: threading.Event = field(default_factory=threading.Event)
    tally: dict[str, SensorTally] = field(default_factory=dict)

    def run(
        self, *, seconds: float | None = None, on_tick: Callable[[dict[str, SensorTally]], None] | None = None
    ) -> dict[str, SensorTally]:
        """Records; returns the counts per sensor. `on_tick` is called about ten times a second."""
        arrivals: queue.Queue[Arrival] = queue.Queue(QUEUE_CHUNKS)
        self.tally = {name: SensorTally() for name in self.rig.sensors}
        end_ns = None if seconds is None else self.clock.now_ns() + round(seconds * 1e9)
        with LogWriter.create(
            self.path, rig_toml=self.rig.text, vehicle_toml=self.vehicle_toml, clock=CLOCK_NOTE
        ) as log:
            readers = [
                threading.Thread(target=self._read_port, args=(name, link, arrivals), name=f"read-{name}", daemon=True)
                for name, link in self.rig.sensors.items()
            ]
            for reader in readers:
                reader.start()
            try:
                self._write(log, arrivals, end_ns, on_tick)
            finally:
                self.stop.set()
                for reader in readers:
                    reader.join(timeout=2.0)
        return self.tally

    def _write(
        self,
        log: LogWriter,
        arrivals: queue.Queue[Arrival],
        end_ns: int | None,
        on_tick: Callable[[dict[str, SensorTally]], None] | None,
    ) -> None:
        decoders = {name: link.decoder(name) for name, link in self.rig.sensors.items()}
        for name, decoder in decoders.items():
            log.add_stream(decoder.schema)
            log.add_raw(f"{name}_raw", f"bytes as they came from {self.rig.sensors[name].port}")
        next_tick_ns = 0
        while True:
            now_ns = self.clock.now_ns()
            stopping = self.stop.is_set() or (end_ns is not None and now_ns >= end_ns)
            try:
                arrival = arrivals.get(timeout=0 if stopping else IDLE_S)
            except queue.Empty:
                if stopping:
                    break
            else:
                if arrival.event is not None:
                    log.event(arrival.event)
                tally = self.tally[arrival.sensor]
                if arrival.chunk:
                    log.append_raw(f"{arrival.sensor}_raw", arrival.t_ns, arrival.chunk)
                    tally.bytes += len(arrival.chunk)
                for reading in decoders[arrival.sensor].feed(arrival.chunk, arrival.t_ns):
                    log.append(reading)
                    tally.readings += 1
            log.flush_due(now_ns)
            if on_tick is not None and now_ns >= next_tick_ns:
                on_tick(self.tally)
                next_tick_ns = now_ns + round(IDLE_S * 1e9)
        for name, decoder in decoders.items():
            for reading in decoder.flush():
                log.append(reading)
                self.tally[name].readings += 1

    def _read_port(self, name: str, link: SensorLink, arrivals: queue.Queue[Arrival]) -> None:
        """Thread of one sensor: open, read until it breaks, note the gap, try again."""
        hand_over = _HandOver(arrivals, self.tally[name])
        lost_ns: int | None = None
        pause_s = RETRY_FIRST_S
        while not self.stop.is_set():
            try:
                with SerialPort(link.port, link.baud) as port:
                    now_ns = self.clock.now_ns()
                    if lost_ns is not None:
                        back = Event(now_ns, EventKind.RECONNECT, name, now_ns - lost_ns, text=link.port)
                        hand_over(Arrival(name, now_ns, event=back))
                    lost_ns, pause_s = None, RETRY_FIRST_S
                    self.tally[name].connected = True
                    while not self.stop.is_set():
                        if chunk := port.read():
                            hand_over(Arrival(name, self.clock.now_ns(), chunk))
            except TransportError as error:
                self.tally[name].connected = False
                if lost_ns is None:
                    lost_ns = self.clock.now_ns()
                    hand_over(Arrival(name, lost_ns, event=Event(lost_ns, EventKind.GAP, name, text=str(error))))
                self.stop.wait(pause_s)
                pause_s = min(2 * pause_s, RETRY_MAX_S)


class _HandOver:
    """Queues arrivals of one sensor; when the writer is hopelessly behind, counts drops and logs them afterwards."""

    def __init__(self, arrivals: queue.Queue[Arrival], tally: SensorTally) -> None:
        self._arrivals = arrivals
        self._tally = tally
        self._unreported = 0

    def __call__(self, arrival: Arrival) -> None:
        try:
            if self._unreported:
                text = "chunks dropped: the writer was behind"
                drop = Event(arrival.t_ns, EventKind.DROP, arrival.sensor, count=self._unreported, text=text)
                self._arrivals.put_nowait(Arrival(arrival.sensor, arrival.t_ns, event=drop))
                self._unreported = 0
            self._arrivals.put_nowait(arrival)
        except queue.Full:
            self._unreported += 1
            self._tally.dropped_chunks += 1
