"""The header of a vehicle file: the whole vehicle as a single-track model knows it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace

from hodograph.core.display import short_repr
from hodograph.vehicles.checks import require_ranges

AGREE_M = 0.01
"""How far distances may be from each other when a file states more of them than it must."""
DISTANCES = "two of cg_to_front_axle_m, cg_to_rear_axle_m, wheelbase_m (instead of the first two also front_load_share)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chassis:
    """The whole vehicle as it stands on the road: driver, fuel and wheels included.

    A single-track filter needs `mass_kg`, the place of both axles, `track_m`, `cg_height_m` and `yaw_inertia_kgm2`. A
    file with hard points may leave all of it out, for it follows from them; what is stated besides must agree.
    """

    mass_kg: float | None = None  # of everything
    cg_to_front_axle_m: float | None = None  # along x, from the centre of gravity of everything
    cg_to_rear_axle_m: float | None = None  # along x, from the centre of gravity of everything
    wheelbase_m: float | None = None  # distance of the axles: saves one of the two above
    front_load_share: float | None = None  # part of the weight on the front axle: with wheelbase_m saves both
    track_m: float | None = None  # distance of left and right wheels, mean of both axles
    cg_height_m: float | None = None  # of the centre of gravity of everything, above the road
    yaw_inertia_kgm2: float | None = None  # of everything, about the vertical through its centre of gravity
    brake_share_front: float | None = None  # of the brake force at the front axle; else of the brakes, or 0.6
    drive_share_front: float | None = None  # of the drive force at the front axle; else of the drive, or 0
    roll_share_front: float | None = None  # of the lateral load transfer that the front axle takes; 0.5

    def __post_init__(self) -> None:
        require_ranges(
            self,
            {
                "mass_kg": (50, 50e3),
                "cg_to_front_axle_m": (0.2, 10),
                "cg_to_rear_axle_m": (0.2, 10),
                "wheelbase_m": (0.4, 20),
                "front_load_share": (0.05, 0.95),
                "track_m": (0.3, 4),
                "cg_height_m": (0.05, 4),
                "yaw_inertia_kgm2": (1, 1e6),
                "brake_share_front": (0, 1),
                "drive_share_front": (0, 1),
                "roll_share_front": (0.05, 0.95),
            },
        )
        found = self.cg_to_axles_m
        if found is not None:
            self._require_agreement(*found)

    def _require_agreement(self, front_m: float, rear_m: float) -> None:
        base_m = front_m + rear_m
        if self.wheelbase_m is not None and abs(self.wheelbase_m - base_m) > AGREE_M:
            raise ValueError(f"wheelbase_m is {self.wheelbase_m:g}, but the axles are {base_m:g} m apart")
        share = self.front_load_share
        if share is not None and abs(share - rear_m / base_m) > AGREE_M:
            raise ValueError(
                f"front_load_share is {share:g}, but the distances of the axles mean {rear_m / base_m:.3f}"
            )

    @property
    def cg_to_axles_m(self) -> tuple[float, float] | None:
        """Distances of the front and the rear axle, from any two numbers that say them."""
        front_m, rear_m, base_m = self.cg_to_front_axle_m, self.cg_to_rear_axle_m, self.wheelbase_m
        if front_m is not None and rear_m is not None:
            return front_m, rear_m
        if base_m is None:
            return None
        if front_m is None and rear_m is None:
            if self.front_load_share is None:
                return None
            rear_m = self.front_load_share * base_m
        if rear_m is None:
            assert front_m is not None
            rear_m = base_m - front_m
        return base_m - rear_m, rear_m

    @property
    def lacks(self) -> tuple[str, ...]:
        """What a single-track model needs and this does not say."""
        needed = ("mass_kg", "track_m", "cg_height_m", "yaw_inertia_kgm2")
        missing = tuple(name for name in needed if getattr(self, name) is None)
        return missing if self.cg_to_axles_m is not None else (*missing, DISTANCES)

    @property
    def stated(self) -> tuple[str, ...]:
        """Names of what is given."""
        return tuple(f.name for f in fields(self) if getattr(self, f.name) is not None)

    def filled(self, other: Chassis) -> Chassis:
        """This, and what it does not say from another; the place of the axles as two distances."""
        given = {name: getattr(self, name) for name in self.stated}
        if self.cg_to_axles_m is not None:
            given["cg_to_front_axle_m"], given["cg_to_rear_axle_m"] = self.cg_to_axles_m
        return replace(other, **given | {"wheelbase_m": None, "front_load_share": None})

    __repr__ = short_repr


@dataclass(frozen=True, slots=True, kw_only=True)
class AxleTyres:
    """The tyres of an axle together, as one likes to know them; what is left out is that of any sporty car.

    With hard points it follows from the tyres there; what is stated here holds for single-track models nevertheless,
    because an axle with all its compliance is softer than its tyres.
    """

    cornering_stiffness_npr: float | None = None  # lateral force of the axle per slip angle (N/rad), at rest
    cornering_coefficient_perrad: float | None = None  # instead: the same over the axle's load (1/rad), 10 to 30
    friction: float | None = None  # largest lateral force over the axle's load
    relaxation_m: float | None = None  # way on which the lateral force follows the slip angle

    def __post_init__(self) -> None:
        require_ranges(
            self,
            {
                "cornering_stiffness_npr": (1e3, 1e7),
                "cornering_coefficient_perrad": (2, 100),
                "friction": (0.05, 4),
                "relaxation_m": (0.01, 5),
            },
        )
        if self.cornering_stiffness_npr is not None and self.cornering_coefficient_perrad is not None:
            raise ValueError("cornering_stiffness_npr and cornering_coefficient_perrad say the same: give one of them")

    def filled(self, other: AxleTyres) -> AxleTyres:
        """This, and what it does not say from another."""
        given = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) is not None}
        if given.keys() & {"cornering_stiffness_npr", "cornering_coefficient_perrad"}:
            other = replace(other, cornering_stiffness_npr=None, cornering_coefficient_perrad=None)
        return replace(other, **given)

    def stiffness_npr(self, load_n: float) -> float | None:
        """Of the axle at a load, if it is known."""
        if self.cornering_stiffness_npr is not None:
            return self.cornering_stiffness_npr
        return None if self.cornering_coefficient_perrad is None else self.cornering_coefficient_perrad * load_n

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class Tyres:
    """Both axles' tyres, for single-track models."""

    front: AxleTyres = field(default_factory=AxleTyres)  # of the front axle
    rear: AxleTyres = field(default_factory=AxleTyres)  # of the rear axle

    def filled(self, other: Tyres) -> Tyres:
        """This, and what it does not say from another."""
        return Tyres(self.front.filled(other.front), self.rear.filled(other.rear))

    __repr__ = short_repr
