"""`hodograph export`: a log into files of other tools."""

from __future__ import annotations

from pathlib import Path

import typer

from hodograph.acquisition.log import LogReader
from hodograph.cli.console import print_json, progress, stdout, warn
from hodograph.replay.exporters import FORMATS, ExportOptions


def run_export(
    path: Path,
    to: str,
    out: Path,
    *,
    streams: str | None,
    channels: str | None,
    rate_hz: float | None,
    t_min_s: float | None,
    t_max_s: float | None,
    display_units: bool,
    utc: bool,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Writes the files and says which."""
    with progress("checking every batch"):
        log = LogReader(path, verify=True)
    for name, loss in log.lost.items():
        warn(f"{path}: lost from {name}: {loss.bytes} bytes ({loss.reason}); what is left is exported")
    with progress(f"writing {to}") as show:
        try:
            options = ExportOptions(
                streams=_names(streams),
                channels=_names(channels),
                rate_hz=rate_hz,
                t_min_s=t_min_s,
                t_max_s=t_max_s,
                display_units=display_units,
                utc=utc,
                overwrite=overwrite,
                on_rows=show,
            )
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error
        exported = FORMATS[to](log, out, options)
    if as_json:
        files = [{"path": str(f.path), "rows": f.rows, "streams": f.streams} for f in exported.files]
        print_json({"format": to, "files": files})
        return
    for file in exported.files:
        stdout().print(f"{file.path}: {file.rows} rows of {', '.join(file.streams)}", markup=False, soft_wrap=True)


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(name.strip() for name in text.split(",") if name.strip())
