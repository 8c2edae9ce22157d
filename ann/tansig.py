"""Magri's network as a scikit-learn estimator: tansig neurons, a linear output, min-max maps, Levenberg-Marquardt.

    Y = (W2 tansig(b1 + W1 ((X - x_o) x_g + x_b)) + b2 - y_b)/y_g + y_o,   tansig(n) = 2/(1 + exp(-2n)) - 1 = tanh(n)

Magri 2024, 4.10 and 4.11; the bracketing of 4.10 as printed is wrong, this is the reading that makes sense.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import least_squares
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from hodograph.core import Array
from hodograph.core.display import short_repr

BLOCKS = 20  # contiguous stretches; of every ten, one is held out


@dataclass(frozen=True, slots=True)
class TansigNet:
    """Weights and maps: W1 (h, k), b1 (h,), W2 (h,), b2; x_o, x_g (k,), x_b; y_o, y_g, y_b.

    The names are those of Magri 2024, 4.10.
    """

    W1: Array
    b1: Array
    W2: Array
    b2: float
    x_o: Array
    x_g: Array
    x_b: float
    y_o: float
    y_g: float
    y_b: float

    def __call__(self, X: Array) -> Array:
        """Output (n,) for inputs (n, k)."""
        hidden = np.tanh(self.b1 + ((X - self.x_o) * self.x_g + self.x_b) @ self.W1.T)
        output: Array = (hidden @ self.W2 + self.b2 - self.y_b) / self.y_g + self.y_o
        return output

    __repr__ = short_repr


class TansigRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """One hidden layer trained by Levenberg-Marquardt on the mean square error, best of `n_starts` initialisations.

    Rows are a time series: of `BLOCKS` contiguous stretches every tenth is held out to choose among the starts (90/10,
    never shuffled); a single start trains on all rows. `weight_decay` is a ridge on all weights in mapped units, not in
    Magri 2024.
    """

    def __init__(
        self,
        hidden: int = 10,
        *,
        n_starts: int = 3,
        weight_decay: float = 0.0,
        max_iter: int = 60,
        random_state: Any = None,
    ) -> None:
        self.hidden = hidden
        self.n_starts = n_starts
        self.weight_decay = weight_decay
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> TansigRegressor:
        """Train on inputs (n, k) and targets (n,), rows in time order.

        Leaves `net_`, and `held_out_rmse_` (n_starts,): the spread over the starts.
        """
        X, y = validate_data(self, X, y, y_numeric=True, dtype=np.float64)
        inputs, target = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
        rng = check_random_state(self.random_state)
        held_out = _held_out(len(target)) if self.n_starts > 1 else np.zeros(len(target), dtype=np.bool_)
        maps = _maps(inputs[~held_out], target[~held_out])
        rmse, nets = [], []
        for _ in range(self.n_starts):
            net = self._start(inputs[~held_out], target[~held_out], maps, rng)
            judged = held_out if held_out.any() else ~held_out
            rmse.append(float(np.sqrt(np.mean((net(inputs[judged]) - target[judged]) ** 2))))
            nets.append(net)
        self.held_out_rmse_ = np.array(rmse)
        self.net_ = nets[int(np.argmin(rmse))]
        self.n_iter_ = self.max_iter
        return self

    def predict(self, X: ArrayLike) -> Array:
        """Output (n,) for inputs (n, k)."""
        check_is_fitted(self, "net_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self.net_(np.asarray(X, dtype=np.float64))

    def _start(self, X: Array, y: Array, maps: TansigNet, rng: np.random.RandomState) -> TansigNet:
        """One training from random weights (Nguyen and Widrow 1990)."""
        mapped = (X - maps.x_o) * maps.x_g + maps.x_b
        target = (y - maps.y_o) * maps.y_g + maps.y_b
        h, k = self.hidden, X.shape[1]
        reach = 0.7 * h ** (1 / k)
        W1 = rng.normal(size=(h, k))
        W1 *= reach / np.linalg.norm(W1, axis=1, keepdims=True)
        first = np.concatenate([W1.ravel(), rng.uniform(-reach, reach, h), rng.uniform(-0.5, 0.5, h), [0.0]])
        decay = np.sqrt(self.weight_decay * len(y)) * np.eye(len(first))

        def residual(w: Array) -> Array:
            return np.concatenate([_output(w, mapped, h) - target, decay @ w])

        def slope(w: Array) -> Array:
            return np.concatenate([_jacobian(w, mapped, h), decay])

        found = least_squares(
            residual,
            first,
            jac=slope,
            method="lm",
            x_scale="jac",
            max_nfev=self.max_iter,
        )
        W1, b1, W2, b2 = _split(found.x, h, k)
        return TansigNet(
            W1=W1,
            b1=b1,
            W2=W2,
            b2=b2,
            x_o=maps.x_o,
            x_g=maps.x_g,
            x_b=maps.x_b,
            y_o=maps.y_o,
            y_g=maps.y_g,
            y_b=maps.y_b,
        )


def _held_out(n: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """(n,) True for the stretches that choose among the starts; none where there are too few rows."""
    if n < 10 * BLOCKS:
        return np.zeros(n, dtype=np.bool_)
    stretch = np.arange(n) * BLOCKS // n
    return np.asarray(stretch % 10 == 5)


def _maps(X: Array, y: Array) -> TansigNet:
    """Min-max maps to [-1, 1]; a constant column keeps gain 1."""
    low, span = X.min(axis=0), np.ptp(X, axis=0)
    y_span = float(np.ptp(y))
    none = np.zeros(0)
    gain = 2.0 / np.where(span > 0, span, 2.0)
    return TansigNet(
        W1=none,
        b1=none,
        W2=none,
        b2=0.0,
        x_o=low,
        x_g=gain,
        x_b=-1.0,
        y_o=float(y.min()),
        y_g=2.0 / (y_span or 2.0),
        y_b=-1.0,
    )


def _split(w: Array, h: int, k: int) -> tuple[Array, Array, Array, float]:
    return w[: h * k].reshape(h, k), w[h * k : h * k + h], w[h * k + h : h * k + 2 * h], float(w[-1])


def _output(w: Array, X: Array, h: int) -> Array:
    W1, b1, W2, b2 = _split(w, h, X.shape[1])
    output: Array = np.tanh(X @ W1.T + b1) @ W2 + b2
    return output


def _jacobian(w: Array, X: Array, h: int) -> Array:
    """d output / d weights, (n, h k + 2 h + 1)."""
    W1, b1, W2, _ = _split(w, h, X.shape[1])
    hidden = np.tanh(X @ W1.T + b1)
    slope = (1.0 - hidden**2) * W2
    by_W1 = (slope[:, :, None] * X[:, None, :]).reshape(len(X), -1)
    return np.concatenate([by_W1, slope, hidden, np.ones((len(X), 1))], axis=1)
