"""A car that can be put on a road, settled, set in motion and driven; and what one wants to know of the drive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from scipy.interpolate import CubicSpline

from hodograph.core.display import counted
from hodograph.core.errors import MechanismError
from hodograph.core.frames import Array
from hodograph.multibody.car.forces import mechanism_of
from hodograph.multibody.car.statics import static_loads
from hodograph.multibody.car.vehicle import read_vehicle
from hodograph.multibody.forces.road import Road
from hodograph.multibody.forces.rolling_kernels import FX, FY, FZ, RADIUS, ROLL, VX, VY, rolling_forces
from hodograph.multibody.model.build import Model, State, build
from hodograph.multibody.motion.kinematics import consistent
from hodograph.multibody.steps.stepper import (
    Formulation,
    Integrator,
    Refresh,
    StepCost,
    StepOptions,
    Stepper,
    Trajectory,
)
from hodograph.vehicles.car import CORNERS, Vehicle

STEP_S = 4e-3
"""250 Hz, as the prototype's model ran."""

REAL_TIME = StepOptions(
    tolerance=1e-8, max_iterations=8, accepted_at_cap=1e-5, refresh=Refresh.EVERY_STEP, projection_tolerance=1e-7
)
"""Bounded work per step: at most eight iterations on one factor; a step that ends there is counted as capped."""

SETTLED_MPS2, CREEPING_MPS2 = 1e-5, 1e-3
STANDSTILL_BRAKE_PA = 5e6


@dataclass(frozen=True, slots=True)
class Drive:
    """A drive in engineering terms; all arrays have one row per kept step.

    `position_m` (k, 3) of the body origin, `velocity_mps` (k, 3) of the centre of gravity in ground axes, `body_mps`
    (k, 3) the same in body axes, `rpy_rad` (k, 3), `rates_radps` (k, 3) about body axes, `acceleration_mps2` (k, 3) of
    the centre of gravity in body axes; by wheel fl, fr, rl, rr (k, 4): forces in the road plane, loads, slip speeds;
    `inputs` (k, inputs, 3): value, rate and acceleration of the model's inputs.
    """

    t_s: Array
    position_m: Array
    velocity_mps: Array
    body_mps: Array
    rpy_rad: Array
    rates_radps: Array
    acceleration_mps2: Array
    load_n: Array
    force_x_n: Array
    force_y_n: Array
    slip_x_mps: Array
    slip_y_mps: Array
    spin_radps: Array
    inputs: Array
    trajectory: Trajectory

    def __repr__(self) -> str:
        times = f", {self.t_s[0]:.6g} to {self.t_s[-1]:.6g} s" if len(self.t_s) else ""
        return f"Drive({counted(len(self.t_s), 'step')}{times})"

    @property
    def beta_rad(self) -> Array:
        """Sideslip angle of the centre of gravity, (k,)."""
        return np.arctan2(self.body_mps[:, 1], self.body_mps[:, 0])

    @property
    def cost(self) -> StepCost:
        """What the steps cost."""
        return self.trajectory.cost

    @property
    def last(self) -> State:
        """The state at the end, to go on from."""
        return self.trajectory.last


