"""The table at the top of RESULTS.md is what its sections say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RESULTS = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
CODE = (
    "import sys; from benchmarks.__main__ import page, sections_of; print(page(sections_of(sys.stdin.read())), end='')"
)
SAMPLE = """# Results

An old table.

## The log

`python -m benchmarks log` · one day, some machine

```
                     write s  (MB/s)   size MB  read as Arrow s  read as numpy s
.drive                  1.23     247       325             0.20             0.62
Parquet (pyarrow)       1.60     189       345                              0.34
targets: write >= 100 MB/s, Arrow <= 0.5 s, numpy <= 2 s
```

## Multibody core

`python -m benchmarks multibody` · one day, some machine

```
fourbar                                  0.69     0.69  <= 1.0
fourbar_vs_exudyn: 25.44 times faster (target >= 25)
  compile of what a simulation needs, cold       38.5 s wall   38.7 s CPU
  compile of everything else, cold               95.3 s wall   95.5 s CPU
  targets: simulation <= 45 s wall, everything <= 180 s CPU, cached start <= 2 s
```
"""


def page_of(results: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", CODE], cwd=ROOT, input=results, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


def rows(results: str) -> dict[str, list[str]]:
    """what → figure, goal, verdict, command."""
    lines = page_of(results).split("\n## ")[0].splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    return {row[0]: row[1:] for row in cells[1:]}


def test_the_table_is_that_of_the_sections() -> None:
    assert page_of(RESULTS) == RESULTS, "say `python -m benchmarks --table`"
    assert "not found" not in RESULTS
    assert len(rows(RESULTS)) > 30


def test_what_a_section_calls_missed_is_missed_in_the_table() -> None:
    missed = [what for what, row in rows(RESULTS).items() if row[2] == "**missed**" and "sideslip" in what]
    assert len(missed) == len(re.findall(r" MISSED$", RESULTS, re.MULTILINE))


@pytest.mark.parametrize(
    ("old", "new", "what", "cells"),
    [
        ("", "", "step of the four-bar, median", ["0.69 µs", "≤ 1.0", "reached"]),
        ("0.69 ", "1.01 ", "step of the four-bar, median", ["1.01 µs", "≤ 1.0", "**missed**"]),
        ("", "", "step of the four-bar, times as fast as exudyn", ["25.44", "≥ 25", "reached"]),
        ("25.44", "24.99", "step of the four-bar, times as fast as exudyn", ["24.99", "≥ 25", "**missed**"]),
        (">= 100 MB", ">= 300 MB", "log, 40 channels at 500 Hz: write", ["247 MB/s", "≥ 300", "**missed**"]),
        (" 95.5 s CPU", "195.5 s CPU", "compiling everything, CPU time", ["234.2 s", "≤ 180", "**missed**"]),
        ("   0.20  ", "   fast  ", "log, one hour: read as Arrow", ["**not found**", "≤ 0.5", ""]),
        ("Arrow <= 0.5 s", "Arrow soon", "log, one hour: read as Arrow", ["0.20 s", "**not found**", ""]),
    ],
)
def test_the_table_follows_its_sections(old: str, new: str, what: str, cells: list[str]) -> None:
    assert rows(SAMPLE.replace(old, new, 1) if old else SAMPLE)[what][:3] == cells


def test_the_old_table_goes_and_a_benchmark_that_was_not_run_has_no_row() -> None:
    assert "An old table" not in page_of(SAMPLE)
    assert {row[3] for row in rows(SAMPLE).values()} == {
        "`python -m benchmarks log`",
        "`python -m benchmarks multibody`",
    }
