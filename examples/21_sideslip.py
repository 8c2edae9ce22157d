"""Sideslip from speed, steering, ay, ax and yaw rate: teach a network a car, and let it say when it does not know.

On the command line: hodograph vsa train monday.drive --kind memory -o my-car.npz
                     hodograph vsa eval my-car.npz tuesday.drive
"""

import numpy as np

from hodograph.ann.model import VsaKind
from hodograph.ann.network import MemorySpec
from hodograph.ann.observer import estimate_drive
from hodograph.ann.training import Recipe
from hodograph.observers.sideslip.drive import SideslipDrive
from hodograph.replay.vsa_score import score
from hodograph.replay.vsa_training import train_model

STEP_S = 0.01


def drive(name: str, axles_m: tuple[float, float], stiffness: float, speed_mps: float, seed: int) -> SideslipDrive:
    """A minute of weaving with a single-track car of 1200 kg and noisy sensors; its true sideslip is the reference."""
    rng = np.random.default_rng(seed)
    (front_m, rear_m), mass_kg, inertia_kgm2 = axles_m, 1200.0, 1600.0
    t_s = STEP_S * np.arange(6000)
    v_x = speed_mps * (1 + 0.2 * np.sin(t_s / 3))
    a_x = np.gradient(v_x, t_s)
    steer = 0.018 * np.sin(1.2 * t_s + seed) * (1 + 0.5 * np.sin(0.3 * t_s))
    v_y = r = 0.0
    inputs, beta = np.empty((len(t_s), 5)), np.empty(len(t_s))
    for k in range(len(t_s)):
        front_n = 11e3 * np.tanh(stiffness / 11e3 * (steer[k] - (v_y + front_m * r) / v_x[k]))
        rear_n = 13e3 * np.tanh(1.2 * stiffness / 13e3 * -(v_y - rear_m * r) / v_x[k])
        a_y = (front_n + rear_n) / mass_kg
        v_y += STEP_S * (a_y - v_x[k] * r)
        r += STEP_S * (front_m * front_n - rear_m * rear_n) / inertia_kgm2
        inputs[k] = v_x[k], steer[k], a_y + 0.5 * rng.normal(), a_x[k], r + 0.01 * rng.normal()
        beta[k] = np.arctan2(v_y, v_x[k])
    return SideslipDrive.sampled(name, t_s, inputs, beta)


mine, other = ((1.3, 1.3), 80e3), ((1.0, 0.9), 200e3)
quick = Recipe(MemorySpec(filters_hz=(1.0,), integrals_s=(0.3,), hold_spikes=True), members=3, every=10, max_iter=30)

model = train_model(VsaKind.MEMORY, [drive("monday", *mine, 25.0, 0), drive("noon", *mine, 25.0, 1)], recipe=quick)
for test in (drive("tuesday", *mine, 25.0, 2), drive("another car", *other, 16.0, 3)):
    result = score(test, estimate_drive(model, test))
    print(
        f"{test.name:12s} RMSE {result.rmse_deg:.2f} deg, 95 % band holds {result.coverage_95:.0%}, "
        f"valid {result.valid_fraction:.0%}"
    )
