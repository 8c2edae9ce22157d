"""Calling compiled code from Python, often: without asking for the types of hundreds of arrays at every call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

typeof: Any = numba.typeof


def entry_of(compiled: Any, *like: Any) -> Callable[..., Any]:
    """The machine code of a kernel for arguments of the types of `like`; anything else is returned as it is.

    numba asks every argument for its type at every call, which takes a millisecond for nested tuples of arrays, as long
    as a hundred steps. What is returned here asks nothing, so its caller must see to it that the types stay.
    """
    if not hasattr(compiled, "overloads"):
        return compiled  # type: ignore[no-any-return]
    types = tuple(typeof(argument) for argument in like)
    compiled.compile(types)
    entry: Callable[..., Any] = compiled.overloads[types].entry_point
    return entry
