"""Measurement models h with Jacobians, noise and mounts."""

from hodograph.sensors.on_mechanism import (
    AbsolutePoint,
    Accelerometer,
    DistanceMeter,
    Encoder,
    Gyroscope,
    MechanismSensor,
    PointVelocity,
    Quality,
    RateEncoder,
    Row,
    SensorGroup,
)
from hodograph.sensors.sampling import due, ideal, sample, simulate_readings
from hodograph.sensors.table import SensorSet, mount

__all__ = [
    "AbsolutePoint",
    "Accelerometer",
    "DistanceMeter",
    "Encoder",
    "Gyroscope",
    "MechanismSensor",
    "PointVelocity",
    "Quality",
    "RateEncoder",
    "Row",
    "SensorGroup",
    "SensorSet",
    "due",
    "ideal",
    "mount",
    "sample",
    "simulate_readings",
]
