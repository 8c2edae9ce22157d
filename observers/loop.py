"""The one loop of all observers: readings in order, each at its node of the grid; nothing else iterates readings.

Nodes lie at t0 + k · step in whole nanoseconds. A reading acts at the node nearest to it, with the time τ that it is
off. A filter is three functions and a tuple of arrays:

    predict(f, t_s, h) → bool                          from the node at t to the next
    correct(f, row, values, var, tau, t_s) → verdict   by one reading; LOST when the state did not survive it
    renew(f, t_s, lost) → bool                         after the loop has changed P (lost: begin anew from the position)

They may be compiled (numba merges them into the loop) or plain Python (`loop.py_func`). All that a filter knows lies in
one block (`memory.Room`), so going back is a copy. What fails is undone, counted, and never ends the run.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hodograph.core.frames import Array
from hodograph.multibody.model.tables import Index
from hodograph.numerics.compiling import merged, njit
from hodograph.numerics.verdicts import GATED, INVALID, STALE, USED

LOST, NOTED = -1, -2
"""What `correct` may say beside a verdict: the state is lost; an input of the model was taken, which is no reading."""

WIDEN, ANEW = 1, -1
"""What the loop does about a filter: let P grow, or begin anew."""

STEP, COASTING, DOUBT, BROKEN, FAILED, BOOK = 0, 1, 2, 3, 4, 5
"""Entries of the book: node now, 1 while the state stands still, node from which the estimate is valid again, last node
whose state did not follow from the one before by the model alone, 1 when a strict run has lost its state."""

RUN, FIRST, LEVEL, FACTOR, MORE, HEARD, SURPRISE, REFUSALS = 0, 1, 2, 3, 4, 5, 6, 7
"""Columns of the refusals of a stream: how many in a row, since which node, how often P was widened for them, by how
many times the variance of the start and of its own the last time; the node at which the stream was last used, and the
average of its ν²/S."""

RESETS, GATED_ROWS, NIS_SUM, NIS_ROWS, LAST_NIS = 1, 2, 4, 5, 7
"""In the counts of a filter: how often the loop began anew; rows refused; the sum of ν²/S over the rows used, and how
many they were; ν²/S of the last row looked at."""
HIGHEST = 6
"""Widenings in a row; then the filter begins anew, or where others are used the stream is left alone for a while."""
AMONG_OTHERS = 10
"""So many times longer is waited for a stream that is refused while others are used."""
NEWEST = 0.05
"""Weight of the newest reading in the average surprise of its stream."""
EXPECTED = 25.0
"""ν²/S up to which a widening of four times the one before will do; what is further off asks for more …"""
LEAST_MORE, MOST_MORE = 4.0, 100.0
"""… within these bounds."""
SANE = 1e150
MOST = 400.0
"""So many times the variance of the start is kept of what P was when a filter begins anew."""


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
    settle: int  # the estimate is called valid again so long after it was begun anew or widened
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


@njit
def copied(source: Array, target: Array) -> None:
    """target = source, both (M,)."""
    for i in range(len(target)):
        target[i] = source[i]


@njit
def sane(core: Core) -> bool:
    """Every vital number is finite and no variance is negative."""
    good = True
    for i in range(len(core.vital)):
        good = good and abs(core.vital[i]) < SANE
    for i in range(len(core.P)):
        good = good and core.P[i, i] > 0.0
    return good


@njit
def open_node(core: Core, k: int) -> None:
    """The node's state before any reading, for a rewind."""
    slots = len(core.ring)
    if slots > 0:
        copied(core.memory, core.ring[k % slots])


@njit
def close_node(core: Core, out: Output, k: int) -> None:
    """The node's state after all its readings, for who wants it."""
    if k >= out.origin and len(out.x) > 0:
        r = (k - out.origin) % len(out.x)
        out.valid[r] = core.book[COASTING] == 0.0 and k >= core.book[DOUBT] and core.trust[0] > 0.0
        for i in range(len(core.x)):
            out.x[r, i] = core.x[i]
            for j in range(len(core.x)):
                out.P[r, i, j] = core.P[i, j]


