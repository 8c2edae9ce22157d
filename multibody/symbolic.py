"""The symbolic half of the sparse LDLᵀ, once per model: ordering, pattern, and lists of destinations.

Storage of the factor: column after column in elimination order, diagonal first, then the rows below it. All kernels
see this one array; where an entry (i, j) of the symmetric matrix goes is looked up here, never at run time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Symbolic:
    """Elimination order, column starts (n+1), coordinate of each stored row, and the destinations of every update."""

    order: Index
    start: Index
    row: Index
    update: Index
    where: dict[tuple[int, int], int]

    @property
    def size(self) -> int:
        """Stored entries."""
        return int(self.start[-1])

    def destination(self, i: int, j: int) -> int:
        """Where entry (i, j) = (j, i) is stored."""
        return self.where[i, j]


def analyse(n: int, pairs: Iterable[tuple[int, int]]) -> Symbolic:
    """Minimum-degree order and fill for a symmetric pattern given by index pairs."""
    neighbours: list[set[int]] = [set() for _ in range(n)]
    for i, j in pairs:
        if i != j:
            neighbours[i].add(j)
            neighbours[j].add(i)
    order: list[int] = []
    columns: list[list[int]] = []
    left = set(range(n))
    for _ in range(n):
        pivot = min(left, key=lambda k: (len(neighbours[k]), k))
        left.discard(pivot)
        order.append(pivot)
        clique = neighbours[pivot]
        columns.append(list(clique))
        for i in clique:
            neighbours[i].discard(pivot)
            neighbours[i] |= clique
            neighbours[i].discard(i)
    return _schedule(n, order, columns)


def _schedule(n: int, order: list[int], columns: list[list[int]]) -> Symbolic:
    rank = {k: place for place, k in enumerate(order)}
    start, rows = [0], list[int]()
    where: dict[tuple[int, int], int] = {}
    for pivot, column in zip(order, columns, strict=True):
        for i in [pivot, *sorted(column, key=rank.__getitem__)]:
            where[i, pivot] = where[pivot, i] = len(rows)
            rows.append(i)
        start.append(len(rows))
    update = [
        where[rows[x], rows[y]]
        for k in range(n)
        for x in range(start[k] + 1, start[k + 1])
        for y in range(x, start[k + 1])
    ]
    return Symbolic(index(order), index(start), index(rows), index(update), where)


def index(values: Iterable[int]) -> Index:
    """Indices as the kernels want them; signed ones cost a factor of two."""
    return np.array(list(values), dtype=np.uint32)
