"""The sideslip filter: an extended Kalman filter over a single-track car with relaxing axle forces and offsets.

Yaw rate and lateral acceleration correct it; where little is asked of the rear axle it is taken to roll where it
points; a sensor of β, or a network, may correct it, too. Speed, steering and ax drive its model (Magri 2024, section
4.1.1).
"""

from __future__ import annotations

from math import atan2, cos, exp, log, sin
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hodograph.core.frames import Array
from hodograph.core.units import GRAVITY_MPS2
from hodograph.numerics.compiling import inner, merged, njit
from hodograph.numerics.dense import finite, innovation_var, joseph_row, propagate, tidy
from hodograph.numerics.verdicts import GATED, INVALID, USED
from hodograph.observers.counts import GATED_ROWS, LAST_NIS, LOG_LIKELIHOOD, NIS_ROWS, NIS_SUM
from hodograph.observers.filter import Filter
from hodograph.observers.loop import loop
from hodograph.observers.memory import Room, size_of
from hodograph.observers.sideslip.channels import ACC_X, ACC_Y, BETA, GYRO_Z, STALE_S, STEER, V_X
from hodograph.observers.sideslip.parameters import (
    ACC_0,
    BETA_CG,
    FORCE_F,
    FORCE_R,
    LAYOUT,
    STATES,
    STEER_0,
    V_Y,
    YAW_RATE,
)
from hodograph.observers.sideslip.senses import (
    IMPOSSIBLE,
    INPUTS_ONLY,
    NOTHING,
    Senses,
    complete,
    go_deaf,
    hear,
    known,
    make_senses,
)
from hodograph.observers.sideslip.single_track import (
    Inputs,
    fill_noise,
    predict_state,
    start_state,
)
from hodograph.observers.tables import LOST, NOTED, Core, Events, Output

if TYPE_CHECKING:
    from hodograph.observers.sideslip.parameters import SideslipParameters

GATE_STD = 6.0
LET_IN = 20
"""After so many refusals in a row a row is believed: a gate must not lock out what has changed for good."""
ROLLING_S = 0.5
"""Successive readings of "the rear axle rolls" are one within this time."""
SURPRISE_S = 5.0
"""Over which the squared innovations are averaged that say whether the model holds."""
ONE_SAMPLE_S = 0.1
"""A sample counts for no longer, whatever silence was before it."""
RESTART_S = 2.0
"""After a longer silence of both yaw rate and ay nothing of the old state is worth keeping."""
LEAST_SPEED_MPS = 0.5
"""With which the spread of β is formed at least."""
TWO_PI_LOG = 1.8378770664093453
BEGUN, CHANGED, CORRECTED, ROLLED_S, TOLD_S, MOST_SURPRISE = 0, 1, 2, 3, 4, 5
"""Entries of the book: 1 once there is a state; 1 when inputs changed since the prediction; 1 when this node was
corrected; when the rear axle, and when β, were read last; the largest surprise so far."""
BOOK_SIZE = 6


class SideslipSetting(NamedTuple):
    """What does not change while the filter runs."""

    step_s: float
    nis_limit: float  # surprise beyond which the estimate is called invalid; 2 is normal
    band_scale: float  # by which the 1-sigma of β is widened
    beta_time_s: float  # errors of a sensor of β nearer in time than this are one error


class SideslipArrays(NamedTuple):
    """All that the filter works on; the first block lies in the room."""

    x: Array  # (7,)
    P: Array  # (7, 7)
    x_before: Array  # (7,) at the node before
    P_before: Array  # (7, 7)
    rate: Array  # (7,) of the state over the last step
    F: Array  # (7, 7) of the last prediction
    book: Array  # (BOOK_SIZE,)
    surprise: Array  # (2,) averaged squared innovations of yaw rate and ay, 1 is normal
    refused: Array  # (2,) refusals of them in a row
    told: Array  # (8,) the state and β, for the loop
    told_P: Array  # (8, 8)
    counts: Array  # (8,)
    trust: Array  # (1,)
    p: Any  # parameters.Numbers
    setting: SideslipSetting
    senses: Senses
    Q: Array  # (7, 7)
    T: Array  # (7, 7) spare
    H: Array  # (7,)
    K: Array  # (7,)
    g: Array  # (7,)


