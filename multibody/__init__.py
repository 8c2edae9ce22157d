"""Bodies, joints, forces, formulations and integrators; linkages and the car.

    model = build(shipped_mechanism("fourbar"))       # a mechanism is data; a model is its tables
    stepper = Stepper(model)                          # a method and its buffers, one per thread
    state, cost = stepper.step(stepper.start(), 5e-3)

Exported lazily: importing this package does not import numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hodograph.multibody.forces.loads import CoordinateSpring, PointForce, SpringDamper, Torque
    from hodograph.multibody.model.build import Model, State, build
    from hodograph.multibody.model.mechanism import (
        Aligned,
        Angle,
        Bar,
        Combination,
        ConstantDistance,
        Distance,
        DotProduct,
        Guided,
        Lamina,
        LinearConstraint,
        Mechanism,
        Particle,
        PlanarBody,
        Point,
        RigidBody,
        Station,
        UnitVector,
        Vector,
        Wheel,
        read_mechanism,
        shipped_mechanism,
        shipped_mechanisms,
    )
    from hodograph.multibody.motion.derivatives import Sensitivity, sensitivity
    from hodograph.multibody.motion.energy import energy_j
    from hodograph.multibody.motion.kinematics import (
        consistent,
        constraint_norms,
        from_independent,
        mass_matrix,
        matrices_r_s,
        reselect,
        start_state,
        velocity_sensitivity,
    )
    from hodograph.multibody.steps.lanes import LaneStepper
    from hodograph.multibody.steps.stepper import (
        Formulation,
        Integrator,
        Projection,
        Refresh,
        StepCost,
        StepOptions,
        Stepper,
        Trajectory,
    )
    from hodograph.numerics.compiling import user_force

_HOMES = {
    "multibody.forces.loads": ("CoordinateSpring", "PointForce", "SpringDamper", "Torque"),
    "multibody.model.build": ("Model", "State", "build"),
    "multibody.model.mechanism": (
        "Aligned", "Angle", "Bar", "Combination", "ConstantDistance", "Distance", "DotProduct", "Guided", "Lamina",
        "LinearConstraint", "Mechanism", "Particle", "PlanarBody", "Point", "RigidBody", "Station", "UnitVector",
        "Vector", "Wheel", "read_mechanism", "shipped_mechanism", "shipped_mechanisms",
    ),
    "multibody.motion.derivatives": ("Sensitivity", "sensitivity"),
    "multibody.motion.energy": ("energy_j",),
    "multibody.motion.kinematics": (
        "consistent", "constraint_norms", "from_independent", "mass_matrix", "matrices_r_s", "reselect", "start_state",
        "velocity_sensitivity",
    ),
    "multibody.steps.lanes": ("LaneStepper",),
    "multibody.steps.stepper": (
        "Formulation", "Integrator", "Projection", "Refresh", "StepCost", "StepOptions", "Stepper", "Trajectory",
    ),
    "numerics.compiling": ("user_force",),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
__all__ = [
    "Aligned", "Angle", "Bar", "Combination", "ConstantDistance", "CoordinateSpring", "Distance", "DotProduct",
    "Formulation", "Guided", "Integrator", "Lamina", "LaneStepper", "LinearConstraint", "Mechanism", "Model",
    "Particle", "PlanarBody", "Point", "PointForce", "Projection", "Refresh", "RigidBody", "Sensitivity",
    "SpringDamper", "State", "Station", "StepCost", "StepOptions", "Stepper", "Torque", "Trajectory", "UnitVector",
    "Vector", "Wheel", "build", "consistent", "constraint_norms", "energy_j", "from_independent", "mass_matrix",
    "matrices_r_s", "read_mechanism", "reselect", "sensitivity", "shipped_mechanism", "shipped_mechanisms",
    "start_state", "user_force", "velocity_sensitivity",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    from importlib import import_module

    return getattr(import_module(f"hodograph.{_HOME_OF[name]}"), name)
