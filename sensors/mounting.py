"""How a sensor sits in the vehicle: the turn of its axes and its place; neither has a default."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, radians

from hodograph.core.frames import Array, rotation_from_rpy


@dataclass(frozen=True, slots=True)
class Mount:
    """Axes turned by roll, pitch, yaw against the body's (R_body_from_sensor = Rz Ry Rx), at a place in body axes.

    `from_cg_m` counts from the vehicle's centre of gravity. A sensor whose axes are the body's and that sits there is
    `Mount.body()`; saying so is up to who mounted it.
    """

    rpy_deg: tuple[float, float, float]
    from_cg_m: tuple[float, float, float]

    def __post_init__(self) -> None:
        numbers = (*self.rpy_deg, *self.from_cg_m)
        if len(self.rpy_deg) != 3 or len(self.from_cg_m) != 3 or not all(isfinite(n) for n in numbers):
            raise ValueError(f"mount: want three angles and three distances, got {self.rpy_deg} and {self.from_cg_m}")
        if any(abs(a) > 360.0 for a in self.rpy_deg) or any(abs(m) > 20.0 for m in self.from_cg_m):
            raise ValueError(
                f"mount: angles are degrees up to 360, distances m up to 20; got {self.rpy_deg}, {self.from_cg_m}"
            )

    @classmethod
    def body(cls) -> Mount:
        """The sensor's axes are the body's, and it sits at the centre of gravity."""
        return cls((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))

    @property
    def R_body_from_sensor(self) -> Array:
        """(3, 3)"""
        roll, pitch, yaw = (radians(a) for a in self.rpy_deg)
        return rotation_from_rpy(roll, pitch, yaw)
