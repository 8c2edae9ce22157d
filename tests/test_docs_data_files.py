"""The reference of data files is the one that the dataclasses make, and has every key."""

from __future__ import annotations

import runpy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def generator() -> dict[str, Any]:
    return runpy.run_path(str(DOCS / "data_files.py"))


def test_the_page_is_up_to_date(generator: dict[str, Any]) -> None:
    written = (DOCS / "data-files.md").read_text(encoding="utf-8")
    assert written == generator["page"](), "run: python -m docs.data_files > docs/data-files.md"


def test_every_key_of_the_shipped_files_is_on_it() -> None:
    import tomllib

    page = (DOCS / "data-files.md").read_text(encoding="utf-8")

    def keys(table: dict[str, Any]) -> set[str]:
        inner = [keys(value) for value in table.values() if isinstance(value, dict)]
        return set(table).union(*inner)

    for path in (DOCS.parent / "vehicles").glob("*.toml"):
        for key in keys(tomllib.loads(path.read_text(encoding="utf-8"))):
            assert f"| `{key}` |" in page, key


def test_a_key_without_meaning_is_refused(generator: dict[str, Any]) -> None:
    @dataclass
    class Part:
        """A part."""

        mass_kg: float

    with pytest.raises(ValueError, match=r"Part\.mass_kg has no comment"):
        list(generator["_section"](Part))


def test_comments_behind_and_above_are_meanings(generator: dict[str, Any]) -> None:
    source = 'class A:\n    a: int  # one\n    # two,\n    # and more\n    b: str = "# no"\n    c: str = "x"  # three\n'
    assert generator["_comments"](source) == {"a": "one", "b": "two, and more", "c": "three"}
