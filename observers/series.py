"""How estimates over time show themselves: one line as text, a row per state in notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from hodograph.core.display import html_table, listed, spanned
from hodograph.core.frames import Array

SERIES_HEADING = ("row", "first", "last", "least", "most", "mean 1-sigma")


def series_line(t_ns: NDArray[np.int64], names: Iterable[str], valid: NDArray[np.bool_]) -> str:
    """`400 rows, 3.99 s, 100 Hz, 98% valid; yaw_rad, v_x_mps`."""
    share = f", {float(np.mean(valid)):.0%} valid" if len(valid) else ""
    return f"{spanned(t_ns)}{share}; {listed(names)}"


def series_html(caption: str, names: Iterable[str], x: Array, std: Array) -> str:
    """A row for each of the names: where it begins and ends and how far it goes; x and std (n, N)."""
    return html_table(caption, SERIES_HEADING, _rows(names, x, std))


def _rows(names: Iterable[str], x: Array, std: Array) -> Iterator[tuple[str | float, ...]]:
    for k, name in enumerate(names):
        said, sigma = x[np.isfinite(x[:, k]), k], std[np.isfinite(std[:, k]), k]
        ends = (said[0], said[-1], said.min(), said.max()) if len(said) else (np.nan,) * 4
        yield (name, *map(float, ends), float(sigma.mean()) if len(sigma) else float("nan"))
