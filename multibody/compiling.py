"""numba with the settings every kernel here shares: cached, without the GIL, vectorised, and typed for mypy."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

os.environ.setdefault("NUMBA_SLP_VECTORIZE", "1")  # read when numba is imported: packs the lane kernels

import numba

F = TypeVar("F", bound=Callable[..., Any])

FAST = frozenset({"contract", "reassoc", "nsz", "arcp"})
"""Rounding may change, NaN and infinity may not be assumed away: a diverging step must be seen."""

ROOT = Path(__file__).parents[1]
_KEPT = "kernels-"


def fingerprint(root: Path) -> str:
    """Of every source under `root` that holds kernels or their tables.

    numba looks only at the file of the kernel that is called: after a change in one that it calls, it would go on
    running the old machine code. So each state of the sources has a cache of its own.
    """
    digest = hashlib.blake2b(digest_size=8)
    for folder in ("multibody", "sensors", "observers"):
        for path in sorted((root / folder).rglob("*.py")):
            source = path.read_bytes()
            if b"compiling" in source or path.stem in ("tables", "columns"):
                digest.update(source)
    return digest.hexdigest()


def _cache_folder() -> Path:
    """Beside the package's byte code where that can be written, else in the user's cache; older ones are removed."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hodograph"
    parent = Path(given) if given else ROOT / "multibody" / "__pycache__"
    try:
        parent.mkdir(parents=True, exist_ok=True)
        if not os.access(parent, os.W_OK):
            raise PermissionError(parent)
    except OSError:
        parent = home
    folder = parent / f"{_KEPT}{fingerprint(ROOT)}"
    folder.mkdir(parents=True, exist_ok=True)
    for old in set(parent.glob(f"{_KEPT}*")) - {folder}:
        shutil.rmtree(old, ignore_errors=True)
    return folder


CACHE = _cache_folder()
_config: Any = numba.config  # its attributes are made at run time
_jit: Any = numba.njit  # `_nrt` is real but not in numba's own signature
_SETTINGS: dict[str, Any] = {
    "cache": True, "nogil": True, "fastmath": set(FAST), "error_model": "numpy", "_nrt": False,
}  # fmt: skip

_NO_ENTRY: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

USER_FORCE = numba.types.void(
    numba.float64, numba.float64[::1], numba.float64[::1], numba.float64[::1], numba.float64[::1]
)
"""Signature of a user force: (t_s, q, qd, parameters, force) adds to `force`, shape (n,)."""


def _compiled(compiler: Any, function: Any) -> Any:
    """`compiler(function)` with its machine code kept in CACHE."""
    before = _config.CACHE_DIR
    _config.CACHE_DIR = str(CACHE)
    try:
        return compiler(function)
    finally:
        _config.CACHE_DIR = before


def njit(function: F) -> F:
    """Compile `function` when first called, keep the machine code on disk, release the GIL while it runs.

    Kernels allocate nothing and their callers hold the arrays, so reference counting is off: it cost more than half.
    """
    return cast(F, _compiled(_jit(**_SETTINGS), function))


def inlined(function: F) -> F:
    """The same for small kernels on hot paths: their many array arguments are not passed but merged into the caller."""
    return cast(F, _compiled(_jit(**_SETTINGS, forceinline=True), function))


def inner(function: F) -> F:
    """For kernels that only kernels call: without an entry from Python, which would take long to compile."""
    return cast(F, _compiled(_jit(**_SETTINGS, **_NO_ENTRY), function))


def inlined_inner(function: F) -> F:
    """Both: merged into the caller and without an entry from Python."""
    return cast(F, _compiled(_jit(**_SETTINGS, **_NO_ENTRY, forceinline=True), function))


def merged(function: F) -> F:
    """For kernels with one caller: never compiled by themselves, but read as part of the caller.

    Every compiled kernel is optimised again with all that it calls, so each layer of calls costs seconds.
    """
    return cast(F, _jit(**{**_SETTINGS, "cache": False}, inline="always")(function))


def user_force(function: Callable[..., None]) -> Any:
    """Compile a user force `f(t_s, q, qd, parameters, force)`; it must add to `force`, and may not allocate per call.

    The result goes into `Stepper(..., force=...)`. It runs inside the kernels, without Python and without the GIL.
    """
    return numba.cfunc(USER_FORCE)(function)


def _nothing(t_s: float, q: Any, qd: Any, parameters: Any, force: Any) -> None:
    return


NO_FORCE: Any = _compiled(numba.cfunc(USER_FORCE, cache=True), _nothing)
"""The user force of a mechanism that has none."""
