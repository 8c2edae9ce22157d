"""Which machine code survives an edit: that of every module which the edited code is no part of."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hodograph.numerics import cache
from hodograph.numerics.cache import ROOT, content_key, module_name, tree_key

FOLDERS = ("core", "vehicles", "numerics", "multibody", "sensors", "observers")
TINY = '''
"""A kernel and its helper."""
from hodograph.numerics.compiling import njit
from hodograph.helper import FACTOR, scaled

@njit
def twice(x):
    """Doc."""
    return scaled(x) * 2.0

if __name__ == "__main__":
    print(twice(1.5), sum(twice.stats.cache_hits.values()), len(twice.stats.cache_misses))
'''
HELPER = '''
"""A helper."""
from hodograph.numerics.compiling import inner
FACTOR = 3.0

@inner
def scaled(x):
    """Doc."""
    return FACTOR * x
'''

FILTERS = "observers.on_mechanism"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def keys(root: Path) -> dict[str, str]:
    sources = [path for folder in FOLDERS for path in (root / folder).rglob("*.py")]
    return {
        module_name(path, root): content_key(path, root)
        for path in sources
        if b"numerics.compiling" in path.read_bytes()
    }


def changed_by(root: Path, module: str, edit: Callable[[str], str]) -> set[str]:
    """Modules whose key is another after `edit` of the source of `module`."""
    before = keys(root)
    path = root / (module.replace(".", "/") + ".py")
    text = path.read_text(encoding="utf-8")
    assert edit(text) != text
    path.write_text(edit(text), encoding="utf-8")
    after = keys(root)
    assert set(after) == set(before)
    return {name.removeprefix("hodograph.") for name in after if after[name] != before[name]}


def code(text: str) -> str:
    return text + "\n\nADDED_M = 1.0\n"


def test_a_copy_of_the_tree_has_the_same_keys(tree: Path) -> None:
    assert keys(tree) == keys(ROOT)
    assert len(set(keys(tree).values())) == len(keys(tree)) > 20


def test_comments_docstrings_and_layout_cost_nothing(tree: Path) -> None:
    def remarked(text: str) -> str:
        return "# A remark.\n" + text.replace("\n\n\n", "\n# Another.\n\n\n")

    whole = tree_key(tree)
    assert changed_by(tree, "observers/on_mechanism/cekf", remarked) == set()
    assert changed_by(tree, "observers/on_mechanism/cekf", lambda text: text.replace('"""', '"""So: ', 1)) == set()
    assert changed_by(tree, "numerics/dense", lambda text: text.replace('    """P =', '    """So P =')) == set()
    assert tree_key(tree) == whole


def test_an_edit_in_a_filter_costs_that_filter_and_those_that_import_it(tree: Path) -> None:
    changed = changed_by(tree, "observers/on_mechanism/cekf", code)
    assert f"{FILTERS}.cekf" in changed
    assert all(name.startswith("observers.") for name in changed)
    assert {f"{FILTERS}.ukf", f"{FILTERS}.ekf", f"{FILTERS}.dependent"}.isdisjoint(changed)


def test_an_edit_in_the_tyre_leaves_what_knows_no_wheels(tree: Path) -> None:
    changed = changed_by(tree, "multibody/forces/tyre_kernels", code)
    assert {
        "multibody.forces.tyre_kernels",
        "multibody.forces.rolling_kernels",
        f"{FILTERS}.ekf",
    } <= changed
    kept = {name.removeprefix("hodograph.") for name in keys(tree)} - changed
    assert {
        "numerics.dense",
        "sensors.kernels",
        "multibody.model.linear_kernels",
        "multibody.forces.road_kernels",
    } <= kept


@pytest.mark.parametrize("module", ["numerics/compiling", "multibody/model/tables"])
def test_settings_and_tables_are_in_all_keys_that_they_shape(tree: Path, module: str) -> None:
    changed = changed_by(tree, module, code)
    assert {
        "multibody.model.linear_kernels",
        "multibody.steps.augmented_kernels",
        f"{FILTERS}.ekf",
    } <= changed


def test_old_states_of_a_module_go_and_new_ones_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "CACHE", tmp_path)
    names = [f"hodograph.a.kernels-{i:02d}" for i in range(12)] + ["hodograph.a.kernels.b-00"]
    for age, name in enumerate(names):
        (tmp_path / name).mkdir()
        then = (tmp_path / name).stat().st_mtime - 4.0 * 86400.0 * age
        os.utime(tmp_path / name, (then, then))
    cache._forget_old(tmp_path / names[0])
    assert {path.name for path in tmp_path.iterdir()} == {*names[:8], names[-1]}


def run_tiny(root: Path) -> list[str]:
    environment = {**os.environ, "PYTHONPATH": str(root.parent), "NUMBA_CACHE_DIR": str(root.parent / "cache")}
    done = subprocess.run(
        [sys.executable, "-m", "hodograph.tiny"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=200,
    )
    return done.stdout.split()


def test_machine_code_is_found_again_and_never_when_a_callee_changed(tmp_path: Path) -> None:
    root = tmp_path / "hodograph"
    for folder in ("core", "numerics"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "tiny.py").write_text(TINY)
    (root / "helper.py").write_text(HELPER)
    assert run_tiny(root) == ["9.0", "0", "1"]
    (root / "helper.py").write_text("# A remark.\n" + HELPER.replace("Doc.", "Documented."))
    (root / "tiny.py").write_text("# A remark.\n" + TINY)
    assert run_tiny(root) == ["9.0", "1", "0"]
    (root / "helper.py").write_text(HELPER.replace("3.0", "4.0"))
    assert run_tiny(root) == ["12.0", "0", "1"]
    for path in (tmp_path / "cache").rglob("*.nb?"):
        path.write_bytes(path.read_bytes()[:20])
    assert run_tiny(root) == ["12.0", "0", "1"]  # cut short: compiled anew
    for path in (tmp_path / "cache").rglob("*.nbi"):
        path.write_bytes(path.read_bytes().replace(b"numba.core", b"numba.gone"))
    assert run_tiny(root) == ["12.0", "0", "1"]  # written while the sources were changed: it names what is not there


def test_a_numba_of_other_insides_keeps_code_by_the_state_of_all_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> None:
        raise ImportError("no such class")

    from hodograph.numerics import compiling

    monkeypatch.setattr(cache, "_cache_class", absent)
    again = compiling.njit(lambda_free)
    assert Path(again.stats.cache_path).parent == cache.CACHE / f"all-{tree_key()}"  # type: ignore[attr-defined]
    assert again(2.0) == 4.0


def lambda_free(x: float) -> float:
    return x * x
