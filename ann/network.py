"""An ensemble of small networks that knows its car: estimate, 1-sigma, and whether it may be asked at all."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from hodograph.ann import kernels
from hodograph.ann.tansig import TansigNet
from hodograph.core import Array, ModelError
from hodograph.core.display import short_repr, spanned
from hodograph.observers.memory import Room
from hodograph.observers.series import series_html
from hodograph.observers.sideslip.channels import CHANNELS, ROWS, V_MIN_MPS

SCHEMA = "hodograph-vsa-network"
VERSION = 1
PLAIN = np.eye(ROWS, len(CHANNELS))
"""Weights of one stream that has the five channels in their order, in body axes."""


@dataclass(frozen=True, slots=True)
class MemorySpec:
    """What a network sees: each channel low-passed at `filters_hz` (0: as it is), and (ay - v r)/v leakily integrated.

    `curvature` adds r/v through the same filters; `hold_spikes` keeps a steering angle that jumps for a sample or two.
    All strictly causal.
    """

    filters_hz: tuple[float, ...] = (0.0,)
    integrals_s: tuple[float, ...] = ()
    hold_spikes: bool = False
    curvature: bool = False

    @property
    def n_features(self) -> int:
        """Width of what the network sees."""
        return (len(CHANNELS) + self.curvature) * len(self.filters_hz) + len(self.integrals_s)

    @property
    def times_s(self) -> list[float]:
        """Time constants of the filters and integrals."""
        return [1 / (2 * math.pi * f) if f > 0 else 0.0 for f in self.filters_hz] + list(self.integrals_s)

    @property
    def head(self) -> list[float]:
        """First numbers of the kernel's blob, for no network yet."""
        counts = [self.n_features, 0, 0, 0, len(self.filters_hz), len(self.integrals_s), self.hold_spikes]
        return [*map(float, counts), float(self.curvature), *self.times_s]

    def features(self, t_s: Array, inputs: Array) -> Array:
        """(n, k) for inputs (n, 5) as CHANNELS; NaN where one is missing."""
        return _listened(silent_network(self), t_s, inputs)[1]

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class Domain:
    """Where the training data lie, in mapped features: means (c, k) and inverse Cholesky factors (c, k, k).

    A sample is inside while its squared distance to the nearest cluster is at most `limit`; the network is trusted
    while four fifths of the last `memory_s` seconds were.
    """

    means: Array
    inverse_factors: Array
    limit: float
    low: Array
    high: Array
    memory_s: float = 5.0

    __repr__ = short_repr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class VsaEstimate:
    """At `t_ns` (n,): β and its 1-sigma in rad (n,), and whether it may be used (n,)."""

    t_ns: NDArray[np.int64]
    beta_rad: Array
    std_rad: Array
    valid: NDArray[np.bool_]

    def __repr__(self) -> str:
        return f"VsaEstimate({spanned(self.t_ns)}, {float(np.mean(self.valid)):.0%} valid)"

    def _repr_html_(self) -> str:
        return series_html(repr(self), ("beta_rad",), self.beta_rad[:, None], self.std_rad[:, None])


@dataclass(frozen=True, slots=True)
class VsaNetwork:
    """Members that share maps and memory; `band` are the coefficients of the log variance, see `kernels`."""

    memory: MemorySpec
    members: tuple[TansigNet, ...]
    domain: Domain
    band: Array
    trained_on: Mapping[str, object] = field(default_factory=dict)

    @property
    def blob(self) -> Array:
        """All fixed numbers for the kernel; outputs in rad."""
        first = self.members[0]
        head = self.memory.head
        head[1:4] = [len(self.members), len(first.b1), len(self.domain.means)]
        parts: list[Array] = [np.array(head), first.x_o, first.x_g]
        for net in self.members:
            offset = (net.b2 - net.y_b) / net.y_g + net.y_o
            parts += [net.W1.T.ravel(), net.b1, net.W2 / net.y_g, np.array([offset])]
        for mean, factor in zip(self.domain.means, self.domain.inverse_factors, strict=True):
            parts += [mean, factor.ravel()]
        parts += [self.band, np.array([self.domain.limit, self.domain.memory_s, V_MIN_MPS])]
        return np.concatenate(parts)

    def run(self, t_s: Array, inputs: Array) -> VsaEstimate:
        """Sample by sample, as training wants it: t_s (n,) s, inputs (n, 5) as CHANNELS, NaN = not there."""
        answers = _listened(self, t_s, inputs)[0]
        t_ns = np.round(np.asarray(t_s) * 1e9).astype(np.int64)
        return VsaEstimate(t_ns, answers[:, kernels.SAID], answers[:, kernels.STD], answers[:, kernels.VALID] > 0)

    def stream(self) -> VsaStream:
        """The network, one sample at a time, for who has a loop of their own; an observer of it: `ann.observer`."""
        return VsaStream(kernels.make_network_arrays(self, PLAIN, (0.0, 0.0), Room()), np.full(len(CHANNELS), np.nan))

    def to_bytes(self) -> bytes:
        """An npz of plain arrays with a JSON header; never pickle."""
        header = {
            "schema": SCHEMA,
            "version": VERSION,
            "channels": dict(CHANNELS),
            "output": {"vsa": "rad", "vsa_std": "rad", "vsa_valid": "1"},
            "memory": asdict(self.memory),
            "domain": {
                "limit": self.domain.limit,
                "memory_s": self.domain.memory_s,
                "low": self.domain.low.tolist(),
                "high": self.domain.high.tolist(),
            },
            "maps": [[net.x_b, net.y_o, net.y_g, net.y_b, net.b2] for net in self.members],
            "trained_on": dict(self.trained_on),
        }
        first = self.members[0]
        arrays = {
            "W1": np.stack([net.W1 for net in self.members]),
            "b1": np.stack([net.b1 for net in self.members]),
            "W2": np.stack([net.W2 for net in self.members]),
            "x_o": first.x_o,
            "x_g": first.x_g,
            "domain_means": self.domain.means,
            "domain_factors": self.domain.inverse_factors,
            "band": self.band,
        }
        buffer = io.BytesIO()
        np.savez(buffer, header=np.array(json.dumps(header)), **arrays)  # type: ignore[arg-type]
        return buffer.getvalue()

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class VsaStream:
    """A network at work: its arrays change with each `step`."""

    arrays: kernels.NetworkArrays
    var: Array

    def step(self, t_s: float, sample: Array) -> Array:
        """(4,) = β, 1-sigma, valid, distance² for one sample (5,); the same array each time."""
        kernels.listen(self.arrays, t_s, sample, self.var)
        return self.arrays.answer

    __repr__ = short_repr


