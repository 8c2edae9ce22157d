"""One meaning per name: no two classes of the package are called the same."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]


def classes(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef):
            yield node.name


def homes(root: Path) -> dict[str, list[str]]:
    """Where each class name is defined, in the folders that install."""
    found: dict[str, list[str]] = defaultdict(list)
    for mark in sorted(root.glob("*/py.typed")):
        for path in sorted(mark.parent.rglob("*.py")):
            for name in classes(path.read_text(encoding="utf-8")):
                found[name].append(str(path.relative_to(root)))
    return found


def test_no_two_classes_have_one_name() -> None:
    found = homes(ROOT)
    assert len(found) > 200
    assert {name: where for name, where in found.items() if len(where) > 1} == {}


def test_a_second_class_of_a_name_is_seen(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "py.typed").touch()
    (tmp_path / "a" / "x.py").write_text("class Row: ...\n")
    (tmp_path / "b" / "y.py").write_text("def f():\n    class Row: ...\n")
    assert homes(tmp_path)["Row"] == ["a/x.py", "b/y.py"]
