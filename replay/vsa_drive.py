"""The five channels of a drive, and its reference if there is one, from a log or a table; refused when implausible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hodograph.acquisition.importers import ImportOptions
from hodograph.acquisition.importers.tables import import_tables
from hodograph.acquisition.log import LogReader
from hodograph.core import Array, DataError, StreamData
from hodograph.core.display import short_repr
from hodograph.observers.sideslip.channels import ACC_Y, CHANNELS, GYRO_Z, STALE_S, STEER, V_MIN_MPS, V_X
from hodograph.observers.sideslip.drive import Heard, SideslipDrive
from hodograph.observers.sideslip.sources import Sources, sources_of
from hodograph.sensors.mounting import Mount

REFERENCES = ("beta_cg_rad", "v_y_mps")
"""Channels that may serve as the reference, the best first."""


@dataclass(frozen=True, slots=True)
class ReadDrive:
    """A drive, and the channels in it that were taken for body axes because nobody says whose axes they are in."""

    drive: SideslipDrive
    unstated: tuple[str, ...]

    __repr__ = short_repr


def read_drive(path: Path, mapping: Path | None = None, mounts: Mapping[str, Mount] | None = None) -> SideslipDrive:
    """The drive in a log folder, or in a table laid out as `mapping` says."""
    return read_drive_and_frames(path, mapping, mounts).drive


def read_drive_and_frames(
    path: Path, mapping: Path | None = None, mounts: Mapping[str, Mount] | None = None
) -> ReadDrive:
    """The same, with what has to be asked about frames."""
    if path.is_dir() and mapping is None:
        log = LogReader(path)
        data = {name: log.numpy(name) for name in log.streams}
        return _drive(str(path), data, mounts or {}, log.meta.vehicle_toml)
    if not path.exists():
        raise DataError(f"{path}: does not exist")
    imported = import_tables([path], ImportOptions(mapping=mapping))
    found = {stream.schema.name: stream for stream in imported.streams}
    return _drive(path.name, found, mounts or {}, imported.vehicle_toml)


def _drive(
    name: str, data: Mapping[str, StreamData], mounts: Mapping[str, Mount], vehicle_toml: str | None
) -> ReadDrive:
    """What the streams said, and the channels on the raster of the yaw rate, held causally."""
    try:
        sources, unstated = sources_of([d.schema for d in data.values()], mounts)
    except DataError as error:
        raise DataError(f"{name}: {error}") from error
    raster_ns = data[sources.found[GYRO_Z]].t_ns
    if len(raster_ns) < 2:
        raise DataError(f"{name}: {len(raster_ns)} rows of the yaw rate; that is no drive")
    heard = tuple((stream, Heard(data[stream].t_ns, _values(data[stream]))) for stream in sources.used)
    inputs = _on_raster(sources, dict(heard), raster_ns)
    beta = _reference(data, raster_ns, inputs)
    return ReadDrive(SideslipDrive(name, raster_ns, inputs, beta, vehicle_toml, sources, heard), unstated)


def _values(data: StreamData) -> Array:
    """(m, width) in the order of the schema."""
    return np.column_stack([np.asarray(data[name], dtype=np.float64) for name in data.schema.names])


def _on_raster(sources: Sources, heard: Mapping[str, Heard], t_ns: NDArray[np.int64]) -> Array:
    """(n, 5) channels as CHANNELS: the newest of each at the times of the raster, in body axes."""
    table, weights = sources.table(), sources.weights
    columns = []
    for row in range(len(CHANNELS)):
        stream = sources.found[row]
        part = weights[row, table[stream].first : table[stream].end]
        some = np.flatnonzero(part)
        columns.append(_held(heard[stream].t_ns, heard[stream].values[:, some] @ part[some], t_ns))
    return np.stack(columns, axis=1)


def _reference(data: Mapping[str, StreamData], t_ns: NDArray[np.int64], inputs: Array) -> Array | None:
    """Sideslip from whichever stream has it, or from the lateral velocity."""
    for channel in REFERENCES:
        for stream in data.values():
            if channel in stream.schema.names:
                column = _held(stream.t_ns, np.asarray(stream[channel], dtype=np.float64), t_ns)
                return column if channel == REFERENCES[0] else np.arctan2(column, inputs[:, V_X])
    return None


def _held(t_from_ns: NDArray[np.int64], column: Array, t_ns: NDArray[np.int64]) -> Array:
    """The newest value at each time of the raster; NaN when there is none or it is stale."""
    if t_from_ns.shape == t_ns.shape and bool(np.all(t_from_ns == t_ns)):
        return column
    row = np.searchsorted(t_from_ns, t_ns, side="right") - 1
    held = column[np.maximum(row, 0)]
    fresh = (row >= 0) & (t_ns - t_from_ns[np.maximum(row, 0)] <= STALE_S * 1e9)
    return np.where(fresh, held, np.nan)


def check_plausible(drive: SideslipDrive) -> None:
    """Refuse channels that are silent, or whose units or signs cannot be right: ay must be about v·r."""
    for i, channel in enumerate(CHANNELS):
        missing = float(np.mean(~np.isfinite(drive.inputs[:, i])))
        if missing > 0.5:
            raise DataError(f"{drive.name}: {channel} is missing in {missing:.0%} of the rows")
    use = np.all(np.isfinite(drive.inputs), axis=1) & drive.moving
    if not use.any():
        raise DataError(f"{drive.name}: never faster than {V_MIN_MPS:g} m/s: no sideslip to speak of")
    v, steer, a_y, r = (drive.inputs[use, row] for row in (V_X, STEER, ACC_Y, GYRO_Z))
    expected = v * r
    if np.sqrt(np.mean(expected**2)) < 0.3 and np.sqrt(np.mean(a_y**2)) < 0.3:
        return
    slope = float(a_y @ expected) / max(float(expected @ expected), 1e-12)
    related = abs(float(a_y @ expected)) / max(float(np.linalg.norm(a_y) * np.linalg.norm(expected)), 1e-12)
    if not 0.6 < slope < 1.6 or related < 0.6:
        raise DataError(
            f"{drive.name}: acc_y_mps2 is {slope:.3g} times v·r (correlation {related:.2f}), want about 1: "
            + _guess(slope)
        )
    if float(steer @ expected) < 0:
        raise DataError(f"{drive.name}: steer_rad and yaw rate have opposite signs; set sign = -1 in the mapping")
    large = float(np.quantile(np.abs(steer), 0.99))
    if large > 1.0:
        raise DataError(f"{drive.name}: steer_rad is up to {large:.1f}: degrees, or the angle of the steering wheel?")


def _guess(slope: float) -> str:
    guesses = {
        "a sign is wrong": (-1.6, -0.6),
        "ay is in g, or speed in another unit": (0.07, 0.13),
        "ay is taken for g and is in m/s²": (7.0, 13.0),
        "the yaw rate is in deg/s": (0.01, 0.025),
        "the yaw rate is taken from deg/s once too often": (40.0, 75.0),
        "the speed is in km/h": (0.2, 0.35),
    }
    found = [text for text, (low, high) in guesses.items() if low < slope < high]
    return (found or ["check units and signs in the mapping"])[0]


def check_trainable(drive: SideslipDrive, *, needs_reference: bool) -> None:
    """Refuse a drive that cannot teach: no reference, too short, or nothing happens."""
    check_plausible(drive)
    if needs_reference and drive.beta_rad is None:
        raise DataError(f"{drive.name}: has no reference (beta_cg_rad or v_y_mps) to learn from")
    use = drive.moving & np.all(np.isfinite(drive.inputs), axis=1)
    seconds = float(use.sum()) * float(np.median(np.diff(drive.t_s)))
    if seconds < 20.0:
        raise DataError(f"{drive.name}: {seconds:.1f} s of driving, want 20 s or more to train")
    acc_y = float(np.std(drive.inputs[use, ACC_Y]))
    rate = float(np.std(drive.inputs[use, GYRO_Z]))
    if acc_y < 0.5 or rate < 0.02:
        raise DataError(
            f"{drive.name}: too little excitation: ay varies by {acc_y:.2f} m/s², yaw rate by {rate:.3f} rad/s, "
            "want 0.5 and 0.02; drive corners"
        )
