"""Each kind of unknown: its columns against central differences, its value found from simulated readings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from mechanism_benches import STEP_S, Bench, corner, linkage, wheel
from scipy.linalg import expm

from hodograph.core.errors import MechanismError
from hodograph.core.frames import Array
from hodograph.core.reading import Verdict
from hodograph.multibody.model.algebra import place_at
from hodograph.multibody.model.build import Model, State, build
from hodograph.multibody.model.mechanism import shipped_mechanism
from hodograph.multibody.motion.kinematics import from_independent
from hodograph.multibody.steps.stepper import Stepper
from hodograph.observers.engine import events_of
from hodograph.observers.on_mechanism import plant as kernels
from hodograph.observers.on_mechanism.mechanism import MechanismEngine, engine
from hodograph.observers.on_mechanism.problem import Problem
from hodograph.observers.on_mechanism.recipes import RECIPES
from hodograph.observers.on_mechanism.uncertainty import (
    Disturbance,
    Kind,
    body_force,
    road_height,
    sensor_bias,
    sensor_latency,
    sensor_scale,
    spring_stiffness,
    tyre_friction,
    unknown_force,
)

NOISE = 1e-3


# --- an oracle: the model with its unknown put in by hand -------------------------------------------------------------


def with_entry(model: Model, road: Array, one: Disturbance, theta: float) -> tuple[Model, Array]:
    """The model and the road with an entry off by θ."""
    table, row, column = one.entry
    tables, road = model.tables, road.copy()
    if table == kernels.TYRES:
        tyre = tables.rolling.tyre.copy()
        tyre[row, column] += theta
        tables = tables._replace(rolling=tables.rolling._replace(tyre=tyre))
    elif table == kernels.ROAD:
        road[row, column] += theta
    else:
        field = "spring_par" if table == kernels.SPRINGS else "scalar_par"
        par = getattr(tables.loads, field).copy()
        par[row, column] += theta
        tables = tables._replace(loads=tables.loads._replace(**{field: par}))
    return replace(model, tables=tables), road


def force_of(one: Disturbance, q: Array, theta: float) -> Array:
    """The generalised force of a FORCE or BODY_FORCE at q."""
    if one.kind is Kind.FORCE:
        return theta * np.array(one.column)
    along = place_at(one.axis, q)
    along = along / np.linalg.norm(along)
    force = np.zeros(len(q))
    for form, push in zip(one.place, along, strict=True):
        for i, factor in form.terms.items():
            force[i] += theta * factor * push
    return force


def accelerations(problem: Problem, x: Array, state: State) -> State:
    """The state at x = [z, zd, θ] near another, with exact accelerations."""
    model, f = problem.model, len(problem.model.independent)
    road = np.zeros((0, 0)) if problem.road is None else problem.road.table()
    for one, theta in zip(problem.uncertainty.disturbances, x[2 * f :], strict=True):
        if one.kind is Kind.ENTRY:
            model, road = with_entry(model, road, one, float(theta))
    work = model.work()
    if len(road):
        work = work._replace(road=road)
    work.inputs[1:] = state.inputs
    if len(state.wheels):
        work.wheels[:, : state.wheels.shape[1]] = state.wheels
    found = from_independent(model, state.t_s, x[:f], x[f : 2 * f], state.q, work=work)
    for one, theta in zip(problem.uncertainty.disturbances, x[2 * f :], strict=True):
        if one.kind <= Kind.BODY_FORCE:
            work.applied[:] += force_of(one, found.q, float(theta))
    return from_independent(model, state.t_s, x[:f], x[f : 2 * f], state.q, work=work)


def read(problem: Problem, x: Array, state: State, tau_s: float) -> Array:
    """What all sensors should read τ after a state, with what is wrong with them."""
    s, sensors, eps = accelerations(problem, x, state), problem.sensors, 1e-6
    value = sensors.h(s.q, s.qd, s.qdd)
    ahead, behind = (sensors.h(s.q + e * s.qd, s.qd + e * s.qdd, s.qdd) for e in (eps, -eps))
    speed = (ahead - behind) / (2.0 * eps)
    bias, factor, delay = np.zeros(len(value)), np.ones(len(value)), np.zeros(len(value))
    for one, theta in zip(problem.uncertainty.disturbances, x[2 * len(problem.model.independent) :], strict=True):
        rows = slice(*problem.rows_of(one))
        into = {Kind.BIAS: bias, Kind.SCALE: factor, Kind.LATENCY: delay}.get(one.kind)
        if into is not None:
            into[rows] += theta
    return factor * (value + (tau_s - delay) * speed) + bias


def central(f: Callable[[Array], Array], x: Array, steps: Array) -> Array:
    """∂f/∂x by central differences, (len(f), len(x))."""
    columns = [(f(x + e) - f(x - e)) / (2.0 * h) for e, h in zip(np.diag(steps), steps, strict=True)]
    return np.array(columns).T


def assert_columns(found: Array, wanted: Array, relative: float) -> None:
    """Column by column, relative to the largest entry of each."""
    scale = np.maximum(np.abs(wanted).max(axis=0), 1e-4)
    off = np.abs(found - wanted).max(axis=0) / scale
    assert off.max() <= relative, f"columns off by {off}"


def forces_on_linkage() -> tuple[Disturbance, ...]:
    return (
        *unknown_force(linkage().model, NOISE, 0.5),
        body_force(linkage().model, "P2", "coupler", (0.6, -0.8), density=NOISE, std=0.5),
    )


CASES: dict[str, tuple[Callable[[], Bench], Callable[[], tuple[Disturbance, ...]], tuple[float, ...]]] = {
    "forces": (linkage, forces_on_linkage, (0.7, -2.5)),
    "sensors": (
        linkage,
        lambda: (
            sensor_bias("gyro", density=NOISE, std=0.1),
            sensor_scale("rate", density=NOISE, std=0.1),
            sensor_latency("encoder", density=NOISE, std_s=0.01),
            sensor_latency("rate", density=NOISE, std_s=0.01),
        ),
        (0.05, 0.03, 0.004, 0.006),
    ),
    "springs": (
        corner,
        lambda: (
            spring_stiffness(corner().model, "spring", density=NOISE, std=3e3),
            spring_stiffness(corner().model, "tyre", density=NOISE, std=3e3),
            body_force(corner().model, "W", "knuckle", (0.0, 0.3, 1.0), density=NOISE, std=50.0),
        ),
        (2000.0, -5000.0, 80.0),
    ),
    "wheel": (
        wheel,
        lambda: (road_height(density=NOISE, std_m=0.01), tyre_friction(0, density=NOISE, std=0.1)),
        (0.002, -0.1),
    ),
}
STEPS_OF = {Kind.FORCE: 1e-2, Kind.BODY_FORCE: 1e-2, Kind.ENTRY: 1e-5}


def visited(name: str, recipe: str) -> Iterator[tuple[MechanismEngine, State, Array]]:
    """An engine at states that a simulation passes, its unknowns being what they are."""
    bench, disturbances, theta = CASES[name]
    problem = bench().problem(disturbances())
    made = MechanismEngine(problem, RECIPES[recipe], np.inf)
    made.node.theta[:] = theta
    for _ in range(3):
        made.advance(20 * problem.step_s)
        assert not made.failed
        x = made.x
        state = accelerations(problem, x, made.state)
        made.node.qdd[:], made.node.multiplier[:] = state.qdd, state.multipliers
        yield made, made.state, x


def steps_of(problem: Problem, x: Array) -> Array:
    """Of the differences."""
    sizes = [1e-5] * (2 * len(problem.model.independent))
    for one in problem.uncertainty.disturbances:
        nominal = 1e5 if one.name.startswith("stiffness") else 1.0
        sizes.append(nominal * STEPS_OF.get(one.kind, 1e-5))
    return np.array(sizes)


@pytest.mark.parametrize("name", sorted(CASES))
@pytest.mark.parametrize("recipe", ["force_ekf", "error_ekf_ej"])
def test_the_linearised_plant_against_central_differences(name: str, recipe: str) -> None:
    """Accelerations of all coordinates by z, zd and θ, and F as it follows from them."""
    for made, state, x in visited(name, recipe):
        problem, h = made.problem, made.problem.step_s
        wanted = central(lambda y, p=problem, s=state: accelerations(p, y, s).qdd, x, steps_of(problem, x))
        made.advance(h)
        linear, f = made.filter.arrays.c.linear, len(problem.model.independent)
        d = len(x) - 2 * f
        by_theta = linear.by_theta.T * np.array([o.kind <= Kind.ENTRY for o in problem.uncertainty.disturbances])
        assert_columns(np.hstack([linear.by_z.T, linear.by_zd.T, by_theta]), wanted, 2e-5)
        A = np.zeros((len(x), len(x)))
        A[:f, f : 2 * f] = np.eye(f)
        A[f : 2 * f] = wanted[problem.model.independent]
        F = expm(A * h)
        if recipe == "error_ekf_ej":
            F = np.eye(len(x)) + h * A
            F[:f] += 0.5 * h * h * A[f : 2 * f]
        assert_columns(linear.F, F, 1e-5)
        assert d == len(problem.uncertainty.disturbances)


@pytest.mark.parametrize("name", sorted(CASES))
def test_f_is_the_derivative_of_the_step(name: str) -> None:
    """Whole steps of the filter from both sides, with accelerations of their own: F up to what is of second order."""
    for made, state, x in visited(name, "force_ekf"):
        problem, kept = made.problem, made.snapshot()

        def stepped(y: Array, made: MechanismEngine = made, state: State = state, kept: Array = kept) -> Array:
            made.restore(kept)
            n, f, at = made.node, len(made.problem.model.independent), accelerations(made.problem, y, state)
            n.q[:], n.qd[:], n.qdd[:], n.multiplier[:] = at.q, at.qd, at.qdd, at.multipliers
            n.theta[:] = y[2 * f :]
            made.advance(made.problem.step_s)
            return made.x

        wanted = central(stepped, x, 10.0 * steps_of(problem, x))
        made.restore(kept)
        made.advance(problem.step_s)
        moved = made.core.F - np.eye(len(x))
        assert_columns(moved, wanted - np.eye(len(x)), 0.2 if name == "wheel" else 0.02)  # tyres deflect
        made.restore(kept)


@pytest.mark.parametrize("name", sorted(CASES))
@pytest.mark.parametrize("tau_s", [0.0, 0.6e-3])
def test_h_against_central_differences(name: str, tau_s: float) -> None:
    """Columns of a sensor's own unknowns at any τ, all others where nothing is late; what is expected, too."""
    for made, state, x in visited(name, "force_ekf"):
        problem, rows, f = made.problem, made.filter.arrays.c.rows, len(made.problem.model.independent)
        wanted = central(lambda y, p=problem, s=state: read(p, y, s, tau_s), x, steps_of(problem, x))
        expected, kept = read(problem, x, state, tau_s), made.snapshot()
        for stream, (first, end) in problem.sensors.first_row.items():
            made.restore(kept)
            t_ns = made.t_ns + round(1e9 * tau_s)
            events = events_of([(t_ns, made.streams[stream], tuple(expected[first:end]), None)])
            made.process(events, made.step)
            assert events.verdict[0] == Verdict.USED
            assert np.abs(rows.innovation[first:end]).max() < 1e-7 * max(1.0, np.abs(expected[first:end]).max())
            late = tau_s != 0.0 or any(o.kind is Kind.LATENCY for o in problem.uncertainty.disturbances)
            own = [2 * f + k for k, o in enumerate(problem.uncertainty.disturbances) if o.kind > Kind.ENTRY]
            columns = own if late else slice(None)
            scale = np.maximum(np.abs(wanted[first:end]).max(axis=0), 1e-3)
            off = (np.abs(rows.H[first:end] - wanted[first:end]).max(axis=0) / scale)[columns]
            assert off.max(initial=0.0) <= 3e-5, (stream, off)
        made.restore(kept)


