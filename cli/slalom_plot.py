"""Pictures of a car in a slalom: track, yaw rate, sideslip and wheel loads; and a strip of frames of the car."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hodograph.cli.vehicle_plot import COLOURS, FRONT, REAR
from hodograph.core import Array
from hodograph.multibody.car.car import Car, Drive
from hodograph.replay.axes import bare_figure
from hodograph.twin.slalom import Slalom
from hodograph.vehicles.car import CORNERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 150
STYLES: Mapping[str, tuple[str, str]] = {
    "fl": (FRONT, "-"), "fr": (FRONT, "--"), "rl": (REAR, "-"), "rr": (REAR, "--"),
}  # fmt: skip
FRAMES = 6
AROUND_M = 1.9


def plot_slalom(car: Car, drive: Drive, course: Slalom, path: Path) -> None:
    """Writes a PNG of `draw_slalom`."""
    draw_slalom(car, drive, course).savefig(path, dpi=DPI)


def draw_slalom(car: Car, drive: Drive, course: Slalom) -> Figure:
    """Track with cones, then yaw rate, sideslip angle and wheel loads over time: a figure with four axes."""
    figure = bare_figure(10.5, 9.5)
    track, yaw, beta, loads = figure.subplots(4, 1, height_ratios=(1.1, 1.0, 1.0, 1.4))
    _track(track, car, drive, course)
    yaw.plot(drive.t_s, np.degrees(drive.rates_radps[:, 2]), color=FRONT)
    yaw.set_ylabel("yaw rate in °/s")
    moving = np.abs(drive.body_mps[:, 0]) > 1.0
    beta.plot(drive.t_s, np.where(moving, np.degrees(drive.beta_rad), np.nan), color=REAR)
    beta.set_ylabel("sideslip at the CG in °")
    for k, corner in enumerate(CORNERS):
        colour, style = STYLES[corner]
        loads.plot(drive.t_s, drive.load_n[:, k] / 1e3, style, color=colour, linewidth=1.0, label=corner)
    loads.set_ylabel("wheel load in kN")
    loads.set_xlabel("time in s")
    loads.legend(ncols=4, frameon=False, loc="upper right")
    for axes in (yaw, beta, loads):
        axes.set_xlim(drive.t_s[0], drive.t_s[-1])
        axes.grid(color="0.9", linewidth=0.8)
    for axes in (track, yaw, beta, loads):
        axes.spines[["top", "right"]].set_visible(False)
    cost = drive.cost
    figure.suptitle(
        f"{car.vehicle.name} through a slalom: {cost.steps} steps of 4 ms, {cost.iterations / cost.steps:.2f} "
        f"Newton iterations each, constraints kept to {cost.residual:.0e} m",
        x=0.01, ha="left", fontsize=12, fontweight="bold",
    )  # fmt: skip
    return figure


def _track(axes: Axes, car: Car, drive: Drive, course: Slalom) -> None:
    axes.plot(drive.position_m[:, 0], drive.position_m[:, 1], color="0.25", label="middle of the rear axle")
    cones = course.cones_m()
    axes.plot(cones[:, 0], cones[:, 1], "^", color="tab:orange", markersize=8, label="cones")
    at = np.argmin(np.abs(drive.position_m[:, :1] - np.linspace(5.0, course.end_m, 14)), axis=0)
    for k in at:
        outline = _outline(car, drive, int(k))
        axes.fill(outline[:, 0], outline[:, 1], facecolor=FRONT, alpha=0.35, edgecolor=FRONT, linewidth=0.8)
    axes.set_ylim(-4.5, 4.5)
    axes.set_xlabel("x in m")
    axes.set_ylabel("y in m (enlarged)")
    axes.legend(frameon=False, loc="upper right", ncols=2)


def _outline(car: Car, drive: Drive, k: int) -> Array:
    """The four wheel contacts as a quadrilateral, seen from above (4, 2)."""
    q, index = drive.trajectory.q[k], car.model.index
    return np.array([[q[index(f"{c}_W.x")], q[index(f"{c}_W.y")]] for c in ("fl", "fr", "rr", "rl")])


def plot_frames(car: Car, drive: Drive, course: Slalom, path: Path) -> None:
    """Writes a PNG of `draw_frames`."""
    draw_frames(car, drive, course).savefig(path, dpi=DPI)


def draw_frames(car: Car, drive: Drive, course: Slalom) -> Figure:
    """The car in space at six moments of the slalom, every part where the model has it; axes for each."""
    figure = bare_figure(12.0, 6.4)
    places = np.linspace(course.first_m - 0.5 * course.spacing_m, course.first_m + 2.0 * course.spacing_m, FRAMES)
    for number, place in enumerate(places):
        k = int(np.argmin(np.abs(drive.position_m[:, 0] - place)))
        axes: Any = figure.add_subplot(2, FRAMES // 2, number + 1, projection="3d")
        _frame(axes, car, drive.trajectory.q[k], course)
        roll, lateral = np.degrees(drive.rpy_rad[k, 0]), drive.acceleration_mps2[k, 1]
        axes.set_title(f"{drive.t_s[k]:.1f} s   roll {roll:+.1f}°   lateral {lateral:+.1f} m/s²", fontsize=9, y=0.96)
    return figure


def _frame(axes: Any, car: Car, q: Array, course: Slalom) -> None:
    for part, points_m in frame_lines(car, q):
        axes.plot(*points_m.T, color=COLOURS.get(part, "0.6"), linewidth=1.6 if part != "body" else 0.8)
    middle = np.mean([q[car.model.index(f"{c}_W.x") :][:3] for c in CORNERS], axis=0)
    for x, y in course.cones_m():
        if abs(x - middle[0]) < AROUND_M and abs(y - middle[1]) < AROUND_M:
            axes.plot([x, x], [y, y], [0.0, 0.35], color="tab:orange", linewidth=4)
    for set_limits, centre in ((axes.set_xlim, middle[0]), (axes.set_ylim, middle[1])):
        set_limits(centre - AROUND_M, centre + AROUND_M)
    axes.set_zlim(0.0, 1.4)
    axes.set_box_aspect((2 * AROUND_M, 2 * AROUND_M, 1.4), zoom=1.55)
    axes.view_init(elev=16, azim=-150)
    axes.set_axis_off()


def frame_lines(car: Car, q: Array) -> list[tuple[str, Array]]:
    """Every part as a polyline in ground axes at coordinates q."""
    model, lines = car.model, list[tuple[str, Array]]()
    stations = model.mechanism.stations

    def at(*names: str) -> Array:
        return np.array([model.position_m(name, q) for name in names])

    for c in CORNERS:
        for which in ("lower", "upper"):
            if f"{c}_{which}_ball" in stations:
                lines.append((f"{which} arm", at(f"{c}_{which}_front", f"{c}_{which}_ball", f"{c}_{which}_rear")))
        lines.append(("spring, strut", at(f"{c}_spring_lower", f"{c}_spring_upper")))
        inner = {"fl": "RL", "fr": "RR"}.get(c, f"{c}_link_inner")
        lines.append(("link, rack", at(inner, f"{c}_link_outer")))
        lines.append(("wheel", _rim(car, c, q)))
    lines.append(("link, rack", at("RL", "RR")))
    return [*lines, *(("body", part) for part in _body(car, q))]


def _rim(car: Car, corner: str, q: Array) -> Array:
    index, radius_m = car.model.index, car.vehicle.corner(corner).axle.tyre.radius_m
    centre, ex, ez = (q[index(f"{corner}_{name}.x") :][:3] for name in ("W", "ex", "ez"))
    angle = np.linspace(0.0, 2.0 * np.pi, 37)[:, None] + q[index(f"{corner}_spin")]
    circle = centre + radius_m * (np.cos(angle) * ex + np.sin(angle) * ez)
    return np.vstack([circle, centre])  # the last stroke is a spoke, which shows the spin


def _body(car: Car, q: Array) -> list[Array]:
    """A box about the body: floor, roof and pillars."""
    index, v = car.model.index, car.vehicle
    origin = q[index("O.x") :][:3]
    axes = np.column_stack([q[index(f"{e}.x") :][:3] for e in ("ex", "ey", "ez")])
    half = 0.62 * v.rear.wheel_centre_m[1]
    back, front = -0.35, v.wheelbase_m + 0.35
    floor = np.array([[back, -half, -0.1], [front, -half, -0.1], [front, half, -0.1], [back, half, -0.1]])
    roof = floor * [0.55, 0.8, 1.0] + [0.25 * v.wheelbase_m, 0.0, 0.75]
    floor, roof = origin + floor @ axes.T, origin + roof @ axes.T
    closed = [np.vstack([loop, loop[:1]]) for loop in (floor, roof)]
    return closed + [np.array([a, b]) for a, b in zip(floor, roof, strict=True)]
