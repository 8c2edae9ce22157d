"""Tyre forces in the road plane: steady characteristics behind a carcass that deflects.

Both kinds share the carcass. Its deflection x (positive where the force on the tyre is) obeys, with slip velocity v,
reference speed w and secant slip stiffness K = F/s,

    (K + w d) dx/dt = −K v − w (c x − F_V),    force = c x + d dx/dt,

Sanjurjo 2016, 5.36, 5.37 and 5.41 (the derivative replaced by F/s), and Carpinelli 2014, 4.23 with sigma =
K/c: the relaxation length is C_slip/c at small slip and shrinks towards F/c when the tyre slides, so that a locked tyre
keeps its deflection instead of winding up. The equation is linear over a step and solved exactly. At rest w = v_n: the
tyre is a spring and damper that creeps by v_n F/dF0.

As printed, a tyre that does not roll would also relax while it trembles far below the friction limit, and a car on a
slope would walk down with every oscillation. So w is multiplied by the share of sliding: 1 when the tyre rolls, or when
sticking would need the full friction force; 0 when it does not roll and would need clearly less. This changes no steady
force, and F·v + d(½ c x²)/dt = −d ẋ² − (w/K) F² ≤ 0 stays true: the tyre is passive.
"""

from __future__ import annotations

from math import expm1, sin, sqrt

from hodograph.core.frames import Array
from hodograph.multibody.forces.columns import (
    CURVE_CURVATURE,
    CURVE_PEAK,
    CURVE_PEAK_SLIP,
    CURVE_SHAPE,
    CURVE_SHIFT_FORCE,
    CURVE_SHIFT_SLIP,
    CURVE_SLIDING,
    CURVE_SLIDING_SLIP,
    CURVE_SLOPE,
    TMEASY,
    TYRE_CAMBER_SLIP,
    TYRE_CURVE_X,
    TYRE_CURVE_Y,
    TYRE_DAMPING_X,
    TYRE_DAMPING_Y,
    TYRE_FRICTION,
    TYRE_HAT_X,
    TYRE_HAT_Y,
    TYRE_KIND,
    TYRE_NOMINAL_LOAD,
    TYRE_STANDSTILL_SPEED,
    TYRE_STIFFNESS_X,
    TYRE_STIFFNESS_Y,
    TYRE_TRAIL,
    TYRE_TRAIL_ZERO_SLIP,
)
from hodograph.multibody.forces.magic_kernels import magic_share
from hodograph.numerics.compiling import inlined_inner, njit

NO_LOAD_N = 1e-6
"""Below this the tyre is in the air."""

TRAIL_SPEED_MPS = 0.2
"""The pneumatic trail lies behind the motion: it changes side with the rolling direction and fades out around zero."""

STICKS, SLIDES = 0.7, 1.0
"""Share of the friction force below which a tyre that does not roll only stretches, and from which on it slides."""

AT_REST_MPS = 1e-6
"""Rolling speeds below this are none."""

LEAST_SHARE = 1e-3
"""Of sliding; above zero because the solution divides by the rate."""

LOCKED, LOCKS = 0.03, 5.0
"""Share of the slip velocity below which rolling does not count, from this slip on (in full from twice of it)."""

ALIKE = 1e-9
"""Slips below this have no direction: both axes count the same."""


@inlined_inner
def quadratic(par: Array, k: int, q: float) -> float:
    """A quantity quadratic in the load ratio q, held beyond its largest q."""
    q = min(q, par[k + 2])
    value: float = q * (par[k] - par[k + 1] * q)
    return value


@inlined_inner
def linear(par: Array, k: int, q: float) -> float:
    """A quantity linear in the load ratio q up to twice the nominal load."""
    value: float = par[k] + par[k + 1] * min(q, 2.0)
    return value


@inlined_inner
def mixed(x: float, y: float, cos2: float, sin2: float) -> float:
    """TMeasy's blend of a parameter of x and of y for slip in between (Hirschberg et al. 2007)."""
    return sqrt(x * x * cos2 + y * y * sin2)


