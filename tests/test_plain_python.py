"""NUMBA_DISABLE_JIT=1 works on everything: one run of each family as plain Python gives what machine code gives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plain_samples import RUNS, is_compiled

CHILD = Path(__file__).parent / "plain_samples.py"
TOLERANCE = 1e-9
"""Of a run's largest number: machine code may add in another order."""


@pytest.fixture(scope="module")
def plain() -> dict[str, Any]:
    """All runs of a process that compiles nothing; what it warns of is an error."""
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", str(CHILD)],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    said: dict[str, Any] = json.loads(done.stdout)
    assert not said["compiled"]
    return said["runs"]  # type: ignore[no-any-return]


@pytest.mark.skipif(not is_compiled(), reason="nothing is compiled here, so there is nothing to compare with")
@pytest.mark.parametrize("name", RUNS)
def test_plain_python_gives_what_machine_code_gives(name: str, plain: dict[str, Any]) -> None:
    wanted, got = RUNS[name](), np.array(plain[name])
    assert np.isfinite(wanted).any()
    np.testing.assert_allclose(got, wanted, rtol=0.0, atol=TOLERANCE * float(np.nanmax(np.abs(wanted))))
