"""Networks with memory, one sample at a time: causal filters, the ensemble, its distance from the training domain.

Everything fixed is in one array `blob`, everything that moves in one array `memory`, so that a call costs little:

    blob   = n_features, n_members, hidden, n_clusters, n_filters, n_integrals, hold, curvature,
             filter times (s), integral times (s), x_o (k,), x_g (k,),
             per member: W1 transposed (k, h), b1 (h,), W2 (h,), b2           (outputs in rad)
             per cluster: mean (k,), inverse lower Cholesky factor (k, k), row by row
             band: 4 coefficients of log variance on 1, |ay|/10, log spread variance, log distance²
             distance² limit, memory time (s) of the verdict, speed limit
    memory = begun, t, held, in-domain average, last sample (5,), filters (n_filters, 5 or 6),
             integrals (n_integrals,)
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from hodograph.core.frames import Array

HEAD, MEMORY_HEAD, SAMPLE = 8, 4, 5
STEER_JUMP_RAD = 0.05  # a larger step of the road-wheel angle in one sample is a spike, unless it stays
HELD_AT_MOST = 3
TRUSTED_SHARE = 0.8  # of the recent past that must lie in the domain
(V_X, STEER, ACC_Y, ACC_X, YAW_RATE) = range(5)


@njit(cache=True, nogil=True, error_model="numpy")
def features(blob: Array, memory: Array, t_s: float, sample: Array, out: Array) -> bool:
    """Advance the memory to `t_s` with one sample (5,) and fill out (k,); False while an input is missing."""
    n_filters, n_integrals, hold = int(blob[4]), int(blob[5]), blob[6] > 0
    last = memory[MEMORY_HEAD : MEMORY_HEAD + SAMPLE]
    whole = True
    begun = memory[0] > 0
    for c in range(SAMPLE):
        if not math.isfinite(sample[c]):
            whole = False
            continue
        if c == STEER and hold and begun and memory[2] < HELD_AT_MOST and abs(sample[c] - last[c]) > STEER_JUMP_RAD:
            memory[2] += 1
            continue
        if c == STEER:
            memory[2] = 0
        last[c] = sample[c]
    if not begun:
        if not whole:
            return False
        memory[0] = 1.0
        memory[1] = t_s
        memory[3] = 1.0
    dt = t_s - memory[1]
    memory[1] = t_s
    place = MEMORY_HEAD + SAMPLE
    k = 0
    for i in range(n_filters):
        tau = blob[HEAD + i]
        keep = math.exp(-dt / tau) if tau > 0 and begun else 0.0
        for c in range(SAMPLE):
            memory[place] = keep * memory[place] + (1.0 - keep) * last[c]
            out[k] = memory[place]
            place += 1
            k += 1
        if blob[7] > 0:
            curvature = last[YAW_RATE] / max(last[V_X], 1.0)
            memory[place] = keep * memory[place] + (1.0 - keep) * curvature
            out[k] = memory[place]
            place += 1
            k += 1
    slip_rate = (last[ACC_Y] - last[YAW_RATE] * last[V_X]) / max(last[V_X], 1.0)
    for i in range(n_integrals):
        tau = blob[HEAD + n_filters + i]
        keep = math.exp(-dt / tau)
        memory[place] = keep * memory[place] + tau * (1.0 - keep) * slip_rate if begun else 0.0
        out[k] = memory[place]
        place += 1
        k += 1
    return whole


@njit(cache=True, nogil=True, error_model="numpy")
def tansig(x: float) -> float:
    """tanh by a rational function (Eigen's, error below 1e-6): plain arithmetic, which the compiler puts in lanes."""
    x = min(max(x, -7.9), 7.9)
    s = x * x
    p = 2.00018790482477e-13 - 2.76076847742355e-16 * s
    p = 5.12229709037114e-08 + s * (-8.60467152213735e-11 + s * p)
    p = 4.89352455891786e-03 + s * (6.37261928875436e-04 + s * (1.48572235717979e-05 + s * p))
    q = 4.89352518554385e-03 + s * (2.26843463243900e-03 + s * (1.18534705686654e-04 + s * 1.19825839466702e-06))
    return x * p / q


@njit(cache=True, nogil=True, error_model="numpy")
def ensemble(blob: Array, x: Array, out: Array) -> None:
    """out = (mean, variance over the members, squared distance to the nearest cluster) for features x (k,)."""
    k, members, hidden, clusters = int(blob[0]), int(blob[1]), int(blob[2]), int(blob[3])
    at = HEAD + int(blob[4]) + int(blob[5])
    z = np.empty(k)
    for j in range(k):
        z[j] = (x[j] - blob[at + j]) * blob[at + k + j] - 1.0
    at += 2 * k
    total = square = 0.0
    a = np.empty(hidden)
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
    nearest = np.inf
    for _ in range(clusters):
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
    out[0], out[1], out[2] = mean, max(square / members - mean * mean, 0.0), nearest


@njit(cache=True, nogil=True, error_model="numpy")
def step(blob: Array, memory: Array, t_s: float, sample: Array, out: Array) -> None:
    """One sample (5,): out (4,) = (β rad, its 1-sigma rad, 1 if valid, squared distance from the training domain)."""
    k = int(blob[0])
    x = np.empty(k)
    dt = t_s - memory[1] if memory[0] > 0 else 0.0
    whole = features(blob, memory, t_s, sample, x)
    if memory[0] == 0:
        out[0] = out[1] = out[3] = np.nan
        out[2] = 0.0
        return
    ensemble(blob, x, out)
    spread, distance = out[1], out[2]
    tail = len(blob) - 7
    log_var = blob[tail] + blob[tail + 1] * abs(memory[MEMORY_HEAD + ACC_Y]) * 0.1
    log_var += blob[tail + 2] * math.log(spread + 1e-8) + blob[tail + 3] * math.log(distance + 1.0)
    inside = distance <= blob[tail + 4]
    keep = math.exp(-dt / blob[tail + 5])
    memory[3] = keep * memory[3] + (1.0 - keep) * (1.0 if inside else 0.0)
    valid = whole and inside and memory[3] >= TRUSTED_SHARE and sample[V_X] >= blob[tail + 6]
    out[1], out[2], out[3] = math.exp(0.5 * log_var), 1.0 if valid else 0.0, distance


@njit(cache=True, nogil=True, error_model="numpy")
def run(blob: Array, memory: Array, t_s: Array, samples: Array, out: Array) -> None:
    """`step` over samples (n, 5) into out (n, 4)."""
    for i in range(t_s.shape[0]):
        step(blob, memory, t_s[i], samples[i], out[i])


@njit(cache=True, nogil=True, error_model="numpy")
def run_features(blob: Array, memory: Array, t_s: Array, samples: Array, out: Array) -> None:
    """`features` over samples (n, 5) into out (n, k); NaN where an input is missing."""
    for i in range(t_s.shape[0]):
        if not features(blob, memory, t_s[i], samples[i], out[i]):
            out[i] = np.nan
