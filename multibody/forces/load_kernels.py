"""Generalised forces of any mechanism, their tangents, and their change along a direction."""

from __future__ import annotations

import numpy as np

from hodograph.core.frames import Array
from hodograph.multibody.model.linear_kernels import add_multiple
from hodograph.multibody.model.tables import Loads, Mass
from hodograph.numerics.compiling import inlined_inner, inner, njit

ONE = np.uint32(1)


@njit
def curve_at(loads: Loads, which: int, x: float) -> tuple[float, float]:
    """Value and slope of a curve; straight beyond its ends."""
    first, end = loads.curve_start[which], loads.curve_start[which + 1]
    curve = loads.curve
    k = first
    while k + 2 < end and x >= curve[k + 1, 0]:
        k += 1
    d = x - curve[k, 0]
    if d <= 0.0:
        return curve[k, 1] + curve[k, 2] * d, curve[k, 2]
    if x > curve[end - 1, 0]:
        d = x - curve[end - 1, 0]
        return curve[end - 1, 1] + curve[end - 1, 2] * d, curve[end - 1, 2]
    value = curve[k, 1] + d * (curve[k, 2] + d * (curve[k, 3] + d * curve[k, 4]))
    return value, curve[k, 2] + d * (2.0 * curve[k, 3] + 3.0 * d * curve[k, 4])


@inlined_inner
def spring_state(
    loads: Loads, s: int, q: Array, qd: Array
) -> tuple[float, float, float, float, float, float, float, float]:
    """Elongation vector and its rate, length and its rate, of spring s."""
    x, y, z = loads.spring_const[s, 0], loads.spring_const[s, 1], loads.spring_const[s, 2]
    u, v, w = 0.0, 0.0, 0.0
    for k in range(loads.spring_term[s], loads.spring_term[s + 1]):
        i, axis, c = loads.term[k, 0], loads.term[k, 1], loads.term_val[k]
        if axis == 0:
            x += c * q[i]
            u += c * qd[i]
        elif axis == 1:
            y += c * q[i]
            v += c * qd[i]
        else:
            z += c * q[i]
            w += c * qd[i]
    length = (x * x + y * y + z * z) ** 0.5
    return x, y, z, u, v, w, length, (x * u + y * v + z * w) / length


@inner
def spring_law(
    loads: Loads, par: Array, elongation_curve: int, speed_curve: int, x: float, v: float
) -> tuple[float, float, float]:
    """Force, stiffness and damping at elongation x and speed v; par = stiffness, free length, damping."""
    stretch = x - par[1]
    if elongation_curve > 0:
        force, stiffness = curve_at(loads, elongation_curve - 1, stretch)
    else:
        force, stiffness = par[0] * stretch, par[0]
    if speed_curve > 0:
        more, damping = curve_at(loads, speed_curve - 1, v)
    else:
        more, damping = par[2] * v, par[2]
    return force + more, stiffness, damping


@inner
def bar_twist(loads: Loads, k: int, q: Array, qd: Array) -> float:
    """How much more the first spring of bar k is elongated than the second."""
    a, b = loads.bar[k, 0], loads.bar[k, 1]
    left = spring_state(loads, a, q, qd)[6] - loads.spring_par[a, 1]
    return float(left - spring_state(loads, b, q, qd)[6] + loads.spring_par[b, 1])


@inner
def pull_spring(loads: Loads, s: int, force: float, q: Array, qd: Array, out: Array) -> None:
    """A pull of `force` between the two ends of spring s."""
    x, y, z, _, _, _, length, _ = spring_state(loads, s, q, qd)
    per_length = force / length
    for k in range(loads.spring_term[s], loads.spring_term[s + 1]):
        axis = loads.term[k, 1]
        d = x if axis == 0 else (y if axis == 1 else z)
        out[loads.term[k, 0]] -= loads.term_val[k] * per_length * d


