"""Energy of a mechanism: kinetic, of its weight, and what springs and anti-roll bars store, of one state or of many."""

from __future__ import annotations

import numpy as np

from hodograph.core.frames import Array
from hodograph.multibody.model.build import Model, State
from hodograph.multibody.model.tables import Loads
from hodograph.multibody.motion.kinematics import mass_matrix


def energy_j(model: Model, state: State) -> tuple[float, float]:
    """Kinetic and potential energy: weight, constant forces, springs (curves integrated), anti-roll bars.

    What carcasses of tyres and winding brakes store is not in it: their laws give forces, not energies.
    """
    q, qd = state.q[None], state.qd[None]
    return float(kinetic_j(model, q, qd)[0]), float(potential_j(model, q)[0])


def kinetic_j(model: Model, q: Array, qd: Array) -> Array:
    """½ qdᵀ M(q) qd of each row of q and qd (k, n)."""
    return np.array([0.5 * v @ mass_matrix(model, x) @ v for x, v in zip(q, qd, strict=True)])


def potential_j(model: Model, q: Array) -> Array:
    """Energy of weight, constant forces, springs and bars at each row of q (k, n)."""
    loads = model.tables.loads
    total = -(q @ loads.steady)
    stretch = [spring_length_m(loads, s, q) - free for s, (_, free, _) in enumerate(loads.spring_par)]
    for s, (stiffness, _, _) in enumerate(loads.spring_par):
        total += _stored_j(loads, int(loads.spring_curve[s, 0]), stiffness, stretch[s])
    for (a, b), rate in zip(loads.bar, loads.bar_par, strict=True):
        total += 0.5 * rate * (stretch[a] - stretch[b]) ** 2
    for s, (stiffness, rest, _) in enumerate(loads.scalar_par):
        total += _stored_j(loads, int(loads.scalar[s, 1]), stiffness, q[:, loads.scalar[s, 0]] - rest)
    return np.asarray(total, dtype=np.float64)


def spring_length_m(loads: Loads, s: int, q: Array) -> Array:
    """Length of spring s at each row of q (k, n)."""
    return np.asarray(np.linalg.norm(spring_vectors(loads, s, q) + loads.spring_const[s], axis=1), dtype=np.float64)


def spring_vectors(loads: Loads, s: int, x: Array) -> Array:
    """The linear part of the vector from end to end of spring s, for rows of coordinates or their rates: (k, 3)."""
    vectors = np.zeros((len(x), 3))
    for k in range(int(loads.spring_term[s]), int(loads.spring_term[s + 1])):
        vectors[:, loads.term[k, 1]] += loads.term_val[k] * x[:, loads.term[k, 0]]
    return vectors


def curve_values(loads: Loads, which: int, x: Array) -> Array:
    """A curve at each x; straight beyond its ends (numpy twin of load_kernels.py)."""
    knots = _knots(loads, which)
    k = _piece(knots, x)
    d = x - knots[k, 0]
    return np.asarray(knots[k, 1] + d * (knots[k, 2] + d * (knots[k, 3] + d * knots[k, 4])), dtype=np.float64)


def _knots(loads: Loads, which: int) -> Array:
    """Rows (abscissa, value, slope, quadratic, cubic) of a curve, with a straight piece put before the first knot."""
    knots = loads.curve[int(loads.curve_start[which]) : int(loads.curve_start[which + 1])].copy()
    knots[-1, 3:] = 0.0
    before = knots[0].copy()
    before[3:] = 0.0
    return np.vstack([before, knots])


def _piece(knots: Array, x: Array) -> Array:
    """Which piece each x lies in; piece 0 is the straight one before the first knot."""
    return np.asarray(np.searchsorted(knots[1:, 0], x, side="right"))


def _stored_j(loads: Loads, curve: int, stiffness: float, stretch: Array) -> Array:
    """∫ force over the stretch, from zero."""
    if curve == 0:
        return np.asarray(0.5 * stiffness * stretch**2)
    knots = _knots(loads, curve - 1)
    widths = np.diff(knots[1:, 0])
    up_to = np.concatenate([[0.0, 0.0], np.cumsum(_integral(knots[1:-1], widths))])

    def since_first(x: Array) -> Array:
        k = _piece(knots, x)
        return np.asarray(up_to[k] + _integral(knots[k], x - knots[k, 0]))

    return since_first(stretch) - since_first(np.zeros_like(stretch))


def _integral(knots: Array, d: Array) -> Array:
    value, slope, second, third = knots.T[1:]
    return np.asarray(d * (value + d * (slope / 2.0 + d * (second / 3.0 + d * third / 4.0))))
