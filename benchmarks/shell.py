"""The shell in Python: what a reading costs on its way into the loop, one by one and in batches

An EKF on a rail with two sensors; the filter's own work is a microsecond of it. Shortest of five runs.
"""

from __future__ import annotations

import time

from hodograph.observers.conformance import rail, simulate
from hodograph.observers.on_mechanism.mechanism import observer

BATCHES = (1, 2, 5, 20, 200)


def main() -> None:
    """Microseconds a reading, by size of batch."""
    case = rail()
    readings = simulate(case, 4000, 1)[1]
    print(f"{'readings at once':>18s} {'us a reading':>14s} {'us a call':>12s}")
    for size in BATCHES:
        best = float("inf")
        for _ in range(5):
            made = observer(case.problem, "error_ekf")
            made.feed(readings[:1])
            begin = time.perf_counter()
            for k in range(1, len(readings), size):
                made.feed(readings[k : k + size])
            best = min(best, time.perf_counter() - begin)
        each = 1e6 * best / (len(readings) - 1)
        print(f"{size:18d} {each:14.1f} {each * size:12.1f}")


if __name__ == "__main__":
    main()