@njit
def keep_prior(core: Core, out: Output, k: int) -> None:
    """What a smoother needs of the prediction that led to node k."""
    if k >= out.origin and len(out.F) > 0:
        r = (k - out.origin) % len(out.F)
        for i in range(len(core.x)):
            out.x_prior[r, i] = core.x[i]
            for j in range(len(core.x)):
                out.F[r, i, j] = core.F[i, j]
                out.P_prior[r, i, j] = core.P[i, j]


@njit
def widen(core: Core, stream: int, k: int) -> None:
    """P ← more · P + factor · the uncertainty of the start; the estimate is in doubt for a while."""
    r = core.refusals[stream]
    for i in range(len(core.P)):
        for j in range(len(core.P)):
            core.P[i, j] *= r[MORE]
        core.P[i, i] += r[FACTOR] * core.start_var[i]
    core.book[DOUBT] = k + core.limits.settle
    core.book[BROKEN] = k


@njit
def begin_anew(core: Core, k: int) -> None:
    """The state before what failed, with the uncertainty of the start on top; where even it is no state, the start."""
    copied(core.before, core.memory)
    for i in range(len(core.P)):
        most = MOST * core.start_var[i]
        more = core.P[i, i] if 0.0 < core.P[i, i] < most else (most if core.P[i, i] >= most else 0.0)
        for j in range(len(core.P)):
            core.P[i, j] = 0.0
        core.P[i, i] = core.start_var[i] + more
    if not sane(core):
        from_start(core)
    for stream in range(len(core.refusals)):
        core.refusals[stream, RUN] = core.refusals[stream, LEVEL] = 0.0
    core.book[STEP] = k
    core.book[DOUBT] = k + core.limits.settle
    core.book[BROKEN] = k
    core.counts[RESETS] += 1.0


@njit
def from_start(core: Core) -> None:
    """Everything as at the start, but for the counts."""
    restarts = core.counts[RESETS]
    copied(core.start, core.memory)
    core.counts[RESETS] = restarts


@njit
def heard(core: Core, stream: int, k: int) -> None:
    """A reading was used: its row of refusals has ended, and a state that stood still goes on."""
    r = core.refusals[stream]
    r[RUN], r[LEVEL], r[HEARD] = 0.0, 0.0, k
    if core.book[COASTING] == 1.0:
        core.book[COASTING] = 0.0
        core.book[DOUBT] = k + core.limits.settle
        core.book[BROKEN] = k


@njit
def surprised(core: Core, stream: int, k: int, gated: float, nis: float, rows: float) -> None:
    """Average ν²/S of a stream, given the counts before its reading; while it is too large the estimate is in doubt.

    Wrong readings that are small enough to pass the gate are noticed here.
    """
    counts, r = core.counts, core.refusals[stream]
    now_gated, now_rows = counts[GATED_ROWS] - gated, counts[NIS_ROWS] - rows
    if now_gated + now_rows > 0.0:
        mean = (counts[NIS_SUM] - nis + EXPECTED * now_gated) / (now_gated + now_rows)
        r[SURPRISE] += NEWEST * (mean - r[SURPRISE])
        if r[SURPRISE] > core.limits.surprise:
            core.book[DOUBT] = k + core.limits.settle


