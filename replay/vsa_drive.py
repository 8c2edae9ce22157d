"""The five channels of a drive, and its reference if there is one, from a log or a table; refused when implausible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hodograph.acquisition.importers import ImportOptions
from hodograph.acquisition.importers.tables import import_tables
from hodograph.acquisition.log import LogReader
from hodograph.ann.network import CHANNELS, V_MIN_MPS
from hodograph.core import Array, DataError, StreamData

ALSO_CALLED = {"v_x_mps": ("v_x_mps", "speed_mps"), "gyro_z_radps": ("gyro_z_radps", "yaw_rate_radps")}
STALE_S = 0.5  # a held value older than this is missing
A_DATE_S = 1e8  # stamps beyond this count from 1970
Provider = Callable[[], StreamData]


@dataclass(frozen=True, slots=True)
class VsaDrive:
    """t_ns and t_s (n,), inputs (n, 5) as `ann.network.CHANNELS`, and the reference β (n,) in rad or None."""

    name: str
    t_ns: NDArray[np.int64]
    t_s: Array
    inputs: Array
    beta_rad: Array | None
    vehicle_toml: str | None = None

    @property
    def moving(self) -> NDArray[np.bool_]:
        """(n,) True from 3 m/s up, where sideslip means something."""
        return self.inputs[:, 0] >= V_MIN_MPS

    def between(self, t_min_s: float | None, t_max_s: float | None) -> VsaDrive:
        """The rows with t_min_s <= t < t_max_s, in the data's own time (dates: seconds after its start)."""
        t_s = self.t_s - self.t_s[0] if self.t_s[0] > A_DATE_S else self.t_s
        low = -np.inf if t_min_s is None else t_min_s
        high = np.inf if t_max_s is None else t_max_s
        keep = (t_s >= low - 1e-9) & (t_s < high - 1e-9)
        if keep.sum() < 2:
            raise DataError(
                f"{self.name}: no rows between {low:g} s and {high:g} s; it runs from {t_s[0]:.2f} s to {t_s[-1]:.2f} s"
            )
        beta = None if self.beta_rad is None else self.beta_rad[keep]
        return VsaDrive(self.name, self.t_ns[keep], self.t_s[keep], self.inputs[keep], beta, self.vehicle_toml)


def read_drive(path: Path, mapping: Path | None = None) -> VsaDrive:
    """The drive in a log folder, or in a table laid out as `mapping` says."""
    if path.is_dir() and mapping is None:
        log = LogReader(path)
        streams = {name: log.schema(name).names for name in log.streams}
        toml = log.meta.vehicle_toml
        return _drive(str(path), streams, log.numpy, toml)
    if not path.exists():
        raise DataError(f"{path}: does not exist")
    imported = import_tables([path], ImportOptions(mapping=mapping))
    found = {stream.schema.name: stream for stream in imported.streams}
    streams = {name: data.schema.names for name, data in found.items()}
    return _drive(path.name, streams, found.__getitem__, imported.vehicle_toml)


def _drive(
    name: str, streams: dict[str, tuple[str, ...]], read: Callable[[str], StreamData], vehicle_toml: str | None
) -> VsaDrive:
    """Channels by name from whichever stream has them, on the raster of the yaw rate, held causally."""
    where = {channel: _find(name, streams, channel) for channel in CHANNELS}
    raster = read(where["gyro_z_radps"][0])
    t_ns = raster.t_ns
    if len(t_ns) < 2:
        raise DataError(f"{name}: {len(t_ns)} rows of {where['gyro_z_radps'][1]}; that is no drive")
    columns = [_held(read(stream), channel, t_ns) for stream, channel in where.values()]
    beta = None
    inputs = np.stack(columns, axis=1)
    if reference := _lookup(streams, ("beta_cg_rad",)):
        beta = _held(read(reference[0]), reference[1], t_ns)
    elif reference := _lookup(streams, ("v_y_mps",)):
        beta = np.arctan2(_held(read(reference[0]), reference[1], t_ns), inputs[:, 0])
    return VsaDrive(name, t_ns, np.asarray(t_ns * 1e-9, dtype=np.float64), inputs, beta, vehicle_toml)


def _lookup(streams: dict[str, tuple[str, ...]], names: Sequence[str]) -> tuple[str, str] | None:
    return next(((s, n) for n in names for s, channels in streams.items() if n in channels), None)


def _find(name: str, streams: dict[str, tuple[str, ...]], channel: str) -> tuple[str, str]:
    found = _lookup(streams, ALSO_CALLED.get(channel, (channel,)))
    if found is None:
        known = ", ".join(sorted({c for channels in streams.values() for c in channels}))
        raise DataError(f"{name}: has no channel {channel}; name it so in the mapping. It has: {known}")
    return found


def _held(data: StreamData, channel: str, t_ns: NDArray[np.int64]) -> Array:
    """The newest value at each time of the raster; NaN when there is none or it is stale."""
    column = np.asarray(data[channel], dtype=np.float64)
    if data.t_ns.shape == t_ns.shape and bool(np.all(data.t_ns == t_ns)):
        return column
    row = np.searchsorted(data.t_ns, t_ns, side="right") - 1
    held = column[np.maximum(row, 0)]
    fresh = (row >= 0) & (t_ns - data.t_ns[np.maximum(row, 0)] <= STALE_S * 1e9)
    return np.where(fresh, held, np.nan)


def check_plausible(drive: VsaDrive) -> None:
    """Refuse channels that are silent, or whose units or signs cannot be right: ay must be about v·r."""
    for i, channel in enumerate(CHANNELS):
        missing = float(np.mean(~np.isfinite(drive.inputs[:, i])))
        if missing > 0.5:
            raise DataError(f"{drive.name}: {channel} is missing in {missing:.0%} of the rows")
    use = np.all(np.isfinite(drive.inputs), axis=1) & drive.moving
    if not use.any():
        raise DataError(f"{drive.name}: never faster than {V_MIN_MPS:g} m/s: no sideslip to speak of")
    v, steer, a_y, _, r = drive.inputs[use].T
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


def check_trainable(drive: VsaDrive, *, needs_reference: bool) -> None:
    """Refuse a drive that cannot teach: no reference, too short, or nothing happens."""
    check_plausible(drive)
    if needs_reference and drive.beta_rad is None:
        raise DataError(f"{drive.name}: has no reference (beta_cg_rad or v_y_mps) to learn from")
    use = drive.moving & np.all(np.isfinite(drive.inputs), axis=1)
    seconds = float(use.sum()) * float(np.median(np.diff(drive.t_s)))
    if seconds < 20.0:
        raise DataError(f"{drive.name}: {seconds:.1f} s of driving, want 20 s or more to train")
    acc_y = float(np.std(drive.inputs[use, 2]))
    rate = float(np.std(drive.inputs[use, 4]))
    if acc_y < 0.5 or rate < 0.02:
        raise DataError(
            f"{drive.name}: too little excitation: ay varies by {acc_y:.2f} m/s², yaw rate by {rate:.3f} rad/s, "
            "want 0.5 and 0.02; drive corners"
        )
