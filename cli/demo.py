"""`hodograph demo`: a simulated lap through the real chain, from serial bytes to files; then the car in a slalom."""

from __future__ import annotations

import math
import shutil
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from rich.console import Console

from hodograph.acquisition.geodesy import geodetic_from_degrees
from hodograph.acquisition.log import LogReader
from hodograph.acquisition.rig import rig_from_text
from hodograph.cli.console import OnProgress, progress, stdout
from hodograph.cli.inspecting import log_health, print_info
from hodograph.cli.track_plot import plot_track
from hodograph.core import HodographError, MissingExtraError
from hodograph.onboard.recorder import Recorder, SensorTally
from hodograph.replay.exporters import ExportOptions, export_csv, export_mf4
from hodograph.twin.instruments import GnssReceiver, LineImu, rig_text
from hodograph.twin.lap import synthetic_lap
from hodograph.twin.player import Player, PseudoPort

SEED = 7
ORIGIN = geodetic_from_degrees(latitude_deg=43.3325, longitude_deg=-8.4106, height_m=72.0)
MARKER = ".hodograph-demo"  # says that a folder's demo files are ours to replace
LOG, PLOT, MF4, CSV = "demo.drive", "track.png", "demo.mf4", "demo.csv"
CSV_FILES = ("demo_gnss.csv", "demo_imu.csv")
SLALOM, FRAMES = "slalom.png", "slalom_frames.png"
VEHICLE = "xbw"
LEAD_S = 1.5  # from now to the first byte: time to open the ports
TAIL_S = 0.3  # from the last byte to the end of the recording


def run_demo(out: Path) -> None:
    """Plays, records, inspects, draws and exports; what an earlier demo left in `out` is replaced."""
    for library, extra, purpose in (("matplotlib", "plot", "the track plot"), ("asammdf", "mdf", "MDF4 export")):
        if find_spec(library) is None:
            raise MissingExtraError(purpose, library, extra)
    _clear(out)
    console = stdout()
    console.print(
        "A simulated kart laps a 330 m track; its GNSS and IMU talk to two (pseudo) serial ports.", soft_wrap=True
    )
    _record_lap(out / LOG)
    log = LogReader(out / LOG)
    print_info(console, log, log_health(log))
    with progress("drawing and exporting"):
        plot_track(log, out / PLOT, title="A simulated lap, recorded from the receiver's serial port")
        export_mf4(log, out / MF4, ExportOptions())
        export_csv(log, out / CSV, ExportOptions())
    _drive_slalom(console, out)
    console.print("\nwritten:")
    for name, what in (
        (LOG, "the log: every byte that came, decoded values beside it"),
        (PLOT, "the track in metres, coloured by speed"),
        (MF4, "all channels for CANape, MATLAB, WinTAX, asammdf"),
        *((name, "one stream for everything else") for name in CSV_FILES),
        (SLALOM, "the car through a slalom: track, yaw rate, sideslip, wheel loads"),
        (FRAMES, "six moments of it, every part where the model has it"),
    ):
        console.print(f"  {out / name}  {what}", markup=False, soft_wrap=True)
    console.print(f"\nnext: hodograph info {out / LOG} --json", markup=False, soft_wrap=True)


def _clear(out: Path) -> None:
    """Makes room for the files of this run; refuses to touch any that no demo has made."""
    ours = (LOG, PLOT, MF4, *CSV_FILES, SLALOM, FRAMES)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise HodographError(f"{out}: is a file; give another folder with --out") from error
    present = [out / name for name in ours if (out / name).exists()]
    if present and not (out / MARKER).exists():
        raise HodographError(f"{present[0]}: exists and no demo made it; give another folder with --out")
    (out / MARKER).write_text("The demo replaces its own files in this folder.\n", encoding="utf-8")
    for path in present:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _drive_slalom(console: Console, out: Path) -> None:
    """The 18-body car through a slalom, simulated as fast as it goes."""
    from hodograph.cli.slalom_plot import plot_frames, plot_slalom
    from hodograph.multibody.car.car import Car
    from hodograph.twin.slalom import Slalom, drive_slalom

    course = Slalom()
    with progress("building the car (the first time its kernels are compiled)"):
        car = Car.of(VEHICLE)
        car.stepper.run(car.settle(), 4e-3, 1)
    begun_s = time.perf_counter()
    with progress("driving the slalom") as show:
        drive = drive_slalom(car, course, show)
    took_s = time.perf_counter() - begun_s
    with progress("drawing the slalom"):
        plot_slalom(car, drive, course, out / SLALOM)
        plot_frames(car, drive, course, out / FRAMES)
    simulated_s = float(drive.t_s[-1])
    console.print(
        f"\nThe {VEHICLE} (18 bodies, 14 degrees of freedom) drove a slalom of {simulated_s:.0f} s in {took_s:.1f} s: "
        f"sideslip up to {np.degrees(np.abs(drive.beta_rad[drive.body_mps[:, 0] > 1.0]).max()):.1f}°, lateral "
        f"acceleration up to {np.abs(drive.acceleration_mps2[:, 1]).max():.1f} m/s².",
        markup=False, soft_wrap=True,
    )  # fmt: skip


def _record_lap(path: Path) -> None:
    """One lap in real time: instruments → pseudo-terminals → recorder → log."""
    rng = np.random.default_rng(SEED)
    lap = synthetic_lap()
    now = datetime.now(UTC)
    start = (now + timedelta(seconds=LEAD_S + 1)).replace(microsecond=0)  # receivers work on whole seconds
    start_s = time.monotonic() + (start - now).total_seconds()
    with ExitStack() as stack:
        gnss_port = stack.enter_context(PseudoPort())
        imu_port = stack.enter_context(PseudoPort())
        player = Player(
            {gnss_port: GnssReceiver(ORIGIN).send(lap, start, rng), imu_port: LineImu().send(lap, rng)}, start_s
        )
        stack.callback(player.stop.set)
        recorder = Recorder(rig_from_text(rig_text(gnss_port.path, imu_port.path), "the demo's rig"), path)
        show = stack.enter_context(progress("driving and recording"))
        player.start()
        recorder.run(on_tick=_Watch(player, recorder.stop, show))
    if player.lost_bytes:
        raise HodographError(f"the pseudo-terminals lost {player.lost_bytes} bytes: is this computer very busy?")


class _Watch:
    """Shows how far the lap is, and stops the recording a moment after its end."""

    def __init__(self, player: Player, stop: threading.Event, show: OnProgress) -> None:
        self._player = player
        self._stop = stop
        self._show = show
        self._end_s = math.inf

    def __call__(self, tally: Mapping[str, SensorTally]) -> None:
        self._show(self._player.t_s, self._player.duration_s)
        if not self._player.is_alive() and math.isinf(self._end_s):
            self._end_s = time.monotonic() + TAIL_S
        if time.monotonic() >= self._end_s:
            self._stop.set()
