"""Which values of which streams are the channels of a sideslip observer, and in whose axes they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from hodograph.core import Array, DataError, Frame, StreamSchema
from hodograph.core.display import short_repr
from hodograph.observers.engine import Stream
from hodograph.observers.sideslip.channels import (
    ACC_X,
    ACC_Y,
    ALSO_CALLED,
    BETA,
    BETA_CHANNEL,
    CHANNELS,
    GYRO_Z,
    ROWS,
)
from hodograph.sensors.mounting import Mount

TURNED = {ACC_X: ("acc", "mps2", 0), ACC_Y: ("acc", "mps2", 1), GYRO_Z: ("gyro", "radps", 2)}
"""Channels that are components of a vector: its name, unit, and which component in body axes."""
AXES = "xyz"
UNTURNED = Mount.body()


@dataclass(frozen=True, slots=True)
class Sources:
    """Streams by name with the names of their values, in order; mounts of those whose axes are not the body's.

    A channel is taken from the first stream that has it. `latency_s` is taken off the arrival of a stream's readings
    where they bring no stamp of their own.
    """

    streams: Mapping[str, tuple[str, ...]]
    mounts: Mapping[str, Mount] = field(default_factory=dict)
    latency_s: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        found = self.found
        absent = [name for row, name in enumerate(CHANNELS) if row not in found]
        if absent:
            known = ", ".join(sorted({n for names in self.streams.values() for n in names})) or "nothing"
            raise DataError(f"no stream has {', '.join(absent)}; name it so in the mapping. There is: {known}")
        strangers = sorted(set(self.mounts) - set(self.streams))
        if strangers:
            raise DataError(f"mount of {', '.join(strangers)}: no such stream; there are {', '.join(self.streams)}")
        if found[ACC_X] != found[ACC_Y] and (self.lever_of(found[ACC_X]) != self.lever_of(found[ACC_Y])):
            raise DataError("ax and ay come from sensors at two places; take both from one")

    @property
    def found(self) -> dict[int, str]:
        """Row of each channel → the stream it comes from."""
        return {row: stream for row in range(ROWS) if (stream := self._stream_with(row)) is not None}

    @property
    def used(self) -> tuple[str, ...]:
        """Streams that have a channel, in the order in which readings of one instant act: those that correct last."""
        found = self.found

        def rank(stream: str) -> tuple[bool, bool, str]:
            return found[GYRO_Z] == stream, found[ACC_Y] == stream, stream

        return tuple(sorted(set(found.values()), key=rank))

    def table(self) -> dict[str, Stream]:
        """The streams for the loop: their values count through all of them."""
        table, first = {}, 0
        for index, name in enumerate(self.used):
            end = first + len(self.streams[name])
            table[name] = Stream(index, first, end, self.latency_s.get(name, 0.0))
            first = end
        return table

    @property
    def weights(self) -> Array:
        """(ROWS, values of all streams): channel = weights · values."""
        table, found = self.table(), self.found
        W = np.zeros((ROWS, max(stream.end for stream in table.values())))
        for row, stream in found.items():
            for name, weight in self._parts(row, stream):
                W[row, table[stream].first + self.streams[stream].index(name)] = weight
        return W

    @property
    def lever_m(self) -> tuple[float, float]:
        """The accelerometer's place ahead and to the left of the centre of gravity."""
        return self.lever_of(self.found[ACC_Y])

    def lever_of(self, stream: str) -> tuple[float, float]:
        """Of a stream's sensor."""
        ahead, left, _ = self.mounts.get(stream, UNTURNED).from_cg_m
        return ahead, left

    def _stream_with(self, row: int) -> str | None:
        return next((s for name in names_of(row) for s, names in self.streams.items() if name in names), None)

    def _parts(self, row: int, stream: str) -> list[tuple[str, float]]:
        """Names of a stream's values and their weights in a channel."""
        names = self.streams[stream]
        if stream not in self.mounts or row not in TURNED:
            return [(next(name for name in names_of(row) if name in names), 1.0)]
        vector, unit, axis = TURNED[row]
        turn = self.mounts[stream].R_body_from_sensor[axis]
        parts = [(f"{vector}_{AXES[j]}_{unit}", float(turn[j])) for j in range(3) if abs(turn[j]) > 1e-9]
        missing = [name for name, _ in parts if name not in names]
        if missing:
            turned = self.mounts[stream].rpy_deg
            raise DataError(f"{stream}: mounted at {turned} deg it needs {', '.join(missing)}, too")
        return parts

    __repr__ = short_repr


def names_of(row: int) -> tuple[str, ...]:
    """What a channel may be called, the best name first."""
    if row == BETA:
        return (BETA_CHANNEL,)
    name = tuple(CHANNELS)[row]
    return ALSO_CALLED.get(name, (name,))


def sources_of(
    schemas: Sequence[StreamSchema], mounts: Mapping[str, Mount], *, with_beta: bool = False
) -> tuple[Sources, tuple[str, ...]]:
    """Sources among streams with units and frames, and the channels whose frame nobody stated.

    `DataError` for a sensor in axes of its own whose mount is not given. β is a reference, unless `with_beta`.
    """
    names = {s.name: tuple(n if with_beta or n != BETA_CHANNEL else f"({n})" for n in s.names) for s in schemas}
    sources = Sources(names, mounts)
    by_name, unstated = {s.name: s for s in schemas}, []
    for row, stream in sources.found.items():
        if row not in TURNED or stream in mounts:
            continue
        channel = next(c for name in names_of(row) for c in by_name[stream].channels if c.name == name)
        if channel.frame is Frame.NONE:
            unstated.append(f"{stream}.{channel.name}")
        elif channel.frame is not Frame.BODY:
            raise DataError(
                f"{stream}.{channel.name} is in axes of its {channel.frame}: say how it is mounted, "
                f"--mount {stream}=ROLL,PITCH,YAW,X,Y,Z (deg, m from the centre of gravity), or --mount {stream}=body"
            )
    return sources, tuple(unstated)