def make_arrays(
    parameters: SideslipParameters, setting: SideslipSetting, weights: Array, lever_m: tuple[float, float], room: Room
) -> SideslipArrays:
    """The filter before anything was heard. Its senses come last in the room: of them not all is finite."""
    p, n = parameters.numbers, STATES
    x, P = np.zeros(n), np.zeros((n, n))
    plain: Any = getattr(start_state, "py_func", start_state)
    plain(p, 20.0, 0.0, 0.0, x, P)  # a P to begin anew with
    told_P = np.diag(np.append(np.diag(P), 1.0))
    return SideslipArrays(
        x=room.array(x), P=room.array(P), x_before=room.array(x), P_before=room.array(P), rate=room.zeros(n),
        F=room.zeros(n, n), book=room.zeros(BOOK_SIZE), surprise=room.array(np.ones(2)), refused=room.zeros(2),
        told=room.array(np.append(x, 0.0)), told_P=room.array(told_P), counts=room.zeros(8), trust=room.zeros(1),
        p=p, setting=setting, senses=make_senses(weights, lever_m, room), Q=np.zeros((n, n)), T=np.zeros((n, n)),
        H=np.zeros(n), K=np.zeros(n), g=np.zeros(n),
    )  # fmt: skip


def make_sideslip(arrays: SideslipArrays) -> Filter:
    """The filter for the loop."""
    kept: tuple[Any, ...] = arrays[: arrays._fields.index("p")]
    return Filter(
        arrays, run_sideslip, x=arrays.told, P=arrays.told_P, F=np.zeros((len(LAYOUT), len(LAYOUT))),
        counts=arrays.counts, vital=size_of(kept), traced=False, trust=arrays.trust,
    )  # fmt: skip


@inner
def advance(a: SideslipArrays, dt: float) -> None:
    """x and P from those at the node before, with the inputs as they are held now."""
    held = a.senses.held
    predict_state(a.p, a.x_before, Inputs(held[V_X], held[STEER], held[ACC_X]), dt, a.x, a.F)
    fill_noise(a.p, dt, a.Q)
    for i in range(STATES):
        a.rate[i] = (a.x[i] - a.x_before[i]) / dt
        for j in range(STATES):
            a.P[i, j] = a.P_before[i, j]
    propagate(a.F, a.P, a.Q, a.T)


@inner
def tell(a: SideslipArrays, t_s: float) -> None:
    """State and β = atan2(v_y, v_x) with their covariance, and whether they may be used."""
    v_x, v_y = max(a.senses.held[V_X], 1e-3), a.x[V_Y]
    slow = max(v_x, LEAST_SPEED_MPS)
    by_v_y = a.setting.band_scale * slow / (slow * slow + v_y * v_y)
    for i in range(STATES):
        a.told[i] = a.x[i]
        for j in range(STATES):
            a.told_P[i, j] = a.P[i, j]
        a.told_P[i, BETA_CG] = a.told_P[BETA_CG, i] = by_v_y * a.P[i, V_Y]
    a.told[BETA_CG] = atan2(v_y, v_x)
    a.told_P[BETA_CG, BETA_CG] = by_v_y * by_v_y * a.P[V_Y, V_Y] + 1e-12
    surprise = a.surprise[0] + a.surprise[1]
    good = a.book[BEGUN] == 1.0 and complete(a.senses, t_s) and surprise <= a.setting.nis_limit
    a.trust[0] = 1.0 if good else 0.0


@inner
def predict_node(a: SideslipArrays, t_s: float, h: float) -> None:
    """From the node at t to the next."""
    if a.book[BEGUN] == 1.0:
        for i in range(STATES):
            a.x_before[i] = a.x[i]
            for j in range(STATES):
                a.P_before[i, j] = a.P[i, j]
        advance(a, h)
    a.book[CHANGED] = a.book[CORRECTED] = 0.0
    tell(a, t_s + h)


@inner
def at_offset(a: SideslipArrays, tau: float) -> None:
    """H of a reading τ after the node: H (1 + τ A), with A = (F − 1)/step."""
    if tau != 0.0:
        share = tau / a.setting.step_s
        for j in range(STATES):
            a.g[j] = 0.0
            for i in range(STATES):
                a.g[j] += a.H[i] * (a.F[i, j] - (1.0 if i == j else 0.0))
        for j in range(STATES):
            a.H[j] += share * a.g[j]


