"""The sideslip filter as an engine, as an observer in service, and over a whole drive: one loop, one compiled entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hodograph.core import Array, DataError, StateLayout, Verdict
from hodograph.observers.counts import LOG_LIKELIHOOD, NIS_ROWS
from hodograph.observers.engine import Engine, Service, Stream, assemble
from hodograph.observers.events import Nodes, nodes_of, run_events
from hodograph.observers.filter import Filter
from hodograph.observers.memory import Room
from hodograph.observers.online import Clock, OnlineObserver
from hodograph.observers.series import series_html, series_line
from hodograph.observers.sideslip.drive import SideslipDrive
from hodograph.observers.sideslip.filter import (
    MOST_SURPRISE,
    TWO_PI_LOG,
    SideslipArrays,
    SideslipSetting,
    make_arrays,
    make_sideslip,
)
from hodograph.observers.sideslip.parameters import LAYOUT, FilterPart, SideslipParameters
from hodograph.observers.sideslip.sources import Sources
from hodograph.observers.tables import COASTING, Core

STEP_S, HORIZON_S = 0.01, 0.3
MOST_NODES = 20_000_000
"""Two days; a drive that seems longer has a wrong stamp in it."""
MOST_SURPRISING = 6.0
"""An average ν²/S that no car has: of readings that the gate refuses it is 25."""


def serving(step_s: float, t0_ns: int = 0, horizon_s: float = 0.0) -> Service:
    """How a sideslip observer runs: it says by itself when it has settled, and what is surprising over seconds."""
    if not 1e-4 <= step_s <= 0.02:
        raise ValueError(f"step_s must lie in 1e-4 … 0.02 s for sideslip, got {step_s}")
    return Service(step_s, t0_ns=t0_ns, horizon_s=horizon_s, settle_s=0.0, surprise=MOST_SURPRISING)


def assemble_waiting(
    streams: Mapping[str, Stream], service: Service, make: Callable[[Room], Filter]
) -> tuple[Mapping[str, Stream], Filter, Core]:
    """As `assemble`, for a filter that stands still until it has heard enough to begin."""
    streams, made, core = assemble(streams, service, make)
    core.book[COASTING] = 1.0
    core.start[:], core.before[:] = core.memory, core.memory
    return streams, made, core


class SideslipEngine(Engine):
    """The filter of a car on the streams of its sensors; pickles and copies."""

    __slots__ = ("part", "service", "sources")

    def __init__(self, part: FilterPart, sources: Sources, service: Service) -> None:
        self.part, self.sources, self.service = part, sources, service
        make = partial(filter_of, part, sources, service)
        Engine.__init__(self, LAYOUT, *assemble_waiting(sources.table(), service, make))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.part, self.sources, self.service), self.kept()

    @property
    def minus_2_log_likelihood(self) -> float:
        """Of yaw rate and ay under the filter's predictions, constants left out."""
        counts = self.core.counts
        return float(-2.0 * counts[LOG_LIKELIHOOD] - TWO_PI_LOG * counts[NIS_ROWS])

    @property
    def most_surprise(self) -> float:
        """The largest average of the squared innovations so far; 2 is normal."""
        arrays: SideslipArrays = self.filter.arrays
        return float(arrays.book[MOST_SURPRISE])


def filter_of(part: FilterPart, sources: Sources, service: Service, room: Room) -> Filter:
    """The filter, laid out in the room."""
    return make_sideslip(arrays_of(part, sources, service, room))


def arrays_of(part: FilterPart, sources: Sources, service: Service, room: Room) -> SideslipArrays:
    """Its arrays, of which a hybrid makes a part of its own."""
    setting = SideslipSetting(service.step_ns / 1e9, part.nis_limit, part.band_scale, part.network_time_s)
    return make_arrays(part.parameters, setting, sources.weights, sources.lever_m, room)


def sideslip_observer(
    part: FilterPart | SideslipParameters,
    sources: Sources,
    *,
    step_s: float = STEP_S,
    t_ns: int = 0,
    horizon_s: float = HORIZON_S,
    clocks: Mapping[str, Clock] | None = None,
) -> OnlineObserver:
    """The filter ready for readings. `t_ns`: about where their times begin; `estimate["beta_cg_rad"]` is its answer.

    Until speed, ay and yaw rate have been heard, the estimate is not valid.
    """
    part = FilterPart(part) if isinstance(part, SideslipParameters) else part
    return OnlineObserver(SideslipEngine(part, sources, serving(step_s, t_ns, horizon_s)), clocks=clocks or {})


@dataclass(frozen=True, slots=True, eq=False)
class SideslipRun:
    """What an observer made of a drive, on its raster: states and 1-sigma (n, N) by `layout`, whether to be used (n,).

    `verdicts` counts what became of the readings.
    """

    layout: StateLayout
    t_ns: NDArray[np.int64]
    x: Array
    std: Array
    valid: NDArray[np.bool_]
    verdicts: Mapping[Verdict, int]

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {verdict}" for verdict, count in self.verdicts.items()) or "no readings"
        return f"SideslipRun({series_line(self.t_ns, self.layout.names, self.valid)}; {counts})"

    def _repr_html_(self) -> str:
        return series_html(repr(self), self.layout.names, self.x, self.std)

    def __getitem__(self, name: str) -> Array:
        """The row `name` over time, (n,)."""
        return self.x[:, self.layout[name]]

    def std_of(self, name: str) -> Array:
        """Its 1-sigma, (n,)."""
        return self.std[:, self.layout[name]]


def run_drive(engine: Engine, drive: SideslipDrive) -> SideslipRun:
    """A fresh engine over a whole drive: the batch form is the loop, called for many nodes at once."""
    events = drive.events()
    node = nodes_of(engine.core.grid, drive.t_ns)
    if node[-1] - node[0] > MOST_NODES:
        raise DataError(f"{drive.name}: {(drive.t_ns[-1] - drive.t_ns[0]) / 3.6e12:.0f} hours from first to last stamp")
    nodes: Nodes = run_events(engine, events, int(node[-1]))
    rows = np.maximum(node, 0)
    said, counts = np.unique(events.verdict, return_counts=True)
    verdicts = {Verdict(int(v)): int(n) for v, n in zip(said, counts, strict=True)}
    return SideslipRun(
        layout=engine.layout,
        t_ns=nodes.t_ns[rows],
        x=nodes.x[rows],
        std=nodes.std[rows],
        valid=nodes.valid[rows],
        verdicts=verdicts,
    )


def engine_for(part: FilterPart | SideslipParameters, drive: SideslipDrive) -> SideslipEngine:
    """An engine on the streams and the raster of a drive."""
    part = FilterPart(part) if isinstance(part, SideslipParameters) else part
    return SideslipEngine(part, drive.sources, serving_drive(drive))


def serving_drive(drive: SideslipDrive) -> Service:
    """Nodes on the raster of a drive."""
    return serving(drive.step_ns / 1e9, int(drive.t_ns[0]))


def warm_up() -> None:
    """Compile the filter now rather than at the first reading (seconds, once; cached on disk)."""
    drive = SideslipDrive.sampled("warm-up", np.array([0.0, 0.01]), np.array([[20.0, 0.0, 0.0, 0.0, 0.0]] * 2))
    run_drive(engine_for(SideslipParameters(), drive), drive)
