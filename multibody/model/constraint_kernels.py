"""Constraints of any mechanism: one walk over the quadratic rows, then the few that hold sines, cosines and guides."""

from __future__ import annotations

from math import cos, sin

from hodograph.core.frames import Array
from hodograph.multibody.model.tables import ConstraintRows, Index
from hodograph.numerics.compiling import inlined, inlined_inner, njit

SWITCH = 0.7


@njit
def choose_branches(rows: ConstraintRows, q: Array, branch: Index) -> int:
    """For each angle the sine row where |sin| < 0.7, else the cosine row (Sanjurjo 2016, 4.2); how many changed."""
    changed = 0
    for k in range(len(branch)):
        best = 1 if abs(sin(q[rows.angle[k, 2]])) < SWITCH else 0
        if branch[k] != best:
            changed += 1
            branch[k] = best
    return changed


@inlined_inner
def carry_multipliers(rows: ConstraintRows, q: Array, branch: Index, mu: Array) -> int:
    """Choose branches and hand a multiplier over when its angle switches, so that the torque on the angle stays."""
    changed = 0
    for k in range(len(branch)):
        angle = q[rows.angle[k, 2]]
        s = sin(angle)
        best = 1 if abs(s) < SWITCH else 0
        if branch[k] != best:
            c = cos(angle)
            sine, cosine = rows.angle[k, 0], rows.angle[k, 1]
            if best == 1:
                mu[sine] = -mu[cosine] * s / c
                mu[cosine] = 0.0
            else:
                mu[cosine] = -mu[sine] * c / s
                mu[sine] = 0.0
            branch[k] = best
            changed += 1
    return changed


@inlined
def set_guides(rows: ConstraintRows, t_s: float, inputs: Array, guide: Array) -> None:
    """Value, rate and acceleration of every guide at time t."""
    par = rows.guide_par
    for k in range(len(guide)):
        phase = par[k, 4] * t_s + par[k, 5]
        s, c = par[k, 3] * sin(phase), par[k, 3] * cos(phase)
        guide[k, 0] = par[k, 0] + par[k, 1] * t_s + 0.5 * par[k, 2] * t_s * t_s + s
        guide[k, 1] = par[k, 1] + par[k, 2] * t_s + par[k, 4] * c
        guide[k, 2] = par[k, 2] - par[k, 4] * par[k, 4] * s
        source = rows.guide[k, 1]
        if source > 0:
            for d in range(3):
                guide[k, d] += inputs[source, d]


@inlined_inner
def shared_forms(rows: ConstraintRows, i: int, y: Array) -> tuple[float, float, float]:
    """The three linear forms that slots of row i share, at y."""
    start, col, val = rows.form_start, rows.form_col, rows.form_val
    first, second, third, end = start[3 * i], start[3 * i + 1], start[3 * i + 2], start[3 * i + 3]
    f0, f1, f2 = 0.0, 0.0, 0.0
    for t in range(first, second):
        f0 += val[t] * y[col[t]]
    for t in range(second, third):
        f1 += val[t] * y[col[t]]
    for t in range(third, end):
        f2 += val[t] * y[col[t]]
    return f0, f1, f2


@inlined_inner
def slot_product(rows: ConstraintRows, a: int, f0: float, f1: float, f2: float, y: Array) -> float:
    """(S_i y) in slot a of row i, with the shared forms of that row at y."""
    share = rows.share[a]
    s = rows.share_val[a] * (f0 if share == 0 else (f1 if share == 1 else f2))
    for t in range(rows.tri_start[a], rows.tri_start[a + 1]):
        s += rows.tri_val[t] * y[rows.tri_col[t]]
    return float(s)