@inner
def correct_row(a: SideslipArrays, innovation: float, var: float) -> float:
    """One row of H in Joseph form; returns ν²/S."""
    S = joseph_row(a.P, a.H, var, a.K, a.g)
    for i in range(STATES):
        a.x[i] += a.K[i] * innovation
    return innovation * innovation / S


@inner
def correct_sensor(a: SideslipArrays, row: int, since_s: float, innovation: float, var: float) -> bool:
    """Yaw rate (row 0) or ay (row 1) through the gate; keeps account of how surprising it was."""
    S = innovation_var(a.P, a.H, var)
    keep = exp(-since_s / SURPRISE_S)
    used = innovation * innovation <= GATE_STD * GATE_STD * S or a.refused[row] >= LET_IN
    nis = GATE_STD * GATE_STD
    a.counts[LAST_NIS] = innovation * innovation / S
    if used:
        nis = correct_row(a, innovation, var)
        a.refused[row] = 0.0
        a.counts[NIS_SUM] += nis
        a.counts[NIS_ROWS] += 1.0
        a.counts[LOG_LIKELIHOOD] -= 0.5 * (nis + log(S) + TWO_PI_LOG)
    else:
        a.refused[row] += 1.0
        a.counts[GATED_ROWS] += 1.0
    a.surprise[row] = keep * a.surprise[row] + (1.0 - keep) * nis
    return used


@inner
def clear_row(a: SideslipArrays) -> None:
    """H = 0."""
    for i in range(STATES):
        a.H[i] = 0.0


@inner
def correct_yaw_rate(a: SideslipArrays, since_s: float, tau: float) -> bool:
    """z = r."""
    clear_row(a)
    a.H[YAW_RATE] = 1.0
    at_offset(a, tau)
    var = a.senses.now_var[GYRO_Z]
    expected = a.x[YAW_RATE] + tau * a.rate[YAW_RATE]
    return correct_sensor(
        a, 0, since_s, a.senses.now[GYRO_Z] - expected, var if var > 0.0 else a.p.yaw_rate_meas_std_radps**2
    )


@inner
def correct_acc_y(a: SideslipArrays, since_s: float, tau: float) -> bool:
    """z = (F_f cos δ + F_r)/m + offset."""
    clear_row(a)
    p, delta = a.p, a.senses.held[STEER] - a.x[STEER_0]
    c, s = cos(delta), sin(delta)
    a.H[FORCE_F], a.H[FORCE_R], a.H[ACC_0] = c / p.mass_kg, 1.0 / p.mass_kg, 1.0
    a.H[STEER_0] = a.x[FORCE_F] * s / p.mass_kg
    expected = (a.x[FORCE_F] * c + a.x[FORCE_R]) / p.mass_kg + a.x[ACC_0]
    for i in range(STATES):
        expected += tau * a.H[i] * a.rate[i]
    at_offset(a, tau)
    var = a.senses.now_var[ACC_Y]
    return correct_sensor(a, 1, since_s, a.senses.now[ACC_Y] - expected, var if var > 0.0 else p.acc_y_meas_std_mps2**2)


@inner
def correct_rolling(a: SideslipArrays, t_s: float) -> None:
    """0 = l_r r − v_y: the rear axle rolls where it points, the better the less it is asked for."""
    p, v_x = a.p, a.senses.held[V_X]
    since_s = max(t_s - a.book[ROLLED_S], 1e-4)
    a.book[ROLLED_S] = t_s
    asked = 10.0 * a.x[FORCE_R] / (p.mass_kg * GRAVITY_MPS2)
    spread = v_x * (p.rolling_std_rad + abs(a.x[FORCE_R]) / p.stiffness_rear_n_rad) * (1.0 + asked * asked)
    clear_row(a)
    a.H[V_Y], a.H[YAW_RATE] = 1.0, -p.cg_to_rear_m
    correct_row(a, p.cg_to_rear_m * a.x[YAW_RATE] - a.x[V_Y], (spread**2 + 1e-4) * max(ROLLING_S / since_s, 1.0))


@inner
def correct_beta(a: SideslipArrays, beta_rad: float, var: float, t_s: float) -> None:
    """z = atan2(v_y, v_x), of a sensor whose errors last `beta_time_s`."""
    v_x, v_y = a.senses.held[V_X], a.x[V_Y]
    since_s = max(t_s - a.book[TOLD_S], 1e-4)
    a.book[TOLD_S] = t_s
    clear_row(a)
    a.H[V_Y] = v_x / (v_x * v_x + v_y * v_y + 1e-6)
    correct_row(a, beta_rad - atan2(v_y, v_x), var * max(2.0 * a.setting.beta_time_s / since_s, 1.0))


