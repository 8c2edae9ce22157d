"""Checks that any observer must pass, also yours: `for check in CHECKS: check(make)`.

`make(case)` builds an observer (see `protocol.Observer`) for a `LinearCase`: a body on a rail or a turning rotor, so
the exact answer is the Kalman filter's with the matrices of the case. An observer that estimates more than position and
velocity is given a case with the same unknown: a force, gravity, an acceleration error. Each check raises
`AssertionError` with numbers when the observer does not conform.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import cos, pi, sin

import numpy as np

from hodograph.core.display import short_repr
from hodograph.core.frames import Array
from hodograph.core.reading import Reading, Verdict
from hodograph.multibody.model.build import Model, build
from hodograph.multibody.model.mechanism import Angle, Bar, LinearConstraint, Mechanism, Particle, Point
from hodograph.multibody.motion.derivatives import sensitivity
from hodograph.multibody.motion.kinematics import from_independent, mass_matrix
from hodograph.observers.on_mechanism.problem import Problem
from hodograph.observers.on_mechanism.uncertainty import (
    GRAVITY_ERROR,
    Disturbance,
    Uncertainty,
    gravity_error,
    unknown_force,
)
from hodograph.observers.protocol import Observer
from hodograph.sensors import Encoder, Quality, RateEncoder, mount

STEP_S = 0.01
STEP_NS = 10_000_000
POSITION_STD, RATE_STD = 0.05, 0.1
DENSITY = 0.3
START_STD = (0.4, 0.6)
FORCE_DENSITY, FORCE_STD = 0.4, 0.5
STEPWISE_VAR = 4e-3
STREAMS = ("position", "rate")
"""The streams of a case, in the order of the state's rows that they read."""


@dataclass(frozen=True, slots=True)
class LinearCase:
    """A linear plant: x⁺ = F x + drift + w, w ~ Q; streams `position` and `rate` read its first two rows, variances R.

    `problem` is the same as a mechanism. State rows are position, velocity, then one per disturbance of the problem.
    """

    problem: Problem
    F: Array
    Q: Array
    R: dict[str, float]
    x0: Array
    P0: Array
    circular: bool
    drift: Array

    __repr__ = short_repr


Make = Callable[[LinearCase], Observer]
Case = Callable[[], LinearCase]


def rail(*, true_x0: tuple[float, float] = (0.0, 0.0)) -> LinearCase:
    """A particle on a straight rail: a double integrator."""
    return _case(_rail_mechanism(2.0), "P.x", true_x0)


def pushed_rail(*, time_constant_s: float | None = None) -> LinearCase:
    """The rail with an unknown wandering force; with a time constant the force returns to zero (a shaping filter)."""
    mechanism = _rail_mechanism(2.0)
    force = unknown_force(build(mechanism), FORCE_DENSITY, FORCE_STD, time_constant_s)
    return _case(mechanism, "P.x", (0.0, 0.0), force)


def falling_rail() -> LinearCase:
    """A particle on an upright rail under gravity whose strength is not known."""
    mechanism = Mechanism(
        1, "falling_rail", "planar", (0.0, -9.81), {"P": Point((0.0, 0.0))}, {"body": Particle("P", 2.0)},
        constraints={"rail": LinearConstraint({"P.x": 1.0}, 0.0)}, independent=("P.y",),
    )  # fmt: skip
    return _case(mechanism, "P.y", (0.0, 0.0), (gravity_error(build(mechanism), FORCE_DENSITY, FORCE_STD),))


def stepwise_rail() -> LinearCase:
    """The rail as the published force estimation sees it: an acceleration error that wanders from step to step.

    The body weighs 1 kg, so that the force which is reported and the acceleration error of P are the same number.
    """
    mechanism = _rail_mechanism(1.0)
    case = _case(mechanism, "P.x", (0.0, 0.0), unknown_force(build(mechanism), STEPWISE_VAR, FORCE_STD))
    return replace(case, Q=np.diag([0.0, 0.0, STEPWISE_VAR]))


def no_unknown(model: Model) -> tuple[Disturbance, ...]:
    """Nothing but the state is estimated."""
    return ()


def wandering_force(model: Model, time_constant_s: float | None = None) -> tuple[Disturbance, ...]:
    """The unknown force of `pushed_rail`, on any model."""
    return unknown_force(model, FORCE_DENSITY, FORCE_STD, time_constant_s)


def idle_gravity(model: Model) -> tuple[Disturbance, ...]:
    """Gravity along the axis of a rotor: its error is estimated, and moves nothing."""
    return (Disturbance(GRAVITY_ERROR, (0.0,) * model.n, FORCE_DENSITY, FORCE_STD),)


