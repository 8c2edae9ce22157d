"""Where the energy of a drive goes: the power of every kind of force, from the recorded motion, and what remains.

Each power is a plain force times the velocity of what it acts on, computed from wheel poses and body rates, not from
the generalised forces of the kernels. So the sum of kinetic, potential and dissipated energy also proves that
generalised forces and motion fit together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.integrate import cumulative_trapezoid

from hodograph.core.display import short_repr
from hodograph.core.frames import Array
from hodograph.multibody.car.assemble import CHASSIS_AXES, axes_names
from hodograph.multibody.car.car import Car, Drive
from hodograph.multibody.forces.driveline import aero_row
from hodograph.multibody.forces.driveline_kernels import ROLLING_SPEED_MPS
from hodograph.multibody.forces.rolling_kernels import BRAKE, DRAG, DRIVE, FX, FY, FZ, MZ, RADIUS, ROLL
from hodograph.multibody.model.algebra import place_at
from hodograph.multibody.model.build import Model
from hodograph.multibody.model.tables import WHEEL_STATES
from hodograph.multibody.motion import dynamics_kernels as dynamics
from hodograph.multibody.motion.energy import curve_values, kinetic_j, potential_j, spring_length_m, spring_vectors


@dataclass(frozen=True, slots=True)
class EnergyAccount:
    """Energy of a drive over time; all arrays (k,).

    `power_w` by kind: dampers, tyres_vertical, tyres_slip (in the road plane, aligning moment included),
    rolling_resistance, brakes, drive (at the wheels and its reaction on the body), air, steering (through the rack).
    Positive is into the car.
    """

    t_s: Array
    kinetic_j: Array
    potential_j: Array
    power_w: Mapping[str, Array]

    __repr__ = short_repr

    @property
    def work_j(self) -> Mapping[str, Array]:
        """Power integrated since the first row, by kind."""
        return {kind: cumulative_trapezoid(p, self.t_s, initial=0) for kind, p in self.power_w.items()}

    @property
    def residual_j(self) -> Array:
        """What the energy gained since the first row, less the work of all forces: zero in a perfect integration."""
        energy = self.kinetic_j + self.potential_j
        return np.asarray(energy - energy[0] - sum(self.work_j.values()), dtype=np.float64)

    @property
    def turnover_j(self) -> float:
        """Energy turned over: the integral of the absolute powers of all kinds."""
        return float(sum(np.trapezoid(np.abs(p), self.t_s) for p in self.power_w.values()))


def energy_account(car: Car, drive: Drive) -> EnergyAccount:
    """The account of a drive with this car."""
    run = drive.trajectory
    powers = {"dampers": damper_power_w(car.model, run.q, run.qd), **_wheel_powers(car, drive)}
    powers["air"] = air_power_w(car, run.q, run.qd)
    powers["steering"] = steering_power_w(car, drive)
    return EnergyAccount(run.t_s, kinetic_j(car.model, run.q, run.qd), potential_j(car.model, run.q), powers)


def damper_power_w(model: Model, q: Array, qd: Array) -> Array:
    """Of all dampers: minus force times speed."""
    loads, total = model.tables.loads, np.zeros(len(q))
    for s, (_, _, damping) in enumerate(loads.spring_par):
        along = (spring_vectors(loads, s, q) + loads.spring_const[s]) / spring_length_m(loads, s, q)[:, None]
        speed = (along * spring_vectors(loads, s, qd)).sum(axis=1)
        curve = int(loads.spring_curve[s, 1])
        total -= speed * (curve_values(loads, curve - 1, speed) if curve else damping * speed)
    return total


def turning_radps(model: Model, names: tuple[str, str, str], q: Array, qd: Array) -> Array:
    """Angular velocity in ground axes (k, 3) of a body with the orthonormal vectors `names`: ½ Σ e × ė."""
    first = [model.index(f"{name}.x") for name in names]
    return np.asarray(0.5 * sum(np.cross(q[:, i : i + 3], qd[:, i : i + 3]) for i in first), dtype=np.float64)


def _wheel_powers(car: Car, drive: Drive) -> dict[str, Array]:
    model, run = car.model, drive.trajectory
    body = turning_radps(model, CHASSIS_AXES, run.q, run.qd)
    kinds = ("tyres_vertical", "tyres_slip", "rolling_resistance", "brakes", "drive")
    total = {kind: np.zeros(len(run.t_s)) for kind in kinds}
    for k, name in enumerate(model.wheel_names):
        corner, row = name[:2], run.wheels[:, k]
        axis = run.q[:, model.index(f"{corner}_ey.x") :][:, :3]
        centre = run.q[:, model.index(f"{corner}_W.x") :][:, :3]
        carrier = turning_radps(model, axes_names(corner), run.q, run.qd)
        spin = run.qd[:, model.index(f"{corner}_spin")]
        forward, across, normal, up = _contact_axes(car, centre, axis, row[:, RADIUS])
        wheel = carrier + spin[:, None] * axis
        # Velocity of the material point of the wheel that touches the road
        speed = run.qd[:, model.index(f"{corner}_W.x") :][:, :3] - row[:, RADIUS, None] * np.cross(wheel, up)
        total["tyres_vertical"] += row[:, FZ] * (speed * normal).sum(axis=1)
        plane = row[:, FX, None] * forward + row[:, FY, None] * across
        total["tyres_slip"] += (plane * speed).sum(axis=1) + row[:, MZ] * (normal * wheel).sum(axis=1)
        tyre = car.vehicle.corner(corner).axle.tyre
        lever_m = tyre.dynamic_radius_share * np.maximum(tyre.radius_m - row[:, RADIUS], 0.0)  # r_D − r
        rolls = row[:, ROLL] ** 2 / (row[:, ROLL] ** 2 + ROLLING_SPEED_MPS**2)
        total["tyres_slip"] -= rolls * lever_m * row[:, FX] * (wheel * axis).sum(axis=1)
        total["rolling_resistance"] -= row[:, DRAG] * (wheel * axis).sum(axis=1)
        total["brakes"] -= row[:, BRAKE] * spin
        total["drive"] += row[:, DRIVE] * ((wheel - body) * axis).sum(axis=1)
    return total


def _contact_axes(car: Car, centre: Array, axis: Array, radius_m: Array) -> tuple[Array, Array, Array, Array]:
    """Forward and leftward axes in the road plane, its normal, and the wheel's own upward axis, each (k, 3)."""
    normal = car.road.normal(centre[:, 0], centre[:, 1])
    for _ in range(2):
        forward = np.cross(axis, normal)
        forward /= np.linalg.norm(forward, axis=1, keepdims=True)
        up = np.cross(forward, axis)
        at = centre - radius_m[:, None] * up
        normal = car.road.normal(at[:, 0], at[:, 1])
    forward = np.cross(axis, normal)
    forward /= np.linalg.norm(forward, axis=1, keepdims=True)
    return forward, np.cross(normal, forward), normal, np.cross(forward, axis)


