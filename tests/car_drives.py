"""Cars, controls and quantities that the tests of the car share."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from hodograph.core.frames import Array
from hodograph.multibody import State
from hodograph.multibody.car import read_vehicle
from hodograph.multibody.car.car import STEP_S, Car
from hodograph.multibody.forces.road import Road
from hodograph.multibody.motion.kinematics import mass_matrix
from hodograph.vehicles.car import RightSide, Vehicle

VEHICLES = ("xbw", "race_car")
SLOPE_RAD = np.radians(5.0)


@cache
def car_of(name: str) -> Car:
    """A shipped car on a flat road, built once."""
    return Car.of(name)


@cache
def settled(name: str) -> State:
    """A shipped car at rest on a flat road."""
    return car_of(name).settle()


@cache
def on_slope(name: str, kind: str) -> tuple[Car, State]:
    """A shipped car braked on five degrees: nose up the slope, across it, or on a road that is banked."""
    road = Road.bank(SLOPE_RAD) if kind == "banked" else Road.slope(SLOPE_RAD)
    car = car_of(name).on(road)
    return car, car.settle(yaw_rad=np.pi / 2 if kind == "across" else 0.0, braked=True)


def symmetric(vehicle: Vehicle) -> Vehicle:
    """The vehicle with both sides alike and the mass of the chassis in the middle plane."""
    c = vehicle.body
    body = replace(c, cg_m=(c.cg_m[0], 0.0, c.cg_m[2]), products_kgm2=(0.0, c.products_kgm2[1], 0.0))
    front, rear = (replace(axle, right=RightSide()) for axle in (vehicle.front, vehicle.rear))
    return replace(vehicle, body=body, front=front, rear=rear)


def without_air(name: str) -> Car:
    """A shipped car in a vacuum."""
    return Car(replace(read_vehicle(name), aero=None))


def times_s(duration_s: float, h_s: float = STEP_S) -> Array:
    """Ends of the steps of a drive."""
    return h_s * np.arange(1, round(duration_s / h_s) + 1)


def rise(t_s: Array, start_s: float, end_s: float) -> Array:
    """From 0 to 1 between two times, twice differentiable everywhere."""
    x = np.clip((t_s - start_s) / (end_s - start_s), 0.0, 1.0)
    return np.asarray(x**3 * (10.0 - 15.0 * x + 6.0 * x**2))


def pulse(t_s: Array, start_s: float, end_s: float, edge_s: float = 0.4) -> Array:
    """1 between two times, with smooth edges inside."""
    return rise(t_s, start_s, start_s + edge_s) - rise(t_s, end_s - edge_s, end_s)


def slalom(duration_s: float, h_s: float = STEP_S, rack_m: float = 0.006) -> dict[str, Array]:
    """Sinusoidal steering under drive, then under braking."""
    t = times_s(duration_s, h_s)
    rack = rack_m * np.sin(np.pi * (t - 1.0)) * pulse(t, 1.0, 0.9 * duration_s, 0.6)
    brake = pulse(t, 0.6 * duration_s, 0.9 * duration_s)
    drive = 400.0 * pulse(t, 0.2, 0.5 * duration_s)
    return {"rack_m": rack, "drive_nm": drive, "brake_front_pa": 1.2e6 * brake, "brake_rear_pa": 0.8e6 * brake}


def momentum(car: Car, q: Array, qd: Array) -> tuple[Array, Array, Array]:
    """Linear momentum, centre of gravity, and angular momentum about it, from the mass matrix alone.

    A virtual translation or rotation of the whole car is a vector of coordinate rates; its product with M qd is the
    momentum that belongs to it.
    """
    model = car.model
    p = mass_matrix(model, q) @ qd
    points = [model.index(f"{name}.x") for name in model.mechanism.points]
    vectors = [model.index(f"{name}.x") for name in model.mechanism.vectors]
    linear, centre, angular = np.zeros(3), np.zeros(3), np.zeros(3)
    for axis in range(3):
        shift = np.zeros(model.n)
        shift[[i + axis for i in points]] = 1.0
        turn = np.zeros(model.n)
        for i in points + vectors:
            turn[i : i + 3] = np.cross(np.eye(3)[axis], q[i : i + 3])
        linear[axis], angular[axis] = shift @ p, turn @ p
        still = np.where([name.endswith("spin") for name in model.names], 0.0, q)
        centre[axis] = shift @ mass_matrix(model, q) @ still / model.inertia.total_kg
    return linear, centre, angular - np.cross(centre, linear)
