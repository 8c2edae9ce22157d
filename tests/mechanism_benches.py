"""Small mechanisms in motion whose unknowns can be found: a linkage, a corner on springs, a wheel on a road."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from state_samples import model_of

from hodograph.multibody.car import read_vehicle
from hodograph.multibody.forces.road import Road
from hodograph.multibody.forces.rolling import TyreContact
from hodograph.multibody.model.build import Model, State, build
from hodograph.multibody.model.mechanism import shipped_mechanism
from hodograph.multibody.motion.kinematics import from_independent, start_state
from hodograph.multibody.steps.stepper import Stepper
from hodograph.observers.on_mechanism.problem import Problem
from hodograph.observers.on_mechanism.uncertainty import Disturbance, Uncertainty
from hodograph.sensors import Accelerometer, Encoder, Gyroscope, Quality, RateEncoder, mount
from hodograph.sensors.on_mechanism import MechanismSensor

STEP_S = 2e-3


@dataclass(frozen=True)
class Bench:
    """A mechanism in motion with sensors."""

    model: Model
    sensors: tuple[MechanismSensor, ...]
    start: State
    road: Road | None = None

    def problem(self, disturbances: tuple[Disturbance, ...], density: float = 1e-4, step_s: float = STEP_S) -> Problem:
        uncertainty = Uncertainty(density, 0.01, 0.01, disturbances)
        return Problem(
            self.model, mount(self.model, self.sensors), uncertainty, self.start, step_s, road=self.road
        )  # fmt: skip


@cache
def linkage() -> Bench:
    """The four-bar, turning: encoder and rate of the crank, gyro on the coupler, accelerometer carried by it."""
    model = model_of("fourbar")
    sensors = (
        Encoder("encoder", "theta", Quality(0.005)),
        RateEncoder("rate", "theta", Quality(0.02)),
        Gyroscope("gyro", "coupler", Quality(0.01)),
        Accelerometer("acc", "P2", (0.6, 0.8), Quality(0.05), "coupler"),
    )
    return Bench(model, sensors, moving(model, (2.0,)))


@cache
def corner() -> Bench:
    """A corner of a car on springs."""
    model = model_of("double_wishbone")
    sensors = (
        Encoder("height", "W.z", Quality(2e-4)),
        RateEncoder("spin", "spin", Quality(0.05)),
        Accelerometer("acc", "W", (0.0, 0.0, 1.0), Quality(0.1)),
    )
    return Bench(model, sensors, moving(model, (0.4, 5.0)))


@cache
def wheel() -> Bench:
    """The corner on a tyre: its wheel spins on a road while the chassis stands."""
    shipped = shipped_mechanism("double_wishbone")
    tyre = read_vehicle("xbw").front.tyre
    forces = {**shipped.forces, "tyre": TyreContact("wheel", tyre)}
    model = build(replace(shipped, forces=forces))
    stepper = Stepper(model)
    stepper.set_road(Road.flat())
    rest = stepper.run(moving(model, (0.0, 0.0)), STEP_S, 1000).last
    work = stepper.work
    start = from_independent(model, 0.0, rest.q[model.independent], np.array([0.0, 40.0]), rest.q, work=work)
    return replace(corner(), model=model, start=replace(start, inputs=work.inputs[1:].copy()), road=Road.flat())


def moving(model: Model, speeds: tuple[float, ...]) -> State:
    qd = np.zeros(model.n)
    qd[model.independent] = speeds
    start = start_state(model, qd, work=model.work())
    return replace(start, inputs=np.zeros((len(model.inputs), 3)))
