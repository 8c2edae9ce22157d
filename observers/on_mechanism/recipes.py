"""What each named observer is: integrator, transition matrix, form of the correction. Noise belongs to the problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from hodograph.observers.on_mechanism import linearised
from hodograph.observers.on_mechanism import plant as kernels
from hodograph.observers.on_mechanism.uncertainty import GRAVITY_ERROR, Disturbance, Kind
from hodograph.observers.on_mechanism.unscented import Weights


class Steps(IntEnum):
    """How the state goes on."""

    EULER = kernels.EULER
    TRAPEZOIDAL = kernels.TRAPEZOIDAL
    INDEX3 = kernels.INDEX3  # index-3 augmented Lagrangian with projections


class TransitionMatrix(IntEnum):
    """Which F propagates the covariance."""

    CONSTANT = linearised.CONSTANT  # [I, hI; 0, I] (Sanjurjo 2016, 3.81)
    FIRST_ORDER = linearised.FIRST_ORDER  # exact acceleration derivatives, first order in h
    EXACT = linearised.EXACT  # the same, e^(A h)


@dataclass(frozen=True, slots=True)
class Ekf:
    """Extended Kalman filters.

    `tangent`: error-state correction along the tangent, accelerations kept. `acceleration_error`: disturbances are
    estimated as acceleration errors and fed back through Rᵀ M R, noise per step (as published). `adaptive`: the plant
    noise follows the last 50 corrections, within bounds; `unbounded` as published. `still_start`: the dynamics begin
    with zero acceleration and zero multipliers whatever the state (as published).
    """

    steps: Steps
    transition: TransitionMatrix
    tangent: bool = False
    acceleration_error: bool = False
    adaptive: bool = False
    unbounded: bool = False
    still_start: bool = False


@dataclass(frozen=True, slots=True)
class Ukf:
    """Unscented Kalman filters; `reuse` measures with the propagated points, which lack the plant noise.

    A spread `alpha` of 1e-3 (as published) costs half the digits of the covariance, so ours is 1.
    """

    steps: Steps
    reuse: bool = False
    square_root: bool = False
    alpha: float = 1.0
    kappa: float = 0.0
    beta: float = 2.0

    def weights(self, size: int) -> Weights:
        """Weights for a state of `size` rows: λ = α²(l + κ) − l (Van der Merwe et al. 2004)."""
        scale = self.alpha**2 * (size + self.kappa)
        centre = (scale - size) / scale
        return Weights(scale**0.5, centre, centre + 1.0 - self.alpha**2 + self.beta, 0.5 / scale)


@dataclass(frozen=True, slots=True)
class Cekf:
    """Continuous EKF: trapezoidal rule for the state, Riccati equation by its Hamiltonian exponential.

    The spectral density of a sensor is its variance times the step; corrections enter at full weight.
    """


@dataclass(frozen=True, slots=True)
class PublishedCekf:
    """The continuous EKF step for step as published, on whole grids only: it reads within its steps.

    `per_step`: the spectral density of a sensor is its variance times the step (2017), else its variance (2023).
    """

    per_step: bool = True


@dataclass(frozen=True, slots=True)
class Dependent:
    """Filters on all coordinates [q, qd] with the constraints as measurements, forward Euler.

    SCKF: first the sensors, then the constraints with fading noise. `iterated` (DIEKFpm): both together, repeated from
    the prior.
    """

    iterated: bool = False


Recipe = Ekf | Ukf | Cekf | PublishedCekf | Dependent

RECIPES: dict[str, Recipe] = {
    "dekf": Ekf(Steps.EULER, TransitionMatrix.CONSTANT),
    "dekf_ej": Ekf(Steps.EULER, TransitionMatrix.FIRST_ORDER),
    "error_ekf": Ekf(Steps.INDEX3, TransitionMatrix.CONSTANT, tangent=True),
    "error_ekf_ej": Ekf(Steps.INDEX3, TransitionMatrix.FIRST_ORDER, tangent=True),
    "error_ekf_fe": Ekf(Steps.INDEX3, TransitionMatrix.FIRST_ORDER, tangent=True, acceleration_error=True),
    "error_ekf_adaptive": Ekf(
        Steps.INDEX3, TransitionMatrix.FIRST_ORDER, tangent=True, acceleration_error=True, adaptive=True
    ),
    "cekf": Cekf(),
    "sckf": Dependent(),
    "diekf_pm": Dependent(iterated=True),
    "ukf_fe": Ukf(Steps.EULER),
    "ukf_tr": Ukf(Steps.TRAPEZOIDAL),
    "srukf": Ukf(Steps.TRAPEZOIDAL, square_root=True),
    "force_ekf": Ekf(Steps.TRAPEZOIDAL, TransitionMatrix.EXACT),
    "shaping_ekf": Ekf(Steps.TRAPEZOIDAL, TransitionMatrix.EXACT),
    "gravity_ekf": Ekf(Steps.TRAPEZOIDAL, TransitionMatrix.EXACT),
    "gravity_ukf": Ukf(Steps.TRAPEZOIDAL),
}
"""Observers by the names that `hodograph bench linkages` uses."""


@dataclass(frozen=True, slots=True)
class Promise:
    """What a name says is estimated, and how a problem is given it."""

    what: str
    how: str
    kept_by: Callable[[Disturbance], bool]


def _is_force(one: Disturbance) -> bool:
    return one.kind <= Kind.BODY_FORCE


_FORCE = Promise("an unknown force", "unknown_force(model, density, std)", _is_force)
_GRAVITY = Promise(
    "the strength of gravity",
    "(gravity_error(model, density, std_mps2),)",
    lambda one: one.name == GRAVITY_ERROR,
)
PROMISES: dict[str, Promise] = {
    "force_ekf": _FORCE,
    "shaping_ekf": Promise(
        "a force that returns to zero",
        "unknown_force(model, density, std, time_constant_s)",
        lambda one: _is_force(one) and one.time_constant_s is not None,
    ),
    "gravity_ekf": _GRAVITY,
    "gravity_ukf": _GRAVITY,
    "error_ekf_fe": _FORCE,
    "error_ekf_adaptive": _FORCE,
}
"""Names that say what is estimated beside the state; without it they would silently be something else."""
