"""The tables of a model: what the kernels walk. Index arrays are uint32, values float64, all contiguous."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hodograph.core.frames import Array
from hodograph.multibody.forces.columns import ROAD_WIDTH

Index = NDArray[np.uint32]


def _sizes(table: tuple[object, ...]) -> str:
    """Its name and how much it holds: a table of a car printed as it is fills a hundred screens."""
    return f"{type(table).__name__}({len(table)} parts, {_bytes(table) / 1024.0:.1f} KiB)"


def _bytes(part: object) -> int:
    if isinstance(part, np.ndarray):
        return part.nbytes
    return sum(map(_bytes, part)) if isinstance(part, tuple) else 0


class ConstraintRows(NamedTuple):
    """Constraints Φ_i = ½ qᵀ S_i q + l_iᵀ q − c_i, then the sines, cosines and guides of some of them.

    A slot is one entry of the sparse Jacobian: row i owns slots start[i] … start[i+1], in the order of elimination;
    slot a lies in column col[a] and is lin[a] + Σ tri_val q[tri_col] over its triplets + share_val · the shared form.
    Many slots of a distance between stations are multiples of one linear form, the difference along an axis: a row has
    up to three such forms, which are summed up once.
    """

    start: Index  # (m+1,)
    col: Index  # (slots,)
    tri_start: Index  # (slots+1,)
    tri_col: Index  # (triplets,)
    tri_val: Array
    lin: Array  # (slots,)
    form_start: Index  # (3m+1,) terms of the three shared forms of each row
    form_col: Index
    form_val: Array
    share: Index  # (slots,) which of them: 0, 1, 2, or 3 for none
    share_val: Array
    const: Array  # (m,)
    angle: Index  # (angles, 5): sine row, cosine row, coordinate, slot of it in the sine row, in the cosine row
    amplitude: Array  # (angles,)
    guide: Index  # (guides, 2): row, input
    guide_par: Array  # (guides, 6): offset, rate, acceleration, amplitude, frequency, phase

    def __repr__(self) -> str:
        return _sizes(self)


class Mass(NamedTuple):
    """The mass matrix by rows (both triangles), constant but for the wheels."""

    start: Index  # (n+1,)
    col: Index
    val: Array
    wheel: Index  # (wheels, 3): first index of side_a, of side_b, spin
    wheel_inertia: Array  # (wheels,)
    wheel_val: Index  # (wheels, 12): places in val: (a, spin) ×3, (spin, a) ×3, (b, spin) ×3, (spin, b) ×3
    wheel_dest: Index  # (wheels, 6): places in the factor: (a, spin) ×3, (b, spin) ×3

    def __repr__(self) -> str:
        return _sizes(self)


class Factor(NamedTuple):
    """Symbolic LDLᵀ (see symbolic.py) and where the assembled parts go."""

    order: Index  # (n,)
    start: Index  # (n+1,)
    row: Index  # (size,)
    update: Index  # (runs, 2): destination and length of the runs of the elimination, in order
    jacobian: Index  # (runs, 2): the same for JᵀJ: for each row, for each slot a, the slots b ≥ a
    diagonal: Index  # (n,) where (i, i) is stored
    mass: Array  # (size,) the constant mass matrix in this storage
    penalty: Array  # (m,) row weights that make JᵀJ outweigh the mass by the same factor in every row
    scale: Array  # (m,) 1/|J_i|² in the design position, for the kinematic problems

    def __repr__(self) -> str:
        return _sizes(self)


class Loads(NamedTuple):
    """Forces: constant ones, springs between places, springs on coordinates, torques linear in q, inputs."""

    steady: Array  # (n,) weight and constant forces
    spring_term: Index  # (springs+1,) terms of each spring's elongation vector
    term: Index  # (terms, 2): coordinate, axis
    term_val: Array  # (terms,)
    spring_const: Array  # (springs, 3)
    spring_par: Array  # (springs, 3): stiffness, free length, damping
    spring_curve: Index  # (springs, 2): curve of elongation, of speed; 0 = none, else 1 + curve
    spring_slot: Index  # (springs+1,) coordinates of each spring, in the order of elimination
    term_slot: Index  # (terms,) which of them, counted from the spring's first
    spring_run: Index  # (springs+1,) runs of each spring
    run: Index  # (runs, 2): destination and length, as of the factor, of the products of slots a ≤ b
    spring_pair: Index  # (springs+1,) pairs of terms on one axis
    pair: Index  # (pairs,) destination in the factor
    pair_val: Array  # (pairs,)
    scalar: Index  # (scalar springs, 4): coordinate, curve of elongation, of speed, destination in the factor
    scalar_par: Array  # (scalar springs, 3): stiffness, rest, damping
    torque: Index  # (torque terms, 3): force row, coordinate, input
    torque_val: Array
    driven: Index  # (driven terms, 2): force row, input
    driven_val: Array
    bar: Index  # (bars, 2): two springs whose elongations a bar keeps alike
    bar_par: Array  # (bars,) stiffness
    curve_start: Index  # (curves+1,) knots of each curve
    curve: Array  # (knots, 5): abscissa, then value, slope, and the quadratic and cubic factors to the next knot

    def __repr__(self) -> str:
        return _sizes(self)


class Rolling(NamedTuple):
    """Wheels on a road and what acts through them (see rolling_kernels.py); all empty in a mechanism without."""

    wheel: Index  # (wheels, 5): first index of centre, axis, side_a, side_b; spin
    tyre: Array  # (wheels, TYRE_WIDTH)
    dest: Index  # (wheels, 64): places in the factor: nine per pair of (W, a, b), three (W, a, b; spin), (spin, spin)
    brake: Index  # (brakes, 2): wheel, input
    brake_par: Array
    drive: Index  # (axles, 6): left and right wheel, input, side vectors of what takes the reaction, (spin, spin) place
    drive_par: Array
    aero_start: Index  # (3 · aero + 1,) places of drag, of lift in front, of lift at the rear
    aero_term: Index  # (terms, 2): coordinate, axis
    aero_val: Array
    aero_axis: Index  # (aero, 3): first index of the forward, left and upward vector
    aero_par: Array

    def __repr__(self) -> str:
        return _sizes(self)


class Tables(NamedTuple):
    """All tables of one model."""

    rows: ConstraintRows
    mass: Mass
    factor: Factor
    loads: Loads
    rolling: Rolling

    def __repr__(self) -> str:
        return _sizes(self)


class Work(NamedTuple):
    """Buffers of one running state; never shared between threads."""

    jac: Array  # (slots,) Jacobian now
    jac0: Array  # (slots,) Jacobian in the factor
    w: Array  # (size,) factor
    mass: Array  # entries of the mass matrix now
    phi: Array  # (m,)
    rate: Array  # (m,)
    mu: Array  # (m,) multipliers times h²/4, or as they are
    target: Array  # (m,)
    tau: Array  # (m,)
    dtau: Array  # (m,)
    branch: Index  # (angles,) 1 = sine, 0 = cosine
    guide: Array  # (guides, 3): value, rate, acceleration
    inputs: Array  # (1 + inputs, 3): value, rate, acceleration; row 0 is (1, 0, 0)
    applied: Array  # (n,) force set by the caller
    parameters: Array  # of the user force
    force: Array  # (n,)
    rhs: Array  # (n,)
    a: Array  # (n,) spare
    b: Array  # (n,) spare
    c: Array  # (n,) spare
    stage: Array  # (17, n) stages of explicit methods: 7 velocities, 7 accelerations, then the start of a step
    before: Array  # (n,) accelerations of the step before, true while `control` says that it ended where one begins
    null: Array  # (f, n) matrix R by rows
    reduced: Array  # (f, f)
    reduced_rhs: Array  # (f,)
    independent: Index  # (f,)
    wheels: Array  # (wheels, 19) states, forces and motion of the wheels, see rolling_kernels.py
    road: Array  # (features, ROAD_WIDTH)
    clock: Array  # (1,) when the states of the wheels were true
    probe: Array  # (4, n) spare, for differences of the rolling forces
    control: Array  # (8,) what a method remembers between steps: contraction, drift control, …

    def __repr__(self) -> str:
        return _sizes(self)


WHEEL_WIDTH, WHEEL_STATES = 19, 3

FRESH = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1e300)
"""Work.control of a method that has not stepped yet."""


def work_for(tables: Tables, independent: Index, inputs: int, parameters: Array) -> Work:
    """Fresh buffers for a state of the model."""
    n, m = len(tables.mass.start) - 1, len(tables.rows.const)
    f = len(independent)
    given = np.zeros((1 + inputs, 3))
    given[0, 0] = 1.0
    slots, size = len(tables.rows.col), int(tables.factor.start[-1])
    return Work(
        np.zeros(slots), np.zeros(slots), np.zeros(size), tables.mass.val.copy(), np.zeros(m), np.zeros(m), np.zeros(m),
        np.zeros(m), np.zeros(m), np.zeros(m),
        np.ones(len(tables.rows.angle), dtype=np.uint32), np.zeros((len(tables.rows.guide), 3)), given, np.zeros(n),
        parameters.copy(), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros((17, n)),
        np.zeros(n), np.zeros((f, n)), np.zeros((f, f)), np.zeros(f), independent.copy(),
        np.zeros((len(tables.rolling.wheel), WHEEL_WIDTH)), np.zeros((0, ROAD_WIDTH)), np.zeros(1), np.zeros((4, n)),
        np.array(FRESH),
    )  # fmt: skip


class LaneWork(NamedTuple):
    """Buffers of four states side by side; the last axis is the lane."""

    jac: Array  # (slots, 4)
    jac0: Array
    w: Array  # (size, 4)
    phi: Array  # (m, 4)
    mu: Array
    gap: Array
    target: Array
    rhs: Array  # (n, 4)
    force: Array
    branch: Index  # (angles, 4)
    guide: Array  # (guides, 3)
    inputs: Array
    applied: Array  # (n,)
    parameters: Array
    ones: Array  # (m,)
    one: Array  # (n,) one lane at a time
    one_q: Array
    one_qd: Array
    one_w: Array  # (size,)
    wheels: Array  # (4, wheels, 19)
    road: Array
    before: Array  # (n, 4) accelerations of the step before, for the predictor
    control: Array  # (2,) size and end of the last step

    def __repr__(self) -> str:
        return _sizes(self)


def lane_work_for(tables: Tables, inputs: int, parameters: Array) -> LaneWork:
    """Fresh buffers for four states."""
    n, m = len(tables.mass.start) - 1, len(tables.rows.const)
    slots, size = len(tables.rows.col), int(tables.factor.start[-1])
    given = np.zeros((1 + inputs, 3))
    given[0, 0] = 1.0
    return LaneWork(
        np.zeros((slots, 4)), np.zeros((slots, 4)), np.zeros((size, 4)), np.zeros((m, 4)), np.zeros((m, 4)),
        np.zeros((m, 4)), np.zeros((m, 4)), np.zeros((n, 4)), np.zeros((n, 4)),
        np.ones((len(tables.rows.angle), 4), dtype=np.uint32), np.zeros((len(tables.rows.guide), 3)), given,
        np.zeros(n), parameters.copy(), np.ones(m), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(size),
        np.zeros((4, len(tables.rolling.wheel), WHEEL_WIDTH)), np.zeros((0, ROAD_WIDTH)), np.zeros((n, 4)),
        np.array([0.0, -1e300]),
    )  # fmt: skip
