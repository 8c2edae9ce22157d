"""Sideslip models as observers: a network, the filter or both under the one loop, live and over a drive."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from hodograph.ann.hybrid import make_hybrid
from hodograph.ann.kernels import make_network, make_network_arrays
from hodograph.ann.model import VsaKind, VsaModel
from hodograph.ann.network import VsaEstimate
from hodograph.core import StateLayout
from hodograph.observers.engine import Engine, Service
from hodograph.observers.filter import Filter
from hodograph.observers.memory import Room
from hodograph.observers.online import Clock, OnlineObserver
from hodograph.observers.sideslip.channels import CHANNELS
from hodograph.observers.sideslip.drive import SideslipDrive
from hodograph.observers.sideslip.observer import (
    HORIZON_S,
    STEP_S,
    SideslipRun,
    arrays_of,
    assemble_waiting,
    filter_of,
    run_drive,
    serving,
    serving_drive,
)
from hodograph.observers.sideslip.parameters import LAYOUT
from hodograph.observers.sideslip.sources import Sources

BETA_ONLY = StateLayout(("beta_cg_rad",))
"""All that a network estimates."""


class ModelEngine(Engine):
    """A sideslip model on the streams of the sensors; pickles and copies."""

    __slots__ = ("model", "service", "sources")

    def __init__(self, model: VsaModel, sources: Sources, service: Service) -> None:
        self.model, self.sources, self.service = model, sources, service
        layout = BETA_ONLY if model.filter is None else LAYOUT
        make = partial(filter_of_model, model, sources, service)
        Engine.__init__(self, layout, *assemble_waiting(sources.table(), service, make))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.model, self.sources, self.service), self.kept()


def filter_of_model(model: VsaModel, sources: Sources, service: Service, room: Room) -> Filter:
    """What the loop moves for a model, laid out in the room."""
    if model.network is None:
        assert model.filter is not None
        return filter_of(model.filter, sources, service, room)
    if model.filter is None:
        return make_network(make_network_arrays(model.network, sources.weights, sources.lever_m, room))
    return make_hybrid(arrays_of(model.filter, sources, service, room), model.network, room)


def model_observer(
    model: VsaModel,
    sources: Sources,
    *,
    step_s: float = STEP_S,
    t_ns: int = 0,
    horizon_s: float = HORIZON_S,
    clocks: Mapping[str, Clock] | None = None,
) -> OnlineObserver:
    """A model ready for readings. `t_ns`: about where their times begin; `estimate["beta_cg_rad"]` is its answer."""
    return OnlineObserver(ModelEngine(model, sources, serving(step_s, t_ns, horizon_s)), clocks=clocks or {})


def run_model(model: VsaModel, drive: SideslipDrive) -> SideslipRun:
    """A model over a whole drive, strictly causal, on the drive's raster."""
    return run_drive(ModelEngine(model, drive.sources, serving_drive(drive)), drive)


def estimate_drive(model: VsaModel, drive: SideslipDrive) -> VsaEstimate:
    """β, its 1-sigma and whether it may be used, on the drive's raster."""
    return said_of(run_model(model, drive))


def said_of(run: SideslipRun) -> VsaEstimate:
    """What a run says of sideslip."""
    return VsaEstimate(run.t_ns, run["beta_cg_rad"], run.std_of("beta_cg_rad"), run.valid)


def warm_up() -> None:
    """Compile network and hybrid now rather than at the first reading (seconds, once; cached on disk)."""
    from hodograph.ann.network import MemorySpec, silent_network
    from hodograph.observers.sideslip.parameters import FilterPart, SideslipParameters

    inputs = np.array([[20.0, *(0.0 for _ in list(CHANNELS)[1:])]] * 2)
    drive = SideslipDrive.sampled("warm-up", np.array([0.0, 0.01]), inputs)
    network, part = silent_network(MemorySpec()), FilterPart(SideslipParameters())
    for model in (VsaModel(VsaKind.STATIC, network), VsaModel(VsaKind.HYBRID, network, part)):
        run_model(model, drive)
