"""Steps of a car timed one by one inside compiled code, by the CPU clock of the thread: no Python in between."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from hodograph.core.frames import Array
from hodograph.multibody.model.tables import LaneWork, Tables, Work
from hodograph.multibody.steps.augmented_kernels import run_augmented
from hodograph.multibody.steps.lane_kernels import run4
from hodograph.numerics.compiling import inner, njit

THREAD_CLOCK = 3  # CLOCK_THREAD_CPUTIME_ID of Linux
clock_gettime: Any = types.ExternalFunction("clock_gettime", types.intc(types.intc, types.uintp))


@inner
def now_us(address: int, clock: Any) -> float:
    """CPU time of this thread; `clock` (2,) int64 lies at `address`."""
    clock_gettime(THREAD_CLOCK, address)
    return float(1e6 * clock[0] + 1e-3 * clock[1])


@njit
def clock_cost_us(address: int, clock: Any, out: Array) -> None:
    """What reading the clock costs itself, once per entry of `out`."""
    before = now_us(address, clock)
    for k in range(len(out)):
        after = now_us(address, clock)
        out[k] = after - before
        before = after


@njit
def timed_steps(
    tables: Tables, work: Work, force: Any, options: Array, penalty: Array, t_s: float, h: float, q: Array, qd: Array,
    qdd: Array, multiplier: Array, schedule: Array, record: Array, wheel_record: Array, cost: Array,
    address: int, clock: Any, took_us: Array, iterations: Array,
) -> int:  # fmt: skip
    """The steps of `run_augmented`, one call each; `took_us` and `iterations` have one entry per step."""
    steps = len(took_us)
    before = now_us(address, clock)
    for k in range(steps):
        spent = cost[0]
        done = run_augmented(
            tables, work, force, options, penalty, t_s, h, k, k + 1, steps + 1, q, qd, qdd, multiplier, schedule,
            record, wheel_record, cost,
        )  # fmt: skip
        if done != k + 1:
            return k
        after = now_us(address, clock)
        took_us[k] = after - before
        iterations[k] = cost[0] - spent
        before = after
    return steps


@njit
def timed_groups(
    tables: Tables, work: LaneWork, force: Any, options: Array, penalty: Array, t_s: float, h: float, start: Array,
    start_multiplier: Array, wheels: Array, q: Array, qd: Array, qdd: Array, multiplier: Array, cost: Array,
    address: int, clock: Any, took_us: Array,
) -> int:  # fmt: skip
    """Groups of four cars one step each, again and again from the same states: CPU time of all groups per round.

    start (groups, 3, n, 4), start_multiplier (groups, m, 4), wheels (groups, 4, wheels, width). Loading the states is
    part of the time. Returns how many groups were stepped.
    """
    done = 0
    for r in range(len(took_us)):
        before = now_us(address, clock)
        for g in range(start.shape[0]):
            for i in range(start.shape[2]):
                for lane in range(4):
                    q[i, lane], qd[i, lane] = start[g, 0, i, lane], start[g, 1, i, lane]
                    qdd[i, lane] = start[g, 2, i, lane]
            for i in range(start_multiplier.shape[1]):
                for lane in range(4):
                    multiplier[i, lane] = start_multiplier[g, i, lane]
            for lane in range(4):
                for k in range(wheels.shape[2]):
                    for i in range(wheels.shape[3]):
                        work.wheels[lane, k, i] = wheels[g, lane, k, i]
            done += run4(tables, work, force, options, penalty, t_s, h, 1, q, qd, qdd, multiplier, cost)
        took_us[r] = now_us(address, clock) - before
    return done


def thread_clock() -> tuple[Any, Any]:
    """(address, array) of the buffer that the clock is read into."""
    clock = np.zeros(2, dtype=np.int64)
    return np.uint64(clock.ctypes.data), clock
