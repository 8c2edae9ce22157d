"""Bodies on stations, laminae, and scalar products that follow an input: against the same with own coordinates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hodograph.core.errors import MechanismError
from hodograph.multibody import (
    Bar,
    ConstantDistance,
    DotProduct,
    Lamina,
    Mechanism,
    Particle,
    Point,
    RigidBody,
    SpringDamper,
    Station,
    Stepper,
    Vector,
    Wheel,
    build,
    from_independent,
    mass_matrix,
    shipped_mechanism,
)
from hodograph.multibody.model.mechanism import Body

CORNER = shipped_mechanism("double_wishbone")
AT = {name: np.array(point.position_m) for name, point in CORNER.points.items()}


def lamina(a: str, b: str, c: str, mass_kg: float) -> tuple[Lamina, RigidBody]:
    """A flat arm on three points of the corner, and the same as a rigid body with inertia in the design axes."""
    x = (AT[b] - AT[a]) / np.linalg.norm(AT[b] - AT[a])
    y = AT[c] - AT[a] - ((AT[c] - AT[a]) @ x) * x
    axes = np.column_stack([x, y / np.linalg.norm(y)])
    second = mass_kg * np.array([[0.012, 0.003], [0.003, 0.009]])
    cg = np.array([0.5, 0.4]) * 0.3
    flat = Lamina(
        (a, b, c), mass_kg, (cg[0], cg[1]), (second[1, 1], second[0, 0], second[0, 0] + second[1, 1]), second[0, 1]
    )
    full = axes @ second @ axes.T
    tensor = np.trace(full) * np.eye(3) - full
    at = AT[a] + axes @ cg
    thick = RigidBody(
        (a, b, c),
        mass_kg,
        (at[0], at[1], at[2]),
        (tensor[0, 0], tensor[1, 1], tensor[2, 2]),
        ("lower" if c == "L" else "upper",),
        (full[0, 1], full[0, 2], full[1, 2]),
    )
    return flat, thick


def corners() -> tuple[Mechanism, Mechanism]:
    """The shipped corner with flat arms, and the same with every ball joint a station of the knuckle."""
    lower, lower_rigid = lamina("L1", "L2", "L", 4.2)
    upper, upper_rigid = lamina("U1", "U2", "U", 2.5)
    seat = tuple(float(v) for v in (2.0 * AT["L"] + 0.5 * AT["L1"] + 0.5 * AT["L2"]) / 3.0)
    stations = {"seat": Station("lower_arm", seat)}
    own = replace(
        CORNER, stations=stations, bodies={**CORNER.bodies, "lower_arm": lower_rigid, "upper_arm": upper_rigid}
    )
    knuckle, wheel = CORNER.bodies["knuckle"], CORNER.bodies["wheel"]
    assert isinstance(knuckle, RigidBody)
    assert isinstance(wheel, Wheel)
    joints = {name: Station("knuckle", CORNER.points[name].position_m) for name in ("L", "U", "T")}
    bodies: dict[str, Body] = {
        "lower_arm": lower,  # before the body that carries its joint: order must not matter
        "upper_arm": upper,
        "tie_rod": Bar(("R", "T"), 0.29),
        "knuckle": replace(knuckle, points=("W",)),
        "wheel": wheel,
    }
    slim = replace(
        CORNER,
        points={n: p for n, p in CORNER.points.items() if n not in joints},
        vectors={n: v for n, v in CORNER.vectors.items() if n.startswith("e")},
        stations={**stations, **joints},
        bodies=bodies,
    )
    return own, slim


def test_corner_with_stations_moves_as_the_one_with_coordinates() -> None:
    own, slim = (build(m) for m in corners())
    assert (own.n, slim.n) == (32, 17)
    assert own.degrees_of_freedom == slim.degrees_of_freedom == 2
    runs = []
    for model in (own, slim):
        stepper = Stepper(model)
        stepper.set_input("rack_m", 0.01)
        stepper.set_input("drive_nm", 30.0)
        z, zd = model.start_q[model.independent], np.array([0.8, 0.0])  # W.z and spin: the wheel is thrown up
        state = from_independent(model, 0.0, z, zd, model.start_q, work=stepper.work)
        runs.append((model, stepper.run(state, 1e-3, 200, every=10)))
    for name in ("W.x", "W.y", "W.z", "ex.y", "ez.y", "spin", "strut"):
        a, b = (run.q[:, model.index(name)] for model, run in runs)
        assert np.ptp(a) > 1e-6, name
        np.testing.assert_allclose(a, b, atol=2e-8, err_msg=name)


def test_a_scalar_product_follows_its_input_as_a_guided_coordinate_does() -> None:
    """Value, rate and acceleration: the guided rack of the corner written as dot(rail>R, ahead) = design + input."""
    _, guided = corners()
    slid = replace(
        guided,
        points={**guided.points, "rail": Point((-0.10, 0.0, 0.26), fixed=True)},
        vectors={**guided.vectors, "ahead": Vector((0.0, 1.0, 0.0), fixed=True)},
        constraints={**guided.constraints, "rack": DotProduct("rail>R", "ahead", input="rack_m")},
    )
    states = []
    for mechanism in (guided, slid):
        stepper = Stepper(build(mechanism))
        stepper.set_input("rack_m", 0.02, 0.3, -2.0)
        state = stepper.repair(stepper.start())
        rack = stepper.model.index("R.y")
        assert state.q[rack] == pytest.approx(0.28 + 0.02, abs=1e-12)
        assert (state.qd[rack], state.qdd[rack]) == (pytest.approx(0.3), pytest.approx(-2.0))
        states.append(stepper.step(state, 1e-3)[0])
    np.testing.assert_allclose(states[0].q, states[1].q, atol=1e-10)
    np.testing.assert_allclose(states[0].qdd, states[1].qdd, atol=1e-5)


def plate(**parts: object) -> Mechanism:
    """A free body with a point and three vectors, plus what is given."""
    given: dict[str, object] = {
        "points": {"O": Point((0.0, 0.0, 0.0)), "A": Point((0.0, 0.0, -1.0), fixed=True)},
        "vectors": {n: Vector(tuple(float(k == i) for k in range(3))) for i, n in enumerate("xyz")},
        "bodies": {"box": RigidBody(("O",), 5.0, (0.0, 0.0, 0.0), (1.0, 1.1, 1.2), ("x", "y", "z"))},
        **parts,
    }
    return Mechanism(1, "plate", "spatial", (0.0, 0.0, -9.81), **given)  # type: ignore[arg-type]


def test_bodies_on_stations_of_one_body_add_mass_and_no_rows() -> None:
    """A lamina, a bar on the lamina and a particle on the bar, all carried by the box: the box with their inertia."""
    bare = plate()
    loaded = plate(
        stations={
            "a": Station("box", (0.0, 0.0, 0.3)), "b": Station("box", (1.0, 0.0, 0.3)),
            "c": Station("box", (0.2, 1.0, 0.3)),
            "d": Station("sheet", (0.5, 0.5, 0.3)), "e": Station("rod", (0.25, 0.25, 0.3)),
        },
        bodies={
            "lump": Particle("e", 0.5),
            "rod": Bar(("a", "d"), 0.6, held=True),
            "sheet": Lamina(("a", "b", "c"), 1.2, (0.4, 0.3), (0.02, 0.03, 0.05)),
            **bare.bodies,
        },
    )  # fmt: skip
    small, big = build(bare), build(loaded)
    assert (small.n, small.rows) == (big.n, big.rows)
    extra = mass_matrix(big, big.start_q) - mass_matrix(small, small.start_q)
    x = [big.index(name) for name in ("O.x", "x.x", "y.x", "z.x")]
    rod, end, middle = 0.6, np.array([0.5, 0.5, 0.3]), np.array([0.25, 0.25, 0.3])
    start, cg = np.array([0.0, 0.0, 0.3]), np.array([0.4, 0.3, 0.3])
    second = np.diag([0.03, 0.02, 0.0]) + 1.2 * np.outer(cg, cg) + 0.5 * np.outer(middle, middle)
    second += (
        rod * (np.outer(start, start) + np.outer(end, end) + 0.5 * (np.outer(start, end) + np.outer(end, start))) / 3
    )
    first = 1.2 * cg + 0.5 * middle + rod * (start + end) / 2
    wanted = np.block([[np.array([[2.3]]), first[None]], [first[:, None], second]])
    np.testing.assert_allclose(extra[np.ix_(x, x)], wanted, atol=1e-12)


def test_a_held_bar_leaves_its_length_to_the_declared_distance() -> None:
    carried = {"hook": Station("box", (0.0, 0.0, -0.2))}
    distance = {"link": ConstantDistance(("hook", "A"))}
    bodies = plate().bodies
    alone = build(plate(stations=carried, bodies={**bodies, "rod": Bar(("hook", "A"), 0.4)}))
    held = build(
        plate(stations=carried, bodies={**bodies, "rod": Bar(("hook", "A"), 0.4, held=True)}, constraints=distance)
    )
    assert alone.constraints == held.constraints == 7
    with pytest.raises(MechanismError, match=r"over-constrained: 1 .*rod.*link"):
        build(plate(stations=carried, bodies={**bodies, "rod": Bar(("hook", "A"), 0.4)}, constraints=distance))


@pytest.mark.parametrize(
    ("bodies", "stations", "complaint"),
    [
        ({"s": Lamina(("a", "b", "c"), 1.0, (0.1, 0.1), (0.02, 0.03, 0.06))}, {}, "s: a flat body has Ixx"),
        ({"s": Lamina(("a", "b", "c"), 1.0, (0.1, 0.1), (0.02, 0.03, 0.05), 0.04)}, {}, "s: no mass distribution"),
        ({"s": Lamina(("a", "b", "m"), 1.0, (0.1, 0.1), (0.02, 0.03, 0.05))}, {}, "s: a, b, m lie on a line"),
        ({"s": Lamina(("a", "b", "q"), 1.0, (0.1, 0.1), (0.02, 0.03, 0.05))}, {}, "s: there is no point or station q"),
        (
            {"r": Bar(("a", "u"), 1.0), "s": Bar(("b", "v"), 1.0)},
            {"u": Station("s", (0.0, 0.0, 0.0)), "v": Station("r", (0.0, 0.0, 0.0))},
            "r, s stand on each other",
        ),
        ({"r": Bar(("a", "u"), 1.0)}, {"u": Station("nobody", (0.0, 0.0, 0.0))}, "no body nobody"),
        (
            {"s": Lamina(("a", "b", "c"), 1.0, (0.1, 0.1), (0.02, 0.03, 0.05))},
            {"off": Station("s", (0.1, 0.1, 0.02))},
            "off does not lie on body s: it is off by 0.02 m",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_by_name(
    bodies: dict[str, Body], stations: dict[str, Station], complaint: str
) -> None:
    corners_of_box = {n: Station("box", p) for n, p in {
        "a": (0.0, 0.0, 0.0), "b": (1.0, 0.0, 0.0), "c": (0.0, 1.0, 0.0), "m": (0.5, 0.0, 0.0),
    }.items()}  # fmt: skip
    forces = {f"pull {name}": SpringDamper((name, "A"), 1.0) for name in stations}
    with pytest.raises(MechanismError, match=complaint):
        build(plate(bodies={**plate().bodies, **bodies}, stations={**corners_of_box, **stations}, forces=forces))
