"""What the sensors on a mechanism would send on a given motion: noise, rate, latency, bias and resolution honoured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hodograph.core.frames import Array
from hodograph.core.reading import Reading
from hodograph.multibody.model.build import State
from hodograph.sensors.table import SensorSet


def ideal(sensors: SensorSet, states: Sequence[State]) -> Array:
    """What rows without noise would read at each state, (k, m); biases are in it."""
    return np.array([sensors.h(s.q, s.qd, s.qdd) for s in states])


def sample(sensors: SensorSet, clean: Array, unit_noise: Array) -> Array:
    """Readings (k, m) from ideal ones and unit normal draws, both (k, m).

    Each row gets its white noise, is rounded to its resolution, and comes back to (−π, π] where it lives on a circle.
    """
    if clean.shape != unit_noise.shape or clean.shape[1] != len(sensors.rows):
        raise ValueError(f"ideal {clean.shape}, noise {unit_noise.shape}, want (k, {len(sensors.rows)}) of both")
    read = clean + np.array([row.quality.std for row in sensors.rows]) * unit_noise
    for i, row in enumerate(sensors.rows):
        if row.quality.resolution > 0.0:
            read[:, i] = row.quality.resolution * np.round(read[:, i] / row.quality.resolution)
        if row.period_rad > 0.0:
            read[:, i] -= row.period_rad * np.ceil(read[:, i] / row.period_rad - 0.5)
    return read


def due(rate_hz: float | None, t_s: Array) -> NDArray[np.bool_]:
    """Which of the increasing instants (k,) a sensor reads at: the first one period after t = 0; all without a rate.

    An instant counts when it is no more than a millionth of a period early, as in the linkage
    benchmark.
    """
    found = np.ones(len(t_s), dtype=np.bool_)
    if rate_hz is None:
        return found
    period_s, last_s = 1.0 / rate_hz, 0.0
    for k, now_s in enumerate(t_s):
        found[k] = now_s + 1e-6 * period_s >= last_s + period_s
        if found[k]:
            last_s = float(now_s)
    return found


def simulate_readings(
    sensors: SensorSet, states: Sequence[State], rng: np.random.Generator, start_ns: int = 0
) -> list[Reading]:
    """The readings of all sensors along a motion, in the order in which they arrive.

    `start_ns` is the arrival clock at t = 0. A reading is stamped `t_ns` on arrival, its latency after the state that
    it shows; `t_sensor_ns` is when it was measured.
    """
    clean = ideal(sensors, states)
    read = sample(sensors, clean, rng.standard_normal(clean.shape))
    t_s = np.array([s.t_s for s in states])
    found = []
    for sensor in sensors.sensors:
        first, end = sensors.first_row[sensor.name]
        late_ns = round(1e9 * sensor.quality.latency_s)
        for k in np.flatnonzero(due(sensor.quality.rate_hz, t_s)):
            measured_ns = start_ns + round(1e9 * float(t_s[k]))
            values = tuple(map(float, read[k, first:end]))
            found.append(Reading(measured_ns + late_ns, sensor.name, values, measured_ns))
    return sorted(found, key=lambda r: r.t_ns)
