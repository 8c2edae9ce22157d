"""Shared fixtures: where the data sets of others are, and whether the long matrices run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOAK = os.environ.get("HODOGRAPH_SOAK", "") not in ("", "0")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of other people's recordings; tests that need it are skipped where it is absent."""
    folder = Path(os.environ.get("HODOGRAPH_DATA", ROOT / "../shared/data")).resolve()
    if not folder.is_dir():
        pytest.skip(f"no data sets at {folder}: set HODOGRAPH_DATA")
    return folder


@pytest.fixture(scope="session")
def soak() -> bool:
    """True under `make soak`: run the long matrices in full."""
    return SOAK