@inlined_inner
def deflected(
    secant_n: float, slip_mps: float, reference_mps: float, offset_n: float, c: float, d: float, x0: float, tau: float
) -> tuple[float, float, float]:
    """After tau at constant slip velocity: deflection, force, and −d force / d slip velocity at constant K.

    As Sanjurjo 2016, 5.38, 5.39. The exact solution of the equation above; expm1 keeps it exact when tau is short or
    the tyre hardly rolls.
    """
    inverse = 1.0 / (secant_n + reference_mps * d)
    rate = reference_mps * c * inverse
    drive = (reference_mps * offset_n - secant_n * slip_mps) * inverse
    reach = -expm1(-rate * tau) / rate
    x1 = x0 + (drive - rate * x0) * reach
    damping = secant_n * inverse * (c * reach + d * (1.0 - rate * reach))
    return x1, c * x1 + d * (drive - rate * x1), damping


@inlined_inner
def smooth_step(x: float) -> float:
    """0 below 0, 1 above 1, a cubic between."""
    x = min(max(x, 0.0), 1.0)
    return x * x * (3.0 - 2.0 * x)


@inlined_inner
def sliding_share(slip_mps: float, roll_mps: float, sticking_n: float, friction_n: float) -> float:
    """How much of the relaxation acts: all of it while the slip velocity is below the rolling speed."""
    slip = slip_mps / sqrt(roll_mps * roll_mps + AT_REST_MPS * AT_REST_MPS)
    if slip <= 1.0:
        return 1.0
    sliding = smooth_step((sticking_n / friction_n - STICKS) / (SLIDES - STICKS))
    return max(1.0 - smooth_step(0.5 * (slip - 1.0)) * (1.0 - sliding), LEAST_SHARE)


@inlined_inner
def stuck_force(c: float, d: float, x0: float, slip_mps: float, tau: float) -> float:
    """Force after tau if the tyre did nothing but stretch."""
    return c * (x0 - slip_mps * tau) - d * slip_mps


@inlined_inner
def rolling_mps(reference_mps: float, v_n: float) -> float:
    """The reference speed without its fictitious part: what only pulls while rolling must not move a standing car."""
    return reference_mps - v_n * v_n / reference_mps


@inlined_inner
def length(x: float, y: float) -> float:
    """√(x² + y²)."""
    return sqrt(x * x + y * y)


@inlined_inner
def within(fx: float, fy: float, peak_x: float, peak_y: float) -> float:
    """Factor ≤ 1 that brings a force back to the friction limit √(F_Mx² cos² + F_My² sin²) of its direction."""
    square = fx * fx + fy * fy
    limit = sqrt(peak_x * peak_x * fx * fx + peak_y * peak_y * fy * fy)  # times |f|
    return limit / square if square > limit else 1.0


@inlined_inner
def tmeasy_secant(slope: float, s_m: float, f_m: float, s_s: float, f_s: float, s: float) -> float:
    """F(s)/s of the full characteristic: rise to F_M at s_M, cubic fall to F_S at s_S, constant beyond.

    Hirschberg et al. 2007.
    """
    if s < s_m:
        part = s / s_m
        rest = 1.0 - part
        return slope / (rest * rest + slope * s / f_m)
    if s < s_s:
        part = (s - s_m) / (s_s - s_m)
        return (f_m - (f_m - f_s) * part * part * (3.0 - 2.0 * part)) / s
    return f_s / s


