"""How values show themselves: one line as text, a small table in notebooks. Nothing here is computed with."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

REPR_LENGTH = 180
_TEXT_LENGTH = 60


def cut(text: str, length: int = _TEXT_LENGTH) -> str:
    """One line of at most `length` characters."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"


def listed(names: Iterable[str], length: int = _TEXT_LENGTH) -> str:
    """Names with commas, as many as fit, and how many more there are."""
    names = list(names)
    shown: list[str] = []
    for name in names:
        if shown and len(", ".join((*shown, name))) > length:
            return f"{', '.join(shown)} and {len(names) - len(shown)} more"
        shown.append(cut(name, length))
    return ", ".join(shown) or "none"


def counted(number: int, what: str) -> str:
    """`1 row`, `2 rows`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def spanned(t_ns: NDArray[np.int64]) -> str:
    """Rows, time and rate of increasing stamps (n,): `400 rows, 3.99 s, 100 Hz`."""
    words = counted(len(t_ns), "row")
    if len(t_ns) < 2:
        return words
    step_s = float(np.median(np.diff(t_ns))) / 1e9
    rate = f", {1.0 / step_s:.4g} Hz" if step_s > 0.0 else ""
    return f"{words}, {(int(t_ns[-1]) - int(t_ns[0])) / 1e9:.2f} s{rate}"


def short_repr(value: Any) -> str:
    """The `__repr__` of a dataclass in one line: arrays by their shape, what is long by its length."""
    parts = []
    for entry in fields(value):
        if entry.repr:
            parts.append(f"{entry.name}={_short(getattr(value, entry.name))}")
    text = f"{type(value).__name__}({', '.join(parts)})"
    return text if len(text) <= REPR_LENGTH else text[: REPR_LENGTH - 2] + "…)"


def _short(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"array{value.shape}"
    if callable(value):
        return str(getattr(value, "__name__", type(value).__name__))
    if isinstance(value, str):
        return repr(cut(value, 40))
    text = repr(value)
    if len(text) <= 40 and "\n" not in text:
        return text
    if isinstance(value, Collection):
        kind = "entries" if isinstance(value, Mapping) else "items"
        return f"<{len(value)} {kind}>"
    return cut(text)


def html_table(caption: str, heading: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table for notebooks; everything is escaped, numbers stand at the right."""
    lines = [f"<table><caption>{escape(caption)}</caption>", _html_row("th", heading)]
    lines += [_html_row("td", row) for row in rows]
    return "\n".join((*lines, "</table>"))


def _html_row(tag: str, cells: Sequence[object]) -> str:
    parts = []
    for cell in cells:
        left = isinstance(cell, str)
        text = cell if isinstance(cell, str) else f"{cell:.6g}" if isinstance(cell, float) else str(cell)
        parts.append(f'<{tag} style="text-align:{"left" if left else "right"}">{escape(text)}</{tag}>')
    return f"<tr>{''.join(parts)}</tr>"
