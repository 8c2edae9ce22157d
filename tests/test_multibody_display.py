"""Whatever multibody and sensors hand out shows itself in one short line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache

import numpy as np

from hodograph.bench.car_speed import SigmaTimes, StepTimes
from hodograph.multibody import LaneStepper, Stepper, build, sensitivity, shipped_mechanism, shipped_mechanisms
from hodograph.multibody.car import CornerKinematics, energy_account, read_vehicle, ride_modes, static_loads
from hodograph.multibody.car.car import Car
from hodograph.multibody.car.curves import corner_figures
from hodograph.multibody.car.examine import examine
from hodograph.multibody.forces.road import Road
from hodograph.sensors import Encoder, Quality, mount

LONGEST = 200


def reached(value: object, seen: dict[int, object]) -> None:
    """All objects of ours that `value` is made of."""
    if id(value) in seen or isinstance(value, str | np.ndarray):
        return
    parts: list[object] = []
    if is_dataclass(value):
        parts = [getattr(value, field.name) for field in fields(value)]
    elif isinstance(value, tuple | list):
        parts = list(value)
    elif isinstance(value, Mapping):
        parts = list(value.values())
    if type(value).__module__.startswith("hodograph."):
        seen[id(value)] = value
    for part in parts:
        reached(part, seen)


@cache
def roots() -> tuple[object, ...]:
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


def objects() -> Iterator[object]:
    seen: dict[int, object] = {}
    reached(roots(), seen)
    return iter(list(seen.values()))


def test_every_object_shows_itself_in_one_short_line() -> None:
    long = {type(o).__name__: len(repr(o)) for o in objects() if len(repr(o)) >= LONGEST or "\n" in repr(o)}
    assert long == {}
    assert len({type(o) for o in objects()}) > 60
