"""The recorder over real pseudo-terminals: nothing lost, gaps and drops admitted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from hodograph.acquisition.log import EventKind, LogReader, LogWriter
from hodograph.acquisition.rig import Rig, rig_from_text
from hodograph.acquisition.serial_port import SerialPort
from hodograph.core import LogWriteError, Reading, TransportError
from hodograph.onboard.recorder import Recorder, SensorTally
from hodograph.twin.instruments import nmea_sentence
from hodograph.twin.player import PseudoPort

PATIENCE_S = 20.0


def rig_for(**ports: Path | str) -> Rig:
    text = 'schema = 1\nname = "test"\n'
    for name, port in ports.items():
        text += f'[sensors.{name}]\nport = "{port}"\n'
        if name == "gnss":
            text += 'protocol = "nmea"\n'
        else:
            text += 'protocol = "lines"\ncolumns = [{ channel = "acc_x_mps2", unit = "m/s^2" }]\n'
    return rig_from_text(text)


def wait_until(done: Callable[[], bool]) -> None:
    end_s = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < end_s, "waited in vain"
        time.sleep(0.005)


class Running:
    """A recorder in a thread of its own, ended at exit."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        try:
            self.recorder.run(seconds=3 * PATIENCE_S)
        except BaseException as error:
            self.error = error

    def __enter__(self) -> Mapping[str, SensorTally]:
        self._thread.start()
        return self.recorder.tally

    def __exit__(self, *_: object) -> None:
        self.recorder.stop.set()
        self._thread.join()


def raw_bytes(log: LogReader, name: str) -> bytes:
    return b"".join(chunk for _, chunk in log.raw(name))


def test_every_byte_is_in_the_log_and_decoded(tmp_path: Path) -> None:
    epoch = b"".join(nmea_sentence(f"GPGGA,12000{k}.00,4320.0,N,00824.0,W,4,12,0.8,20.0,M,50.0,M,,") for k in range(5))
    noise = b"\x00\xb5\x62binary\r\n"
    with PseudoPort() as gnss, PseudoPort() as imu:
        recorder = Recorder(rig_for(gnss=gnss.path, imu=imu.path), tmp_path / "a.drive")
        with Running(recorder) as tally:
            wait_until(lambda: all(t.connected for t in tally.values()))
            assert gnss.write(noise + epoch) == len(noise + epoch)
            lines = b"".join(b"%d.5\r\n" % k for k in range(200))
            for begin in range(0, len(lines), 37):
                imu.write(lines[begin : begin + 37])
            wait_until(lambda: tally["imu"].bytes == len(lines) and tally["gnss"].bytes == len(noise + epoch))
    log = LogReader(tmp_path / "a.drive")
    assert raw_bytes(log, "gnss_raw") == noise + epoch
    assert raw_bytes(log, "imu_raw") == lines
    assert log.rows("gnss") == 5
    assert log.numpy("imu")["acc_x_mps2"].tolist() == [k + 0.5 for k in range(1, 200)]
    assert log.events == ()
    assert dict(log.lost) == {}
    assert log.meta.rig_toml == recorder.rig.text
    assert [reading.t_ns for reading in log.readings()] == sorted(reading.t_ns for reading in log.readings())
    assert recorder.tally["imu"].readings == 199


def test_unplugging_is_a_gap_and_a_reconnect(tmp_path: Path) -> None:
    link = tmp_path / "ttyIMU"
    recorder = Recorder(rig_for(imu=link), tmp_path / "a.drive")
    port = PseudoPort(link)
    with Running(recorder) as tally:
        wait_until(lambda: tally["imu"].connected)
        port.write(b"0\n1\n2\n3")  # unplugged in the middle of 33
        wait_until(lambda: tally["imu"].bytes == 7)
        port.close()
        wait_until(lambda: not tally["imu"].connected)
        assert "unplugged" in tally["imu"].trouble
        port = PseudoPort(link)
        wait_until(lambda: tally["imu"].connected)
        port.write(b"4\n5\n6\n")
        wait_until(lambda: tally["imu"].bytes == 13)
    port.close()
    log = LogReader(recorder.path)
    assert log.numpy("imu")["acc_x_mps2"].tolist() == [1.0, 2.0, 5.0, 6.0]  # neither 34 nor 3 nor 4
    assert raw_bytes(log, "imu_raw") == b"0\n1\n2\n34\n5\n6\n"
    gap, back = log.events
    assert (gap.kind, back.kind) == (EventKind.GAP, EventKind.RECONNECT)
    assert gap.stream == back.stream == "imu"
    assert back.duration_ns == back.t_ns - gap.t_ns > 0
    assert recorder.tally["imu"].reconnects == 1