@inlined
def evaluate(rows: ConstraintRows, q: Array, branch: Index, guide: Array, jac: Array, phi: Array) -> None:
    """Jacobian slots and constraint values at q; the idle row of an angle is zero."""
    start, col, lin = rows.start, rows.col, rows.lin
    const = rows.const
    tri_start, tri_col, tri_val = rows.tri_start, rows.tri_col, rows.tri_val
    for i in range(len(const)):
        value = 0.0
        if rows.form_start[3 * i] == rows.form_start[3 * i + 3]:  # nothing shared: the short way, for small mechanisms
            for a in range(start[i], start[i + 1]):
                x = lin[a]
                y = x
                for t in range(tri_start[a], tri_start[a + 1]):
                    y += tri_val[t] * q[tri_col[t]]
                jac[a] = y
                value += (x + y) * q[col[a]]
        else:
            f0, f1, f2 = shared_forms(rows, i, q)
            for a in range(start[i], start[i + 1]):
                x = lin[a]
                y = x + slot_product(rows, a, f0, f1, f2, q)
                jac[a] = y
                value += (x + y) * q[col[a]]
        phi[i] = 0.5 * value - const[i]
    for k in range(len(branch)):
        angle = q[rows.angle[k, 2]]
        s, c = rows.amplitude[k] * sin(angle), rows.amplitude[k] * cos(angle)
        sine, cosine = rows.angle[k, 0], rows.angle[k, 1]
        if branch[k] == 1:
            phi[sine] -= s
            jac[rows.angle[k, 3]] = -c
            idle = cosine
        else:
            phi[cosine] -= c
            jac[rows.angle[k, 4]] = s
            idle = sine
        phi[idle] = 0.0
        for a in range(start[idle], start[idle + 1]):
            jac[a] = 0.0
    for k in range(len(guide)):
        phi[rows.guide[k, 0]] -= guide[k, 0]


@inlined
def rates(rows: ConstraintRows, jac: Array, guide: Array, qd: Array, out: Array) -> None:
    """out = Φ_q qd + Φ_t (Sanjurjo 2016, 3.39)."""
    start, col = rows.start, rows.col
    for i in range(len(out)):
        s = 0.0
        for a in range(start[i], start[i + 1]):
            s += jac[a] * qd[col[a]]
        out[i] = s
    for k in range(len(guide)):
        out[rows.guide[k, 0]] -= guide[k, 1]


@inlined_inner
def bilinear(rows: ConstraintRows, branch: Index, x: Array, y: Array, out: Array) -> None:
    """out_i = xᵀ S_i y, without the sines and cosines; idle rows zero."""
    start, col = rows.start, rows.col
    tri_start, tri_col, tri_val = rows.tri_start, rows.tri_col, rows.tri_val
    for i in range(len(out)):
        s = 0.0
        if rows.form_start[3 * i] == rows.form_start[3 * i + 3]:
            for a in range(start[i], start[i + 1]):
                u = 0.0
                for t in range(tri_start[a], tri_start[a + 1]):
                    u += tri_val[t] * y[tri_col[t]]
                s += u * x[col[a]]
        else:
            f0, f1, f2 = shared_forms(rows, i, y)
            for a in range(start[i], start[i + 1]):
                s += slot_product(rows, a, f0, f1, f2, y) * x[col[a]]
        out[i] = s
    for k in range(len(branch)):
        idle = rows.angle[k, 1] if branch[k] == 1 else rows.angle[k, 0]
        out[idle] = 0.0


@inlined
def accelerations(rows: ConstraintRows, q: Array, qd: Array, branch: Index, guide: Array, out: Array) -> None:
    """out = Φ_q_dot qd + Φ_t_dot: the acceleration problem is Φ_q qdd = −out (Sanjurjo 2016, 3.40 corrected)."""
    bilinear(rows, branch, qd, qd, out)
    for k in range(len(branch)):
        index = rows.angle[k, 2]
        speed2 = rows.amplitude[k] * qd[index] * qd[index]
        if branch[k] == 1:
            out[rows.angle[k, 0]] += speed2 * sin(q[index])
        else:
            out[rows.angle[k, 1]] += speed2 * cos(q[index])
    for k in range(len(guide)):
        out[rows.guide[k, 0]] -= guide[k, 2]
