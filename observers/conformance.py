"""Checks that any observer must pass, also yours: `for check in CHECKS: check(make)`.

`make(problem)` builds an observer (see `protocol.Observer`) for a `LinearCase`: a body on a rail or a turning rotor,
both without forces, so the exact answer is the Kalman filter's with the matrices of the case. Each check raises
`AssertionError` with numbers when the observer does not conform.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import pi

import numpy as np

from hodograph.core.frames import Array
from hodograph.core.reading import Reading, Verdict
from hodograph.multibody.kinematics import from_independent
from hodograph.multibody.mechanism import Angle, Bar, Linear, Mechanism, Particle, Point
from hodograph.multibody.model import build
from hodograph.observers.mechanism import Problem
from hodograph.observers.plant import Uncertainty
from hodograph.observers.protocol import Observer
from hodograph.sensors import Encoder, Quality, RateEncoder, mount

STEP_S = 0.01
STEP_NS = 10_000_000
POSITION_STD, RATE_STD = 0.05, 0.1
DENSITY = 0.3
START_STD = (0.4, 0.6)


@dataclass(frozen=True, slots=True)
class LinearCase:
    """A double integrator: x⁺ = F x + w, w ~ Q; streams `position` and `rate` read its two rows with variances R.

    `problem` is the same as a mechanism. State rows are position and velocity, in this order; further rows may follow.
    """

    problem: Problem
    F: Array
    Q: Array
    R: dict[str, float]
    x0: Array
    P0: Array
    circular: bool


Make = Callable[[LinearCase], Observer]


def rail(*, true_x0: tuple[float, float] = (0.0, 0.0)) -> LinearCase:
    """A particle on a straight rail."""
    mechanism = Mechanism(
        1, "rail", "planar", (0.0, 0.0), {"P": Point((0.0, 0.0))}, {"body": Particle("P", 2.0)},
        constraints={"rail": Linear({"P.y": 1.0}, 0.0)}, independent=("P.x",),
    )  # fmt: skip
    return _case(mechanism, "P.x", true_x0, wraps=False)


def rotor(*, true_x0: tuple[float, float] = (3.1, 0.5)) -> LinearCase:
    """A bar turning about a pivot; its encoder only knows the angle modulo one turn."""
    mechanism = Mechanism(
        1, "rotor", "planar", (0.0, 0.0), {"A": Point((0.0, 0.0), fixed=True), "P": Point((1.0, 0.0))},
        {"bar": Bar(("A", "P"), 3.0, 1.0)}, angles={"phi": Angle("A>P", initial_rad=true_x0[0])}, independent=("phi",),
    )  # fmt: skip
    return _case(mechanism, "phi", true_x0, wraps=True)


def _case(mechanism: Mechanism, coordinate: str, x0: tuple[float, float], *, wraps: bool) -> LinearCase:
    model = build(mechanism)
    sensors = mount(
        model,
        [
            Encoder("position", coordinate, Quality(POSITION_STD), wraps=wraps),
            RateEncoder("rate", coordinate, Quality(RATE_STD)),
        ],
    )
    start = from_independent(model, 0.0, np.array([x0[0]]), np.array([x0[1]]), model.start_q)
    h = STEP_S
    return LinearCase(
        Problem(model, sensors, Uncertainty(DENSITY, *START_STD), start, h),
        np.array([[1.0, h], [0.0, 1.0]]),
        DENSITY * np.array([[h**3 / 3.0, h**2 / 2.0], [h**2 / 2.0, h]]),
        {"position": POSITION_STD**2, "rate": RATE_STD**2},
        np.array(x0),
        np.diag(np.array(START_STD) ** 2),
        wraps,
    )


class KalmanReference:
    """The textbook Kalman filter of a case, step by step; the oracle of the linear checks."""

    def __init__(self, case: LinearCase) -> None:
        self.case, self.x, self.P = case, case.x0.copy(), case.P0.copy()

    def predict(self) -> None:
        """One step."""
        self.x = self.case.F @ self.x
        self.P = self.case.F @ self.P @ self.case.F.T + self.case.Q

    def update(self, stream: str, value: float) -> tuple[float, float]:
        """One reading; returns innovation and its variance."""
        H = np.array([1.0, 0.0]) if stream == "position" else np.array([0.0, 1.0])
        S = float(H @ self.P @ H) + self.case.R[stream]
        K = self.P @ H / S
        y = value - float(H @ self.x)
        self.x = self.x + K * y
        left = np.eye(2) - np.outer(K, H)
        self.P = left @ self.P @ left.T + self.case.R[stream] * np.outer(K, K)
        return y, S


def simulate(case: LinearCase, steps: int, seed: int) -> tuple[Array, list[Reading]]:
    """A true motion (steps + 1, 2) drawn from the case, and its readings: position every 2nd step, rate every 5th."""
    rng = np.random.default_rng(seed)
    x = rng.multivariate_normal(case.x0, case.P0)
    truth, readings = [x], []
    for k in range(1, steps + 1):
        x = case.F @ x + rng.multivariate_normal(np.zeros(2), case.Q)
        truth.append(x)
        noise = rng.standard_normal(2)
        if k % 2 == 0:
            value = x[0] + POSITION_STD * noise[0]
            wrapped = (value + pi) % (2.0 * pi) - pi if case.circular else value
            readings.append(Reading(k * STEP_NS, "position", (float(wrapped),)))
        if k % 5 == 0:
            readings.append(Reading(k * STEP_NS, "rate", (float(x[1] + RATE_STD * noise[1]),)))
    return np.array(truth), readings


def check_equals_kalman(make: Make, tolerance: float = 1e-10) -> None:
    """On the rail every estimate and covariance equals the Kalman filter's; sequential rows equal a batch."""
    case = rail()
    observer, oracle = make(case), KalmanReference(case)
    _, readings = simulate(case, 200, 1)
    done = 0
    for reading in readings:
        while done < reading.t_ns // STEP_NS:
            oracle.predict()
            done += 1
        oracle.update(reading.stream, reading.values[0])
        verdict = observer.correct(reading)
        assert verdict is Verdict.USED, f"a good reading was {verdict.name}"
        e = observer.estimate
        off_x, off_P = np.abs(e.x[:2] - oracle.x).max(), np.abs(e.P[:2, :2] - oracle.P).max()
        assert off_x <= tolerance, f"t = {reading.t_ns} ns: state off the Kalman filter by {off_x:.2e}"
        assert off_P <= tolerance, f"t = {reading.t_ns} ns: covariance off the Kalman filter by {off_P:.2e}"