def rotor(
    *,
    true_x0: tuple[float, float] = (3.1, 3.0),
    stepwise: bool = False,
    unknown: Callable[[Model], tuple[Disturbance, ...]] = no_unknown,
) -> LinearCase:
    """A bar turning about a pivot; its encoder only knows the angle modulo one turn.

    With `stepwise` its acceleration error wanders from step to step, as in `stepwise_rail`.
    """
    tip = Point((cos(true_x0[0]), sin(true_x0[0])))
    mechanism = Mechanism(
        1, "rotor", "planar", (0.0, 0.0), {"A": Point((0.0, 0.0), fixed=True), "P": tip},
        {"bar": Bar(("A", "P"), 3.0, 1.0)}, angles={"phi": Angle("A>P", initial_rad=true_x0[0])}, independent=("phi",),
    )  # fmt: skip
    if not stepwise:
        return _case(mechanism, "phi", true_x0, unknown(build(mechanism)), wraps=True)
    case = _case(mechanism, "phi", true_x0, unknown_force(build(mechanism), STEPWISE_VAR, FORCE_STD), wraps=True)
    return replace(case, Q=np.diag([0.0, 0.0, STEPWISE_VAR]))


def _rail_mechanism(mass_kg: float) -> Mechanism:
    return Mechanism(
        1, "rail", "planar", (0.0, 0.0), {"P": Point((0.0, 0.0))}, {"body": Particle("P", mass_kg)},
        constraints={"rail": LinearConstraint({"P.y": 1.0}, 0.0)}, independent=("P.x",),
    )  # fmt: skip


def _case(
    mechanism: Mechanism,
    coordinate: str,
    x0: tuple[float, float],
    disturbances: tuple[Disturbance, ...] = (),
    *,
    wraps: bool = False,
) -> LinearCase:
    model = build(mechanism)
    sensors = mount(
        model,
        [
            Encoder("position", coordinate, Quality(POSITION_STD), wraps=wraps),
            RateEncoder("rate", coordinate, Quality(RATE_STD)),
        ],
    )
    start = from_independent(model, 0.0, np.array([x0[0]]), np.array([x0[1]]), model.start_q)
    uncertainty = Uncertainty(DENSITY, *START_STD, disturbances)
    n = 2 + len(disturbances)
    A, density = np.zeros((n, n)), np.diag([0.0, DENSITY, *(d.density for d in disturbances)])
    A[0, 1] = 1.0
    for k, d in enumerate(disturbances):
        A[1, 2 + k] = _acceleration_per_unit(model, coordinate, d)
        A[2 + k, 2 + k] = 0.0 if d.time_constant_s is None else -1.0 / d.time_constant_s
    F, Q = _discrete(A, density)
    fall = float(start.qdd[model.index(coordinate)])
    return LinearCase(
        problem=Problem(model, sensors, uncertainty, start, step_s=STEP_S), F=F, Q=Q,
        R={"position": POSITION_STD**2, "rate": RATE_STD**2},
        x0=np.array([*x0, *(0.0 for _ in disturbances)]), P0=uncertainty.initial_P(1), circular=wraps,
        drift=fall * np.array([STEP_S**2 / 2.0, STEP_S, *(0.0 for _ in disturbances)]),
    )  # fmt: skip


def _acceleration_per_unit(model: Model, coordinate: str, disturbance: Disturbance) -> float:
    """On a rail or rotor: the generalised force on the coordinate over its inertia."""
    start = from_independent(model, 0.0, model.start_q[model.independent], np.zeros(1), model.start_q)
    s = sensitivity(model, start)
    inertia = float((s.r.T @ mass_matrix(model, start.q) @ s.r)[0, 0])
    return float(s.r[:, 0] @ np.array(disturbance.column)) / inertia


def _discrete(A: Array, density: Array) -> tuple[Array, Array]:
    """F and Q over a step by one exponential (Van Loan 1978)."""
    from scipy.linalg import expm

    n = len(A)
    block = np.zeros((2 * n, 2 * n))
    block[:n, :n], block[:n, n:], block[n:, n:] = -A, density, A.T
    big = expm(STEP_S * block)
    F = big[n:, n:].T
    return F, F @ big[:n, n:]


class KalmanReference:
    """The textbook Kalman filter of a case, step by step; the oracle of the linear checks."""

    def __init__(self, case: LinearCase) -> None:
        self.case, self.x, self.P = case, case.x0.copy(), case.P0.copy()

    def predict(self) -> None:
        """One step."""
        self.x = self.case.F @ self.x + self.case.drift
        self.P = self.case.F @ self.P @ self.case.F.T + self.case.Q

    def update(self, values: Mapping[str, float]) -> None:
        """The readings of one instant by stream, in one batch: K = P Hᵀ S⁻¹."""
        n = len(self.x)
        H = np.array([np.eye(n)[STREAMS.index(stream)] for stream in values])
        R = np.diag([self.case.R[stream] for stream in values])
        S = H @ self.P @ H.T + R
        K = np.linalg.solve(S, H @ self.P).T
        self.x = self.x + K @ (np.array(list(values.values())) - H @ self.x)
        left = np.eye(n) - K @ H
        self.P = left @ self.P @ left.T + K @ R @ K.T


