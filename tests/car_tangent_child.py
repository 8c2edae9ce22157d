"""Run without compilation by test_car_steps.py: the matrix of Newton's method against differences of its residual.

Reads visited states from an .npz file and prints one JSON list: for each state the smallest eigenvalue of the matrix on
the free motions (relative to the largest) and the spectral radius of the error iteration I − W⁻¹ A.
"""

from __future__ import annotations

import json
import os
import sys

os.environ["NUMBA_DISABLE_JIT"] = "1"

import numpy as np
from scipy.linalg import eigh, eigvals, null_space

from hodograph.core.frames import Array
from hodograph.multibody import build
from hodograph.multibody.car import mechanism_of, read_vehicle
from hodograph.multibody.forces.load_kernels import generalised_forces
from hodograph.multibody.forces.road import Road
from hodograph.multibody.forces.rolling_kernels import rolling_forces
from hodograph.multibody.model.build import Model
from hodograph.multibody.model.constraint_kernels import evaluate, set_guides
from hodograph.multibody.model.linear_kernels import refresh_mass
from hodograph.multibody.model.tables import WHEEL_STATES, Work
from hodograph.multibody.steps import augmented_kernels as augmented


def residual(model: Model, work: Work, h_s: float, start: dict[str, Array], q: Array) -> Array:
    """M qdd + Jᵀ λ − Q at the end of a step that ends at q, times h²/4 (Sanjurjo 2016, 3.48)."""
    tables = model.tables
    d = q - start["q"]
    qd = start["qd"] + 2.0 / h_s * d
    qdd = start["qdd"] + 4.0 / h_s**2 * d
    evaluate(tables.rows, q, work.branch, work.guide, work.jac, work.phi)
    refresh_mass(tables.mass, q, work.mass)
    generalised_forces(tables.loads, tables.mass, work.inputs, work.applied, q, qd, work.force)
    rolling_forces(tables.rolling, work.wheels, work.road, work.inputs, h_s, q, qd, work.force)
    row = np.repeat(np.arange(model.n), np.diff(tables.mass.start))
    out = -work.force.copy()
    np.add.at(out, row, work.mass * qdd[tables.mass.col])
    np.add.at(out, tables.rows.col, work.jac * np.repeat(start["multipliers"], np.diff(tables.rows.start)))
    return np.asarray(0.25 * h_s**2 * out)


def newton_matrix(model: Model, work: Work, h_s: float, q: Array, qd: Array) -> Array:
    """What `refactor` assembles, dense, without its penalty terms (they vanish on the free motions)."""
    kept: list[Array] = []
    factorise = augmented.factorise
    augmented.factorise = lambda factor, w: kept.append(w.copy())  # type: ignore[assignment]
    augmented.refactor(model.tables, work, 0.0 * model.tables.factor.penalty, h_s, q, qd)
    augmented.factorise = factorise
    factor, dense = model.tables.factor, np.zeros((model.n, model.n))
    for k in range(model.n):
        for x in range(int(factor.start[k]), int(factor.start[k + 1])):
            i, j = int(factor.row[x]), int(factor.order[k])
            dense[i, j] = dense[j, i] = kept[0][x]
    return dense


def compare(model: Model, h_s: float, start: dict[str, Array]) -> tuple[float, float]:
    """Least relative eigenvalue of W and spectral radius of I − W⁻¹ A, both on the free motions."""
    work = model.work()._replace(road=Road.flat().table())
    work.inputs[1:] = start["inputs"]
    work.wheels[:, :WHEEL_STATES] = start["wheels"]
    set_guides(model.tables.rows, 0.0, work.inputs, work.guide)
    q = start["q"]
    residual(model, work, h_s, start, q)
    jacobian = np.zeros((model.rows, model.n))
    row = np.repeat(np.arange(model.rows), np.diff(model.tables.rows.start))
    jacobian[row, model.tables.rows.col] = work.jac
    free = null_space(jacobian, rcond=1e-10)
    w = free.T @ newton_matrix(model, work, h_s, q, start["qd"]) @ free
    step = 1e-7
    columns = [
        (residual(model, work, h_s, start, q + step * v) - residual(model, work, h_s, start, q - step * v))
        / (2.0 * step)
        for v in free.T
    ]
    a = free.T @ np.column_stack(columns)
    values = eigh(w, eigvals_only=True)
    return float(values[0] / values[-1]), float(np.abs(eigvals(np.eye(len(w)) - np.linalg.solve(w, a))).max())


if __name__ == "__main__":
    vehicle, path = sys.argv[1:]
    given = np.load(path)
    model = build(mechanism_of(read_vehicle(vehicle)))
    count = len(given["q"])
    names = ("q", "qd", "qdd", "multipliers", "wheels", "inputs")
    print(json.dumps([compare(model, 4e-3, {name: given[name][k] for name in names}) for k in range(count)]))
