"""What an edit costs: compiling everything, and again after a line in a filter, in the tyre, in the step

CPU time of `hodograph warmup` in fresh processes on all cores, in a copy of the sources with a cache of its own.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
EDITS = {
    "a comment in the tyre": ("multibody/forces/tyre_kernels.py", "\n# nothing\n"),
    "a line in the sideslip filter": ("observers/sideslip/filter.py", "\nEDITED = 1\n"),
    "a line in the extended filters": ("observers/on_mechanism/ekf.py", "\nEDITED = 1\n"),
    "a line in the loop": ("observers/loop.py", "\nEDITED = 1\n"),
    "a line in the index-3 step": ("multibody/steps/augmented_kernels.py", "\nEDITED = 1\n"),
    "a line in the tyre": ("multibody/forces/tyre_kernels.py", "\nEDITED = 1\n"),
}


def warm(tree: Path, cache: Path) -> tuple[float, float]:
    """Wall and CPU time of `hodograph warmup` in a tree."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", "from hodograph.cli.main import app; app()", "warmup"],
        check=True, capture_output=True, env={**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(tree)},
    )  # fmt: skip
    wall_s, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def show(title: str, wall_s: float, cpu_s: float) -> None:
    """One line."""
    print(f"{title:34s} {wall_s:6.1f} s wall {cpu_s:6.1f} s CPU", flush=True)


def main() -> None:
    """Everything first, then one edit after the other, each undone again."""
    with tempfile.TemporaryDirectory() as folder:
        tree, cache = Path(folder) / "tree", Path(folder) / "cache"
        package = tree / "hodograph"
        shutil.copytree(ROOT, package, ignore=shutil.ignore_patterns(".*", "__pycache__", "*.drive", "demo_out"))
        cache.mkdir()
        show("everything, nothing on disk", *warm(tree, cache))
        show("everything on disk", *warm(tree, cache))
        for title, (file, text) in EDITS.items():
            path = package / file
            source = path.read_text(encoding="utf-8")
            path.write_text(source + text, encoding="utf-8")
            show(title, *warm(tree, cache))
            path.write_text(source, encoding="utf-8")
        print("  target: everything as long as before, <= 300 s CPU")


if __name__ == "__main__":
    main()
