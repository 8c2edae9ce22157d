"""Your own sensor and your own observer, run through the conformance suite.

A sensor is a name, a quality, and rows made of affine forms of the coordinates. An observer is anything with
`predict_to`, `correct` and `estimate`; write it as three functions for the loop, and late readings, latencies, gaps,
garbage and verdicts are taken care of.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hodograph.core import StateLayout
from hodograph.multibody.model.build import Model, build
from hodograph.multibody.model.mechanism import shipped_mechanism
from hodograph.numerics.verdicts import GATED, INVALID, USED
from hodograph.observers.conformance import CHECKS, STREAMS, LinearCase
from hodograph.observers.counts import GATED_ROWS, LAST_NIS, NIS_ROWS, NIS_SUM
from hodograph.observers.engine import Engine, Service, Stream, assemble, interpreted
from hodograph.observers.filter import Filter
from hodograph.observers.memory import Room
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


class MyFilter(NamedTuple):
    """All that my filter works on; what must not get lost lies in the room."""

    x: np.ndarray  # (2,) position, velocity
    P: np.ndarray  # (2, 2)
    F: np.ndarray  # (2, 2)
    counts: np.ndarray  # (8,)
    case: LinearCase


def predict(f: MyFilter, t_s: float, h: float) -> bool:
    """To the next node."""
    f.x[:] = f.F @ f.x
    f.P[:] = f.F @ f.P @ f.F.T + f.case.Q
    return True


def correct(f: MyFilter, row: int, values: np.ndarray, var: np.ndarray, tau: float, t_s: float) -> int:
    """By one reading: of position (row 0) or velocity (row 1), tau seconds off the node."""
    if not np.isfinite(values[0]):
        return INVALID
    H = np.array([1.0, tau]) if row == 0 else np.array([0.0, 1.0])
    y, S = values[0] - H @ f.x, H @ f.P @ H + f.case.R[STREAMS[row]]
    if f.case.circular and row == 0:
        y = (y + np.pi) % (2.0 * np.pi) - np.pi
    f.counts[LAST_NIS] = nis = y * y / S
    if nis > 36.0:
        f.counts[GATED_ROWS] += 1
        return GATED
    f.counts[NIS_SUM] += nis
    f.counts[NIS_ROWS] += 1
    K = f.P @ H / S
    f.x[:] += K * y
    f.P[:] -= S * np.outer(K, K)
    return USED


def renew(f: MyFilter, t_s: float, lost: int) -> bool:
    """The loop has changed P."""
    if lost == 1:
        f.x[1] = 0.0
    return True


def my_observer(case: LinearCase) -> OnlineObserver:
    """The three functions in the shell that all observers share."""

    def make(room: Room) -> Filter:
        f = MyFilter(room.array(case.x0), room.array(case.P0), case.F.copy(), room.zeros(8), case)
        return Filter(f, interpreted(predict, correct, renew), x=f.x, P=f.P, F=f.F, counts=f.counts, vital=6)

    streams = {name: Stream(k, first=k, end=k + 1) for k, name in enumerate(STREAMS)}
    service = Service(case.problem.step_s, horizon_s=0.5)
    return OnlineObserver(Engine(StateLayout(("position_m", "velocity_mps")), *assemble(streams, service, make)))


def main() -> None:
    """Read the ruler, check the observer."""
    model = build(shipped_mechanism("fourbar"))
    ruler = mount(model, [Ruler("ruler", "P2", 12.0, Quality(0.01))])
    print(f"the ruler reads {ruler.h(model.start_q, model.start_q, model.start_q)[0]:.4f} m at the start")
    for check in CHECKS:
        check(my_observer)
        print(f"my observer passes {check.__name__}")


main()
