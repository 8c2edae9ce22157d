"""A model: the immutable tables of a mechanism. States live apart, so many can share one model in many threads."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hodograph.core.display import cut
from hodograph.core.errors import MechanismError
from hodograph.core.frames import Array
from hodograph.multibody.forces.load_rows import gather_forces, tabulate_loads
from hodograph.multibody.forces.loads import PointForce, Torque
from hodograph.multibody.forces.rolling import AxleDrive, WheelBrake
from hodograph.multibody.forces.rolling_rows import gather_rolling, tabulate_rolling
from hodograph.multibody.model.algebra import place_at
from hodograph.multibody.model.assembly import Assembly, assemble
from hodograph.multibody.model.constraint_rows import ConstraintRow, all_rows
from hodograph.multibody.model.coordinates import Coordinates, lay_out
from hodograph.multibody.model.inertia import Inertia, inertia_of
from hodograph.multibody.model.mechanism import DotProduct, Guided, Mechanism
from hodograph.multibody.model.tables import WHEEL_STATES, ConstraintRows, Index, Tables, Work, work_for
from hodograph.multibody.model.tabulate import pattern, tabulate_factor, tabulate_mass, tabulate_rows


@dataclass(frozen=True, slots=True)
class State:
    """One state of a model: time, coordinates, velocities, accelerations (n,) and multipliers (rows,).

    `wheels` (wheels, 3) are the states of the forces: deflections of the tyres, wind-up of the brakes; empty means at
    rest. `inputs` (inputs, 3) are value, rate and acceleration of the inputs that led here, for those who go on from
    here (`Car.drive`); empty means not known. Steps do not read them.
    """

    t_s: float
    q: Array
    qd: Array
    qdd: Array
    multipliers: Array
    wheels: Array = field(default_factory=lambda: np.zeros((0, WHEEL_STATES)))
    inputs: Array = field(default_factory=lambda: np.zeros((0, 3)))

    def __repr__(self) -> str:
        sizes = f"coordinates {len(self.q)}, rows {len(self.multipliers)}, wheels {len(self.wheels)}"
        return f"State(t = {self.t_s:.6g} s: {sizes})"

    def copy(self) -> State:
        """The same values in arrays of their own."""
        arrays = (self.q, self.qd, self.qdd, self.multipliers, self.wheels, self.inputs)
        return State(self.t_s, *(array.copy() for array in arrays))


@dataclass(frozen=True, slots=True)
class Model:
    """Tables and names of a mechanism; `start_q` satisfies the constraints.

    `rows` counts both candidate rows of an angle, of which one is idle at a time; `constraints` only the active ones.
    """

    mechanism: Mechanism
    coordinates: Coordinates
    row_names: tuple[str, ...]
    wheel_names: tuple[str, ...]
    tables: Tables
    inertia: Inertia
    inputs: tuple[str, ...]
    independent: Index
    start_q: Array
    declared: bool

    def __repr__(self) -> str:
        return f"Model({self.summary})"

    @property
    def summary(self) -> str:
        """What it is, in one line."""
        sizes = f"bodies {len(self.mechanism.bodies)}, coordinates {self.n}, constraints {self.constraints}"
        return f"{cut(self.mechanism.name)}: {sizes}, degrees of freedom {self.degrees_of_freedom}"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coordinates, in order."""
        return self.coordinates.names

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return len(self.names)

    @property
    def rows(self) -> int:
        """Number of constraint rows, idle ones of angles included."""
        return len(self.row_names)

    @property
    def constraints(self) -> int:
        """Number of active constraints."""
        return self.rows - len(self.tables.rows.angle)

    @property
    def degrees_of_freedom(self) -> int:
        """Coordinates minus active constraints."""
        return self.n - self.constraints

    def index(self, name: str) -> int:
        """The index of a coordinate by name, e.g. "theta" or "P1.x"."""
        try:
            return self.coordinates.index(name, self.mechanism.name)
        except MechanismError as error:
            raise ValueError(str(error)) from None

    def input_index(self, name: str) -> int:
        """The row of a named input in `Work.inputs`."""
        if name not in self.inputs:
            raise ValueError(f"{self.mechanism.name} has no input {name}; there are {', '.join(self.inputs) or 'none'}")
        return 1 + self.inputs.index(name)

    def position_m(self, place: str, q: Array) -> Array:
        """Where a point or station is at coordinates q, shape (dim,)."""
        return place_at(self.coordinates.place(place, "position_m"), q)

    def work(self, parameters: Array | None = None) -> Work:
        """Fresh buffers for one running state; `parameters` go to the user force."""
        given = np.zeros(1) if parameters is None else np.ascontiguousarray(parameters, dtype=np.float64)
        return work_for(self.tables, self.independent, len(self.inputs), given)


def build(mechanism: Mechanism) -> Model:
    """Compile a mechanism into a model: lay out, assemble in a consistent position, check, tabulate.

    Raises `MechanismError` that names the part: zero lengths, conflicting or redundant constraints, a singular start,
    degrees of freedom other than declared, a coordinate without mass.
    """
    coordinates = lay_out(mechanism)
    if not coordinates.names:
        raise MechanismError(f"{mechanism.name}: nothing can move, every point is fixed")
    rows = all_rows(coordinates)
    inertia = inertia_of(coordinates)
    inputs = _input_names(mechanism)
    numbers = {name: k + 1 for k, name in enumerate(inputs)}
    springs = gather_forces(coordinates, inertia, numbers)
    row_tables = tabulate_rows(rows, numbers)
    n = len(coordinates.names)
    assembly = assemble(coordinates, rows, row_tables, inertia)
    rolling = gather_rolling(coordinates, numbers)
    symbolic = pattern(n, row_tables, inertia, springs, rolling.pairs())
    row_tables = tabulate_rows(rows, numbers, symbolic.rank())
    jacobian = _both_branches(row_tables, assembly)
    tables = Tables(
        row_tables,
        tabulate_mass(n, inertia, symbolic),
        tabulate_factor(n, row_tables, inertia, symbolic, jacobian),
        tabulate_loads(springs, symbolic, assembly.q),
        tabulate_rolling(rolling, symbolic),
    )
    return Model(
        mechanism, coordinates, tuple(row.name for row in rows), tuple(rolling.names), tables,
        inertia, inputs, assembly.independent,
        assembly.q, bool(mechanism.independent),
    )  # fmt: skip


def _input_names(mechanism: Mechanism) -> tuple[str, ...]:
    used = [c.input for c in mechanism.constraints.values() if isinstance(c, Guided | DotProduct)]
    used += [f.input for f in mechanism.forces.values() if isinstance(f, PointForce | Torque | WheelBrake | AxleDrive)]
    return tuple(dict.fromkeys(name for name in used if name))


def _both_branches(rows: ConstraintRows, assembly: Assembly) -> Array:
    jacobian = assembly.jacobian.copy()
    for k, (sine, cosine, column, _, _) in enumerate(rows.angle):
        jacobian[sine, column] = jacobian[cosine, column] = rows.amplitude[k]
    return jacobian


__all__ = ["ConstraintRow", "Model", "State", "build"]
