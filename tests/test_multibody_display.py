"""Whatever multibody and sensors hand out shows itself in one short line."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
from display_samples import reached

from hodograph.bench.car_speed import SigmaTimes, StepTimes
from hodograph.multibody import LaneStepper, Stepper, build, sensitivity, shipped_mechanism, shipped_mechanisms
from hodograph.multibody.car import CornerKinematics, energy_account, read_vehicle, ride_modes, static_loads
from hodograph.multibody.car.car import Car
from hodograph.multibody.car.curves import corner_figures
from hodograph.multibody.car.examine import examine
from hodograph.multibody.forces.road import Road
from hodograph.multibody.steps.stepper import Trajectory
from hodograph.sensors import Encoder, Quality, mount
from hodograph.sensors.kernels import SensorTable

LONGEST = 200


@cache
def roots() -> tuple[Any, ...]:
    car = Car.of("xbw")
    start = car.settle()
    drive = car.drive(start, {"rack_m": np.zeros(5)})
    model = build(shipped_mechanism("fourbar"))
    stepper = Stepper(model)
    run = stepper.run(stepper.start(), 1e-3, 20)
    sensors = mount(model, [Encoder("crank", "theta", Quality(0.01))])
    vehicle = read_vehicle("race_car")
    return (
        car, start, drive, energy_account(car, drive), ride_modes(car), vehicle, static_loads(vehicle),
        CornerKinematics.of(vehicle, "fl"), corner_figures(vehicle, "fl", 2500.0), examine(vehicle), model, stepper,
        LaneStepper(model), run, sensitivity(model, run.last), sensors, Road.bump(0.05, 1.0, 3.0) + Road.slope(0.1),
        [build(shipped_mechanism(name)) for name in shipped_mechanisms()],
        StepTimes(np.zeros((5, 7500)), np.zeros(7500), run.cost, 0.5), SigmaTimes(np.zeros((8, 15)), 1e-9, 30, 0),
    )  # fmt: skip


def objects() -> list[object]:
    seen: dict[int, object] = {}
    reached(roots(), seen)
    return [value for value in seen.values() if not isinstance(value, SensorTable)]


def test_every_object_shows_itself_in_one_short_line() -> None:
    found = objects()
    assert {type(value).__name__: len(repr(value)) for value in found if not is_short(repr(value))} == {}
    assert len({type(value) for value in found}) > 80


def is_short(text: str) -> bool:
    return len(text) < LONGEST and "\n" not in text


def test_the_line_says_what_it_is() -> None:
    car, start, drive = roots()[:3]
    assert repr(car) == "Car(xbw: bodies 18, coordinates 67, constraints 53, degrees of freedom 14; Road(plane))"
    assert repr(drive) == "Drive(5 steps, 0.004 to 0.02 s)"
    assert repr(start) == "State(t = 0 s: coordinates 67, rows 53, wheels 4)"
    model = build(shipped_mechanism("fourbar"))
    assert repr(model) == "Model(four-bar linkage: bodies 3, coordinates 5, constraints 4, degrees of freedom 1)"
    assert repr(model.mechanism) == "Mechanism(four-bar linkage, planar: points 4, bodies 3, constraints 0, forces 0)"
    assert repr(model.coordinates) == "Coordinates(four-bar linkage: 5, P1.x, P1.y, P2.x, P2.y, theta)"
    assert repr(Stepper(model)).endswith("degrees of freedom 1; augmented-lagrangian, trapezoidal)")
    assert re.fullmatch(r"Tables\(5 parts, \d+\.\d KiB\)", repr(model.tables))
    assert repr(Trajectory(np.zeros(0), *(np.zeros((0, 5)),) * 3, start, drive.cost, np.zeros((0, 0, 19)))) == (
        "Trajectory(0 states of 5 coordinates)"
    )