@inlined_inner
def tmeasy(
    par: Array, q: float, vsx: float, vy: float, roll: float, gamma: float
) -> tuple[float, float, float, float, float, float, float]:
    """Secant stiffness (of normalised slip), the reference speeds, effective lateral slip velocity, peaks, slip.

    Slips after Sanjurjo 2016, 5.27-5.29.
    """
    x, y = TYRE_CURVE_X, TYRE_CURVE_Y
    hat_x, hat_y, mu = par[TYRE_HAT_X], par[TYRE_HAT_Y], par[TYRE_FRICTION]
    v_n = par[TYRE_STANDSTILL_SPEED]
    wy = sqrt(roll * roll * hat_y * hat_y + v_n * v_n)
    vsy = vy - par[TYRE_CAMBER_SLIP] * sin(gamma) * rolling_mps(wy, v_n) / hat_y
    # √((r Ω ŝ)² + v_n²) in place of r|Ω| ŝ + v_n: the same at rest, smooth there, and exact at speed. Far beyond
    # sliding a share of the slip velocity keeps slips below 1/LOCKED: where a wheel locks while its tyre slides askew,
    # the force turns from weighted slips to true ones over a range of wheel speed that grows with the sliding, not
    # within v_n, where it would jump by a sixth over a millimetre per second and Newton would go round in circles.
    sliding = length(vsx, vsy)
    least = LOCKED * sliding * smooth_step(sliding / (LOCKS * length(roll, AT_REST_MPS)) - 1.0)
    least = v_n * v_n + least * least
    wx = sqrt(roll * roll * hat_x * hat_x + least)
    wy = sqrt(roll * roll * hat_y * hat_y + least)
    sx, sy = vsx / wx, vsy / wy
    square = sx * sx + sy * sy
    cos2 = (sx * sx + ALIKE * ALIKE) / (square + 2.0 * ALIKE * ALIKE)
    sin2 = 1.0 - cos2
    peak_x, peak_y = mu * quadratic(par, x + CURVE_PEAK, q), mu * quadratic(par, y + CURVE_PEAK, q)
    slope = mixed(hat_x * quadratic(par, x + CURVE_SLOPE, q), hat_y * quadratic(par, y + CURVE_SLOPE, q), cos2, sin2)
    f_m = mixed(peak_x, peak_y, cos2, sin2)
    f_s = mu * mixed(quadratic(par, x + CURVE_SLIDING, q), quadratic(par, y + CURVE_SLIDING, q), cos2, sin2)
    s_m = linear(par, x + CURVE_PEAK_SLIP, q) / hat_x, linear(par, y + CURVE_PEAK_SLIP, q) / hat_y
    s_s = linear(par, x + CURVE_SLIDING_SLIP, q) / hat_x, linear(par, y + CURVE_SLIDING_SLIP, q) / hat_y
    slip = sqrt(square)
    secant = tmeasy_secant(
        slope, mu * mixed(s_m[0], s_m[1], cos2, sin2), f_m, mu * mixed(s_s[0], s_s[1], cos2, sin2), min(f_s, f_m), slip
    )
    return secant, wx, wy, vsy, peak_x, peak_y, slip * hat_y


@inlined_inner
def magic(
    par: Array, q: float, vsx: float, vy: float, vx: float, gamma: float
) -> tuple[float, float, float, float, float, float, float, float]:
    """Secant stiffnesses of x and y, reference speed, effective slip velocities, peaks, slip.

    Slips after Carpinelli 2014, 4.15, 4.16. Combined slip by similarity: each slip times initial slope over peak is one
    component of a vector; its length enters both curves and its direction shares them out, so that the forces stay
    within the friction ellipse.
    """
    x, y = TYRE_CURVE_X, TYRE_CURVE_Y
    mu, v_n = par[TYRE_FRICTION], par[TYRE_STANDSTILL_SPEED]
    w = sqrt(vx * vx + v_n * v_n)
    rolling = rolling_mps(w, v_n)
    slip_x = vsx - par[x + CURVE_SHIFT_SLIP] * rolling
    slip_y = vy - (par[y + CURVE_SHIFT_SLIP] + par[TYRE_CAMBER_SLIP] * sin(gamma)) * rolling
    peak_x, peak_y = mu * quadratic(par, x + CURVE_PEAK, q), mu * quadratic(par, y + CURVE_PEAK, q)
    slope_x, slope_y = quadratic(par, x + CURVE_SLOPE, q), quadratic(par, y + CURVE_SLOPE, q)
    theta_x, theta_y = slip_x / w * slope_x / peak_x, slip_y / w * slope_y / peak_y
    rho = sqrt(theta_x * theta_x + theta_y * theta_y)
    secant_x = slope_x * magic_share(par[x + CURVE_SHAPE], linear(par, x + CURVE_CURVATURE, q), rho)
    secant_y = slope_y * magic_share(par[y + CURVE_SHAPE], linear(par, y + CURVE_CURVATURE, q), rho)
    return secant_x, secant_y, w, slip_x, slip_y, peak_x, peak_y, rho * peak_y / slope_y


@inlined_inner
def trail_m(par: Array, q: float, slip: float, forward_mps: float) -> float:
    """Pneumatic trail: grows with the contact length (root of the load), falls to zero with slip."""
    left = max(0.0, 1.0 - slip / par[TYRE_TRAIL_ZERO_SLIP])
    side = forward_mps / sqrt(forward_mps * forward_mps + TRAIL_SPEED_MPS * TRAIL_SPEED_MPS)
    value: float = par[TYRE_TRAIL] * sqrt(q) * left * left * side
    return value


