"""The car: formulations and integrators, accuracy against cost

A slalom of 2 s at 12 m/s from the same start by every method and step, against a very fine run; then a stop from 3 m/s
with the brakes held, where the equations are stiff. Picture beside this file.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
from numpy.typing import NDArray

from hodograph.core.errors import MechanismError
from hodograph.multibody.car.car import REAL_TIME, Car
from hodograph.multibody.car.vehicle import read_vehicle
from hodograph.multibody.model import State
from hodograph.multibody.stepper import (
    Formulation,
    Integrator,
    Projection,
    Refresh,
    StepOptions,
    Stepper,
)

mpl.use("Agg")
import matplotlib.pyplot as plt

Array = NDArray[np.float64]
HERE = Path(__file__).parent
SLALOM_S, INSTANTS = 2.0, 20
SPEED_MPS, RACK_M, RACK_HZ = 12.0, 0.006, 0.5
FINEST_S = 1e-5
WORST_M = 0.5
EXACT = StepOptions(tolerance=1e-10, projection_tolerance=1e-9)
IMPLICIT = Integrator.LINEARLY_IMPLICIT_EULER
COARSE, FINE = (1e-2, 5e-3, 4e-3, 2e-3, 1e-3, 5e-4, 2.5e-4), (4e-3, 2e-3, 1e-3, 5e-4, 2.5e-4)


@dataclass(frozen=True, slots=True)
class Method:
    """How to step, and with which steps."""

    formulation: Formulation
    integrator: Integrator
    options: StepOptions
    steps_s: tuple[float, ...] = FINE
    style: str = "o-"


def _newton(refresh: Refresh) -> Method:
    return Method(Formulation.AUGMENTED_LAGRANGIAN, Integrator.TRAPEZOIDAL, replace(REAL_TIME, refresh=refresh), COARSE)


PROJECTED = StepOptions(baumgarte=(0.0, 0.0), projection=Projection.ALWAYS)
METHODS = {
    "augmented Lagrangian, factor every iteration": _newton(Refresh.EVERY_ITERATION),
    "augmented Lagrangian, factor every step": _newton(Refresh.EVERY_STEP),
    "augmented Lagrangian, factor frozen (seed 004)": _newton(Refresh.WHEN_SLOW),
    "linearly implicit Euler, dependent (seed 000)": Method(
        Formulation.AUGMENTED_LAGRANGIAN, IMPLICIT, StepOptions(independent=False), COARSE, "s-"
    ),
    "linearly implicit Euler, independent (seed 000)": Method(
        Formulation.AUGMENTED_LAGRANGIAN, IMPLICIT, StepOptions(independent=True), COARSE, "s-"
    ),
    "matrix R, forward Euler": Method(
        Formulation.MATRIX_R, Integrator.FORWARD_EULER, StepOptions(), (*FINE, 1.25e-4), "^--"
    ),
    "matrix R, trapezoidal by fixed point": Method(
        Formulation.MATRIX_R, Integrator.TRAPEZOIDAL, StepOptions(tolerance=1e-9), FINE, "^--"
    ),
    "matrix R, RK4": Method(Formulation.MATRIX_R, Integrator.RK4, StepOptions(), FINE, "^--"),
    "matrix R, Dormand-Prince": Method(Formulation.MATRIX_R, Integrator.DORMAND_PRINCE, StepOptions(), FINE, "^--"),
    "Lagrange index 1 + projections, RK4": Method(Formulation.LAGRANGE, Integrator.RK4, PROJECTED, FINE, "v:"),
    "penalty, RK4": Method(Formulation.PENALTY, Integrator.RK4, StepOptions(), FINE, "v:"),
}  # fmt: skip


def steer(car: Car) -> None:
    """Move the rack by a sine of time itself, so that every stage of every method sees it exactly."""
    car.model.tables.rows.guide_par[0, 3:6] = RACK_M, 2.0 * np.pi * RACK_HZ, 0.0


def run(
    car: Car, method: Method, start: State, h_s: float, duration_s: float, pressure_pa: float = 0.0
) -> tuple[Array, Array, float]:
    """Coordinates and velocities at the instants, and CPU ms per simulated second; raises when a step fails."""
    stepper = Stepper(car.model, method.formulation, method.integrator, method.options)
    stepper.set_road(car.road)
    for name in car.model.inputs:
        stepper.set_input(name, pressure_pa if name.startswith("brake") else 0.0)
    stepper.run(start, h_s, 2)
    stepper.forget()
    steps = round(duration_s / h_s)
    began = time.thread_time()
    done = stepper.run(start, h_s, steps, steps // INSTANTS)
    return done.q, done.qd, 1e3 * (time.thread_time() - began) / duration_s


def frame(car: Car, q: Array) -> Array:
    """Position and axes of the body, (k, 12), in metres at one metre from its origin."""
    first = [car.model.index(f"{name}.x") for name in ("O", "ex", "ey", "ez")]
    return np.hstack([q[:, i : i + 3] for i in first])


def slalom(car: Car) -> dict[str, list[tuple[float, float, float]]]:
    """(step, error, cost) of every method that got through."""
    rest = car.settle()
    steer(car)
    start = car.moving(rest, SPEED_MPS)
    finest = Method(
        Formulation.AUGMENTED_LAGRANGIAN, Integrator.TRAPEZOIDAL, replace(EXACT, refresh=Refresh.EVERY_STEP)
    )
    fine, twice = (frame(car, run(car, finest, start, h, SLALOM_S)[0]) for h in (FINEST_S, 2.0 * FINEST_S))
    truth = 2.0 * fine - twice  # the tyres' deflection is of first order in the step
    apart = np.abs(fine - twice).max()
    print(f"reference: h = {1e6 * FINEST_S:.0f} us and twice that, extrapolated; they differ by {apart:.1e} m")
    print(f"largest error of the body (m) over {SLALOM_S:.0f} s of slalom / CPU ms per simulated second, by step in ms")
    steps = sorted({h for m in METHODS.values() for h in m.steps_s}, reverse=True)
    print(f"{'':48s}" + "".join(f"{1e3 * h:>17g}" for h in steps))
    found: dict[str, list[tuple[float, float, float]]] = {}
    for name, method in METHODS.items():
        found[name], cells = [], []
        for h in steps:
            if h not in method.steps_s:
                cells.append(f"{'':>17s}")
                continue
            try:
                q, _, ms = run(car, method, start, h, SLALOM_S)
            except MechanismError:
                cells.append(f"{'fails':>17s}")
                continue
            error = float(np.abs(frame(car, q) - truth).max())
            if not error < WORST_M:
                cells.append(f"{'unstable':>17s}")
                continue
            found[name].append((h, error, ms))
            cells.append(f"{error:>9.1e} /{ms:>6.1f}")
        print(f"{name:48s}" + "".join(cells))
    car.model.tables.rows.guide_par[0, 3:6] = 0.0
    return found


def stopping(car: Car) -> None:
    """Braking from 3 m/s to a stop and standing there: the tyres and brakes are springs then."""
    start = car.moving(car.settle(), 3.0)
    steps = (4e-3, 2e-3, 1e-3, 5e-4)
    print("\nbraking from 3 m/s to a stop, 3 s: speed left in the last half second (mm/s), by step in ms")
    print(f"{'':48s}" + "".join(f"{1e3 * h:>12g}" for h in steps))
    for name, method in METHODS.items():
        cells = []
        for h in steps:
            try:
                _, qd, _ = run(car, method, start, h, 3.0, 2e6)
            except MechanismError:
                cells.append(f"{'fails':>12s}")
                continue
            left = float(np.abs(frame(car, qd)[-4:]).max())
            cells.append(f"{1e3 * left:>12.2g}" if left < 1.0 else f"{'unstable':>12s}")
        print(f"{name:48s}" + "".join(cells))


def draw(found: dict[str, list[tuple[float, float, float]]]) -> None:
    """Error over cost, one line per method, steps written beside the points."""
    figure, axes = plt.subplots(figsize=(11.0, 6.2), layout="constrained")
    for k, (name, points) in enumerate(found.items()):
        if not points:
            axes.plot([], [], METHODS[name].style, color=f"C{k % 10}", label=f"{name}: never gets through")
            continue
        h, error, ms = np.array(points).T
        color = "k" if k == 10 else f"C{k}"
        axes.loglog(ms, error, METHODS[name].style, color=color, label=name, markersize=5)
        for x, y, step in zip(ms, error, h, strict=True):
            axes.annotate(f"{1e3 * step:g}", (x, y), xytext=(3, 3), textcoords="offset points", fontsize=6, color=color)
    axes.axvline(1000.0, color="0.5", lw=0.8, ls="--")
    axes.text(1000.0, axes.get_ylim()[0], " real time", color="0.4", fontsize=8, va="bottom")
    axes.set(xlabel="CPU time per simulated second (ms)", ylabel="largest error of the body in 2 s of slalom (m)")
    axes.set_title("The car (67 coordinates, 14 degrees of freedom): accuracy against cost; numbers are steps in ms")
    axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(HERE / "car_methods.png", dpi=120)
    plt.close(figure)


def main() -> None:
    """Print both tables and draw the picture."""
    car = Car(read_vehicle("xbw"))
    draw(slalom(car))
    stopping(car)


if __name__ == "__main__":
    main()
