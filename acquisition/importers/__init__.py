"""Foreign files → streams of a log: NMEA text, tables with a mapping.

A format is a function `(files, options) -> Imported` (see `imported.py`) and an entry in `FORMATS`; the module behind
an entry is imported when the format is first used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from hodograph.acquisition.importers.imported import Imported, Importer, ImportOptions, RawData
from hodograph.core import ImportFormatError


def _nmea(files: Sequence[Path], options: ImportOptions) -> Imported:
    from hodograph.acquisition.importers.nmea import import_nmea

    return import_nmea(files, options)


def _tables(files: Sequence[Path], options: ImportOptions) -> Imported:
    from hodograph.acquisition.importers.tables import import_tables

    return import_tables(files, options)


FORMATS: Mapping[str, Importer] = {"nmea": _nmea, "csv": _tables}

_SNIFFED_BYTES = 65536
_SENTENCE = re.compile(rb"[$!][A-Z]{2}[A-Z0-9]{1,6},[^$!*\r\n]*\*[0-9A-Fa-f]{2}")
_TABLE_SUFFIXES = frozenset({".csv", ".pos", ".tsv", ".txt", ".dat"})


def guess_format(files: Sequence[Path], options: ImportOptions) -> str:
    """The name in `FORMATS` that fits `files`: a mapping means a table; else content decides, then the suffix.

    `ImportFormatError` when nothing fits, or when a file cannot be read.
    """
    if options.mapping is not None:
        return "csv"
    guesses = {path: _guess(path) for path in files}
    if len(set(guesses.values())) > 1:
        listed = ", ".join(f"{path}: {guess}" for path, guess in guesses.items())
        raise ImportFormatError(f"the files look different ({listed}); import them one by one, or say --format")
    return next(iter(guesses.values()))


def _guess(path: Path) -> str:
    if path.is_dir():
        raise ImportFormatError(f"{path}: is a folder; say with --mapping how its files are laid out")
    try:
        with path.open("rb") as file:
            head = file.read(_SNIFFED_BYTES)
    except OSError as error:
        raise ImportFormatError(f"{path}: cannot be read: {error.strerror}") from error
    if not head.strip():
        raise ImportFormatError(f"{path}: the file is empty")
    if _SENTENCE.search(head) or path.suffix.lower() in (".nmea", ".nme"):
        return "nmea"
    if path.suffix.lower() in _TABLE_SUFFIXES:
        return "csv"
    raise ImportFormatError(f"{path}: cannot tell what it is; say --format {' or '.join(FORMATS)}")


__all__ = ["FORMATS", "ImportOptions", "Imported", "Importer", "RawData", "guess_format"]
