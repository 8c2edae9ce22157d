"""The symbolic half of the sparse LDLᵀ, once per model: ordering, pattern, and lists of destinations.

Storage of the factor: column after column in elimination order, diagonal first, then the rows below it. All kernels
see this one array; where an entry (i, j) of the symmetric matrix goes is looked up here, never at run time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from hodograph.core.display import short_repr
from hodograph.core.frames import Array
from hodograph.multibody.model.tables import Index


@dataclass(frozen=True, slots=True)
class Symbolic:
    """Elimination order, column starts (n+1), coordinate of each stored row, and where the updates go.

    Destinations that follow each other are kept as runs (first, length): mostly whole columns, which the compiler turns
    into vector instructions.
    """

    order: Index
    start: Index
    row: Index
    update: Index
    where: dict[tuple[int, int], int]

    __repr__ = short_repr

    @property
    def size(self) -> int:
        """Stored entries."""
        return int(self.start[-1])

    def rank(self) -> Index:
        """The place of every coordinate in the order of elimination."""
        return np.argsort(self.order).astype(np.uint32)

    def products(self, slots: Sequence[int]) -> list[tuple[int, int]]:
        """Runs of the destinations of all products of slots a ≤ b, slot after slot; sort the slots by rank."""
        return [run for k, a in enumerate(slots) for run in runs([self.where[a, b] for b in slots[k:]])]

    def destination(self, i: int, j: int) -> int:
        """Where entry (i, j) = (j, i) is stored."""
        return self.where[i, j]


def analyse(n: int, pairs: Iterable[tuple[int, int]]) -> Symbolic:
    """Minimum-fill order (then minimum degree) and fill for a symmetric pattern given by index pairs."""
    neighbours: list[set[int]] = [set() for _ in range(n)]
    for i, j in pairs:
        if i != j:
            neighbours[i].add(j)
            neighbours[j].add(i)
    order: list[int] = []
    columns: list[list[int]] = []
    worth = {k: _worth(neighbours, k) for k in range(n)}
    while worth:
        pivot = min(worth, key=worth.__getitem__)
        del worth[pivot]
        order.append(pivot)
        clique = neighbours[pivot]
        columns.append(list(clique))
        fill = False
        for i in clique:
            before = len(neighbours[i])
            neighbours[i].discard(pivot)
            neighbours[i] |= clique
            neighbours[i].discard(i)
            fill |= len(neighbours[i]) >= before
        changed = set(clique)
        if fill:  # new entries also change what their neighbours would cost
            changed |= {j for i in clique for j in neighbours[i]}
        for k in changed:
            worth[k] = _worth(neighbours, k)
    return _schedule(n, order, columns)


def _worth(neighbours: list[set[int]], k: int) -> tuple[int, int, int]:
    """Entries that eliminating k would add (twice), its degree, itself."""
    own = neighbours[k]
    missing = sum(len(own) - 1 - len(neighbours[i] & own) for i in own)
    return missing, len(own), k


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
        run
        for k in range(n)
        for x in range(start[k] + 1, start[k + 1])
        for run in runs([where[rows[x], rows[y]] for y in range(x, start[k + 1])])
    ]
    return Symbolic(index(order), index(start), index(rows), pairs_of(update), where)


def runs(destinations: Sequence[int]) -> list[tuple[int, int]]:
    """(first, length) of the stretches of consecutive numbers."""
    found: list[tuple[int, int]] = []
    for d in destinations:
        if found and d == found[-1][0] + found[-1][1]:
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((d, 1))
    return found


def pairs_of(values: Iterable[tuple[int, int]]) -> Index:
    """Pairs of indices, shape (k, 2)."""
    return np.array(list(values), dtype=np.uint32).reshape(-1, 2)


def grid(values: Sequence[Sequence[int]], width: int) -> Index:
    """Rows of indices, also when there are none."""
    return np.array(values, dtype=np.uint32).reshape(-1, width)


def floats(values: Sequence[object], width: int) -> Array:
    """Rows of numbers, also when there are none."""
    return np.array(values, dtype=np.float64).reshape(-1, width)


def index(values: Iterable[int]) -> Index:
    """Indices as the kernels want them; signed ones cost a factor of two."""
    return np.array(list(values), dtype=np.uint32)
