"""Identification finds the car that made the drive, and says how surely; vehicle files are checked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sideslip_samples import simulated

from hodograph.core import SettingsError
from hodograph.observers.sideslip.drive import SideslipDrive
from hodograph.observers.sideslip.identify import identify
from hodograph.observers.sideslip.parameters import SideslipParameters
from hodograph.observers.sideslip.vehicle import sideslip_vehicle_from_text

TRUTH = SideslipParameters(stiffness_front_n_rad=90e3, stiffness_rear_n_rad=120e3)
PRIOR = replace(TRUTH, stiffness_front_n_rad=70e3, stiffness_rear_n_rad=95e3)
ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("reference", [True, False])
def test_stiffness_is_found(reference: bool) -> None:
    t_s, states, inputs = simulated(TRUTH, seconds=30, seed=1)
    beta = np.arctan2(states[:, 0], inputs[:, 0]) if reference else None
    heard: list[float] = []
    found = identify(
        [SideslipDrive.sampled("x", t_s, inputs, beta)],
        PRIOR,
        geometry_known=True,
        max_iterations=4,
        on_progress=heard.append,
    )
    rear = found.parameters.stiffness_rear_n_rad
    low, high = found.limits["stiffness_rear_n_rad"]
    assert low < rear < high
    assert low < TRUTH.stiffness_rear_n_rad < high
    if reference:
        assert abs(rear - 120e3) < 0.5 * abs(95e3 - 120e3)
    assert len(heard) >= 2
    assert heard[-1] <= heard[0]


def test_the_250_lm_is_shipped() -> None:
    text = (ROOT / "vehicles" / "250lm.toml").read_text(encoding="utf-8")
    car = sideslip_vehicle_from_text(text, "250lm.toml")
    assert car.prior.mass_kg == 982.0
    assert car.prior.cg_to_front_m + car.prior.cg_to_rear_m == pytest.approx(2.40)
    with pytest.raises(SettingsError, match=r"mass_kg is 9\.0, want 50"):
        sideslip_vehicle_from_text(text.replace("982.0", "9"), "x.toml")
    with pytest.raises(SettingsError, match=r"did you mean mass_kg"):
        sideslip_vehicle_from_text(text.replace("mass_kg", "mas_kg"), "x.toml")
