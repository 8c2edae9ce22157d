"""`record` and `demo` as processes: signals, full disks, ports that are not there."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hodograph.acquisition.log import LogReader
from hodograph.cli import demo
from hodograph.core import HodographError
from hodograph.twin.lap import Motion, synthetic_lap
from hodograph.twin.player import PseudoPort

COMMAND = [sys.executable, "-c", "from hodograph.cli.main import run; run()"]


def write_rig(folder: Path, port: str) -> Path:
    path = folder / "rig.toml"
    path.write_text(
        f'schema = 1\nname = "t"\n[sensors.imu]\nport = "{port}"\nprotocol = "lines"\n'
        'columns = [{ channel = "acc_x_mps2", unit = "g" }]\n'
    )
    return path


@contextmanager
def talking(port: PseudoPort, line: bytes = b"0.5\n", pause_s: float = 0.01) -> Iterator[None]:
    """A sensor that talks all the time."""
    done = threading.Event()

    def talk() -> None:
        while not done.wait(pause_s):
            port.write(line)

    thread = threading.Thread(target=talk)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def has_rows(path: Path) -> bool:
    try:
        return LogReader(path).rows("imu") > 0
    except HodographError:  # the log is just being made
        return False


def wait_for_rows(path: Path) -> None:
    end_s = time.monotonic() + 30.0
    while not has_rows(path):
        assert time.monotonic() < end_s
        time.sleep(0.05)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_log_in_order(tmp_path: Path, number: signal.Signals) -> None:
    path = tmp_path / "a.drive"
    with PseudoPort() as port, talking(port):
        arguments = ["record", str(write_rig(tmp_path, port.path)), "-o", str(path), "--json"]
        process = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            wait_for_rows(path)
            process.send_signal(number)
            out, err = process.communicate(timeout=30)
        finally:
            process.kill()  # an orphan would hold on to the next test's port
    assert (process.returncode, err) == (0, "")
    document = json.loads(out)
    log = LogReader(path)
    assert dict(log.lost) == {}
    assert document["streams"]["imu"]["rows"] == log.rows("imu") == document["sensors"]["imu"]["readings"]


def test_a_full_disk_is_one_line_and_the_log_stays_readable(tmp_path: Path) -> None:
    path = tmp_path / "a.drive"

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))

    with PseudoPort() as port, talking(port, b"0.25\n" * 10):
        arguments = ["record", str(write_rig(tmp_path, port.path)), "-o", str(path), "--seconds", "60"]
        process = subprocess.run(
            [*COMMAND, *arguments], capture_output=True, text=True, preexec_fn=limit, timeout=60, check=False
        )
    assert process.returncode == 1
    assert process.stdout == ""
    assert process.stderr.startswith("hodograph: ")
    assert len(process.stderr.splitlines()) == 1
    assert "cannot be written" in process.stderr
    values = LogReader(path).numpy("imu")["acc_x_mps2"]
    assert values.size > 100
    assert np.allclose(values, 0.25 * 9.80665)


def test_a_port_that_never_comes(tmp_path: Path) -> None:
    arguments = ["record", str(write_rig(tmp_path, str(tmp_path / "ttyNone"))), "-o", str(tmp_path / "a.drive")]
    process = subprocess.run(
        [*COMMAND, *arguments, "--seconds", "0.3", "--json"], capture_output=True, text=True, timeout=60, check=False
    )
    assert process.returncode == 1
    assert "cannot be opened" in process.stderr
    assert "no sensor sent anything" in process.stderr.splitlines()[-1]
    assert json.loads(process.stdout)["streams"]["imu"]["rows"] == 0


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("mass_kg = = 3", "not valid TOML"), ('schema = 2\nname = "x"\n[chassis]\nmass = 3\n', "did you mean mass_kg?")],
)
def test_a_broken_vehicle_file_stops_before_anything_is_written(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "car.toml").write_text(text)
    rig = write_rig(tmp_path, "/dev/null")
    arguments = ["record", str(rig), "-o", str(tmp_path / "a.drive"), "--vehicle", str(tmp_path / "car.toml")]
    process = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert process.returncode == 1
    assert complaint in process.stderr
    assert not (tmp_path / "a.drive").exists()


def short_lap() -> Motion:
    lap = synthetic_lap(n=2000)
    keep = lap.t_s < 2.0
    return replace(lap, **{name: getattr(lap, name)[keep] for name in Motion.__dataclass_fields__})


def test_the_demo_runs_twice_and_replaces_only_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("asammdf")
    monkeypatch.setattr(demo, "synthetic_lap", short_lap)
    out = tmp_path / "out"
    demo.run_demo(out)
    (out / "mine.txt").write_text("keep")
    demo.run_demo(out)
    assert "nothing lost" in capsys.readouterr().out
    assert (out / "mine.txt").read_text() == "keep"
    assert (out / "track.png").read_bytes().startswith(b"\x89PNG")
    log = LogReader(out / "demo.drive")
    assert log.rows("gnss") == 20
    assert log.rows("imu") == 199
    made = {"demo.drive", "demo.mf4", "demo_gnss.csv", "demo_imu.csv", "track.png", "slalom.png", "slalom_frames.png"}
    assert {path.name for path in out.iterdir()} == made | {".hodograph-demo", "mine.txt"}


def test_the_demo_does_not_touch_what_it_did_not_make(tmp_path: Path) -> None:
    (tmp_path / "track.png").write_text("somebody's")
    with pytest.raises(HodographError, match="no demo made it"):
        demo.run_demo(tmp_path)
    assert (tmp_path / "track.png").read_text() == "somebody's"
