"""How good a sideslip estimate was, in degrees, against a reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hodograph.ann.network import VsaEstimate
from hodograph.core import Array, DataError
from hodograph.observers.sideslip.channels import ACC_Y, V_X
from hodograph.observers.sideslip.drive import SideslipDrive

TWO_SIGMA = 1.96
ACC_Y_BINS_MPS2 = (0.0, 2.0, 4.0, 6.0, 8.0, 10.0, np.inf)
SPEED_BINS_MPS = (3.0, 10.0, 20.0, 30.0, 40.0, 50.0, np.inf)
LOW_PASS_HZ = 1.0  # |ay| is binned by its slow part, not by its vibration


@dataclass(frozen=True, slots=True)
class VsaScore:
    """Errors in degrees over all samples above 3 m/s, valid or not; the share inside ±1.96 sigma; the share valid."""

    rmse_deg: float
    mae_deg: float
    max_deg: float
    n: int
    coverage_95: float
    valid_fraction: float

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Bin:
    """Errors in one range of |ay| or speed; low <= value < high."""

    low: float
    high: float
    n: int
    rmse_deg: float
    bias_deg: float
    coverage_95: float


def judged(drive: SideslipDrive, estimate: VsaEstimate) -> tuple[Array, Array, NDArray[np.bool_]]:
    """(error deg, 1-sigma deg, which rows) where the car moves and both reference and estimate speak."""
    use = drive.moving & np.isfinite(drive.reference_rad) & np.isfinite(estimate.beta_rad)
    if not use.any():
        raise DataError(f"{drive.name}: no row above 3 m/s with reference and estimate")
    error = np.degrees(estimate.beta_rad - drive.reference_rad)
    return np.asarray(error[use]), np.asarray(np.degrees(estimate.std_rad)[use]), use


def score(drive: SideslipDrive, estimate: VsaEstimate) -> VsaScore:
    """The figures of `hodograph vsa eval`."""
    error, std, use = judged(drive, estimate)
    return VsaScore(
        rmse_deg=float(np.sqrt(np.mean(error**2))),
        mae_deg=float(np.mean(np.abs(error))),
        max_deg=float(np.max(np.abs(error))),
        n=len(error),
        coverage_95=float(np.mean(np.abs(error) <= TWO_SIGMA * std)),
        valid_fraction=float(np.mean(estimate.valid[use])),
    )


def smooth(drive: SideslipDrive, column: int) -> Array:
    """A channel low-passed causally, for sorting rows into bins."""
    from scipy.signal import lfilter

    x = np.nan_to_num(drive.inputs[:, column])
    keep = float(np.exp(-2 * np.pi * LOW_PASS_HZ * np.median(np.diff(drive.t_s))))
    return np.asarray(lfilter([1 - keep], [1, -keep], x, zi=[keep * x[0]])[0], dtype=np.float64)


def binned(drive: SideslipDrive, estimate: VsaEstimate, values: Array, edges: Sequence[float]) -> list[Bin]:
    """Errors split by `values` (n,), empty bins left out."""
    error, std, use = judged(drive, estimate)
    bins = []
    for low, high in pairwise(edges):
        inside = (values[use] >= low) & (values[use] < high)
        if inside.any():
            e = error[inside]
            held = float(np.mean(np.abs(e) <= TWO_SIGMA * std[inside]))
            bins.append(Bin(low, high, len(e), float(np.sqrt(np.mean(e**2))), float(np.mean(e)), held))
    return bins


def by_acc_y(drive: SideslipDrive, estimate: VsaEstimate) -> list[Bin]:
    """Errors split by |ay|."""
    return binned(drive, estimate, np.abs(smooth(drive, ACC_Y)), ACC_Y_BINS_MPS2)


def by_speed(drive: SideslipDrive, estimate: VsaEstimate) -> list[Bin]:
    """Errors split by speed."""
    return binned(drive, estimate, np.nan_to_num(drive.inputs[:, V_X]), SPEED_BINS_MPS)


def delay_s(drive: SideslipDrive, estimate: VsaEstimate, at_most_s: float = 0.6) -> float:
    """By how much the estimate is late: the shift of the reference that fits it best; the price of filtering."""
    step_s = float(np.median(np.diff(drive.t_s)))
    use = np.isfinite(estimate.beta_rad) & np.isfinite(drive.reference_rad)
    mine, theirs = np.where(use, estimate.beta_rad, 0.0), np.where(use, drive.reference_rad, 0.0)
    shifts = range(round(at_most_s / step_s))
    errors = [float(np.mean(np.square(mine[k:] - theirs[: len(theirs) - k]))) for k in shifts]
    return float(np.argmin(errors)) * step_s
