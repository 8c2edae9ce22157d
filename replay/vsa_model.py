"""A trained sideslip model of any kind: the filter, a network, or both joined; saved as JSON or npz, never pickle."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from hodograph.ann.network import CHANNELS, V_MIN_MPS, VsaEstimate, VsaNetwork, network_from_bytes
from hodograph.core import Array, ModelError
from hodograph.core.kinds import member
from hodograph.observers.sideslip.filter import SideslipRun, run_sideslip
from hodograph.observers.sideslip.parameters import SideslipParameters

SCHEMA = "hodograph-vsa"
VERSION = 1
NIS_TIME_S = 5.0  # surprise is averaged over this


class VsaKind(StrEnum):
    """What estimates: networks without and with memory, the filter, or the filter with the network as a sensor."""

    STATIC = "static"
    MEMORY = "memory"
    HYBRID = "hybrid"
    EKF = "ekf"


@dataclass(frozen=True, slots=True)
class FilterPart:
    """The filter of a model: its parameters, by how much its own band was too narrow, the surprise it may show.

    `network_time_s` (hybrid): errors of the network nearer in time than this are one error, so that a reading every
    dt counts with variance std² · 2·time/dt.
    """

    parameters: SideslipParameters
    band_scale: float = 1.0
    nis_limit: float = 20.0
    network_time_s: float = 0.0
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class VsaModel:
    """A model: `network` for static, memory, hybrid; `filter` for ekf, hybrid."""

    kind: VsaKind
    network: VsaNetwork | None = None
    filter: FilterPart | None = None
    trained_on: Mapping[str, object] = field(default_factory=dict)

    def run(self, t_s: Array, inputs: Array) -> VsaEstimate:
        """β, 1-sigma and validity (n,) of a drive, strictly causal; inputs (n, 5) as `CHANNELS`, NaN = not there."""
        said = None if self.network is None else self.network.run(t_s, inputs)
        if self.filter is None:
            if said is None:
                raise ValueError(f"model of kind {self.kind} without network or filter")
            return said
        return joined(t_s, inputs, self.filter, said)

    def save(self, path: Path) -> None:
        """JSON for the filter alone, else an npz with the same JSON and the network."""
        header: dict[str, object] = {
            "schema": SCHEMA,
            "version": VERSION,
            "kind": str(self.kind),
            "channels": dict(CHANNELS),
            "output": {"vsa": "rad", "vsa_std": "rad", "vsa_valid": "1"},
            "trained_on": dict(self.trained_on),
            "filter": None if self.filter is None else asdict(self.filter),
        }
        text = json.dumps(header, indent=2)
        try:
            if self.network is None:
                path.write_text(text + "\n", encoding="utf-8")
                return
            buffer = io.BytesIO()
            network = np.frombuffer(self.network.to_bytes(), dtype=np.uint8)
            np.savez(buffer, model=np.array(text), network=network)
            path.write_bytes(buffer.getvalue())
        except OSError as error:
            raise ModelError(f"{path}: cannot be written: {error.strerror}") from error


def joined(t_s: Array, inputs: Array, part: FilterPart, said: VsaEstimate | None) -> VsaEstimate:
    """The filter over a drive, with what the network `said` as one more measurement where it is valid."""
    vsa = vsa_std = None
    if said is not None:
        step_s = float(np.median(np.diff(t_s)))
        repeats = max(2.0 * part.network_time_s / step_s, 1.0)
        vsa = np.where(said.valid, said.beta_rad, np.nan)
        vsa_std = said.std_rad * math.sqrt(repeats)
    run = run_sideslip(t_s, inputs, part.parameters, vsa_rad=vsa, vsa_std_rad=vsa_std)
    valid = np.all(np.isfinite(inputs), axis=1) & (inputs[:, 0] >= V_MIN_MPS) & np.isfinite(run.beta_rad)
    valid &= mean_nis(t_s, run) <= part.nis_limit
    if said is not None:
        valid &= said.valid
    return VsaEstimate(run.beta_rad, run.beta_std_rad * part.band_scale, valid)


def mean_nis(t_s: Array, run: SideslipRun) -> Array:
    """(n,) the filter's surprise, averaged causally over NIS_TIME_S; 2 where the model holds."""
    from scipy.signal import lfilter

    keep = math.exp(-float(np.median(np.diff(t_s))) / NIS_TIME_S)
    nis = np.where(np.isfinite(run.nis), run.nis, 2.0)
    averaged: Array = lfilter([1.0 - keep], [1.0, -keep], nis, zi=[2.0 * keep])[0]
    return averaged


def read_model(path: Path) -> VsaModel:
    """The model saved at `path`; `ModelError` when it is none."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from error
    try:
        network = None
        if data[:1] == b"{":
            header = json.loads(data)
        elif data[:2] != b"PK":
            raise ValueError("neither JSON nor npz")
        else:
            with np.load(io.BytesIO(data), allow_pickle=False) as file:
                header = json.loads(str(file["model"]))
                network = network_from_bytes(file["network"].tobytes(), str(path))
        if header["schema"] != SCHEMA or header["version"] != VERSION:
            raise ModelError(f"{path}: {header['schema']} version {header['version']}, want {SCHEMA} {VERSION}")
        return VsaModel(member(VsaKind, header["kind"]), network, _filter_part(header["filter"]), header["trained_on"])
    except (ValueError, KeyError, TypeError, OSError, EOFError, BadZipFile) as error:
        raise ModelError(f"{path}: is no sideslip model ({error}); make one with hodograph vsa train") from error


def _filter_part(table: Mapping[str, object] | None) -> FilterPart | None:
    if table is None:
        return None
    rest = dict(table)
    parameters = SideslipParameters(**rest.pop("parameters"))  # type: ignore[arg-type]
    return FilterPart(parameters, **rest)  # type: ignore[arg-type]


def as_columns(estimate: VsaEstimate) -> Mapping[str, Array | NDArray[np.bool_]]:
    """The channels that exports carry: vsa, vsa_std (rad) and vsa_valid."""
    return {"vsa": estimate.beta_rad, "vsa_std": estimate.std_rad, "vsa_valid": estimate.valid}
