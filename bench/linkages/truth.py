"""Ground truth and noise: read from the reference folder, or made with the very same integrator."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from hodograph.bench.linkages.config import (
    CONFIGURATIONS,
    LINKAGES,
    SENSORS,
    STEP_S,
    STEPS,
    Configuration,
    sensors_on,
    true_model,
)
from hodograph.core.display import short_repr
from hodograph.core.errors import SettingsError
from hodograph.core.frames import Array
from hodograph.multibody.model.build import State
from hodograph.multibody.motion.kinematics import from_independent
from hodograph.multibody.steps.stepper import Formulation, Integrator, Stepper
from hodograph.sensors import SensorSet, ideal


@dataclass(frozen=True, slots=True)
class Truth:
    """What really happened: z (steps, f), the sensor sets with their ideal readings (steps, m), and the states."""

    z: Array
    sets: dict[str, SensorSet]
    clean: dict[str, Array]
    states: tuple[State, ...]

    __repr__ = short_repr


@cache
def truth_of(mechanism: str, config: str, reference: Path | None = None) -> Truth:
    """The truth of a linkage at steps 1…2000, with what ideal sensors would read."""
    configuration = CONFIGURATIONS[config]
    z, zd = _read(mechanism, configuration, reference) if reference else _simulate(mechanism, configuration)
    model = true_model(mechanism, configuration)
    near, states = model.start_q, []
    for k in range(STEPS):
        state = from_independent(model, (k + 1) * STEP_S, z[k], zd[k], near)
        near = state.q
        states.append(state)
    sets = {name: sensors_on(model, mechanism, name, configuration) for name in SENSORS}
    return Truth(z, sets, {name: ideal(rows, states) for name, rows in sets.items()}, tuple(states))


def noise_of(mechanism: str, reference: Path | None, seed: int) -> Array:
    """Unit normal draws (steps, m): the reference stream, or our own by seed."""
    rows = len(LINKAGES[mechanism].angles)
    if reference is None:
        return np.random.default_rng(seed).standard_normal((STEPS, rows))
    table = _table(reference / "noise_unit_normal.csv")
    names = ["one_sensor"] if rows == 1 else [f"two_sensors_{k + 1}" for k in range(rows)]
    return np.column_stack([table[name] for name in names])


def _simulate(mechanism: str, configuration: Configuration) -> tuple[Array, Array]:
    model = true_model(mechanism, configuration)
    stepper = Stepper(model, Formulation.MATRIX_R, Integrator.TRAPEZOIDAL)
    run = stepper.run(stepper.start(), STEP_S, STEPS)
    return run.q[:, model.independent], run.qd[:, model.independent]


def _read(mechanism: str, configuration: Configuration, reference: Path) -> tuple[Array, Array]:
    table = _table(reference / f"{mechanism}_truth{configuration.suffix}.csv")
    names = LINKAGES[mechanism].angles
    z = np.column_stack([table[name] for name in names])[1:]
    zd = np.column_stack([table[f"{name}_dot"] for name in names])[1:]
    if len(z) != STEPS:
        raise SettingsError(str(reference), f"the truth of {mechanism} has {len(z)} steps, want {STEPS}")
    return z, zd


@cache
def _table(path: Path) -> dict[str, Array]:
    if not path.is_file():
        raise SettingsError(
            str(path), "no such file; --reference wants the folder with truth and noise of the benchmark"
        )
    names = path.read_text(encoding="utf-8").partition("\n")[0].split(",")
    columns = np.loadtxt(path, delimiter=",", skiprows=1, unpack=True)
    return dict(zip(names, columns, strict=True))
