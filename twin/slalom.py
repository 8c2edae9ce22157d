"""A driver who takes a car through a slalom: looks ahead along the path, keeps the speed, stops at the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from hodograph.core import Array, HodographError
from hodograph.core.display import short_repr
from hodograph.multibody.car.car import STEP_S, Car, Drive
from hodograph.multibody.car.kinematics import CornerKinematics
from hodograph.multibody.car.statics import static_loads
from hodograph.multibody.model.build import State
from hodograph.multibody.steps.stepper import StepCost, Trajectory

BLOCK = 10
"""Steps between two decisions of the driver."""

HAND_RADPS = 12.0
"""The driver's hands follow the wish like a critically damped system of this frequency."""

LONGEST_S = 120.0
"""A slalom that is not over by then never will be."""


@dataclass(frozen=True, slots=True)
class Slalom:
    """A row of cones along x, passed left and right in turn."""

    cones: int = 7
    spacing_m: float = 18.0
    first_m: float = 30.0
    aside_m: float = 1.3
    speed_mps: float = 9.0

    @property
    def end_m(self) -> float:
        """Where the driver begins to brake."""
        return self.first_m + self.cones * self.spacing_m

    def cones_m(self) -> Array:
        """Positions of the cones, (k, 2)."""
        x = self.first_m + self.spacing_m * np.arange(self.cones)
        return np.column_stack([x, np.zeros(self.cones)])

    def aside(self, x_m: float) -> float:
        """The path: to the left of the first cone, to the right of the second, …; straight before and after."""
        phase = (x_m - self.first_m) / self.spacing_m
        fade = np.clip(min(phase + 1.0, self.cones - phase), 0.0, 1.0)
        return float(self.aside_m * np.cos(np.pi * phase) * fade * fade * (3.0 - 2.0 * fade))


@dataclass(slots=True)
class Driver:
    """Steers by pure pursuit of a path y(x), holds a speed with drive and brake; decides once per block of steps.

    All driven axles together push, all brakes together brake, as hard as the driver wants; he has no more pressure than
    the weaker of the brakes takes.
    """

    car: Car
    path: Callable[[float], float]
    look_ahead_s: float = 0.55
    _rack: Array = field(init=False)
    _metres_per_rad: float = field(init=False)
    _mass_kg: float = field(init=False)

    def __post_init__(self) -> None:
        self._rack = np.zeros(3)
        ahead = CornerKinematics.of(self.car.vehicle, "fl").pose(0.0, 5e-3).steer_rad
        back = CornerKinematics.of(self.car.vehicle, "fl").pose(0.0, -5e-3).steer_rad
        self._metres_per_rad = 1e-2 / (ahead - back)
        self._mass_kg = static_loads(self.car.vehicle).total_kg

    def controls(self, state: State, speed_mps: float) -> Array:
        """Inputs of the next block, shape (BLOCK, inputs, 3)."""
        index, vehicle = self.car.model.index, self.car.vehicle
        x, y = state.q[index("O.x")], state.q[index("O.y")]
        yaw = float(np.arctan2(state.q[index("ex.y")], state.q[index("ex.x")]))
        v = float(np.hypot(state.qd[index("O.x")], state.qd[index("O.y")]))
        reach = max(4.0, self.look_ahead_s * v) + 0.5 * vehicle.wheelbase_m
        bearing = np.arctan2(self.path(x + reach) - y, reach) - yaw
        wish = np.arctan(2.0 * vehicle.wheelbase_m * np.sin(bearing) / reach) * self._metres_per_rad
        wish = float(np.clip(wish, -vehicle.steering.travel_m, vehicle.steering.travel_m))
        push_mps2 = float(np.clip(1.5 * (speed_mps - v), -4.0, 2.5))
        if speed_mps == 0.0:
            push_mps2 = -3.0
        return self._table(wish, push_mps2)

    def _table(self, rack_m: float, push_mps2: float) -> Array:
        model, vehicle = self.car.model, self.car.vehicle
        table = np.zeros((BLOCK, len(model.inputs), 3))
        table[:, model.input_index("rack_m") - 1] = hands(
            self._rack, rack_m, np.linspace(STEP_S, BLOCK * STEP_S, BLOCK)
        )
        self._rack = table[-1, model.input_index("rack_m") - 1].copy()
        torque_nm = push_mps2 * self._mass_kg * vehicle.rear.tyre.radius_m
        if push_mps2 > 0.0:
            driven = [name for name in model.inputs if name.startswith("drive")]
            for name in driven:
                table[:, model.input_index(name) - 1, 0] = torque_nm / len(driven)
        elif (per_pa := vehicle.braking_nm_per_pa()) > 0.0:
            strongest_pa = min(axle.brake.highest_pressure_pa for axle in (vehicle.front, vehicle.rear) if axle.brake)
            for name in model.inputs:
                if name.startswith("brake"):
                    table[:, model.input_index(name) - 1, 0] = min(-torque_nm / per_pa, strongest_pa)
        return table

    __repr__ = short_repr


