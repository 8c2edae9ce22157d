"""Training of every kind of sideslip model; all that is chosen or calibrated is so on held-out blocks of its data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from hodograph.ann.model import VsaKind, VsaModel
from hodograph.ann.network import VsaEstimate, VsaNetwork
from hodograph.ann.observer import estimate_drive
from hodograph.ann.training import RECIPES, Recipe, train
from hodograph.core import Array
from hodograph.core.kinds import member
from hodograph.observers.sideslip.drive import SideslipDrive
from hodograph.observers.sideslip.identify import Identified, identify
from hodograph.observers.sideslip.observer import engine_for, run_drive
from hodograph.observers.sideslip.parameters import FilterPart
from hodograph.observers.sideslip.vehicle import ANY_CAR, SideslipVehicle

NETWORK_TIMES_S = (0.03, 0.1, 0.3, 1.0)  # tried for the hybrid
UNJUDGED_BAND_SCALE = 2.5  # without a reference nobody can say; on the 250 LM this is what its band lacked
OnProgress = Callable[[str, float, float], None]


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to train the filter: blocks held out for its band, iterations on everything and on the rest."""

    folds: int = 3
    iterations: int = 25
    fold_iterations: int = 10


def train_model(
    kind: VsaKind,
    drives: Sequence[SideslipDrive],
    *,
    vehicle: SideslipVehicle | None = None,
    recipe: Recipe | None = None,
    seed: int = 0,
    effort: Effort | None = None,
    part: FilterPart | None = None,
    on_progress: OnProgress | None = None,
) -> VsaModel:
    """A model of that kind from drives that `check_trainable` accepted; `part` saves identifying the filter again."""
    kind = member(VsaKind, kind)
    effort = effort or Effort()
    tell = on_progress or (lambda what, done, total: None)
    trained_on: dict[str, object] = {
        "drives": [d.name for d in drives],
        "seconds": [float(d.t_s[-1] - d.t_s[0]) for d in drives],
        "vehicle": None if vehicle is None else vehicle.name,
        "seed": seed,
    }
    if kind is VsaKind.EKF:
        return VsaModel(kind, None, part or identified_filter(drives, vehicle, effort, tell), trained_on)
    chosen = recipe or RECIPES["static" if kind is VsaKind.STATIC else "memory"]
    trained = train(
        drives, chosen, seed=seed, trained_on=trained_on, on_progress=lambda d, n: tell("training networks", d, n)
    )
    trained_on["held_out_rmse_deg"] = float(np.degrees(trained.held_out_rmse_rad))
    if kind is not VsaKind.HYBRID:
        return VsaModel(kind, trained.network, None, trained_on)
    part = part or identified_filter(drives, vehicle, effort, tell)
    if part.network_time_s == 0.0:
        part = _with_network(drives, chosen, part, seed, effort, tell)
    return VsaModel(kind, trained.network, part, trained_on)


def _blocks(drives: Sequence[SideslipDrive], folds: int) -> list[tuple[list[SideslipDrive], SideslipDrive]]:
    """(the rest, the block held out) for each block in time of each drive."""
    pairs = []
    for i, drive in enumerate(drives):
        others = [d for j, d in enumerate(drives) if j != i]
        cuts = np.linspace(0, len(drive.t_s), folds + 1).astype(int)
        for low, high in pairwise(cuts.tolist()):
            rest = [drive.rows(a, b) for a, b in ((0, low), (high, len(drive.t_s))) if b - a > 200]
            pairs.append((others + rest, drive.rows(low, high)))
    return pairs


def _identified(
    drives: Sequence[SideslipDrive],
    vehicle: SideslipVehicle | None,
    iterations: int,
    tell: OnProgress,
    what: str,
    *,
    confidence: bool,
) -> Identified:
    done = 0.0

    def told(_: float) -> None:
        nonlocal done
        done += 1.0
        tell(what, done, iterations)

    return identify(
        drives,
        (vehicle or ANY_CAR).prior,
        geometry_known=vehicle is not None,
        confidence=confidence,
        max_iterations=iterations,
        on_progress=told,
    )


def identified_filter(
    drives: Sequence[SideslipDrive], vehicle: SideslipVehicle | None, effort: Effort, tell: OnProgress
) -> FilterPart:
    """The filter identified on everything; its band widened by what held-out blocks say, its surprise bounded."""
    found = _identified(drives, vehicle, effort.iterations, tell, "identifying the car", confidence=True)
    surprise = max(_surprise(FilterPart(found.parameters), d) for d in drives)
    part = FilterPart(found.parameters, nis_limit=1.5 * surprise, limits=found.limits)
    if any(d.beta_rad is None for d in drives) or effort.folds < 2:
        return replace(part, band_scale=UNJUDGED_BAND_SCALE)
    ratios = []
    for number, (rest, block) in enumerate(_blocks(drives, effort.folds)):
        what = f"band, block {number + 1}"
        found = _identified(rest, vehicle, effort.fold_iterations, tell, what, confidence=False)
        trial = replace(part, parameters=found.parameters)
        ratios.append(_ratio(block, estimate_drive(VsaModel(VsaKind.EKF, None, trial), block)))
    return replace(part, band_scale=_scale(ratios))


def _surprise(part: FilterPart, drive: SideslipDrive) -> float:
    """The largest average of squared innovations over a drive."""
    engine = engine_for(part, drive)
    run_drive(engine, drive)
    return engine.most_surprise


def _ratio(drive: SideslipDrive, estimate: VsaEstimate) -> Array:
    """|error| over 1-sigma where the car moves and the reference speaks."""
    ratio = np.abs(estimate.beta_rad - drive.reference_rad) / estimate.std_rad
    settled = drive.moving & (drive.t_s >= drive.t_s[0] + 1.0)
    return np.asarray(ratio[settled & np.isfinite(ratio)], dtype=np.float64)


def _scale(ratios: Sequence[Array]) -> float:
    """Factor that makes ±1.96 sigma hold 95 %; a band is never narrowed."""
    return max(float(np.quantile(np.concatenate(ratios), 0.95)) / 1.96, 1.0)


def _with_network(
    drives: Sequence[SideslipDrive],
    recipe: Recipe,
    part: FilterPart,
    seed: int,
    effort: Effort,
    tell: OnProgress,
) -> FilterPart:
    """How far the filter should believe the network, judged on blocks that the network has not seen."""
    blocks = _blocks(drives, max(effort.folds, 2))
    networks: list[VsaNetwork] = []
    for number, (rest, _) in enumerate(blocks):
        tell("joining filter and network", number, len(blocks))
        networks.append(train(rest, replace(recipe, members=2, folds=2), seed=seed + 1).network)
    trials = [replace(part, network_time_s=time_s, band_scale=1.0) for time_s in NETWORK_TIMES_S]
    squares, ratios = [], []
    for trial in trials:
        joint = [
            estimate_drive(VsaModel(VsaKind.HYBRID, network, trial), b)
            for (_, b), network in zip(blocks, networks, strict=True)
        ]
        errors = [np.square(j.beta_rad - b.reference_rad)[b.moving] for (_, b), j in zip(blocks, joint, strict=True)]
        squares.append(float(np.mean(np.concatenate(errors))))
        ratios.append([_ratio(b, j) for (_, b), j in zip(blocks, joint, strict=True)])
    best = int(np.argmin(squares))
    return replace(trials[best], band_scale=_scale(ratios[best]))
