"""`hodograph doctor`: what a vehicle file serves; a car with hard points is drawn, examined, and judged in words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hodograph.cli.console import print_json, stderr, stdout
from hodograph.core.errors import MechanismError, SettingsError
from hodograph.multibody.car.vehicle import car_of
from hodograph.vehicles.car import CORNERS, Vehicle
from hodograph.vehicles.file import MULTIBODY_CAR, SIDESLIP_FILTER, USES, VehicleFile, read_vehicle_file

if TYPE_CHECKING:
    from hodograph.multibody.car.examine import VehicleReport
    from hodograph.multibody.car.statics import StaticLoads

MARKS = {"ok": "[green]ok[/green]", "note": "[cyan]note[/cyan]", "warning": "[bold yellow]warning[/bold yellow]"}


def run_doctor(vehicle: Path, *, out: Path | None, as_json: bool) -> None:
    """Prints what the file serves; for a car also tables and findings, `vehicle.png` and `suspension.png` in `out`."""
    file = read_vehicle_file(vehicle)
    if not file.serves():
        told = "; ".join(
            f"for the {use} it lacks {', '.join(file.lacks(use))}" for use in (SIDESLIP_FILTER, MULTIBODY_CAR)
        )
        raise SettingsError(file.source, f"serves no use yet: {told}")
    if file.lacks(MULTIBODY_CAR):
        if as_json:
            print_json({"vehicle": file.name, "uses": uses_document(file), "pictures": []})
        else:
            stdout().print(f"[bold]{escape(file.name)}[/bold]", soft_wrap=True)
            stdout().print(uses_table(file))
        return
    data = car_of(file)  # what contradicts itself is told before anything is compiled
    from hodograph.multibody.car.examine import examine, report_document

    console = stderr()
    try:
        with console.status("examining (the first time compiles for a minute or two)") as status:
            report = examine(data, on_stage=lambda stage: status.update(f"{stage} (the first time compiles)"))
    except MechanismError:
        if out is not None:  # what cannot be built can still be looked at
            _draw_vehicle(data, None, out)
        raise
    pictures = [] if out is None else _draw(report, out)
    if as_json:
        pages = {"uses": uses_document(file), "pictures": [str(path) for path in pictures]}
        print_json({**report_document(report), **pages})
        return
    stdout().print(uses_table(file))
    print_report(stdout(), report)
    for path in pictures:
        stdout().print(f"wrote {escape(str(path))}", soft_wrap=True)


def uses_document(file: VehicleFile) -> dict[str, Any]:
    """By use: whether the file serves it, and what it lacks."""
    return {use: {"served": not file.lacks(use), "lacks": list(file.lacks(use))} for use in USES}


def uses_table(file: VehicleFile) -> Table:
    """The same for people."""
    table = Table(title="serves", title_justify="left", box=None, show_header=False, pad_edge=False)
    for use in USES:
        lacks = file.lacks(use)
        table.add_row(MARKS["note" if lacks else "ok"], use, escape(f"lacks {', '.join(lacks)}") if lacks else "")
    return table


def _draw_vehicle(vehicle: Vehicle, design: StaticLoads | None, out: Path) -> Path:
    from hodograph.cli.vehicle_plot import plot_vehicle

    out.mkdir(parents=True, exist_ok=True)
    plot_vehicle(vehicle, design, out / "vehicle.png")
    return out / "vehicle.png"


def _draw(report: VehicleReport, out: Path) -> list[Path]:
    from hodograph.cli.vehicle_plot import plot_curves

    paths = [_draw_vehicle(report.vehicle, report.design, out), out / "suspension.png"]
    plot_curves(report, paths[1])
    return paths


def print_report(console: Console, r: VehicleReport) -> None:
    """Corners, ride modes, then every finding; warnings come last, where the eye is."""
    d, h = r.design, r.vehicle.body.origin_height_m
    console.print(
        f"[bold]{escape(r.vehicle.name)}[/bold]  {d.total_kg:.1f} kg, wheelbase {r.vehicle.wheelbase_m:.3f} m, centre "
        f"of gravity {d.cg_m[0]:.3f} m ahead of the rear axle, {h + d.cg_m[2]:.3f} m above the road, yaw inertia "
        f"{d.yaw_inertia_kgm2:.0f} kg·m²",
        soft_wrap=True,
    )
    console.print(_corner_table(r))
    console.print(_mode_table(r))
    table = Table(box=None, show_header=False, pad_edge=False)
    order = {"ok": 0, "note": 1, "warning": 2}
    for finding in sorted(r.findings, key=lambda f: order[f.level]):
        table.add_row(MARKS[finding.level], escape(finding.topic), escape(finding.text))
    console.print(table)
    console.print(_verdict(r))


def _verdict(r: VehicleReport) -> str:
    if r.warnings == 0:
        return f"[green]{len(r.findings)} findings, nothing to worry about[/green]"
    return f"[bold yellow]{r.warnings} of {len(r.findings)} findings want a look[/bold yellow]"


def _corner_table(r: VehicleReport) -> Table:
    table = Table(title="corners", title_justify="left", box=None, pad_edge=False)
    table.add_column("")
    for name in CORNERS:
        table.add_column(name, justify="right")
    loads = r.design.wheel_n if r.standing is None else r.standing.wheel_n
    rows: dict[str, Callable[[str], str]] = {
        "wheel load N": lambda c: f"{loads[c]:.0f}",
        "spring load N": lambda c: f"{r.design.spring_n[c]:.0f}",
        "motion ratio": lambda c: f"{r.corners[c].motion_ratio:.3f}",
        "wheel rate N/mm": lambda c: f"{1e-3 * r.corners[c].wheel_rate_npm:.1f}",
        "travel up mm": lambda c: f"{1e3 * r.corners[c].bump_travel_m:.0f}",
        "travel down mm": lambda c: f"{1e3 * r.corners[c].rebound_travel_m:.0f}",
        "roll centre mm": lambda c: f"{1e3 * r.corners[c].roll_centre_m:.0f}",
    }
    for label, value in rows.items():
        table.add_row(label, *(value(name) for name in CORNERS))
    return table


def _mode_table(r: VehicleReport) -> Table:
    table = Table(title="ride modes", title_justify="left", box=None, pad_edge=False)
    table.add_column("")
    table.add_column("Hz", justify="right")
    table.add_column("damping", justify="right")
    for mode in r.modes:
        table.add_row(mode.name, f"{mode.undamped_hz:.2f}", f"{mode.damping_ratio:.2f}")
    return table
