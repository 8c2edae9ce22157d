"""`hodograph bench car`: microseconds per step of a whole car, 57 of them for a filter, and peers beside us."""

from __future__ import annotations

import json
import sys

from rich.console import Console
from rich.table import Table

PEER_PACKAGES = {"mujoco": "mujoco", "pinocchio": "pin"}


def run_bench_car(vehicle: str, *, as_json: bool) -> None:
    """Measure the car of a vehicle file over 30 s of stop and go with a slalom, 4 ms steps."""
    from hodograph.multibody.car.car import Car
    from hodograph.multibody.car.speed import CarSpeed, measure_car

    notes = Console(file=sys.stderr)
    notes.print("measuring (half a minute; compiling first if need be) ...")
    speed: CarSpeed = measure_car(Car.of(vehicle))
    report = speed.report()
    for peer, package in PEER_PACKAGES.items():
        if any(value is None for name, value in speed.peers_us.items() if name.startswith(peer)):
            notes.print(f"{peer} is not installed, so its figures are missing: pip install {package}")
    if as_json:
        sys.stdout.write(json.dumps(report) + "\n")
        return
    table = Table("what", "value", title=f"{vehicle}: CPU time on one core, 4 ms steps over 30 s")
    for name, value in report.items():
        if name != "peers":
            table.add_row(name, str(value))
    for name, peer_us in speed.peers_us.items():
        table.add_row(f"peer: {name}", "not installed" if peer_us is None else str(peer_us))
    Console().print(table)
