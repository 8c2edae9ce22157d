"""The network of Magri 2024, 4.10: its value, its Jacobian, its training, and scikit-learn's own checks."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import TimeSeriesSplit, cross_val_score
from sklearn.utils.estimator_checks import check_estimator

from hodograph.ann.tansig import TansigNet, TansigRegressor, _held_out, _jacobian, _output


@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_accepts_it() -> None:
    check_estimator(TansigRegressor(hidden=4, n_starts=1, max_iter=30), on_skip=None)


def test_equation_4_10() -> None:
    """The formula (Magri 2024, 4.10) written out with loops and its own sigmoid."""
    rng = np.random.default_rng(0)
    W1, b1, W2, b2 = rng.normal(size=(10, 5)), rng.normal(size=10), rng.normal(size=10), 0.3
    x_o, x_g = rng.normal(size=5), rng.uniform(0.5, 2, 5)
    net = TansigNet(W1, b1, W2, b2, x_o, x_g, -1.0, -4.0, 0.25, -1.0)
    X = rng.normal(size=(7, 5))
    for row, got in zip(X, net(X), strict=True):
        total = 0.0
        for i in range(10):
            n = b1[i] + sum(W1[i, j] * ((row[j] - x_o[j]) * x_g[j] - 1.0) for j in range(5))
            total += W2[i] * (2 / (1 + np.exp(-2 * n)) - 1)
        assert got == pytest.approx((total + b2 + 1.0) / 0.25 - 4.0, rel=1e-12)


def test_jacobian() -> None:
    rng = np.random.default_rng(1)
    X, w = rng.normal(size=(6, 3)), rng.normal(size=4 * 3 + 2 * 4 + 1)
    numeric = np.stack([(_output(w + s, X, 4) - _output(w - s, X, 4)) / 2e-6 for s in 1e-6 * np.eye(len(w))], axis=1)
    np.testing.assert_allclose(_jacobian(w, X, 4), numeric, atol=1e-7)


def test_learns_a_curve_and_reports_the_spread() -> None:
    rng = np.random.default_rng(2)
    X = rng.uniform(-2, 2, size=(600, 2))
    y = np.sin(X[:, 0]) * X[:, 1]
    net = TansigRegressor(n_starts=3, random_state=0).fit(X, y)
    assert net.held_out_rmse_.shape == (3,)
    assert net.held_out_rmse_.min() < 0.05
    assert net.score(X, y) > 0.99
    again = TansigRegressor(n_starts=3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(net.predict(X), again.predict(X))


def test_min_max_maps() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(300, 2)) * [1, 50], rng.normal(size=300)
    net = TansigRegressor(n_starts=1, max_iter=5, random_state=0).fit(X, y).net_
    mapped = (X - net.x_o) * net.x_g + net.x_b
    np.testing.assert_allclose([mapped.min(), mapped.max()], [-1, 1])


def test_ninety_ten_in_stretches() -> None:
    held_out = _held_out(10_000)
    assert held_out.mean() == pytest.approx(0.1)
    assert np.sum(np.diff(held_out.astype(int)) == 1) == 2  # two stretches in one piece each, not scattered rows


def test_cross_validation_in_time_order() -> None:
    t = np.linspace(0, 20, 400)
    X = np.stack([np.sin(t), np.cos(t)], axis=1)
    scores = cross_val_score(TansigRegressor(4, n_starts=1, random_state=0), X, X[:, 0] ** 2, cv=TimeSeriesSplit(3))
    assert scores.min() > 0.9