@inner
def begin(a: SideslipArrays, t_s: float) -> bool:
    """A state from a complete sample; False while there is none."""
    s = a.senses
    if t_s - min(s.heard_s[V_X], s.heard_s[ACC_Y], s.heard_s[GYRO_Z]) > STALE_S:
        return False
    start_state(a.p, s.held[V_X], s.held[ACC_Y], s.held[GYRO_Z], a.x, a.P)
    for i in range(STATES):
        a.rate[i] = 0.0
        for j in range(STATES):
            a.F[i, j] = 1.0 if i == j else 0.0
    a.book[BEGUN], a.book[CHANGED], a.book[CORRECTED] = 1.0, 0.0, 1.0
    a.book[ROLLED_S] = a.book[TOLD_S] = t_s - a.setting.step_s
    a.surprise[0] = a.surprise[1] = 1.0
    a.refused[0] = a.refused[1] = 0.0
    return True


@inner
def take(a: SideslipArrays, first: int, values: Array, var: Array, tau: float, t_s: float) -> int:
    """A reading: inputs are held, the rest corrects; a verdict, LOST, or NOTED when there was nothing to correct by."""
    s, book = a.senses, a.book
    since_r, since_y = t_s - s.heard_s[GYRO_Z], t_s - s.heard_s[ACC_Y]
    said = hear(s, first, values, var, tau, t_s)
    if said in (NOTHING, IMPOSSIBLE):
        return INVALID
    book[CHANGED] = 1.0
    if min(since_r, since_y) > RESTART_S:
        book[BEGUN] = 0.0
    if (book[BEGUN] == 0.0 and not begin(a, t_s)) or said == INPUTS_ONLY:
        return NOTED
    if book[CHANGED] == 1.0 and book[CORRECTED] == 0.0:
        advance(a, a.setting.step_s)
    book[CORRECTED] = 1.0
    used = gated = False
    if known(s.now[GYRO_Z]):
        used = correct_yaw_rate(a, min(since_r, ONE_SAMPLE_S), tau)
        gated = not used
    if known(s.now[ACC_Y]):
        passed = correct_acc_y(a, min(since_y, ONE_SAMPLE_S), tau)
        used, gated = used or passed, gated or not passed
    if known(s.now[GYRO_Z]):
        correct_rolling(a, t_s)
    if known(s.now[BETA]) and s.now_var[BETA] > 0.0:
        correct_beta(a, s.now[BETA], s.now_var[BETA], t_s)
        used = True
    book[MOST_SURPRISE] = max(book[MOST_SURPRISE], a.surprise[0] + a.surprise[1])
    if not (finite(a.x) and tidy(a.P, a.T, a.counts)):
        return LOST
    return USED if used else (GATED if gated else INVALID)


@merged
def predict_sideslip(a: SideslipArrays, t_s: float, h: float) -> bool:
    """From the node at t to the next; the state as it is while there is none."""
    predict_node(a, t_s, h)
    return True


@merged
def correct_sideslip(a: SideslipArrays, first: int, values: Array, var: Array, tau: float, t_s: float) -> int:
    """One reading from row `first` on; NaN = the sensor did not say."""
    verdict = take(a, first, values, var, tau, t_s)
    tell(a, t_s)
    return verdict


@inner
def renew_state(a: SideslipArrays, t_s: float, lost: int) -> None:
    """The loop has changed the covariance. `lost`: wait for a complete sample; 3: of the new time."""
    for i in range(STATES):
        for j in range(STATES):
            a.P[i, j] = a.P_before[i, j] = a.told_P[i, j]
    if lost > 0:
        a.book[BEGUN] = 0.0
    if lost == 3:
        go_deaf(a.senses)
    tell(a, t_s)


@merged
def renew_sideslip(a: SideslipArrays, t_s: float, lost: int) -> bool:
    """See `renew_state`."""
    renew_state(a, t_s, lost)
    return True


@njit
def run_sideslip(a: SideslipArrays, core: Core, events: Events, out: Output, until: int) -> int:
    """The loop over readings, with these three."""
    return loop(a, predict_sideslip, correct_sideslip, renew_sideslip, core, events, out, until)