def silent_network(memory: MemorySpec) -> VsaNetwork:
    """A network of which only the memory matters."""
    k = memory.n_features
    net = TansigNet(
        W1=np.zeros((1, k)),
        b1=np.zeros(1),
        W2=np.zeros(1),
        b2=0.0,
        x_o=np.zeros(k),
        x_g=np.ones(k),
        x_b=-1.0,
        y_o=0.0,
        y_g=1.0,
        y_b=-1.0,
    )
    domain = Domain(
        means=np.zeros((1, k)), inverse_factors=np.eye(k)[None], limit=1.0, low=np.zeros(k), high=np.ones(k)
    )
    return VsaNetwork(memory, (net,), domain, np.zeros(4))


def _listened(network: VsaNetwork, t_s: Array, inputs: Array) -> tuple[Array, Array]:
    """Answers (n, 4) and features (n, k), NaN where there are none."""
    n = len(t_s)
    answers, features = np.full((n, kernels.ANSWERS), np.nan), np.full((n, network.memory.n_features), np.nan)
    answers[:, kernels.VALID] = 0.0
    t_s, inputs = np.ascontiguousarray(t_s, dtype=np.float64), np.ascontiguousarray(inputs, dtype=np.float64)
    stream = network.stream()
    kernels.listen_all(stream.arrays, t_s, inputs, stream.var, answers, features)
    return answers, features


def network_from_bytes(data: bytes, source: str) -> VsaNetwork:
    """The inverse of `to_bytes`; `ModelError` when it is none of ours."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            header = json.loads(str(file["header"]))
            if header["schema"] != SCHEMA or header["version"] != VERSION:
                raise ModelError(f"{source}: {header['schema']} version {header['version']}, want {SCHEMA} {VERSION}")
            if header["channels"] != dict(CHANNELS):
                raise ModelError(f"{source}: trained on other channels: {', '.join(header['channels'])}")
            spec = header["memory"]
            memory = MemorySpec(
                tuple(spec["filters_hz"]), tuple(spec["integrals_s"]), spec["hold_spikes"], spec["curvature"]
            )
            members = tuple(
                TansigNet(
                    W1=W1, b1=b1, W2=W2, b2=b2, x_o=file["x_o"], x_g=file["x_g"], x_b=x_b, y_o=y_o, y_g=y_g, y_b=y_b
                )
                for W1, b1, W2, (x_b, y_o, y_g, y_b, b2) in zip(
                    file["W1"], file["b1"], file["W2"], header["maps"], strict=True
                )
            )
            limits = header["domain"]
            domain = Domain(
                means=file["domain_means"],
                inverse_factors=file["domain_factors"],
                limit=limits["limit"],
                low=np.array(limits["low"]),
                high=np.array(limits["high"]),
                memory_s=limits["memory_s"],
            )
            return VsaNetwork(
                memory=memory, members=members, domain=domain, band=file["band"], trained_on=header["trained_on"]
            )
    except (OSError, ValueError, KeyError, TypeError, EOFError, BadZipFile) as error:
        raise ModelError(f"{source}: is no model of ours ({error})") from error


def warm_up() -> None:
    """Compile the kernels now rather than at the first sample (seconds, once; cached on disk)."""
    none, network = np.zeros((1, len(CHANNELS))), silent_network(MemorySpec())
    network.run(np.array([0.0]), none)
    network.stream().step(0.0, none[0])
