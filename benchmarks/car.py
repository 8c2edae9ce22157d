"""The car: a step of 14 degrees of freedom, and 57 of them for a filter

CPU time of the thread, read inside compiled code after every step; 30 s of stop and go with a slalom in 4 ms steps.
"""

from __future__ import annotations

import numpy as np

from hodograph.bench.car_speed import CarSpeed, measure_car
from hodograph.multibody.car.car import STEP_S, Car


def show(name: str, car: Car, speed: CarSpeed) -> None:
    """One vehicle's figures beside their targets."""
    steps, cost = speed.steps, speed.steps.cost
    rounds, count = steps.took_us.shape
    print(f"{name}: n = {car.model.n}, {car.model.constraints} constraints, {rounds} rounds of {count} steps")
    print(f"{'':26s}{'median':>9s}{'p99':>9s}{'p99.9':>9s}{'max':>9s}")
    for title, quantile in (
        ("every step as it came, us", steps.quantile_us),
        ("median over rounds, us", steps.own_quantile_us),
    ):
        print(f"{title:26s}" + "".join(f"{quantile(share):>9.1f}" for share in (0.5, 0.99, 0.999, 1.0)))
    median_us = steps.quantile_us(0.5)
    print(f"  target: median <= 60 us, goal 25; real-time factor {1e6 * STEP_S / median_us:.0f}")
    print(f"  of each time {steps.clock_us:.2f} us are the clock's own")
    most = int(steps.iterations.max())
    print(
        f"  Newton iterations: mean {steps.iterations.mean():.3f}, most {most} (cap {car.options.max_iterations}), "
        f"{cost.capped} steps ended at the cap; constraints within {cost.residual:.1e} (limit 1e-8)"
    )
    sigma = speed.sigma57.took_ms
    print(
        f"  57 cars, one step, four by four: median {np.median(sigma):.3f} ms, min {sigma.min():.3f}, "
        f"max {sigma.max():.3f} (target <= 2.0); {1e3 * np.median(sigma) / 60:.1f} us per car; "
        "loading the states is in it, Python is not"
    )
    print(
        f"    constraints within {speed.sigma57.residual:.1e} (limit 1e-8), {speed.sigma57.capped} of "
        f"{speed.sigma57.steps} steps of four ended at the cap"
    )
    total = sum(speed.madds.values())
    print(
        f"  scalar limit: {total:.0f} multiply-adds / {speed.madds_per_us:.0f} per us (a quarter of what a matrix "
        f"product reaches) = {speed.limit_us:.1f} us; we are {median_us / speed.limit_us:.1f} times above"
    )
    print("    " + ", ".join(f"{part} {value:.0f}" for part, value in speed.madds.items()))


def main() -> None:
    """Both shipped vehicles, then the peers."""
    for name in ("xbw", "race_car"):
        car = Car.of(name)
        speed = measure_car(car)
        show(name, car, speed)
    print("peers in the same run, a tree of 17 bodies, 30 velocities, 12 rows of closure, without tyres (us):")
    for peer, value in speed.peers_us.items():
        print(f"  {peer:36s} {'not installed' if value is None else f'{value:.1f}'}")
    print("  mujoco: a step with soft closures; pinocchio: one evaluation of the accelerations, not a step")


if __name__ == "__main__":
    main()