@njit
def refused(core: Core, stream: int, k: int) -> int:
    """A reading was refused: WIDEN, 0 while the row of refusals is short, ANEW.

    Where other streams are used meanwhile it is more likely that this one is wrong, so more patience is due; and where
    even a P that allows for anything did not help, this one is wrong, for the time being.
    """
    r, limits = core.refusals[stream], core.limits
    if r[RUN] == 0.0:
        r[FIRST] = k
    r[RUN] += 1.0
    patience = 1
    for other in range(len(core.refusals)):
        if other != stream and core.refusals[other, HEARD] >= r[FIRST]:
            patience = AMONG_OTHERS
    if r[RUN] < limits.refused_rows or (r[LEVEL] == 0.0 and k - r[FIRST] < patience * limits.refused_steps):
        return 0
    if r[LEVEL] == HIGHEST:
        r[RUN] = r[LEVEL] = 0.0
        return 0 if patience > 1 else ANEW
    if r[LEVEL] == 0.0:
        r[FACTOR], r[MORE] = 1.0, 1.0
    else:
        nis = core.counts[LAST_NIS]
        r[MORE] = min(nis / EXPECTED, MOST_MORE) if nis > LEAST_MORE * EXPECTED else LEAST_MORE
        r[FACTOR] *= r[MORE]
    r[LEVEL] += 1.0
    r[RUN] = 0.0
    return WIDEN


@merged
def loop(f: Any, predict: Any, correct: Any, renew: Any, core: Core, events: Events, out: Output, until: int) -> int:
    """Take the events in, each at its node, and go on to node `until`; returns how many were looked at.

    A gap beyond the limit is not stepped through: the state stands still, invalid, until a reading is used.
    """
    grid, book, strict = core.grid, core.book, core.limits.strict == 1
    k, done, count = int(book[STEP]), 0, len(events.t_ns)
    while True:
        target = node_at(grid, events.t_ns[done]) if done < count else until
        if target > k or done == count:
            close_node(core, out, k)
        mend, moved, stream = 0, target > k, 0
        if moved:
            if not strict:
                copied(core.memory, core.before)
                if target - k > core.limits.gap and book[COASTING] == 0.0:
                    book[COASTING] = 1.0
                    mend = ANEW
            if book[COASTING] == 1.0:
                k = target
            else:
                k += 1
                if not predict(f, grid.t0_s + (k - 1) * grid.step_s, grid.step_s) or not (strict or sane(core)):
                    mend = ANEW
            if strict and mend == ANEW:
                book[FAILED] = 1.0
                return done
            book[STEP] = k
        elif done == count:
            return done
        else:
            verdict = STALE
            if target == k:
                if not strict:
                    copied(core.memory, core.before)
                stream = events.stream[done]
                first, end = events.start[done], events.start[done + 1]
                gated, nis, rows = core.counts[GATED_ROWS], core.counts[NIS_SUM], core.counts[NIS_ROWS]
                verdict = correct(
                    f, events.row[done], events.value[first:end], events.var[first:end],
                    1e-9 * (events.t_ns[done] - grid.t0_ns - k * grid.step_ns), grid.t0_s + k * grid.step_s,
                )  # fmt: skip
                if verdict == LOST and strict:
                    book[FAILED], book[STEP] = 1.0, k - 1  # this node was not reached
                    return done
                if verdict == USED and not (strict or sane(core)):
                    verdict = LOST
                if verdict == LOST:
                    copied(core.before, core.memory)
                if not strict and verdict in (USED, GATED):
                    surprised(core, stream, k, gated, nis, rows)
                if verdict == USED:
                    heard(core, stream, k)
                elif verdict in (GATED, LOST) and not strict:
                    mend = refused(core, stream, k)
                    if not sane(core):
                        mend = ANEW
                    copied(core.memory, core.before)
            events.verdict[done] = USED if verdict == NOTED else (INVALID if verdict == LOST else verdict)
            done += 1
        stood = book[COASTING] == 1.0
        if mend == ANEW:
            begin_anew(core, k)
            book[COASTING] = 1.0 if moved or stood else 0.0
        elif mend == WIDEN:
            widen(core, stream, k)
        changed = mend != 0 or (moved and stood)
        if changed and not renew(f, grid.t0_s + k * grid.step_s, mend == ANEW):
            from_start(core)
            book[STEP], book[COASTING], book[DOUBT], book[BROKEN] = k, 1.0, k + core.limits.settle, k
        if moved:
            if mend == 0:
                keep_prior(core, out, k)
            open_node(core, k)
