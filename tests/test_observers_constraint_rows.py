"""The constraint rows of SCKF and DIEKFpm are the derivatives of Φ and Φ_dot, also where slots share a form."""

from __future__ import annotations

import numpy as np
import pytest

from hodograph.multibody.car import mechanism_of, read_vehicle
from hodograph.multibody.model.build import build
from hodograph.multibody.model.constraint_kernels import choose_branches, evaluate, rates, set_guides
from hodograph.multibody.model.mechanism import shipped_mechanism
from hodograph.multibody.motion.kinematics import start_state
from hodograph.observers.memory import Room
from hodograph.observers.on_mechanism.constrained import constraint_row
from hodograph.observers.on_mechanism.plant import make_node, make_plant
from hodograph.observers.on_mechanism.problem import Problem
from hodograph.observers.on_mechanism.uncertainty import Uncertainty
from hodograph.sensors import mount


@pytest.mark.parametrize("name", ["fourbar", "fivebar", "spatial_fourbar", "xbw"])
def test_constraint_rows_are_derivatives(name: str) -> None:
    model = build(mechanism_of(read_vehicle(name)) if name == "xbw" else shipped_mechanism(name))
    rng = np.random.default_rng(3)
    state = start_state(model, rng.normal(size=model.n))
    problem, room = Problem(model, mount(model, []), Uncertainty(1.0, 1.0, 1.0), state), Room()
    plant, node = make_plant(problem, room, 5e-3), make_node(problem, room)
    rows, work, n = model.tables.rows, plant.work, model.n
    assert (rows.share < 3).any() == (name == "xbw"), "slots that share a form must be among the tested"
    choose_branches(rows, node.q, work.branch)

    def both(q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        set_guides(rows, 0.0, work.inputs, work.guide)
        evaluate(rows, q, work.branch, work.guide, work.jac, work.phi)
        rates(rows, work.jac, work.guide, qd, work.rate)
        return np.concatenate([work.phi, work.rate])

    x = np.concatenate([node.q, node.qd])
    step = 1e-6
    columns = []
    for j in range(2 * n):
        ahead, back = x.copy(), x.copy()
        ahead[j] += step
        back[j] -= step
        columns.append((both(ahead[:n], ahead[n:]) - both(back[:n], back[n:])) / (2.0 * step))
    wanted = np.column_stack(columns)
    both(node.q, node.qd)
    for i in range(model.rows):
        for of_rate in range(2):
            row = np.zeros(2 * n)
            constraint_row.py_func(plant, node, i, of_rate, row)  # type: ignore[attr-defined]
            assert np.abs(row - wanted[of_rate * model.rows + i]).max() < 1e-6, model.row_names[i]
