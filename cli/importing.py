"""`hodograph import`: foreign files into a log."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hodograph.acquisition.importers import FORMATS, ImportOptions, guess_format
from hodograph.acquisition.importers.write import write_imported
from hodograph.acquisition.log import LogReader
from hodograph.cli.console import print_json, progress, stdout
from hodograph.cli.inspecting import log_health, print_info
from hodograph.core import LogWriteError


def run_import(
    files: list[Path],
    out: Path,
    *,
    format_: str | None,
    mapping: Path | None,
    accept_missing: bool,
    fix: bool,
    as_json: bool,
) -> None:
    """Reads `files`, writes the log whole or not at all, and says what is in it."""
    if out.exists():
        raise LogWriteError(f"{out}: exists already; choose another name or move it away")
    with progress("importing") as show:
        options = ImportOptions(mapping=mapping, accept_missing_checksum=accept_missing, fix=fix, on_bytes=show)
        imported = FORMATS[format_ or guess_format(files, options)](files, options)
    with progress("writing"):
        write_imported(out, imported)
    log = LogReader(out)
    health = log_health(log)
    if as_json:
        streams = {name: stream.as_json() for name, stream in health.items()}
        print_json({"log": str(out), **imported.report, "streams": streams})
        return
    print_info(stdout(), log, health)
    if fix:
        for line in _repairs(imported.report) or ["nothing had to be repaired"]:
            stdout().print(line, markup=False, soft_wrap=True)


def _repairs(report: Mapping[str, object]) -> list[str]:
    """What `--fix` did, a line per file and kind of repair: `repaired run.csv: 3 torn rows dropped`."""
    tables = report.get("tables", {})
    return [
        f"repaired {file}: {count} {what}"
        for file, table in (tables.items() if isinstance(tables, Mapping) else ())
        for what, count in table["fixed"].items()
    ]
