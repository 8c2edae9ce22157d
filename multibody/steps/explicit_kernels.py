"""Explicit Runge-Kutta methods and the trapezoidal rule by fixed-point iteration, over any acceleration formulation."""

from __future__ import annotations

from typing import Any

from hodograph.core.frames import Array
from hodograph.multibody.forces.rolling_kernels import commit
from hodograph.multibody.model.constraint_kernels import choose_branches
from hodograph.multibody.model.linear_kernels import norm
from hodograph.multibody.model.tables import Tables, Work
from hodograph.multibody.motion.dynamics_kernels import (
    configure,
    lagrange,
    matrix_r,
    penalised,
    position_problem,
    project_positions,
    project_velocities,
    velocity_problem,
)
from hodograph.multibody.steps.recording_kernels import follow, keep
from hodograph.numerics.compiling import inner, njit

MATRIX_R, LAGRANGE, PENALTY = 0, 1, 2
NO_PROJECTION, PROJECT_VELOCITY, PROJECT_ALWAYS, PROJECT_CONTROLLED = 0, 1, 2, 3
POSITION_TOLERANCE = 1e-13
K_START, K_MAX = 4.0, 8.0


@inner
def derive(
    tables: Tables,
    work: Work,
    force: Any,
    options: Array,
    t_s: float,
    q: Array,
    qd: Array,
    qdd: Array,
    multiplier: Array,
    cost: Array,
) -> bool:
    """Accelerations at (t, q, qd); matrix-R first makes q and qd consistent with their independent part.

    options = (formulation, 2ζω, ω², penalty weight, projection, rtol, atol, tolerance, iterations).
    """
    formulation = int(options[0])
    choose_branches(tables.rows, q, work.branch)
    cost[2] += 1.0
    if formulation == MATRIX_R:
        iterations = position_problem(tables, work, t_s, q, POSITION_TOLERANCE, 50.0)
        if iterations < 0:
            return False
        cost[1] += iterations + 1
        velocity_problem(tables, work, qd)
        matrix_r(tables, work, force, t_s, q, qd, qdd, multiplier)
        largest = 0.0
        for k in range(work.null.shape[0]):
            for i in range(work.null.shape[1]):
                largest = max(largest, abs(work.null[k, i]))
        work.control[5] = largest
    elif formulation == LAGRANGE:
        lagrange(tables, work, force, t_s, q, qd, options[1:3], qdd, multiplier)
        cost[1] += 1.0
    else:
        penalised(tables, work, force, t_s, q, qd, options[1:3], options[3], qdd, multiplier)
        cost[1] += 1.0
    return True


@inner
def project(tables: Tables, work: Work, options: Array, t_s: float, q: Array, qd: Array, cost: Array) -> bool:
    """Projection after a step; controlled by the feedback of the drift (Simeon 1996, 16).

    work.control[3] = k, steps without position projection; [4] = steps since the last one.
    """
    kind = int(options[4])
    if kind == NO_PROJECTION:
        return True
    due = kind == PROJECT_ALWAYS
    if kind == PROJECT_CONTROLLED:
        if work.control[3] == 0.0:
            work.control[3] = K_START
        work.control[4] += 1.0
        due = work.control[4] >= work.control[3]
    if due:
        rtol, atol = (options[5], options[6]) if options[6] > 0.0 else (1e-6, 1e-9)
        iterations, first = project_positions(tables, work, t_s, q, 1e-12, 25.0, rtol, atol)
        if iterations < 0:
            return False
        cost[0] += iterations
        cost[5] += 1.0
        work.control[4] = 0.0
        if kind == PROJECT_CONTROLLED:
            if first < 0.009:
                work.control[3] = min(2.0 * work.control[3], K_MAX)
            elif first >= 0.02:
                work.control[3] = max(0.5 * work.control[3], 1.0)
    project_velocities(tables, work, t_s, q, qd)
    return True


@inner
def runge_kutta(
    tables: Tables,
    work: Work,
    force: Any,
    options: Array,
    weights: Array,
    t_s: float,
    h: float,
    q: Array,
    qd: Array,
    qdd: Array,
    multiplier: Array,
    cost: Array,
) -> float:
    """One explicit step in place; weights (s+2, s+1): rows a_i with c_i last, then b, then the error weights e.

    Returns the weighted error of the embedded method (0 without one), or −1 when the step failed.
    """
    stage, n = work.stage, len(q)
    stages = weights.shape[0] - 2
    start_q, start_qd = stage[14], stage[15]
    for i in range(n):
        start_q[i], start_qd[i] = q[i], qd[i]
        stage[0, i], stage[7, i] = qd[i], qdd[i]
    for k in range(1, stages + 1):
        for i in range(n):
            x, y = 0.0, 0.0
            for j in range(min(k, stages)):
                x += weights[k, j] * stage[j, i]
                y += weights[k, j] * stage[7 + j, i]
            q[i] = start_q[i] + h * x
            qd[i] = start_qd[i] + h * y
        end_s = t_s + h if k == stages else t_s + weights[k, stages] * h
        if k == stages and int(options[0]) != MATRIX_R:
            choose_branches(tables.rows, q, work.branch)
            if not project(tables, work, options, end_s, q, qd, cost):
                return -1.0
        if not derive(tables, work, force, options, end_s, q, qd, qdd, multiplier, cost):
            return -1.0
        if k < stages:
            for i in range(n):
                stage[k, i], stage[7 + k, i] = qd[i], qdd[i]
    if options[6] <= 0.0:
        return 0.0
    of_q, of_qd = 0.0, 0.0
    for i in range(n):
        x = weights[stages + 1, stages] * qd[i]
        y = weights[stages + 1, stages] * qdd[i]
        for j in range(stages):
            x += weights[stages + 1, j] * stage[j, i]
            y += weights[stages + 1, j] * stage[7 + j, i]
        of_q += (h * x / (options[5] * abs(start_q[i]) + options[6])) ** 2
        of_qd += (h * y / (options[5] * abs(start_qd[i]) + options[6])) ** 2
    return float((max(of_q, of_qd) / n) ** 0.5)


