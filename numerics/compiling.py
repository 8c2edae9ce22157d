"""numba with the settings every kernel here shares: cached, without the GIL, vectorised, and typed for mypy."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

os.environ.setdefault("NUMBA_SLP_VECTORIZE", "1")  # read when numba is imported: packs the lane kernels

import numba

from hodograph.numerics.cache import kept

F = TypeVar("F", bound=Callable[..., Any])

FAST = frozenset({"contract", "reassoc", "nsz", "arcp"})
"""Rounding may change, NaN and infinity may not be assumed away: a diverging step must be seen."""

_jit: Any = numba.njit  # `_nrt` is real but not in numba's own signature
_SETTINGS: dict[str, Any] = {
    "nogil": True, "fastmath": set(FAST), "error_model": "numpy", "_nrt": False,
}  # fmt: skip

_NO_ENTRY: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

USER_FORCE = numba.types.void(
    numba.float64, numba.float64[::1], numba.float64[::1], numba.float64[::1], numba.float64[::1]
)
"""Signature of a user force: (t_s, q, qd, parameters, force) adds to `force`, shape (n,)."""


def njit(function: F) -> F:
    """Compile `function` when first called, keep the machine code on disk, release the GIL while it runs.

    Kernels allocate nothing and their callers hold the arrays, so reference counting is off: it cost more than half.
    """
    return cast(F, kept(_jit(**_SETTINGS)(function), function))


def inlined(function: F) -> F:
    """The same for small kernels on hot paths: their many array arguments are not passed but merged into the caller."""
    return cast(F, kept(_jit(**_SETTINGS, forceinline=True)(function), function))


def inner(function: F) -> F:
    """For kernels that only kernels call: without an entry from Python, which would take long to compile."""
    return cast(F, kept(_jit(**_SETTINGS, **_NO_ENTRY)(function), function))


def inlined_inner(function: F) -> F:
    """Both: merged into the caller and without an entry from Python."""
    return cast(F, kept(_jit(**_SETTINGS, **_NO_ENTRY, forceinline=True)(function), function))


def merged(function: F) -> F:
    """For kernels with one caller: never compiled by themselves, but read as part of the caller.

    Every compiled kernel is optimised again with all that it calls, so each layer of calls costs seconds.
    """
    return cast(F, _jit(**_SETTINGS, inline="always")(function))


def user_force(function: Callable[..., None]) -> Any:
    """Compile a user force `f(t_s, q, qd, parameters, force)`; it must add to `force`, and may not allocate per call.

    The result goes into `Stepper(..., force=...)`. It runs inside the kernels, without Python and without the GIL. With
    NUMBA_DISABLE_JIT=1 the kernels are plain Python, and so is the force with all that it calls.
    """
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]  # numba.cfunc itself does not look
        return function
    return numba.cfunc(USER_FORCE)(function)


def _nothing(t_s: float, q: Any, qd: Any, parameters: Any, force: Any) -> None:
    return


NO_FORCE: Any = user_force(_nothing)
"""The user force of a mechanism that has none."""
