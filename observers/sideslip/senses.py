"""From readings to the channels a sideslip observer works with: body axes, impossible values refused, spikes held off.

Filter and networks hear through this, live and from a log, so they agree on what was said.
"""

from __future__ import annotations

from math import exp, inf, nan
from typing import NamedTuple

import numpy as np

from hodograph.core.frames import Array
from hodograph.numerics.compiling import inner
from hodograph.observers.memory import Room
from hodograph.observers.sideslip.channels import (
    ACC_X,
    ACC_Y,
    BETA,
    GYRO_Z,
    HIGHEST,
    LOWEST,
    ROWS,
    STALE_S,
    STEER,
    V_MIN_MPS,
    V_X,
)

SPIKE_RAD = 0.05
STEER_RATE_RADPS = 5.0
"""A larger and faster step of the road wheels is a spike …"""
HELD_AT_MOST = 3
"""… unless it is still there after so many samples."""
TURN_S = 0.05
"""Time constant of the yaw acceleration that takes an accelerometer from its place to the centre of gravity."""
FINITE = 1e150
NOTHING, INPUTS_ONLY, MOTION, IMPOSSIBLE = 0, 1, 2, 3
"""What a reading said: nothing, inputs of the model only, yaw rate, ay or β, or what cannot be."""


class Senses(NamedTuple):
    """How values become channels, and what was heard last; what changes lies in the room."""

    weights: Array  # (ROWS, values of all streams) channel = weights · values: which column, turned into body axes
    lever_m: Array  # (2,) accelerometer ahead and to the left of the centre of gravity
    hold_spikes: Array  # (1,) 0: the steering angle is taken as it comes
    held: Array  # (ROWS,) last values
    heard_s: Array  # (ROWS,) when; -inf: never, or the sensor says NaN
    spikes: Array  # (1,) steering samples held off in a row
    turn: Array  # (1,) yaw acceleration
    now: Array  # (ROWS,) of this reading, NaN where it says nothing; spare
    mute: Array  # (ROWS,) 1 where this reading has the channel and says NaN; spare
    now_var: Array  # (ROWS,) their variances where the reading brings them, else NaN; spare


def make_senses(weights: Array, lever_m: tuple[float, float], room: Room, *, hold_spikes: bool = True) -> Senses:
    """Senses that have heard nothing yet."""
    return Senses(
        weights=weights,
        lever_m=np.array(lever_m),
        hold_spikes=np.array([float(hold_spikes)]),
        held=room.zeros(ROWS),
        heard_s=room.array(np.full(ROWS, -inf)),
        spikes=room.zeros(1),
        turn=room.zeros(1),
        now=np.zeros(ROWS),
        mute=np.zeros(ROWS),
        now_var=np.zeros(ROWS),
    )


@inner
def combine(s: Senses, first: int, values: Array, var: Array) -> int:
    """Fill `now` with the channels of a reading; NOTHING, MOTION when there is a finite one, or IMPOSSIBLE."""
    said = NOTHING
    for c in range(ROWS):
        value, spread, present = 0.0, 0.0, False
        for a in range(len(values)):
            weight = s.weights[c, first + a]
            if weight != 0.0:
                present = True
                value += weight * values[a]
                spread += weight * weight * var[a]
        s.now[c] = value if present else nan
        s.now_var[c] = spread if present else nan
        s.mute[c] = 1.0 if present and not known(value) else 0.0
        if present and known(value) and said != IMPOSSIBLE:
            said = MOTION if LOWEST[c] <= value <= HIGHEST[c] else IMPOSSIBLE
        if present and abs(value) >= FINITE:  # infinity, too
            said = IMPOSSIBLE
    return said


@inner
def known(value: float) -> bool:
    """Whether it is a number of sane size."""
    return abs(value) < FINITE


@inner
def hear(s: Senses, first: int, values: Array, var: Array, tau: float, t_s: float) -> int:
    """Take a reading in that is τ after t; `now` has what it says of the body's motion at the centre of gravity."""
    said = combine(s, first, values, var)
    if said != MOTION:
        return said
    before_r, since_s = s.held[GYRO_Z], t_s - s.heard_s[GYRO_Z]
    for c in range(ROWS):
        if s.mute[c] == 1.0:
            s.heard_s[c] = -inf
    if known(s.now[STEER]):
        s.now[STEER] = without_spike(s, s.now[STEER], t_s)
    if known(s.now[GYRO_Z]) and 0.0 < since_s < 1.0:
        keep = exp(-since_s / TURN_S)
        s.turn[0] = keep * s.turn[0] + (1.0 - keep) * (s.now[GYRO_Z] - before_r) / since_s
    rate = s.now[GYRO_Z] if known(s.now[GYRO_Z]) else s.held[GYRO_Z]
    ahead_m, left_m = s.lever_m[0], s.lever_m[1]
    s.now[ACC_X] += s.turn[0] * left_m + rate * rate * ahead_m
    s.now[ACC_Y] += -s.turn[0] * ahead_m + rate * rate * left_m
    s.now[V_X] -= tau * s.held[ACC_X]
    for c in range(ROWS):
        if known(s.now[c]):
            s.held[c], s.heard_s[c] = s.now[c], t_s
    moves = known(s.now[ACC_Y]) or known(s.now[GYRO_Z]) or known(s.now[BETA])
    return MOTION if moves else INPUTS_ONLY


@inner
def without_spike(s: Senses, steer_rad: float, t_s: float) -> float:
    """The angle, or the one before while this one may be a spike."""
    since_s = t_s - s.heard_s[STEER]
    jump = abs(steer_rad - s.held[STEER])
    small = jump <= max(SPIKE_RAD, STEER_RATE_RADPS * since_s)
    if s.hold_spikes[0] == 0.0 or small or s.spikes[0] >= HELD_AT_MOST:
        s.spikes[0] = 0.0
        return steer_rad
    s.spikes[0] += 1.0
    before: float = s.held[STEER]
    return before


@inner
def go_deaf(s: Senses) -> None:
    """Nothing was ever heard: the clock was set back, so times of before say nothing."""
    for c in range(ROWS):
        s.heard_s[c] = -inf
    s.turn[0] = s.spikes[0] = 0.0


@inner
def heard_all(s: Senses, t_s: float) -> bool:
    """Whether all inputs were heard lately."""
    good = True
    for c in range(BETA):
        good = good and t_s - s.heard_s[c] <= STALE_S
    return good


@inner
def complete(s: Senses, t_s: float) -> bool:
    """Whether all inputs were heard lately, and the vehicle moves."""
    return s.held[V_X] >= V_MIN_MPS and heard_all(s, t_s)
