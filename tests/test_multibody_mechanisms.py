"""Mechanisms as data: files, names, bad ones refused by name; masses, wheels, springs, torques against hand values."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hodograph.core.errors import MechanismError, SettingsError
from hodograph.multibody import (
    Aligned,
    Bar,
    Combination,
    ConstantDistance,
    CoordinateSpring,
    Distance,
    DotProduct,
    Formulation,
    Integrator,
    LinearConstraint,
    Mechanism,
    Particle,
    PlanarBody,
    Point,
    PointForce,
    RigidBody,
    SpringDamper,
    Station,
    Stepper,
    Torque,
    UnitVector,
    Vector,
    build,
    energy_j,
    mass_matrix,
    read_mechanism,
    shipped_mechanism,
    shipped_mechanisms,
)

COUNTS = {
    "pendulum": (3, 1), "double_pendulum": (6, 2), "fourbar": (5, 1), "fivebar": (8, 2), "slider_crank": (5, 1),
    "spatial_fourbar": (13, 1), "double_wishbone": (32, 2),
}  # fmt: skip


def planar(**parts: object) -> Mechanism:
    given: dict[str, object] = {"schema": 1, "name": "test", "space": "planar", "gravity_mps2": (0.0, -9.81), **parts}
    return Mechanism(**given)  # type: ignore[arg-type]


def spatial(**parts: object) -> Mechanism:
    given: dict[str, object] = {
        "schema": 1,
        "name": "test",
        "space": "spatial",
        "gravity_mps2": (0.0, 0.0, -9.81),
        **parts,
    }
    return Mechanism(**given)  # type: ignore[arg-type]


A = Point((0.0, 0.0), fixed=True)


@pytest.mark.parametrize("name", COUNTS)
def test_shipped_mechanisms(name: str) -> None:
    assert set(COUNTS) == set(shipped_mechanisms())
    model = build(shipped_mechanism(name))
    assert (model.n, model.degrees_of_freedom) == COUNTS[name]


def test_unknown_keys_and_kinds_are_refused_with_line(tmp_path: Path) -> None:
    good = (Path(__file__).parents[1] / "multibody/mechanisms/fourbar.toml").read_text(encoding="utf-8")
    path = tmp_path / "bad.toml"
    path.write_text(good.replace("mass_kg = 8.0", "mas_kg = 8.0"), encoding="utf-8")
    with pytest.raises(SettingsError, match=r"bad.toml, line \d+.*coupler.*mas_kg.*mass_kg"):
        read_mechanism(path)
    path.write_text(good.replace('kind = "bar", points = ["A"', 'kind = "rope", points = ["A"'), encoding="utf-8")
    with pytest.raises(SettingsError, match="rope"):
        read_mechanism(path)
    with pytest.raises(SettingsError, match="no such mechanism"):
        shipped_mechanism("sixbar")


BAD: dict[str, tuple[Mechanism, str]] = {
    "zero length bar": (
        planar(points={"A": A, "P": Point((0.0, 0.0))}, bodies={"stump": Bar(("A", "P"), 1.0)}),
        "stump.*zero length",
    ),
    "declared zero length": (
        planar(points={"A": A, "P": Point((1.0, 0.0))}, bodies={"stump": Bar(("A", "P"), 1.0, 0.0)}),
        "stump.*zero length",
    ),
    "conflicting lengths": (
        planar(
            points={"A": A, "P": Point((1.0, 1.0)), "B": Point((2.0, 0.0), fixed=True)},
            bodies={"left": Bar(("A", "P"), 1.0, 0.5), "right": Bar(("P", "B"), 1.0, 0.5)},
            constraints={"roof": LinearConstraint({"P.y": 1.0}, 1.0)},
        ),
        "does not close.*(left|right|roof)",
    ),
    "over-constrained": (
        planar(
            points={"A": A, "P": Point((1.0, 0.0)), "Q": Point((1.0, 1.0))},
            bodies={"bar": Bar(("A", "P"), 1.0), "rod": Bar(("P", "Q"), 1.0)},
            constraints={"twin": ConstantDistance(("A", "P"))},
        ),
        "over-constrained: 1 .*bar.*twin",
    ),
    "singular start": (
        planar(
            points={"A": A, "P": Point((1.0, 0.0)), "Q": Point((2.0, 0.0)), "B": Point((3.0, 0.0), fixed=True)},
            bodies={"a": Bar(("A", "P"), 1.0), "b": Bar(("P", "Q"), 1.0), "c": Bar(("Q", "B"), 1.0)},
        ),
        "singular start|over-constrained",
    ),
    "wrong degrees of freedom": (
        replace(shipped_mechanism("fivebar"), degrees_of_freedom=1, independent=()),
        "five-bar linkage has 2 degrees of freedom, declared are 1",
    ),
    "too few independent": (
        replace(shipped_mechanism("fivebar"), degrees_of_freedom=None, independent=("theta1",)),
        "2 degrees of freedom but 1 independent",
    ),
    "no mass": (
        planar(
            points={"A": A, "P": Point((1.0, 0.0)), "Q": Point((1.0, 1.0))},
            bodies={"bar": Bar(("A", "P"), 1.0)},
        ),
        r"Q\.(x|y).*without moving any mass",
    ),
    "unknown point": (planar(points={"A": A}, bodies={"bar": Bar(("A", "X"), 1.0)}), "bar.*no point or station X"),
    "negative mass": (
        planar(points={"A": A, "P": Point((1.0, 0.0))}, bodies={"bar": Bar(("A", "P"), -1.0)}),
        "bar.*mass_kg must be positive",
    ),
    "impossible inertia": (
        spatial(
            points={"O": Point((0.0, 0.0, 0.0))},
            vectors={"x": Vector((1.0, 0.0, 0.0)), "y": Vector((0.0, 1.0, 0.0)), "z": Vector((0.0, 0.0, 1.0))},
            bodies={"b": RigidBody(("O",), 1.0, (0.0, 0.0, 0.0), (1.0, 1.0, 3.0), ("x", "y", "z"))},
        ),
        "b: no mass distribution",
    ),
    "flat body": (
        spatial(
            points={"O": Point((0.0, 0.0, 0.0)), "P": Point((1.0, 0.0, 0.0))},
            bodies={"b": RigidBody(("O", "P"), 1.0, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0))},
        ),
        "b needs a point and three independent directions, got 1",
    ),
    "cannot move": (
        planar(
            points={"A": A, "B": Point((2.0, 0.0), fixed=True), "P": Point((1.0, 1.0))},
            bodies={"a": Bar(("A", "P"), 1.0), "b": Bar(("P", "B"), 1.0)},
        ),
        "cannot move",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_mechanisms_name_the_part(case: str) -> None:
    mechanism, message = BAD[case]
    with pytest.raises(MechanismError, match=message):
        build(mechanism)


def test_stretched_fourbar_is_a_singular_start_by_name() -> None:
    mechanism, _ = BAD["singular start"]
    with pytest.raises(MechanismError, match=r"body a \(length\).*body b \(length\).*body c \(length\)"):
        build(mechanism)


def test_planar_body_equals_its_bar_and_carries_points() -> None:
    body = PlanarBody(("A", "P", "C"), 1.0, (0.5, 0.0), 1.0 / 12.0)
    points = {"A": A, "P": Point((1.0, 0.0)), "C": Point((0.3, 0.4))}
    model = build(planar(points=points, bodies={"plate": body}))
    bar = build(planar(points={"A": A, "P": Point((1.0, 0.0))}, bodies={"bar": Bar(("A", "P"), 1.0)}))
    a, b = Stepper(model), Stepper(bar)
    run, other = a.run(a.start(), 1e-3, 500), b.run(b.start(), 1e-3, 500)
    assert np.abs(run.q[:, :2] - other.q[:, :2]).max() < 1e-9
    assert np.abs(np.hypot(run.q[:, 2], run.q[:, 3]) - 0.5).max() < 1e-9


def test_wheel_mass_matrix_is_the_transformed_natural_one() -> None:
    """Tbarᵀ M0 Tbar = Sanjurjo 2016, 5.11, corrected: block (4,4) is ½ I₁ · identity."""
    model = build(shipped_mechanism("double_wishbone"))
    wheel = model.mechanism.bodies["wheel"]
    bare = build(
        replace(
            model.mechanism,
            bodies={
                **model.mechanism.bodies,
                "wheel": replace(wheel, mass_kg=1e-12, spin_inertia_kgm2=1e-12, transverse_inertia_kgm2=1e-12),
            },
        )
    )  # type: ignore[call-arg]
    q = model.start_q
    own = mass_matrix(model, q) - mass_matrix(bare, q)
    columns = [model.index(f"{n}.{a}") for n in ("W", "ey", "ez", "ex") for a in "xyz"] + [model.index("spin")]
    m, d, i1, i2 = 15.1, 0.02, 0.534, 0.300
    rng = np.random.default_rng(0)
    v = rng.standard_normal(13)
    w2, w3 = q[columns[6:9]], q[columns[9:12]]
    for alpha in (0.0, 0.7):
        v2 = np.cos(alpha) * v[6:9] + np.sin(alpha) * v[9:12] + v[12] * (-np.sin(alpha) * w2 + np.cos(alpha) * w3)
        v3 = -np.sin(alpha) * v[6:9] + np.cos(alpha) * v[9:12] + v[12] * (-np.cos(alpha) * w2 - np.sin(alpha) * w3)
        centre = v[0:3] + d * v[3:6]
        twice = m * centre @ centre + (i2 - i1 / 2) * v[3:6] @ v[3:6] + i1 / 2 * (v2 @ v2 + v3 @ v3)
        assert v @ own[np.ix_(columns, columns)] @ v == pytest.approx(twice, rel=1e-9)


def test_wheel_equals_a_body_that_really_spins() -> None:
    """A disc on a pivoted carrier, once as wheel with relative spin, once as a body that turns: same gyroscope."""
    frame = {"x": Vector((1.0, 0.0, 0.0)), "y": Vector((0.0, 1.0, 0.0)), "z": Vector((0.0, 0.0, 1.0))}
    origin = {"O": Point((0.0, 0.0, 0.0), fixed=True)}
    carrier = RigidBody(("O",), 0.5, (0.0, 0.2, 0.0), (0.02, 0.01, 0.02), ("x", "y", "z"))
    from hodograph.multibody import Wheel

    as_wheel = build(
        spatial(
            points=origin,
            vectors=frame,
            bodies={"carrier": carrier, "disc": Wheel("O", "y", "z", "x", "spin", 2.0, 0.2, 0.05, 0.03)},
        )
    )
    turning = {"a": Vector((1.0, 0.0, 0.0)), "b": Vector((0.0, 0.0, 1.0))}
    disc = RigidBody(("O",), 2.0, (0.0, 0.2, 0.0), (0.03, 0.05, 0.03), ("a", "y", "b"))
    as_body = build(spatial(points=origin, vectors={**frame, **turning}, bodies={"carrier": carrier, "disc": disc}))
    spin, omega = 60.0, np.array([0.3, 0.0, 0.8])
    first, second = np.zeros(as_wheel.n), np.zeros(as_body.n)
    for k in range(3):
        velocity = np.cross(omega, np.eye(3)[k])
        first[3 * k : 3 * k + 3] = second[3 * k : 3 * k + 3] = velocity
    first[9] = spin
    total = omega + np.array([0.0, spin, 0.0])
    second[9:12], second[12:15] = np.cross(total, [1.0, 0.0, 0.0]), np.cross(total, [0.0, 0.0, 1.0])
    ends = []
    for model, qd in ((as_wheel, first), (as_body, second)):
        stepper = Stepper(model, Formulation.LAGRANGE, Integrator.RK4)
        ends.append(stepper.run(stepper.start(qd), 2e-4, 2500).last.q[:9])
    assert np.abs(ends[0] - ends[1]).max() < 1e-7
    stepper = Stepper(as_wheel)
    assert np.abs(stepper.run(stepper.start(first), 1e-3, 500).last.q[:9] - ends[0]).max() < 3e-4


def test_springs_curves_stations_and_distances() -> None:
    """A mass on a vertical spring: linear, as a curve, on a station, and on a distance coordinate."""
    points = {"A": Point((0.0, 1.0), fixed=True), "P": Point((0.0, 0.0))}
    mass = {"mass": Particle("P", 2.0)}
    straight = {"line": LinearConstraint({"P.x": 1.0}, 0.0)}
    curve = ((-1.0, -300.0), (0.0, 0.0), (1.0, 300.0))
    variants = [
        planar(points=points, bodies=mass, constraints=straight, forces={"s": SpringDamper(("A", "P"), 300.0, 4.0)}),
        planar(
            points=points, bodies=mass, constraints=straight,
            forces={"s": SpringDamper(("A", "P"), 0.0, 4.0, None, curve)},
        ),
        planar(
            points=points, bodies=mass, constraints=straight, distances={"s": Distance(("A", "P"))},
            forces={"f": CoordinateSpring("s", 300.0, 4.0)},
        ),
        planar(
            points=points, bodies=mass, constraints=straight, stations={"S": Station("mass", (0.0, 0.0))},
            forces={"s": SpringDamper(("A", "S"), 300.0, 0.0, None, (), ((-10.0, -40.0), (10.0, 40.0)))},
        ),
    ]  # fmt: skip
    omega, zeta = np.sqrt(150.0), 4.0 / (2 * np.sqrt(600.0))
    damped, t_s = omega * np.sqrt(1 - zeta**2), 0.5
    exact = (
        -2.0
        * 9.81
        / 300.0
        * (1 - np.exp(-zeta * omega * t_s) * (np.cos(damped * t_s) + zeta * omega / damped * np.sin(damped * t_s)))
    )
    for mechanism in variants:
        model = build(mechanism)
        stepper = Stepper(model, Formulation.LAGRANGE, Integrator.RK4)
        last = stepper.run(stepper.start(), 1e-3, 500).last
        assert last.q[1] == pytest.approx(exact, abs=1e-8)
        implicit = Stepper(model)
        assert implicit.run(implicit.start(), 1e-3, 500).last.q[1] == pytest.approx(exact, abs=1e-5)


def test_torques_on_bodies_do_the_same_work_as_on_the_angle() -> None:
    base = shipped_mechanism("pendulum")
    ends = []
    for torque in (Torque(3.0, coordinate="theta"), Torque(3.0, body="bar")):
        stepper = Stepper(build(replace(base, forces={"t": torque})), Formulation.LAGRANGE, Integrator.RK4)
        ends.append(stepper.run(stepper.start(), 1e-3, 300).last.q)
    assert np.abs(ends[0] - ends[1]).max() < 1e-8


@pytest.mark.parametrize("follows", [False, True])
def test_torque_on_a_body_in_space(follows: bool) -> None:
    """A free body: a torque about a principal axis gives I ω̇ = T, whatever the (skew) frame it is described in."""
    mechanism = spatial(
        points={"O": Point((0.0, 0.0, 0.0)), "P": Point((0.5, 0.2, 0.1))},
        vectors={"u": Vector((1.0, 1.0, 0.0)), "w": Vector((0.0, 0.0, 1.0))},
        bodies={"b": RigidBody(("O", "P"), 3.0, (0.0, 0.0, 0.0), (0.2, 0.3, 0.4), ("u", "w"))},
        forces={"t": Torque(2.0, body="b", axis=(0.0, 0.0, 1.0), follows=follows, input="gain")},
    )
    mechanism = replace(mechanism, gravity_mps2=(0.0, 0.0, 0.0))
    model = build(mechanism)
    stepper = Stepper(model, Formulation.LAGRANGE, Integrator.RK4)
    stepper.set_input("gain", 1.5)
    last = stepper.run(stepper.start(), 1e-3, 500).last
    turned = 0.5 * (3.0 / 0.4) * 0.5**2
    u = last.q[model.index("u.x") : model.index("u.x") + 3]
    assert np.arctan2(u[1], u[0]) == pytest.approx(np.pi / 4 + turned, abs=1e-7)
    assert np.abs(last.q[:3]).max() < 1e-9


def test_declared_constraints_hold() -> None:
    """Every declared kind in one spatial mechanism: they hold along the motion."""
    mechanism = spatial(
        points={
            "A": Point((0.0, 0.0, 0.0), fixed=True), "P": Point((1.0, 0.0, 0.0)), "M": Point((0.5, 0.0, 0.0)),
            "Q": Point((1.0, 1.0, 0.0)), "L": Point((2.0, 0.0, 0.0)),
        },
        vectors={"n": Vector((0.0, 0.0, 1.0))},
        bodies={
            "bar": Bar(("A", "P"), 1.0), "mid": Particle("M", 0.5), "tip": Particle("Q", 1.0),
            "bead": Particle("L", 0.2), "flag": Bar(("A", "Q"), 0.3),
        },
        constraints={
            "unit": UnitVector("n"), "perp": DotProduct("n", "A>P"), "perp2": DotProduct("n", "A>Q"),
            "middle": Combination("M", {"A": 0.5, "P": 0.5}), "line": Aligned(("A", "P", "L")),
            "rope": ConstantDistance(("P", "Q")),
        },
        forces={"wind": PointForce("Q", (0.0, 3.0, 1.0))},
    )  # fmt: skip
    model = build(mechanism)
    stepper = Stepper(model)
    start = stepper.start()
    run = stepper.run(start, 1e-3, 400)
    q = run.last.q
    p, middle, tip, bead, n = q[0:3], q[3:6], q[6:9], q[9:12], q[12:15]
    assert np.abs(middle - p / 2).max() < 1e-9
    assert np.abs(np.cross(p, bead)).max() < 1e-8
    assert abs(n @ n - 1) + abs(n @ p) + abs(n @ tip) < 1e-8
    assert abs(np.linalg.norm(p - tip) - 1.0) < 1e-9
    assert abs(sum(energy_j(model, run.last)) - sum(energy_j(model, start))) < 1e-3 * energy_j(model, run.last)[0]


def test_numbers_of_the_wrong_length_are_refused() -> None:
    with pytest.raises(MechanismError, match="point P: want 2 numbers, got 3"):
        build(planar(points={"A": A, "P": Point((1.0, 0.0, 0.0))}, bodies={"bar": Bar(("A", "P"), 1.0)}))
    with pytest.raises(ValueError, match="gravity_mps2 needs 3 numbers"):
        Mechanism(1, "x", "spatial", (0.0, -9.81), {}, {})
