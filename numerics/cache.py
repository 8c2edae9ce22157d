"""Machine code on disk, kept per module under a key of all the sources it was made of.

numba looks only at the file of the kernel that is called: after a change in one that it calls, it would go on running
the old machine code. So each module has a folder `<module>-<key>`, and the key covers its own source and those of the
modules of ours that it imports, transitively. Comments, docstrings and layout are no part of it. A key is content: two
processes and two checkouts may share the folders.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import os
import pickle
import shutil
import time
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numba

ROOT = Path(__file__).parents[1]
PACKAGE = "hodograph"
KEPT_STATES = 8
"""Of one module; older ones go, when they are a day old."""
KEPT_DAYS = 30
_DAY_S = 86400.0
_NO_CODE = frozenset({f"{PACKAGE}.numerics.cache"})
"""Imported by kernels, yet nothing of it gets into them."""
_UNREADABLE = (EOFError, pickle.UnpicklingError, AttributeError, ImportError)
"""What an index raises that was cut short by a pulled plug, or that names a class which is no longer where it was."""
_SETTINGS = ("SLP_VECTORIZE", "LOOP_VECTORIZE", "OPT", "BOUNDSCHECK", "DEBUGINFO", "CPU_NAME", "CPU_FEATURES")


def _cache_folder() -> Path:
    """Where NUMBA_CACHE_DIR says, else beside the package's byte code, else in the user's cache."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    parent = Path(given) if given else ROOT / "numerics" / "__pycache__"
    try:
        parent.mkdir(parents=True, exist_ok=True)
        if not os.access(parent, os.W_OK):
            raise PermissionError(parent)
    except OSError:
        parent = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / PACKAGE
    folder = parent / "kernels"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


CACHE = _cache_folder()


def module_name(path: Path, root: Path = ROOT) -> str:
    """Dotted name of a source under `root`; the stem of any other file."""
    path = path.resolve()
    if not path.is_relative_to(root.resolve()):
        return path.stem
    parts = path.relative_to(root.resolve()).with_suffix("").parts
    return ".".join((PACKAGE, *(parts[:-1] if parts[-1] == "__init__" else parts)))


def content_key(path: Path, root: Path = ROOT) -> str:
    """Of the source at `path`, of all that it imports from under `root`, and of the compiler."""
    digest = hashlib.blake2b(_compiler().encode(), digest_size=8)
    for name, source in sorted(_closure(path, root).items()):
        if name not in _NO_CODE:
            digest.update(f"{name} {_own_digest(source)}".encode())
    return digest.hexdigest()


def tree_key(root: Path = ROOT) -> str:
    """Of every source under `root` that compiles something, with all that those import."""
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(path for mark in root.glob("*/py.typed") for path in mark.parent.rglob("*.py")):
        if b"njit" in path.read_bytes():
            digest.update(content_key(path, root).encode())
    return digest.hexdigest()


def _closure(path: Path, root: Path) -> dict[str, Path]:
    """Module name → source, of `path` and all that it imports from the package."""
    found: dict[str, Path] = {}
    waiting = [path]
    while waiting:
        source = waiting.pop()
        name = module_name(source, root)
        if name not in found:
            found[name] = source
            waiting += [p for p in (_source_of(i, root) for i in _own_imports(source)) if p is not None]
    return found


def _source_of(imported: str, root: Path) -> Path | None:
    """The file of `package.module` or of the module that holds `package.module.name`."""
    parts = imported.split(".")[1:]
    for names in (parts, parts[:-1]):
        base = root.joinpath(*names)
        for path in (base.with_suffix(".py"), base / "__init__.py"):
            if names and path.is_file():
                return path
    return None


def _own_digest(path: Path) -> str:
    return _parsed(path, path.stat().st_mtime_ns)[0]


def _own_imports(path: Path) -> tuple[str, ...]:
    return _parsed(path, path.stat().st_mtime_ns)[1]


@cache
def _parsed(path: Path, changed_ns: int) -> tuple[str, tuple[str, ...]]:
    """Digest of the code alone, and what it imports of ours when it is loaded."""
    tree = ast.parse(path.read_bytes())
    imports = tuple(_imported(tree))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            node.body = [part for part in node.body if not _is_text(part)]
    return hashlib.blake2b(ast.dump(tree).encode(), digest_size=16).hexdigest(), imports


