"""Compile the filters once, before a car moves; the machine code stays on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator


def warm_up_jobs() -> Iterator[tuple[str, Callable[[], object]]]:
    """What there is to compile, as (name, job): one entry per filter family."""
    import numpy as np

    from hodograph.observers.conformance import rail
    from hodograph.observers.on_mechanism.mechanism import engine

    problem = rail().problem
    for family, name in {
        "extended Kalman filters": "error_ekf",
        "unscented filters": "ukf_tr",
        "continuous filter": "cekf",
        "filters on all coordinates": "sckf",
    }.items():
        yield family, lambda name=name: engine(problem, name).run(np.zeros((2, 2)))  # type: ignore[misc]
