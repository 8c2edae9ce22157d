"""The track of a log as a picture: east and north in metres, coloured by speed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hodograph.acquisition.geodesy import EnuFrame, Geodetic
from hodograph.acquisition.log import LogReader
from hodograph.core import Array, HodographError
from hodograph.replay.axes import bare_figure, figure_of, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DPI = 160
SIZE_IN = (8.6, 6.2)
LINE_WIDTH = 4.5
MARGIN = 0.08  # of the larger side


def plot_track(log: LogReader, path: Path, *, stream: str = "gnss", title: str = "") -> None:
    """Writes a PNG of `draw_track`."""
    figure = bare_figure(*SIZE_IN)
    figure.set_layout_engine("constrained", w_pad=0.12, h_pad=0.12)
    draw_track(log, stream=stream, title=title, axes=figure.add_subplot())
    figure.savefig(path, dpi=DPI)


def draw_track(log: LogReader, *, stream: str = "gnss", title: str = "", axes: Axes | None = None) -> Axes:
    """The positions in `stream`, in ENU about the first fix; `HodographError` without any fix."""
    names = ("latitude_rad", "longitude_rad", "height_m", "speed_mps")
    data = log.numpy(stream, channels=names)
    columns = [data[name].astype(np.float64) for name in names]
    fixed = np.isfinite(np.sum(columns[:3], axis=0))
    if np.count_nonzero(fixed) < 2:
        raise HodographError(f"{log.path}: {stream} has no positions to draw")
    latitude_rad, longitude_rad, height_m, speed_mps = (column[fixed] for column in columns)
    frame = EnuFrame(
        Geodetic(
            latitude_rad=float(latitude_rad[0]), longitude_rad=float(longitude_rad[0]), height_m=float(height_m[0])
        )
    )
    points = Geodetic(latitude_rad=latitude_rad, longitude_rad=longitude_rad, height_m=height_m)
    east_m, north_m, _ = frame.enu_from_geodetic(points).T
    axes = new_axes(*SIZE_IN) if axes is None else axes
    lines = _coloured_line(axes, east_m, north_m, speed_mps)
    length_m = float(np.sum(np.hypot(np.diff(east_m), np.diff(north_m))))
    duration_s = float(data.t_ns[fixed][-1] - data.t_ns[fixed][0]) / 1e9
    _dress(axes, east_m, north_m, title, f"{length_m:.0f} m in {duration_s:.1f} s, {east_m.size} fixes")
    bar = figure_of(axes).colorbar(lines, ax=axes, shrink=0.86, pad=0.02)
    bar.set_label("speed in km/h", color="0.2")
    bar.ax.tick_params(length=0, colors="0.35")
    bar.outline.set_visible(False)
    return axes


def _coloured_line(axes: Axes, east_m: Array, north_m: Array, speed_mps: Array) -> Any:
    from matplotlib.collections import LineCollection

    points = np.column_stack([east_m, north_m])
    segments = np.stack([points[:-1], points[1:]], axis=1)
    lines = LineCollection(list(segments), cmap="viridis", linewidths=LINE_WIDTH, capstyle="round", zorder=3)
    lines.set_array(3.6 * (speed_mps[:-1] + speed_mps[1:]) / 2)
    axes.add_collection(lines)
    return lines


def _dress(axes: Axes, east_m: Array, north_m: Array, title: str, subtitle: str) -> None:
    """Equal axes with units, a start marker with the direction of travel, a light grid."""
    margin_m = MARGIN * max(float(np.ptp(east_m)), float(np.ptp(north_m)), 1.0)
    axes.set_xlim(east_m.min() - margin_m, east_m.max() + margin_m)
    axes.set_ylim(north_m.min() - margin_m, north_m.max() + margin_m)
    axes.set_aspect("equal", adjustable="box")
    axes.set_xlabel("east of the first fix in m")
    axes.set_ylabel("north of the first fix in m")
    axes.grid(color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.tick_params(length=0, colors="0.35")
    axes.plot(east_m[0], north_m[0], "o", color="white", markeredgecolor="black", markersize=9, zorder=5)
    axes.annotate(
        "start",
        (float(east_m[0]), float(north_m[0])),
        xytext=(-12, 0),
        textcoords="offset points",
        ha="right",
        va="center",
        zorder=6,
    )
    _arrow(axes, east_m, north_m, margin_m)
    axes.set_title(title, loc="left", fontsize=13, fontweight="bold", pad=22)
    axes.text(0.0, 1.0, subtitle, transform=axes.transAxes, va="bottom", color="0.35")


def _arrow(axes: Axes, east_m: Array, north_m: Array, reach_m: float) -> None:
    """A small arrow beside the line, a little after the start, in the direction of travel."""
    way_m = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(east_m), np.diff(north_m)))])
    i = int(np.searchsorted(way_m, min(2.0 * reach_m, way_m[-1] / 2)))
    j = min(int(np.searchsorted(way_m, way_m[i] + reach_m)), way_m.size - 1)
    step = np.array([east_m[j] - east_m[i], north_m[j] - north_m[i]])
    length_m = float(np.hypot(*step))
    if length_m == 0.0:
        return
    aside = 0.35 * reach_m * np.array([-step[1], step[0]]) / length_m
    begin = np.array([east_m[i], north_m[i]]) + aside
    style = {"arrowstyle": "-|>", "color": "0.25", "linewidth": 1.5}
    axes.annotate("", tuple(begin + step), xytext=tuple(begin), arrowprops=style, zorder=4)