def check_consistent(make: Make, runs: int = 100) -> None:
    """Over seeded runs NEES and NIS lie inside the 99.9 % chi-square bounds of their mean."""
    from scipy.stats import chi2

    nees = []
    for seed in range(runs):
        case = rail()
        truth, readings = simulate(case, 60, 1000 + seed)
        observer = make(case)
        for reading in readings:
            observer.correct(reading)
        e = observer.estimate
        error = e.x[:2] - truth[e.t_ns // STEP_NS]
        nees.append(float(error @ np.linalg.solve(e.P[:2, :2], error)))
    low, high = (float(chi2.ppf(p, 2 * runs)) / runs for p in (5e-4, 1.0 - 5e-4))
    mean = float(np.mean(nees))
    assert low <= mean <= high, f"mean NEES {mean:.3f} outside [{low:.3f}, {high:.3f}]"


def check_late_data(make: Make) -> None:
    """A reading that comes late within the horizon gives the same answer as one in time; beyond it is refused."""
    case = rail()
    _, readings = simulate(case, 40, 2)
    in_time, late = make(case), make(case)
    for reading in readings:
        in_time.correct(reading)
    held = readings[-4]
    for reading in readings[:-4] + readings[-3:]:
        late.correct(reading)
    verdict = late.correct(held)
    assert verdict is Verdict.LATE, f"a late reading was {verdict.name}"
    off = np.abs(late.estimate.x - in_time.estimate.x).max()
    assert off <= 1e-9, f"late data changed the answer by {off:.2e}"
    late.predict_to(10_000_000_000)
    verdict = late.correct(held)
    assert verdict is Verdict.STALE, f"a reading ten seconds old was {verdict.name}"


def check_gaps(make: Make) -> None:
    """Without readings the uncertainty grows and stays finite; afterwards the observer recovers."""
    case = rail()
    truth, readings = simulate(case, 600, 3)
    observer = make(case)
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


def check_bad_readings(make: Make) -> None:
    """NaN, infinity, an unknown stream and a wild value get their verdicts and never a NaN estimate."""
    case = rail()
    truth, readings = simulate(case, 200, 4)
    observer = make(case)
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


def check_angles(make: Make) -> None:
    """A rotor with a wrapping encoder is followed through ±π as a rail would be."""
    case = rotor()
    truth, readings = simulate(case, 400, 5)
    observer = make(case)
    for reading in readings:
        verdict = observer.correct(reading)
        assert verdict is Verdict.USED, f"a good reading near ±π was {verdict.name}"
    e = observer.estimate
    off = (e.x[0] - truth[e.t_ns // STEP_NS, 0] + pi) % (2.0 * pi) - pi
    assert abs(off) < 5.0 * np.sqrt(e.P[0, 0]), f"angle off by {off:.3f} rad, claimed {np.sqrt(e.P[0, 0]):.3f}"


CHECKS: tuple[Callable[[Make], None], ...] = (
    check_equals_kalman,
    check_consistent,
    check_late_data,
    check_gaps,
    check_bad_readings,
    check_angles,
)
"""All checks."""
