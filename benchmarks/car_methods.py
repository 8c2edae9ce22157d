"""The car: formulations and integrators, accuracy against cost

Every method and step from the same start against a very fine run: a slalom of 2 s at 12 m/s; a ride of 1 s on a road
without friction after a drop from 5 mm, where no tyre's side force hides the order of the integrator; and a stop from
3 m/s with the brakes held, where the equations are stiff. Picture beside this file.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import matplotlib as mpl
import numpy as np

from hodograph.bench.kernel_speed import measure
from hodograph.core.errors import MechanismError
from hodograph.core.frames import Array
from hodograph.multibody.car.car import REAL_TIME, Car
from hodograph.multibody.car.vehicle import read_vehicle
from hodograph.multibody.model.build import State
from hodograph.multibody.steps.stepper import Formulation, Integrator, Projection, Refresh, StepOptions, Stepper

mpl.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
SLALOM_S, RIDE_S, INSTANTS = 2.0, 1.0, 20
SPEED_MPS, RACK_M, RACK_HZ = 12.0, 0.006, 0.5
DROP_M, NO_FRICTION = 5e-3, 1e-6
FINEST_S = 1e-5
WORST_M = 0.5
EXACT = StepOptions(tolerance=1e-10, projection_tolerance=1e-9)
IMPLICIT = Integrator.LINEARLY_IMPLICIT_EULER
STEPS_S = (1e-2, 5e-3, 2.5e-3, 1e-3, 5e-4, 2.5e-4)
Study = dict[str, list[tuple[float, float, float]]]


@dataclass(frozen=True, slots=True)
class Method:
    """How to step, and how to draw it."""

    formulation: Formulation
    integrator: Integrator
    options: StepOptions
    style: str = "o-"


def _newton(refresh: Refresh) -> Method:
    return Method(Formulation.AUGMENTED_LAGRANGIAN, Integrator.TRAPEZOIDAL, replace(REAL_TIME, refresh=refresh))


EVERY_STEP = "augmented Lagrangian, factor every step"
FROZEN = "augmented Lagrangian, factor frozen"
DEPENDENT = "linearly implicit Euler, dependent"
INDEPENDENT = "linearly implicit Euler, independent"
PROJECTED = StepOptions(baumgarte=(0.0, 0.0), projection=Projection.ALWAYS)
METHODS = {
    "augmented Lagrangian, factor every iteration": _newton(Refresh.EVERY_ITERATION),
    EVERY_STEP: _newton(Refresh.EVERY_STEP),
    FROZEN: _newton(Refresh.WHEN_SLOW),
    DEPENDENT: Method(
        Formulation.AUGMENTED_LAGRANGIAN, IMPLICIT, StepOptions(independent=False), "s-"
    ),
    INDEPENDENT: Method(
        Formulation.AUGMENTED_LAGRANGIAN, IMPLICIT, StepOptions(independent=True), "s-"
    ),
    "matrix R, forward Euler": Method(
        Formulation.MATRIX_R, Integrator.FORWARD_EULER, StepOptions(), "^--"
    ),
    "matrix R, trapezoidal by fixed point": Method(
        Formulation.MATRIX_R, Integrator.TRAPEZOIDAL, StepOptions(tolerance=1e-9), "^--"
    ),
    "matrix R, RK4": Method(Formulation.MATRIX_R, Integrator.RK4, StepOptions(), "^--"),
    "matrix R, Dormand-Prince": Method(Formulation.MATRIX_R, Integrator.DORMAND_PRINCE, StepOptions(), "^--"),
    "Lagrange index 1 + projections, RK4": Method(Formulation.LAGRANGE, Integrator.RK4, PROJECTED, "v:"),
    "penalty, RK4": Method(Formulation.PENALTY, Integrator.RK4, StepOptions(), "v:"),
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
    stepper.run(start, h_s, 2)  # compiles what is not compiled yet
    steps, times = round(duration_s / h_s), []
    while len(times) < 3 and sum(times) < 0.3:
        stepper.forget()
        began = time.thread_time()
        done = stepper.run(start, h_s, steps, steps // INSTANTS)
        times.append(time.thread_time() - began)
    return done.q, done.qd, 1e3 * min(times) / duration_s


def frame(car: Car, q: Array) -> Array:
    """Position and axes of the body, (k, 12), in metres at one metre from its origin."""
    first = [car.model.index(f"{name}.x") for name in ("O", "ex", "ey", "ez")]
    return np.hstack([q[:, i : i + 3] for i in first])


def slalom() -> Study:
    """The car in a slalom: errors of its body, position and axes at one metre."""
    car = Car(read_vehicle("xbw"))
    rest = car.settle()
    steer(car)
    print(f"slalom of {SLALOM_S:.0f} s at {SPEED_MPS:.0f} m/s, rack ±{1e3 * RACK_M:.0f} mm at {RACK_HZ} Hz")
    return compare(car, car.moving(rest, SPEED_MPS), SLALOM_S, order=1)


def ride() -> Study:
    """The car dropped from 5 mm, its tyres in touch with a road that holds nothing sideways."""
    vehicle = read_vehicle("xbw")
    front, rear = (
        replace(axle, tyre=replace(axle.tyre, friction=NO_FRICTION, rolling_resistance=0.0))
        for axle in (vehicle.front, vehicle.rear)
    )
    car = Car(replace(vehicle, front=front, rear=rear))
    q, n = car.model.start_q.copy(), car.model.n
    for name in car.model.names:
        if name.endswith("_W.z") or name in ("O.z", "RL.z"):
            q[car.model.index(name)] += DROP_M
    start = car.stepper.repair(State(0.0, q, np.zeros(n), np.zeros(n), np.zeros(car.model.rows)))
    print(f"\nride of {RIDE_S:.0f} s without friction after a drop from {1e3 * DROP_M:.0f} mm")
    return compare(car, start, RIDE_S, order=2)


def compare(car: Car, start: State, duration_s: float, order: int) -> Study:
    """(step, error, cost) of every method that got through; the reference is extrapolated with its order."""
    finest = Method(
        Formulation.AUGMENTED_LAGRANGIAN, Integrator.TRAPEZOIDAL, replace(EXACT, refresh=Refresh.EVERY_STEP)
    )
    fine, twice = (frame(car, run(car, finest, start, h, duration_s)[0]) for h in (FINEST_S, 2.0 * FINEST_S))
    truth = fine + (fine - twice) / (2.0**order - 1.0)
    apart = np.abs(fine - twice).max()
    print(f"  reference: h = {1e6 * FINEST_S:.0f} us and twice that, extrapolated; they differ by {apart:.1e} m")
    print("  largest error of the body (m) / CPU ms per simulated second, by step in ms")
    print(f"  {'':48s}" + "".join(f"{1e3 * h:>17g}" for h in STEPS_S))
    found: Study = {}
    for name, method in METHODS.items():
        found[name], cells = [], []
        for h in STEPS_S:
            try:
                q, _, ms = run(car, method, start, h, duration_s)
            except MechanismError:
                cells.append(f"{'fails':>17s}")
                continue
            error = float(np.abs(frame(car, q) - truth).max())
            if not error < WORST_M:
                cells.append(f"{'unstable':>17s}")
                continue
            found[name].append((h, error, ms))
            cells.append(f"{error:>9.1e} /{ms:>6.1f}")
        print(f"  {name:48s}" + "".join(cells))
    return found


def stopping() -> None:
    """Braking from 3 m/s to a stop and standing there: the tyres and brakes are springs then."""
    car = Car(read_vehicle("xbw"))
    start = car.moving(car.settle(), 3.0)
    print("\nbraking from 3 m/s to a stop, 3 s: speed left in the last half second (mm/s), by step in ms")
    print(f"  {'':48s}" + "".join(f"{1e3 * h:>12g}" for h in STEPS_S[:4]))
    for name, method in METHODS.items():
        cells = []
        for h in STEPS_S[:4]:
            try:
                _, qd, _ = run(car, method, start, h, 3.0, 2e6)
            except MechanismError:
                cells.append(f"{'fails':>12s}")
                continue
            left = float(np.abs(frame(car, qd)[-4:]).max())
            cells.append(f"{1e3 * left:>12.2g}" if left < 1.0 else f"{'unstable':>12s}")
        print(f"  {name:48s}" + "".join(cells))


def draw(studies: dict[str, Study]) -> None:
    """Error over cost, one line per method; the largest and smallest step written beside their points."""
    figure, panels = plt.subplots(1, len(studies), figsize=(14.0, 6.4), layout="constrained")
    colors = ["C0", "C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8", "C9", "k"]
    for axes, (title, found) in zip(panels, studies.items(), strict=True):
        for color, (name, points) in zip(colors, found.items(), strict=True):
            h, error, ms = np.array(points).reshape(-1, 3).T
            axes.loglog(ms, error, METHODS[name].style, color=color, label=name, markersize=5)
            for k in (0, -1) if len(points) else ():
                axes.annotate(
                    f"{1e3 * h[k]:g} ms", (ms[k], error[k]), xytext=(4, 3), textcoords="offset points", fontsize=7,
                    color=color,
                )  # fmt: skip
        axes.axvline(1000.0, color="0.5", lw=0.8, ls="--")
        axes.text(980.0, axes.get_ylim()[1], "real time", color="0.4", fontsize=8, ha="right", va="top", rotation=90)
        axes.set(xlabel="CPU time per simulated second (ms)", ylabel="largest error of the body (m)", title=title)
        axes.grid(alpha=0.3, which="both")
    figure.legend(*panels[0].get_legend_handles_labels(), fontsize=8, loc="outside lower center", ncols=3)
    figure.suptitle("The car (67 coordinates, 14 degrees of freedom): accuracy against cost, steps of 10 to 0.25 ms")
    figure.savefig(HERE / "car_methods.png", dpi=110)
    plt.close(figure)


def verdict(studies: dict[str, Study], car: Car) -> None:
    """The rivals at 5 ms in the slalom: cost measured anew, taking turns, because the machine is shared."""
    rest = car.settle()
    steer(car)
    start = car.moving(rest, SPEED_MPS)
    rivals = (EVERY_STEP, "augmented Lagrangian, factor every iteration", FROZEN, DEPENDENT, INDEPENDENT)

    def once(name: str) -> float:
        return 5.0 * run(car, METHODS[name], start, 5e-3, SLALOM_S)[2]  # µs per step

    costs = measure({name: partial(once, name) for name in rivals}, rounds=5)
    print("\nwho is right? at 5 ms: us per step (median of turns), and errors (m) in slalom and ride")
    for name in rivals:
        errors = [next((e for h, e, _ in found[name] if h == 5e-3), np.nan) for found in studies.values()]
        print(f"  {name:48s}{costs[name].median_us:>7.1f}" + "".join(f"{e:>10.1e}" for e in errors))
    car.model.tables.rows.guide_par[0, 3:6] = 0.0


def main() -> None:
    """Print the tables and draw the picture."""
    studies = {"slalom, 2 s at 12 m/s": slalom(), "ride without friction, 1 s after a drop of 5 mm": ride()}
    draw(studies)
    stopping()
    verdict(studies, Car(read_vehicle("xbw")))


if __name__ == "__main__":
    main()
