"""How accelerations change with the independent coordinates and velocities: exact, for the exact-Jacobian filters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hodograph.core.display import short_repr
from hodograph.core.frames import Array
from hodograph.multibody.model.build import Model, State
from hodograph.multibody.model.constraint_kernels import choose_branches
from hodograph.multibody.model.tables import Index, Work
from hodograph.multibody.motion import derivative_kernels as kernels
from hodograph.numerics.compiling import NO_FORCE


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Derivatives of all coordinates with respect to the independent ones, each (n, f).

    `r` = dq/dz = dqd/dzd, `qd_z` = dqd/dz, `qdd_z` = dqdd/dz, `qdd_zd` = dqdd/dzd; `independent` picks the rows of z.
    """

    independent: Index
    r: Array
    qd_z: Array
    qdd_z: Array
    qdd_zd: Array

    __repr__ = short_repr

    @property
    def zdd_z(self) -> Array:
        """dzdd/dz, shape (f, f)."""
        picked: Array = self.qdd_z[self.independent]
        return picked

    @property
    def zdd_zd(self) -> Array:
        """dzdd/dzd, shape (f, f)."""
        picked: Array = self.qdd_zd[self.independent]
        return picked


def sensitivity(model: Model, state: State, *, work: Work | None = None, force: object = NO_FORCE) -> Sensitivity:
    """Exact derivatives at a consistent state, unlike Sanjurjo 2016, 3.67 and 3.68, which leave terms out."""
    work = work or model.work()
    choose_branches(model.tables.rows, state.q, work.branch)
    f = len(work.independent)
    velocity, by_position, by_velocity = np.zeros((f, model.n)), np.zeros((f, model.n)), np.zeros((f, model.n))
    kernels.acceleration_derivatives(
        model.tables, work, force, state.t_s, state.q, state.qd, np.zeros(max(model.n, 2)), state.qdd.copy(),
        state.multipliers.copy(), velocity, by_position, by_velocity,
    )  # fmt: skip
    return Sensitivity(
        work.independent.copy(), work.null.T.copy(), velocity.T.copy(), by_position.T.copy(), by_velocity.T.copy()
    )
