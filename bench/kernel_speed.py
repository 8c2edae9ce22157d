"""How fast the kernels are, peers interleaved in the same run; `hodograph bench kernels` and benchmarks/ use this."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from rich.table import Table

from hodograph.bench.unscented_speed import Ukf28
from hodograph.multibody.forces.loads import PointForce, SpringDamper
from hodograph.multibody.model.build import Model, build
from hodograph.multibody.model.mechanism import (
    Aligned,
    Bar,
    Combination,
    Constraint,
    Distance,
    DotProduct,
    Force,
    Mechanism,
    Point,
    RigidBody,
    Station,
    Vector,
    Wheel,
    shipped_mechanism,
)
from hodograph.multibody.steps.stepper import Integrator, StepOptions, Stepper


def chain(links: int) -> Mechanism:
    """A planar chain of uniform bars of 1 kg hanging from a pivot, 10 m long in total, released horizontally."""
    length_m = 10.0 / links
    points = {"P0": Point((0.0, 0.0), fixed=True)}
    points |= {f"P{k}": Point((k * length_m, 0.0)) for k in range(1, links + 1)}
    bodies = {f"link{k}": Bar((f"P{k - 1}", f"P{k}"), 1.0) for k in range(1, links + 1)}
    return Mechanism(1, f"chain of {links}", "planar", (0.0, -9.81), points, bodies)


_INNER = ((0.15, 0.35, 0.20), (-0.15, 0.32, 0.20), (0.12, 0.38, 0.42), (-0.12, 0.36, 0.43), (-0.20, 0.34, 0.28))
_OUTER = ((0.05, 0.66, 0.19), (-0.06, 0.67, 0.19), (0.04, 0.63, 0.44), (-0.05, 0.62, 0.45), (-0.14, 0.65, 0.29))
_MOUNTS = ((0.25, 0.30, 0.30), (-0.25, 0.30, 0.30), (0.25, 0.05, 0.30), (-0.25, 0.05, 0.30))


def multilink() -> Mechanism:
    """A quarter car with a five-link suspension on a bushed subframe: n = 77, m = 66, f = 11.

    As large as that of Carpinelli 2014, Table 4.1; geometry and stiffness are ours, none is printed there. The chassis
    translates only, the subframe sits on four bushings (three springs each), five links with ball joints guide the
    knuckle, a half shaft turns with the wheel.
    """
    axes = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
    vectors = {f"c{a}": Vector(v, fixed=True) for a, v in axes.items()}
    vectors |= {f"{body}{a}": Vector(v) for body in ("s", "k", "h") for a, v in axes.items()}
    points = {
        "C": Point((0.0, 0.0, 0.5)), "S": Point((0.0, 0.20, 0.30)), "W": Point((0.0, 0.72, 0.30)),
        "H": Point((0.0, 0.15, 0.30)), "brake": Point((-0.1, 0.68, 0.33)),
        "ground": Point((0.0, 0.72, 0.0), fixed=True),
        "wall_x": Point((-1.0, 0.0, 0.5), fixed=True), "wall_y": Point((0.0, -1.0, 0.5), fixed=True),
    }  # fmt: skip
    points |= {f"I{k}": Point(p) for k, p in enumerate(_INNER)} | {f"O{k}": Point(p) for k, p in enumerate(_OUTER)}
    links = range(len(_INNER))
    bodies: dict[str, Bar | RigidBody | Wheel] = {
        "chassis": RigidBody(("C",), 350.0, (0.0, 0.0, 0.5), (20.0, 60.0, 70.0), ("cx", "cy", "cz")),
        "subframe": RigidBody(
            ("S", *(f"I{k}" for k in links)), 18.0, (0.0, 0.2, 0.3), (0.5, 0.6, 0.9), ("sx", "sy", "sz")
        ),
        "knuckle": RigidBody(
            ("W", *(f"O{k}" for k in links), "brake"), 12.0, (0.0, 0.68, 0.31), (0.15, 0.12, 0.14), ("kx", "ky", "kz")
        ),
        "half_shaft": RigidBody(("H",), 6.0, (0.0, 0.4, 0.3), (0.12, 0.002, 0.12), ("hx", "hy", "hz")),
        "wheel": Wheel("W", "ky", "kz", "kx", "spin", 20.0, 0.03, 0.8, 0.45),
    }
    bodies |= {f"arm{k}": Bar((f"I{k}", f"O{k}"), 1.5) for k in links}
    stations, forces = _bushings()
    stations |= {
        "differential": Station("chassis", (0.0, 0.15, 0.30)),
        "turret": Station("chassis", (0.0, 0.45, 0.70)),
        "sensor": Station("chassis", (0.1, 0.45, 0.70)),
        "tripod": Station("half_shaft", (0.0, 0.70, 0.30)),
    }
    forces |= {
        "spring": SpringDamper(("brake", "turret"), 40_000.0, 3_000.0, 0.60),
        "tyre": SpringDamper(("ground", "W"), 200_000.0, 100.0, 0.32),
        "hold_x": SpringDamper(("wall_x", "C"), 5_000.0, 500.0),
        "hold_y": SpringDamper(("wall_y", "C"), 5_000.0, 500.0),
        "bump": PointForce("W", (0.0, 0.0, 1.0), input="bump_n"),
    }
    constraints: dict[str, Constraint] = {
        "flange": Combination("H", {"differential": 1.0}),
        "plunge": Aligned(("H", "tripod", "W")),
        "universal": DotProduct("hx", "kz"),
    }
    distances = {
        "strut": Distance(("brake", "turret")), "wire": Distance(("W", "sensor")),
        "shaft": Distance(("H", "W")), "travel": Distance(("C", "W")),
    }  # fmt: skip
    return Mechanism(
        1, "five-link corner", "spatial", (0.0, 0.0, -9.81), points, bodies, vectors, stations, {}, distances,
        constraints, forces, (), 11,
    )  # fmt: skip


def _bushings() -> tuple[dict[str, Station], dict[str, Force]]:
    stations: dict[str, Station] = {}
    forces: dict[str, Force] = {}
    for k, mount in enumerate(_MOUNTS):
        for axis in range(3):
            away = list(mount)
            away[axis] += 0.25
            stations[f"mount{k}{axis}"] = Station("subframe", mount)
            stations[f"seat{k}{axis}"] = Station("chassis", (away[0], away[1], away[2]))
            forces[f"bushing{k}{axis}"] = SpringDamper((f"mount{k}{axis}", f"seat{k}{axis}"), 2e6, 4e3)
    return stations, forces


@dataclass(frozen=True, slots=True)
class Timing:
    """Microseconds per step: median and minimum over the rounds."""

    median_us: float
    min_us: float


def measure(runs: Mapping[str, Callable[[], float]], rounds: int = 7) -> dict[str, Timing]:
    """Each run returns CPU microseconds per step; all of them take turns, round after round."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run()
    for _ in range(rounds):
        for name, run in runs.items():
            times[name].append(run())
    return {name: Timing(float(np.median(t)), float(np.min(t))) for name, t in times.items()}


