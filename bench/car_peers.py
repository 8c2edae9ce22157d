"""Trees of the car's size in mujoco and pinocchio, the peers: what one step or one evaluation costs there.

A chassis that floats and four double wishbones: 17 bodies, 30 velocities, 12 rows of closure where upper arms meet
knuckles. No tyres, no roads, no rack, no strut: comparable in size, not in content.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from hodograph.bench.kernel_speed import measure
from hodograph.core.frames import Array

PEER_PACKAGES = {"mujoco": "mujoco", "pinocchio": "pin"}
PEERS = ("mujoco_step_us", "pinocchio_aba_us", "pinocchio_constraint_dynamics_us")
STEP_S = 4e-3
CORNERS = {"fl": (2.4, 1.0), "fr": (2.4, -1.0), "rl": (0.0, 1.0), "rr": (0.0, -1.0)}


def _body(name: str, at: str, joint: str, mass_kg: float, inertia: str, inside: str = "") -> str:
    return (
        f'<body name="{name}" pos="{at}"><joint {joint}/>'
        f'<inertial pos="0 0 0" mass="{mass_kg}" diaginertia="{inertia}"/>{inside}</body>'
    )


def mujoco_car() -> str:
    """The tree as MJCF, springs as tendons."""
    trees, springs, closures = [], [], []
    for name, (x, side) in CORNERS.items():
        wheel = _body(f"{name}_w", f"0 {0.06 * side} 0.12", 'axis="0 1 0"', 15.0, "0.3 0.53 0.3")
        knuckle = _body(
            f"{name}_k", f"0 {0.32 * side} 0", 'type="ball" damping="5" stiffness="200"', 7.4, "0.03 0.04 0.04",
            wheel,
        )  # fmt: skip
        hinge = 'axis="1 0 0" damping="50"'
        seat = f'<site name="{name}_s" pos="0 {0.2 * side} 0"/>'
        trees.append(_body(f"{name}_l", f"{x} {0.29 * side} 0.16", hinge, 4.2, "0.02 0.06 0.08", seat + knuckle))
        trees.append(_body(f"{name}_u", f"{x} {0.34 * side} 0.38", hinge, 9.5, "0.05 0.09 0.14"))
        trees.append(f'<site name="{name}_t" pos="{x} {0.38 * side} 0.71"/>')
        springs.append(
            f'<spatial stiffness="32000" damping="2000" springlength="0.5"><site site="{name}_s"/>'
            f'<site site="{name}_t"/></spatial>'
        )
        closures.append(f'<connect body1="{name}_u" body2="{name}_k" anchor="0 {0.25 * side} 0.02"/>')
    chassis = _body("c", "0 0 0", 'type="free"', 541.0, "65 307 297", "".join(trees)).replace(
        'pos="0 0 0" mass', 'pos="0.9 0 0.4" mass', 1
    )
    return (
        f'<mujoco><option timestep="{STEP_S}"/><worldbody>{chassis}</worldbody>'
        f"<tendon>{''.join(springs)}</tendon><equality>{''.join(closures)}</equality></mujoco>"
    )


def mujoco_run(steps: int = 500) -> Callable[[], float]:
    """CPU µs per mj_step; many steps in one call, so that Python does not count."""
    import mujoco as untyped

    mujoco: Any = untyped
    model = mujoco.MjModel.from_xml_string(mujoco_car())
    data = mujoco.MjData(model)
    if (model.nbody, model.nv) != (1 + 17, 30):
        raise ValueError(f"mujoco's car has {model.nbody - 1} bodies and {model.nv} velocities, want 17 and 30")

    def run() -> float:
        mujoco.mj_resetData(model, data)
        began = time.thread_time()
        mujoco.mj_step(model, data, steps)
        return (time.thread_time() - began) / steps * 1e6

    return run


def pinocchio_runs(calls: int = 300) -> dict[str, Callable[[], float]]:
    """CPU µs per evaluation of the accelerations: the open tree (ABA), and with the four closures."""
    import pinocchio as untyped

    pin: Any = untyped
    model = pin.Model()
    upright = np.eye(3)

    def add(parent: int, joint: Any, at: tuple[float, float, float], name: str, mass_kg: float, inertia: Array) -> int:
        k = model.addJoint(parent, joint, pin.SE3(upright, np.array(at)), name)
        model.appendBodyToJoint(k, pin.Inertia(mass_kg, np.zeros(3), np.diag(inertia)), pin.SE3.Identity())
        return int(k)

    chassis = add(0, pin.JointModelFreeFlyer(), (0.0, 0.0, 0.0), "c", 541.0, np.array([65.0, 307.0, 297.0]))
    closures = pin.StdVec_RigidConstraintModel()
    for name, (x, side) in CORNERS.items():
        lower = add(chassis, pin.JointModelRX(), (x, 0.29 * side, 0.16), f"{name}_l", 4.2, np.array([0.02, 0.06, 0.08]))
        upper = add(chassis, pin.JointModelRX(), (x, 0.34 * side, 0.38), f"{name}_u", 9.5, np.array([0.05, 0.09, 0.14]))
        ball = pin.JointModelSpherical()
        knuckle = add(lower, ball, (0.0, 0.32 * side, 0.0), f"{name}_k", 7.4, np.array([0.03, 0.04, 0.04]))
        add(knuckle, pin.JointModelRY(), (0.0, 0.06 * side, 0.12), f"{name}_w", 15.0, np.array([0.3, 0.53, 0.3]))
        here = pin.SE3(upright, np.array([0.0, 0.25 * side, 0.02]))
        there = pin.SE3(upright, np.array([0.0, -0.02 * side, 0.24]))
        closures.append(pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, upper, here, knuckle, there))
    data, memory = model.createData(), pin.StdVec_RigidConstraintData()
    for closure in closures:
        memory.append(closure.createData())
    q, v, tau = pin.neutral(model), np.full(model.nv, 0.1), np.zeros(model.nv)
    pin.initConstraintDynamics(model, data, closures, memory)

    def per_call(evaluate: Callable[[], object]) -> Callable[[], float]:
        def run() -> float:
            began = time.thread_time()
            for _ in range(calls):
                evaluate()
            return (time.thread_time() - began) / calls * 1e6

        return run

    return {
        "pinocchio_aba_us": per_call(lambda: pin.aba(model, data, q, v, tau)),
        "pinocchio_constraint_dynamics_us": per_call(
            lambda: pin.constraintDynamics(model, data, q, v, tau, closures, memory)
        ),
    }


def peer_times_us(rounds: int = 7) -> dict[str, float | None]:
    """Medians of the installed peers, taking turns; None for those that are not installed."""
    runs: dict[str, Callable[[], float]] = {}
    if find_spec("mujoco") is not None:
        runs["mujoco_step_us"] = mujoco_run()
    if find_spec("pinocchio") is not None:
        runs |= pinocchio_runs()
    times = measure(runs, rounds)
    return {name: round(times[name].median_us, 2) if name in times else None for name in PEERS}