@njit
def tyre_response(
    par: Array,
    fz_n: float,
    vx_mps: float,
    vy_mps: float,
    roll_mps: float,
    gamma_rad: float,
    x0_m: float,
    y0_m: float,
    tau_s: float,
) -> tuple[float, float, float, float, float, float, float]:
    """What `tyre_force` gives, then damping_x_nspm, damping_y_nspm: tangents for Newton's matrix.

    They are −dfx/dvx = dfx/droll and −dfy/dvy with K = F/s held: exact at small slip and at rest, never negative, and
    beyond the peak larger than the true ones (which may be negative), so that the matrix stays positive.
    """
    if fz_n <= NO_LOAD_N:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    q = fz_n / par[TYRE_NOMINAL_LOAD]
    vsx = vx_mps - roll_mps
    cx, cy, dx, dy = par[TYRE_STIFFNESS_X], par[TYRE_STIFFNESS_Y], par[TYRE_DAMPING_X], par[TYRE_DAMPING_Y]
    if par[TYRE_KIND] == TMEASY:
        forward = roll_mps
        secant, wx, wy, vsy, peak_x, peak_y, slip = tmeasy(par, q, vsx, vy_mps, roll_mps, gamma_rad)
        needed = length(stuck_force(cx, dx, x0_m, vsx, tau_s), stuck_force(cy, dy, y0_m, vsy, tau_s))
        share = sliding_share(length(vsx, vsy), roll_mps, needed, secant * length(vsx / wx, vsy / wy))
        x1, fx, bx = deflected(secant, vsx, share * wx, 0.0, cx, dx, x0_m, tau_s)
        y1, fy, by = deflected(secant, vsy, share * wy, 0.0, cy, dy, y0_m, tau_s)
    else:
        forward = vx_mps
        kx, ky, w, slip_x, slip_y, peak_x, peak_y, slip = magic(par, q, vsx, vy_mps, vx_mps, gamma_rad)
        load = par[TYRE_FRICTION] * fz_n * rolling_mps(w, par[TYRE_STANDSTILL_SPEED]) / w
        needed = length(stuck_force(cx, dx, x0_m, slip_x, tau_s), stuck_force(cy, dy, y0_m, slip_y, tau_s))
        w *= sliding_share(length(slip_x, slip_y), roll_mps, needed, length(kx * slip_x, ky * slip_y) / w)
        x1, fx, bx = deflected(kx, slip_x, w, load * par[TYRE_CURVE_X + CURVE_SHIFT_FORCE], cx, dx, x0_m, tau_s)
        y1, fy, by = deflected(ky, slip_y, w, load * par[TYRE_CURVE_Y + CURVE_SHIFT_FORCE], cy, dy, y0_m, tau_s)
    hold = within(cx * x1, cy * y1, peak_x, peak_y)
    grip = within(fx, fy, peak_x, peak_y)
    fy *= grip
    return fx * grip, fy, -trail_m(par, q, slip, forward) * fy, x1 * hold, y1 * hold, bx, by


@njit
def tyre_force(
    par: Array,
    fz_n: float,
    vx_mps: float,
    vy_mps: float,
    roll_mps: float,
    gamma_rad: float,
    x0_m: float,
    y0_m: float,
    tau_s: float,
) -> tuple[float, float, float, float, float]:
    """(fx_n, fy_n, mz_nm, x1_m, y1_m): force of the road on the tyre and carcass deflection, tau after (x0, y0).

    vx, vy: velocity of the contact point along and to the left, as if fixed to the carrier; roll = r_D Ω; the slip
    velocity (vx − roll, vy) counts as constant over tau. gamma: camber, positive with the top towards +y. Forces and
    deflections are cut at the friction limit, so that a tyre that loses its load lets go; in the air both are zero.
    """
    fx, fy, mz, x1, y1, _, _ = tyre_response(par, fz_n, vx_mps, vy_mps, roll_mps, gamma_rad, x0_m, y0_m, tau_s)
    return fx, fy, mz, x1, y1