def stepping(model: Model, h_s: float, steps: int, stepper: Stepper | None = None) -> Callable[[], float]:
    """A run of `steps` steps inside the kernel, from the same start every time."""
    stepper = stepper or Stepper(model)
    start = stepper.start()

    def run() -> float:
        began = time.thread_time()
        stepper.run(start, h_s, steps, every=steps)
        return (time.thread_time() - began) / steps * 1e6

    return run


def exudyn_fourbar(h_s: float, steps: int, *, index2: bool) -> Callable[[], float]:
    """The same four-bar in exudyn: CPU time of its solver per step."""
    from hodograph.bench.exudyn_mechanisms import planar

    model = build(shipped_mechanism("fourbar"))
    a, p1, p2, b = (model.position_m(p, model.start_q) for p in ("A", "P1", "P2", "B"))
    bars = [(a, p1, 2.0), (p1, p2, 8.0), (p2, b, 5.0)]

    def run() -> float:
        seconds = planar(bars, [(-1, 0), (0, 1), (1, 2), (2, -1)], -9.81, h_s, steps, index2=index2, record=False)[1]
        return seconds / steps * 1e6

    return run


def kernel_timings(*, peers: bool = True, rounds: int = 7) -> dict[str, Timing]:
    """The figures of `hodograph bench kernels`."""
    implicit = Integrator.LINEARLY_IMPLICIT_EULER
    quarter = build(multilink())
    runs = {
        "fourbar": stepping(build(shipped_mechanism("fourbar")), 5e-3, 20_000),
        "fivebar": stepping(build(shipped_mechanism("fivebar")), 5e-3, 2000),
        "spatial_fourbar": stepping(build(shipped_mechanism("spatial_fourbar")), 1e-3, 1000),
        "double_wishbone": stepping(build(shipped_mechanism("double_wishbone")), 1e-3, 500),
        "multilink": stepping(quarter, 1e-3, 200),
        "multilink_implicit_dependent": stepping(
            quarter, 1e-3, 200, Stepper(quarter, integrator=implicit, options=StepOptions(independent=False))
        ),
        "multilink_implicit_independent": stepping(
            quarter, 1e-3, 200, Stepper(quarter, integrator=implicit, options=StepOptions(independent=True))
        ),
    }
    if peers and importlib.util.find_spec("exudyn") is not None:
        runs["exudyn_fourbar"] = exudyn_fourbar(5e-3, 20_000, index2=False)
        runs["exudyn_fourbar_index2"] = exudyn_fourbar(5e-3, 20_000, index2=True)
    return measure(runs, rounds)


def kernel_report(timings: Mapping[str, Timing], unscented: Ukf28 | None) -> dict[str, dict[str, float | None]]:
    """{"ratios": {...}, "us": {...}}: medians; a ratio is how many times faster we are, None without the peer."""
    ours = timings["fourbar"].median_us
    ratios: dict[str, float | None] = {}
    for peer, name in (("exudyn_fourbar", "fourbar_vs_exudyn"), ("exudyn_fourbar_index2", "fourbar_vs_exudyn_index2")):
        ratios[name] = round(timings[peer].median_us / ours, 2) if peer in timings else None
    ratios["ukf28_vs_filterpy"] = None if unscented is None else round(unscented.ratio, 2)
    return {"ratios": ratios, "us": {name: round(t.median_us, 3) for name, t in timings.items()}}


def kernel_table(timings: Mapping[str, Timing]) -> Table:
    """The same for people."""
    table = Table("step", "median µs", "min µs", title="CPU time per step, runs interleaved")
    for name, timing in timings.items():
        table.add_row(name, f"{timing.median_us:.2f}", f"{timing.min_us:.2f}")
    return table
