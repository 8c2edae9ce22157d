"""Start-up: what an import and a `--help` cost.

Fresh processes, alternating, medians of 15; the cost beyond numpy is the difference of the medians.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

ROUNDS = 15
COMMANDS = {
    "python": [sys.executable, "-c", "pass"],
    "import numpy": [sys.executable, "-c", "import numpy"],
    "import hodograph.core": [sys.executable, "-c", "import hodograph.core"],
    "hodograph --help": [str(Path(sys.executable).with_name("hodograph")), "--help"],
}


def main() -> None:
    """Print the table."""
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(ROUNDS):
        for name, command in COMMANDS.items():
            begin_s = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            seconds[name].append(time.perf_counter() - begin_s)
    median_s = {name: statistics.median(times) for name, times in seconds.items()}
    for name, value in median_s.items():
        print(f"{name:24s} {value:6.3f} s")
    beyond_s = median_s["import hodograph.core"] - median_s["import numpy"]
    print(f"hodograph.core beyond numpy {beyond_s:.3f} s (target <= 0.15), --help target <= 0.5 s")


if __name__ == "__main__":
    main()