def simulate(case: LinearCase, steps: int, seed: int) -> tuple[Array, list[Reading]]:
    """A true motion (steps + 1, n) drawn from the case, and its readings: position every 2nd step, rate every 5th."""
    rng = np.random.default_rng(seed)
    x = rng.multivariate_normal(case.x0, case.P0)
    truth, readings = [x], []
    for k in range(1, steps + 1):
        x = case.F @ x + case.drift + rng.multivariate_normal(np.zeros(len(x)), case.Q)
        truth.append(x)
        noise = rng.standard_normal(2)
        if k % 2 == 0:
            value = x[0] + POSITION_STD * noise[0]
            wrapped = (value + pi) % (2.0 * pi) - pi if case.circular else value
            readings.append(Reading(k * STEP_NS, "position", (float(wrapped),)))
        if k % 5 == 0:
            readings.append(Reading(k * STEP_NS, "rate", (float(x[1] + RATE_STD * noise[1]),)))
    return np.array(truth), readings


def check_equals_kalman(
    make: Make,
    tolerance: float = 1e-10,
    case: Case = rail,
    oracle: Callable[[LinearCase], KalmanReference] = KalmanReference,
    steps: int = 200,
) -> None:
    """Every estimate and covariance equals the Kalman filter's."""
    linear = case()
    observer, wanted = make(linear), oracle(linear)
    _, readings = simulate(linear, steps, 1)
    done = 0
    for reading in readings:
        while done < reading.t_ns // STEP_NS:
            wanted.predict()
            done += 1
        wanted.update({reading.stream: reading.values[0]})
        _used(observer.correct(reading))
        _same(observer, wanted, tolerance)


def check_sequential_equals_batch(make: Make, tolerance: float = 1e-10, case: Case = rail) -> None:
    """Readings of one instant, taken one after the other in either order, equal one batch update by all of them."""
    linear = case()
    first, second, wanted = make(linear), make(linear), KalmanReference(linear)
    rng = np.random.default_rng(6)
    for k in range(1, 25):
        wanted.predict()
        pair = [Reading(k * STEP_NS, stream, (float(rng.normal(0.0, 0.05)),)) for stream in STREAMS]
        wanted.update({r.stream: r.values[0] for r in pair})
        for one, other in zip(pair, reversed(pair), strict=True):
            _used(first.correct(one))
            _used(second.correct(other))
        _same(first, wanted, tolerance)
        _same(second, wanted, tolerance)


def _used(verdict: Verdict) -> None:
    assert verdict is Verdict.USED, f"a good reading was {verdict.name}"


def _same(observer: Observer, wanted: KalmanReference, tolerance: float) -> None:
    e, n = observer.estimate, len(wanted.x)
    off_x, off_P = np.abs(e.x[:n] - wanted.x).max(), np.abs(e.P[:n, :n] - wanted.P).max()
    assert off_x <= tolerance, f"t = {e.t_ns} ns: state off the Kalman filter by {off_x:.2e}"
    assert off_P <= tolerance, f"t = {e.t_ns} ns: covariance off the Kalman filter by {off_P:.2e}"


