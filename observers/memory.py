"""One block of memory for all that an observer knows at a moment, so that a copy of the block is a snapshot of it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hodograph.core.frames import Array
from hodograph.multibody.model.tables import Index


class Room:
    """Hands out arrays that lie side by side in one block.

    What is kept here belongs to the state: it is copied at every node, written to the ring, and restored by a rewind.
    Buffers that every step fills anew do not belong here.
    """

    def __init__(self, capacity: int = 1 << 18) -> None:
        self._block = np.zeros(capacity)  # pages that nobody touches cost nothing
        self._used = 0

    def array(self, values: Array) -> Array:
        """An array in the block that starts as `values`."""
        begin, shape = self._used, np.shape(values)
        self._used += int(np.prod(shape))
        if self._used > len(self._block):
            raise ValueError(f"the state of this observer needs more than {len(self._block)} numbers")
        view: Array = self._block[begin : self._used].reshape(shape)
        view[...] = values
        return view

    def zeros(self, *shape: int) -> Array:
        """An array of zeros in the block."""
        return self.array(np.zeros(shape))

    def index(self, values: Index) -> Index:
        """Whole numbers in the block, two to a float64."""
        room = self.zeros((len(values) + 1) // 2)
        view: Index = room.view(np.uint32)[: len(values)]
        view[:] = values
        return view

    @property
    def used(self) -> int:
        """How many numbers were handed out so far."""
        return self._used

    @property
    def memory(self) -> Array:
        """The block as far as it was handed out."""
        return self._block[: self._used]


def size_of(arrays: Iterable[Array]) -> int:
    """How many numbers they have together."""
    return sum(int(array.size) for array in arrays)