def _is_text(node: ast.stmt) -> bool:
    """A docstring, of a function or under a constant: a text that nothing reads."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _imported(node: ast.AST) -> list[str]:
    """`package.module.name` for all that is imported while a module loads; types alone and functions' own left out."""
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{a.name}" for a in node.names] if (node.module or "").startswith(PACKAGE) else []
    if isinstance(node, ast.Import):
        return [a.name for a in node.names if a.name.startswith(PACKAGE)]
    if isinstance(node, (ast.FunctionDef, ast.Lambda)):
        return []
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return []
    return [name for child in ast.iter_child_nodes(node) for name in _imported(child)]


def _compiler() -> str:
    settings = [f"{name}={getattr(numba.config, name, None)}" for name in _SETTINGS]
    return " ".join((numba.__version__, llvmlite.__version__, _cpu(), *settings))


@cache
def _cpu() -> str:
    return str(llvm.get_host_cpu_name())


def kept(compiled: Any, function: Any) -> Any:
    """`compiled`, numba's dispatcher or callback of `function`, with its machine code kept in CACHE.

    Nothing is kept of what has no source file (a prompt, a notebook): a change there would go unseen.
    """
    source = Path(function.__code__.co_filename)
    if not hasattr(compiled, "enable_caching") or not source.is_file():
        return compiled
    try:
        compiled._cache = _cache_of(function, source)
    except (ImportError, AttributeError, TypeError):
        _keep_by_tree(compiled)
    return compiled


def _keep_by_tree(compiled: Any) -> None:
    """For a numba whose insides are not those we know: its own cache, in a folder for this state of all sources."""
    config: Any = numba.config
    before = config.CACHE_DIR
    config.CACHE_DIR = str(CACHE / f"all-{tree_key()}")
    try:
        compiled.enable_caching()
    finally:
        config.CACHE_DIR = before


def _cache_of(function: Any, source: Path) -> Any:
    key = content_key(source)
    folder = CACHE / f"{module_name(source)}-{key}"
    with contextlib.suppress(OSError):
        os.utime(folder)  # so it counts as in use
    return _cache_class()(function, folder, key)


def _forget_old(folder: Path) -> None:
    """Of the states of one module keep the newest few; what was used today stays in any case."""
    module = folder.name.rpartition("-")[0]
    now_s = time.time()
    ages_s = {}
    for path in CACHE.glob(f"{module}-*"):
        if path.name.rpartition("-")[0] == module:
            with contextlib.suppress(OSError):
                ages_s[path] = now_s - path.stat().st_mtime
    for rank, path in enumerate(sorted(ages_s, key=ages_s.__getitem__)):
        if ages_s[path] > (_DAY_S if rank >= KEPT_STATES else KEPT_DAYS * _DAY_S):
            shutil.rmtree(path, ignore_errors=True)


@cache
def _cache_class() -> Any:
    """numba's cache with our folders, and files that two processes may write at once."""
    caching: Any = import_module("numba.core.caching")

    class Locator(caching._CacheLocator):  # type: ignore[misc]
        def __init__(self, folder: Path, key: str) -> None:
            self._folder, self._key = folder, key

        def get_cache_path(self) -> str:
            return str(self._folder)

        def ensure_cache_path(self) -> None:
            if not self._folder.is_dir():
                self._folder.mkdir(parents=True, exist_ok=True)
                _forget_old(self._folder)

        def get_source_stamp(self) -> str:
            return self._key

        def get_disambiguator(self) -> str:  # numba's own is the line, which a comment moves
            return "kernel"

    class Files(caching.IndexDataCacheFile):  # type: ignore[misc]
        def save(self, key: Any, data: Any) -> None:
            # Numbered as numba does it, two processes could give one number to two signatures.
            name = self._data_name(int(hashlib.blake2b(self._dump(key), digest_size=6).hexdigest(), 16))
            self._save_data(name, data)
            self._save_index({**self._load_index(), key: name})

        def load(self, key: Any) -> Any:
            try:
                return super().load(key)
            except _UNREADABLE:
                return None

        def _load_index(self) -> dict[Any, str]:
            try:
                return dict(super()._load_index())
            except _UNREADABLE:
                return {}

    class ModuleCache(caching.FunctionCache):  # type: ignore[misc]
        def __init__(self, function: Any, folder: Path, key: str) -> None:
            locator = Locator(folder, key)
            finder = type("Finder", (), {"from_function": staticmethod(lambda *_: locator)})
            self._impl_class = type("Implementation", (caching.CompileResultCacheImpl,), {"_locator_classes": [finder]})
            super().__init__(function)
            self._cache_file = Files(str(folder), self._impl.filename_base, key)

    return ModuleCache