def hands(before: Array, wish_m: float, t_s: Array) -> Array:
    """Rack (k, 3) at times after `before` (value, rate, acceleration): the exact way of critically damped hands.

    x = wish + (c₀ + c₁ t) e^(−ωt) with its two derivatives, so the three belong together at any step.
    """
    w = HAND_RADPS
    c0 = before[0] - wish_m
    c1 = before[1] + w * c0
    fade, line = np.exp(-w * t_s), c0 + c1 * t_s
    return np.column_stack([wish_m + line * fade, (c1 - w * line) * fade, (w * w * line - 2.0 * w * c1) * fade])


def drive_slalom(
    car: Car, slalom: Slalom | None = None, on_progress: Callable[[float, float], None] | None = None
) -> Drive:
    """From rest through the cones and to a stop; with two seconds of standing at the end.

    `HodographError` when it takes longer than two minutes: the car has no drive, no brakes, or left the course.
    """
    course = slalom or Slalom()
    driver = Driver(car, course.aside)
    state = car.settle()
    runs, tables = list[Trajectory](), list[Array]()
    standing = 0
    while standing * BLOCK * STEP_S < 2.0:
        if state.t_s > LONGEST_S:
            raise HodographError(
                f"{car.vehicle.name} is not through the slalom after {LONGEST_S:.0f} s: it is at "
                f"x = {state.q[car.model.index('O.x')]:.1f} m of {course.end_m:.1f} m; has it a drive and brakes?"
            )
        x = float(state.q[car.model.index("O.x")])
        speed = course.speed_mps if x < course.end_m else 0.0
        tables.append(driver.controls(state, speed))
        runs.append(car.stepper.run(state, STEP_S, BLOCK, schedule=tables[-1]))
        state = runs[-1].last
        standing += int(speed == 0.0 and float(np.abs(state.qd[:3]).max()) < 0.02)
        if on_progress is not None:
            on_progress(min(x, course.end_m), course.end_m)
    return car.seen(joined(runs), np.concatenate(tables))


def joined(runs: list[Trajectory]) -> Trajectory:
    """Several trajectories one after the other as one."""
    costs = [run.cost for run in runs]
    total = StepCost(
        sum(c.steps for c in costs), sum(c.iterations for c in costs), sum(c.factorisations for c in costs),
        sum(c.evaluations for c in costs), max(c.residual for c in costs), sum(c.rejected for c in costs),
        sum(c.projections for c in costs), sum(c.capped for c in costs),
    )  # fmt: skip
    return Trajectory(
        np.concatenate([run.t_s for run in runs]), np.concatenate([run.q for run in runs]),
        np.concatenate([run.qd for run in runs]), np.concatenate([run.qdd for run in runs]), runs[-1].last, total,
        np.concatenate([run.wheels for run in runs]),
    )  # fmt: skip