@inlined_inner
def generalised_forces(
    loads: Loads, mass: Mass, inputs: Array, applied: Array, q: Array, qd: Array, out: Array
) -> None:
    """out = all forces but the user's: weight, springs, torques, inputs, and the inertia forces of wheels.

    The last are those of Sanjurjo 2016, 5.23.
    """
    for i in range(len(out)):
        out[i] = loads.steady[i] + applied[i]
    for s in range(len(loads.spring_par)):
        x, y, z, _, _, _, length, speed = spring_state(loads, s, q, qd)
        curves = loads.spring_curve[s]
        force = spring_law(loads, loads.spring_par[s], curves[0], curves[1], length, speed)[0]
        if force == 0.0:
            continue
        per_length = force / length
        for k in range(loads.spring_term[s], loads.spring_term[s + 1]):
            axis = loads.term[k, 1]
            d = x if axis == 0 else (y if axis == 1 else z)
            out[loads.term[k, 0]] -= loads.term_val[k] * per_length * d
    for k in range(len(loads.bar_par)):
        force = loads.bar_par[k] * bar_twist(loads, k, q, qd)
        pull_spring(loads, loads.bar[k, 0], force, q, qd, out)
        pull_spring(loads, loads.bar[k, 1], -force, q, qd, out)
    for s in range(len(loads.scalar_par)):
        i = loads.scalar[s, 0]
        out[i] -= spring_law(loads, loads.scalar_par[s], loads.scalar[s, 1], loads.scalar[s, 2], q[i], qd[i])[0]
    for k in range(len(loads.torque_val)):
        out[loads.torque[k, 0]] += loads.torque_val[k] * q[loads.torque[k, 1]] * inputs[loads.torque[k, 2], 0]
    for k in range(len(loads.driven_val)):
        out[loads.driven[k, 0]] += loads.driven_val[k] * inputs[loads.driven[k, 1], 0]
    for k in range(len(mass.wheel_inertia)):
        a, b = mass.wheel[k, 0], mass.wheel[k, 1]
        momentum = mass.wheel_inertia[k] * qd[mass.wheel[k, 2]]
        for d in range(3):
            out[a + d] -= momentum * qd[b + d]
            out[b + d] += momentum * qd[a + d]


@inner
def add_tangents(
    loads: Loads, q: Array, qd: Array, of_position: float, of_velocity: float, slope: Array, w: Array
) -> None:
    """w += of_position · K + of_velocity · C, the symmetric tangents of the springs and dampers.

    K = (k − F/l) g gᵀ + F/l · BᵀB with the gradient g of the length, kept in `slope` by slots of the spring.
    """
    for s in range(len(loads.spring_par)):
        x, y, z, _, _, _, length, speed = spring_state(loads, s, q, qd)
        curves = loads.spring_curve[s]
        force, stiffness, damping = spring_law(loads, loads.spring_par[s], curves[0], curves[1], length, speed)
        for k in range(len(loads.bar_par)):
            # What ties the two sides of a bar together would fill the factor between the corners of a car. It is left
            # out: a bar is soft against inertia over a step (h²/4 k ≪ m), so Newton hardly notices.
            if loads.bar[k, 0] == s or loads.bar[k, 1] == s:
                stiffness += loads.bar_par[k]
        if force == 0.0 and stiffness == 0.0 and damping == 0.0:
            continue
        across = of_position * force / length
        along = of_position * stiffness + of_velocity * damping - across
        inverse = 1.0 / length
        slots = loads.spring_slot[s + 1] - loads.spring_slot[s]
        for a in range(slots):
            slope[a] = 0.0
        for k in range(loads.spring_term[s], loads.spring_term[s + 1]):
            axis = loads.term[k, 1]
            d = x if axis == 0 else (y if axis == 1 else z)
            slope[loads.term_slot[k]] += loads.term_val[k] * d * inverse
        r = loads.spring_run[s]
        for a in range(slots):
            weight = along * slope[a]
            b = np.uint32(a)
            while b < slots:
                to, end_run = loads.run[r, 0], b + loads.run[r, 1]
                add_multiple(w, to, weight, slope, b, end_run)
                b = end_run
                r += ONE
        for k in range(loads.spring_pair[s], loads.spring_pair[s + 1]):
            w[loads.pair[k]] += loads.pair_val[k] * across
    for s in range(len(loads.scalar_par)):
        i = loads.scalar[s, 0]
        law = spring_law(loads, loads.scalar_par[s], loads.scalar[s, 1], loads.scalar[s, 2], q[i], qd[i])
        w[loads.scalar[s, 3]] += of_position * law[1] + of_velocity * law[2]


