"""Training: an ensemble, its band and its domain from drives with a reference; blocked in time, never shuffled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.mixture import GaussianMixture

from hodograph.ann.network import Domain, MemorySpec, VsaNetwork
from hodograph.ann.tansig import TansigNet, TansigRegressor
from hodograph.core import Array
from hodograph.core.display import short_repr
from hodograph.observers.sideslip.channels import ACC_Y
from hodograph.observers.sideslip.drive import SideslipDrive

GAP_S = 1.0  # left out on both sides of a block that is held out
DOMAIN_SHARE = 0.999  # of the training samples lie in the domain
Progress = Callable[[float, float], None]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to train: what the network sees, its size, and how many members judge together.

    Every `every`-th row is used: filtered channels say nothing new from one sample to the next.
    """

    memory: MemorySpec
    hidden: int = 10
    members: int = 5
    weight_decay: float = 1e-5
    every: int = 8
    max_iter: int = 100
    clusters: int = 8
    folds: int = 5

    __repr__ = short_repr


# chosen by blocked cross-validation on the first two thirds of the 250 LM, see benchmarks/vsa.py
RECIPES: Mapping[str, Recipe] = {
    "seed": Recipe(MemorySpec(), weight_decay=0.0, every=1, max_iter=60),
    "static": Recipe(MemorySpec((1.0,), (), hold_spikes=True)),
    "memory": Recipe(MemorySpec((1.0,), (0.3,), hold_spikes=True)),
}


@dataclass(frozen=True, slots=True)
class _Rows:
    X: Array  # (n, k) features
    y: Array  # (n,) rad
    block: NDArray[np.int64]  # (n,) number of the block in time
    edge: NDArray[np.bool_]  # (n,) near a border of blocks
    acc_y: Array  # (n,)


@dataclass(frozen=True, slots=True)
class Training:
    """A trained network, and what blocked cross-validation said: errors in rad (n,) of all rows, each held out once."""

    network: VsaNetwork
    held_out_error_rad: Array

    @property
    def held_out_rmse_rad(self) -> float:
        """RMSE over the held-out blocks."""
        return float(np.sqrt(np.mean(self.held_out_error_rad**2)))

    __repr__ = short_repr


def train(
    drives: Sequence[SideslipDrive],
    recipe: Recipe,
    *,
    seed: int = 0,
    trained_on: Mapping[str, object] | None = None,
    on_progress: Progress | None = None,
) -> Training:
    """An ensemble on all rows; its band from errors of ensembles that had not seen the block they were judged on."""
    rows = _rows(drives, recipe)
    total, done = recipe.members + recipe.folds * 2, 0

    def one(use: NDArray[np.bool_], number: int) -> TansigNet:
        nonlocal done
        net = _member(rows.X[use], rows.y[use], recipe, seed * 1000 + number)
        done += 1
        if on_progress is not None:
            on_progress(done, total)
        return net

    held_out = np.empty((len(rows.y), 3))  # mean, variance, distance²
    for fold in range(recipe.folds):
        inside = rows.block == fold
        use = ~inside & ~rows.edge
        nets = [one(use, 100 + 2 * fold + i) for i in range(2)]
        domain = _domain(rows.X[use], nets[0], recipe.clusters, seed)
        held_out[inside] = _judged(nets, domain, rows.X[inside])
    error = rows.y - held_out[:, 0]
    everything = np.ones(len(rows.y), dtype=np.bool_)
    members = tuple(one(everything, number) for number in range(recipe.members))
    first = members[0]
    members = tuple(replace(net, x_o=first.x_o, x_g=first.x_g) for net in members)
    domain = _domain(rows.X, first, recipe.clusters, seed)
    network = VsaNetwork(
        memory=recipe.memory,
        members=members,
        domain=domain,
        band=_band(error, held_out, rows.acc_y),
        trained_on=dict(trained_on or {}),
    )
    return Training(network, error)


def cross_validate(drives: Sequence[SideslipDrive], recipe: Recipe, *, seed: int = 0) -> float:
    """RMSE in rad of the recipe over blocks held out in turn."""
    return train(drives, replace(recipe, members=1), seed=seed).held_out_rmse_rad