@dataclass(slots=True)
class Car:
    """A vehicle with its model and a stepper; not for two threads at once."""

    vehicle: Vehicle
    options: StepOptions = REAL_TIME
    formulation: Formulation = Formulation.AUGMENTED_LAGRANGIAN
    integrator: Integrator = Integrator.TRAPEZOIDAL
    road: Road = field(default_factory=Road.flat)
    model: Model = field(init=False)
    stepper: Stepper = field(init=False, repr=False)
    cg_m: Array = field(init=False)

    def __post_init__(self) -> None:
        self.model = build(mechanism_of(self.vehicle))
        self.stepper = Stepper(self.model, self.formulation, self.integrator, self.options)
        self.stepper.set_road(self.road)
        self.cg_m = static_loads(self.vehicle).cg_m

    def __repr__(self) -> str:
        return f"Car({self.model.summary}; {self.road})"

    @staticmethod
    def of(vehicle: str | Path) -> Car:
        """The car of a vehicle file, or of a shipped vehicle by name."""
        return Car(read_vehicle(vehicle))

    def on(self, road: Road) -> Car:
        """The same car on another road."""
        return Car(self.vehicle, self.options, self.formulation, self.integrator, road)

    def settle(self, x_m: float = 0.0, y_m: float = 0.0, yaw_rad: float = 0.0, *, braked: bool = False) -> State:
        """The car at rest on its road, in equilibrium; on a slope it needs its brakes, which then stay on.

        Steps with the speed taken out again and again until nothing accelerates. Without brakes the tyres go on
        creeping out of their side stresses by micrometres a second; that counts as rest.
        """
        self._set_inputs(STANDSTILL_BRAKE_PA if braked else 0.0)
        state = self.stepper.repair(self._placed(x_m, y_m, yaw_rad))
        body = [self.model.index(f"{name}.{axis}") for name in ("O", "ex", "ey", "ez") for axis in "xyz"]
        worst = before = np.inf
        for _ in range(60):
            for _ in range(25):
                now = self.stepper.run(state, STEP_S, 4).last
                state = State(0.0, now.q, 0.7 * now.qd, 0.7 * now.qdd, now.multipliers, now.wheels)
            rest = self._at_rest(state)
            worst = float(np.abs(rest.qdd[body]).max())
            if worst < SETTLED_MPS2 or (worst < CREEPING_MPS2 and worst > 0.9 * before):
                return replace(rest, inputs=self.stepper.work.inputs[1:].copy())
            before = worst
        raise MechanismError(
            f"{self.vehicle.name} does not come to rest on this road (still {worst:.2g} m/s²); settle it braked"
        )

    def _set_inputs(self, brake_pa: float) -> None:
        for name in self.model.inputs:
            self.stepper.set_input(name, brake_pa if name.startswith("brake") else 0.0)

    def _at_rest(self, state: State) -> State:
        self.stepper.load_wheels(state)
        model, work = self.model, self.stepper.work
        return consistent(model, 0.0, state.q, np.zeros(model.n), work=work, force=self.stepper.force)

    def _placed(self, x_m: float, y_m: float, yaw_rad: float) -> State:
        """The design position moved to (x, y) with this yaw, standing upright on the road there."""
        up = self.road.normal(x_m, y_m)
        forward = np.array([np.cos(yaw_rad), np.sin(yaw_rad), 0.0])
        forward = forward - (forward @ up) * up
        forward /= np.linalg.norm(forward)
        turn = np.column_stack([forward, np.cross(up, forward), up])
        ground = np.array([x_m, y_m, float(self.road.height_m(x_m, y_m))])
        q = self.model.start_q.copy()
        for _, first in self._triples(self.model.mechanism.points):
            q[first : first + 3] = turn @ self.model.start_q[first : first + 3] + ground
        for _, first in self._triples(self.model.mechanism.vectors):
            q[first : first + 3] = turn @ self.model.start_q[first : first + 3]
        n, rows = self.model.n, self.model.rows
        return State(0.0, q, np.zeros(n), np.zeros(n), np.zeros(rows))

    def _triples(self, named: Mapping[str, object]) -> list[tuple[str, int]]:
        names = self.model.names
        return [(name, names.index(f"{name}.x")) for name in named if f"{name}.x" in names]

    def moving(self, state: State, speed_mps: float) -> State:
        """A settled state set in motion along the car's x axis, wheels rolling, nobody steering, driving or braking."""
        self._set_inputs(0.0)  # else the rack would stand where the last drive left it
        index = self.model.index
        forward = state.q[index("ex.x") : index("ex.x") + 3]
        qd = np.zeros(self.model.n)
        for _, first in self._triples(self.model.mechanism.points):
            qd[first : first + 3] = speed_mps * forward
        for name, loaded_m in zip(self.model.wheel_names, self.wheels_at(state)[:, RADIUS], strict=True):
            tyre = self.vehicle.corner(name[:2]).axle.tyre
            share = tyre.dynamic_radius_share
            qd[index(f"{name[:2]}_spin")] = speed_mps / (share * tyre.radius_m + (1.0 - share) * loaded_m)
        self.stepper.load_wheels(state)
        work = self.stepper.work
        moving = consistent(self.model, state.t_s, state.q, qd, work=work, force=self.stepper.force)
        return replace(moving, inputs=work.inputs[1:].copy())

    def wheels_at(self, state: State) -> Array:
        """Rows of all wheels in a state, in the order of `model.wheel_names`; columns as in rolling_kernels.py."""
        self.stepper.load_wheels(state)
        work, spare = self.stepper.work, np.zeros(self.model.n)
        rolling_forces(self.model.tables.rolling, work.wheels, work.road, work.inputs, 0.0, state.q, state.qd, spare)
        return np.array(work.wheels)

    def schedule(self, controls: Mapping[str, Array], h_s: float = STEP_S, start: State | None = None) -> Array:
        """Inputs for `drive` from their values at the end of each step, shape (steps, inputs, 3).

        An input that is not given stays where it was in `start` (without one, where the stepper left it). Speed and
        acceleration of the rack come from a cubic spline through the value at the start and those given.
        """
        steps = {len(values) for values in controls.values()}
        if len(steps) != 1:
            raise ValueError(f"give one control or more, all with one value per step; got {sorted(steps)} values")
        before = self.stepper.work.inputs[1:] if start is None or not len(start.inputs) else start.inputs
        table = np.zeros((steps.pop(), len(self.model.inputs), 3))
        table[:, :, 0] = before[:, 0]
        for name, values in controls.items():
            k = self.model.input_index(name) - 1
            self._require_within(name, values)
            table[:, k, 0] = values
            if name == "rack_m":
                table[:, k, 1:] = _rates(before[k], np.asarray(values, dtype=np.float64), h_s)
        return table

    def _require_within(self, name: str, values: Array) -> None:
        """Neither the rack beyond its travel nor a pressure beyond what is known of the pads."""
        low, high, why = -np.inf, np.inf, "not a finite number"
        if name == "rack_m":
            high = self.vehicle.steering.travel_m
            low, why = -high, f"beyond steering.travel_m = {high:g} to each side"
        elif name.startswith("brake"):
            axle = "front" if "front" in name else "rear"
            brake = getattr(self.vehicle, axle).brake
            high, why = brake.highest_pressure_pa, f"beyond {axle}.brake.highest_pressure_pa"
        wrong = np.flatnonzero(~(np.isfinite(values) & (np.asarray(values) >= low) & (np.asarray(values) <= high)))
        if len(wrong):
            raise ValueError(f"{name} is {values[wrong[0]]:g} at step {wrong[0]}, {why}")

    def drive(self, state: State, controls: Mapping[str, Array], h_s: float = STEP_S, every: int = 1) -> Drive:
        """Drive from a state with the controls in `schedule`'s form, one row of each per step; others are held."""
        table = self.schedule(controls, h_s, state)
        run = self.stepper.run(state, h_s, len(table), every, table)
        run = replace(run, last=replace(run.last, inputs=table[-1].copy()))
        return self.seen(run, table[every - 1 :: every])

    def seen(self, run: Trajectory, inputs: Array) -> Drive:
        """A trajectory in engineering terms, with the inputs (k, inputs, 3) at its rows."""
        first = {name: self.model.index(f"{name}.x") for name in ("O", "ex", "ey", "ez")}
        origin, ex, ey, ez = (run.q[:, i : i + 3] for i in first.values())
        rates = {name: run.qd[:, i : i + 3] for name, i in first.items()}
        speeds = {name: run.qdd[:, i : i + 3] for name, i in first.items()}
        x, y, z = self.cg_m
        velocity = rates["O"] + x * rates["ex"] + y * rates["ey"] + z * rates["ez"]
        acceleration = speeds["O"] + x * speeds["ex"] + y * speeds["ey"] + z * speeds["ez"]
        axes = np.stack([ex, ey, ez], axis=1)  # (k, axis, ground)
        rpy = np.column_stack(
            [np.arctan2(ey[:, 2], ez[:, 2]), -np.arcsin(np.clip(ex[:, 2], -1, 1)), np.arctan2(ex[:, 1], ex[:, 0])]
        )
        turn = np.column_stack([(rates["ey"] * ez).sum(1), (rates["ez"] * ex).sum(1), (rates["ex"] * ey).sum(1)])
        order = [self.model.wheel_names.index(f"{corner}_wheel") for corner in CORNERS]
        wheels = run.wheels[:, order]
        spins = run.qd[:, [self.model.index(f"{corner}_spin") for corner in CORNERS]]
        return Drive(
            run.t_s, origin, velocity, np.einsum("kij,kj->ki", axes, velocity), rpy, turn,
            np.einsum("kij,kj->ki", axes, acceleration), wheels[..., FZ], wheels[..., FX], wheels[..., FY],
            wheels[..., VX] - wheels[..., ROLL], wheels[..., VY], spins, inputs, run,
        )  # fmt: skip

    def loads_n(self, state: State) -> Mapping[str, float]:
        """Wheel loads in a state, by corner."""
        names, rows = self.model.wheel_names, self.wheels_at(state)
        return {c: float(rows[names.index(f"{c}_wheel"), FZ]) for c in CORNERS}

    def cg_position_m(self, state: State) -> Array:
        """Centre of gravity of the whole car in its design shape, ground axes (3,)."""
        i = self.model.index("O.x")
        axes = np.column_stack([state.q[self.model.index(f"{e}.x") :][:3] for e in ("ex", "ey", "ez")])
        return np.asarray(state.q[i : i + 3] + axes @ self.cg_m, dtype=np.float64)


def _rates(before: Array, values: Array, h_s: float) -> Array:
    """Rate and acceleration (steps, 2) at the end of each step of a motion that goes on from `before` (3,).

    A single step is a parabola through its end, its start and the point one step earlier that value, rate and
    acceleration at the start tell: so steps taken one by one are differences of the last three values.
    """
    x, v, a = before
    through = np.concatenate([[x], values])
    if len(values) == 1:
        through = np.concatenate([[x - h_s * v + 0.5 * h_s * h_s * a], through])
    times = h_s * np.arange(len(through))
    spline = CubicSpline(times, through)
    ends = times[-len(values) :]
    return np.column_stack([spline(ends, 1), spline(ends, 2)])


__all__ = ["REAL_TIME", "STEP_S", "Car", "Drive"]
