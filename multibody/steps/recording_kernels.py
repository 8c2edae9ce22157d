"""What every run loop does around a step: inputs from a schedule before it, states of wheels and records after it."""

from __future__ import annotations

from hodograph.core.frames import Array
from hodograph.multibody.forces.rolling_kernels import commit
from hodograph.multibody.model.tables import Tables, Work
from hodograph.numerics.compiling import inner


@inner
def follow(work: Work, schedule: Array, k: int) -> None:
    """Inputs of step k: row k of the schedule (steps, inputs, 3); an empty one holds what was set."""
    if k < schedule.shape[0]:
        for i in range(schedule.shape[1]):
            for d in range(3):
                work.inputs[1 + i, d] = schedule[k, i, d]


@inner
def keep(
    tables: Tables,
    work: Work,
    t_s: float,
    h: float,
    k: int,
    every: int,
    q: Array,
    qd: Array,
    qdd: Array,
    record: Array,
    wheel_record: Array,
) -> None:
    """Step k of h has ended at t: the wheels move on, and every `every`-th state is kept."""
    commit(tables, work, t_s, h, q, qd)
    if (k + 1) % every != 0:
        return
    row = record[(k + 1) // every - 1]
    for i in range(len(q)):
        row[0, i], row[1, i], row[2, i] = q[i], qd[i], qdd[i]
    wheels = wheel_record[(k + 1) // every - 1]
    for j in range(len(work.wheels)):
        for i in range(work.wheels.shape[1]):
            wheels[j, i] = work.wheels[j, i]
