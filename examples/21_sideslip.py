"""Sideslip from speed, steering, ay, ax and yaw rate: teach a network a car, and let it say when it does not know.

On the command line: hodograph vsa train monday.drive --kind memory -o my-car.npz
                     hodograph vsa eval my-car.npz tuesday.drive
"""

import numpy as np

from hodograph.ann.network import MemorySpec
from hodograph.ann.training import Recipe
from hodograph.observers.sideslip import kernels
from hodograph.observers.sideslip.parameters import SideslipParameters
from hodograph.replay.vsa_drive import VsaDrive
from hodograph.replay.vsa_model import VsaKind
from hodograph.replay.vsa_score import score
from hodograph.replay.vsa_training import train_model


def drive(name: str, car: SideslipParameters, speed_mps: float, seed: int) -> VsaDrive:
    """A minute of weaving with a simulated car and noisy sensors; its true sideslip is the reference."""
    rng = np.random.default_rng(seed)
    t_s = 0.01 * np.arange(6000)
    v_x = speed_mps * (1 + 0.2 * np.sin(t_s / 3))
    a_x = np.gradient(v_x, t_s)
    steer = 0.018 * np.sin(1.2 * t_s + seed) * (1 + 0.5 * np.sin(0.3 * t_s))
    x, after, F = np.zeros(7), np.zeros(7), np.zeros((7, 7))
    inputs, beta = np.empty((len(t_s), 5)), np.empty(len(t_s))
    for k in range(len(t_s)):
        kernels.predict(x, v_x[k], steer[k], a_x[k], 0.01, car.array, after, F)
        x = after.copy()
        a_y = (x[2] * np.cos(steer[k]) + x[3]) / car.mass_kg
        inputs[k] = v_x[k], steer[k], a_y + 0.5 * rng.normal(), a_x[k], x[1] + 0.01 * rng.normal()
        beta[k] = np.arctan2(x[0], v_x[k])
    return VsaDrive(name, (t_s * 1e9).astype(np.int64), t_s, inputs, beta)


mine = SideslipParameters()
other = SideslipParameters(cg_to_front_m=1.0, cg_to_rear_m=0.9, stiffness_front_n_rad=200e3, stiffness_rear_n_rad=230e3)
quick = Recipe(MemorySpec(filters_hz=(1.0,), integrals_s=(0.3,), hold_spikes=True), members=3, every=10, max_iter=30)

model = train_model(VsaKind.MEMORY, [drive("monday", mine, 25.0, 0), drive("noon", mine, 25.0, 1)], recipe=quick)
for test in (drive("tuesday", mine, 25.0, 2), drive("another car", other, 16.0, 3)):
    result = score(test, model.run(test.t_s, test.inputs))
    print(
        f"{test.name:12s} RMSE {result.rmse_deg:.2f} deg, 95 % band holds {result.coverage_95:.0%}, "
        f"valid {result.valid_fraction:.0%}"
    )
