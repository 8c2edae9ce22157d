"""Shapes of code that a reader can follow, in the folders of the estimators: named places, few arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("observers", "sensors", "ann")
DECORATORS = {"njit", "inlined", "inner", "inlined_inner", "merged"}
HIGHEST_BARE_INDEX = 2
MOST_ARGUMENTS = 10
MOST_POSITIONS = 4


def sources() -> list[Path]:
    return [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]


def bare_indices(tree: ast.AST) -> Iterator[tuple[int, int]]:
    """(line, index) of constants of three and more that index an array in a compiled function."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        if not any(isinstance(d, ast.Name) and d.id in DECORATORS for d in function.decorator_list):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Subscript):
                parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
                for part in parts:
                    if isinstance(part, ast.Constant) and type(part.value) is int and part.value > HIGHEST_BARE_INDEX:
                        yield node.lineno, part.value


def many_arguments(tree: ast.AST) -> Iterator[tuple[int, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            count = len(node.args.posonlyargs) + len(node.args.args) + len(node.args.kwonlyargs)
            if count > MOST_ARGUMENTS:
                yield node.lineno, count


def positional_construction(tree: ast.AST, classes: set[str]) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in classes:
            plain = [a for a in node.args if not isinstance(a, ast.Starred)]
            if len(plain) > MOST_POSITIONS:
                yield node.lineno, node.func.id


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


CLASSES = {node.name for path in sources() for node in ast.walk(parsed(path)) if isinstance(node, ast.ClassDef)}


@pytest.mark.parametrize("path", sources(), ids=lambda p: str(p.relative_to(ROOT)))
def test_a_reader_can_follow(path: Path) -> None:
    tree = parsed(path)
    assert not list(bare_indices(tree)), "an index of three or more has a name"
    assert not list(many_arguments(tree)), f"more than {MOST_ARGUMENTS} arguments"
    assert not list(positional_construction(tree, CLASSES)), f"more than {MOST_POSITIONS} fields by position"


def test_the_rules_catch_what_they_should() -> None:
    tree = ast.parse(
        "@njit\ndef f(p):\n    return p[2] + p[3] + p[0, 25]\n"
        "def g(a, b, c, d, e, f, g, h, i, j, k): pass\n"
        "Thing(1, 2, 3, 4, 5)\nThing(1, 2, 3, 4, x=5)\n"
    )
    assert sorted(index for _, index in bare_indices(tree)) == [3, 25]
    assert [count for _, count in many_arguments(tree)] == [11]
    assert [line for line, _ in positional_construction(tree, {"Thing"})] == [5]
