"""Networks with memory, a sample at a time: causal filters, the ensemble, its distance from the training domain.

Everything fixed is in one array `blob`, what moves from sample to sample in one array `memory`:

    blob   = n_features, n_members, hidden, n_clusters, n_filters, n_integrals, hold, curvature,
             filter times (s), integral times (s), x_o (k,), x_g (k,),
             per member: W1 transposed (k, h), b1 (h,), W2 (h,), b2           (outputs in rad)
             per cluster: mean (k,), inverse lower Cholesky factor (k, k), row by row
             band: 4 coefficients of log variance on 1, |ay|/10, log spread variance, log distance²
             distance² limit, memory time (s) of the verdict, speed limit
    memory = begun, t, in-domain average, filters (n_filters, 5 or 6), integrals (n_integrals,)
"""

from __future__ import annotations

from math import exp, inf, log
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hodograph.core.frames import Array
from hodograph.numerics.compiling import inner, merged, njit
from hodograph.numerics.verdicts import INVALID, USED
from hodograph.observers.filter import Filter
from hodograph.observers.loop import loop
from hodograph.observers.memory import Room, size_of
from hodograph.observers.sideslip.channels import ACC_Y, BETA, GYRO_Z, V_X
from hodograph.observers.sideslip.senses import (
    IMPOSSIBLE,
    NOTHING,
    Senses,
    go_deaf,
    hear,
    heard_all,
    known,
    make_senses,
)
from hodograph.observers.tables import NOTED, Core, Events, Output

if TYPE_CHECKING:
    from hodograph.ann.network import VsaNetwork

(N_FEATURES, N_MEMBERS, HIDDEN, N_CLUSTERS, N_FILTERS, N_INTEGRALS, HOLD, CURVATURE) = range(8)
"""Head of the blob; behind it stand the time constants."""
TIMES = 8
(BAND, BAND_ACC_Y, BAND_SPREAD, BAND_DISTANCE, LIMIT, MEMORY_S, V_MIN) = range(-7, 0)
"""Tail of the blob."""
(BEGUN, TIME, INSIDE) = range(3)
"""Head of the memory; behind it stand filters and integrals."""
MOVING = 3
(SAID, STD, VALID, DISTANCE) = range(4)
"""What a network says: β in rad, its 1-sigma, 1 if it may be used, squared distance from the training domain."""
ANSWERS = 4
LARGEST_STD_RAD = 3.0
RESTART_S = 2.0
"""After a longer silence the memory begins anew."""
TRUSTED_SHARE = 0.8
"""Of the recent past that must lie in the domain."""


@inner
def advance(blob: Array, before: Array, after: Array, t_s: float, held: Array, x: Array) -> None:
    """The memory at `t_s` from that of the sample before, and the features x (k,), with the channels `held` (5,)."""
    n_filters, dt = int(blob[N_FILTERS]), t_s - before[TIME]
    begun = before[BEGUN] > 0.0 and dt <= RESTART_S
    after[BEGUN], after[TIME], after[INSIDE] = 1.0, t_s, before[INSIDE] if begun else 1.0
    place, k = MOVING, 0
    for i in range(n_filters):
        tau = blob[TIMES + i]
        keep = exp(-dt / tau) if tau > 0.0 and begun else 0.0
        for c in range(BETA + (1 if blob[CURVATURE] > 0.0 else 0)):
            now = held[c] if c < BETA else held[GYRO_Z] / max(held[V_X], 1.0)
            after[place] = keep * before[place] + (1.0 - keep) * now
            x[k] = after[place]
            place += 1
            k += 1
    slip_rate = (held[ACC_Y] - held[GYRO_Z] * held[V_X]) / max(held[V_X], 1.0)
    for i in range(int(blob[N_INTEGRALS])):
        tau = blob[TIMES + n_filters + i]
        keep = exp(-dt / tau)
        after[place] = keep * before[place] + tau * (1.0 - keep) * slip_rate if begun else 0.0
        x[k] = after[place]
        place += 1
        k += 1


