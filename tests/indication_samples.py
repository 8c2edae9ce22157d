"""Runs of every observer as tables of named columns, for the change indication in `tests/indication`.

`python tests/indication_samples.py --write [NAME...]` rewrites the tables after a change on purpose, and says by how
much they moved; the reason belongs in the commit.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from hodograph.core import Array

FOLDER = Path(__file__).parent / "indication"
MODELS = Path(__file__).parent / "fixtures"
EVERY = 7  # steps of a linkage from row to row: no divisor of the steps between two readings at 50 Hz
STATE_TOLERANCE = 1e-7  # of a column's range; machine code without FMA and AVX moves them by 3e-9 at most
STD_TOLERANCE = 1e-6
FLAGS = ("valid",)  # equal or not, no tolerance
SEED = 10

Table = Mapping[str, Array]


# --- all that knows the interfaces of the observers ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LinkageRun:
    """State names (n,), times (steps,), states (steps, n) and covariances (steps, n, n)."""

    names: tuple[str, ...]
    t_s: Array
    x: Array
    P: Array


def run_linkage(mechanism: str, sensors: str, observer: str, rate_hz: int, *, as_published: bool = False) -> LinkageRun:
    """A named observer over the ten seconds of a linkage, with noise of our own."""
    from hodograph.bench.linkages.config import STEP_S
    from hodograph.bench.linkages.grid import Case, Source, engine_of, readings_of

    case = Case(mechanism, sensors, observer, rate_hz, "high", "nd2017")
    engine = engine_of(case, as_published=as_published)
    run = engine.run(readings_of(case, Source(seed=SEED)))
    t_s = STEP_S * np.arange(1, run.done + 1)
    return LinkageRun(engine.layout.names, t_s, run.x[: run.done], run.P[: run.done])


def run_sideslip_filter(t_s: Array, inputs: Array) -> tuple[dict[str, Array], dict[str, Array]]:
    """States and 1-sigmas by name of the sideslip filter with its default car; β is one of them."""
    from hodograph.observers.sideslip.drive import SideslipDrive
    from hodograph.observers.sideslip.observer import engine_for, run_drive
    from hodograph.observers.sideslip.parameters import SideslipParameters

    drive = SideslipDrive.sampled("indication", t_s, inputs)
    run = run_drive(engine_for(SideslipParameters(), drive), drive)
    names = {"beta_rad": "beta_cg_rad", **{name: name for name in run.layout.names if name != "beta_cg_rad"}}
    return {name: run[row] for name, row in names.items()}, {name: run.std_of(row) for name, row in names.items()}


def run_model(path: Path, t_s: Array, inputs: Array) -> tuple[Array, Array, Array]:
    """β, its 1-sigma and whether it is valid (0 or 1), of a model file."""
    from hodograph.ann.model import read_model
    from hodograph.ann.observer import estimate_drive
    from hodograph.observers.sideslip.drive import SideslipDrive

    said = estimate_drive(read_model(path), SideslipDrive.sampled(path.name, t_s, inputs))
    return said.beta_rad, said.std_rad, said.valid.astype(np.float64)


# --- the runs --------------------------------------------------------------------------------------------------------


def synthetic_drive() -> tuple[Array, Array]:
    """t_s (n,) and inputs (n, 5) of thirty seconds of weaving by formula: vx, steering, ay, ax, yaw rate; with gaps."""
    t = 0.01 * np.arange(3000)
    v = 25.0 + 5.0 * np.sin(2 * np.pi * t / 17)
    a_x = 5.0 * 2 * np.pi / 17 * np.cos(2 * np.pi * t / 17)
    swell = 1.0 + 0.5 * np.sin(2 * np.pi * t / 23)

    def steer(at: Array) -> Array:
        return np.asarray(0.018 * swell * np.sin(2 * np.pi * at / 5.3) + 0.004 * np.sin(1.9 * at))

    yaw_rate = v * steer(t - 0.08) / (2.6 * (1 + (v / 30.0) ** 2)) + 0.004 * np.sin(37.0 * t)
    a_y = v * yaw_rate + 0.3 * np.sin(2 * np.pi * t / 9.1) + 0.2 * np.sin(53.0 * t)
    inputs = np.column_stack([v, steer(t), a_y, a_x, yaw_rate])
    gaps = ((4, 700, 703), (2, 900, 940), (0, 1200, 1230), (1, 1500, 1501), (3, 1700, 1760))
    for channel, begin, end in (*gaps, *((c, 2000, 2130) for c in range(5))):
        inputs[begin:end, channel] = np.nan
    return t, inputs


def linkage_table(mechanism: str, sensors: str, observer: str, rate_hz: int, *, as_published: bool = False) -> Table:
    run = run_linkage(mechanism, sensors, observer, rate_hz, as_published=as_published)
    rows = slice(EVERY - 1, None, EVERY)
    stds = np.sqrt(np.diagonal(run.P, axis1=1, axis2=2))[rows]
    return {
        "t_s": run.t_s[rows],
        **dict(zip(run.names, run.x[rows].T, strict=True)),
        **{f"{name}_std": std for name, std in zip(run.names, stds.T, strict=True)},
    }


def sideslip_table() -> Table:
    t_s, inputs = synthetic_drive()
    states, stds = run_sideslip_filter(t_s, inputs)
    columns = {"t_s": t_s, **states, **{f"{name}_std": std for name, std in stds.items()}}
    return {name: column[::10] for name, column in columns.items()}


def model_table(file: str) -> Table:
    t_s, inputs = synthetic_drive()
    beta, std, valid = run_model(MODELS / file, t_s, inputs)
    columns = {"t_s": t_s, "beta_rad": beta, "beta_rad_std": std, "valid": valid}
    return {name: column[::10] for name, column in columns.items()}


FOURBAR = {
    "dekf": ("gyro_coupler", 200),
    "dekf_ej": ("gyro_coupler", 50),
    "error_ekf": ("gyro_coupler", 200),
    "error_ekf_ej": ("encoder_crank", 50),
    "error_ekf_fe": ("encoder_crank", 50),
    "error_ekf_adaptive": ("gyro_coupler", 50),
    "cekf": ("gyro_coupler", 200),
    "sckf": ("gyro_coupler", 200),
    "diekf_pm": ("encoder_crank", 50),
    "ukf_fe": ("gyro_coupler", 200),
    "ukf_tr": ("encoder_crank", 50),
    "srukf": ("gyro_coupler", 50),
    "force_ekf": ("gyro_coupler", 50),
    "shaping_ekf": ("encoder_crank", 50),
    "gravity_ekf": ("gyro_coupler", 50),
    "gravity_ukf": ("encoder_crank", 50),
}
FIVEBAR = {
    "error_ekf": ("gyro_coupler", 200),
    "ukf_fe": ("encoder_crank", 50),
    "cekf": ("gyro_coupler", 200),
    "sckf": ("encoder_crank", 50),
    "diekf_pm": ("encoder_crank", 50),
}
MODEL_FILES = {
    "vsa_ekf": "model-1-ekf.json",
    "vsa_static": "model-1-static.npz",
    "vsa_memory": "model-1-memory.npz",
    "vsa_hybrid": "model-1-hybrid.npz",
}

RUNS: dict[str, Callable[[], Table]] = {
    **{f"fourbar_{o}": partial(linkage_table, "fourbar", s, o, rate) for o, (s, rate) in FOURBAR.items()},
    "fourbar_cekf_published": partial(linkage_table, "fourbar", "encoder_crank", "cekf", 200, as_published=True),
    **{f"fivebar_{o}": partial(linkage_table, "fivebar", s, o, rate) for o, (s, rate) in FIVEBAR.items()},
    "sideslip": sideslip_table,
    **{name: partial(model_table, file) for name, file in MODEL_FILES.items()},
}
"""What is indicated, by the name of its CSV."""


# --- reading, writing, comparing -------------------------------------------------------------------------------------


def read_table(name: str) -> Table:
    path = FOLDER / f"{name}.csv"
    names = path.read_text(encoding="utf-8").partition("\n")[0].split(",")
    columns = np.loadtxt(path, delimiter=",", skiprows=1, unpack=True)
    return dict(zip(names, columns, strict=True))


def write_table(name: str, table: Table) -> None:
    rows = np.column_stack(list(table.values()))
    np.savetxt(
        FOLDER / f"{name}.csv", rows, fmt="%.10g", delimiter=",", header=",".join(table), comments="", encoding="utf-8"
    )


def tolerance_of(column: str, wanted: Array) -> float:
    """How far a column may be off, in its own unit: a share of its range."""
    if column in FLAGS:
        return 0.0
    seen = wanted[np.isfinite(wanted)]
    span = float(np.ptp(seen)) if len(seen) else 0.0
    share = STD_TOLERANCE if column.endswith("_std") else STATE_TOLERANCE
    return share * (span or float(np.abs(seen).max(initial=0.0)) or 1.0)


def differences(name: str, wanted: Table, got: Table) -> list[str]:
    """One line per column that moved: which, where the most, by how much, and what to do."""
    if tuple(wanted) != tuple(got):
        return [f"{name}: columns {', '.join(got)}; were {', '.join(wanted)}. {_remedy(name)}"]
    lengths = len(next(iter(wanted.values()))), len(next(iter(got.values())))
    if lengths[0] != lengths[1]:
        return [f"{name}: {lengths[1]} rows, were {lengths[0]}. {_remedy(name)}"]
    return [line for column in wanted if (line := _difference(name, column, wanted, got))]


def _difference(name: str, column: str, wanted: Table, got: Table) -> str:
    was, now = wanted[column], got[column]
    tolerance = tolerance_of(column, was)
    off = np.abs(now - was)
    off[np.isnan(was) & np.isnan(now)] = 0.0
    off[~np.isfinite(off)] = np.inf  # there where nothing was, or the other way round
    row = int(np.argmax(off))
    if off[row] <= tolerance:
        return ""
    return (
        f"{name}: {column} is off in {int(np.sum(off > tolerance))} of {len(off)} rows, most in row {row} "
        f"(t = {wanted['t_s'][row]:g} s): {now[row]:.10g}, was {was[row]:.10g}, off by {off[row]:.3g}, "
        f"allowed {tolerance:.3g}. {_remedy(name)}"
    )


def _remedy(name: str) -> str:
    return f"On purpose? python tests/indication_samples.py --write {name}, and the reason in the commit"


def main() -> None:
    parser = argparse.ArgumentParser(description="Rewrite the change indication of observers.")
    parser.add_argument("--write", nargs="*", metavar="NAME", required=True, help="which; without names, all")
    names = parser.parse_args().write or list(RUNS)
    if unknown := [name for name in names if name not in RUNS]:
        parser.error(f"no run {', '.join(unknown)}; there are {', '.join(RUNS)}")
    for name in names:
        table = RUNS[name]()
        moved = differences(name, read_table(name), table) if (FOLDER / f"{name}.csv").is_file() else ["new"]
        write_table(name, table)
        print(f"{name}: {len(table)} columns, {len(table['t_s'])} rows", *moved, sep="\n  ")


if __name__ == "__main__":
    main()
