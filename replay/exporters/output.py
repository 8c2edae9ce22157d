"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from hodograph.core import HodographError


class OutputFiles:
    """Several files written under temporary names beside their places; they move there together at a clean exit.

    Existing files are refused before anything is written, unless `overwrite`. All temporary files exist from the start
    (empty), so that a folder where nothing can be written is known before work begins; that and a full disk are a
    `HodographError`.
    """

    def __init__(self, paths: Sequence[Path], *, overwrite: bool) -> None:
        for path in paths:
            if path.is_dir():
                raise HodographError(f"{path}: is a folder; give the name of a file")
            if not path.parent.is_dir():
                raise HodographError(f"{path}: there is no folder {path.parent}; create it first")
            if path.exists() and not overwrite:
                raise HodographError(f"{path}: exists already; choose another name or overwrite it with --force")
        self._temporary = {path: _temporary_name(path) for path in paths}

    def temporary(self, path: Path) -> Path:
        """Where to write what will become `path`."""
        return self._temporary[path]

    def __enter__(self) -> OutputFiles:
        try:
            for temporary in self._temporary.values():
                temporary.touch(exist_ok=False)
        except OSError as failed:
            self._remove()
            raise self._cannot_be_written(failed) from failed
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                for path, temporary in self._temporary.items():
                    os.replace(temporary, path)
        except OSError as failed:
            raise self._cannot_be_written(failed) from failed
        finally:
            self._remove()
        if isinstance(error, OSError):
            raise self._cannot_be_written(error) from error

    def _remove(self) -> None:
        for temporary in self._temporary.values():
            with suppress(OSError):
                temporary.unlink(missing_ok=True)

    def _cannot_be_written(self, error: OSError) -> HodographError:
        names = ", ".join(str(path) for path in self._temporary)
        return HodographError(f"{names}: cannot be written: {error.strerror or error}")


def stream_path(path: Path, stream: str, suffix: str) -> Path:
    """`out.csv` → `out_imu.csv`: the file of one stream among several."""
    stem = path.name.removesuffix(path.suffix) if path.suffix.lower() == suffix else path.name
    return path.with_name(f"{stem}_{stream}{suffix}")


def _temporary_name(path: Path) -> Path:
    # The suffix stays last: some libraries insist on it.
    return path.with_name(f".{path.stem}.{secrets.token_hex(4)}.part{path.suffix}")