# --- found from readings ----------------------------------------------------------------------------------------------


def true_motion(problem: Problem, theta: tuple[float, ...], steps: int) -> list[State]:
    """States at the nodes 0 … steps of a model that is wrong by θ; a body's force turns with it ten times a step."""
    model, road = problem.model, np.zeros((0, 0)) if problem.road is None else problem.road.table()
    unknowns = list(zip(problem.uncertainty.disturbances, theta, strict=True))
    for one, value in unknowns:
        if one.kind is Kind.ENTRY:
            model, road = with_entry(model, road, one, value)
    stepper = Stepper(model, options=problem.newton)
    if len(road):
        stepper.work = stepper.work._replace(road=road)
    for name, row in zip(model.inputs, problem.start.inputs, strict=True):
        stepper.set_input(name, *row)
    state, found = stepper.repair(problem.start), []
    found.append(state)
    pieces = 10 if any(one.kind is Kind.BODY_FORCE for one, _ in unknowns) else 1
    for _ in range(steps):
        for _ in range(pieces):
            pushes = [force_of(one, state.q, value) for one, value in unknowns if one.kind <= Kind.BODY_FORCE]
            stepper.apply(np.sum([np.zeros(model.n), *pushes], axis=0))
            state = stepper.step(state, problem.step_s / pieces)[0]
        found.append(state)
    return found


