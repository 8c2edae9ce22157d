"""The one loop of all observers: readings in order, each at its node of the grid; nothing else iterates readings.

Nodes lie at t0 + k · step in whole nanoseconds. A reading acts at the node nearest to it, with the time τ that it is
off. A filter is three functions and a tuple of arrays:

    predict(f, t_s, h) → bool                          from the node at t to the next
    correct(f, row, values, var, tau, t_s) → verdict   by one reading; LOST when the state did not survive it
    renew(f, t_s, lost) → bool                         after the loop changed P; lost 1: begin anew from the position,
                                                       2: what was learnt of slow things was wrong,
                                                       3: the clock was set back

They may be compiled (numba merges them into the loop) or plain Python (`loop.py_func`). All that a filter knows lies in
one block (`memory.Room`), so going back is a copy. What fails is undone, counted, and never ends the run.
"""

from __future__ import annotations

from typing import Any

from hodograph.numerics.compiling import merged, njit
from hodograph.numerics.verdicts import GATED, INVALID, STALE, USED
from hodograph.observers.counts import GATED_ROWS, NIS_ROWS, NIS_SUM
from hodograph.observers.doubt import (
    ANEW,
    UNLEARN,
    WIDEN,
    begin_anew,
    copied,
    from_start,
    give_floor,
    heard,
    refused,
    sane,
    silenced,
    surprised,
    unlearn,
    widen,
)  # fmt: skip
from hodograph.observers.tables import (
    BROKEN,
    COASTING,
    DOUBT,
    FAILED,
    LOST,
    NOTED,
    SPOKEN,
    STEP,
    Core,
    Events,
    Output,
    node_at,
)  # fmt: skip


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


@merged
def loop(f: Any, predict: Any, correct: Any, renew: Any, core: Core, events: Events, out: Output, until: int) -> int:
    """Take the events in, each at its node, and go on to node `until`; returns how many were looked at.

    After a silence beyond the limit the state stands still, invalid, until a reading is used.
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
                if k - book[SPOKEN] >= core.limits.gap and book[COASTING] == 0.0:
                    mend = ANEW
            if mend == ANEW:
                k += 1
            elif book[COASTING] > 0.0:
                k, book[BROKEN] = target, target
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
            verdict, stream = STALE, events.stream[done]
            if target == k and not strict and silenced(core, stream, k):
                verdict = GATED
            elif target == k:
                book[SPOKEN] = k
                if not strict:
                    copied(core.memory, core.before)
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
                    mend = surprised(core, stream, k, gated, nis, rows)
                if verdict == USED:
                    heard(core, stream, k)
                elif verdict in (GATED, LOST) and not strict:
                    mend = refused(core, stream, k)
                    if not sane(core):
                        mend = ANEW
                    copied(core.memory, core.before)
            events.verdict[done] = USED if verdict == NOTED else (INVALID if verdict == LOST else verdict)
            done += 1
        stood, set_back = book[COASTING] > 0.0, moved and book[COASTING] == 2.0
        if mend == ANEW:
            begin_anew(core, k)
            book[COASTING] = 1.0 if moved or stood else 0.0
            if not moved:
                give_floor(core, stream, k)
        elif mend == WIDEN:
            widen(core, stream, k)
        elif mend == UNLEARN:
            unlearn(core, k)
        if set_back:
            book[COASTING] = 1.0
        lost = 1 if mend == ANEW else (2 if mend == UNLEARN else (3 if set_back else 0))
        if (mend != 0 or (moved and stood)) and not renew(f, grid.t0_s + k * grid.step_s, lost):
            from_start(core)
            book[STEP], book[COASTING], book[DOUBT], book[BROKEN] = k, 1.0, k + core.limits.settle, k
        if moved:
            if mend == 0:
                keep_prior(core, out, k)
            open_node(core, k)
