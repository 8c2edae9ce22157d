"""Pictures of a sideslip estimate: against the reference with its band, and where its errors are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hodograph.ann.network import VsaEstimate
from hodograph.observers.sideslip.channels import ACC_Y, V_X
from hodograph.observers.sideslip.drive import SideslipDrive
from hodograph.replay.axes import bare_figure, new_axes
from hodograph.replay.vsa_score import TWO_SIGMA, by_acc_y, by_speed, judged, score, smooth

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ESTIMATE, BAND, TRUTH, INVALID = "#1f5fa8", "#9dc3e6", "#c0392b", "#d9d9d9"
DPI = 110
ROW_S = 60.0  # of drive per row of the picture


def plot_estimate(drive: SideslipDrive, estimate: VsaEstimate, path: Path, title: str) -> None:
    """Writes a PNG of `draw_estimate`."""
    draw_estimate(drive, estimate, title).savefig(path, dpi=DPI)


def draw_estimate(drive: SideslipDrive, estimate: VsaEstimate, title: str) -> Figure:
    """β over time: estimate, 95 % band and reference, a row a minute; grey where the estimate is not valid."""
    t_s = drive.t_s - drive.t_s[0]
    rows = max(int(np.ceil(t_s[-1] / ROW_S)), 1)
    figure, axes = _figure(rows, 1, (11.0, 1.2 + 2.2 * rows))
    beta, band = np.degrees(estimate.beta_rad), TWO_SIGMA * np.degrees(estimate.std_rad)
    reference = None if drive.beta_rad is None else np.degrees(drive.beta_rad)
    shown = np.concatenate([beta, *([] if reference is None else [reference])])
    low, high = np.nanquantile(shown, [0.0005, 0.9995])
    for row in range(rows):
        axis = axes[row, 0]
        use = (t_s >= row * ROW_S) & (t_s <= (row + 1) * ROW_S)
        t = drive.t_s[use]
        axis.fill_between(
            t,
            0,
            1,
            where=~estimate.valid[use],
            transform=axis.get_xaxis_transform(),
            color=INVALID,
            lw=0,
            label="not valid",
        )
        axis.fill_between(t, (beta - band)[use], (beta + band)[use], color=BAND, lw=0, label="95 % band")
        if reference is not None:
            axis.plot(t, reference[use], color=TRUTH, lw=1.0, label="reference")
        axis.plot(t, beta[use], color=ESTIMATE, lw=0.9, label="estimate")
        axis.set(ylabel="sideslip β [deg]", xlim=(drive.t_s[0] + row * ROW_S, drive.t_s[0] + (row + 1) * ROW_S))
        axis.set_ylim(low - 1.2, high + 1.2)
        axis.grid(alpha=0.3)
    axes[-1, 0].set_xlabel("time [s]")
    axes[0, 0].legend(ncols=4, loc="lower left", bbox_to_anchor=(0.0, 1.0), frameon=False, fontsize=9)
    figure.suptitle(_titled(drive, estimate, title), fontsize=10)
    return figure


def plot_residuals(drive: SideslipDrive, estimate: VsaEstimate, path: Path, title: str) -> None:
    """Writes a PNG of `draw_residuals`."""
    draw_residuals(drive, estimate, title).savefig(path, dpi=DPI)


def draw_residuals(drive: SideslipDrive, estimate: VsaEstimate, title: str) -> Figure:
    """Errors against ay and speed, with RMS and bias of each bin."""
    error, _, use = judged(drive, estimate)
    figure, axes = _figure(1, 2, (11.0, 4.2))
    acc_y = smooth(drive, ACC_Y)
    for axis, values, bins, label in (
        (axes[0, 0], np.abs(acc_y), by_acc_y(drive, estimate), "|ay|, low-passed at 1 Hz [m/s²]"),
        (axes[0, 1], drive.inputs[:, V_X], by_speed(drive, estimate), "speed [m/s]"),
    ):
        every = max(len(error) // 6000, 1)
        axis.plot(values[use][::every], error[::every], ".", ms=1.5, color=BAND, label="error", rasterized=True)
        top = float(np.max(values[use]))
        edges = [(b.low, min(b.high, top)) for b in bins]
        for b, (low, high) in zip(bins, edges, strict=True):
            first = b is bins[0]
            axis.plot([low, high], [b.bias_deg] * 2, color=TRUTH, lw=2, label="bias" if first else None)
            for sign in (1, -1):
                rms = "± RMS" if first and sign > 0 else None
                axis.plot([low, high], [sign * b.rmse_deg] * 2, color=ESTIMATE, lw=2, label=rms)
        axis.set(xlabel=label, ylabel="estimate - reference [deg]")
        axis.grid(alpha=0.3)
        axis.legend(fontsize=9, markerscale=6)
    figure.suptitle(_titled(drive, estimate, title), fontsize=10)
    return figure


def plot_comparison(
    drive: SideslipDrive, estimates: dict[str, VsaEstimate], path: Path, span_s: tuple[float, float]
) -> None:
    """Writes a PNG of `draw_comparison`."""
    figure = bare_figure(11.0, 4.0)
    draw_comparison(drive, estimates, span_s, figure.add_subplot())
    figure.savefig(path, dpi=DPI)


def draw_comparison(
    drive: SideslipDrive, estimates: dict[str, VsaEstimate], span_s: tuple[float, float], axes: Axes | None = None
) -> Axes:
    """Several estimates and the reference in one stretch of time (Magri 2024, figures 60-65)."""
    axis = new_axes(11.0, 4.0) if axes is None else axes
    use = (drive.t_s >= span_s[0]) & (drive.t_s <= span_s[1])
    if drive.beta_rad is not None:
        axis.plot(drive.t_s[use], np.degrees(drive.beta_rad[use]), color=TRUTH, lw=1.8, label="reference")
    for colour, (name, estimate) in zip(("#2e8b57", "#1f5fa8", "#e08e0b", "#6c3483"), estimates.items(), strict=False):
        axis.plot(drive.t_s[use], np.degrees(estimate.beta_rad[use]), color=colour, lw=1.0, label=name)
    axis.set(xlabel="time [s]", ylabel="sideslip β [deg]", xlim=span_s)
    axis.grid(alpha=0.3)
    axis.legend(ncols=5, fontsize=9)
    return axis


def _titled(drive: SideslipDrive, estimate: VsaEstimate, title: str) -> str:
    if drive.beta_rad is None:
        return title
    s = score(drive, estimate)
    return (
        f"{title}: RMSE {s.rmse_deg:.2f}°, largest {s.max_deg:.2f}°, 95 % band holds {s.coverage_95:.1%}, "
        f"valid {s.valid_fraction:.0%}"
    )


def _figure(rows: int, columns: int, size_in: tuple[float, float]) -> tuple[Figure, Any]:
    figure = bare_figure(*size_in)
    return figure, figure.subplots(rows, columns, squeeze=False)