def test_a_port_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    link = tmp_path / "ttyIMU"
    recorder = Recorder(rig_for(imu=link), tmp_path / "a.drive")
    with Running(recorder) as tally:
        wait_until(lambda: "cannot be opened" in tally["imu"].trouble)
        with PseudoPort(link) as port:
            wait_until(lambda: tally["imu"].connected)
            port.write(b"1\n2\n")
            wait_until(lambda: tally["imu"].bytes == 4)
    assert [event.kind for event in LogReader(recorder.path).events][:2] == [EventKind.GAP, EventKind.RECONNECT]


def test_what_the_writer_cannot_keep_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hold = threading.Event()
    keep = LogWriter.append_raw

    def slow(self: LogWriter, name: str, t_ns: int, chunk: bytes) -> None:
        hold.wait(PATIENCE_S)
        keep(self, name, t_ns, chunk)

    monkeypatch.setattr(LogWriter, "append_raw", slow)
    recorder = Recorder(rig_for(imu=tmp_path / "ttyIMU"), tmp_path / "a.drive", queue_chunks=2)
    sent = 0
    with PseudoPort(tmp_path / "ttyIMU") as port, Running(recorder) as tally:
        wait_until(lambda: tally["imu"].connected)
        while not tally["imu"].dropped_bytes:
            sent += port.write(b"1.25\n")
            time.sleep(0.005)
        hold.set()
        wait_until(lambda: tally["imu"].bytes + tally["imu"].dropped_bytes == sent)
        sent += port.write(b"1.25\n2.5\n")
        wait_until(lambda: tally["imu"].bytes + tally["imu"].dropped_bytes == sent)
    log = LogReader(recorder.path)
    drops = [event for event in log.events if event.kind == EventKind.DROP]
    assert sum(event.count for event in drops) == recorder.tally["imu"].dropped_bytes > 0
    assert len(raw_bytes(log, "imu_raw")) + recorder.tally["imu"].dropped_bytes == sent
    assert set(log.numpy("imu")["acc_x_mps2"].tolist()) <= {1.25, 2.5}


def test_a_full_disk_ends_the_recording_with_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep = LogWriter.append

    def full(self: LogWriter, reading: Reading) -> None:
        if reading.values == (3.0,):
            raise LogWriteError("a.drive: cannot be written: No space left on device")
        keep(self, reading)

    monkeypatch.setattr(LogWriter, "append", full)
    recorder = Recorder(rig_for(imu=tmp_path / "ttyIMU"), tmp_path / "a.drive")
    running = Running(recorder)
    with PseudoPort(tmp_path / "ttyIMU") as port, running as tally:
        wait_until(lambda: tally["imu"].connected)
        port.write(b"1\n2\n3\n4\n")
        wait_until(recorder.stop.is_set)
    assert isinstance(running.error, LogWriteError)
    assert LogReader(recorder.path).numpy("imu")["acc_x_mps2"].tolist() == [2.0]


def test_a_mistake_in_a_reader_thread_is_not_silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: SerialPort) -> bytes:
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr(SerialPort, "read", broken)
    with PseudoPort() as port, pytest.raises(RuntimeError, match="a mistake of ours"):
        Recorder(rig_for(imu=port.path), tmp_path / "a.drive").run(seconds=PATIENCE_S)


def test_the_time_is_kept_and_an_existing_log_is_not_touched(tmp_path: Path) -> None:
    ticks: list[int] = []
    with PseudoPort() as port:
        recorder = Recorder(rig_for(imu=port.path), tmp_path / "a.drive")
        tally = recorder.run(seconds=0.2, on_tick=lambda counts: ticks.append(len(counts)))
        assert tally["imu"].bytes == 0
        assert set(ticks) == {1}
        with pytest.raises(LogWriteError, match="exists already"):
            Recorder(rig_for(imu=port.path), tmp_path / "a.drive").run(seconds=0.1)


def test_a_port_that_cannot_be_opened_says_so(tmp_path: Path) -> None:
    with pytest.raises(TransportError, match="cannot be opened"):
        SerialPort(str(tmp_path / "ttyNone"), 9600)
    (tmp_path / "file").touch()
    with pytest.raises(TransportError, match="cannot be opened"):
        SerialPort(str(tmp_path / "file"), 9600)
