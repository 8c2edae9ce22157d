"""A stretch of one stream as columns: what importers make, logs store and exporters take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hodograph.core.channel import StreamSchema
from hodograph.core.display import cut, listed, spanned

NO_SENSOR_TIME_NS = np.iinfo(np.int64).min  # stands for "this row has no sensor stamp" in `t_sensor_ns`


@dataclass(frozen=True, slots=True, eq=False)
class StreamData:
    """Rows of one stream: `t_ns` (n,) int64, non-decreasing; `columns` maps each channel of the schema to (n,).

    `t_sensor_ns` is None when no row has a sensor stamp; single missing stamps are NO_SENSOR_TIME_NS. NaN in a column
    means that the sensor did not say.
    """

    schema: StreamSchema
    t_ns: NDArray[np.int64]
    columns: Mapping[str, NDArray[np.float64] | NDArray[np.float32]]
    t_sensor_ns: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        if tuple(self.columns) != self.schema.names:
            raise ValueError(
                f"stream {self.schema.name}: columns {', '.join(self.columns)}, want {', '.join(self.schema.names)}"
            )
        shape = self.t_ns.shape
        if len(shape) != 1 or any(c.shape != shape for c in self.columns.values()):
            raise ValueError(f"stream {self.schema.name}: columns differ in length")
        if self.t_sensor_ns is not None and self.t_sensor_ns.shape != shape:
            raise ValueError(f"stream {self.schema.name}: t_sensor_ns has {self.t_sensor_ns.shape}, want {shape}")

    def __len__(self) -> int:
        return int(self.t_ns.shape[0])

    def __repr__(self) -> str:
        return f"StreamData({cut(self.schema.name)}: {spanned(self.t_ns)}; {listed(self.schema.names)})"

    def __getitem__(self, channel: str) -> NDArray[np.float64] | NDArray[np.float32]:
        """The column of `channel`, (n,)."""
        return self.columns[channel]
