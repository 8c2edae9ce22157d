"""Runs the named benchmarks (default: all) and puts what each printed into its section of RESULTS.md.

    python -m benchmarks            # all
    python -m benchmarks log nmea   # some
    python -m benchmarks --table    # measures nothing: the table at the top anew from the sections that are there

A benchmark is a module here with a one-line docstring (the section's title) and `main()`, which prints.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import platform
import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from benchmarks._summary import summary

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "RESULTS.md"
INTRODUCTION = """# Results

Each section is what its command printed, with the conditions it ran under; the table is read from them.
"""
LIBRARIES = ("numpy", "numba", "pyarrow", "pyproj", "pynmea2", "asammdf")


class _Tee(io.StringIO):
    """Shows what is printed while it is kept."""

    def write(self, text: str) -> int:
        sys.__stdout__.write(text)  # type: ignore[union-attr]
        sys.__stdout__.flush()  # type: ignore[union-attr]
        return super().write(text)


def conditions() -> str:
    """The machine and the versions that matter, in one line."""
    cpu = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        models = re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
        cpu = models[0] if models else cpu
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    machine = f"{cpu}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start"
    return f"{datetime.now(UTC):%Y-%m-%d}, {machine}, Python {platform.python_version()}, {libraries}"


def run(name: str) -> str:
    """The section of RESULTS.md of one benchmark, freshly measured."""
    module = importlib.import_module(f"benchmarks.{name}")
    title = (module.__doc__ or name).strip().splitlines()[0].rstrip(".")
    where = conditions()
    with contextlib.redirect_stdout(_Tee()) as printed:
        module.main()
    text = re.sub(r"[ \t]+$", "", printed.getvalue(), flags=re.MULTILINE).strip("\n")
    return f"## {title}\n\n`python -m benchmarks {name}` · {where}\n\n```\n{text}\n```\n"


def sections_of(text: str) -> list[str]:
    """The sections of RESULTS.md, without what stands before them."""
    return re.split(r"^(?=## )", text, flags=re.MULTILINE)[1:]


def put(section: str) -> None:
    """Replace the section of the same title, or add it at the end."""
    title = section.splitlines()[0]
    sections = sections_of(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []
    titles = [s.splitlines()[0] for s in sections]
    if title in titles:
        sections[titles.index(title)] = section
    else:
        sections.append(section)
    RESULTS.write_text(page(sections), encoding="utf-8")


def page(sections: Sequence[str]) -> str:
    """RESULTS.md: the table of all figures, then the sections."""
    return "\n".join(part.strip("\n") + "\n" for part in (INTRODUCTION, summary(sections), *sections))


def main(names: list[str]) -> None:
    """Run the named benchmarks, or all."""
    if names == ["--table"]:
        RESULTS.write_text(page(sections_of(RESULTS.read_text(encoding="utf-8"))), encoding="utf-8")
        return
    known = sorted(p.stem for p in FOLDER.glob("*.py") if not p.stem.startswith("_"))
    unknown = sorted(set(names) - set(known))
    if unknown:
        sys.exit(f"no benchmark {', '.join(unknown)}; there are: {', '.join(known)}")
    for name in names or known:
        print(f"--- {name}")
        put(run(name))


if __name__ == "__main__":
    main(sys.argv[1:])
