"""Pictures of a vehicle: its hard points in three views and in space, and its suspension curves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial import ConvexHull

from hodograph.core import Array
from hodograph.core.display import short_repr
from hodograph.multibody.car.assemble import knuckle_axes, seat_in_plane_m
from hodograph.replay.axes import bare_figure
from hodograph.vehicles.car import CORNERS, Corner, Vehicle

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hodograph.multibody.car.examine import VehicleReport
    from hodograph.multibody.car.statics import StaticLoads

DPI = 150
COLOURS = {
    "lower arm": "#2166ac", "upper arm": "#1b9e77", "link, rack": "#c51b7d", "spring, strut": "#e66101",
    "knuckle": "#555555", "wheel": "#222222",
}  # fmt: skip
FRONT, REAR = "#2166ac", "#e66101"


@dataclass(frozen=True, slots=True)
class Line:
    """A polyline in the body axes, (k, 3); filled when it is an arm."""

    part: str
    points_m: Array
    filled: bool = False
    width: float = 1.6

    __repr__ = short_repr


def vehicle_lines(vehicle: Vehicle) -> list[Line]:
    """All parts of a vehicle as polylines."""
    lines = [line for name in CORNERS for line in corner_lines(vehicle, vehicle.corner(name))]
    ends = [vehicle.corner(name).axle.suspension.link_inner_m for name in ("fl", "fr")]
    return [*lines, Line("link, rack", np.array(ends), width=3.0)]


def corner_lines(vehicle: Vehicle, corner: Corner) -> list[Line]:
    """Arms, link, knuckle, spring and wheel of one corner."""
    axle, s = corner.axle, corner.axle.suspension
    lower = np.array([s.lower_front_m, s.lower_ball_m, s.lower_rear_m])
    centre = np.array(axle.wheel_centre_m)
    lines = [Line("lower arm", lower, filled=True), Line("link, rack", np.array([s.link_inner_m, s.link_outer_m]))]
    if s.kind == "double_wishbone":
        lines.append(Line("upper arm", np.array([s.upper_front_m, s.upper_ball_m, s.upper_rear_m]), filled=True))
        carrier = [s.lower_ball_m, s.upper_ball_m]
    else:
        lines.append(Line("spring, strut", np.array([s.strut_bottom_m, s.strut_top_m]), width=2.6))
        carrier = [s.lower_ball_m, s.strut_bottom_m]
    lines.append(Line("knuckle", np.array(carrier), width=2.6))
    lines += [Line("knuckle", np.array([centre, end])) for end in (np.mean(carrier, axis=0), s.link_outer_m)]
    lower_seat = seat_in_plane_m(corner, axle.spring.on, axle.spring.lower_m)
    lines.append(Line("spring, strut", coil(lower_seat, np.array(axle.spring.upper_m)), width=1.2))
    return [*lines, *_wheel_lines(vehicle, corner, centre)]


def _wheel_lines(vehicle: Vehicle, corner: Corner, centre: Array) -> list[Line]:
    radius_m = vehicle.body.origin_height_m + centre[2]
    x, y, z = knuckle_axes(corner).T
    angle = np.linspace(0.0, 2.0 * np.pi, 73)
    ring = np.outer(np.cos(angle), x) + np.outer(np.sin(angle), z)
    half = 0.3 * radius_m * y
    tyre = [Line("wheel", centre + radius_m * ring + side * half, width=1.0) for side in (-1.0, 1.0)]
    rim = Line("wheel", centre + 0.62 * radius_m * ring + half * corner.sign, width=0.7)
    treads = [
        Line("wheel", np.array([centre + radius_m * ring[k] - half, centre + radius_m * ring[k] + half]), width=0.7)
        for k in range(0, 72, 6)
    ]
    return [*tyre, rim, *treads]


def coil(a: Array, b: Array, turns: int = 7, radius_m: float = 0.022) -> Array:
    """A helix from a to b with straight ends."""
    along = b - a
    side = np.cross(along, [1.0, 0.0, 0.0])
    side = side / np.linalg.norm(side)
    other = np.cross(along / np.linalg.norm(along), side)
    s = np.linspace(0.0, 1.0, 24 * turns)
    fade = radius_m * np.minimum(1.0, np.minimum(s, 1.0 - s) / 0.08)
    turn = 2.0 * np.pi * turns * s
    return np.asarray(
        a + np.outer(s, along) + np.outer(fade * np.cos(turn), side) + np.outer(fade * np.sin(turn), other)
    )


def body_points_m(vehicle: Vehicle) -> Array:
    """All hard points on the body, (k, 3)."""
    points = []
    for name in CORNERS:
        axle = vehicle.corner(name).axle
        s = axle.suspension
        points += [s.lower_front_m, s.lower_rear_m, axle.spring.upper_m, s.link_inner_m]
        points += [s.upper_front_m, s.upper_rear_m] if s.kind == "double_wishbone" else [s.strut_top_m]
    return np.array(points)


def body_lines(vehicle: Vehicle) -> list[Line]:
    """A sketch of the body: sills between the lower arms, and bars across and along the spring tops."""
    low = {name: vehicle.corner(name).axle.suspension for name in CORNERS}
    top = {name: np.array(vehicle.corner(name).axle.spring.upper_m) for name in CORNERS}
    pairs = [(low[f"f{side}"].lower_rear_m, low[f"r{side}"].lower_front_m) for side in "lr"]
    pairs += [(low[f"{axle}l"].lower_rear_m, low[f"{axle}r"].lower_rear_m) for axle in "fr"]
    pairs += [(low[f"{axle}l"].lower_front_m, low[f"{axle}r"].lower_front_m) for axle in "fr"]
    pairs += [(low[name].lower_front_m, low[name].lower_rear_m) for name in CORNERS]
    ends = [(top["fl"], top["fr"]), (top["rl"], top["rr"]), (top["fl"], top["rl"]), (top["fr"], top["rr"])]
    return [Line("body", np.array(pair), width=1.4) for pair in [*pairs, *ends]]


def plot_vehicle(vehicle: Vehicle, design: StaticLoads | None, path: Path) -> None:
    """Writes a PNG of `draw_vehicle`."""
    draw_vehicle(vehicle, design).savefig(path, dpi=DPI)


def draw_vehicle(vehicle: Vehicle, design: StaticLoads | None) -> Figure:
    """Axes with side and top view, both axles from behind, and a view in space; all flat views have one scale.

    `design` brings mass and centre of gravity, when the vehicle could be built.
    """
    lines = vehicle_lines(vehicle)
    cg_m = None if design is None else design.cg_m
    every = np.vstack([line.points_m for line in lines])
    low, high = every.min(axis=0) - 0.08, every.max(axis=0) + 0.08
    length, width, height = high - low
    width_in, gap_in, foot_in = 15.0, 0.75, 0.95
    scale = (width_in - 4.0 * gap_in) / (length + 2.0 * width)  # inches per metre
    height_in = foot_in + scale * (height + width) + 1.75
    figure = bare_figure(width_in, height_in, constrained=False)

    def place(left_in: float, bottom_in: float, w_m: float, h_m: float) -> tuple[float, float, float, float]:
        return left_in / width_in, bottom_in / height_in, scale * w_m / width_in, scale * h_m / height_in

    upper_in = foot_in + scale * width + 0.95
    axles_in = [2.0 * gap_in + scale * length, 3.0 * gap_in + scale * (length + width)]
    spots = {
        "side": place(gap_in, upper_in, length, height), "top": place(gap_in, foot_in, length, width),
        "front axle": place(axles_in[0], upper_in, width, height),
        "rear axle": place(axles_in[1], upper_in, width, height),
    }  # fmt: skip
    for name, spot in spots.items():
        axes = figure.add_axes(spot)
        _view(axes, vehicle, lines, name, cg_m)
        i, j = PLANES[name]
        axes.set_xlim(*((high[i], low[i]) if i == 1 else (low[i], high[i])))  # seen from behind, y runs to the left
        axes.set_ylim(low[j], high[j])
    space = place(axles_in[0] - gap_in, 0.3 * foot_in, 2.0 * width, width)
    _space(figure.add_axes((*space[:2], 1.0 - space[0], space[3] + 0.08), projection="3d"), vehicle, lines, cg_m)
    handles = [*(_proxy(part, colour) for part, colour in COLOURS.items()), _marker("centre of gravity")]
    figure.legend(handles=handles, loc="lower center", ncol=len(handles), frameon=False, fontsize=9)
    figure.suptitle(_title(vehicle, design), fontsize=13, y=1.0 - 0.12 / height_in)
    return figure


def _title(vehicle: Vehicle, design: StaticLoads | None) -> str:
    if design is None:
        return vehicle.name
    height_mm = 1e3 * (vehicle.body.origin_height_m + design.cg_m[2])
    share = 100.0 * design.front_share
    return (
        f"{vehicle.name}: {design.total_kg:.0f} kg, {share:.1f} % in front, centre of gravity {height_mm:.0f} mm high"
    )


def _proxy(part: str, colour: str) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=colour, lw=2.4, label=part)


def _marker(label: str) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color="k", marker="o", mfc="gold", ms=8, lw=0, label=label)


HEADS = {
    "side": "side, from the right", "top": "top", "front axle": "front axle, from behind",
    "rear axle": "rear axle, from behind",
}  # fmt: skip


PLANES = {"side": (0, 2), "top": (0, 1), "front axle": (1, 2), "rear axle": (1, 2)}


def _at_axle(vehicle: Vehicle, name: str, points_m: Array) -> bool:
    """Whether something belongs to the axle that a view shows; side and top show all."""
    ahead = float(points_m[:, 0].mean()) > vehicle.wheelbase_m / 2.0
    return not name.endswith("axle") or ahead == (name == "front axle")


def _view(axes: Axes, vehicle: Vehicle, lines: list[Line], name: str, cg_m: Array | None) -> None:
    i, j = PLANES[name]
    body = np.array([p for p in body_points_m(vehicle) if _at_axle(vehicle, name, p[None])])
    hull = ConvexHull(body[:, [i, j]]).vertices
    axes.fill(body[hull, i], body[hull, j], color="0.94", ec="0.8", lw=1.0, zorder=0)
    for line in lines:
        if not _at_axle(vehicle, name, line.points_m):
            continue
        u, v = line.points_m[:, i], line.points_m[:, j]
        colour = COLOURS[line.part]
        if line.filled:
            axes.fill(u, v, color=colour, alpha=0.18, lw=0)
            u, v = np.append(u, u[0]), np.append(v, v[0])
        axes.plot(u, v, color=colour, lw=line.width, solid_capstyle="round")
    if cg_m is not None:
        axes.plot(cg_m[i], cg_m[j], "o", color="k", mfc="gold", ms=9, zorder=5)
    if j == 2:
        axes.axhline(-vehicle.body.origin_height_m, color="0.6", lw=1.2, zorder=0)
    axes.set_title(HEADS[name], fontsize=10, loc="left", color="0.25")
    axes.set_aspect("equal", adjustable="datalim")
    axes.locator_params(axis="x", nbins=5 if i == 1 else 8)
    axes.set_xlabel(f"{'xyz'[i]} in m")
    axes.set_ylabel(f"{'xyz'[j]} in m")
    axes.grid(color="0.93")
    axes.spines[["top", "right"]].set_visible(False)


def _space(axes: Any, vehicle: Vehicle, lines: list[Line], cg_m: Array | None) -> None:
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection  # type: ignore[import-untyped]

    for line in [*body_lines(vehicle), *lines]:
        colour = COLOURS.get(line.part, "0.75")
        if line.filled:
            face = Poly3DCollection([line.points_m], facecolor=colour, edgecolor=colour, alpha=0.35, clip_on=False)
            axes.add_collection3d(face)
        else:
            axes.plot(*line.points_m.T, color=colour, lw=0.9 * line.width, clip_on=False)
    if cg_m is not None:
        axes.scatter(*cg_m, s=60, c="gold", edgecolors="k", depthshade=False)
    every = np.vstack([line.points_m for line in lines])
    low, high = every.min(axis=0), every.max(axis=0)
    axes.set_box_aspect(high - low, zoom=1.55)
    for k, limit in enumerate((axes.set_xlim, axes.set_ylim, axes.set_zlim)):
        limit(low[k], high[k])
    axes.view_init(elev=22, azim=-62)
    axes.set_axis_off()


def plot_curves(report: VehicleReport, path: Path) -> None:
    """Writes a PNG of `draw_curves`."""
    draw_curves(report).savefig(path, dpi=DPI)


def draw_curves(report: VehicleReport) -> Figure:
    """Toe, camber, track, wheelbase and motion ratio over wheel travel, and steer angles over the rack: six axes."""
    figure = bare_figure(13.0, 7.8)
    figure.set_layout_engine("constrained", w_pad=0.08, h_pad=0.08, hspace=0.04, wspace=0.04)
    panels = figure.subplots(2, 3)
    what = (
        ("toe-in in °", "toe_rad", np.degrees), ("camber in °", "camber_rad", np.degrees),
        ("track at the contact in mm, out +", "track_m", _milli),
        ("motion ratio of the spring", "motion_ratio", np.asarray),
        ("wheelbase at the contact in mm, forward +", "wheelbase_m", _milli),
    )  # fmt: skip
    for axes, (label, name, convert) in zip(panels.flat, what, strict=False):
        for corner, colour in (("fl", FRONT), ("rl", REAR)):
            _curve(axes, report, corner, name, convert, colour)
        _dress(axes, "wheel travel in mm, bump +", label)
    panels[0, 0].legend(frameon=False, fontsize=9)
    _steer_panel(panels[1, 2], report)
    figure.suptitle(f"{report.vehicle.name}: what the suspension does from stop to stop", fontsize=13)
    return figure


def _milli(values: Array) -> Array:
    return 1e3 * values


def _curve(axes: Axes, report: VehicleReport, corner: str, name: str, convert: Any, colour: str) -> None:
    label = "front" if corner[0] == "f" else "rear"
    left, right = report.corners[corner].curves, report.corners[f"{corner[0]}r"].curves
    axes.plot(1e3 * left.bump_m, convert(getattr(left, name)), color=colour, lw=2.0, label=label)
    axle = report.vehicle.front if corner[0] == "f" else report.vehicle.rear
    if axle.right.suspension is not None or axle.right.wheel_centre_m is not None:
        values = convert(getattr(right, name))
        axes.plot(1e3 * right.bump_m, values, color=colour, lw=1.4, ls="--", label=f"{label} right")


def _steer_panel(axes: Axes, report: VehicleReport) -> None:
    s = report.steer
    if s is None:
        axes.set_axis_off()
        return
    axes.plot(1e3 * s.rack_m, np.degrees(s.left_rad), color=FRONT, lw=2.0, label="left wheel")
    axes.plot(1e3 * s.rack_m, np.degrees(s.right_rad), color="#67a9cf", lw=2.0, label="right wheel")
    axes.plot(1e3 * s.rack_m, np.degrees(s.camber_left_rad), color="0.45", lw=1.4, ls=":", label="camber, left wheel")
    _dress(axes, "rack travel in mm, left +", "steer angle of the wheels in °, left +")
    axes.legend(frameon=False, fontsize=9)


def _dress(axes: Axes, x_label: str, y_label: str) -> None:
    axes.set_xlabel(x_label, fontsize=9)
    axes.set_title(y_label, fontsize=10, loc="left", color="0.25")
    axes.axvline(0.0, color="0.8", lw=0.8, zorder=0)
    axes.grid(color="0.93")
    axes.spines[["top", "right"]].set_visible(False)
