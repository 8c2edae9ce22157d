"""Compile time of the filter families with all that they call, in a fresh process

python -m benchmarks.observer_compile
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile

CODE = "from hodograph.observers.warm_up import warm_up_jobs\nfor _, job in warm_up_jobs(): job()"


def main() -> None:
    """Print the CPU time of a first and of a second start."""
    with tempfile.TemporaryDirectory() as cache:
        for title in ("compile of the filter families, cold", "the same, cached start"):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, "-c", CODE], check=True, env={**os.environ, "NUMBA_CACHE_DIR": cache})
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            print(f"{title:<38}{cpu_s:>7.1f} s CPU")


if __name__ == "__main__":
    main()
