"""The page on architecture names what there is, and its pictures are those that `docs/pictures.py` draws now."""

from __future__ import annotations

import ast
import re
import runpy
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
DRAWING = ROOT / "docs" / "pictures.py"


@pytest.fixture(scope="module")
def pictures() -> dict[str, Any]:
    return runpy.run_path(str(DRAWING))


def definitions() -> set[str]:
    """Names of all functions and classes of the package."""
    sources = [path for mark in ROOT.glob("*/py.typed") for path in mark.parent.rglob("*.py")]
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in sources]
    return {n.name for tree in trees for n in ast.walk(tree) if isinstance(n, (ast.ClassDef, ast.FunctionDef))}


def test_every_file_that_it_names_is_there() -> None:
    named = set(re.findall(r"`((?:[a-z_]+/)*[a-z_]+\.(?:py|md))`", PAGE))
    assert len(named) > 15
    rooms = (ROOT, ROOT / "observers", ROOT / "observers" / "on_mechanism", ROOT / "multibody")
    assert [name for name in sorted(named) if not any((room / name).is_file() for room in rooms)] == []


def test_the_reading_list_is_about_as_long_as_it_says() -> None:
    rows = re.findall(r"^\| `(.+?)` \| (\d+) \|", PAGE, re.M) + re.findall(r"`(observers/\w+\.py)` \((\d+)\)", PAGE)
    assert len(rows) == 13
    for name, lines in rows:
        assert len((ROOT / name).read_text(encoding="utf-8").splitlines()) == pytest.approx(int(lines), rel=0.25), name
    files, total = len(rows) - 2, sum(int(lines) for _, lines in rows[:-2])
    assert f"Of these {total} lines in {files} files" in PAGE


def test_every_function_in_the_picture_of_a_step_is_there() -> None:
    functions = {
        n.name: n for n in ast.parse(DRAWING.read_text(encoding="utf-8")).body if isinstance(n, ast.FunctionDef)
    }
    called = {node.id for node in ast.walk(functions["step"]) if isinstance(node, ast.Name)}
    drawn = [function for name, function in functions.items() if name in called]
    words = {
        word
        for function in drawn
        for node in ast.walk(function)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for word in re.findall(r"\b[a-z]+_[a-z_]+\b", node.value)
    }
    assert len(words) > 25
    assert words - definitions() == set()


@pytest.mark.parametrize("name", ["rooms", "step"])
def test_the_picture_is_the_one_that_is_drawn_now(name: str, pictures: dict[str, Any]) -> None:
    svg = (ROOT / "docs" / "images" / f"architecture-{name}.svg").read_text(encoding="utf-8")
    assert pictures["state"]() in svg, "run: python -m docs.pictures"
    assert f"images/architecture-{name}.svg" in PAGE


@pytest.mark.parametrize("name", ["rooms", "step"])
def test_no_words_of_a_picture_lie_on_others_or_leave_the_page(name: str, pictures: dict[str, Any]) -> None:
    sheet = pictures[name]()
    sheet.figure.canvas.draw()
    page = sheet.figure.bbox
    said = [(text.get_text(), text.get_window_extent()) for text in sheet.axes.texts if text.get_text().strip()]
    assert len(said) > 40
    for text, extent in said:
        assert page.x0 <= extent.x0 <= extent.x1 <= page.x1, text
        assert page.y0 <= extent.y0 <= extent.y1 <= page.y1, text
    touching = [(a, b) for (a, left), (b, right) in combinations(said, 2) if left.padded(-1).overlaps(right.padded(-1))]
    assert touching == []
