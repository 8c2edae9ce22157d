"""Live acquisition: ports → raw bytes and readings → log. One reader thread per port, one writer.

A reader thread only waits, stamps and hands over; decoding and writing happen in `Recorder.run`, so the log has one
writer and no locks. A port that goes away is a gap in the log and is tried again with growing pauses, for ever. When
the writer cannot keep up, the newest chunks are dropped, counted and logged: never a silent loss, never a full memory.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hodograph.acquisition.log import Event, EventKind, FsyncPolicy, LogWriter
from hodograph.acquisition.rig import Decoder, Rig, SensorLink
from hodograph.acquisition.serial_port import SerialPort
from hodograph.core import TransportError
from hodograph.core.display import short_repr

QUEUE_CHUNKS = 4096  # about 3 min of one 20 Hz port, 16 MB at most
RETRY_FIRST_S, RETRY_MAX_S = 0.2, 5.0
IDLE_S = 0.1  # how often the writer looks at the clock when nothing arrives
JOIN_S = 2.0  # a reader looks at `stop` every 50 ms; longer means that a driver hangs

CLOCK_NOTE = "arrival time: CLOCK_MONOTONIC anchored to the computer's UTC when the recording started"


@dataclass(frozen=True, slots=True)
class Arrival:
    """What a reader thread hands over: bytes of one sensor, or a note about its port."""

    sensor: str
    t_ns: int
    chunk: bytes = b""
    event: Event | None = None


@dataclass(slots=True)
class SensorTally:
    """Running counts of one sensor, for the progress display and the summary; `trouble` is why it is not connected."""

    bytes: int = 0
    readings: int = 0
    dropped_bytes: int = 0
    connected: bool = False
    reconnects: int = 0
    trouble: str = ""

    __repr__ = short_repr


Tick = Callable[[Mapping[str, SensorTally]], None]


class ArrivalClock:
    """Monotonic nanoseconds anchored to UTC once, at the start: it never jumps, and still tells the date."""

    def __init__(self) -> None:
        self._anchor_ns = time.time_ns() - time.monotonic_ns()

    def now_ns(self) -> int:
        """Now, on the log's clock."""
        return self._anchor_ns + time.monotonic_ns()


@dataclass(slots=True)
class Recorder:
    """Records every sensor of `rig` into a new log at `path` until `stop` is set or the time is up."""

    rig: Rig
    path: Path
    vehicle_toml: str | None = None
    fsync: FsyncPolicy = field(default_factory=FsyncPolicy)
    queue_chunks: int = QUEUE_CHUNKS
    clock: ArrivalClock = field(default_factory=ArrivalClock)
    stop: threading.Event = field(default_factory=threading.Event)
    tally: dict[str, SensorTally] = field(init=False)

    def __post_init__(self) -> None:
        self.tally = {name: SensorTally() for name in self.rig.sensors}

    def run(self, *, seconds: float | None = None, on_tick: Tick | None = None) -> dict[str, SensorTally]:
        """Records; returns the counts per sensor. `on_tick` is called about ten times a second.

        `LogWriteError` when the disk fails; what was written until then stays readable.
        """
        arrivals: queue.Queue[Arrival] = queue.Queue(self.queue_chunks)
        end_ns = None if seconds is None else self.clock.now_ns() + round(seconds * 1e9)
        with LogWriter.create(
            self.path, rig_toml=self.rig.text, vehicle_toml=self.vehicle_toml, clock=CLOCK_NOTE, fsync=self.fsync
        ) as log:
            sink = _Sink(log, self.rig, self.tally)
            readers = [
                _PortReader(name, link, arrivals, self.tally[name], self.clock, self.stop)
                for name, link in self.rig.sensors.items()
            ]
            for reader in readers:
                reader.start()
            try:
                self._write_until_stopped(sink, arrivals, end_ns, on_tick)
            finally:
                self.stop.set()
                for reader in readers:
                    reader.join(timeout=JOIN_S)
            while not arrivals.empty():
                sink.take(arrivals.get_nowait())
            sink.finish([drop for reader in readers if (drop := reader.unreported_drop())])
        for reader in readers:
            if reader.failure is not None:
                raise reader.failure
        return self.tally

    def _write_until_stopped(
        self, sink: _Sink, arrivals: queue.Queue[Arrival], end_ns: int | None, on_tick: Tick | None
    ) -> None:
        next_tick_ns = 0
        while not self.stop.is_set():
            now_ns = self.clock.now_ns()
            if end_ns is not None and now_ns >= end_ns:
                break
            wait_s = IDLE_S if end_ns is None else min(IDLE_S, (end_ns - now_ns) / 1e9)
            with contextlib.suppress(queue.Empty):
                sink.take(arrivals.get(timeout=wait_s))
            sink.log.flush_due(now_ns)
            if on_tick is not None and now_ns >= next_tick_ns:
                on_tick(self.tally)
                next_tick_ns = now_ns + round(IDLE_S * 1e9)

    __repr__ = short_repr


