"""How fast the car is: `hodograph bench car` and benchmarks/car.py use this."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from hodograph.bench.car_peers import PEER_PACKAGES, peer_times_us
from hodograph.bench.car_timing_kernels import clock_cost_us, thread_clock, timed_groups, timed_steps
from hodograph.core.display import short_repr
from hodograph.core.errors import MechanismError
from hodograph.core.frames import Array
from hodograph.multibody.car.car import STEP_S, Car
from hodograph.multibody.car.statics import static_loads
from hodograph.multibody.model.build import State
from hodograph.multibody.model.tables import Index
from hodograph.multibody.motion.kinematics import from_independent
from hodograph.multibody.steps.lane_kernels import LANES
from hodograph.multibody.steps.lanes import LaneStepper
from hodograph.multibody.steps.stepper import StepCost

DURATION_S = 30.0
CONSTRAINTS_M = 1e-8
SIGMA_POINTS = 57
SIGMA_M, SIGMA_MPS = 1e-3, 2e-2
TYRE_MADDS, TYRE_TANGENT_MADDS, AIR_MADDS = 180, 120, 60
"""Multiply-adds of one tyre with contact and brake, of its tangent besides two more tyre laws, of the air: by hand.

A division, root or exponential counts as one, so the limit is on the low side.
"""


def smooth(t_s: Array, begin_s: float, end_s: float, ramp_s: float = 0.3) -> Array:
    """1 between two times, 0 outside, with ramps without corners."""
    up = np.clip((t_s - begin_s) / ramp_s, 0.0, 1.0)
    down = np.clip((t_s - end_s + ramp_s) / ramp_s, 0.0, 1.0)
    return np.asarray(up * up * (3.0 - 2.0 * up) - down * down * (3.0 - 2.0 * down), dtype=np.float64)


def stop_and_go(car: Car, h_s: float = STEP_S) -> dict[str, Array]:
    """The manoeuvre of the benchmark, 30 s, as controls for `Car.drive` from rest.

    Wait 1 s, accelerate to some 10 m/s, slalom at 0.4 Hz, brake to a stop, wait with the brakes on, start again, turn
    left and right slowly, brake to a stop, wait.
    """
    t: Array = h_s * np.arange(1, round(DURATION_S / h_s) + 1, dtype=np.float64)
    mass_kg, radius_m = static_loads(car.vehicle).total_kg, car.vehicle.rear.tyre.radius_m
    per_mps2 = mass_kg * radius_m
    torque_nm = per_mps2 * (
        2.6 * smooth(t, 1.0, 5.0)
        + 0.25 * smooth(t, 5.0, 14.5)
        + 1.5 * smooth(t, 21.5, 24.0)
        + 0.2 * smooth(t, 24.0, 26.0)
    )
    braking_nm = per_mps2 * (3.5 * smooth(t, 14.5, 21.3) + 3.0 * smooth(t, 26.0, DURATION_S + 1.0))
    rack_m = 0.010 * smooth(t, 5.5, 14.0, 0.8) * np.sin(2.0 * np.pi * 0.4 * (t - 5.5))
    rack_m += 0.020 * smooth(t, 23.0, 27.5, 0.8) * np.sin(2.0 * np.pi * 0.25 * (t - 23.0))
    controls = {"rack_m": rack_m}
    driven = [name for name in car.model.inputs if name.startswith("drive")]
    controls |= {name: torque_nm / len(driven) for name in driven}
    pressure_pa = braking_nm / car.vehicle.braking_nm_per_pa()
    return controls | {name: pressure_pa for name in car.model.inputs if name.startswith("brake")}


@dataclass(frozen=True, slots=True)
class StepTimes:
    """CPU time in µs of every step (rounds, k), Newton iterations of each step (k,), and what a round cost in all.

    `clock_us` is what reading the clock adds to each time.
    """

    took_us: Array
    iterations: Array
    cost: StepCost
    clock_us: float

    __repr__ = short_repr

    def quantile_us(self, share: float) -> float:
        """So many of all steps of all rounds took no longer than this, interrupts of the machine included."""
        return float(np.quantile(self.took_us, share))

    def own_quantile_us(self, share: float) -> float:
        """The same for the median of each step over the rounds: what the machine does hits other steps every time."""
        return float(np.quantile(np.median(self.took_us, axis=0), share))


def step_times(car: Car, rounds: int = 5) -> StepTimes:
    """Drive the manoeuvre `rounds` times after one to warm up; raises when a constraint is left by more than 1e-8 m."""
    start = car.settle(braked=True)
    schedule = car.schedule(stop_and_go(car), start=start)
    took = np.empty((rounds + 1, len(schedule)))
    iterations = np.empty(len(schedule))
    for k in range(rounds + 1):
        c = _one_round(car, start, schedule, took[k], iterations)
    require_kept(car, c)
    idle = np.zeros(1000)
    clock_cost_us(*thread_clock(), idle)
    cost = StepCost(len(schedule), int(c[0]), int(c[1]), int(c[2]), float(c[3]), int(c[4]), int(c[5]), int(c[6]))
    return StepTimes(took[1:], iterations, cost, float(np.median(idle)))


def require_kept(car: Car, cost: Array) -> None:
    """Raise when the worst |Φ| in the cost array of a kernel is above 1e-8 m, or is no number."""
    worst_m = float(cost[3])
    if not worst_m <= CONSTRAINTS_M:
        raise MechanismError(
            f"{car.vehicle.name}: constraints are left by {worst_m:.1e} m, more than {CONSTRAINTS_M:g} m"
        )


def _one_round(car: Car, start: State, schedule: Array, took_us: Array, iterations: Array) -> Array:
    stepper, tables, now, cost = car.stepper, car.model.tables, start.copy(), np.zeros(7)
    stepper.forget()
    stepper.load_wheels(start)
    none, no_wheels = np.zeros((0, 3, car.model.n)), np.zeros((0, *stepper.work.wheels.shape))
    done = timed_steps(
        tables, stepper.work, stepper.force, stepper.options.newton(), tables.factor.penalty, 0.0, STEP_S, now.q,
        now.qd, now.qdd, now.multipliers, schedule, none, no_wheels, cost, *thread_clock(), took_us, iterations,
    )  # fmt: skip
    if done < len(schedule):
        raise MechanismError(f"{car.vehicle.name}: the step at t = {done * STEP_S:.3f} s does not converge")
    return cost


def sigma_states(car: Car, centre: State) -> list[State]:
    """57 cars: the given one, and each of its 28 states (positions and speeds) a little more and a little less."""
    model, index = car.model, car.stepper.work.independent
    z, zd = centre.q[index], centre.qd[index]
    moves = [(0.0 * z, 0.0 * zd)]
    for unit in np.eye(len(z)):
        for way in (1.0, -1.0):
            moves += [(way * SIGMA_M * unit, 0.0 * zd), (0.0 * z, way * SIGMA_MPS * unit)]
    out = []
    for dz, dzd in moves:
        car.stepper.load_wheels(centre)
        out.append(from_independent(model, centre.t_s, z + dz, zd + dzd, centre.q, work=car.stepper.work))
    return out


@dataclass(frozen=True, slots=True)
class SigmaTimes:
    """CPU time (moments, rounds) in ms of one step of 57 cars; worst |Φ| of them all.

    `capped` of all `steps` of groups of four ended at the cap of iterations.
    """

    took_ms: Array
    residual: float
    steps: int
    capped: int

    __repr__ = short_repr


def sigma57(car: Car, moments: int = 8, rounds: int = 15) -> SigmaTimes:
    """One step of 57 different cars, four at a time, at moments of the drive; raises when |Φ| exceeds 1e-8 m.

    15 groups of four lanes, three lanes of the last one idle copies. Each step starts anew from its states, as sigma
    points of a filter do: there is no step before it to extrapolate from.
    """
    state, at = car.settle(braked=True), 0
    schedule = car.schedule(stop_and_go(car), start=state)
    took, cost, groups = np.empty((moments, rounds)), np.zeros(7), 0
    for k, until in enumerate(np.linspace(0.1, 0.95, moments)):
        steps = round(until * len(schedule)) - at
        state = car.stepper.run(state, STEP_S, steps, steps, schedule[at : at + steps]).last
        at += steps
        car.stepper.work.inputs[1:] = schedule[at]
        us, done = _sigma_step_us(car, sigma_states(car, state), rounds, cost)
        took[k] = us / 1e3
        groups += done
    return SigmaTimes(took, float(cost[3]), groups, int(cost[6]))


def _sigma_step_us(car: Car, points: list[State], rounds: int, cost: Array) -> tuple[Array, int]:
    """Times of the rounds and how many groups were stepped; `cost` goes on counting."""
    lanes = LaneStepper(car.model, car.options)
    lanes.set_road(car.road)
    lanes.work.inputs[:] = car.stepper.work.inputs
    n, m, groups = car.model.n, car.model.rows, -(-len(points) // LANES)
    start, multipliers = np.zeros((groups, 3, n, LANES)), np.zeros((groups, m, LANES))
    wheels = np.zeros((groups, *lanes.work.wheels.shape))
    for k in range(groups * LANES):
        point, (g, lane) = points[min(k, len(points) - 1)], divmod(k, LANES)
        for row, values in enumerate((point.q, point.qd, point.qdd)):
            start[g, row, :, lane] = values
        multipliers[g, :, lane] = point.multipliers
        wheels[g, lane, :, : point.wheels.shape[1]] = point.wheels
    took = np.zeros(rounds + 2)
    done = timed_groups(
        car.model.tables, lanes.work, lanes.force, car.stepper.options.newton(), car.model.tables.factor.penalty,
        points[0].t_s, STEP_S, start, multipliers, wheels, np.zeros((n, LANES)), np.zeros((n, LANES)),
        np.zeros((n, LANES)), np.zeros((m, LANES)), cost, *thread_clock(), took,
    )  # fmt: skip
    if done < groups * len(took):
        raise MechanismError(f"{car.vehicle.name}: a sigma point does not converge at t = {points[0].t_s:.2f} s")
    require_kept(car, cost)
    return took[2:], done


def _counts(start: Index) -> NDArray[np.int64]:
    return np.asarray(start[1:], dtype=np.int64) - np.asarray(start[:-1], dtype=np.int64)


def multiply_adds(car: Car, cost: StepCost) -> dict[str, float]:
    """Multiply-adds of a mean step by part, from the model's tables and the iterations and factorisations it took."""
    tables = car.model.tables
    rows, factor, loads = tables.rows, tables.factor, tables.loads
    n, m = car.model.n, len(rows.const)
    below = _counts(factor.start) - 1
    slots_of = _counts(rows.start)
    slots, pairs = int(slots_of.sum()), int((slots_of * (slots_of + 1) // 2).sum())
    forms = len(rows.tri_val) + len(rows.form_val) + slots
    solve, mass = int(2 * below.sum() + n), len(tables.mass.val)
    terms_of = _counts(loads.spring_term)
    springs = int(terms_of.sum()) * 3
    tyres = len(tables.rolling.wheel) * TYRE_MADDS + AIR_MADDS
    tangents = int((terms_of * (terms_of + 1) // 2).sum()) + len(tables.rolling.wheel) * (
        TYRE_TANGENT_MADDS + 2 * TYRE_MADDS
    )
    newton, factors = cost.iterations / cost.steps, cost.factorisations / cost.steps
    return {
        "factor": factors * float((below * (below + 1) // 2 + 2 * below).sum()),
        "JᵀJ": factors * float(pairs + slots),
        "constraints": (newton + 1.0) * (forms + slots) + 2.0 * (forms + slots),
        "right-hand sides": newton * (mass + 3 * slots + 2 * m) + 2.0 * 2.0 * slots,
        "solves": (newton + 2.0) * solve,
        "springs": (newton + 1.0) * springs,
        "tyres, brakes, air": (newton + 1.0) * tyres,
        "tangents": factors * tangents,
    }


def scalar_madds_per_us(seconds: float = 0.5) -> float:
    """Scalar multiply-adds per µs of this core: a quarter of what matrix products reach with four lanes."""
    from threadpoolctl import threadpool_limits

    a = np.random.default_rng(1).random((384, 384))
    b, best = a.copy(), 1e300
    with threadpool_limits(1):
        a @ b
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            began = time.thread_time()
            a @ b
            best = min(best, time.thread_time() - began)
    return len(a) ** 3 / (best * 1e6) / 4.0


@dataclass(frozen=True, slots=True)
class CarSpeed:
    """All figures of one run of the benchmark; a peer that is not installed is None."""

    steps: StepTimes
    sigma57: SigmaTimes
    madds: dict[str, float]
    madds_per_us: float
    peers_us: dict[str, float | None]

    __repr__ = short_repr

    @property
    def limit_us(self) -> float:
        """A mean step at the rate of scalar multiply-adds and nothing else."""
        return sum(self.madds.values()) / self.madds_per_us

    def report(self) -> dict[str, object]:
        """What `hodograph bench car --json` prints."""
        steps = self.steps
        return {
            "step_us_median": round(steps.quantile_us(0.5), 2),
            "step_us_p99": round(steps.quantile_us(0.99), 2),
            "step_us_p999": round(steps.quantile_us(0.999), 2),
            "newton_iterations_mean": round(float(steps.iterations.mean()), 3),
            "sigma57_ms": round(float(np.median(self.sigma57.took_ms)), 3),
            "limit_us": round(self.limit_us, 2),
            "peers": self.peers_us,
        }

    def table(self, vehicle: str) -> Table:
        """The same for people."""
        table = Table("what", "value", title=f"{vehicle}: CPU time on one core, 4 ms steps over 30 s")
        for name, value in self.report().items():
            if name != "peers":
                table.add_row(name, str(value))
        for name, peer_us in self.peers_us.items():
            table.add_row(f"peer: {name}", "not installed" if peer_us is None else str(peer_us))
        return table

    def missing_peers(self) -> dict[str, str]:
        """Peers that are not installed, with the package that brings them."""
        absent = [name for name, value in self.peers_us.items() if value is None]
        return {peer: p for peer, p in PEER_PACKAGES.items() if any(name.startswith(peer) for name in absent)}


def measure_car(car: Car) -> CarSpeed:
    """Measure everything; half a minute once the kernels are there."""
    steps = step_times(car)
    return CarSpeed(steps, sigma57(car), multiply_adds(car, steps.cost), scalar_madds_per_us(), peer_times_us())
