"""The same mechanisms in exudyn, the peer: maximal coordinates, joints as constraints, implicit time integration."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from hodograph.core.frames import Array


@contextmanager
def _any_version() -> Iterator[None]:
    """exudyn renames its parameters from version to version and keeps the old names for years."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


def _solve(exudyn: Any, mbs: Any, h_s: float, steps: int, *, index2: bool, every: int = 1) -> float:
    """Run the simulation; returns the seconds of CPU the solver took."""
    settings = exudyn.SimulationSettings()
    settings.timeIntegration.numberOfSteps = steps
    settings.timeIntegration.endTime = h_s * steps
    settings.timeIntegration.verboseMode = 0
    settings.timeIntegration.newton.useModifiedNewton = True
    settings.timeIntegration.generalizedAlpha.spectralRadius = 0.9
    if index2:
        settings.timeIntegration.generalizedAlpha.useIndex2Constraints = True
        settings.timeIntegration.generalizedAlpha.useNewmark = True
    settings.timeIntegration.newton.relativeTolerance = 1e-8
    settings.timeIntegration.newton.absoluteTolerance = 1e-10
    settings.solutionSettings.writeSolutionToFile = False
    settings.solutionSettings.sensorsWritePeriod = h_s * every
    settings.timeIntegration.simulateInRealtime = False
    settings.displayStatistics = False
    started = time.thread_time()
    mbs.SolveDynamic(settings)
    return time.thread_time() - started


@_any_version()
def planar(
    bars: list[tuple[Array, Array, float]],
    joints: list[tuple[int, int]],
    gravity_mps2: float,
    h_s: float,
    steps: int,
    *,
    slider: tuple[int, float] | None = None,
    index2: bool = False,
    record: bool = True,
) -> tuple[Array, float]:
    """Uniform bars (start, end, mass); joints link the end of bar i with the start of bar j (−1: ground).

    `slider` = (bar, mass): the end of that bar carries a mass and keeps its height. Returns the angle of the first
    bar at every step (steps+1,), only at both ends without `record`, and the solver's CPU time.
    """
    import exudyn
    import exudyn.itemInterface as untyped_items

    item: Any = untyped_items
    container = exudyn.SystemContainer()
    mbs = container.AddSystem()
    ground = mbs.AddObject(item.ObjectGround())
    bodies, lengths, nodes = [], [], []
    for start, end, mass in bars:
        along = end - start
        length = float(np.hypot(*along))
        angle = float(np.arctan2(along[1], along[0]))
        centre = (start + end) / 2
        node = mbs.AddNode(item.NodeRigidBody2D(referenceCoordinates=[centre[0], centre[1], angle]))
        body = mbs.AddObject(
            item.ObjectRigidBody2D(nodeNumber=node, physicsMass=mass, physicsInertia=mass * length**2 / 12)
        )
        bodies.append(body)
        nodes.append(node)
        lengths.append(length)
        weight = mbs.AddMarker(item.MarkerBodyMass(bodyNumber=body))
        mbs.AddLoad(item.LoadMassProportional(markerNumber=weight, loadVector=[0.0, gravity_mps2, 0.0]))

    def marker(bar: int, *, at_end: bool, ground_at: Array) -> Any:
        if bar < 0:
            return mbs.AddMarker(item.MarkerBodyPosition(bodyNumber=ground, localPosition=[*ground_at, 0.0]))
        offset = lengths[bar] / 2 * (1.0 if at_end else -1.0)
        return mbs.AddMarker(item.MarkerBodyPosition(bodyNumber=bodies[bar], localPosition=[offset, 0.0, 0.0]))

    for first, second in joints:
        place = bars[second][0] if second >= 0 else bars[first][1]
        markers = [marker(first, at_end=True, ground_at=place), marker(second, at_end=False, ground_at=place)]
        mbs.AddObject(item.ObjectJointRevolute2D(markerNumbers=markers))
    if slider is not None:
        bar, mass = slider
        place = bars[bar][1]
        node = mbs.AddNode(item.NodePoint2D(referenceCoordinates=list(place)))
        body = mbs.AddObject(item.ObjectMassPoint2D(nodeNumber=node, physicsMass=mass))
        here = mbs.AddMarker(item.MarkerBodyPosition(bodyNumber=body))
        mbs.AddObject(item.ObjectJointRevolute2D(markerNumbers=[marker(bar, at_end=True, ground_at=place), here]))
        height = mbs.AddMarker(item.MarkerNodeCoordinate(nodeNumber=node, coordinate=1))
        fixed = mbs.AddNode(item.NodePointGround())
        floor = mbs.AddMarker(item.MarkerNodeCoordinate(nodeNumber=fixed, coordinate=0))
        mbs.AddObject(item.ObjectConnectorCoordinate(markerNumbers=[floor, height]))
        weight = mbs.AddMarker(item.MarkerBodyMass(bodyNumber=body))
        mbs.AddLoad(item.LoadMassProportional(markerNumber=weight, loadVector=[0.0, gravity_mps2, 0.0]))
    sensor = mbs.AddSensor(
        item.SensorNode(
            nodeNumber=nodes[0], storeInternal=True, outputVariableType=exudyn.OutputVariableType.Coordinates
        )
    )
    mbs.Assemble()
    seconds = _solve(exudyn, mbs, h_s, steps, index2=index2, every=1 if record else steps)
    data = np.array(mbs.GetSensorStoredData(sensor))
    along = bars[0][1] - bars[0][0]
    return data[:, 3] + float(np.arctan2(along[1], along[0])), seconds


