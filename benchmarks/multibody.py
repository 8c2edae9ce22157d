"""Multibody core.

CPU time per step, all runs and peers taking turns; convergence and scaling as pictures beside this file.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import numpy as np

from hodograph.bench.kernel_speed import chain, kernel_report, kernel_timings, measure, multilink, stepping
from hodograph.core.frames import Array
from hodograph.multibody import (
    Bar,
    Formulation,
    Integrator,
    LaneStepper,
    Mechanism,
    Model,
    Point,
    Projection,
    Refresh,
    StepOptions,
    Stepper,
    build,
    shipped_mechanism,
)

mpl.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
LINKS = (5, 10, 20, 50, 100, 200)
TARGETS = {
    "fourbar": "<= 1.0", "fivebar": "<= 2", "multilink": "<= 60",
    "multilink_implicit_dependent": "<= 60 (published: 770)",
    "multilink_implicit_independent": "<= 60 (published: 540)",
}  # fmt: skip
IMPLICIT = Integrator.LINEARLY_IMPLICIT_EULER
PROJECTED = StepOptions(baumgarte=(0.0, 0.0), projection=Projection.ALWAYS)
METHODS: dict[str, tuple[Formulation, Integrator, StepOptions]] = {
    "augmented Lagrangian, trapezoidal": (
        Formulation.AUGMENTED_LAGRANGIAN, Integrator.TRAPEZOIDAL, StepOptions(tolerance=1e-12)
    ),
    "matrix R, forward Euler": (Formulation.MATRIX_R, Integrator.FORWARD_EULER, StepOptions()),
    "matrix R, trapezoidal": (Formulation.MATRIX_R, Integrator.TRAPEZOIDAL, StepOptions()),
    "matrix R, RK4": (Formulation.MATRIX_R, Integrator.RK4, StepOptions()),
    "Lagrange, Dormand-Prince": (Formulation.LAGRANGE, Integrator.DORMAND_PRINCE, PROJECTED),
    "linearly implicit Euler, dependent": (
        Formulation.AUGMENTED_LAGRANGIAN, IMPLICIT, StepOptions(independent=False)
    ),
    "linearly implicit Euler, independent": (
        Formulation.AUGMENTED_LAGRANGIAN, IMPLICIT, StepOptions(independent=True)
    ),
}  # fmt: skip


def end_position(model: Model, name: str, h_s: float) -> Array:
    """Coordinates after one second."""
    stepper = Stepper(model, *METHODS[name])
    steps = round(1.0 / h_s)
    return stepper.run(stepper.start(), h_s, steps, every=steps).last.q


def convergence() -> None:
    """Error after 1 s of the four-bar against the step, and the orders between the two finest useful steps."""
    model = build(shipped_mechanism("fourbar"))
    exact = end_position(model, "Lagrange, Dormand-Prince", 2.5e-4)
    steps_s = [1 / 20, 1 / 40, 1 / 80, 1 / 160, 1 / 320, 1 / 640]
    figure, axes = plt.subplots(figsize=(8.5, 5.0), layout="constrained")
    print("error of the four-bar after 1 s, |q - q_exact|, and measured order (two finest steps above 1e-11)")
    for name in METHODS:
        errors = np.array([np.abs(end_position(model, name, h) - exact).max() for h in steps_s])
        useful = np.flatnonzero(errors > 1e-11)[-2:]
        order = np.log2(errors[useful[0]] / errors[useful[1]])
        axes.loglog(np.array(steps_s) * 1e3, errors, "o-", label=f"{name} ({order:.1f})")
        print(f"  {name:38s}" + "".join(f" {e:8.1e}" for e in errors) + f"   order {order:.2f}")
    axes.set(xlabel="step (ms)", ylabel="error of the coordinates after 1 s (m, rad)")
    axes.set_title("Four-bar linkage: convergence of the methods (measured order)")
    axes.set_xticks([2, 5, 10, 20, 50], ["2", "5", "10", "20", "50"])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(HERE / "multibody_convergence.png", dpi=120)
    plt.close(figure)


def scaling() -> None:
    """Cost of a step against the number of links of a chain."""
    runs: dict[str, Callable[[], float]] = {}
    for links in LINKS:
        model = build(chain(links))
        runs[str(links)] = stepping(model, 1e-3, max(20, 2000 // links))
    times = measure(runs, rounds=5)
    us = np.array([times[str(links)].median_us for links in LINKS])
    slope = float(np.polyfit(np.log(LINKS), np.log(us), 1)[0])
    print("chain of links, augmented Lagrangian, h = 1 ms: us per step")
    print("  " + "".join(f"{links:4d}: {value:6.2f}   " for links, value in zip(LINKS, us, strict=True)))
    print(f"  cost ~ links^{slope:.2f} (1 is linear)")
    figure, axes = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
    axes.loglog(LINKS, us, "o-", label=f"measured, exponent {slope:.2f}")
    axes.loglog(LINKS, us[0] * np.array(LINKS) / LINKS[0], "k--", lw=0.8, label="linear")
    axes.set(xlabel="links", ylabel="CPU time per step (µs)", title="Chain of bars: cost of a step")
    axes.grid(alpha=0.3, which="both")
    axes.legend()
    figure.savefig(HERE / "multibody_scaling.png", dpi=120)
    plt.close(figure)


def train(loops: int) -> Mechanism:
    """A row of pivoted bars coupled head to head: one degree of freedom whatever the length."""
    points = {"G0": Point((0.0, 0.0), fixed=True), "P0": Point((0.3, 1.0))}
    bodies = {"bar0": Bar(("G0", "P0"), 1.0)}
    for k in range(1, loops):
        points[f"G{k}"] = Point((1.5 * k, 0.0), fixed=True)
        points[f"P{k}"] = Point((1.5 * k + 0.3, 1.0 + 0.02 * (k % 3)))
        bodies[f"bar{k}"] = Bar((f"G{k}", f"P{k}"), 1.0)
        bodies[f"coupler{k}"] = Bar((f"P{k - 1}", f"P{k}"), 1.0)
    return Mechanism(1, f"train of {loops}", "planar", (0.0, -9.81), points, bodies)


def break_even() -> None:
    """Linearly implicit Euler in dependent and in independent coordinates against f/n."""
    print("linearly implicit Euler, us per step: dependent / independent (break-even of Carpinelli 2014: f/n = 0.48)")
    for mechanism in (train(100), train(30), shipped_mechanism("double_wishbone"), multilink(), chain(10)):
        model = build(mechanism)
        runs = {
            str(independent): stepping(
                model, 1e-3, 100,
                Stepper(model, integrator=IMPLICIT, options=StepOptions(independent=independent)),
            )
            for independent in (False, True)
        }  # fmt: skip
        times = measure(runs, rounds=5)
        ratio = model.degrees_of_freedom / model.n
        print(
            f"  f/n = {ratio:5.3f}, n = {model.n:3d}: {times['False'].median_us:7.2f} / {times['True'].median_us:7.2f}"
        )


def lanes() -> None:
    """Four states side by side against one by one, CPU time per state and step."""
    print("four states as SIMD lanes: us per state and step, one by one / side by side")
    for name, mechanism, h_s in (
        ("four-bar", shipped_mechanism("fourbar"), 5e-3),
        ("double wishbone", shipped_mechanism("double_wishbone"), 1e-3),
        ("five-link corner, n = 77", multilink(), 1e-3),
    ):
        model = build(mechanism)
        options = StepOptions(refresh=Refresh.EVERY_STEP)  # as the lanes do
        single, four = Stepper(model, options=options), LaneStepper(model, options)
        states = [single.start()] * 4

        def side_by_side(four: LaneStepper = four, states: list = states, h_s: float = h_s) -> float:  # type: ignore[type-arg]
            began = time.thread_time()
            four.step(states, h_s, 500)
            return (time.thread_time() - began) / 500 / 4 * 1e6

        times = measure({"one": stepping(model, h_s, 500, single), "four": side_by_side})
        one, per_state = times["one"].median_us, times["four"].median_us
        print(f"  {name:26s} {one:7.2f} / {per_state:7.2f}   ({one / per_state:.2f} times)")


def compiling() -> None:
    """First-ever compile and cached start, in fresh processes; children's CPU time."""
    demo = (
        "from hodograph.multibody import *; s = Stepper(build(shipped_mechanism('fourbar'))); s.step(s.start(), 1e-3)"
    )
    everything = "from hodograph.multibody.warm_up import warm_up; warm_up()"
    with tempfile.TemporaryDirectory() as cache:
        for title, code in (
            ("compile of what a simulation needs, cold", demo),
            ("same, cached start", demo),
            ("compile of everything else, cold", everything),
            ("everything, cached start", everything),
        ):
            import os
            import resource

            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            began = time.perf_counter()
            environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
            subprocess.run([sys.executable, "-c", code], check=True, env=environment)
            wall = time.perf_counter() - began
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            print(f"  {title:44s} {wall:6.1f} s wall {cpu:6.1f} s CPU")
    print("  targets: simulation <= 40 s wall, everything <= 180 s CPU, cached start <= 2 s")


def main() -> None:
    """Print everything and draw the pictures."""
    timings = kernel_timings()
    print(f"{'step':36s} {'med us':>8s} {'min us':>8s}  target")
    for name, timing in timings.items():
        print(f"{name:36s} {timing.median_us:8.2f} {timing.min_us:8.2f}  {TARGETS.get(name, '')}")
    for name in ("fourbar_vs_exudyn", "fourbar_vs_exudyn_index2"):
        ratio = kernel_report(timings, None)["ratios"][name]
        print(f"{name}: {ratio} times faster (target >= 25)" if ratio else f"{name}: peer not installed")
    print()
    scaling()
    print()
    lanes()
    print()
    break_even()
    print()
    convergence()
    print()
    compiling()


if __name__ == "__main__":
    main()
