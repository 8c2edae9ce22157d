"""Runs every numbered example in order, as `make examples` does; stops at the first that fails."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent


def main() -> int:
    """Exit code: 0 when all examples ran."""
    for script in sorted(HERE.glob("[0-9][0-9]_*.py")):
        print(f"--- {script.name}", flush=True)
        begin_s = time.monotonic()
        code = subprocess.run([sys.executable, str(script)], check=False).returncode
        if code:
            print(f"{script.name} failed with exit code {code}")
            return code
        print(f"({time.monotonic() - begin_s:.1f} s)", flush=True)
    return 0


sys.exit(main())