def told(problem: Problem, motion: list[State], theta: tuple[float, ...], seed: int) -> Array:
    """A grid of readings (steps, m) with noise and with what is wrong with the sensors."""
    sensors, rng = problem.sensors, np.random.default_rng(seed)
    clean = np.array([sensors.h(s.q, s.qd, s.qdd) for s in motion])
    t = problem.step_s * np.arange(len(motion))
    grid = clean.copy()
    for one, value in zip(problem.uncertainty.disturbances, theta, strict=True):
        for i in range(*problem.rows_of(one)):
            if one.kind is Kind.LATENCY:
                grid[:, i] = np.interp(t - value, t, clean[:, i])
    for one, value in zip(problem.uncertainty.disturbances, theta, strict=True):
        for i in range(*problem.rows_of(one)):
            if one.kind is Kind.SCALE:
                grid[:, i] *= 1.0 + value
            elif one.kind is Kind.BIAS:
                grid[:, i] += value
    return grid[1:] + np.sqrt(sensors.table.var) * rng.standard_normal((len(motion) - 1, len(sensors.rows)))


FOUND: dict[str, tuple[Callable[[], Bench], Callable[[], Disturbance], float]] = {
    "force": (linkage, lambda: unknown_force(linkage().model, 0.0, 2.0)[0], 1.3),
    "body force": (
        linkage, lambda: body_force(linkage().model, "P2", "coupler", (0.6, -0.8), density=0.0, std=3.0), 2.0
    ),
    "bias": (linkage, lambda: sensor_bias("gyro", density=0.0, std=0.2), 0.11),
    "scale": (linkage, lambda: sensor_scale("rate", density=0.0, std=0.2), -0.12),
    "latency": (linkage, lambda: sensor_latency("encoder", density=0.0, std_s=0.02), 0.012),
    "stiffness of a coordinate": (
        corner, lambda: spring_stiffness(corner().model, "spring", density=0.0, std=2e4), 1.2e4
    ),
    "stiffness between points": (
        corner, lambda: spring_stiffness(corner().model, "tyre", density=0.0, std=4e4), -3e4
    ),
    "road height": (wheel, lambda: road_height(density=0.0, std_m=0.02), 0.004),
    "friction": (wheel, lambda: tyre_friction(0, density=0.0, std=0.3), -0.2),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(FOUND))
