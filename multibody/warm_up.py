"""Compile everything once, before a car moves; the machine code stays on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np


def warm_up_jobs() -> Iterator[tuple[str, Callable[[], object]]]:
    """What there is to compile, as (name, job), the kernels that a simulation needs first."""
    from hodograph.multibody.model.build import build
    from hodograph.multibody.model.mechanism import shipped_mechanism
    from hodograph.multibody.motion.derivatives import sensitivity
    from hodograph.multibody.motion.kinematics import constraint_norms, from_independent, velocity_sensitivity
    from hodograph.multibody.steps.lanes import LaneStepper
    from hodograph.multibody.steps.stepper import Formulation, Integrator, Stepper

    model = build(shipped_mechanism("pendulum"))
    simple = Stepper(model)
    implicit = Stepper(model, integrator=Integrator.LINEARLY_IMPLICIT_EULER)
    explicit = Stepper(model, Formulation.MATRIX_R, Integrator.RK4)
    state = simple.start
    yield "consistent states", state
    yield "augmented Lagrangian step", lambda: simple.step(state(), 1e-3)
    yield "explicit and matrix-R steps", lambda: explicit.step(state(), 1e-3)
    yield "linearly implicit steps", lambda: implicit.step(state(), 1e-3)
    yield "kinematic problems", lambda: from_independent(model, 0.0, np.zeros(1), np.zeros(1), model.start_q)
    yield "constraint norms", lambda: (constraint_norms(model, state()), velocity_sensitivity(model, state()))
    yield "exact derivatives", lambda: sensitivity(model, state())
    yield "four states side by side", lambda: LaneStepper(model).step([state()] * 4, 1e-3)


def warm_up() -> None:
    """Compile all kernels of this folder now."""
    for _, job in warm_up_jobs():
        job()
