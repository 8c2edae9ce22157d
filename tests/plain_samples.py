"""Short runs of everything that is compiled, for test_plain_python.py: `python plain_samples.py` prints them as JSON.

With NUMBA_DISABLE_JIT=1 the same runs are plain Python, which can be stepped through; they must give the same numbers.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
from indication_samples import run_model, run_sideslip_filter, synthetic_drive

from hodograph.core import Array, Reading
from hodograph.numerics.compiling import njit, user_force

MODELS = Path(__file__).parent / "fixtures"
STEPS = 6
SAMPLES = 60


@njit
def drag(speed: float) -> float:
    """What a user force calls."""
    return -0.5 * speed * abs(speed)


@user_force
def held_back(t_s: float, q: Array, qd: Array, parameters: Array, force: Array) -> None:
    """A user force of two functions."""
    force[4] += drag(qd[4])


def filter_run(observer: str, *, as_published: bool = False) -> Array:
    """States and variances of a family on the four-bar; one reading is missing, one is far off."""
    from hodograph.bench.linkages.grid import Case, engine_of

    engine = engine_of(Case("fourbar", "gyro_coupler", observer, 200, "high", "nd2017"), as_published=as_published)
    readings = 0.02 * np.cos(np.arange(STEPS, dtype=np.float64))[:, None]
    readings[2], readings[4] = np.nan, 0.3
    run = engine.run(readings)
    return np.concatenate([run.x.ravel(), np.diagonal(run.P, axis1=1, axis2=2).ravel()])


def late_run() -> Array:
    """The online shell with an unknown force, a reading that comes late and one that is refused."""
    from hodograph.bench.linkages.config import CONFIGURATIONS, sensors_on, wrong_model, wrong_start
    from hodograph.observers.on_mechanism.mechanism import observer
    from hodograph.observers.on_mechanism.problem import Problem
    from hodograph.observers.on_mechanism.uncertainty import Uncertainty, unknown_force

    configuration = CONFIGURATIONS["nd2017"]
    model = wrong_model("fourbar", configuration, "high")
    sensors = sensors_on(model, "fourbar", "encoder_crank", configuration)
    uncertainty = Uncertainty(0.09, 0.09, 0.09, unknown_force(model, 10.0, 10.0))
    made = observer(Problem(model, sensors, uncertainty, wrong_start("fourbar", model, "high")), "force_ekf")
    told = [
        made.correct(Reading(t_ns, "encoder_crank", (value,)))
        for t_ns, value in ((5_000_000, 1.1), (21_000_000, 1.12), (12_000_000, 1.11), (25_000_000, 90.0))
    ]
    return np.concatenate([made.estimate.x, made.estimate.P.ravel(), np.array(told, dtype=np.float64)])


def sideslip_run() -> Array:
    """The sideslip filter over the beginning of the synthetic drive."""
    t_s, inputs = synthetic_drive()
    states, stds = run_sideslip_filter(t_s[:SAMPLES], inputs[:SAMPLES])
    return np.concatenate([*states.values(), *stds.values()])


def model_run(file: str) -> Array:
    """A sideslip model over the same."""
    t_s, inputs = synthetic_drive()
    return np.concatenate(run_model(MODELS / file, t_s[:SAMPLES], inputs[:SAMPLES]))


def fourbar_run(formulation: str, integrator: str) -> Array:
    """A few steps of the four-bar under a user force."""
    from hodograph.multibody import build, shipped_mechanism
    from hodograph.multibody.steps.stepper import Formulation, Integrator, Stepper

    model = build(shipped_mechanism("fourbar"))
    stepper = Stepper(model, Formulation(formulation), Integrator(integrator), force=held_back)
    run = stepper.run(stepper.start(), 5e-3, STEPS)
    return np.concatenate([run.q.ravel(), run.qd.ravel()])


def lanes_run() -> Array:
    """Four four-bars side by side."""
    from hodograph.multibody import LaneStepper, Stepper, build, shipped_mechanism

    model = build(shipped_mechanism("fourbar"))
    states, _ = LaneStepper(model).step([Stepper(model).start()] * 4, 5e-3, STEPS)
    return np.concatenate([part for s in states for part in (s.q, s.qd)])


def car_run() -> Array:
    """The car let go in its design position, rolling over a bump with the brakes on; what spans its motion, and how."""
    from hodograph.multibody import sensitivity
    from hodograph.multibody.car import Car, read_vehicle
    from hodograph.multibody.forces.road import Road

    road = Road.slope(0.02) + Road.bump(height_m=0.02, length_m=0.5, x_m=0.0)
    stepper = Car(read_vehicle("xbw")).on(road).stepper
    stepper.set_input("brake_front_pa", 1e6)
    start = stepper.start()
    start.qd[:] = 0.5
    run = stepper.run(stepper.repair(start), 2e-3, 3)
    by_z = sensitivity(stepper.model, run.last).zdd_z
    chosen = stepper.model.independent.astype(np.float64)
    return np.concatenate([run.q.ravel(), run.qd.ravel(), chosen, by_z.ravel() / np.abs(by_z).max()])


RUNS: dict[str, Callable[[], Array]] = {
    **{
        name: partial(filter_run, name)
        for name in ("dekf", "error_ekf_ej", "ukf_fe", "srukf", "cekf", "sckf", "diekf_pm")
    },
    "cekf as published": partial(filter_run, "cekf", as_published=True),
    "force_ekf, one reading late": late_run,
    "sideslip filter": sideslip_run,
    **{file: partial(model_run, file) for file in ("model-1-static.npz", "model-1-memory.npz", "model-1-hybrid.npz")},
    **{
        f"four-bar, {formulation}, {integrator}": partial(fourbar_run, formulation, integrator)
        for formulation, integrator in (
            ("augmented-lagrangian", "trapezoidal"), ("augmented-lagrangian", "linearly-implicit-euler"),
            ("matrix-r", "trapezoidal"), ("lagrange", "dormand-prince"), ("penalty", "rk4"),
        )
    },
    "four-bars side by side": lanes_run,
    "car": car_run,
}  # fmt: skip
"""One run of each family, by name."""


def is_compiled(kernel: Any = drag) -> bool:
    """Whether kernels are machine code in this process."""
    return not isinstance(kernel, FunctionType)


if __name__ == "__main__":
    print(json.dumps({"compiled": is_compiled(), "runs": {name: run().tolist() for name, run in RUNS.items()}}))
