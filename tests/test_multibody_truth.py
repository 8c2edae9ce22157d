"""The published linkage truth, and a peer library, reproduced; a hand-derived pendulum and a spinning top in space."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from hodograph.bench.exudyn_mechanisms import planar, spatial_fourbar
from hodograph.multibody import (
    Formulation,
    Integrator,
    Mechanism,
    Point,
    RigidBody,
    StepOptions,
    Stepper,
    Vector,
    build,
    constraint_norms,
    energy_j,
    shipped_mechanism,
)

needs_exudyn = pytest.mark.skipif(importlib.util.find_spec("exudyn") is None, reason="exudyn is not installed")


@pytest.mark.data
@pytest.mark.parametrize("name", ["fourbar", "fivebar"])
@pytest.mark.parametrize(("suffix", "gravity_mps2"), [("", -10.0), ("_g981", -9.81)])
def test_truth_of_the_linkage_benchmark(data_dir: Path, name: str, suffix: str, gravity_mps2: float) -> None:
    truth = np.loadtxt(data_dir / f"linkages/{name}_truth{suffix}.csv", delimiter=",", skiprows=1)
    model = build(replace(shipped_mechanism(name), gravity_mps2=(0.0, gravity_mps2)))
    z, f = model.independent, model.degrees_of_freedom
    published = StepOptions(tolerance=1e-10)  # where the fixed-point iteration stops is part of that integrator
    stepper = Stepper(model, Formulation.MATRIX_R, Integrator.TRAPEZOIDAL, published)
    start = stepper.start()
    assert np.abs(start.qdd[z] - truth[0, 1 + 2 * f :]).max() < 1e-11
    run = stepper.run(start, 0.005, len(truth) - 1)
    assert np.abs(run.q[:, z] - truth[1:, 1 : 1 + f]).max() < 1e-9
    assert np.abs(run.qd[:, z] - truth[1:, 1 + f : 1 + 2 * f]).max() < 1e-9
    assert np.abs(run.qdd[:, z] - truth[1:, 1 + 2 * f :]).max() < 1e-8


@needs_exudyn
@pytest.mark.parametrize("name", ["fourbar", "slider_crank"])
def test_exudyn_finds_the_same_planar_motion(name: str) -> None:
    model = build(shipped_mechanism(name))
    a, p1, p2 = (model.position_m(p, model.start_q) for p in ("A", "P1", "P2"))
    if name == "fourbar":
        b = model.position_m("B", model.start_q)
        bars = [(a, p1, 2.0), (p1, p2, 8.0), (p2, b, 5.0)]
        angle, _ = planar(bars, [(-1, 0), (0, 1), (1, 2), (2, -1)], -9.81, 0.005, 200)
    else:
        angle, _ = planar([(a, p1, 1.0), (p1, p2, 2.0)], [(-1, 0), (0, 1)], -9.81, 0.005, 200, slider=(1, 0.5))
    stepper = Stepper(model)
    ours = stepper.run(stepper.start(), 0.005, 200).q[:, model.index("theta")]
    assert abs(ours[-1] - ours[0]) > 1.0
    assert np.abs(ours - angle[1:]).max() < 2e-4


@needs_exudyn
def test_exudyn_finds_the_same_spatial_motion() -> None:
    angle, _ = spatial_fourbar(-9.81, 0.001, 1000)
    model = build(shipped_mechanism("spatial_fourbar"))
    stepper = Stepper(model)
    ours = stepper.run(stepper.start(), 0.001, 1000).q[:, model.index("theta")]
    assert abs(ours[-1] - ours[0]) > 3.0
    assert np.abs(ours - angle[1:]).max() < 2e-4


def body_on_a_ball_joint(
    mass_kg: float, arm_m: float, inertia_kgm2: tuple[float, float, float], tilt_rad: float
) -> Mechanism:
    """A body hinged at O with its third axis tilted towards x; inertia about the centre of gravity."""
    s, c = np.sin(tilt_rad), np.cos(tilt_rad)
    axes = np.array([[c, 0.0, -s], [0.0, 1.0, 0.0], [s, 0.0, c]])  # rows e1, e2, e3
    tensor = axes.T @ np.diag(inertia_kgm2) @ axes
    return Mechanism(
        schema=1,
        name="body on a ball joint",
        space="spatial",
        gravity_mps2=(0.0, 0.0, -9.81),
        points={"O": Point((0.0, 0.0, 0.0), fixed=True)},
        vectors={f"e{k + 1}": Vector(tuple(axes[k])) for k in range(3)},
        bodies={
            "body": RigidBody(
                points=("O",),
                vectors=("e1", "e2", "e3"),
                mass_kg=mass_kg,
                cg_m=tuple(arm_m * axes[2]),
                inertia_kgm2=tuple(np.diag(tensor)),
                products_kgm2=(-tensor[0, 1], -tensor[0, 2], -tensor[1, 2]),
            )
        },
        degrees_of_freedom=3,
    )


def spin_velocities(q: np.ndarray, omega_radps: np.ndarray) -> np.ndarray:
    return np.concatenate([np.cross(omega_radps, q[3 * k : 3 * k + 3]) for k in range(3)])


def euler_equations(_: float, x: np.ndarray, mass_kg: float, arm_m: float, inertia: np.ndarray) -> np.ndarray:
    """Hand-derived: rotation matrix (columns e1, e2, e3) and body rates of a body on a ball joint under gravity."""
    rotation, w = x[:9].reshape(3, 3), x[9:]
    torque = np.cross([0.0, 0.0, arm_m], rotation.T @ [0.0, 0.0, -9.81 * mass_kg])
    rates = np.linalg.solve(inertia, torque - np.cross(w, inertia @ w))
    skew = np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])
    return np.concatenate([(rotation @ skew).ravel(), rates])


@pytest.mark.parametrize("omega_body", [(0.3, -0.2, 0.1), (4.0, 1.0, -3.0)])
def test_spatial_pendulum_follows_eulers_equations(omega_body: tuple[float, float, float]) -> None:
    mass_kg, arm_m, inertia_kgm2 = 2.0, -0.4, (0.05, 0.06, 0.02)
    model = build(body_on_a_ball_joint(mass_kg, arm_m, inertia_kgm2, 0.6))
    rotation = model.start_q.reshape(3, 3).T
    omega = rotation @ np.array(omega_body)
    about_joint = np.diag(inertia_kgm2) + mass_kg * arm_m**2 * np.diag([1.0, 1.0, 0.0])
    exact = solve_ivp(
        euler_equations, (0.0, 1.0), [*rotation.ravel(), *omega_body], "DOP853", rtol=1e-12, atol=1e-12,
        args=(mass_kg, arm_m, about_joint),
    ).y[:9, -1].reshape(3, 3)  # fmt: skip
    stepper = Stepper(model, Formulation.LAGRANGE, Integrator.RK4)
    last = stepper.run(stepper.start(spin_velocities(model.start_q, omega)), 1e-3, 1000).last
    assert np.abs(last.q.reshape(3, 3).T - exact).max() < 1e-7
    implicit = Stepper(model)
    last = implicit.run(implicit.start(spin_velocities(model.start_q, omega)), 1e-3, 1000).last
    assert np.abs(last.q.reshape(3, 3).T - exact).max() < 2e-4


def test_a_spinning_top_precesses_as_it_should() -> None:
    """Steady precession of a symmetric top: (I3 − I1) cos θ Ω² + I3 s Ω − m g l = 0, counter-clockwise for s > 0."""
    mass_kg, arm_m, tilt_rad, spin_radps = 1.0, 0.3, 0.5, 150.0
    model = build(body_on_a_ball_joint(mass_kg, arm_m, (0.02, 0.02, 0.03), tilt_rad))
    i1, i3 = 0.02 + mass_kg * arm_m**2, 0.03
    root = np.roots([(i3 - i1) * np.cos(tilt_rad), i3 * spin_radps, -mass_kg * 9.81 * arm_m])
    precession_radps = float(min(root.real, key=abs))
    e3 = model.start_q[6:9]
    omega = precession_radps * np.array([0.0, 0.0, 1.0]) + spin_radps * e3
    stepper = Stepper(model)
    run = stepper.run(stepper.start(spin_velocities(model.start_q, omega)), 2e-4, 5000, every=50)
    azimuth = np.unwrap(np.arctan2(run.q[:, 7], run.q[:, 6]))
    assert precession_radps > 0.3
    assert np.abs(run.q[:, 8] - np.cos(tilt_rad)).max() < 1e-4
    assert np.abs(azimuth - precession_radps * run.t_s).max() < 2e-3


def test_energy_and_constraints_of_a_long_run() -> None:
    model = build(shipped_mechanism("spatial_fourbar"))
    stepper = Stepper(model)
    start = stepper.start()
    run = stepper.run(start, 1e-3, 10_000, every=1000)
    assert run.cost.residual < 1e-10
    assert max(constraint_norms(model, run.last)) < 1e-8
    before, after = sum(energy_j(model, start)), sum(energy_j(model, run.last))
    assert abs(after - before) < 1e-3 * max(energy_j(model, run.last)[0], 5.0)
