"""What a family of filters makes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from hodograph.core.frames import Array

if TYPE_CHECKING:
    from hodograph.observers.tables import Core, Events, Output


@dataclass(frozen=True, slots=True)
class Filter:
    """What a family makes: the tuple of arrays its functions work on, and the compiled entry run(f, core, events, …).

    `x`, `P`, `F`, `counts` are the arrays the loop needs; `vital` is how much of the memory, from its beginning, must
    be finite. `traced`: F belongs to the last prediction, so a smoother can go back over it. `trust` (1,) is 0 while
    the filter itself says that its estimate is not to be used; it lies in the memory, too, unless it never changes.
    """

    arrays: Any
    run: Callable[[Any, Core, Events, Output, int], int]
    x: Array
    P: Array
    F: Array
    counts: Array
    vital: int
    traced: bool = True
    trust: Array = field(default_factory=lambda: np.ones(1))