@inner
def bar_change(loads: Loads, k: int, q: Array, qd: Array, dq: Array, out: Array) -> None:
    """out += exact change of the forces of bar k along dq, first order."""
    force = loads.bar_par[k] * bar_twist(loads, k, q, qd)
    change = 0.0
    for side in range(2):
        s = loads.bar[k, side]
        x, y, z, u, v, w, length, speed = spring_state(loads, s, q, dq)  # with dq for qd the rate is the change
        change += speed if side == 0 else -speed
    for side in range(2):
        s = loads.bar[k, side]
        sign = 1.0 if side == 0 else -1.0
        x, y, z, u, v, w, length, speed = spring_state(loads, s, q, dq)
        per = sign * force / length
        dper = sign * loads.bar_par[k] * change / length - per * speed / length
        for t in range(loads.spring_term[s], loads.spring_term[s + 1]):
            axis = loads.term[t, 1]
            d = x if axis == 0 else (y if axis == 1 else z)
            dd = u if axis == 0 else (v if axis == 1 else w)
            out[loads.term[t, 0]] -= loads.term_val[t] * (dper * d + per * dd)


@inner
def force_change(
    loads: Loads, mass: Mass, inputs: Array, q: Array, qd: Array, dq: Array, dqd: Array, out: Array
) -> None:
    """out = exact change of the generalised forces along (dq, dqd), first order."""
    for i in range(len(out)):
        out[i] = 0.0
    for s in range(len(loads.spring_par)):
        x, y, z, u, v, w, length, speed = spring_state(loads, s, q, qd)
        dx, dy, dz, du, dv, dw = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(loads.spring_term[s], loads.spring_term[s + 1]):
            i, axis, c = loads.term[k, 0], loads.term[k, 1], loads.term_val[k]
            if axis == 0:
                dx += c * dq[i]
                du += c * dqd[i]
            elif axis == 1:
                dy += c * dq[i]
                dv += c * dqd[i]
            else:
                dz += c * dq[i]
                dw += c * dqd[i]
        curves = loads.spring_curve[s]
        force, stiffness, damping = spring_law(loads, loads.spring_par[s], curves[0], curves[1], length, speed)
        dlength = (x * dx + y * dy + z * dz) / length
        dspeed = (dx * u + dy * v + dz * w + x * du + y * dv + z * dw) / length - speed * dlength / length
        dper = (stiffness * dlength + damping * dspeed) / length - force * dlength / (length * length)
        per = force / length
        for k in range(loads.spring_term[s], loads.spring_term[s + 1]):
            axis = loads.term[k, 1]
            d = x if axis == 0 else (y if axis == 1 else z)
            dd = dx if axis == 0 else (dy if axis == 1 else dz)
            out[loads.term[k, 0]] -= loads.term_val[k] * (dper * d + per * dd)
    for k in range(len(loads.bar_par)):
        bar_change(loads, k, q, qd, dq, out)
    for s in range(len(loads.scalar_par)):
        i = loads.scalar[s, 0]
        law = spring_law(loads, loads.scalar_par[s], loads.scalar[s, 1], loads.scalar[s, 2], q[i], qd[i])
        out[i] -= law[1] * dq[i] + law[2] * dqd[i]
    for k in range(len(loads.torque_val)):
        out[loads.torque[k, 0]] += loads.torque_val[k] * dq[loads.torque[k, 1]] * inputs[loads.torque[k, 2], 0]
    for k in range(len(mass.wheel_inertia)):
        a, b, spin = mass.wheel[k, 0], mass.wheel[k, 1], mass.wheel[k, 2]
        inertia = mass.wheel_inertia[k]
        for d in range(3):
            out[a + d] -= inertia * (dqd[spin] * qd[b + d] + qd[spin] * dqd[b + d])
            out[b + d] += inertia * (dqd[spin] * qd[a + d] + qd[spin] * dqd[a + d])
