"""Networks with memory: causal, equal to their numpy twin, saved without pickle, and aware of what they do not know."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import numpy as np
import pytest
from sideslip_samples import simulated

from hodograph.ann.kernels import tansig
from hodograph.ann.network import MemorySpec, VsaNetwork, network_from_bytes
from hodograph.ann.training import RECIPES, Recipe, train
from hodograph.core import Array, ModelError
from hodograph.observers.sideslip.drive import SideslipDrive
from hodograph.observers.sideslip.parameters import SideslipParameters

CAR = SideslipParameters(acc_y_meas_std_mps2=0.5)
QUICK = Recipe(
    MemorySpec((1.0,), (0.3,), hold_spikes=True, curvature=True), hidden=6, members=3, every=10, max_iter=30, folds=3
)


def drive(seed: int, car: SideslipParameters = CAR, seconds: float = 60.0) -> SideslipDrive:
    t_s, states, inputs = simulated(car, seconds=seconds, seed=seed)
    return SideslipDrive.sampled(f"drive {seed}", t_s, inputs, np.arctan2(states[:, 0], inputs[:, 0]))


@pytest.fixture(scope="module")
def network() -> VsaNetwork:
    return train([drive(0), drive(1)], QUICK, trained_on={"drives": ["a", "b"]}).network


def twin_features(spec: MemorySpec, t_s: Array, inputs: Array) -> Array:
    """The obvious way: the filters written as recursions, column by column."""
    columns = []
    for tau in spec.times_s[: len(spec.filters_hz)]:
        for c in range(5):
            y = inputs[:, c].copy()
            for k in range(1, len(y)):
                keep = np.exp(-(t_s[k] - t_s[k - 1]) / tau) if tau > 0 else 0.0
                y[k] = keep * y[k - 1] + (1 - keep) * inputs[k, c]
            columns.append(y)
        if spec.curvature:
            x = inputs[:, 4] / np.maximum(inputs[:, 0], 1)
            y = x.copy()
            for k in range(1, len(y)):
                keep = np.exp(-(t_s[k] - t_s[k - 1]) / tau) if tau > 0 else 0.0
                y[k] = keep * y[k - 1] + (1 - keep) * x[k]
            columns.append(y)
    rate = (inputs[:, 2] - inputs[:, 4] * inputs[:, 0]) / np.maximum(inputs[:, 0], 1)
    for tau in spec.integrals_s:
        y = np.zeros(len(t_s))
        for k in range(1, len(y)):
            keep = np.exp(-(t_s[k] - t_s[k - 1]) / tau)
            y[k] = keep * y[k - 1] + tau * (1 - keep) * rate[k]
        columns.append(y)
    return np.stack(columns, axis=1)


def test_kernel_equals_its_numpy_twin(network: VsaNetwork) -> None:
    d = drive(5, seconds=8.0)
    features = twin_features(network.memory, d.t_s, d.inputs)
    np.testing.assert_allclose(network.memory.features(d.t_s, d.inputs), features, rtol=1e-9, atol=1e-12)
    members = np.stack([net(features) for net in network.members])
    got = network.run(d.t_s, d.inputs)
    np.testing.assert_allclose(got.beta_rad, members.mean(axis=0), atol=np.radians(1e-5))  # the kernel's own tanh
    assert np.all(got.std_rad > 0)


def test_one_by_one_equals_batch(network: VsaNetwork) -> None:
    d = drive(6, seconds=5.0)
    batch = network.run(d.t_s, d.inputs)
    stream = network.stream()
    single = np.array([stream.step(t, x).copy() for t, x in zip(d.t_s, d.inputs, strict=True)])
    np.testing.assert_array_equal(single[:, 0], batch.beta_rad)
    np.testing.assert_array_equal(single[:, 1], batch.std_rad)
    np.testing.assert_array_equal(single[:, 2] > 0, batch.valid)


def test_strictly_causal(network: VsaNetwork) -> None:
    d = drive(6, seconds=8.0)
    whole = network.run(d.t_s, d.inputs)
    changed = d.inputs.copy()
    changed[500:] = 0.0
    np.testing.assert_array_equal(network.run(d.t_s, changed).beta_rad[:500], whole.beta_rad[:500])


def test_band_and_validity_on_the_same_car(network: VsaNetwork) -> None:
    d = drive(7)
    got = network.run(d.t_s, d.inputs)
    error = np.abs(got.beta_rad - d.beta_rad)
    assert np.sqrt(np.mean(error**2)) < 0.5 * np.std(d.beta_rad)
    assert np.mean(error < 1.96 * got.std_rad) > 0.9
    assert got.valid.mean() > 0.9


def test_another_car_is_noticed(network: VsaNetwork) -> None:
    other = replace(CAR, cg_to_front_m=1.0, cg_to_rear_m=0.9, stiffness_front_n_rad=200e3, stiffness_rear_n_rad=220e3)
    t_s, _, inputs = simulated(other, seconds=60, speed_mps=15.0)
    assert network.run(t_s, inputs).valid.mean() < 0.2


def test_slow_missing_and_spikes(network: VsaNetwork) -> None:
    d = drive(7)
    inputs = d.inputs.copy()
    inputs[1000:1100, 0] = 2.9
    inputs[2000, 4] = np.nan
    inputs[3000, 1] += 0.2
    got, clean = network.run(d.t_s, inputs), network.run(d.t_s, d.inputs)
    assert not got.valid[1000:1100].any()
    assert not got.valid[2000]
    assert np.isfinite(got.beta_rad[2000])
    assert abs(got.beta_rad[3000] - clean.beta_rad[3000]) < np.radians(0.1)
    inputs[:, 2] = np.nan
    assert not network.run(d.t_s, inputs).valid.any()


def test_one_odd_sample_at_the_start_does_not_condemn_the_drive(network: VsaNetwork) -> None:
    d = drive(7)
    inputs = d.inputs.copy()
    inputs[0] *= 5.0
    got = network.run(d.t_s + 1000.0, inputs)  # a clock that does not start at zero
    assert not got.valid[0]
    assert got.valid[300:].mean() > 0.9


def test_saved_as_plain_arrays(network: VsaNetwork) -> None:
    data = network.to_bytes()
    again = network_from_bytes(data, "x.npz")
    d = drive(8, seconds=5.0)
    np.testing.assert_array_equal(again.run(d.t_s, d.inputs).beta_rad, network.run(d.t_s, d.inputs).beta_rad)
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        header = json.loads(str(file["header"]))
        assert all(file[name].dtype != object for name in file.files)
    assert header["schema"] == "hodograph-vsa-network"
    assert header["channels"]["gyro_z_radps"] == "rad/s"
    assert len(header["domain"]["low"]) == network.memory.n_features
    assert header["trained_on"] == {"drives": ["a", "b"]}


def test_rubbish_is_refused(network: VsaNetwork) -> None:
    with pytest.raises(ModelError, match=r"x\.npz"):
        network_from_bytes(b"rubbish", "x.npz")
    with pytest.raises(ModelError):
        network_from_bytes(network.to_bytes()[:2000], "x.npz")


def test_tansig_of_the_kernel() -> None:
    x = np.linspace(-12, 12, 4001)
    np.testing.assert_allclose([getattr(tansig, "py_func", tansig)(v) for v in x], np.tanh(x), atol=1e-6)


def test_recipes_are_what_they_say() -> None:
    assert RECIPES["seed"].hidden == 10
    assert RECIPES["seed"].memory == MemorySpec()
    assert RECIPES["seed"].weight_decay == 0.0
    assert not RECIPES["static"].memory.integrals_s
    assert RECIPES["memory"].memory.integrals_s