def air_power_w(car: Car, q: Array, qd: Array) -> Array:
    """Of drag and lift; no wind."""
    if car.vehicle.aero is None:
        return np.zeros(len(q))
    drag, front, rear = aero_row(car.vehicle.aero.aerodynamics)
    rest = car.model.coordinates

    def velocity(place: str) -> Array:
        form = rest.place(place, "energy")
        return np.array([place_at(form, v) - place_at(form, np.zeros(len(v))) for v in qd])

    ahead, side, up = (q[:, car.model.index(f"{e}.x") :][:, :3] for e in CHASSIS_AXES)
    v = velocity("air_centre")
    vx, vy = (v * ahead).sum(axis=1), (v * side).sum(axis=1)
    flow = np.where(vx > 0.0, vx * vx, 0.0)
    lift = sum(
        area * flow * (velocity(place) * up).sum(axis=1) for area, place in ((front, "air_front"), (rear, "air_rear"))
    )
    return np.asarray(-drag * np.hypot(vx, vy) ** 3 + lift, dtype=np.float64)


def steering_power_w(car: Car, drive: Drive) -> Array:
    """What the rack's drive puts in: its force, a multiplier of the exact accelerations, times its speed."""
    run, model, inputs = drive.trajectory, car.model, drive.inputs
    work = model.work(car.stepper.parameters)._replace(road=car.road.table())
    guided = model.tables.rows.guide[:, 0]
    power = np.zeros(len(run.t_s))
    for k in np.flatnonzero(np.abs(inputs[:, :, 1]).max(axis=1) > 0.0):
        work.inputs[1:] = inputs[k]
        work.wheels[:] = 0.0
        work.wheels[:, :WHEEL_STATES] = run.wheels[k, :, :WHEEL_STATES]
        work.clock[0] = run.t_s[k]
        qdd, multipliers = np.zeros(model.n), np.zeros(model.rows)
        force, t_s = car.stepper.force, float(run.t_s[k])
        dynamics.lagrange(model.tables, work, force, t_s, run.q[k], run.qd[k], np.zeros(2), qdd, multipliers)
        power[k] = -float(multipliers[guided] @ work.guide[:, 1])
    return power