@inner
def tansig(x: float) -> float:
    """tanh by a rational function (Eigen's, error below 1e-6): plain arithmetic, which the compiler puts in lanes."""
    x = min(max(x, -7.9), 7.9)
    s = x * x
    p = 2.00018790482477e-13 - 2.76076847742355e-16 * s
    p = 5.12229709037114e-08 + s * (-8.60467152213735e-11 + s * p)
    p = 4.89352455891786e-03 + s * (6.37261928875436e-04 + s * (1.48572235717979e-05 + s * p))
    q = 4.89352518554385e-03 + s * (2.26843463243900e-03 + s * (1.18534705686654e-04 + s * 1.19825839466702e-06))
    return x * p / q


@inner
def ensemble(blob: Array, x: Array, z: Array, a: Array) -> tuple[float, float, float]:
    """(mean, variance over the members, squared distance to the nearest cluster) for features x; z, a are spare."""
    k, members, hidden = int(blob[N_FEATURES]), int(blob[N_MEMBERS]), int(blob[HIDDEN])
    at = TIMES + int(blob[N_FILTERS]) + int(blob[N_INTEGRALS])
    for j in range(k):
        z[j] = (x[j] - blob[at + j]) * blob[at + k + j] - 1.0
    at += 2 * k
    total = square = 0.0
    for _ in range(members):
        b1 = at + hidden * k
        y = blob[b1 + 2 * hidden]
        for i in range(hidden):
            a[i] = blob[b1 + i]
        for j in range(k):
            row = at + j * hidden
            for i in range(hidden):
                a[i] += blob[row + i] * z[j]
        for i in range(hidden):
            a[i] = tansig(a[i])
        for i in range(hidden):
            y += blob[b1 + hidden + i] * a[i]
        total += y
        square += y * y
        at = b1 + 2 * hidden + 1
    mean = total / members
    return mean, max(square / members - mean * mean, 0.0), nearest_cluster(blob, at, z)


@inner
def nearest_cluster(blob: Array, at: int, z: Array) -> float:
    """Squared distance of mapped features to the nearest cluster, the first of which stands at `at`."""
    k, nearest = int(blob[N_FEATURES]), inf
    for _ in range(int(blob[N_CLUSTERS])):
        distance = 0.0
        row = at + k
        for i in range(k):
            d = 0.0
            for j in range(i + 1):
                d += blob[row + j] * (z[j] - blob[at + j])
            distance += d * d
            row += k
        nearest = min(nearest, distance)
        at += k + k * k
    return nearest


class NetworkArrays(NamedTuple):
    """A network at work; what comes before the blob lies in the room."""

    x: Array  # (1,) β
    P: Array  # (1, 1)
    before: Array  # (M,) memory at the node before
    after: Array  # (M,) memory with what this node has said so far
    answer: Array  # (ANSWERS,)
    counts: Array  # (8,)
    trust: Array  # (1,)
    blob: Array
    senses: Senses
    features: Array  # (k,)
    mapped: Array  # (k,)
    hidden: Array  # (h,)


def make_network_arrays(network: VsaNetwork, weights: Array, lever_m: tuple[float, float], room: Room) -> NetworkArrays:
    """A network that has heard nothing. Its senses come last in the room: of them not all is finite."""
    blob, spec = network.blob, network.memory
    memory = np.zeros(MOVING + spec.n_features)
    return NetworkArrays(
        x=room.zeros(1), P=room.array(np.full((1, 1), 1.0)), before=room.array(memory), after=room.array(memory),
        answer=room.zeros(ANSWERS), counts=room.zeros(8), trust=room.zeros(1), blob=blob,
        senses=make_senses(weights, lever_m, room, hold_spikes=spec.hold_spikes), features=np.zeros(spec.n_features),
        mapped=np.zeros(spec.n_features), hidden=np.zeros(int(blob[HIDDEN])),
    )  # fmt: skip


def make_network(arrays: NetworkArrays) -> Filter:
    """The network for the loop."""
    kept: tuple[Any, ...] = arrays[: arrays._fields.index("blob")]
    return Filter(
        arrays, run_network, x=arrays.x, P=arrays.P, F=np.zeros((1, 1)), counts=arrays.counts,
        vital=size_of(kept), traced=False, trust=arrays.trust,
    )  # fmt: skip


