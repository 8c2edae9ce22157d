"""Writes `docs/equations.md`: which function implements which equation of which source.

    python -m docs.equations > docs/equations.md

A citation is author and year, and behind it numbers of equations, sections, tables or figures: Sanjurjo 2016, 3.46.
It may stand in a docstring, in the text under a constant, or in a comment. "Unlike" before it says that the function
does it differently. Every author and year has an entry in `docs/references.md`.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
REFERENCES = ROOT / "docs" / "references.md"
CHECKS = "tests"

_NAME = r"(?:[Vv]an (?:der )?)?[A-ZÄÖÜ][\w'’]+(?:-[A-ZÄÖÜ]\w+)?"
_NUMBER = r"\d+(?:\.\d+)*[a-z]?(?:-\d+(?:\.\d+)*[a-z]?)?"
_PART = rf"(?:(?:sections?|ch\.|[Tt]ables?|figures?) {_NUMBER}|appendix [A-Z]|{_NUMBER}(?![\w(]))"
CITATION = re.compile(
    rf"(?<![\w-])([Uu]nlike )?({_NAME}(?: et al\.| (?:and|&) {_NAME})?) ((?:19|20)\d\d|n\.d\.)(?!\w)"
    rf"(?:, ({_PART}(?:(?:, | and ){_PART})*))?"
)
MONTHS = frozenset(
    "January February March April May June July August September October November December".split()  # noqa: SIM905
)

INTRODUCTION = """# Index of equations

<!-- Written by `python -m docs.equations`; change the docstrings and comments instead. -->

Which function implements which equation. The sources, and where they are misprinted: [references](references.md).
Numbers are those of the source; (otherwise) means that the function does it in another way, and says why.
"""


@dataclass(frozen=True, slots=True)
class Citation:
    """One equation, section or table of a source, or the source as a whole (`part` empty), and who cites it."""

    source: str
    part: str
    place: str
    summary: str


@dataclass(frozen=True, slots=True)
class _Place:
    """Lines of a definition, its dotted name, and the first sentence of its docstring."""

    first: int
    last: int
    name: str
    summary: str


def page(root: Path = ROOT) -> str:
    """The whole page."""
    built: list[Citation] = []
    checked: list[Citation] = []
    for path in sources(root):
        (checked if path.relative_to(root).parts[0] == CHECKS else built).extend(citations(path, root))
    parts = [INTRODUCTION]
    for source in sorted({c.source for c in built if c.part}):
        parts += [f"## {source}\n", *_table([c for c in built if c.source == source and c.part])]
    parts += ["## Methods cited as a whole\n", *_table([c for c in built if not c.part], whole=True)]
    parts += ["## Checked by tests\n", *_table(checked, whole=True)]
    return "\n".join(parts)


def sources(root: Path = ROOT) -> list[Path]:
    """Our Python, tests included."""
    folders = [mark.parent for mark in root.glob("*/py.typed")]
    folders += [root / name for name in (CHECKS, "benchmarks", "examples")]
    return sorted(path for folder in folders for path in folder.rglob("*.py") if "__pycache__" not in path.parts)


def citations(path: Path, root: Path = ROOT) -> Iterator[Citation]:
    """All citations of a source, in its order."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    places = list(_places(tree, ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")))
    for line, said in sorted([*_texts(tree), *_comments(text)]):
        for source, part in cited(said):
            # the smallest definition around it; a constant has no docstring, so its own comment tells
            place = min((p for p in places if p.first <= line <= p.last), key=lambda p: p.last - p.first)
            yield Citation(source, part, place.name, place.summary or _sentence(said))


def cited(text: str) -> list[tuple[str, str]]:
    """(source, part) of all citations in a text, lists taken apart; the part is empty for a source as a whole."""
    found = []
    for match in CITATION.finditer(" ".join(text.split())):
        unlike, authors, year, parts = match.groups()
        if authors in MONTHS:
            continue
        for part in re.split(r", | and ", parts) if parts else [""]:
            found.append((f"{authors} {year}", f"{part} (otherwise)" if unlike and part else part))
    return found


def listed(references: str) -> list[str]:
    """The sources that the page of references has entries for: author and year, bold, at the start of a line."""
    return [
        entry.removesuffix(".") if entry[-2].isdigit() else entry
        for entry in re.findall(r"^\*\*(.+?)\*\*", references, re.M)
    ]


def _places(node: ast.AST, name: str) -> Iterator[_Place]:
    """The module, its classes, functions and constants, each with its lines."""
    last = getattr(node, "end_lineno", None) or 10**9
    documented = isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
    summary = _sentence(ast.get_docstring(node) or "") if documented else ""  # type: ignore[arg-type]
    yield _Place(getattr(node, "lineno", 1), last, name, summary)
    body = getattr(node, "body", []) if documented else []
    for child, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(child, (ast.ClassDef, ast.FunctionDef)):
            yield from _places(child, f"{name}.{child.name}")
        elif isinstance(child, (ast.Assign, ast.AnnAssign)) and not isinstance(node, ast.FunctionDef):
            target = child.targets[0] if isinstance(child, ast.Assign) else child.target
            end = after.end_lineno if after is not None and _is_text(after) else child.end_lineno
            yield _Place(child.lineno, end or child.lineno, f"{name}.{ast.unparse(target).strip('()')}", "")


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Docstrings, and the texts under constants."""
    for node in ast.walk(tree):
        if _is_text(node):
            yield node.lineno, node.value.value  # type: ignore[attr-defined]


def _comments(text: str) -> Iterator[tuple[int, str]]:
    """Comments, those that fill lines one below the other as one."""
    begin, last, said = 0, 0, ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT:
            continue
        alone = not token.line[: token.start[1]].strip()
        line, comment = token.start[0], token.string.lstrip("# ")
        if said and alone and line == last + 1:
            said, last = f"{said} {comment}", line
            continue
        if said:
            yield begin, said
        begin, last, said = line, line if alone else -1, comment
    if said:
        yield begin, said


def _sentence(text: str) -> str:
    """The first sentence of a text, without its citations."""
    first = " ".join(text.split("\n\n")[0].split())
    kept = re.sub(rf" ?\([^()]*{CITATION.pattern}[^()]*\)", "", first)
    return re.split(r"(?<=[^.])\.(?: |$)", kept)[0].strip()


def _table(found: list[Citation], *, whole: bool = False) -> Iterator[str]:
    yield ("| source | where | what |\n|---|---|---|" if whole else "| equation | where | what |\n|---|---|---|")
    for c in sorted(
        dict.fromkeys(found), key=lambda c: ((c.source, *_order(c.part)) if whole else _order(c.part), c.place)
    ):
        said = f"{c.source}, {c.part}".removesuffix(", ") if whole else c.part
        yield f"| {said} | `{c.place}` | {c.summary.replace('|', chr(92) + '|')} |"
    yield ""


def _order(part: str) -> tuple[bool, list[int]]:
    """Equations by their number, then sections, tables and figures."""
    return not part[:1].isdigit(), [int(number) for number in re.findall(r"\d+", part)]


if __name__ == "__main__":
    print(page(), end="")
