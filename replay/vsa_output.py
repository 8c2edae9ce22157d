"""Sideslip as channels: into a log's estimates, or into a CSV with units."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from hodograph.ann.network import VsaEstimate
from hodograph.core import LogWriteError
from hodograph.replay.vsa_drive import VsaDrive

REFERENCE_POINT = "centre of gravity; ISO 8855, positive when moving left of the nose"


def write_into_log(log: Path, drive: VsaDrive, estimate: VsaEstimate, kind: str) -> Path:
    """`estimates/vsa_KIND.arrow` of the log: t_ns, vsa, vsa_std (rad), vsa_valid (0 or 1)."""
    path = log / "estimates" / f"vsa_{kind}.arrow"
    fields = [
        pa.field("t_ns", pa.int64(), metadata={"unit": "ns"}),
        pa.field("vsa", pa.float64(), metadata={"unit": "rad", "description": REFERENCE_POINT}),
        pa.field("vsa_std", pa.float64(), metadata={"unit": "rad"}),
        pa.field("vsa_valid", pa.uint8(), metadata={"unit": "1"}),
    ]
    valid = estimate.valid.astype(np.uint8)
    table = pa.table([drive.t_ns, estimate.beta_rad, estimate.std_rad, valid], schema=pa.schema(fields))
    try:
        path.parent.mkdir(exist_ok=True)
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table)
    except OSError as error:
        raise LogWriteError(f"{path}: cannot be written: {error.strerror}") from error
    return path


def write_csv(path: Path, drive: VsaDrive, estimate: VsaEstimate) -> Path:
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