@pytest.mark.parametrize("recipe", ["force_ekf", "error_ekf_ej", "ukf_tr", "sckf"])
def test_an_unknown_is_found(name: str, recipe: str) -> None:
    """After a second within four deviations of the truth, the band a quarter of what it was at the start."""
    bench, unknown, value = FOUND[name]
    problem = bench().problem((unknown(),), density=1e-4)
    motion = true_motion(problem, (value,), 400)
    made = MechanismEngine(problem, RECIPES[recipe], np.inf)
    run = made.run(told(problem, motion, (value,), 11))
    assert run.done == 400
    said, std = float(run.x[-1, -1]), float(np.sqrt(run.P[-1, -1, -1]))
    assert std < 0.25 * problem.uncertainty.disturbances[0].std
    assert abs(said - value) < 4.0 * std + 0.01 * abs(value), f"{said:.4g} ± {std:.2g}, truly {value:g}"


def test_a_body_force_turns_with_its_body() -> None:
    """On a crank that goes round, the force along the crank does nothing and the one across it turns it on."""
    along = body_force(linkage().model, "P1", "crank", (1.0, 0.0), density=0.0, std=1.0)
    across = body_force(linkage().model, "P1", "crank", (0.0, 1.0), density=0.0, std=1.0)
    made = MechanismEngine(linkage().problem((along, across)), RECIPES["force_ekf"], np.inf)
    turned = []
    for _ in range(12):
        made.advance(100 * STEP_S)
        linear = made.filter.arrays.c.linear
        crank = made.problem.model.independent[0]
        turned.append(made.x[0])
        assert abs(linear.by_theta[0, crank]) < 1e-9 * abs(linear.by_theta[1, crank])
        assert linear.by_theta[1, crank] > 0.0
    assert max(turned) - min(turned) > np.pi / 2