def check_consistent(make: Make, runs: int = 100, case: Case = rail) -> None:
    """Over seeded runs mean NEES and mean NIS lie inside their 99.9 % chi-square bounds.

    NEES is that of all rows of the case at the end of a run; NIS that of each reading under the estimate before it.
    """
    linear = case()
    n, nees, nis = len(linear.x0), 0.0, []
    for seed in range(runs):
        truth, readings = simulate(linear, 60, 1000 + seed)
        observer = make(linear)
        for reading in readings:
            observer.predict_to(reading.t_ns)
            before, row = observer.estimate, STREAMS.index(reading.stream)
            variance = before.P[row, row] + linear.R[reading.stream]
            nis.append((reading.values[0] - before.x[row]) ** 2 / variance)
            observer.correct(reading)
        e = observer.estimate
        error = e.x[:n] - truth[e.t_ns // STEP_NS]
        nees += float(error @ np.linalg.solve(e.P[:n, :n], error))
    assert_chi_square("NEES", nees, n * runs, runs)
    assert_chi_square("NIS", float(np.sum(nis)), len(nis), len(nis))


def assert_chi_square(name: str, total: float, freedom: int, count: int) -> None:
    """A sum of squares of `freedom` unit normals lies in its 99.9 % bounds; numbers are told per `count`."""
    from scipy.stats import chi2

    low, high = (float(chi2.ppf(p, freedom)) for p in (5e-4, 1.0 - 5e-4))
    told = f"mean {name} {total / count:.3f} outside [{low / count:.3f}, {high / count:.3f}] over {count}"
    assert low <= total <= high, told


def check_late_data(make: Make, case: Case = rail, steps: int = 160) -> None:
    """A reading that comes late within the horizon gives the same answer as one in time; beyond it is refused.

    Over so many steps that an observer which adapts to what it sees has begun to do so.
    """
    linear = case()
    _, readings = simulate(linear, steps, 2)
    in_time, late = make(linear), make(linear)
    for reading in readings:
        in_time.correct(reading)
    held = readings[-4]
    for reading in readings[:-4] + readings[-3:]:
        late.correct(reading)
    verdict = late.correct(held)
    assert verdict is Verdict.LATE, f"a late reading was {verdict.name}"
    off = np.abs(late.estimate.x - in_time.estimate.x).max()
    assert off <= 1e-9, f"late data changed the answer by {off:.2e}"
    off = np.abs(late.estimate.P - in_time.estimate.P).max()
    assert off <= 1e-9, f"late data changed the covariance by {off:.2e}"
    late.predict_to(10_000_000_000)
    verdict = late.correct(held)
    assert verdict is Verdict.STALE, f"a reading ten seconds old was {verdict.name}"


def check_gaps(make: Make, case: Case = rail) -> None:
    """Without readings the uncertainty grows and stays finite; afterwards the observer recovers."""
    linear = case()
    truth, readings = simulate(linear, 600, 3)
    observer = make(linear)
    before = None
    for reading in readings:
        if 200 < reading.t_ns // STEP_NS <= 400:
            continue
        if before is None and reading.t_ns // STEP_NS > 400:
            before = observer.estimate.P[0, 0]
            observer.predict_to(400 * STEP_NS)
            assert observer.estimate.P[0, 0] > before, "uncertainty did not grow over a gap"
        observer.correct(reading)
    e = observer.estimate
    off = abs(e.x[0] - truth[e.t_ns // STEP_NS, 0]) / np.sqrt(e.P[0, 0])
    assert off < 5.0, f"{off:.1f} standard deviations off after a gap"


def check_bad_readings(make: Make, case: Case = rail) -> None:
    """NaN, infinity, an unknown stream and a wild value get their verdicts and never a NaN estimate."""
    linear = case()
    truth, readings = simulate(linear, 200, 4)
    observer = make(linear)
    for k, reading in enumerate(readings):
        observer.correct(reading)
        t_ns = observer.estimate.t_ns
        if k % 10 == 9:
            for value, wanted in ((np.nan, Verdict.INVALID), (np.inf, Verdict.INVALID), (1e6, Verdict.GATED)):
                verdict = observer.correct(Reading(t_ns, "position", (float(value),)))
                assert verdict is wanted, f"{value} was {verdict.name}, want {wanted.name}"
            verdict = observer.correct(Reading(t_ns, "nobody", (1.0,)))
            assert verdict is Verdict.INVALID, f"an unknown stream was {verdict.name}"
    e = observer.estimate
    assert np.isfinite(e.x).all(), "the estimate is not finite"
    assert np.linalg.eigvalsh(e.P).min() > 0.0, "the covariance is not positive definite"
    assert abs(e.x[0] - truth[e.t_ns // STEP_NS, 0]) < 6.0 * np.sqrt(e.P[0, 0]), "bad readings moved the estimate"


def check_angles(make: Make, case: Case = rotor) -> None:
    """A rotor with a wrapping encoder is followed through ±π as a rail would be."""
    linear = case()
    truth, readings = simulate(linear, 400, 5)
    assert truth[:, 0].min() < pi < truth[:, 0].max(), "the rotor of this check must pass ±π"
    observer = make(linear)
    for reading in readings:
        verdict = observer.correct(reading)
        assert verdict is Verdict.USED, f"a good reading near ±π was {verdict.name}"
    e = observer.estimate
    off = (e.x[0] - truth[e.t_ns // STEP_NS, 0] + pi) % (2.0 * pi) - pi
    assert abs(off) < 5.0 * np.sqrt(e.P[0, 0]), f"angle off by {off:.3f} rad, claimed {np.sqrt(e.P[0, 0]):.3f}"


CHECKS: tuple[Callable[[Make], None], ...] = (
    check_equals_kalman,
    check_sequential_equals_batch,
    check_consistent,
    check_late_data,
    check_gaps,
    check_bad_readings,
    check_angles,
)
"""All checks."""
