"""Problems for tests of an observer's state: every shipped mechanism with every family, and a car that is driven."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
from car_drives import car_of, settled

from hodograph.core.frames import Array
from hodograph.core.reading import Reading
from hodograph.multibody.car.car import REAL_TIME, STEP_S
from hodograph.multibody.model.build import Model, State, build
from hodograph.multibody.model.mechanism import shipped_mechanism, shipped_mechanisms
from hodograph.multibody.motion.kinematics import start_state
from hodograph.multibody.steps.stepper import Stepper
from hodograph.observers.engine import Engine, Service
from hodograph.observers.on_mechanism.mechanism import FIVE_SIGMA, MechanismEngine
from hodograph.observers.on_mechanism.problem import Problem
from hodograph.observers.on_mechanism.recipes import (
    RECIPES,
    Ekf,
    PublishedCekf,
    Recipe,
    Steps,
    TransitionMatrix,
    Ukf,
)
from hodograph.observers.on_mechanism.uncertainty import Disturbance, Uncertainty, gravity_error, unknown_force
from hodograph.sensors import Accelerometer, Encoder, Gyroscope, Quality, RateEncoder, SensorGroup, mount

MECHANISMS = tuple(sorted(shipped_mechanisms()))
PUBLISHED: dict[str, Recipe] = {
    "published_cekf": PublishedCekf(),
    "published_ukf": Ukf(Steps.EULER, reuse=True),
    "published_adaptive": Ekf(
        Steps.INDEX3, TransitionMatrix.FIRST_ORDER, tangent=True, acceleration_error=True, adaptive=True,
        unbounded=True, still_start=True,
    ),
}  # fmt: skip
FAMILIES: dict[str, Recipe] = {**RECIPES, **PUBLISHED}
SPEED = 0.7


@cache
def model_of(mechanism: str) -> Model:
    return build(shipped_mechanism(mechanism))


def disturbances_of(model: Model, name: str) -> tuple[Disturbance, ...]:
    """What the name of an observer promises to estimate."""
    if name.startswith("gravity"):
        return (gravity_error(model, 0.01, 0.5),)
    if name in ("force_ekf", "shaping_ekf", "error_ekf_fe", "error_ekf_adaptive", "published_adaptive"):
        return unknown_force(model, 0.1, 0.3, 0.5 if name == "shaping_ekf" else None)
    return ()


@cache
def linkage(mechanism: str, name: str) -> Problem:
    """A shipped mechanism in motion, with a sensor of each kind."""
    model = model_of(mechanism)
    first, last = (model.names[k] for k in (model.independent[0], model.independent[-1]))
    point = next(n.rpartition(".")[0] for n in model.names if n.rpartition(".")[0] in model.mechanism.points)
    axis = (1.0, 0.3, 0.2)[: model.mechanism.dim]
    parts = (
        Encoder("encoder", first, Quality(0.01)),
        RateEncoder("rate", last, Quality(0.05)),
        Accelerometer("acc", point, axis, Quality(0.5)),
    )
    # The published filters want whole rows, once a step, and a start better known than a sensor is.
    published = name in PUBLISHED
    sensors = mount(model, [SensorGroup("all", parts)] if published else parts)
    qd = np.zeros(model.n)
    qd[model.independent] = SPEED
    start = start_state(model, qd, work=model.work())
    return Problem(
        model,
        sensors,
        Uncertainty(0.1, 0.005 if published else 0.05, 0.02 if published else 0.1, disturbances_of(model, name)),
        start,
    )


def make(problem: Problem, name: str, horizon_s: float = 0.5, *, gate: float = FIVE_SIGMA) -> MechanismEngine:
    """An engine in service."""
    service = Service(problem.step_s, t0_s=problem.start.t_s, horizon_s=horizon_s)
    return MechanismEngine(problem, FAMILIES[name], gate, service)


def truth(problem: Problem, steps: int) -> list[State]:
    """States at the nodes 1 … steps by the stepper."""
    stepper, state, found = Stepper(problem.model, options=problem.newton), problem.start, []
    if problem.road is not None:
        stepper.set_road(problem.road)
    for name, row in zip(problem.model.inputs, problem.start.inputs, strict=False):
        stepper.set_input(name, *row)
    for _ in range(steps):
        state = stepper.step(state, problem.step_s)[0]
        found.append(state)
    return found


def readings_of(problem: Problem, steps: int, seed: int = 1) -> list[Reading]:
    """Readings of a true motion in order of time: each sensor at its own pace, off the nodes by up to 0.4 steps."""
    rng, sensors, step_ns, found = np.random.default_rng(seed), problem.sensors, round(1e9 * problem.step_s), []
    std = np.sqrt(sensors.table.var)
    for k, state in enumerate(truth(problem, steps), start=1):
        h = sensors.h(state.q, state.qd, state.qdd) + std * rng.standard_normal(len(std))
        for i, sensor in enumerate(sensors.sensors):
            first, end = sensors.first_row[sensor.name]
            off_ns = int(rng.uniform(-0.4, 0.4) * step_ns)
            if (k + i) % (2 + i) == 0:
                found.append(Reading(k * step_ns + off_ns, sensor.name, tuple(map(float, h[first:end]))))
    return sorted(found, key=lambda r: r.t_ns)


# --- the car ---------------------------------------------------------------------------------------------------------


@cache
def car_problem(disturbances: tuple[Disturbance, ...] = (), speed_mps: float = 12.0) -> Problem:
    """The roadster rolling on a flat road, with a gyro, an accelerometer and the encoder of a wheel."""
    car = car_of("xbw")
    sensors = mount(
        car.model,
        [
            Gyroscope("gyro", "chassis", Quality(0.01), (0.0, 0.0, 1.0)),
            RateEncoder("wheel", "rl_spin", Quality(0.3)),
            Accelerometer("acc", "O", (0.0, 1.0, 0.0), Quality(0.3), "chassis"),
        ],
    )
    start = car.moving(settled("xbw"), speed_mps)
    return Problem(
        car.model, sensors, Uncertainty(0.1, 1e-3, 1e-2, disturbances), start, STEP_S, road=car.road, newton=REAL_TIME
    )


def car_inputs(problem: Problem, steps: int) -> list[Reading]:
    """Somebody steers, drives and brakes: readings of the inputs at the nodes 0 … steps − 1."""
    step_ns, found = round(1e9 * problem.step_s), []
    for k in range(steps):
        t = k * problem.step_s
        w = np.pi
        rack = 0.006 * np.array([np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)]) * min(1.0, t)
        if t < 1.0:  # the product rule, while the amplitude grows
            rack += 0.006 * np.array([0.0, np.sin(w * t), 2.0 * w * np.cos(w * t)])
        brake = 1.2e6 * max(0.0, np.sin(1.3 * t - 4.0))
        values = {
            "rack_m": tuple(map(float, rack)), "drive_nm": (250.0 * float(np.sin(0.9 * t)),),
            "brake_front_pa": (brake,), "brake_rear_pa": (0.6 * brake,),
        }  # fmt: skip
        found += [Reading(k * step_ns, name, values[name]) for name in problem.model.inputs]
    return found


# --- what lies in the memory and what does not ------------------------------------------------------------------------


def arrays_of(part: object, path: str = "") -> Iterator[tuple[str, Array]]:
    """Every array that a tuple of tuples holds, with its name."""
    if isinstance(part, np.ndarray):
        yield path, part
    elif isinstance(part, tuple):
        names: Sequence[str] = getattr(part, "_fields", [str(i) for i in range(len(part))])
        for name, inner in zip(names, part, strict=True):
            yield from arrays_of(inner, f"{path}.{name}")


def outside(engine: Engine) -> dict[str, Array]:
    """The arrays a filter works on that do not lie in its memory."""
    memory = engine.core.memory
    return {
        path: array
        for path, array in arrays_of(engine.filter.arrays)
        if array.size and not np.shares_memory(array, memory)
    }