# --- what is refused --------------------------------------------------------------------------------------------------


def test_what_cannot_be_estimated_is_refused() -> None:
    force = unknown_force(linkage().model, NOISE, 0.5)
    with pytest.raises(ValueError, match=r"with a constant F force_theta would never be estimated"):
        engine(linkage().problem(force), "error_ekf")
    assert engine(linkage().problem((sensor_bias("gyro", density=0.0, std=0.1),)), "error_ekf") is not None
    with pytest.raises(ValueError, match=r"no sensor nobody; there are encoder"):
        linkage().problem((sensor_bias("nobody", density=0.0, std=0.1),))
    with pytest.raises(ValueError, match=r"has no channel b, only"):
        linkage().problem((sensor_bias("gyro", "b", density=0.0, std=0.1),))
    with pytest.raises(MechanismError, match=r"no spring b; there are spring, tyre"):
        spring_stiffness(corner().model, "b", density=0.0, std=0.1)
    with pytest.raises(ValueError, match=r"friction_0: .* has no tyre 0"):
        corner().problem((tyre_friction(0, density=0.0, std=0.1),))
    with pytest.raises(ValueError, match=r"road_height_m: the problem's road has no feature 1"):
        wheel().problem((road_height(1, density=0.0, std_m=0.1),))
    with pytest.raises(ValueError, match=r"road_height_m: the problem's road has no feature 0"):
        corner().problem((road_height(density=0.0, std_m=0.1),))
    bent = replace(shipped_mechanism("double_wishbone"))
    curve = ((-0.1, -6e3), (0.0, 0.0), (0.1, 8e3))
    bent = replace(bent, forces={**bent.forces, "spring": replace(bent.forces["spring"], stiffness_curve=curve)})
    with pytest.raises(MechanismError, match=r"spring has a curve"):
        spring_stiffness(build(bent), "spring", density=0.0, std=0.1)
