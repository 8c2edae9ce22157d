"""What passes between the loop and a filter: readings, grid, limits, and the views into what the filter knows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hodograph.core.frames import Array
from hodograph.multibody.model.tables import Index
from hodograph.numerics.compiling import njit

LOST, NOTED = -1, -2
"""What `correct` may say beside a verdict: the state is lost; an input of the model was taken, which is no reading."""

STEP, COASTING, DOUBT, BROKEN, FAILED, SPOKEN, BEGUN = range(7)
FLOOR, FLOOR_UNTIL, ACCUSER, ACCUSED, SUSPECT, SUSPECT_UNTIL, BOOK = range(7, 14)
"""Entries of the book: node now; 1 while the state stands still, 2 when its clock was set back; node from which the
estimate is valid again; last node whose state did not follow from the one before by the model alone; 1 when a strict
run has lost its state; node of the last reading; node at which the filter was last begun anew. Streams by their number
plus one, 0 for none: who alone is listened to, and until when; for whom P was widened last, and when; who is not
believed, and until when."""

RUN, FIRST, SINCE, LEVEL, FACTOR, MORE, HEARD, SURPRISE, ALARM, REFUSALS = range(10)
"""Columns of the refusals of a stream: how many in a row, since which node, and since which it was not used at all; how
often P was widened for them, by how many times the variance of the start and of its own the last time; the node at
which the stream was last used, the average of its ν²/S, and 1 while that is too large."""


class Events(NamedTuple):
    """Readings in order of (time, stream, row)."""

    t_ns: NDArray[np.int64]  # (n,) of the measurement
    stream: Index  # (n,)
    row: Index  # (n,) first row
    start: Index  # (n+1,) places of the values
    value: Array
    var: Array  # as long as value; NaN: that of the sensor
    verdict: NDArray[np.int64]  # (n,) out: what became of it


class Grid(NamedTuple):
    """Node k is at t0_ns + k · step_ns, where the model's time is t0_s + k · step_s."""

    t0_ns: int
    step_ns: int
    t0_s: float
    step_s: float


class Limits(NamedTuple):
    """When the loop steps in, in steps where not told otherwise; `strict` 1: never, a lost state ends the run."""

    gap: int  # longer ones are not stepped through
    settle: int  # the estimate is called valid so long after it has begun
    doubt: int  # … and again so long after it was begun anew or widened
    refused_rows: int  # readings refused in a row …
    refused_steps: int  # … the first time over at least so long: P is too small
    surprise: float  # an average ν²/S of a stream beyond this, 1 is normal, means that something is wrong
    strict: int


class Core(NamedTuple):
    """What the loop reads and writes of a filter; all but `before`, `ring` and the start's are views into memory."""

    memory: Array  # (M,) all that is known at a node
    vital: Array  # the part of it that must be finite
    book: Array  # (BOOK,)
    refusals: Array  # (streams, REFUSALS)
    counts: Array  # (8,)
    x: Array  # (N,)
    P: Array  # (N, N)
    F: Array  # (N, N) of the last prediction, where the filter has one
    trust: Array  # (1,) 0 while the filter itself says that its estimate is not to be used
    start_var: Array  # (N,) of the start
    start: Array  # (M,) memory at the start
    before: Array  # (M,) memory before the last prediction or correction
    ring: Array  # (slots, M) memory at the opening of the last nodes, before their readings
    grid: Grid
    limits: Limits


class Output(NamedTuple):
    """Where nodes from `origin` on go: node k to row (k − origin) modulo the rows."""

    origin: int
    x: Array  # (rows, N)
    P: Array  # (rows, N, N)
    valid: NDArray[np.bool_]  # (rows,)
    F: Array  # (rows or 0, N, N) the prediction that led to the node: its F, state and covariance before readings
    x_prior: Array
    P_prior: Array


@njit
def node_at(grid: Grid, t_ns: int) -> int:
    """The node nearest to a time."""
    return (t_ns - grid.t0_ns + grid.step_ns // 2) // grid.step_ns
