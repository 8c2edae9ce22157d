"""What an importer makes of foreign files, before it becomes a log."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hodograph.acquisition.log.events import Event
from hodograph.core import StreamData
from hodograph.core.display import short_repr


@dataclass(frozen=True, slots=True)
class RawData:
    """Raw bytes of one source as they stood in the file: `chunks[i]` belongs to `t_ns[i]`, (n,) non-decreasing."""

    name: str
    t_ns: NDArray[np.int64]
    chunks: Sequence[bytes]
    description: str = ""

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class Imported:
    """Streams, raw bytes and events of a recording, all on one clock; `report` is what `--json` adds."""

    streams: tuple[StreamData, ...]
    clock: str
    raw: tuple[RawData, ...] = ()
    events: tuple[Event, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict)
    vehicle_toml: str | None = None
    report: Mapping[str, object] = field(default_factory=dict)

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What the user said on the command line; an importer refuses what it cannot honour.

    `on_bytes(done, total)` is told about progress; `fix` allows repairs (sorting time, dropping torn rows).
    """

    mapping: Path | None = None
    accept_missing_checksum: bool = False
    fix: bool = False
    on_bytes: Callable[[int, int], None] | None = None


Importer: TypeAlias = Callable[[Sequence[Path], ImportOptions], Imported]
