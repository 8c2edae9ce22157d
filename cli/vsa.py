"""`hodograph vsa`: sideslip from five ordinary channels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from hodograph.ann.model import VsaModel
    from hodograph.ann.network import VsaEstimate
    from hodograph.observers.sideslip.drive import SideslipDrive
    from hodograph.observers.sideslip.vehicle import SideslipVehicle
    from hodograph.sensors.mounting import Mount

app = typer.Typer(
    name="vsa",
    help="Sideslip from speed, steering, ay, ax and yaw rate: train or identify a model, run it, judge it.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Data = Annotated[list[Path], typer.Argument(help="Logs (NAME.drive), or tables with --mapping.", show_default=False)]
One = Annotated[Path, typer.Argument(help="A log (NAME.drive), or a table with --mapping.", show_default=False)]
ModelIn = Annotated[Path, typer.Argument(help="A model made by train or identify.", show_default=False)]
ModelOut = Annotated[Path, typer.Option("-o", "--out", help="The model to write.", show_default=False)]
Mapping_ = Annotated[Path | None, typer.Option("--mapping", help="What the columns of a table mean.")]
TMin = Annotated[float | None, typer.Option(help="Only rows from that time on, in s of the data's own time.")]
TMax = Annotated[float | None, typer.Option(help="Only rows before that time, in s of the data's own time.")]
Vehicle = Annotated[
    Path | None,
    typer.Option(
        "--vehicle", help="Vehicle file or shipped name; else the mapping's or the log's.", show_default=False
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else.")]
Seed = Annotated[int, typer.Option(help="Seed of the random starts.")]
Mounts = Annotated[
    list[str] | None,
    typer.Option(
        "--mount",
        help="STREAM=ROLL,PITCH,YAW,X,Y,Z: how its sensor is turned against the body (deg) and where it sits from the "
        "centre of gravity (m; forward, left, up). STREAM=body: its axes are the body's. May be repeated.",
        show_default=False,
    ),
]
Plot = Annotated[Path | None, typer.Option("--plot", help="Write PNGs there: NAME.png and NAME-residuals.png.")]


@app.command("train")
def train_(
    data: Data,
    out: ModelOut,
    kind: Annotated[str, typer.Option(help="static, memory, hybrid or ekf.")] = "memory",
    mapping: Mapping_ = None,
    vehicle: Vehicle = None,
    t_min: TMin = None,
    t_max: TMax = None,
    mount: Mounts = None,
    seed: Seed = 0,
    filter_hz: Annotated[
        float | None, typer.Option(help="static: cut-off of the causal input filter; 0 = raw inputs.", min=0.0)
    ] = None,
    json: Json = False,
) -> None:
    """Learn a car from drives with a sideslip reference.

    Example: hodograph vsa train monday.drive --kind memory -o my-car.npz
    """
    from hodograph.ann.model import VsaKind

    if kind not in VsaKind.__members__.values():
        raise typer.BadParameter(f"{kind!r}, want one of {', '.join(VsaKind)}", param_hint="--kind")
    if filter_hz is not None and kind != "static":
        raise typer.BadParameter("is for --kind static only", param_hint="--filter-hz")
    drives = _drives(data, mapping, mount, t_min, t_max)
    _train(drives, out, kind, vehicle, seed, filter_hz, as_json=json)


@app.command()
def identify(
    data: Data,
    out: ModelOut,
    mapping: Mapping_ = None,
    vehicle: Vehicle = None,
    t_min: TMin = None,
    t_max: TMax = None,
    mount: Mounts = None,
    json: Json = False,
) -> None:
    """Tyres and inertia for the filter, with confidence limits; the same as train --kind ekf. Needs no reference.

    Example: hodograph vsa identify monday.drive --vehicle my-car.toml -o my-car.json
    """
    _train(_drives(data, mapping, mount, t_min, t_max), out, "ekf", vehicle, 0, None, as_json=json)


@app.command()
def run(
    model: ModelIn,
    log: One,
    mapping: Mapping_ = None,
    t_min: TMin = None,
    t_max: TMax = None,
    mount: Mounts = None,
    name: Annotated[
        str | None,
        typer.Option(help="Name of the estimates in a log; else vsa_ and the model's.", show_default=False),
    ] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="CSV to write: t_s, vsa, vsa_std, vsa_valid.")] = None,
    plot: Plot = None,
    json: Json = False,
) -> None:
    """Estimate the sideslip of a drive; a log gets estimates/vsa_MODEL.arrow.

    Example: hodograph vsa run my-car.npz tuesday.drive -o tuesday-vsa.csv --plot tuesday.png
    """
    from hodograph.acquisition.log.estimates import estimate_name
    from hodograph.cli.console import print_json, stdout
    from hodograph.replay.vsa_output import write_csv, write_into_log

    trained, drive, estimate = _estimated(model, log, mapping, mount, t_min, t_max)
    written = []
    if log.is_dir() and mapping is None:
        notes = {"model": model.name, "kind": str(trained.kind)}
        written.append(write_into_log(log, name or estimate_name(f"vsa_{model.stem}"), estimate, notes))
    if out is not None:
        written.append(write_csv(out, drive, estimate))
    written += _plots(plot, drive, estimate, f"{trained.kind} on {drive.name}")
    valid = float(estimate.valid.mean())
    if json:
        files = [str(p) for p in written]
        print_json({"kind": str(trained.kind), "rows": len(drive.t_s), "valid_fraction": valid, "files": files})
        return
    stdout().print(f"{trained.kind}: {len(drive.t_s)} rows, {valid:.1%} valid", *(f"\nwrote {p}" for p in written))
    _say_foreign(valid)


@app.command("eval")
def eval_(
    model: ModelIn,
    data: One,
    mapping: Mapping_ = None,
    t_min: TMin = None,
    t_max: TMax = None,
    mount: Mounts = None,
    plot: Plot = None,
    json: Json = False,
) -> None:
    """Judge a model on a drive with a reference: errors in degrees above 3 m/s, valid or not.

    Example: hodograph vsa eval my-car.npz tuesday.drive --json
    """
    from hodograph.cli.console import print_json
    from hodograph.replay.vsa_score import score

    trained, drive, estimate = _estimated(model, data, mapping, mount, t_min, t_max)
    result = score(drive, estimate)
    written = _plots(plot, drive, estimate, f"{trained.kind} on {drive.name}")
    if json:
        print_json(result.as_dict())
        return
    _print_score(trained, drive, estimate, written)
    _say_foreign(result.valid_fraction)


def _train(
    drives: list[SideslipDrive],
    out: Path,
    kind: str,
    vehicle: Path | None,
    seed: int,
    filter_hz: float | None,
    *,
    as_json: bool,
) -> None:
    from hodograph.ann.model import VsaKind
    from hodograph.ann.network import MemorySpec
    from hodograph.ann.training import RECIPES, Recipe
    from hodograph.cli.console import print_json, progress, stdout, warn
    from hodograph.replay.vsa_drive import check_trainable
    from hodograph.replay.vsa_training import train_model

    for drive in drives:
        check_trainable(drive, needs_reference=kind != "ekf")
    car = _vehicle(vehicle, drives)
    if car is None and kind in ("ekf", "hybrid"):
        warn("no vehicle file: mass and distances of any car assumed, the distances estimated; give --vehicle")
    recipe: Recipe | None = None
    if filter_hz is not None:
        filtered = Recipe(MemorySpec((filter_hz,), (), hold_spikes=True))
        recipe = RECIPES["seed"] if filter_hz == 0 else filtered
    with progress(f"training {kind}") as show:
        trained = train_model(
            VsaKind(kind), drives, vehicle=car, recipe=recipe, seed=seed, on_progress=lambda _, d, n: show(d, n)
        )
    trained.save(out)
    if as_json:
        print_json(_summary(trained, out))
        return
    console = stdout()
    for name, (low, high) in (trained.filter.limits if trained.filter else {}).items():
        value = getattr(trained.filter.parameters, name)  # type: ignore[union-attr]
        console.print(f"{name:26s} {value:12.5g}   95 %: {low:.5g} to {high:.5g}")
    if "held_out_rmse_deg" in trained.trained_on:
        console.print(f"blocks held out in turn: RMSE {trained.trained_on['held_out_rmse_deg']:.3f}°")
    console.print(f"wrote {out}")


def _summary(trained: VsaModel, out: Path) -> dict[str, Any]:
    part = trained.filter
    parameters = {}
    if part is not None:
        parameters = {
            name: {"value": getattr(part.parameters, name), "low_95": low, "high_95": high}
            for name, (low, high) in part.limits.items()
        }
    return {"model": str(out), "kind": str(trained.kind), "trained_on": trained.trained_on, "parameters": parameters}


def _vehicle(path: Path | None, drives: list[SideslipDrive]) -> SideslipVehicle | None:
    """The vehicle named (a file, or a shipped one), or the one that came with the first drive that has one."""
    from hodograph.observers.sideslip.vehicle import sideslip_vehicle, sideslip_vehicle_from_text
    from hodograph.vehicles.file import read_vehicle_file

    if path is not None:
        return sideslip_vehicle(read_vehicle_file(path))
    found = next((d for d in drives if d.vehicle_toml), None)
    if found is None:
        return None
    return sideslip_vehicle_from_text(found.vehicle_toml or "", f"vehicle file of {found.name}")


def _estimated(
    model: Path, data: Path, mapping: Path | None, mounts: list[str] | None, t_min: float | None, t_max: float | None
) -> tuple[VsaModel, SideslipDrive, VsaEstimate]:
    from hodograph.ann.model import read_model
    from hodograph.ann.observer import estimate_drive
    from hodograph.replay.vsa_drive import check_plausible

    trained = read_model(model)
    (drive,) = _drives([data], mapping, mounts, t_min, t_max)
    check_plausible(drive)
    return trained, drive, estimate_drive(trained, drive)


def _drives(
    paths: list[Path], mapping: Path | None, mounts: list[str] | None, t_min: float | None, t_max: float | None
) -> list[SideslipDrive]:
    """The drives, cut; channels whose axes nobody stated are asked about once."""
    from hodograph.cli.console import warn
    from hodograph.replay.vsa_drive import read_drive_and_frames

    read = [read_drive_and_frames(path, mapping, _mounts(mounts)) for path in paths]
    unstated = sorted({name for one in read for name in one.unstated})
    if unstated:
        stream = unstated[0].partition(".")[0]
        warn(
            f"in whose axes are {', '.join(unstated)}? Nobody says, so they are taken for the body's at the centre of "
            f'gravity. If so, say frame = "body" in the mapping or --mount {stream}=body; if not, '
            f"--mount {stream}=ROLL,PITCH,YAW,X,Y,Z (deg, m)"
        )
    return [one.drive.between(t_min, t_max) for one in read]


def _mounts(texts: list[str] | None) -> dict[str, Mount]:
    """Mounts by stream, as the options say them."""
    from hodograph.sensors.mounting import Mount

    mounts = {}
    for text in texts or ():
        stream, _, how = text.partition("=")
        try:
            numbers = [float(part) for part in how.split(",")] if how != "body" else [0.0] * 6
            if not stream or len(numbers) != 6:
                raise ValueError("want six numbers")
            roll, pitch, yaw, x, y, z = numbers
            mounts[stream] = Mount((roll, pitch, yaw), (x, y, z))
        except ValueError as error:
            hint = "want STREAM=body or STREAM=ROLL,PITCH,YAW,X,Y,Z in deg and m"
            raise typer.BadParameter(f"{text!r}: {error}; {hint}", param_hint="--mount") from error
    return mounts


def _plots(path: Path | None, drive: SideslipDrive, estimate: Any, title: str) -> list[Path]:
    if path is None:
        return []
    from hodograph.replay.vsa_plot import plot_estimate, plot_residuals

    plot_estimate(drive, estimate, path, title)
    written = [path]
    if drive.beta_rad is not None:
        residuals = path.with_name(f"{path.stem}-residuals{path.suffix}")
        plot_residuals(drive, estimate, residuals, title)
        written.append(residuals)
    return written


def _print_score(trained: VsaModel, drive: SideslipDrive, estimate: Any, written: list[Path]) -> None:
    from hodograph.cli.console import stdout
    from hodograph.replay.vsa_score import by_acc_y, by_speed, score

    console = stdout()
    s = score(drive, estimate)
    console.print(
        f"{trained.kind} on {drive.name}: RMSE {s.rmse_deg:.3f}°, mean {s.mae_deg:.3f}°, largest {s.max_deg:.2f}°, "
        f"{s.n} samples; 95 % band holds {s.coverage_95:.1%}; valid {s.valid_fraction:.1%}"
    )
    for what, bins in (("|ay| m/s²", by_acc_y(drive, estimate)), ("speed m/s", by_speed(drive, estimate))):
        for b in bins:
            console.print(
                f"  {what} {b.low:4.0f} to {b.high:3.0f}: RMSE {b.rmse_deg:.3f}°, bias {b.bias_deg:+.3f}°, "
                f"band {b.coverage_95:.1%}, {b.n} samples"
            )
    for path in written:
        console.print(f"wrote {path}")


def _say_foreign(valid_fraction: float) -> None:
    from hodograph.cli.console import warn

    if valid_fraction < 0.5:
        warn(f"only {valid_fraction:.0%} of the drive is like the training: another car, or another use of it?")