@inner
def explicit_step(
    tables: Tables,
    work: Work,
    force: Any,
    options: Array,
    weights: Array,
    t_s: float,
    h: float,
    q: Array,
    qd: Array,
    qdd: Array,
    multiplier: Array,
    cost: Array,
) -> bool:
    """Advance by h: one step, or with tolerances as many as the error control wants (work.control[2] = last size)."""
    fixed = options[6] <= 0.0
    done, small = 0.0, work.control[2] if work.control[2] > 0.0 and not fixed else h
    start_qdd = work.stage[16]
    while done < h * (1.0 - 1e-12):
        piece = min(small, h - done)
        for i in range(len(q)):
            start_qdd[i] = qdd[i]
        error = runge_kutta(tables, work, force, options, weights, t_s + done, piece, q, qd, qdd, multiplier, cost)
        if fixed:
            return error >= 0.0
        if 0.0 <= error <= 1.0:
            done += piece
            cost[0] += 1.0
            commit(tables, work, t_s + done, piece, q, qd)
            if piece == small:
                small = piece * min(5.0, 0.9 * max(error, 1e-6) ** -0.2)
            continue
        cost[4] += 1.0
        small = piece * (max(0.2, 0.9 * error**-0.2) if error > 1.0 else 0.25)
        if not small > 1e-10 * h:
            return False
        for i in range(len(q)):
            q[i], qd[i], qdd[i] = work.stage[14, i], work.stage[15, i], start_qdd[i]
    work.control[2] = small
    return True


@inner
def trapezoidal_step(
    tables: Tables,
    work: Work,
    force: Any,
    options: Array,
    t_s: float,
    h: float,
    q: Array,
    qd: Array,
    qdd: Array,
    multiplier: Array,
    cost: Array,
) -> bool:
    """Trapezoidal rule, fixed-point iteration until the coordinates change by no more than the tolerance."""
    n = len(q)
    start_q, start_qd, start_qdd = work.stage[14], work.stage[15], work.stage[16]
    reduced = int(options[0]) == MATRIX_R
    for i in range(n):
        start_q[i], start_qd[i], start_qdd[i] = q[i], qd[i], qdd[i]
        q[i] += h * (qd[i] + 0.5 * h * qdd[i])
        qd[i] += h * qdd[i]
    previous = work.stage[0]
    last = False
    for iteration in range(int(options[8]) + 1):
        if not derive(tables, work, force, options, t_s + h, q, qd, qdd, multiplier, cost):
            return False
        if last:
            return True
        change = 0.0
        for i in range(n):
            change += (q[i] - previous[i]) ** 2
            previous[i] = q[i]
        if iteration > 0 and change**0.5 <= options[7]:
            cost[0] += iteration
            if reduced or int(options[4]) == NO_PROJECTION:
                return True
            if not project(tables, work, options, t_s + h, q, qd, cost):
                return False
            last = True
            continue
        if not change < 1e100:
            return False
        for i in range(n):
            qd[i] = start_qd[i] + 0.5 * h * (start_qdd[i] + qdd[i])
            q[i] = start_q[i] + 0.5 * h * (start_qd[i] + qd[i])
    return False


@njit
def run_explicit(
    tables: Tables,
    work: Work,
    force: Any,
    options: Array,
    weights: Array,
    t_s: float,
    h: float,
    done: int,
    steps: int,
    every: int,
    q: Array,
    qd: Array,
    qdd: Array,
    multiplier: Array,
    schedule: Array,
    record: Array,
    wheel_record: Array,
    cost: Array,
) -> int:
    """Steps `done` to `steps` of a run that began at t; weights without rows mean the trapezoidal rule.

    Returns the steps done, fewer when one failed or R is ill-conditioned (work.control[5] above [6], when that is set).
    """
    for k in range(done, steps):
        follow(work, schedule, k)
        if weights.shape[0] == 0:
            ok = trapezoidal_step(tables, work, force, options, t_s + k * h, h, q, qd, qdd, multiplier, cost)
        else:
            ok = explicit_step(tables, work, force, options, weights, t_s + k * h, h, q, qd, qdd, multiplier, cost)
        if not ok:
            return k
        configure(tables, work, t_s + (k + 1) * h, q)
        cost[3] = max(cost[3], norm(work.phi))
        keep(tables, work, t_s + (k + 1) * h, h, k, every, q, qd, qdd, record, wheel_record)
        if work.control[6] > 0.0 and work.control[5] > work.control[6]:
            return k + 1
    return steps
