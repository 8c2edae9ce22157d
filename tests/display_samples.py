"""What a value of ours is made of, for tests of how all of it shows itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass

import numpy as np


def reached(value: object, seen: dict[int, object], *, tables: bool = True) -> None:
    """All objects of ours that `value` is made of, with or without the named tuples of kernels."""
    if id(value) in seen or isinstance(value, str | np.ndarray) or (not tables and hasattr(value, "_fields")):
        return
    parts: list[object] = []
    if is_dataclass(value) and not isinstance(value, type):
        parts = [getattr(value, field.name) for field in fields(value)]
    elif isinstance(value, tuple | list):
        parts = list(value)
    elif isinstance(value, Mapping):
        parts = list(value.values())
    if type(value).__module__.startswith("hodograph."):
        seen[id(value)] = value
    for part in parts:
        reached(part, seen, tables=tables)