class _Sink:
    """Takes arrivals in order: raw bytes and decoded readings into the log."""

    def __init__(self, log: LogWriter, rig: Rig, tally: dict[str, SensorTally]) -> None:
        self.log = log
        self._tally = tally
        self._decoders: dict[str, Decoder] = {name: link.decoder(name) for name, link in rig.sensors.items()}
        for name, decoder in self._decoders.items():
            log.add_stream(decoder.schema)
            log.add_raw(f"{name}_raw", f"bytes as they came from {rig.sensors[name].port}")

    def take(self, arrival: Arrival) -> None:
        """One arrival; an event means that the bytes before and after it do not belong together."""
        name = arrival.sensor
        if arrival.event is not None:
            self._flush(name)
            self.log.event(arrival.event)
        if arrival.chunk:
            self.log.append_raw(f"{name}_raw", arrival.t_ns, arrival.chunk)
            self._tally[name].bytes += len(arrival.chunk)
            for reading in self._decoders[name].feed(arrival.chunk, arrival.t_ns):
                self.log.append(reading)
                self._tally[name].readings += 1

    def finish(self, drops: list[Event]) -> None:
        """The end of the recording."""
        for name in self._decoders:
            self._flush(name)
        for drop in drops:
            self.log.event(drop)

    def _flush(self, name: str) -> None:
        for reading in self._decoders[name].flush():
            self.log.append(reading)
            self._tally[name].readings += 1


class _PortReader(threading.Thread):
    """Thread of one sensor: open, read until it breaks, note the gap, try again."""

    def __init__(
        self,
        sensor: str,
        link: SensorLink,
        arrivals: queue.Queue[Arrival],
        tally: SensorTally,
        clock: ArrivalClock,
        stop: threading.Event,
    ) -> None:
        super().__init__(name=f"read-{sensor}", daemon=True)
        self.failure: BaseException | None = None
        self._sensor = sensor
        self._link = link
        self._arrivals = arrivals
        self._tally = tally
        self._clock = clock
        self._stop_event = stop
        self._dropped_bytes = 0  # not yet reported in the log
        self._dropped_t_ns = 0

    def run(self) -> None:
        """Until `stop` is set; a mistake of ours ends the recording, it does not end this thread in silence."""
        try:
            self._read_and_reconnect()
        except BaseException as error:
            self.failure = error
            self._stop_event.set()

    def unreported_drop(self) -> Event | None:
        """The drop that could not be handed over, once the thread has ended."""
        if not self._dropped_bytes:
            return None
        text = "bytes dropped: the writer was behind"
        return Event(self._dropped_t_ns, EventKind.DROP, self._sensor, count=self._dropped_bytes, text=text)

    def _read_and_reconnect(self) -> None:
        lost_ns: int | None = None
        pause_s = RETRY_FIRST_S
        while not self._stop_event.is_set():
            try:
                with SerialPort(self._link.port, self._link.baud) as port:
                    self._tally.connected, self._tally.trouble = True, ""
                    if lost_ns is not None:
                        self._report_back(lost_ns)
                    lost_ns, pause_s = None, RETRY_FIRST_S
                    while not self._stop_event.is_set():
                        if chunk := port.read():
                            self._hand_over(Arrival(self._sensor, self._clock.now_ns(), chunk))
            except TransportError as error:
                self._tally.connected, self._tally.trouble = False, str(error)
                if lost_ns is None:
                    lost_ns = self._clock.now_ns()
                    self._report(Event(lost_ns, EventKind.GAP, self._sensor, text=str(error)))
                self._stop_event.wait(pause_s)
                pause_s = min(2 * pause_s, RETRY_MAX_S)

    def _report_back(self, lost_ns: int) -> None:
        now_ns = self._clock.now_ns()
        self._tally.reconnects += 1
        self._report(Event(now_ns, EventKind.RECONNECT, self._sensor, now_ns - lost_ns, text=self._link.port))

    def _report(self, event: Event) -> None:
        """Events wait for room: they are rare, and must not be lost."""
        while True:
            try:
                self._arrivals.put(Arrival(self._sensor, event.t_ns, event=event), timeout=IDLE_S)
                return
            except queue.Full:
                if self._stop_event.is_set():
                    return

    def _hand_over(self, arrival: Arrival) -> None:
        """Queues bytes; when the writer is hopelessly behind, counts drops and reports them before the next chunk."""
        try:
            if drop := self.unreported_drop():
                self._arrivals.put_nowait(Arrival(self._sensor, drop.t_ns, event=drop))
                self._dropped_bytes = 0
            self._arrivals.put_nowait(arrival)
        except queue.Full:
            if not self._dropped_bytes:
                self._dropped_t_ns = arrival.t_ns
            self._dropped_bytes += len(arrival.chunk)
            self._tally.dropped_bytes += len(arrival.chunk)
