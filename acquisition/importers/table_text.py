"""A table as text: lines into fields, header rows into column numbers. Knows layout, not meaning.

Every complaint names the file and the line as an editor counts it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
from numpy.typing import NDArray

from hodograph.acquisition.importers.mapping import WHITESPACE, ColumnName, TableMapping
from hodograph.core import ImportFormatError
from hodograph.core.display import short_repr


@dataclass(frozen=True, slots=True)
class TableText:
    """The rows of one file: `lines[i]` is a row's text, `numbers[i]` (n,) its line in the file, from 1.

    `header` holds the header rows' fields, `fields` is how many fields a row has, `torn` the lines left out because
    they have another number of them.
    """

    path: Path
    header: tuple[tuple[str, ...], ...]
    lines: tuple[bytes, ...]
    numbers: NDArray[np.int64]
    delimiter: str
    fields: int
    usable: int
    torn: tuple[int, ...] = ()

    def index_of(self, column: ColumnName, where: str | None = None) -> int:
        """Position from 0 of a column by its name (and the text `where` in another header row) or its number from 1."""
        if isinstance(column, int):
            if not 1 <= column <= self.usable:
                raise ImportFormatError(f"{self.path}: no column {column}: a row has {self.usable} usable columns")
            return column - 1
        if not self.header:
            raise ImportFormatError(f"{self.path}: column {column!r} asked for by name, but header_rows is 0")
        named = [i for i, name in enumerate(self.header[0][: self.usable]) if name == column]
        if where is not None:
            named = [i for i in named if any(where == row[i] for row in self.header[1:] if i < len(row))]
        if len(named) == 1:
            return named[0]
        label = f"{column!r} where {where!r}" if where is not None else repr(column)
        if named:
            places = ", ".join(str(i + 1) for i in named)
            raise ImportFormatError(
                f"{self.path}: {len(named)} columns are named {label} (columns {places}): give the number, or `where`"
            )
        known = ", ".join(name for name in self.header[0][: self.usable] if name)
        raise ImportFormatError(f"{self.path}: no column {label}; the header has {known}")

    def column_name(self, index: int) -> str:
        """What to call the column at `index` in a message."""
        named = self.header and index < len(self.header[0]) and self.header[0][index]
        return f"column {index + 1} ({named})" if named else f"column {index + 1}"

    def columns(self, indices: Iterable[int]) -> dict[int, pa.Array]:
        """The fields of those columns as text, blanks around them taken off, (n,) each."""
        wanted = sorted(set(indices))
        table = pacsv.read_csv(
            pa.BufferReader(b"\n".join(self.lines)),
            read_options=pacsv.ReadOptions(column_names=[str(i) for i in range(self.fields)], block_size=1 << 24),
            parse_options=pacsv.ParseOptions(delimiter=self.delimiter, quote_char=False, ignore_empty_lines=False),
            convert_options=pacsv.ConvertOptions(
                include_columns=[str(i) for i in wanted],
                column_types={str(i): pa.large_string() for i in wanted},
                strings_can_be_null=False,
            ),
        )
        return {i: pa.compute.utf8_trim_whitespace(table[str(i)].combine_chunks()) for i in wanted}

    __repr__ = short_repr


def read_table_text(path: Path, layout: TableMapping, *, drop_torn: bool = False) -> TableText:
    """The file's header and rows; torn rows are an error unless they may be dropped."""
    lines = _text(path, layout.encoding).encode().splitlines()
    delimiter = "\t" if layout.delimiter == WHITESPACE else layout.delimiter
    comment = layout.comment.encode()
    first = layout.skip_rows + layout.header_rows
    header = tuple(
        tuple(name.strip() for name in _regular(line.removeprefix(comment), layout.delimiter).decode().split(delimiter))
        for line in lines[layout.skip_rows : first]
    )
    kept = [
        (number, _regular(line, layout.delimiter))
        for number, line in enumerate(lines[first:], start=first + 1)
        if line.strip() and not (comment and line.startswith(comment))
    ]
    if not kept:
        raise ImportFormatError(f"{path}: no rows of data after {first} lines of preamble and header")
    numbers = np.array([number for number, _ in kept], dtype=np.int64)
    counts = np.array([line.count(delimiter.encode()) + 1 for _, line in kept], dtype=np.int64)
    fields = _fields_per_row(path, header, counts, layout.trusted_columns)
    whole = counts == fields
    torn = tuple(int(n) for n in numbers[~whole])
    if torn and not drop_torn:
        raise ImportFormatError(_torn_message(path, torn, int(counts[~whole][0]), fields, int(numbers[-1])))
    rows = tuple(line for (_, line), ok in zip(kept, whole.tolist(), strict=True) if ok)
    usable = min(fields, layout.trusted_columns or fields)
    return TableText(path, header, rows, numbers[whole], delimiter, fields, usable, torn)


def _text(path: Path, encoding: str) -> str:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ImportFormatError(f"{path}: cannot be read: {error.strerror}") from error
    if not raw.strip():
        raise ImportFormatError(f"{path}: the file is empty")
    try:
        text = raw.decode("utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding)
    except UnicodeDecodeError as error:
        raise ImportFormatError(
            f"{path}: not {encoding} text (byte {error.start}): a binary file, or another `encoding`"
        ) from error
    if "\0" in text:
        raise ImportFormatError(f"{path}: not a text table: it has zero bytes")
    return text


def _regular(line: bytes, delimiter: str) -> bytes:
    """A line in which one character separates fields and nothing is quoted; an open quote leaves it one field."""
    if delimiter == WHITESPACE:
        return b"\t".join(line.split())
    if b'"' not in line:
        return line
    try:
        fields = next(csv.reader([line.decode()], delimiter=delimiter, strict=True), [])
    except csv.Error:
        return b"?"
    return delimiter.join(field.replace(delimiter, " ").replace('"', "") for field in fields).encode()


def _fields_per_row(
    path: Path, header: tuple[tuple[str, ...], ...], counts: NDArray[np.int64], trusted: int | None
) -> int:
    """How many fields rows have: the commonest number, which must be the header's unless the mapping knows better."""
    fields = int(np.bincount(counts).argmax())
    if trusted is not None and trusted > fields:
        raise ImportFormatError(f"{path}: trusted_columns is {trusted}, but rows have {fields} fields")
    if header and trusted is None and len(header[0]) != fields:
        raise ImportFormatError(
            f"{path}: the header names {len(header[0])} columns, rows have {fields} fields: another table than was "
            "meant, or say in the mapping how many leading columns can be trusted (trusted_columns)"
        )
    return fields


def _torn_message(path: Path, torn: tuple[int, ...], got: int, want: int, last: int) -> str:
    cut = " (the last one: the file seems cut short)" if torn == (last,) else f" ({len(torn)} such lines)"
    return f"{path}, line {torn[0]}{cut}: {got} fields, other rows have {want}: import with --fix to leave it out"
