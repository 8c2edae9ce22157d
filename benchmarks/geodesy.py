"""Geodesy: time per fix, geodetic → ENU, one at a time and in columns, beside bare pyproj and plain `math`.

python -m benchmarks.geodesy
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable

import numpy as np
import pyproj

from hodograph.acquisition.geodesy import EnuFrame, Geodetic, ecef_from_geodetic, geodetic_from_degrees

ROUNDS = 9
SCALARS = 20_000
ROWS = 100_000


def _plain_math(frame: EnuFrame) -> Callable[[float, float, float], tuple[float, float, float]]:
    """Sanjurjo 2016, 5.1-5.2, with the math module alone and no objects: what Python code could reach."""
    a_m, e2 = 6378137.0, 6.69437999014e-3
    (r00, r01, r02), (r10, r11, r12), (r20, r21, r22) = frame.R_enu_from_ecef.tolist()
    x_0, y_0, z_0 = ecef_from_geodetic(frame.origin).tolist()

    def enu(latitude_rad: float, longitude_rad: float, height_m: float) -> tuple[float, float, float]:
        sin_lat, cos_lat = math.sin(latitude_rad), math.cos(latitude_rad)
        n_m = a_m / math.sqrt(1.0 - e2 * sin_lat * sin_lat)
        x = (n_m + height_m) * cos_lat * math.cos(longitude_rad) - x_0
        y = (n_m + height_m) * cos_lat * math.sin(longitude_rad) - y_0
        z = (n_m * (1.0 - e2) + height_m) * sin_lat - z_0
        return r00 * x + r01 * y + r02 * z, r10 * x + r11 * y + r12 * z, r20 * x + r21 * y + r22 * z

    return enu


def _us_per_fix(work: Callable[[], None], fixes: int) -> float:
    start_s = time.perf_counter()
    work()
    return (time.perf_counter() - start_s) / fixes * 1e6


def main() -> dict[str, float]:
    """Print the table; µs per fix by name."""
    frame = EnuFrame(geodetic_from_degrees(latitude_deg=43.3, longitude_deg=-8.4, height_m=20.0))
    latitude_rad, longitude_rad = math.radians(43.31), math.radians(-8.39)
    rng = np.random.default_rng(1)
    columns = [latitude_rad + 1e-4 * rng.random(ROWS), longitude_rad + 1e-4 * rng.random(ROWS), rng.random(ROWS)]
    bare = pyproj.Transformer.from_pipeline("+proj=cart +ellps=WGS84")

    def scalar() -> None:
        for _ in range(SCALARS):
            frame.enu_from_geodetic(Geodetic(latitude_rad=latitude_rad, longitude_rad=longitude_rad, height_m=1.0))

    def scalar_back() -> None:
        enu_m = np.array([100.0, 200.0, 3.0])
        for _ in range(SCALARS):
            frame.geodetic_from_enu(enu_m)

    def scalar_bare() -> None:
        for _ in range(SCALARS):
            bare.transform(longitude_rad, latitude_rad, 1.0, radians=True)

    plain = _plain_math(frame)

    def scalar_math() -> None:
        for _ in range(SCALARS):
            plain(latitude_rad, longitude_rad, 1.0)

    def vector() -> None:
        frame.enu_from_geodetic(Geodetic(latitude_rad=columns[0], longitude_rad=columns[1], height_m=columns[2]))

    def vector_bare() -> None:
        bare.transform(columns[1], columns[0], columns[2], radians=True)

    cases: dict[str, tuple[Callable[[], None], int]] = {
        "scalar": (scalar, SCALARS),
        "scalar_back": (scalar_back, SCALARS),
        "scalar_bare_pyproj_ecef_only": (scalar_bare, SCALARS),
        "scalar_plain_math_no_object": (scalar_math, SCALARS),
        "vectorised": (vector, ROWS),
        "vectorised_bare_pyproj_ecef_only": (vector_bare, ROWS),
    }
    rounds: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(ROUNDS):
        for name, (work, fixes) in cases.items():
            rounds[name].append(_us_per_fix(work, fixes))
    figures = {f"geodesy_{name}_us": statistics.median(times) for name, times in rounds.items()}
    print(f"{'geodetic → ENU':<40}{'µs per fix':>12}   median of {ROUNDS} interleaved rounds")
    for name in cases:
        print(f"{name:<40}{figures[f'geodesy_{name}_us']:>12.3f}")
    return figures


if __name__ == "__main__":
    main()
