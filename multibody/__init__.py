"""Bodies, joints, forces, formulations and integrators; linkages and the car.

    model = build(shipped_mechanism("fourbar"))       # a mechanism is data; a model is its tables
    stepper = Stepper(model)                          # a method and its buffers, one per thread
    state, cost = stepper.step(stepper.start(), 5e-3)

Exported lazily: importing this package does not import numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hodograph.multibody.derivatives import Sensitivity, sensitivity
    from hodograph.multibody.energy import energy_j
    from hodograph.multibody.kinematics import (
        consistent,
        constraint_norms,
        from_independent,
        mass_matrix,
        matrices_r_s,
        reselect,
        start_state,
        velocity_sensitivity,
    )
    from hodograph.multibody.lanes import LaneStepper
    from hodograph.multibody.mechanism import (
        Aligned,
        Angle,
        Bar,
        Combination,
        ConstantDistance,
        CoordinateSpring,
        Distance,
        DotProduct,
        Guided,
        Lamina,
        Linear,
        Mechanism,
        Particle,
        PlanarBody,
        Point,
        PointForce,
        RigidBody,
        SpringDamper,
        Station,
        Torque,
        UnitVector,
        Vector,
        Wheel,
        read_mechanism,
        shipped_mechanism,
        shipped_mechanisms,
    )
    from hodograph.multibody.model import Model, State, build
    from hodograph.multibody.stepper import (
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
    "compiling": ("user_force",),
    "derivatives": ("Sensitivity", "sensitivity"),
    "energy": ("energy_j",),
    "kinematics": (
        "consistent", "constraint_norms", "from_independent", "mass_matrix", "matrices_r_s", "reselect", "start_state",
        "velocity_sensitivity",
    ),
    "lanes": ("LaneStepper",),
    "mechanism": (
        "Aligned", "Angle", "Bar", "Combination", "ConstantDistance", "CoordinateSpring", "Distance", "DotProduct",
        "Guided", "Lamina", "Linear", "Mechanism", "Particle", "PlanarBody", "Point", "PointForce", "RigidBody",
        "SpringDamper", "Station", "Torque", "UnitVector", "Vector", "Wheel", "read_mechanism", "shipped_mechanism",
        "shipped_mechanisms",
    ),
    "model": ("Model", "State", "build"),
    "stepper": (
        "Formulation", "Integrator", "Projection", "Refresh", "StepCost", "StepOptions", "Stepper", "Trajectory",
    ),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
__all__ = [
    "Aligned", "Angle", "Bar", "Combination", "ConstantDistance", "CoordinateSpring", "Distance", "DotProduct",
    "Formulation", "Guided", "Integrator", "Lamina", "LaneStepper", "Linear", "Mechanism", "Model", "Particle",
    "PlanarBody", "Point", "PointForce", "Projection", "Refresh", "RigidBody", "Sensitivity", "SpringDamper", "State",
    "Station", "StepCost", "StepOptions", "Stepper", "Torque", "Trajectory", "UnitVector", "Vector", "Wheel", "build",
    "consistent", "constraint_norms", "energy_j", "from_independent", "mass_matrix", "matrices_r_s", "read_mechanism",
    "reselect", "sensitivity", "shipped_mechanism", "shipped_mechanisms", "start_state", "user_force",
    "velocity_sensitivity",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
