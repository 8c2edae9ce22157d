"""Sensors of one model as a table for the kernels, with the friendly functions h, Jacobians and the chain to z."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hodograph.core.display import cut, listed
from hodograph.core.frames import Array
from hodograph.multibody.model.algebra import Affine, Place
from hodograph.multibody.model.build import Model, State
from hodograph.multibody.motion.derivatives import sensitivity
from hodograph.sensors.kernels import Forms, SensorTable, measure, measure_jacobians
from hodograph.sensors.on_mechanism import MechanismSensor, Row


@dataclass(frozen=True, slots=True)
class SensorSet:
    """Sensors on a model: rows by stream, and the table that kernels walk."""

    model: Model
    sensors: tuple[MechanismSensor, ...]
    rows: tuple[Row, ...]
    first_row: dict[str, tuple[int, int]]
    table: SensorTable

    def __repr__(self) -> str:
        return f"SensorSet({listed(self.first_row)}: rows {len(self.rows)}, on {cut(self.model.mechanism.name)})"

    @property
    def channels(self) -> tuple[str, ...]:
        """Channel names of all rows."""
        return tuple(row.channel for row in self.rows)

    def span(self, stream: str) -> tuple[int, int] | None:
        """First row and end of a stream, None when there is no such sensor."""
        return self.first_row.get(stream)

    def h(self, q: Array, qd: Array, qdd: Array) -> Array:
        """What all rows would read, shape (m,)."""
        return np.array([measure(self.table, i, q, qd, qdd) for i in range(len(self.rows))])

    def jacobians(self, q: Array, qd: Array, qdd: Array) -> tuple[Array, Array, Array]:
        """∂h/∂q, ∂h/∂qd, ∂h/∂qdd, each (m, n)."""
        m, n = len(self.rows), self.model.n
        h_q, h_qd, h_qdd = np.zeros((m, n)), np.zeros((m, n)), np.zeros((m, n))
        for i in range(m):
            measure_jacobians(self.table, i, q, qd, qdd, h_q[i], h_qd[i], h_qdd[i])
        return h_q, h_qd, h_qdd

    def chained(self, state: State) -> tuple[Array, Array]:
        """∂h/∂z and ∂h/∂zd (m, f) along the constraints, accelerations following the dynamics.

        Sanjurjo 2016, 3.120, 3.121; accelerations are added.
        """
        h_q, h_qd, h_qdd = self.jacobians(state.q, state.qd, state.qdd)
        s = sensitivity(self.model, state)
        by_z: Array = h_q @ s.r + h_qd @ s.qd_z + h_qdd @ s.qdd_z
        by_zd: Array = h_qd @ s.r + h_qdd @ s.qdd_zd
        return by_z, by_zd


def mount(model: Model, sensors: Sequence[MechanismSensor]) -> SensorSet:
    """Put sensors on a model; raises `MechanismError` or `ValueError` when one does not fit."""
    rows: list[Row] = []
    spans: dict[str, tuple[int, int]] = {}
    for sensor in sensors:
        if sensor.name in spans:
            raise ValueError(f"two sensors are called {sensor.name}")
        first = len(rows)
        rows.extend(sensor.rows(model))
        spans[sensor.name] = (first, len(rows))
    return SensorSet(
        model=model, sensors=tuple(sensors), rows=tuple(rows), first_row=spans, table=_tabulate(model, rows)
    )


def _tabulate(model: Model, rows: Sequence[Row]) -> SensorTable:
    gravity = np.zeros(3)
    gravity[: model.mechanism.dim] = model.mechanism.gravity_mps2
    return SensorTable(
        kind=np.array([row.kind for row in rows], dtype=np.uint32),
        b=make_forms([row.b for row in rows]),
        c=make_forms([row.c for row in rows]),
        gravity=gravity,
        bias=np.array([row.quality.bias for row in rows]),
        var=np.array([row.quality.var for row in rows]),
        period=np.array([row.period_rad for row in rows]),
    )


def make_forms(places: Sequence[Place]) -> Forms:
    """Places or directions, one row each, as the kernels walk them."""
    start, terms, values = [0], [], []
    const = np.zeros((len(places), 3))
    for i, place in enumerate(places):
        for axis, form in enumerate(place):
            _check(form)
            const[i, axis] = form.const
            for k, factor in form.terms.items():
                terms.append((k, axis))
                values.append(factor)
        start.append(len(terms))
    return Forms(
        start=np.array(start, dtype=np.uint32),
        term=np.array(terms, dtype=np.uint32).reshape(-1, 2),
        val=np.array(values, dtype=np.float64),
        const=const,
    )


def _check(form: Affine) -> None:
    if not np.isfinite(form.const):
        raise ValueError("a sensor row is not finite")
