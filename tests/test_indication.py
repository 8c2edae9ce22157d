"""Change indication: every observer gives the numbers it gave when `tests/indication` was last written."""

from __future__ import annotations

import indication_samples as samples
import numpy as np
import pytest

from hodograph.observers.on_mechanism.recipes import RECIPES


@pytest.mark.parametrize("name", samples.RUNS)
def test_an_observer_gives_the_numbers_it_gave(name: str) -> None:
    moved = samples.differences(name, samples.read_table(name), samples.RUNS[name]())
    assert not moved, "\n" + "\n".join(moved)


def test_every_observer_is_indicated_and_every_table_is_of_one() -> None:
    assert {f"fourbar_{name}" for name in RECIPES} <= set(samples.RUNS)
    assert {path.stem for path in samples.FOLDER.glob("*.csv")} == set(samples.RUNS)


@pytest.mark.parametrize("name", samples.RUNS)
def test_a_table_is_worth_comparing_with(name: str) -> None:
    table = samples.read_table(name)
    assert len(table["t_s"]) >= 250
    for column, values in table.items():
        assert np.isfinite(values).mean() > 0.9, column
        assert np.ptp(values[np.isfinite(values)]) > 0.0 or column in samples.FLAGS, column


@pytest.mark.parametrize("name", ["fourbar_dekf", "sideslip", "vsa_hybrid"])
def test_a_column_that_moves_is_reported(name: str) -> None:
    table = samples.read_table(name)
    assert samples.differences(name, table, table) == []
    for column, values in table.items():
        for factor, lines in ((0.5, 0), (10.0, 1)):
            moved = values.copy()
            moved[17] += (1.0 if column in samples.FLAGS else samples.tolerance_of(column, values)) * factor
            found = samples.differences(name, table, {**table, column: moved})
            if column in samples.FLAGS:
                assert len(found) == 1
                continue
            assert len(found) == lines, column
            assert all(f"{name}: {column} is off in 1 of {len(values)} rows, most in row 17" in f for f in found)
            assert all(f"indication_samples.py --write {name}" in f for f in found)


def test_values_that_come_or_go_are_reported() -> None:
    table = samples.read_table("fourbar_dekf")
    lost = {**table, "theta_rad": np.where(np.arange(len(table["t_s"])) == 3, np.nan, table["theta_rad"])}
    assert "row 3" in samples.differences("fourbar_dekf", table, lost)[0]
    assert "row 3" in samples.differences("fourbar_dekf", lost, table)[0]
    assert samples.differences("fourbar_dekf", lost, lost) == []
    shorter = {name: values[:-1] for name, values in table.items()}
    assert "rows, were" in samples.differences("fourbar_dekf", table, shorter)[0]
    renamed = {name.replace("theta", "phi"): values for name, values in table.items()}
    assert "columns t_s, phi" in samples.differences("fourbar_dekf", table, renamed)[0]