def _rows(drives: Sequence[SideslipDrive], recipe: Recipe) -> _Rows:
    X, y, t_all, acc_y = [], [], [], []
    begin_s = 0.0
    for drive in drives:
        features = recipe.memory.features(drive.t_s, drive.inputs)
        good = np.all(np.isfinite(features), axis=1) & np.isfinite(drive.reference_rad) & drive.moving
        keep = np.zeros_like(good)
        keep[:: recipe.every] = good[:: recipe.every]
        X.append(features[keep])
        y.append(drive.reference_rad[keep])
        t_all.append(drive.t_s[keep] - drive.t_s[0] + begin_s)
        acc_y.append(drive.inputs[keep, ACC_Y])
        begin_s += float(drive.t_s[-1] - drive.t_s[0]) + 2 * GAP_S
    t_s = np.concatenate(t_all)
    borders = np.linspace(0.0, t_s[-1] + 1e-6, recipe.folds + 1)
    block = np.searchsorted(borders, t_s, side="right") - 1
    edge = np.min(np.abs(t_s[:, None] - borders[None, 1:-1]), axis=1) < GAP_S
    return _Rows(X=np.concatenate(X), y=np.concatenate(y), block=block, edge=edge, acc_y=np.concatenate(acc_y))


def _member(X: Array, y: Array, recipe: Recipe, seed: int) -> TansigNet:
    regressor = TansigRegressor(
        recipe.hidden, n_starts=1, weight_decay=recipe.weight_decay, max_iter=recipe.max_iter, random_state=seed
    )
    return regressor.fit(X, y).net_


def _domain(X: Array, maps: TansigNet, clusters: int, seed: int) -> Domain:
    """Clusters of the mapped features; the limit is where nearly all training samples lie inside."""
    Z = (X - maps.x_o) * maps.x_g + maps.x_b
    mixture = GaussianMixture(clusters, reg_covar=1e-4, random_state=seed, max_iter=50).fit(Z[::2])
    factors = np.stack([np.linalg.inv(np.linalg.cholesky(c)) for c in mixture.covariances_])
    distance = _distance(Z, mixture.means_, factors)
    return Domain(
        means=mixture.means_,
        inverse_factors=factors,
        limit=float(np.quantile(distance, DOMAIN_SHARE)),
        low=X.min(axis=0),
        high=X.max(axis=0),
    )


def _distance(Z: Array, means: Array, factors: Array) -> Array:
    """Squared distance (n,) to the nearest cluster."""
    each = [np.sum(((Z - mean) @ factor.T) ** 2, axis=1) for mean, factor in zip(means, factors, strict=True)]
    nearest: Array = np.min(each, axis=0)
    return nearest


def _judged(nets: Sequence[TansigNet], domain: Domain, X: Array) -> Array:
    outputs = np.stack([net(X) for net in nets])
    Z = (X - nets[0].x_o) * nets[0].x_g + nets[0].x_b
    return np.stack([outputs.mean(axis=0), outputs.var(axis=0), _distance(Z, domain.means, domain.inverse_factors)], 1)


def _band(error: Array, held_out: Array, acc_y: Array) -> Array:
    """Coefficients (4,) of the log variance on 1, |ay|/10, log spread, log distance: maximum likelihood, ≥ 0 slopes.

    The last step widens the band until it holds 95 % of the held-out errors.
    """
    from scipy.optimize import minimize

    A = np.stack(
        [
            np.ones(len(error)),
            np.abs(acc_y) * 0.1,
            np.log(held_out[:, 1] + 1e-8),
            np.log(held_out[:, 2] + 1.0),
        ],
        axis=1,
    )
    square = error**2 + 1e-10

    def cost(w: Array) -> tuple[float, Array]:
        log_var = A @ w
        ratio = square * np.exp(-log_var)
        return float(np.mean(log_var + ratio)), A.T @ (1.0 - ratio) / len(error)

    first = np.array([np.log(square.mean()), 0.0, 0.0, 0.0])
    found = minimize(cost, first, jac=True, method="L-BFGS-B", bounds=[(None, None), (0, 2), (0, 1), (0, 2)])
    band = np.asarray(found.x, dtype=np.float64)
    z = np.sqrt(square * np.exp(-(A @ band)))
    band[0] += 2 * np.log(np.quantile(z, 0.95) / 1.96)
    return band
