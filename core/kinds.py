"""What is told when something comes in a kind that nobody knows."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from types import UnionType
from typing import TypeVar, get_args

E = TypeVar("E", bound=StrEnum)


def unknown_kind(what: str, got: object, known: UnionType | Iterable[object]) -> ValueError:
    """The error to raise where a kind has no branch; `known` are the classes of a union, or values by themselves."""
    classes = get_args(known) if isinstance(known, UnionType) else known
    return ValueError(f"{what}: kind {_spelled(got)} is not known; there are {', '.join(map(_spelled, classes))}")


def member(cls: type[E], value: str) -> E:
    """The member of an enumeration that `value` is or spells."""
    try:
        return cls(value)
    except ValueError:
        raise unknown_kind(cls.__name__, value, cls) from None


def _spelled(kind: object) -> str:
    """The `kind` of a dataclass or of one of its values, else the name of a class, else the value itself."""
    if isinstance(kind, str | int | float):
        return str(kind)
    cls = kind if isinstance(kind, type) else type(kind)
    defaults = getattr(cls, "__dataclass_fields__", {})
    return str(defaults["kind"].default) if "kind" in defaults else cls.__name__
