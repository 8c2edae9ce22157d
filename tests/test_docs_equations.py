"""The index of equations is the one that the sources make, and every source that is cited has an entry."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
BUILT = {"build", "dist", "site", "demo_out"}
LEFT_OUT = {"equations.md", "references.md", Path(__file__).name}
INNER_NUMBER = "seed" + " 00"
"""How the documents were once counted; nobody knows them by that."""


@pytest.fixture(scope="module")
def generator() -> dict[str, Any]:
    return runpy.run_path(str(DOCS / "equations.py"))


def texts() -> list[Path]:
    """Everything of ours that is read by people, but for this test and what lists citations."""
    rooms = [
        ROOT,
        *(path for path in ROOT.iterdir() if path.is_dir() and path.name not in BUILT and path.name[0] != "."),
    ]
    found = [path for room in rooms for path in (room.glob("*") if room == ROOT else room.rglob("*"))]
    return sorted(p for p in found if p.suffix in (".py", ".md", ".toml") and p.name not in LEFT_OUT)


def test_the_page_is_up_to_date(generator: dict[str, Any]) -> None:
    written = (DOCS / "equations.md").read_text(encoding="utf-8")
    assert written == generator["page"](), "run: python -m docs.equations > docs/equations.md"


def test_every_cited_source_has_an_entry_and_every_entry_is_cited(generator: dict[str, Any]) -> None:
    found: dict[str, str] = {}
    for path in texts():
        for source, _ in generator["cited"](re.sub(r"(?m)^\s*#+", "", path.read_text(encoding="utf-8"))):
            found.setdefault(source, str(path.relative_to(ROOT)))
    listed = generator["listed"]((DOCS / "references.md").read_text(encoding="utf-8"))
    assert {source: path for source, path in found.items() if source not in listed} == {}
    assert [source for source in listed if source not in found] == []


def test_sources_are_named_by_author_and_year() -> None:
    named = [
        str(path.relative_to(ROOT)) for path in texts() if INNER_NUMBER in path.read_text(encoding="utf-8").lower()
    ]
    assert named == []


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("(Sanjurjo 2016, 3.46)", [("Sanjurjo 2016", "3.46")]),
        ("as in Simeon 1996, 12a, 13. Two", [("Simeon 1996", "12a"), ("Simeon 1996", "13")]),
        ("Magri\n    2024, figures 60-65 (one)", [("Magri 2024", "figures 60-65")]),
        ("Sanjurjo 2016, 3.38 and section 4.2; 7", [("Sanjurjo 2016", "3.38"), ("Sanjurjo 2016", "section 4.2")]),
        ("Unlike Carpinelli 2014, 3.29, this", [("Carpinelli 2014", "3.29 (otherwise)")]),
        ("Van der Merwe and Wan 2001, with all", [("Van der Merwe and Wan 2001", "")]),
        ("Hirschberg et al. 2007.", [("Hirschberg et al. 2007", "")]),
        ("Bae n.d., section 5", [("Bae n.d.", "section 5")]),
        ("a drive of July 2025, from 2014 Targa", []),
        ("Sanjurjo 2016, 2 of them (5.3)", [("Sanjurjo 2016", "2")]),
    ],
)
def test_citations_are_read(generator: dict[str, Any], text: str, wanted: list[tuple[str, str]]) -> None:
    assert generator["cited"](text) == wanted


def test_a_citation_belongs_to_the_smallest_definition_around_it(generator: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "room" / "part.py"
    path.parent.mkdir()
    path.write_text(
        '"""All of it. Knuth 1970."""\n'
        "SIZE = 3  # of a table (Knuth 1971)\n"
        "DEPTH = 2\n"
        '"""How deep, after Knuth 1972, 2.1."""\n'
        "class Tree:\n"
        '    """A tree.\n\n    Knuth 1973, 1.\n    """\n'
        "    def grow(self):\n"
        '        """By one (Knuth 1974, 3). And more."""\n'
        "        # two lines of Knuth\n"
        "        # 1975, 4.5\n"
        '        return "Knuth 1976"\n',
        encoding="utf-8",
    )
    found = [(c.source[-4:], c.part, c.place, c.summary) for c in generator["citations"](path, tmp_path)]
    assert found == [
        ("1970", "", "room.part", "All of it"),
        ("1971", "", "room.part.SIZE", "of a table"),
        ("1972", "2.1", "room.part.DEPTH", "How deep, after Knuth 1972, 2.1"),
        ("1973", "1", "room.part.Tree", "A tree"),
        ("1974", "3", "room.part.Tree.grow", "By one"),
        ("1975", "4.5", "room.part.Tree.grow", "By one"),
    ]