@inner
def say(a: NetworkArrays, t_s: float) -> None:
    """The answer for the channels as they are held at t, from the memory of the node before."""
    blob, held = a.blob, a.senses.held
    advance(blob, a.before, a.after, t_s, held, a.features)
    mean, spread, distance = ensemble(blob, a.features, a.mapped, a.hidden)
    dt = t_s - a.before[TIME] if a.before[BEGUN] > 0.0 else 0.0
    log_var = blob[BAND] + blob[BAND_ACC_Y] * abs(held[ACC_Y]) * 0.1
    log_var += blob[BAND_SPREAD] * log(spread + 1e-8) + blob[BAND_DISTANCE] * log(distance + 1.0)
    inside = distance <= blob[LIMIT]
    keep = exp(-dt / blob[MEMORY_S])
    a.after[INSIDE] = keep * a.after[INSIDE] + (1.0 - keep) * (1.0 if inside else 0.0)
    trusted = inside and a.after[INSIDE] >= TRUSTED_SHARE and held[V_X] >= blob[V_MIN]
    a.answer[SAID], a.answer[STD] = mean, min(exp(0.5 * log_var), LARGEST_STD_RAD)
    a.answer[VALID], a.answer[DISTANCE] = (1.0 if trusted and heard_all(a.senses, t_s) else 0.0), distance
    a.x[0], a.P[0, 0], a.trust[0] = mean, a.answer[STD] * a.answer[STD], a.answer[VALID]


@inner
def remember(a: NetworkArrays) -> None:
    """What was said so far is the past."""
    for i in range(len(a.after)):
        a.before[i] = a.after[i]


@inner
def pass_node(a: NetworkArrays, t_s: float) -> None:
    """To the node at t, as if nothing new were said there."""
    remember(a)
    if a.after[BEGUN] > 0.0:
        say(a, t_s)


@inner
def answer(a: NetworkArrays, t_s: float) -> int:
    """After a reading was heard: a new answer when it had yaw rate or ay; USED, or NOTED when it was held only."""
    begun = a.before[BEGUN] > 0.0 or a.after[BEGUN] > 0.0
    moves = known(a.senses.now[GYRO_Z]) or known(a.senses.now[ACC_Y])
    if not moves or not (begun or heard_all(a.senses, t_s)):
        return NOTED
    say(a, t_s)
    return USED


@merged
def predict_network(a: NetworkArrays, t_s: float, h: float) -> bool:
    """From the node at t to the next."""
    pass_node(a, t_s + h)
    return True


@merged
def correct_network(a: NetworkArrays, first: int, values: Array, var: Array, tau: float, t_s: float) -> int:
    """One reading from row `first` on; NaN = the sensor did not say."""
    said = hear(a.senses, first, values, var, tau, t_s)
    return INVALID if said in (NOTHING, IMPOSSIBLE) else answer(a, t_s)


@inner
def forget(a: NetworkArrays) -> None:
    """Begin anew with the next complete sample."""
    a.before[BEGUN] = a.after[BEGUN] = a.trust[0] = 0.0


@merged
def renew_network(a: NetworkArrays, t_s: float, lost: int) -> bool:
    """`lost`: nothing that was remembered is sure; 3: nor when it was heard."""
    if lost > 0:
        forget(a)
    if lost == 3:
        go_deaf(a.senses)
    return True


@njit
def run_network(a: NetworkArrays, core: Core, events: Events, out: Output, until: int) -> int:
    """The loop over readings, with these three."""
    return loop(a, predict_network, correct_network, renew_network, core, events, out, until)


@njit
def listen(a: NetworkArrays, t_s: float, sample: Array, var: Array) -> None:
    """One sample (5,) outside any loop, for training and for who feeds a network by hand."""
    remember(a)
    said = hear(a.senses, 0, sample, var, 0.0, t_s)
    if a.after[BEGUN] > 0.0 or (said != IMPOSSIBLE and heard_all(a.senses, t_s)):
        say(a, t_s)


@njit
def listen_all(a: NetworkArrays, t_s: Array, samples: Array, var: Array, answers: Array, features: Array) -> None:
    """All samples (n, 5): fills answers (n, 4) once it has begun, and features (n, k) where all inputs are there."""
    for i in range(len(t_s)):
        listen(a, t_s[i], samples[i], var)
        if a.after[BEGUN] > 0.0:
            for j in range(ANSWERS):
                answers[i, j] = a.answer[j]
            if heard_all(a.senses, t_s[i]):
                for j in range(len(a.features)):
                    features[i, j] = a.features[j]
