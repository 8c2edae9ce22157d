"""Your own sensor and your own observer, run through the conformance suite.

A sensor is a name, a quality, and rows made of affine forms of the coordinates. An observer is anything with
`predict_to`, `correct` and `estimate`; give an engine (the mathematics alone) to `OnlineObserver` and late readings,
latencies and verdicts come for free.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hodograph.core import StateLayout, Verdict
from hodograph.multibody.model.build import Model, build
from hodograph.multibody.model.mechanism import shipped_mechanism
from hodograph.observers.conformance import CHECKS, LinearCase
from hodograph.observers.online import OnlineObserver
from hodograph.sensors import Quality, Row, mount
from hodograph.sensors.kernels import POSITION


@dataclass(frozen=True)
class Ruler:
    """My sensor: how far a point is from a wall x = wall_m, read along x."""

    name: str
    point: str
    wall_m: float
    quality: Quality

    def rows(self, model: Model) -> tuple[Row, ...]:
        """One row, affine in the coordinates."""
        place = model.coordinates.place(self.point, self.name)
        from_wall = (place[0].scaled(-1.0), place[1])
        along_x = (type(place[0])(1.0), type(place[0])(0.0))
        offset = Quality(self.quality.std, bias=self.wall_m)
        return (Row(f"{self.name}_m", POSITION, from_wall, along_x, offset),)


class SteadyGain:
    """My engine: the Kalman filter of a double integrator, in ten lines of numpy."""

    def __init__(self, case: LinearCase) -> None:
        self.case, self.x, self.P = case, case.x0.copy(), case.P0.copy()
        self.layout = StateLayout(("position_m", "velocity_mps"))

    def advance(self, dt_s: float) -> None:
        """Predict."""
        for _ in range(round(dt_s / self.case.problem.step_s)):
            self.x, self.P = self.case.F @ self.x, self.case.F @ self.P @ self.case.F.T + self.case.Q

    def update(self, stream: str, values: tuple[float, ...]) -> Verdict:
        """Correct, or say why not."""
        if stream not in self.case.R or not np.isfinite(values).all():
            return Verdict.INVALID
        H = np.array([1.0, 0.0]) if stream == "position" else np.array([0.0, 1.0])
        y, S = values[0] - H @ self.x, H @ self.P @ H + self.case.R[stream]
        if self.case.circular and stream == "position":
            y = (y + np.pi) % (2.0 * np.pi) - np.pi
        if y * y / S > 36.0:
            return Verdict.GATED
        K = self.P @ H / S
        self.x, self.P = self.x + K * y, self.P - S * np.outer(K, K)
        return Verdict.USED

    def snapshot(self) -> tuple[np.ndarray, np.ndarray]:
        """What `restore` needs."""
        return self.x, self.P

    def restore(self, snapshot: tuple[np.ndarray, np.ndarray]) -> None:
        """Go back."""
        self.x, self.P = snapshot


def main() -> None:
    """Read the ruler, check the observer."""
    model = build(shipped_mechanism("fourbar"))
    ruler = mount(model, [Ruler("ruler", "P2", 12.0, Quality(0.01))])
    print(f"the ruler reads {ruler.h(model.start_q, model.start_q, model.start_q)[0]:.4f} m at the start")
    for check in CHECKS:
        check(lambda case: OnlineObserver(SteadyGain(case)))
        print(f"my observer passes {check.__name__}")


main()
