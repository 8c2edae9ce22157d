"""A trained sideslip model of any kind: the filter, a network, or both joined; saved as JSON or npz, never pickle."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from hodograph.ann.network import VsaNetwork, network_from_bytes
from hodograph.core import ModelError
from hodograph.core.kinds import member
from hodograph.observers.sideslip.channels import CHANNELS
from hodograph.observers.sideslip.parameters import FilterPart, SideslipParameters

SCHEMA = "hodograph-vsa"
VERSION = 1


class VsaKind(StrEnum):
    """What estimates: networks without and with memory, the filter, or the filter with the network as a sensor."""

    STATIC = "static"
    MEMORY = "memory"
    HYBRID = "hybrid"
    EKF = "ekf"


@dataclass(frozen=True, slots=True)
class VsaModel:
    """A model: `network` for static, memory, hybrid; `filter` for ekf, hybrid. `ann.observer` runs it."""

    kind: VsaKind
    network: VsaNetwork | None = None
    filter: FilterPart | None = None
    trained_on: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        member(VsaKind, self.kind)
        wants_filter = self.kind in (VsaKind.EKF, VsaKind.HYBRID)
        if (self.filter is not None) != wants_filter or (self.network is None) != (self.kind is VsaKind.EKF):
            raise ValueError(f"a model of kind {self.kind} has not the network and filter that it wants")

    def __repr__(self) -> str:
        return f"VsaModel({self.kind})"

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
    except (ValueError, KeyError, TypeError, AttributeError, OSError, EOFError, BadZipFile) as error:
        raise ModelError(f"{path}: is no sideslip model ({error}); make one with hodograph vsa train") from error


def _filter_part(table: Mapping[str, object] | None) -> FilterPart | None:
    if table is None:
        return None
    rest = dict(table)
    parameters = SideslipParameters(**rest.pop("parameters"))  # type: ignore[arg-type]
    return FilterPart(parameters, **rest)  # type: ignore[arg-type]