@_any_version()
def spatial_fourbar(gravity_mps2: float, h_s: float, steps: int) -> tuple[Array, float]:
    """The shipped RSSR mechanism; returns the crank angle (steps+1,) and the solver's CPU time."""
    import exudyn
    import exudyn.itemInterface as untyped_items
    from exudyn import rigidBodyUtilities as untyped_bodies

    rigid: Any = untyped_bodies
    half = 0.3 * np.sqrt(0.5)
    a, b = np.zeros(3), np.array([0.0, half, half])
    c, d = np.array([1.0, 0.4, 0.8]), np.array([1.0, 0.4, 0.0])
    item: Any = untyped_items
    container = exudyn.SystemContainer()
    mbs = container.AddSystem()
    ground = mbs.AddObject(item.ObjectGround())
    coupler_axis = (c - b) / np.linalg.norm(c - b)
    inertia = 2.0 * float((c - b) @ (c - b)) / 12
    coupler = inertia * (np.eye(3) - np.outer(coupler_axis, coupler_axis)) + 1e-6 * np.outer(coupler_axis, coupler_axis)
    crank = np.array([[0.012, 0.0, 0.0], [0.0, 0.0065, -0.0055], [0.0, -0.0055, 0.0065]])
    parts = [((a + b) / 2, 1.5, crank), ((b + c) / 2, 2.0, coupler), ((c + d) / 2, 3.0, np.diag([0.16, 0.16, 0.003]))]
    bodies = [
        mbs.CreateRigidBody(
            inertia=rigid.RigidBodyInertia(mass=mass, com=[0.0, 0.0, 0.0], inertiaTensor=tensor),
            referencePosition=list(centre),
            gravity=[0.0, 0.0, gravity_mps2],
        )
        for centre, mass, tensor in parts
    ]
    mbs.CreateRevoluteJoint(bodyNumbers=[ground, bodies[0]], position=list(a), axis=[1.0, 0.0, 0.0])
    mbs.CreateRevoluteJoint(bodyNumbers=[ground, bodies[2]], position=list(d), axis=[0.0, 1.0, 0.0])
    for first, second, place in ((0, 1, b), (1, 2, c)):
        mbs.CreateSphericalJoint(bodyNumbers=[bodies[first], bodies[second]], position=list(place))
    sensor = mbs.AddSensor(
        item.SensorBody(
            bodyNumber=bodies[0],
            storeInternal=True,
            localPosition=list((b - a) / 2),
            outputVariableType=exudyn.OutputVariableType.Position,
        )
    )
    mbs.Assemble()
    seconds = _solve(exudyn, mbs, h_s, steps, index2=False)
    data = np.array(mbs.GetSensorStoredData(sensor))
    return np.unwrap(np.arctan2(data[:, 3], data[:, 2])), seconds
