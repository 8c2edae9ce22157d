"""Doubt: whom the loop believes when readings are refused, how far P must grow, and when a filter begins anew.

A reading that is refused once is wrong. One stream that is refused for long may be right and the state wrong, so P is
widened until it passes; if those that had been well are then refused, it had lied. Garbage is never believed at once:
P grows within reason, further only with the time that a stream is refused.
"""

from __future__ import annotations

from math import inf

from hodograph.core.frames import Array
from hodograph.numerics.compiling import njit
from hodograph.observers.counts import GATED_ROWS, LAST_NIS, NIS_ROWS, NIS_SUM, RESETS
from hodograph.observers.tables import (
    ACCUSED,
    ACCUSER,
    ALARM,
    BEGUN,
    BROKEN,
    COASTING,
    DOUBT,
    FACTOR,
    FIRST,
    FLOOR,
    FLOOR_UNTIL,
    HEARD,
    LEVEL,
    MORE,
    RUN,
    SINCE,
    STEP,
    SURPRISE,
    SUSPECT,
    SUSPECT_UNTIL,
    Core,
)  # fmt: skip

WIDEN, UNLEARN, ANEW = 1, 2, -1
"""What the loop does about a filter: let P grow; the same, since what was learnt was wrong; or begin anew."""

HIGHEST = 6
"""Widenings in a row; then the filter begins anew, or where others are used the stream is left alone for a while."""
BESIDE_ONE, BESIDE_TWO, SUSPECTED = 8, 24, 4
"""So many times longer is waited for a stream that is refused while another is used, or two that agree with each other;
so many times as long as for one alone a liar is not listened to."""
NEWEST = 0.1
"""Weight of the newest reading in the average surprise of its stream."""
EXPECTED = 25.0
"""ν²/S up to which a widening of four times the one before will do; what is further off asks for more …"""
LEAST_MORE, MOST_MORE = 4.0, 100.0
"""… within these bounds."""
SANE = 1e150
MOST = 400.0
"""So many times the variance of the start P is widened to at most …"""
KEPT = 1e6
"""… and so many times at most is kept of what P was when a filter begins anew."""
MOST_LEVELS = 6.0


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
def widen(core: Core, stream: int, k: int) -> None:
    """P ← more · P + factor · the uncertainty of the start, within reason; the estimate is in doubt for a while.

    What would have to be true for garbage to be right stays impossible, unless a stream is refused for very long.
    """
    r = core.refusals[stream]
    most, more = MOST * MOST_MORE ** min((k - r[SINCE]) // max(core.limits.doubt, 1), MOST_LEVELS), r[MORE]
    for i in range(len(core.P)):
        more = min(more, max(most * core.start_var[i] / core.P[i, i], 1.0))
    for i in range(len(core.P)):
        for j in range(len(core.P)):
            core.P[i, j] *= more
        core.P[i, i] += min(r[FACTOR], most) * core.start_var[i]
    core.book[ACCUSER], core.book[ACCUSED] = stream + 1, k
    if r[LEVEL] == 1.0:
        give_floor(core, stream, k)
    core.book[DOUBT] = k + core.limits.doubt
    core.book[BROKEN] = k


@njit
def unlearn(core: Core, k: int) -> None:
    """P grows by the uncertainty of the start."""
    for i in range(len(core.P)):
        core.P[i, i] += core.start_var[i]
    core.book[DOUBT] = k + core.limits.doubt
    core.book[BROKEN] = k


@njit
def give_floor(core: Core, stream: int, k: int) -> None:
    """For a moment nobody else is listened to, lest the others narrow P before this one was used."""
    core.book[FLOOR], core.book[FLOOR_UNTIL] = stream + 1, k + core.limits.refused_steps


@njit
def silenced(core: Core, stream: int, k: int) -> bool:
    """Whether a stream is not listened to now: it is not believed, or another has the floor. Inputs always are."""
    book = core.book
    corrects = core.refusals[stream, HEARD] > -inf
    suspect = book[SUSPECT] == stream + 1 and k < book[SUSPECT_UNTIL]
    other_speaks = book[FLOOR] > 0.0 and book[FLOOR] != stream + 1 and k <= book[FLOOR_UNTIL]
    return bool(corrects and (suspect or other_speaks))


@njit
def begin_anew(core: Core, k: int) -> None:
    """The state before what failed, with the uncertainty of the start on top; where even it is no state, the start."""
    copied(core.before, core.memory)
    for i in range(len(core.P)):
        most = KEPT * core.start_var[i]
        more = core.P[i, i] if 0.0 < core.P[i, i] < most else (most if core.P[i, i] >= most else 0.0)
        for j in range(len(core.P)):
            core.P[i, j] = 0.0
        core.P[i, i] = core.start_var[i] + more
    if not sane(core):
        from_start(core)
    for stream in range(len(core.refusals)):
        r = core.refusals[stream]
        r[RUN], r[LEVEL] = 0.0, 0.0
    core.book[STEP] = core.book[BEGUN] = k
    core.book[DOUBT] = k + core.limits.doubt
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
    r[RUN], r[LEVEL], r[HEARD], r[SINCE] = 0.0, 0.0, k, inf
    if core.book[FLOOR] == stream + 1:
        core.book[FLOOR] = 0.0
    if core.book[COASTING] > 0.0:
        core.book[COASTING] = 0.0
        core.book[DOUBT] = k + core.limits.settle
        core.book[BROKEN] = k


@njit
def surprised(core: Core, stream: int, k: int, gated: float, nis: float, rows: float) -> int:
    """Average ν²/S of a stream, given the counts before its reading; while it is too large the estimate is in doubt.

    Wrong readings that are small enough to pass the gate are noticed here. When it is over, what was learnt from them
    is not known: UNLEARN, else 0.
    """
    counts, r = core.counts, core.refusals[stream]
    now_gated, now_rows = counts[GATED_ROWS] - gated, counts[NIS_ROWS] - rows
    if now_gated + now_rows > 0.0:
        mean = (counts[NIS_SUM] - nis + EXPECTED * now_gated) / (now_gated + now_rows)
        r[SURPRISE] += NEWEST * (mean - r[SURPRISE])
        if r[SURPRISE] > core.limits.surprise:
            core.book[DOUBT] = k + core.limits.doubt
            r[ALARM] = 1.0
        elif r[ALARM] == 1.0 and r[SURPRISE] < 0.5 * core.limits.surprise:
            r[ALARM] = 0.0
            return UNLEARN
    return 0


@njit
def accuser_lied(core: Core, stream: int, k: int) -> bool:
    """Whether a stream that was well is refused since another one, for which P was widened, has been believed."""
    book, r = core.book, core.refusals[stream]
    accuser, long = int(book[ACCUSER]) - 1, BESIDE_ONE * core.limits.refused_steps
    if accuser < 0 or accuser == stream or r[RUN] < 2.0 or k - book[ACCUSED] > long:
        return False
    believed = core.refusals[accuser, HEARD] >= book[ACCUSED]
    was_well = r[FIRST] >= book[ACCUSED] and r[HEARD] >= book[ACCUSED] - long
    return bool(believed and was_well)


@njit
def used_meanwhile(core: Core, stream: int, k: int) -> int:
    """How many others were used lately and since this stream was."""
    found, lately = 0, k - 2 * BESIDE_ONE * core.limits.refused_steps
    for other in range(len(core.refusals)):
        r = core.refusals[other]
        if other != stream and r[HEARD] >= max(core.refusals[stream, SINCE], lately):
            found += 1
    return found


@njit
def refused(core: Core, stream: int, k: int) -> int:
    """A reading was refused: WIDEN, 0 while the row of refusals is short, ANEW.

    Where other streams are used meanwhile it is more likely that this one is wrong, so more patience is due. Where what
    it said, once it was believed, turned those against the state that had been well with it, it was wrong. And where
    even a P that allows for anything within reason did not help while it had the floor, it is wrong for the time being.
    """
    r, limits, book = core.refusals[stream], core.limits, core.book
    if r[RUN] == 0.0:
        r[FIRST] = k
    r[RUN] += 1.0
    r[SINCE] = min(r[SINCE], k)
    long = BESIDE_ONE * limits.refused_steps
    if accuser_lied(core, stream, k):
        book[SUSPECT], book[SUSPECT_UNTIL], book[ACCUSER] = book[ACCUSER], k + SUSPECTED * limits.refused_steps, 0.0
        return ANEW
    others = used_meanwhile(core, stream, k)
    if r[LEVEL] > 0.0 and (book[FLOOR] != stream + 1 or k > book[FLOOR_UNTIL] or r[LEVEL] >= HIGHEST):
        r[RUN] = r[LEVEL] = 0.0
        if book[FLOOR] == stream + 1:
            book[FLOOR] = 0.0
        return 0 if others > 0 else ANEW
    patience = limits.refused_steps
    if others > 0 and k - book[BEGUN] > long:
        patience *= BESIDE_ONE if others == 1 else BESIDE_TWO
    if r[LEVEL] == 0.0 and (r[RUN] < limits.refused_rows or k - r[FIRST] < patience):
        return 0
    nis = core.counts[LAST_NIS]
    r[MORE] = min(nis / EXPECTED, MOST_MORE) if nis > LEAST_MORE * EXPECTED else LEAST_MORE
    r[FACTOR] = r[MORE] * r[FACTOR] if r[LEVEL] > 0.0 else 1.0
    r[LEVEL] += 1.0
    return WIDEN
