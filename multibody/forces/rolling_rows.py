"""From tyres, brakes, driven axles and air in a mechanism to the tables of rolling_kernels.py."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hodograph.core.display import short_repr
from hodograph.core.errors import MechanismError
from hodograph.core.frames import Array
from hodograph.core.kinds import unknown_kind
from hodograph.multibody.forces.columns import AERO_WIDTH, BRAKE_WIDTH, DIFFERENTIAL_WIDTH, TYRE_WIDTH
from hodograph.multibody.forces.driveline import aero_row, brake_row, differential_row
from hodograph.multibody.forces.loads import Load
from hodograph.multibody.forces.rolling import AirForce, AxleDrive, RollingForce, TyreContact, WheelBrake
from hodograph.multibody.forces.tyres import tyre_row
from hodograph.multibody.model.algebra import Place
from hodograph.multibody.model.coordinates import Coordinates
from hodograph.multibody.model.mechanism import Wheel
from hodograph.multibody.model.symbolic import Symbolic, floats, grid, index
from hodograph.multibody.model.tables import Rolling

NO_TYRE = -1.0


@dataclass(slots=True)
class RollingParts:
    """Wheels and forces in the making, before the ordering is known."""

    names: list[str] = field(default_factory=list)
    wheel: list[list[int]] = field(default_factory=list)
    tyre: list[Array] = field(default_factory=list)
    brake: list[list[int]] = field(default_factory=list)
    brake_par: list[Array] = field(default_factory=list)
    drive: list[list[int]] = field(default_factory=list)
    drive_par: list[Array] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    aero_axis: list[list[int]] = field(default_factory=list)
    aero_par: list[Array] = field(default_factory=list)

    def pairs(self) -> set[tuple[int, int]]:
        """Entries of the step matrix that the tangents need."""
        found: set[tuple[int, int]] = set()
        for w, _, a, b, spin in self.wheel:
            own = [*range(w, w + 3), *range(a, a + 3), *range(b, b + 3), spin]
            found |= {(i, j) for i in own for j in own}
        for left, right, *_ in self.drive:
            found.add((self.wheel[left][4], self.wheel[right][4]))
        return found

    __repr__ = short_repr


def gather_rolling(c: Coordinates, inputs: dict[str, int]) -> RollingParts:
    """All wheels that a tyre, a brake or a drive acts on, and the air."""
    parts = RollingParts()
    for name, force in c.mechanism.forces.items():
        what = f"force {name}"
        if isinstance(force, Load):
            continue
        if isinstance(force, TyreContact):
            k = _wheel(c, parts, force.wheel, what)
            if parts.tyre[k][0] > NO_TYRE:
                raise MechanismError(f"{what}: wheel {force.wheel} has a tyre already")
            parts.tyre[k] = tyre_row(force.tyre, mirrored=force.mirrored)
        elif isinstance(force, WheelBrake):
            k = _wheel(c, parts, force.wheel, what)
            if any(braked == k for braked, _ in parts.brake):
                raise MechanismError(f"{what}: wheel {force.wheel} has a brake already; its wind-up is one state")
            parts.brake.append([k, inputs[force.input]])
            parts.brake_par.append(brake_row(force.brake))
        elif isinstance(force, AxleDrive):
            wheels = [_wheel(c, parts, wheel, what) for wheel in force.wheels]
            sides = [0, 0] if force.reaction is None else [_first(c, v, what) for v in force.reaction[1:]]
            parts.drive.append([wheels[0], wheels[-1], inputs[force.input], *sides])
            parts.drive_par.append(differential_row(force.differential))
        elif isinstance(force, AirForce):
            parts.places += [c.place(p, what) for p in (force.at, force.front, force.rear)]
            parts.aero_axis.append([_first(c, v, what) for v in force.axes])
            parts.aero_par.append(aero_row(force.aerodynamics))
        else:
            raise unknown_kind(what, force, RollingForce)
    return parts


def _wheel(c: Coordinates, parts: RollingParts, name: str, what: str) -> int:
    if name in parts.names:
        return parts.names.index(name)
    body = c.mechanism.bodies.get(name)
    if not isinstance(body, Wheel):
        raise MechanismError(f"{what}: {name} is no body of kind wheel")
    vectors = [_first(c, v, what) for v in (body.axis, body.side_a, body.side_b)]
    parts.names.append(name)
    parts.wheel.append([_first(c, body.centre, what), *vectors, c.scalars[body.spin]])
    blank = np.zeros(TYRE_WIDTH)
    blank[0] = NO_TYRE
    parts.tyre.append(blank)
    return len(parts.names) - 1


def _first(c: Coordinates, name: str, what: str) -> int:
    """The first index of a point or vector that has coordinates of its own."""
    if f"{name}.x" not in c.names:
        raise MechanismError(f"{what}: {name} has no coordinates of its own (it is fixed, or a station)")
    return c.names.index(f"{name}.x")


def tabulate_rolling(parts: RollingParts, symbolic: Symbolic) -> Rolling:
    """The tables of the rolling forces."""
    drive = [[*axle, symbolic.destination(parts.wheel[axle[0]][4], parts.wheel[axle[1]][4])] for axle in parts.drive]
    start, term, val = [0], list[list[int]](), list[float]()
    for place in parts.places:
        for axis, form in enumerate(place):
            for i, factor in form.terms.items():
                term.append([i, axis])
                val.append(factor)
        start.append(len(term))
    return Rolling(
        grid(parts.wheel, 5), floats(parts.tyre, TYRE_WIDTH),
        grid([_destinations(row, symbolic) for row in parts.wheel], 64),
        grid(parts.brake, 2), floats(parts.brake_par, BRAKE_WIDTH), grid(drive, 6),
        floats(parts.drive_par, DIFFERENTIAL_WIDTH), index(start), grid(term, 2), np.array(val, dtype=np.float64),
        grid(parts.aero_axis, 3), floats(parts.aero_par, AERO_WIDTH),
    )  # fmt: skip


def _destinations(wheel: list[int], symbolic: Symbolic) -> list[int]:
    """Places of the pairs WW, Wa, Wb, aa, ab, bb (nine each), of W, a, b with the spin, and of the spin."""
    w, _, a, b, spin = wheel
    found = [
        symbolic.destination(i + r, j + s)
        for i, j in ((w, w), (w, a), (w, b), (a, a), (a, b), (b, b))
        for r in range(3)
        for s in range(3)
    ]
    found += [symbolic.destination(i + r, spin) for i in (w, a, b) for r in range(3)]
    return [*found, symbolic.destination(spin, spin)]
