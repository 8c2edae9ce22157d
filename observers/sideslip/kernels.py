"""The sideslip filter on float64 arrays: axle forces, one step, one update. Rows as in `parameters.LAYOUT`.

    v_y' = (F_f cos δ + F_r)/m - v_x r - g_y          r' = (l_f F_f cos δ - l_r F_r)/J_z
    F'   = (v_x/σ)(F_ss(α, loads) - F) per axle       g_y' = -g_y/τ;  offsets: random walks

Seed 003 §4.1.1, (4.7) and (4.8), with the gravity that a banked road and a rolled body put into y.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from hodograph.core.frames import Array
from hodograph.numerics.verdicts import GATED, INVALID, USED

GRAVITY_MPS2 = 9.80665
V_FLOOR_MPS = 1.0  # slip angles are formed with at least this speed
ROLLING_TIME_S = 0.5  # successive readings of "the rear axle rolls" are one within this time
(V_Y, YAW_RATE, FORCE_F, FORCE_R, STEER_0, ACC_0, GRAV) = range(7)
N = 7


@njit(cache=True, nogil=True)
def wheel_force(alpha: float, load_n: float, load_0_n: float, fx_n: float, tyre: Array) -> tuple[float, float, float]:
    """(F, dF/dα, dF/dload) of one wheel; tyre = (stiffness, friction, shape, load sensitivity) at `load_0_n`.

    Magic Formula without curvature and shifts; what the wheel pulls or brakes is taken off the friction circle.
    """
    x = load_n / load_0_n
    fade = 1.0 - tyre[3] * (x - 1.0)
    scale, scale_x = x * fade, fade - x * tyre[3]
    peak = tyre[1] * load_0_n * scale
    use = min(abs(fx_n) / peak, 0.9)
    ellipse = math.sqrt(1.0 - use * use)
    D = peak * ellipse
    # B C D is the stiffness: the circle lowers the peak and leaves the slope at the origin
    B = tyre[0] / (tyre[2] * tyre[1] * load_0_n * ellipse)
    angle = tyre[2] * math.atan(B * alpha)
    force = D * math.sin(angle)
    slope = D * math.cos(angle) * tyre[2] * B / (1.0 + B * B * alpha * alpha)
    if use >= 0.9:
        return force, slope, force * scale_x / (scale * load_0_n)
    # dD/dpeak = 1/ellipse; B ∝ 1/ellipse and d(ellipse)/dpeak = use²/(ellipse peak)
    d_peak = tyre[1] * scale_x
    d_ellipse = use * use / (ellipse * peak) * d_peak
    d_b = -B / ellipse * d_ellipse
    by_b = D * math.cos(angle) * tyre[2] * alpha / (1.0 + B * B * alpha * alpha)
    return force, slope, math.sin(angle) / ellipse * d_peak + by_b * d_b


@njit(cache=True, nogil=True)
def axle_force(
    v_y: float,
    v_x: float,
    r: float,
    steer: float,
    arm: float,
    load_n: float,
    shift_n: float,
    fx_n: float,
    track: float,
    load_0_n: float,
    tyre: Array,
) -> tuple[float, float, float, float, float]:
    """(F, dF/dv_y, dF/dr, dF/dsteer, dF/dshift) of two wheels at `arm` in front of the centre of gravity (rear: < 0).

    `shift_n` is the load that moved from the left wheel to the right one; `load_n` and `fx_n` are the axle's.
    """
    force = by_v = by_r = by_steer = by_shift = 0.0
    for side in (1.0, -1.0):  # left, right
        load = 0.5 * load_n - side * shift_n
        by_load = -side
        if load < 0.02 * load_0_n:
            load, by_load = 0.02 * load_0_n, 0.0
        vx_wheel = max(v_x - side * 0.5 * track * r, V_FLOOR_MPS)
        vx_by_r = -side * 0.5 * track if vx_wheel > V_FLOOR_MPS else 0.0
        vy_wheel = v_y + arm * r
        square = vx_wheel * vx_wheel + vy_wheel * vy_wheel
        alpha = steer - math.atan2(vy_wheel, vx_wheel)
        f, slope, slope_load = wheel_force(alpha, load, load_0_n, 0.5 * fx_n, tyre)
        force += f
        by_v -= slope * vx_wheel / square
        by_r -= slope * (vx_wheel * arm - vy_wheel * vx_by_r) / square
        by_steer += slope
        by_shift += slope_load * by_load
    return force, by_v, by_r, by_steer, by_shift


@njit(cache=True, nogil=True)
def predict(x: Array, v_x: float, steer: float, a_x: float, dt: float, p: Array, f: Array, F: Array) -> None:
    """Fill f (7,) with the state after `dt` s and F (7, 7) with its Jacobian; exact in the relaxation of the forces."""
    m, inertia, l_f, l_r, track, height = p[0], p[1], p[2], p[3], p[4], p[5]
    base = l_f + l_r
    load_f0, load_r0 = m * GRAVITY_MPS2 * l_r / base, m * GRAVITY_MPS2 * l_f / base
    along = m * a_x * height / base
    load_f, load_r = max(load_f0 - along, 0.1 * load_f0), max(load_r0 + along, 0.1 * load_r0)
    share = p[7] if a_x < 0 else p[8]
    delta = steer - x[STEER_0]
    c, s = math.cos(delta), math.sin(delta)
    across = height / track
    shift = (x[FORCE_F] * c + x[FORCE_R]) * across
    tyre = np.array([0.5 * p[9], p[11], p[13], p[14]])
    ff, ff_v, ff_r, ff_d, ff_s = axle_force(
        x[V_Y], v_x, x[YAW_RATE], delta, l_f, load_f, p[6] * shift, share * m * a_x, track, 0.5 * load_f0, tyre
    )
    tyre = np.array([0.5 * p[10], p[12], p[13], p[14]])
    fr, fr_v, fr_r, _, fr_s = axle_force(
        x[V_Y],
        v_x,
        x[YAW_RATE],
        0.0,
        -l_r,
        load_r,
        (1 - p[6]) * shift,
        (1 - share) * m * a_x,
        track,
        0.5 * load_r0,
        tyre,
    )
    keep = math.exp(-max(v_x, V_FLOOR_MPS) * dt / p[15])
    fade = math.exp(-dt / p[23])
    f[V_Y] = x[V_Y] + dt * ((x[FORCE_F] * c + x[FORCE_R]) / m - v_x * x[YAW_RATE] - x[GRAV])
    f[YAW_RATE] = x[YAW_RATE] + dt * (l_f * x[FORCE_F] * c - l_r * x[FORCE_R]) / inertia
    f[FORCE_F] = ff + (x[FORCE_F] - ff) * keep
    f[FORCE_R] = fr + (x[FORCE_R] - fr) * keep
    f[STEER_0], f[ACC_0], f[GRAV] = x[STEER_0], x[ACC_0], x[GRAV] * fade
    F[:] = 0.0
    F[V_Y, V_Y], F[V_Y, YAW_RATE], F[V_Y, GRAV] = 1.0, -dt * v_x, -dt
    F[V_Y, FORCE_F], F[V_Y, FORCE_R], F[V_Y, STEER_0] = dt * c / m, dt / m, dt * x[FORCE_F] * s / m
    F[YAW_RATE, YAW_RATE], F[YAW_RATE, FORCE_F] = 1.0, dt * l_f * c / inertia
    F[YAW_RATE, FORCE_R], F[YAW_RATE, STEER_0] = -dt * l_r / inertia, dt * l_f * x[FORCE_F] * s / inertia
    new = 1.0 - keep
    by_f, by_r, by_0 = c * across, across, x[FORCE_F] * s * across  # of the shift
    F[FORCE_F, V_Y], F[FORCE_F, YAW_RATE] = new * ff_v, new * ff_r
    F[FORCE_F, FORCE_F], F[FORCE_F, FORCE_R] = keep + new * ff_s * p[6] * by_f, new * ff_s * p[6] * by_r
    F[FORCE_F, STEER_0] = new * (-ff_d + ff_s * p[6] * by_0)
    F[FORCE_R, V_Y], F[FORCE_R, YAW_RATE] = new * fr_v, new * fr_r
    F[FORCE_R, FORCE_F] = new * fr_s * (1 - p[6]) * by_f
    F[FORCE_R, FORCE_R] = keep + new * fr_s * (1 - p[6]) * by_r
    F[FORCE_R, STEER_0] = new * fr_s * (1 - p[6]) * by_0
    F[STEER_0, STEER_0] = F[ACC_0, ACC_0] = 1.0
    F[GRAV, GRAV] = fade


@njit(cache=True, nogil=True)
def propagate(P: Array, F: Array, work: Array) -> None:
    """P (7, 7) ← F P Fᵀ, by way of work (7, 7); kept symmetric."""
    for i in range(N):
        for j in range(N):
            work[i, j] = 0.0
        for k in range(N):
            if F[i, k] != 0.0:
                for j in range(N):
                    work[i, j] += F[i, k] * P[k, j]
    for i in range(N):
        for j in range(i + 1):
            total = 0.0
            for k in range(N):
                total += work[i, k] * F[j, k]
            P[i, j] = total
            P[j, i] = total


@njit(cache=True, nogil=True)
def add_noise(P: Array, dt: float, p: Array) -> None:
    """Process noise of `dt` s onto P (7, 7)."""
    for row in range(6):
        P[row, row] += p[16 + row] ** 2 * dt
    P[GRAV, GRAV] += p[22] ** 2 * (1.0 - math.exp(-2.0 * dt / p[23]))


@njit(cache=True, nogil=True)
def update(x: Array, P: Array, h: Array, innovation: float, var: float) -> tuple[float, float]:
    """One scalar measurement with row h (7,), in place, Joseph form; returns (innovation²/S, log S)."""
    Ph = P @ h
    S = float(h @ Ph) + var
    K = Ph / S
    for i in range(N):
        x[i] += K[i] * innovation
    A = P - np.outer(K, Ph)  # (I - K h) P, P symmetric
    Ah = A @ h
    for i in range(N):
        for j in range(i + 1):
            P[i, j] = A[i, j] - Ah[i] * K[j] + var * K[i] * K[j]
            P[j, i] = P[i, j]
    return innovation * innovation / S, math.log(S)


@njit(cache=True, nogil=True)
def start(x: Array, P: Array, v_x: float, a_y: float, r: float, p: Array) -> None:
    """Steady state that fits the first sample, and how little is known of it."""
    base = p[2] + p[3]
    x[FORCE_F], x[FORCE_R] = p[0] * a_y * p[3] / base, p[0] * a_y * p[2] / base
    x[V_Y] = p[3] * r - v_x * x[FORCE_R] / p[10]
    x[YAW_RATE], x[STEER_0], x[ACC_0], x[GRAV] = r, p[27], p[28], 0.0
    P[:] = 0.0
    known = np.array([0.02 * max(v_x, 3.0), 0.1, p[0], p[0], 0.003, 0.1, p[22]])
    for row in range(N):
        P[row, row] = known[row] ** 2


@njit(cache=True, nogil=True)
def measure(
    x: Array,
    P: Array,
    v_x: float,
    steer: float,
    a_y: float,
    r: float,
    vsa: float,
    vsa_var: float,
    dt: float,
    gate: float,
    p: Array,
    verdict: Array,
    score: Array,
) -> None:
    """All measurements of one sample, NaN = not there; fills verdict (4,).

    score (2,) = (Σ ν²/S + log S so far, ν²/S of this sample), both of yaw rate and ay.
    """
    score[1] = 0.0
    h = np.zeros(N)
    delta = steer - x[STEER_0]
    c, s = math.cos(delta), math.sin(delta)
    for which in range(4):
        h[:] = 0.0
        if which == 0:
            z, var = r - x[YAW_RATE], p[25] ** 2
            h[YAW_RATE] = 1.0
        elif which == 1:
            z, var = a_y - (x[FORCE_F] * c + x[FORCE_R]) / p[0] - x[ACC_0], p[24] ** 2
            h[FORCE_F], h[FORCE_R], h[ACC_0], h[STEER_0] = c / p[0], 1.0 / p[0], 1.0, x[FORCE_F] * s / p[0]
        elif which == 2:  # the rear axle rolls where it points, the better the less it is asked for
            asked = 10.0 * x[FORCE_R] / (p[0] * GRAVITY_MPS2)
            spread = v_x * (p[26] + abs(x[FORCE_R]) / p[10]) * (1.0 + asked * asked)
            z, var = p[3] * x[YAW_RATE] - x[V_Y], (spread**2 + 1e-4) * max(ROLLING_TIME_S / dt, 1.0)
            h[V_Y], h[YAW_RATE] = 1.0, -p[3]
        else:
            square = v_x * v_x + x[V_Y] * x[V_Y] + 1e-6
            z, var = vsa - math.atan2(x[V_Y], v_x), vsa_var
            h[V_Y] = v_x / square
        if not (math.isfinite(z) and math.isfinite(var)):
            verdict[which] = INVALID
            continue
        if which < 2 and verdict[which] > -20 and z * z > gate * gate * (h @ (P @ h) + var):
            score[1] += gate * gate
            verdict[which] = min(verdict[which], 0) - 1  # so many refused in a row
            continue
        nis, log_s = update(x, P, h, z, var)
        verdict[which] = USED
        if which < 2:
            score[0] += nis + log_s
            score[1] += nis


@njit(cache=True, nogil=True)
def run(
    t_s: Array,
    inputs: Array,
    vsa: Array,
    vsa_var: Array,
    gate: float,
    p: Array,
    states: Array,
    stds: Array,
    verdicts: Array,
) -> float:
    """The filter over all samples; inputs (n, 5) = v_x, steer, a_y, a_x, r.

    Fills states (n, 7), verdicts (n, 4) and stds (n, 9): the 1-sigma of each row, then of β, then ν²/S of yaw rate and
    ay together (2 is normal). Returns -2 log likelihood of yaw rate and ay (constants left out).
    """
    n = t_s.shape[0]
    x, P, f, F = np.zeros(N), np.zeros((N, N)), np.zeros(N), np.zeros((N, N))
    verdict, score, work = np.zeros(4), np.zeros(2), np.zeros((N, N))
    v_x = steer = a_x = 0.0
    begun, last_t, held = False, 0.0, 0
    for k in range(n):
        if math.isfinite(inputs[k, 0]):
            v_x = inputs[k, 0]
        if math.isfinite(inputs[k, 3]):
            a_x = inputs[k, 3]
        jump = abs(inputs[k, 1] - steer)
        if math.isfinite(jump) and (jump < 0.05 or held > 2 or not begun):  # a spike is held off, a step comes through
            steer, held = inputs[k, 1], 0
        else:
            held += 1
        a_y, r = inputs[k, 2], inputs[k, 4]
        dt = t_s[k] - last_t
        if not begun or dt > 1.0:
            if not (math.isfinite(a_y) and math.isfinite(r) and math.isfinite(inputs[k, 0])):
                states[k], stds[k], verdicts[k] = np.nan, np.nan, INVALID
                continue
            start(x, P, v_x, a_y, r, p)
            begun, dt = True, 1e-2
        else:
            steps = max(math.ceil(dt / 0.02), 1)
            for _ in range(steps):
                predict(x, v_x, steer, a_x, dt / steps, p, f, F)
                x[:] = f
                propagate(P, F, work)
                add_noise(P, dt / steps, p)
        last_t = t_s[k]
        measure(x, P, v_x, steer, a_y, r, vsa[k], vsa_var[k], max(dt, 1e-4), gate, p, verdict, score)
        states[k] = x
        for row in range(N):
            stds[k, row] = math.sqrt(max(P[row, row], 0.0))
            if row < 4:
                verdicts[k, row] = GATED if verdict[row] < 0 else verdict[row]
        stds[k, N] = stds[k, V_Y] * v_x / (v_x * v_x + x[V_Y] ** 2 + 1e-6)
        stds[k, N + 1] = score[1]
    return float(score[0])
