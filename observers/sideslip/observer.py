"""The sideslip filter as an observer: readings in, estimate out; the same kernels as `run_sideslip`."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from hodograph.core import Estimate, Reading, Verdict
from hodograph.observers.sideslip import kernels
from hodograph.observers.sideslip.filter import GATE_STD, INPUTS
from hodograph.observers.sideslip.parameters import LAYOUT, SideslipParameters

RESTART_S = 1.0  # after a longer silence nothing of the old state is worth keeping
LONGEST_STEP_S = 0.02


class SideslipObserver:
    """Feeds readings of any streams to the filter.

    `streams` says which values of a reading are which of INPUTS, e.g. {"imu": ("acc_x_mps2", "acc_y_mps2",
    "yaw_rate_radps")}; other names are ignored. It starts once speed, ay and yaw rate have been heard.
    """

    def __init__(self, parameters: SideslipParameters, streams: Mapping[str, tuple[str, ...]]) -> None:
        heard = {name for names in streams.values() for name in names}
        absent = [name for name in INPUTS if name not in heard]
        if absent:
            raise ValueError(f"sideslip: no stream has {', '.join(absent)}")
        self._p = parameters.array
        self._streams = dict(streams)
        self._known = {"steer_rad": 0.0, "acc_x_mps2": 0.0}
        self._x, self._P = np.zeros(kernels.N), np.zeros((kernels.N, kernels.N))
        self._verdict, self._score = np.zeros(4), np.zeros(2)
        self._verdicts: dict[str, Verdict] = {}
        self._t_ns: int | None = None

    @property
    def estimate(self) -> Estimate | None:
        """The state now; None before the start."""
        if self._t_ns is None:
            return None
        return Estimate(self._t_ns, LAYOUT, self._x, self._P, self._verdicts)

    @property
    def beta_rad(self) -> float:
        """β of the centre of gravity; NaN before the start."""
        if self._t_ns is None:
            return math.nan
        return math.atan2(self._x[kernels.V_Y], max(self._known["v_x_mps"], 1e-3))

    def predict_to(self, t_ns: int) -> None:
        """Move the state to `t_ns` with the inputs known so far; never backwards."""
        if self._t_ns is None or t_ns <= self._t_ns:
            return
        dt_s = (t_ns - self._t_ns) * 1e-9
        steps = max(math.ceil(dt_s / LONGEST_STEP_S), 1)
        after, F, work = np.zeros(kernels.N), np.zeros_like(self._P), np.zeros_like(self._P)
        v_x, steer, a_x = self._known["v_x_mps"], self._known["steer_rad"], self._known["acc_x_mps2"]
        for _ in range(steps):
            kernels.predict(self._x, v_x, steer, a_x, dt_s / steps, self._p, after, F)
            self._x[:] = after
            kernels.propagate(self._P, F, work)
            kernels.add_noise(self._P, dt_s / steps, self._p)
        self._t_ns = t_ns

    def correct(self, reading: Reading) -> Verdict:
        """Take one reading in; STALE when it is older than the estimate, INVALID when it says nothing."""
        names = self._streams.get(reading.stream)
        if names is None:
            return Verdict.INVALID
        said = {n: v for n, v in zip(names, reading.values, strict=True) if n in INPUTS and math.isfinite(v)}
        if self._t_ns is not None and reading.t_ns < self._t_ns:
            return self._judged(reading.stream, Verdict.STALE)
        if not said:
            return self._judged(reading.stream, Verdict.INVALID)
        self._known.update(said)
        silent_s = math.inf if self._t_ns is None else (reading.t_ns - self._t_ns) * 1e-9
        dt_s = silent_s
        if silent_s > RESTART_S:
            if any(name not in said and name not in self._known for name in INPUTS):
                return self._judged(reading.stream, Verdict.INVALID)
            v_x, a_y, r = (self._known[n] for n in ("v_x_mps", "acc_y_mps2", "yaw_rate_radps"))
            kernels.start(self._x, self._P, v_x, a_y, r, self._p)
            self._t_ns, dt_s = reading.t_ns, 1e-2
        self.predict_to(reading.t_ns)
        if not said.keys() & {"acc_y_mps2", "yaw_rate_radps"}:
            return self._judged(reading.stream, Verdict.USED)
        return self._judged(reading.stream, self._measured(said, max(dt_s, 1e-4)))

    def _measured(self, said: Mapping[str, float], dt_s: float) -> Verdict:
        a_y, r = said.get("acc_y_mps2", math.nan), said.get("yaw_rate_radps", math.nan)
        v_x, steer = self._known["v_x_mps"], self._known["steer_rad"]
        nothing = math.nan
        kernels.measure(
            self._x, self._P, v_x, steer, a_y, r, nothing, nothing, dt_s, GATE_STD, self._p, self._verdict, self._score
        )
        return Verdict.GATED if self._verdict[:2].min() < 0 else Verdict.USED

    def _judged(self, stream: str, verdict: Verdict) -> Verdict:
        self._verdicts[stream] = verdict
        return verdict
