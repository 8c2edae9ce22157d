"""Calling compiled code from Python, often: without asking for the types of hundreds of arrays at every call."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numba
import numpy as np

typeof: Any = numba.typeof
_ENTRIES: dict[Hashable, Callable[..., Any]] = {}


def entry_of(compiled: Any, *like: Any) -> Callable[..., Any]:
    """The machine code of a kernel for arguments of the types of `like`; anything else is returned as it is.

    numba asks every argument for its type at every call, which takes a millisecond for nested tuples of arrays, as long
    as a hundred steps. What is returned here asks nothing, so its caller must see to it that the types stay.
    """
    if not hasattr(compiled, "overloads"):
        return compiled  # type: ignore[no-any-return]
    key = (compiled, _kind(like))
    if key not in _ENTRIES:
        types = tuple(typeof(argument) for argument in like)
        compiled.compile(types)
        _ENTRIES[key] = compiled.overloads[types].entry_point
    return _ENTRIES[key]


def _kind(argument: Any) -> Hashable:
    """What decides the type that numba gives an argument, without asking numba."""
    if isinstance(argument, np.ndarray):
        f = argument.flags
        return argument.dtype.char, argument.ndim, f.c_contiguous, f.f_contiguous, f.writeable, f.aligned
    if isinstance(argument, tuple):
        return type(argument), tuple(_kind(part) for part in argument)
    if isinstance(argument, (bool, int, float, np.generic)):
        return type(argument).__name__
    kind: Hashable = typeof(argument)
    return kind
