"""Sideslip as channels: into a log's estimates, or into a CSV with units."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from hodograph.acquisition.log.estimates import write_estimates
from hodograph.ann.network import VsaEstimate
from hodograph.core import Channel, Frame, LogWriteError, StreamData, StreamSchema
from hodograph.observers.sideslip.drive import SideslipDrive

REFERENCE_POINT = "centre of gravity; ISO 8855, positive when moving left of the nose"
SCHEMA = StreamSchema(
    "vsa",
    (
        Channel("beta_cg_rad", "rad", Frame.BODY, description=REFERENCE_POINT),
        Channel("beta_cg_std_rad", "rad", description="1-sigma"),
        Channel("beta_cg_valid", "1", description="0: not to be used"),
    ),
)


def write_into_log(log: Path, name: str, estimate: VsaEstimate, notes: Mapping[str, str]) -> Path:
    """`estimates/<name>.arrow` of the log: a row per node at which the drive has a yaw rate."""
    t_ns, rows = np.unique(estimate.t_ns, return_index=True)
    columns = {
        "beta_cg_rad": estimate.beta_rad[rows],
        "beta_cg_std_rad": estimate.std_rad[rows],
        "beta_cg_valid": estimate.valid[rows].astype(np.float64),
    }
    return write_estimates(log, name, StreamData(SCHEMA, t_ns, columns), notes=notes)


def write_csv(path: Path, drive: SideslipDrive, estimate: VsaEstimate) -> Path:
    """A row of names, a row of units, then t_s, vsa and vsa_std in deg, vsa_valid."""
    columns = [drive.t_s, np.degrees(estimate.beta_rad), np.degrees(estimate.std_rad), estimate.valid.astype(float)]
    try:
        np.savetxt(
            path,
            np.stack(columns, axis=1),
            fmt=("%.6f", "%.5f", "%.5f", "%d"),
            delimiter=",",
            header="t,vsa,vsa_std,vsa_valid\ns,deg,deg,1",
            comments="",
        )
    except OSError as error:
        raise LogWriteError(f"{path}: cannot be written: {error.strerror}") from error
    return path
