"""Ride modes of a car: bounce, pitch, roll and wheel hop, from the full model linearised where it stands.

The road is slippery for this, so that the tyres carry only vertical load: how a car rides, not how it grips.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from scipy.linalg import eig

from hodograph.multibody.algebra import Array
from hodograph.multibody.car.car import Car
from hodograph.multibody.car.vehicle import CORNERS, Axle, Vehicle
from hodograph.multibody.derivatives import sensitivity

SLIPPERY = 1e-9
SLOWEST_RADPS = 1.0
"""Modes below are the free motions along the road, which have no stiffness."""


@dataclass(frozen=True, slots=True)
class Mode:
    """One vibration: undamped frequency, share of critical damping, and who moves.

    `body` is the vertical motion of the body over each wheel, `wheel` that of each wheel, (4,) in the order of
    `CORNERS`, the largest of all eight being one.
    """

    name: str
    frequency_hz: float
    damping: float
    body: Array
    wheel: Array


def ride_modes(vehicle: Vehicle) -> tuple[Mode, ...]:
    """The seven ride modes by rising frequency, shapes and frequencies without damping.

    The damping ratio is that of the modal projection, so it is there beyond one as well.
    """
    car = Car(_slippery(vehicle))
    state = car.settle()
    car.stepper.load_wheels(state)
    s = sensitivity(car.model, state, work=car.stepper.work)
    values, left, right = cast("tuple[Array, Array, Array]", eig(s.zdd_z, left=True, right=True))
    found = []
    for value, row, shape in zip(values, left.T, right.T, strict=True):
        omega = np.sqrt(max(-value.real, 0.0))
        if omega > SLOWEST_RADPS:
            damping = -(row.conj() @ s.zdd_zd @ shape) / (row.conj() @ shape) / (2.0 * omega)
            found.append(_mode(car, s.r @ shape, omega, float(damping.real)))
    return tuple(sorted(found, key=lambda mode: mode.frequency_hz))


def _slippery(vehicle: Vehicle) -> Vehicle:
    def iced(axle: Axle) -> Axle:
        right = axle.right
        if right.tyre is not None:
            right = replace(right, tyre=replace(right.tyre, friction=SLIPPERY, rolling_resistance=0.0))
        return replace(axle, tyre=replace(axle.tyre, friction=SLIPPERY, rolling_resistance=0.0), right=right)

    return replace(vehicle, front=iced(vehicle.front), rear=iced(vehicle.rear))


def _mode(car: Car, motion: Array, omega_radps: float, damping: float) -> Mode:
    """`motion` (n,): how every coordinate moves in this mode."""
    index = car.model.index
    body, wheel = np.zeros(4), np.zeros(4)
    motion = motion.real
    for k, corner in enumerate(CORNERS):
        x, y, z = car.vehicle.corner(corner).axle.wheel_centre_m
        arms = zip(("O.z", "ex.z", "ey.z", "ez.z"), (1.0, x, y, z), strict=True)
        body[k] = sum(arm * motion[index(name)] for name, arm in arms)
        wheel[k] = motion[index(f"{corner}_W.z")]
    both = np.concatenate([body, wheel])
    both = both / both[np.argmax(np.abs(both))]
    return Mode(_named(both[:4], both[4:]), omega_radps / (2.0 * np.pi), damping, both[:4], both[4:])


def _named(body: Array, wheel: Array) -> str:
    """What a vibration is called, from the signs of who moves most: front, rear, left, right."""
    moving = body if np.abs(body).sum() > np.abs(wheel).sum() else wheel
    shapes = {
        "bounce": moving.sum(),
        "pitch": moving[0] + moving[1] - moving[2] - moving[3],
        "roll": moving[0] - moving[1] + moving[2] - moving[3],
        "warp": moving[0] - moving[1] - moving[2] + moving[3],
    }
    best = max(shapes, key=lambda name: abs(shapes[name]))
    if moving is body:
        return best
    size = np.abs(moving)
    where = "front" if size[:2].sum() > size[2:].sum() else "rear"
    left, right = moving[:2] if where == "front" else moving[2:]
    if min(abs(left), abs(right)) < 0.4 * max(abs(left), abs(right)):
        return f"wheel hop {where} {'left' if abs(left) > abs(right) else 'right'}"
    return f"wheel hop {where}, {'together' if left * right > 0.0 else 'in turn'}"
