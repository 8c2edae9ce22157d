"""Exactly what the benchmark fixes: two linkages, their errors, sensors and plant noise in two configurations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from math import pi, radians

import numpy as np
from numpy.typing import NDArray

from hodograph.core.display import short_repr
from hodograph.multibody.model.build import Model, State, build
from hodograph.multibody.model.mechanism import shipped_mechanism
from hodograph.multibody.motion.kinematics import from_independent
from hodograph.observers.on_mechanism.recipes import RECIPES, Ekf, PublishedCekf, Recipe, Ukf
from hodograph.observers.on_mechanism.uncertainty import (
    Disturbance,
    Uncertainty,
    gravity_error,
    unknown_force,
    unknown_point_forces,
)
from hodograph.sensors import Encoder, Gyroscope, Quality, SensorGroup, SensorSet, due, mount

STEP_S = 0.005
STEPS = 2000
RATES_HZ = (200, 100, 50, 20, 10)
SENSORS = ("encoder_crank", "gyro_coupler", "gyro_crank")
LEVELS = {"high": 1.0, "low": 0.5}
PRIOR_STD = radians(5.0)


@dataclass(frozen=True, slots=True)
class Configuration:
    """One of two states of the toolbox mbde-matlab: that of 2017 (Sanjurjo et al. 2017), or that of 2023."""

    name: str
    gravity_mps2: float
    gyro_std_radps: float
    suffix: str


CONFIGURATIONS = {
    "nd2017": Configuration("nd2017", 10.0, pi / 180.0, ""),
    "head2023": Configuration("head2023", 9.81, 9.839439e-4, "_g981"),
}


@dataclass(frozen=True, slots=True)
class Linkage:
    """Names in a shipped mechanism, and where it starts."""

    name: str
    angles: tuple[str, ...]
    couplers: tuple[str, ...]
    cranks: tuple[str, ...]
    start_rad: tuple[float, ...]

    __repr__ = short_repr


LINKAGES = {
    "fourbar": Linkage("fourbar", ("theta",), ("coupler",), ("crank",), (pi / 3.0,)),
    "fivebar": Linkage("fivebar", ("theta1", "theta2"), ("coupler1", "coupler2"), ("crank1", "crank2"), (0.0, pi)),
}


@cache
def linkage_model(mechanism: str, gravity_mps2: float) -> Model:
    """The linkage under that gravity."""
    return build(replace(shipped_mechanism(mechanism), gravity_mps2=(0.0, -gravity_mps2)))


def true_model(mechanism: str, configuration: Configuration) -> Model:
    """The linkage as it is."""
    return linkage_model(mechanism, configuration.gravity_mps2)


def wrong_model(mechanism: str, configuration: Configuration, level: str) -> Model:
    """The linkage as the observers believe it to be: gravity too weak."""
    return linkage_model(mechanism, configuration.gravity_mps2 - LEVELS[level])


def wrong_start(mechanism: str, model: Model, level: str) -> State:
    """Where the observers start: every crank angle wrong, at rest, consistent."""
    z = np.array(LINKAGES[mechanism].start_rad) + LEVELS[level] * pi / 16.0
    return from_independent(model, 0.0, z, np.zeros(len(z)), model.start_q)


def sensors_on(model: Model, mechanism: str, sensors: str, configuration: Configuration) -> SensorSet:
    """One stream, `sensors`, with one row per crank or coupler."""
    linkage = LINKAGES[mechanism]
    if sensors == "encoder_crank":
        encoders = tuple(Encoder(a, a, Quality(radians(1.0))) for a in linkage.angles)
        return mount(model, [SensorGroup(sensors, encoders)])
    bodies = linkage.couplers if sensors == "gyro_coupler" else linkage.cranks
    gyros = tuple(Gyroscope(b, b, Quality(configuration.gyro_std_radps)) for b in bodies)
    return mount(model, [SensorGroup(sensors, gyros)])


_PUBLISHED_RAD = {"fourbar": (5.25, 5.25), "fivebar": (31.5, 17.5)}
_FE_VAR = {"fourbar": radians(0.13125), "fivebar": radians(6.3)}


def density_zdd(mechanism: str, configuration: Configuration, level: str) -> float:
    """Plant noise of the published DEKF, UKF and error-state EKF, (rad/s²)² s."""
    high, low = _PUBLISHED_RAD[mechanism]
    return radians(low if level == "low" and configuration.name == "nd2017" else high)


@dataclass(frozen=True, slots=True)
class Tuning:
    """Noise of our own observers, one set for all rows of both linkages.

    Chosen on streams of our own (seeds 1000 to 1019; see RESULTS.md), never on the reference stream. Forces scale with
    the linkage: those on points are in units of the weight each carries, those on degrees of freedom in units of
    `weight_moment`.
    """

    force_density: float = 1.2e-5
    force_std: float = 0.038
    force_density_zdd: float = 1e-4
    shaping_density: float = 0.05
    shaping_std: float = 0.032
    shaping_density_zdd: float = 1e-4
    shaping_time_s: float = 0.5
    gravity_density: float = 1e-8
    gravity_std_mps2: float = 0.8
    gravity_density_zdd: float = 1e-6
    gravity_ekf_density_zdd: float = 1e-5  # an EKF wants more: the gyroscope on the coupler is not linear at 10 Hz

    __repr__ = short_repr


TUNING = Tuning()


def uncertainty_for(
    observer: str, mechanism: str, model: Model, configuration: Configuration, level: str, tuning: Tuning = TUNING
) -> Uncertainty:
    """Plant noise and disturbances of a named observer in this problem."""
    density = density_zdd(mechanism, configuration, level)
    disturbances: tuple[Disturbance, ...] = ()
    if observer in ("error_ekf_fe", "error_ekf_adaptive"):
        disturbances = unknown_force(model, _FE_VAR[mechanism], PRIOR_STD)
    elif observer.startswith("force_"):
        disturbances = unknown_point_forces(model, tuning.force_density, tuning.force_std)
        density = tuning.force_density_zdd
    elif observer.startswith("shaping_"):
        scale = weight_moment(model)
        disturbances = unknown_force(
            model, tuning.shaping_density * scale**2, tuning.shaping_std * scale, tuning.shaping_time_s
        )
        density = tuning.shaping_density_zdd
    elif observer.startswith("gravity_"):
        disturbances = (gravity_error(model, tuning.gravity_density, tuning.gravity_std_mps2),)
        density = tuning.gravity_ekf_density_zdd if observer == "gravity_ekf" else tuning.gravity_density_zdd
    return Uncertainty(density, PRIOR_STD, PRIOR_STD, disturbances)


def published_uncertainty(
    observer: str, mechanism: str, sensors: str, model: Model, configuration: Configuration, level: str
) -> Uncertainty | None:
    """Plant noise and start of the toolbox where its observer needs others than ours: adaptation and CEKF."""
    if observer == "error_ekf_adaptive":
        density = density_zdd(mechanism, configuration, level)
        return Uncertainty(density, PRIOR_STD, PRIOR_STD, unknown_force(model, density, PRIOR_STD))
    if observer != "cekf":
        return None
    small = Uncertainty(0.0, 1.3e-5**0.5, 1.3e-3**0.5)
    if configuration.name == "head2023":
        if mechanism == "fourbar":
            return Uncertainty(radians(42.0), PRIOR_STD, PRIOR_STD)
        return replace(small, density_zdd=radians(87.5 if sensors == "encoder_crank" else 5.25))
    if mechanism == "fourbar":
        return Uncertainty(radians(3.5), 1.3e-4**0.5, 1.3e-2**0.5)
    high, low = (87.5, 35.0) if sensors == "encoder_crank" else (5.25, 3.5)
    return replace(small, density_zdd=radians(low if level == "low" else high))


def weight_moment(model: Model) -> float:
    """A scale for unknown forces: total weight times the spread of the points at the start, N m."""
    weight = float(np.abs(model.tables.loads.steady).sum())
    return weight * float(np.ptp(model.start_q[: model.n - len(model.independent)])) / 10.0


def recipe_for(observer: str, *, as_published: bool, config: str = "nd2017") -> Recipe:
    """The recipe, or the toolbox' choices where ours corrects them.

    Sigma points close and not redrawn, dynamics that start still, unbounded adaptation, and the CEKF step for step.
    """
    recipe = RECIPES[observer]
    if not as_published:
        return recipe
    if observer == "cekf":
        return PublishedCekf(per_step=config == "nd2017")
    if isinstance(recipe, Ukf) and observer in ("ukf_fe", "ukf_tr"):
        return replace(recipe, reuse=True, alpha=1e-3)
    if isinstance(recipe, Ekf) and observer.startswith("error_"):
        return replace(recipe, still_start=True, unbounded=recipe.adaptive)
    return recipe


@cache
def delivered(rate_hz: int) -> NDArray[np.bool_]:
    """(steps,) True at the steps k = 1… whose reading is delivered: every n-th, none at t = 0."""
    mask = due(float(rate_hz), np.arange(1, STEPS + 1, dtype=np.float64) * STEP_S)
    mask.setflags(write=False)
    return mask
