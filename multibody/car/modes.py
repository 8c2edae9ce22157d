"""How a car rides: natural frequencies and damping of heave, pitch, roll and the hop of its wheels.

The accelerations of the full model are linearised by differences about its equilibrium. The road has no friction there,
as under the floating pans of a shaker rig: tyres that stick or roll would mix in side forces, which depend on speed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eig
from scipy.optimize import linear_sum_assignment

from hodograph.core.display import short_repr
from hodograph.core.errors import MechanismError
from hodograph.core.frames import Array
from hodograph.multibody.car.car import Car
from hodograph.multibody.forces.columns import TYRE_FRICTION, TYRE_ROLLING_RESISTANCE
from hodograph.multibody.model.tables import Tables, Work
from hodograph.multibody.motion import dynamics_kernels as dynamics
from hodograph.multibody.motion.kinematics import POSITION_TOLERANCE
from hodograph.vehicles.car import CORNERS

NO_FRICTION = 1e-9
STEP_M, STEP_MPS = 1e-5, 1e-4
RIGID = 1.0
"""Modes slower than 1 rad/s are motions along the road, which nothing holds back."""

BODY = ("heave", "pitch", "roll")
ALONE = 0.9
"""A wheel with this share of a mode's wheel motion hops on its own, else the axle does."""


@dataclass(frozen=True, slots=True)
class RideMode:
    """A natural motion: `frequency_hz` is |λ|/2π of the damped car, `damping_ratio` −Re λ/|λ|.

    `undamped_hz` is the frequency without dampers, which textbooks compute from rates and masses; it differs where
    strong dampers tie body and wheels together.

    `name`: heave, pitch, roll; front hop (both wheels together) and front tramp (against each other), likewise rear, or
    hop fl … where one wheel moves alone. The shape: `body` (3,) is heave in metres, pitch and roll in radians at the
    centre of gravity, `wheels` (4,) the heights of the wheel centres in metres, for a largest motion of 1.
    """

    name: str
    frequency_hz: float
    damping_ratio: float
    body: Array
    wheels: Array
    undamped_hz: float

    __repr__ = short_repr


def ride_modes(car: Car) -> tuple[RideMode, ...]:
    """The seven modes of a car with four wheels: heave, pitch, roll, then those of the wheels, front to rear.

    The car stands on a flat road, whatever road it was put on. `MechanismError` when it finds no equilibrium there.
    """
    linear = _Linear(car)
    z = linear.equilibrium()
    stiffness, damping = linear.matrices(z)
    values, shapes = _vertical(stiffness)
    damped = _damped(stiffness, damping, values, shapes)
    seen = linear.outputs(z) @ shapes
    sizes = seen * linear.scale[:, None]
    seen = seen / sizes[np.abs(sizes).argmax(axis=0), np.arange(len(values))]
    names = _names(sizes)
    order = sorted(range(len(names)), key=lambda k: (BODY.index(names[k]) if names[k] in BODY else 3, names[k]))
    return tuple(
        RideMode(
            names[k], float(damped[k, 0]), float(damped[k, 1]), seen[:3, k].copy(), seen[3:, k].copy(),
            float(np.sqrt(values[k]) / (2.0 * np.pi)),
        )
        for k in order
    )  # fmt: skip


