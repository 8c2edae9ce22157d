"""Shapes of numbers, and checks that the parts of a vehicle share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

Vec3 = tuple[float, float, float]
Curve = tuple[tuple[float, float], ...]
FARTHEST_M = 10.0


def require_positive(what: str, value: float) -> None:
    """Raise `ValueError` when a quantity that must be positive is not."""
    if not value > 0.0:
        raise ValueError(f"{what} must be positive, got {value}")


def require_ranges(part: object, ranges: Mapping[str, tuple[float, float]]) -> None:
    """Raise `ValueError` for the first field that is given and outside of its range."""
    for name, (low, high) in ranges.items():
        value = getattr(part, name)
        if value is not None and not low <= value <= high:
            raise ValueError(f"{name} is {value}, want {low:g} to {high:g}")


def require_left(part: object) -> None:
    """Hard points (fields ending in `_m` with three numbers) must be on the left, in metres."""
    for field in fields(part):  # type: ignore[arg-type]
        value = getattr(part, field.name)
        if not (field.name.endswith("_m") and isinstance(value, tuple) and len(value) == 3):
            continue
        if max(map(abs, value)) > FARTHEST_M:
            raise ValueError(
                f"{field.name} = {list(value)} is more than {FARTHEST_M:.0f} m away: are these millimetres?"
            )
        if value[1] < 0.0:
            raise ValueError(f"{field.name} = {list(value)} lies on the right (y < 0); give the left side")
