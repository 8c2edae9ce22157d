"""The Python in the pages about models and observers runs as it stands there, page by page from top to bottom."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGES = ("vehicles", "multibody", "observers", "architecture")

INCOMPLETE = {
    "observer.predict_to(t_ns)": "shows the three calls of any observer",
    'vehicle = read_vehicle("my_car.toml")': "reads the reader's own file",
    "log = LogReader(": "reads the reader's own log",
    "@user_force": "goes on with the reader's own model; its imports stand in the text",
}
"""Blocks that are not meant to run, by a line of theirs, and why."""


def blocks(page: str) -> list[str]:
    """The fenced Python of a page."""
    return re.findall(r"^```python\n(.*?)^```", (DOCS / f"{page}.md").read_text(encoding="utf-8"), re.S | re.M)


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "page"}
    found = blocks(page)
    whole = [block for block in found if not any(line in block for line in INCOMPLETE)]
    assert whole, f"{page}.md has no block that runs"
    for block in whole:
        exec(compile(block, f"{page}.md", "exec"), names)


def test_every_exception_is_there() -> None:
    text = "".join(block for page in PAGES for block in blocks(page))
    assert [line for line in INCOMPLETE if line not in text] == []


@pytest.mark.parametrize("page", PAGES)
def test_also_what_does_not_run_is_python(page: str) -> None:
    for block in blocks(page):
        compile(block, f"{page}.md", "exec")