class _Linear:
    """Accelerations of the independent coordinates of a car on a flat road without friction."""

    def __init__(self, car: Car) -> None:
        self.model = car.model
        tyre = car.model.tables.rolling.tyre.copy()
        tyre[:, TYRE_FRICTION], tyre[:, TYRE_ROLLING_RESISTANCE] = NO_FRICTION, 0.0
        rolling = car.model.tables.rolling._replace(tyre=tyre)
        self.tables: Tables = car.model.tables._replace(rolling=rolling)
        self.work: Work = car.model.work()
        self.force = car.stepper.force
        self.q = car.model.start_q.copy()
        self.name = car.vehicle.name
        self.cg_m = car.cg_m
        half_m = np.array([car.vehicle.wheelbase_m / 2, car.vehicle.front.wheel_centre_m[1]])
        self.scale = np.array([1.0, *half_m, 1.0, 1.0, 1.0, 1.0])

    def accelerations(self, z: Array, zd: Array) -> Array:
        """zdd at independent coordinates z and velocities zd, (f,)."""
        work, tables = self.work, self.tables
        q, qd = self.q.copy(), np.zeros(self.model.n)
        q[work.independent], qd[work.independent] = z, zd
        if dynamics.position_problem(tables, work, 0.0, q, POSITION_TOLERANCE, 100) < 0:
            raise MechanismError(f"{self.name}: the suspension does not reach its equilibrium")
        dynamics.velocity_problem(tables, work, qd)
        qdd, multipliers = np.zeros(self.model.n), np.zeros(self.model.rows)
        work.wheels[:], work.clock[0] = 0.0, 0.0
        dynamics.matrix_r(tables, work, self.force, 0.0, q, qd, qdd, multipliers)
        return np.asarray(qdd[work.independent], dtype=np.float64)

    def matrices(self, z: Array) -> tuple[Array, Array]:
        """K and D of zdd = K dz + D zd, by central differences."""
        rest = np.zeros_like(z)
        stiffness, damping = np.empty((len(z), len(z))), np.empty((len(z), len(z)))
        for k, unit in enumerate(np.eye(len(z))):
            ahead, back = (self.accelerations(z + s * STEP_M * unit, rest) for s in (1.0, -1.0))
            stiffness[:, k] = (ahead - back) / (2.0 * STEP_M)
            ahead, back = (self.accelerations(z, s * STEP_MPS * unit) for s in (1.0, -1.0))
            damping[:, k] = (ahead - back) / (2.0 * STEP_MPS)
        return stiffness, damping

    def equilibrium(self) -> Array:
        """Independent coordinates at which nothing accelerates, by Newton from the design position."""
        z = self.q[self.work.independent].copy()
        rest = np.zeros_like(z)
        for _ in range(20):
            pull = self.accelerations(z, rest)
            if np.abs(pull).max() < 1e-7:
                return z
            stiffness, _ = self.matrices(z)
            z = z - np.linalg.pinv(stiffness, rcond=1e-6) @ pull
        raise MechanismError(f"{self.name} finds no equilibrium on a flat road ({np.abs(pull).max():.2g} m/s² left)")

    def outputs(self, z: Array) -> Array:
        """(7, f): change of heave, pitch, roll and the heights of the wheels for a change of z."""
        work, q = self.work, self.q.copy()
        q[work.independent] = z
        dynamics.position_problem(self.tables, work, 0.0, q, POSITION_TOLERANCE, 100)
        r = np.zeros((len(z), self.model.n))
        dynamics.null_space(self.tables, work, r)
        height, nose, side, up = (r[:, self.model.index(f"{name}.z")] for name in ("O", "ex", "ey", "ez"))
        heave = height + self.cg_m[0] * nose + self.cg_m[1] * side + self.cg_m[2] * up
        wheels = [r[:, self.model.index(f"{corner}_W.z")] for corner in CORNERS]
        return np.array([heave, -nose, side, *wheels])


def _vertical(stiffness: Array) -> tuple[Array, Array]:
    """Squares of the undamped natural frequencies, ascending, and their shapes (f, 7) without those along the road."""
    values, shapes = np.linalg.eig(-stiffness)
    chosen = [k for k in np.argsort(values.real) if values[k].real > RIGID]
    return values.real[chosen], shapes.real[:, chosen]


def _damped(stiffness: Array, damping: Array, values: Array, shapes: Array) -> Array:
    """(modes, 2): |λ|/2π and damping ratio of the damped mode that looks most like each undamped one.

    A mode that does not swing any more has no pair of its own; it is given the damping of its undamped shape.
    """
    f = len(stiffness)
    whole = np.block([[np.zeros((f, f)), np.eye(f)], [stiffness, damping]])
    poles, vectors = eig(whole)
    swinging = np.flatnonzero((poles.imag > 1e-3) & (np.abs(poles) > RIGID))
    inverse = np.linalg.pinv(shapes)
    parts = np.abs(inverse @ vectors[:f, swinging])
    parts = parts / np.linalg.norm(parts, axis=0)
    out = np.empty((len(values), 2))
    modal = np.diag(inverse @ damping @ shapes)
    out[:, 0] = np.sqrt(values) / (2.0 * np.pi)
    out[:, 1] = -modal / (2.0 * np.sqrt(values))
    for k, j in zip(*linear_sum_assignment(-parts), strict=True):
        pole = poles[swinging[j]]
        out[k] = abs(pole) / (2.0 * np.pi), -pole.real / abs(pole)
    return out


def _names(seen: Array) -> list[str]:
    """Names of modes (7, modes) that come in ascending frequency: the body's first, then those of the wheels."""
    share = np.abs(seen[:3, :3])
    share = share / np.linalg.norm(share, axis=0)
    what, which = linear_sum_assignment(-share)
    names = {int(k): BODY[w] for w, k in zip(what, which, strict=True)}
    for k in range(3, seen.shape[1]):
        wheels = seen[3:, k] / np.linalg.norm(seen[3:, k])
        largest = int(np.argmax(np.abs(wheels)))
        left, right = wheels[:2] if largest < 2 else wheels[2:]
        if wheels[largest] ** 2 > ALONE:
            names[k] = f"hop {CORNERS[largest]}"
        else:
            names[k] = f"{'front' if largest < 2 else 'rear'} {'hop' if left * right > 0.0 else 'tramp'}"
    return [names[k] for k in range(seen.shape[1])]
