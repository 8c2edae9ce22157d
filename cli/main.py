"""`hodograph`: the command line. One function per command, each in its own module and imported when it runs."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from hodograph.cli import vsa

app = typer.Typer(
    name="hodograph",
    help="From the cheap sensors of a vehicle to its state: record, import, inspect and export drives.",
    epilog="Start with [bold]hodograph demo[/bold]: it needs no hardware.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class BenchSubject(StrEnum):
    """What `bench` measures."""

    CAR = "car"
    KERNELS = "kernels"
    LINKAGES = "linkages"


class ImportFormat(StrEnum):
    """What `import` reads; the same names as in `acquisition.importers.FORMATS`."""

    NMEA = "nmea"
    CSV = "csv"


class ExportFormat(StrEnum):
    """What `export` writes; the same names as in `replay.exporters.FORMATS`."""

    CSV = "csv"
    MF4 = "mf4"
    PARQUET = "parquet"


LogPath = Annotated[Path, typer.Argument(help="A log folder (NAME.drive).", show_default=False, readable=False)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else.")]
app.add_typer(vsa.app)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"hodograph {version('hodograph')}")
        raise typer.Exit


@app.callback()
def _root(
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    return


@app.command()
def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for the log, plots and exports.")] = Path("demo_out"),
) -> None:
    """Drive a simulated lap, record it over a (pseudo) serial port, and look at the result.

    Plays NMEA and IMU data of a short kart lap in real time into two pseudo-terminals, records them as a live run
    would, reopens the log, prints its health, and writes a track plot, an MF4 and CSV files.
    """
    from hodograph.cli.demo import run_demo

    run_demo(out)


@app.command()
def record(
    rig: Annotated[
        Path, typer.Argument(help="The rig file: which sensors, on which ports.", show_default=False, readable=False)
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="The log to write, NAME.drive.", show_default=False)],
    seconds: Annotated[float | None, typer.Option(help="Stop after that long; else with Ctrl-C.", min=0.0)] = None,
    vehicle: Annotated[Path | None, typer.Option(help="Vehicle file to keep inside the log.", readable=False)] = None,
    fsync: Annotated[
        float, typer.Option(help="Force data to disk every so many seconds; 0: every batch.", min=0.0)
    ] = 5.0,
    json: Json = False,
) -> None:
    """Record the sensors of a rig into a log that survives a crash, minus at most a second.

    Example: hodograph record rig.toml -o monday.drive
    """
    from hodograph.cli.recording import run_record

    run_record(rig, out, seconds=seconds, vehicle=vehicle, fsync_s=fsync, as_json=json)


@app.command("import")
def import_(
    files: Annotated[
        list[Path], typer.Argument(help="One or more files of the same recording.", show_default=False, readable=False)
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="The log to write, NAME.drive.", show_default=False)],
    format_: Annotated[
        ImportFormat | None,
        typer.Option("--format", help="By default from the content of the files.", show_default=False),
    ] = None,
    mapping: Annotated[
        Path | None,
        typer.Option(
            help="TOML file that says what the columns mean; see examples/mappings.", show_default=False, readable=False
        ),
    ] = None,
    accept_missing_checksum: Annotated[
        bool, typer.Option(help="NMEA: also use sentences that end without *hh.")
    ] = False,
    fix: Annotated[
        bool, typer.Option("--fix", help="Repair what can be: sort time, drop torn rows; says how many.")
    ] = False,
    json: Json = False,
) -> None:
    """Turn foreign files into a log: NMEA text, CSV and other tables.

    Examples:

      hodograph import receiver.nmea -o monday.drive

      hodograph import imu.csv gnss.pos --mapping my_logger.toml -o monday.drive
    """
    from hodograph.cli.importing import run_import

    run_import(
        files, out, format_=format_, mapping=mapping, accept_missing=accept_missing_checksum, fix=fix, as_json=json
    )


@app.command()
def export(
    log: LogPath,
    to: Annotated[ExportFormat, typer.Option("--to", help="Format to write.", show_default=False)],
    out: Annotated[
        Path,
        typer.Option(
            "-o",
            "--out",
            help="File to write; CSV and Parquet: NAME_STREAM.csv when there are several streams.",
            show_default=False,
        ),
    ],
    streams: Annotated[str | None, typer.Option(help="Only these streams and estimates, comma-separated.")] = None,
    channels: Annotated[str | None, typer.Option(help="Only these channels, comma-separated.")] = None,
    rate: Annotated[float | None, typer.Option(help="One raster at that many Hz for all streams.")] = None,
    t_min: Annotated[float | None, typer.Option(help="From that many seconds after the log's start.")] = None,
    t_max: Annotated[float | None, typer.Option(help="Until that many seconds after the log's start.")] = None,
    display_units: Annotated[
        bool, typer.Option("--display-units", help="Degrees, km/h, bar and g instead of SI; names change with them.")
    ] = False,
    utc: Annotated[bool, typer.Option("--utc", help="Add a column with date and time (CSV, Parquet).")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")] = False,
    json: Json = False,
) -> None:
    """Write a log for the tools you have: CSV with units, MDF4, Parquet.

    Example: hodograph export monday.drive --to mf4 -o monday.mf4
    """
    from hodograph.cli.exporting import run_export

    run_export(
        log,
        to,
        out,
        streams=streams,
        channels=channels,
        rate_hz=rate,
        t_min_s=t_min,
        t_max_s=t_max,
        display_units=display_units,
        utc=utc,
        overwrite=force,
        as_json=json,
    )


@app.command()
def info(
    log: LogPath,
    align: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="A B", help="Offset and drift between the clocks of two streams.", show_default=False),
    ] = None,
    max_offset: Annotated[
        float | None,
        typer.Option(
            metavar="S", help="With --align: search offsets up to that many seconds.", show_default=False, min=0.0
        ),
    ] = None,
    json: Json = False,
) -> None:
    """What is in a log: rate, jitter, gaps and drops of each stream, and what a crash cost.

    Examples:

      hodograph info monday.drive

      hodograph info monday.drive --align gnss imu
    """
    if max_offset is not None and (align is None or max_offset != max_offset):
        raise typer.BadParameter("want --align A B and a number of seconds", param_hint="--max-offset")
    from hodograph.cli.inspecting import run_info

    run_info(log, align=align, max_offset_s=max_offset, as_json=json)


@app.command()
def doctor(
    vehicle: Annotated[
        Path,
        typer.Argument(
            help="A vehicle file, or a shipped one: xbw, race_car, 250lm.", show_default=False, readable=False
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder for the pictures; doctor_out unless --json.", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """Say what a vehicle file serves and lacks; draw a car, count its freedoms, load its wheels, shake and sweep it.

    Examples:

      hodograph doctor xbw

      hodograph doctor my_car.toml --out pictures
    """
    from hodograph.cli.doctor import run_doctor

    run_doctor(vehicle, out=out if out is not None or json else Path("doctor_out"), as_json=json)


@app.command()
def bench(
    what: Annotated[BenchSubject, typer.Argument(help="What to measure.", show_default=False)],
    mechanism: Annotated[str | None, typer.Option(help="linkages: fourbar, fivebar.", show_default="all")] = None,
    sensors: Annotated[
        str | None, typer.Option(help="linkages: encoder_crank, gyro_coupler, gyro_crank.", show_default="all")
    ] = None,
    observer: Annotated[str | None, typer.Option(help="linkages: dekf, ukf_tr, …", show_default="all")] = None,
    rate_hz: Annotated[str | None, typer.Option(help="linkages: 200, 100, 50, 20, 10.", show_default="all")] = None,
    error_level: Annotated[str | None, typer.Option(help="linkages: high, low.", show_default="all")] = None,
    config: Annotated[str, typer.Option(help="linkages: nd2017 or head2023.")] = "nd2017",
    reference: Annotated[
        Path | None, typer.Option(help="linkages: folder with truth and noise; else our own.", show_default=False)
    ] = None,
    as_published: Annotated[
        bool, typer.Option("--as-published", help="linkages: the toolbox' choices instead of our corrections.")
    ] = False,
    seed: Annotated[int, typer.Option(help="linkages: noise stream when there is no reference.")] = 10,
    report: Annotated[Path | None, typer.Option(help="linkages: folder for plots and a page.")] = None,
    vehicle: Annotated[str, typer.Option(help="car: a vehicle file, or a shipped one by name.")] = "xbw",
    json: Json = False,
) -> None:
    """Measure accuracy and speed, peers beside us in the same run (those that are installed).

    Examples:

      hodograph bench kernels --json

      hodograph bench car --vehicle race_car

      hodograph bench linkages --mechanism fourbar --observer dekf,ukf_tr --rate-hz 200,50
    """
    if what is BenchSubject.KERNELS:
        from hodograph.cli.bench import run_bench_kernels

        run_bench_kernels(as_json=json)
        return
    if what is BenchSubject.CAR:
        from hodograph.cli.bench import run_bench_car

        run_bench_car(vehicle, as_json=json)
        return
    from hodograph.cli.bench import run_bench_linkages

    run_bench_linkages(
        mechanism=mechanism,
        sensors=sensors,
        observer=observer,
        rate_hz=rate_hz,
        error_level=error_level,
        config=config,
        reference=reference,
        as_published=as_published,
        seed=seed,
        report=report,
        as_json=json,
    )


@app.command()
def warmup() -> None:
    """Compile all kernels now, with a progress bar; later starts find them on disk."""
    from hodograph.cli.warmup import run_warmup

    run_warmup()


def run() -> None:
    """Entry point: a broken world is one line on stderr and exit code 1; wrong usage is 2."""
    try:
        app()
    except BrokenPipeError:  # `hodograph info … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        if isinstance(error.__cause__ or error.__context__, KeyboardInterrupt):  # hit while a library was loading
            sys.exit(130)
        from hodograph.core.errors import HodographError

        if not isinstance(error, HodographError | OSError):
            raise
        typer.echo(f"hodograph: {_one_line(error)}", err=True)
        sys.exit(1)


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{os.fsdecode(error.filename)}: {error.strerror}" if error.filename else error.strerror
    return " ".join(str(error).split())
