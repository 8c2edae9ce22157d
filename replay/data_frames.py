"""Drives and estimates as data frames: here, since the folders that make them do not know pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hodograph.ann.network import VsaEstimate
from hodograph.core.estimate import Estimate
from hodograph.core.frames import Array
from hodograph.core.stream_data import StreamData
from hodograph.multibody.car.car import Drive
from hodograph.observers.events import Nodes
from hodograph.observers.on_mechanism.uncertainty import state_layout
from hodograph.observers.sideslip.channels import BETA_CHANNEL, CHANNELS
from hodograph.observers.sideslip.drive import SideslipDrive
from hodograph.observers.sideslip.observer import SideslipRun
from hodograph.replay.evaluation import Evaluation
from hodograph.replay.labels import name_and_unit
from hodograph.replay.motion import TrueMotion
from hodograph.vehicles.car import CORNERS

if TYPE_CHECKING:
    import pandas as pd

Shown = (
    StreamData | SideslipDrive | SideslipRun | Nodes | VsaEstimate | Estimate | TrueMotion | Drive | Evaluation
)  # fmt: skip
"""What can become a data frame; a list of `Estimate`s can, too."""

_ANGLES, _AXES = ("roll", "pitch", "yaw"), ("x", "y", "z")


def to_pandas(thing: Shown | Sequence[Estimate]) -> pd.DataFrame:
    """A row per instant, indexed by `t_ns`, a column per channel or state; units are in `frame.attrs["units"]`.

    Of an estimate over time each state has its 1-sigma beside it (`theta_rad`, `theta_std_rad`), and `valid`. A single
    `Estimate` has a row per state; an `Evaluation` one per observer.
    """
    if isinstance(thing, Evaluation):
        return thing.to_pandas()
    if isinstance(thing, Estimate):
        return _of_estimate(thing)
    if isinstance(thing, StreamData):
        return _framed(thing.t_ns, thing.columns, {c.name: c.unit for c in thing.schema.channels})
    if isinstance(thing, SideslipDrive):
        return _of_drive(thing)
    if isinstance(thing, SideslipRun | Nodes):
        return _of_states(thing.t_ns, thing.layout.names, thing.x, thing.std, thing.valid)
    if isinstance(thing, VsaEstimate):
        return _of_states(
            thing.t_ns, (BETA_CHANNEL,), thing.beta_rad[:, None], thing.std_rad[:, None], thing.valid
        )  # fmt: skip
    if isinstance(thing, TrueMotion):
        names = state_layout(thing.model).names
        return _framed(_ns(thing.t_s), dict(zip(names, thing.x.T, strict=True)))
    if isinstance(thing, Drive):
        return _of_car(thing)
    if isinstance(thing, list | tuple) and thing and all(isinstance(one, Estimate) for one in thing):
        return _of_estimates(thing)
    raise ValueError(
        f"no data frame of a {type(thing).__name__}; there are those of drives, runs, estimates, motions and streams, "
        "and `LogReader.pandas(stream)`"
    )


def std_name(row: str) -> str:
    """`theta_rad` → `theta_std_rad`, as logs name the 1-sigma of a channel."""
    name, unit = name_and_unit(row)
    return f"{row}_std" if unit == "1" else f"{name}_std{row.removeprefix(name)}"


def _framed(
    t_ns: NDArray[np.int64], columns: Mapping[str, NDArray[np.generic]], units: Mapping[str, str] | None = None
) -> pd.DataFrame:
    import pandas as pd

    frame = pd.DataFrame(dict(columns), index=pd.Index(t_ns, name="t_ns"))
    frame.attrs["units"] = dict(units) if units is not None else {name: name_and_unit(name)[1] for name in columns}
    return frame


def _of_states(
    t_ns: NDArray[np.int64], names: Sequence[str], x: Array, std: Array, valid: NDArray[np.bool_]
) -> pd.DataFrame:
    columns: dict[str, NDArray[np.generic]] = {}
    for k, name in enumerate(names):
        columns[name], columns[std_name(name)] = x[:, k], std[:, k]
    return _framed(t_ns, {**columns, "valid": valid})


def _of_estimates(series: Sequence[Estimate]) -> pd.DataFrame:
    layout = series[0].layout
    if any(one.layout.names != layout.names for one in series):
        raise ValueError("these estimates have not all the same rows: they are of several observers")
    t_ns = np.array([one.t_ns for one in series], dtype=np.int64)
    std = np.array([np.sqrt(np.diag(one.P)) for one in series])
    valid = np.array([one.valid for one in series], dtype=np.bool_)
    return _of_states(t_ns, layout.names, np.array([one.x for one in series]), std, valid)


def _of_estimate(one: Estimate) -> pd.DataFrame:
    import pandas as pd

    names = one.layout.names
    columns = {"value": one.x, "std": np.sqrt(np.diag(one.P)), "unit": [name_and_unit(name)[1] for name in names]}
    frame = pd.DataFrame(columns, index=pd.Index(names, name="row"))
    frame.attrs["t_ns"] = one.t_ns
    return frame


def _of_drive(drive: SideslipDrive) -> pd.DataFrame:
    columns = dict(zip(CHANNELS, drive.inputs.T, strict=True))
    if drive.beta_rad is not None:
        columns[BETA_CHANNEL] = drive.beta_rad
    return _framed(drive.t_ns, columns)


def _of_car(drive: Drive) -> pd.DataFrame:
    """Vectors by axis (`position_x_m`), wheels by corner (`load_fl_n`)."""
    vectors = ("position_m", "velocity_mps", "body_mps", "rates_radps", "acceleration_mps2")
    wheels = ("load_n", "force_x_n", "force_y_n", "slip_x_mps", "slip_y_mps", "spin_radps")
    columns = {f"{which}_rad": values for which, values in zip(_ANGLES, drive.rpy_rad.T, strict=True)}
    for parts, names in ((_AXES, vectors), (CORNERS, wheels)):
        for name in names:
            stem, _, suffix = name.rpartition("_")
            values: Array = getattr(drive, name)
            columns |= {f"{stem}_{part}_{suffix}": column for part, column in zip(parts, values.T, strict=True)}
    return _framed(_ns(drive.t_s), {**columns, BETA_CHANNEL: drive.beta_rad})


def _ns(t_s: Array) -> NDArray[np.int64]:
    return np.round(1e9 * t_s).astype(np.int64)
