"""Sideslip on cars that others recorded, reduced unless soaking; benchmarks/vsa.py has every figure in full."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hodograph.ann.model import VsaKind, VsaModel, read_model
from hodograph.ann.observer import estimate_drive
from hodograph.ann.training import RECIPES
from hodograph.observers.sideslip.drive import SideslipDrive
from hodograph.observers.sideslip.vehicle import sideslip_vehicle_from_text
from hodograph.replay.vsa_drive import check_trainable, read_drive
from hodograph.replay.vsa_score import score
from hodograph.replay.vsa_training import train_model

pytestmark = pytest.mark.data
HERE = Path(__file__).parent
MAPPINGS = HERE.parent / "examples" / "mappings"
SPLIT_S = 370.0


@pytest.fixture(scope="module")
def lm(data_dir: Path) -> SideslipDrive:
    return read_drive(data_dir / "revs-250lm" / "250lm_20140222_01_part1.csv", MAPPINGS / "revs-250lm.toml")


@pytest.fixture(scope="module")
def tum(data_dir: Path) -> SideslipDrive:
    return read_drive(data_dir / "tum-vehicle-sim" / "data_to_train_2.csv", MAPPINGS / "tum-vehicle-sim.toml")


@pytest.fixture(scope="module")
def lm_memory(lm: SideslipDrive, soak: bool) -> VsaModel:
    recipe = RECIPES["memory"] if soak else replace(RECIPES["memory"], members=3, every=16, max_iter=40, folds=3)
    return train_model(VsaKind.MEMORY, [lm.between(None, SPLIT_S)], recipe=recipe)


def test_the_data_are_what_we_think(lm: SideslipDrive, tum: SideslipDrive) -> None:
    assert len(lm.t_s) == 33001
    assert lm.t_s[0] == pytest.approx(149.99)
    assert np.degrees(np.abs(lm.beta_rad)).max() == pytest.approx(5.5, abs=0.1)  # type: ignore[arg-type]
    assert lm.between(None, SPLIT_S).t_s[-1] == pytest.approx(369.99)
    assert sideslip_vehicle_from_text(lm.vehicle_toml or "", "x").name == "250lm"
    assert tum.vehicle_toml is None
    check_trainable(lm, needs_reference=True)
    check_trainable(tum, needs_reference=True)


def test_identified_filter_on_the_last_third(lm: SideslipDrive, soak: bool) -> None:
    """As `vsa identify … --t-max 370` left it; identified anew when soaking."""
    model = read_model(HERE / "vsa_250lm_ekf.json")
    if soak:
        car = sideslip_vehicle_from_text(lm.vehicle_toml or "", "x")
        model = train_model(VsaKind.EKF, [lm.between(None, SPLIT_S)], vehicle=car)
    test = lm.between(SPLIT_S, None)
    result = score(test, estimate_drive(model, test))
    assert result.n == 11000
    assert result.rmse_deg <= 0.28
    assert result.coverage_95 >= 0.93
    assert result.valid_fraction > 0.95


def test_network_with_memory_on_the_last_third(lm: SideslipDrive, lm_memory: VsaModel) -> None:
    test = lm.between(SPLIT_S, None)
    result = score(test, estimate_drive(lm_memory, test))
    assert result.rmse_deg <= 0.26
    assert result.coverage_95 >= 0.90
    assert result.valid_fraction > 0.9


def test_a_foreign_car_is_noticed_both_ways(
    lm: SideslipDrive, tum: SideslipDrive, lm_memory: VsaModel, soak: bool
) -> None:
    assert estimate_drive(lm_memory, tum).valid.mean() < 0.4
    recipe = RECIPES["memory"] if soak else replace(RECIPES["memory"], members=2, every=32, max_iter=20, folds=2)
    other = train_model(VsaKind.MEMORY, [tum], recipe=recipe)
    assert estimate_drive(other, tum).valid.mean() > 0.9
    assert estimate_drive(other, lm).valid.mean() < 0.4
