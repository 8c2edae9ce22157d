"""Linear theory of steady cornering with what the bicycle formula leaves out, from a vehicle's own data.

K = m/L (b/C_f − a/C_r) knows two tyres on a rigid body. This adds, each to first order in the lateral acceleration:
load transfer by axle (springs, bars, roll centres, tyres in series, gyroscopic moment of the wheels), which changes
what static toe and camber pull; steer and camber by roll and by steering, from the kinematics of each corner; the
pneumatic trail; and the drag of the side forces of toed wheels. Everything here is computed from the vehicle file and
from `CornerKinematics`, nothing from a simulation. The vehicle must be symmetric, without air and rolling resistance.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import brentq

from hodograph.core.frames import Array
from hodograph.multibody.car import CornerKinematics, StaticLoads, Vehicle, WheelPose, static_loads
from hodograph.multibody.forces.tyres import cornering_stiffness_npr, steady_force

STEP_M = 1e-3


@cache
def _static(vehicle: Vehicle) -> StaticLoads:
    return static_loads(vehicle)


@dataclass(frozen=True, slots=True)
class AxleSide:
    """The left corner of an axle near its static position; derivatives by bump (`_b`) and by rack travel (`_rack`)."""

    load_n: float
    y_m: float
    height_b: float  # of the contact
    y_b: float
    y_bb: float
    toe_rad: float  # static heading to the left
    heading_b: float
    heading_rack: float
    lean_b: float  # axis of the wheel upward; the camber angle of the tyre is its negative
    lean_rack: float
    height_rack: float
    lean_rad: float  # static
    centre_y_b: float
    wheel_rate_npm: float  # in roll, bar included
    unsprung_kg: float
    spin_inertia_kgm2: float
    stiffness_npr: float
    stiffness_slope: float  # per newton of load
    vertical_npm: float
    trail_m: float
    radius_m: float


@cache
def axle_side(vehicle: Vehicle, corner: str, load_n: float) -> AxleSide:
    """Measure the left corner of an axle."""
    kin = CornerKinematics.of(vehicle, corner)
    axle = vehicle.corner(corner).axle
    up, mid, down = (kin.pose(b) for b in (STEP_M, 0.0, -STEP_M))
    left, right = (kin.pose(0.0, r) for r in (STEP_M, -STEP_M)) if corner[0] == "f" else (mid, mid)

    def by_bump(value: Array) -> float:
        return float((value[0] - value[2]) / (2.0 * STEP_M))

    poses = (up, mid, down)
    heights, sides = np.array([p.contact_m[2] for p in poses]), np.array([p.contact_m[1] for p in poses])
    tyre, q = axle.tyre, load_n / axle.tyre.nominal_load_n
    c = cornering_stiffness_npr(tyre, np.array([load_n - 1.0, load_n, load_n + 1.0]))
    e0 = mid.steer_rad - tyre.camber_slip * mid.axes[2, 1]
    return AxleSide(
        load_n, mid.contact_m[1], by_bump(heights), by_bump(sides),
        float((sides[0] - 2.0 * sides[1] + sides[2]) / STEP_M**2),
        mid.steer_rad, by_bump(np.array([p.steer_rad for p in poses])),
        (left.steer_rad - right.steer_rad) / (2.0 * STEP_M),
        by_bump(np.array([p.axes[2, 1] for p in poses])), float(left.axes[2, 1] - right.axes[2, 1]) / (2.0 * STEP_M),
        float(left.contact_m[2] - right.contact_m[2]) / (2.0 * STEP_M), float(mid.axes[2, 1]),
        by_bump(np.array([p.centre_m[1] for p in poses])), _wheel_rate(vehicle, corner, poses),
        axle.wheel.mass_kg + axle.suspension.knuckle.mass_kg, axle.wheel.spin_inertia_kgm2, float(c[1]),
        float(c[2] - c[0]) / 2.0, tyre.stiffness_npm,
        tyre.trail_m * float(np.sqrt(q)) * (1.0 - abs(e0) / tyre.trail_zero_slip) ** 2,
        mid.centre_m[2] + vehicle.body.origin_height_m,
    )  # fmt: skip


def _wheel_rate(vehicle: Vehicle, corner: str, poses: tuple[WheelPose, WheelPose, WheelPose]) -> float:
    """Slope of the force of spring and bar at the contact: −d/db (F dl/db), the bar against its mirror image."""
    axle = vehicle.corner(corner).axle
    lengths = np.array([p.spring_m for p in poses])
    slope = (lengths[0] - lengths[2]) / (2.0 * STEP_M)
    bend = (lengths[0] - 2.0 * lengths[1] + lengths[2]) / STEP_M**2
    spring_n = _static(vehicle).spring_n[corner]
    bar_npm = 2.0 * axle.anti_roll_bar.rate_npm if axle.anti_roll_bar is not None else 0.0
    return float((axle.spring.rate_npm + bar_npm) * slope**2 - spring_n * bend)


@dataclass(frozen=True, slots=True)
class Cornering:
    """Steady state per m/s² of lateral acceleration (left turn), and the understeer gradient in rad/(m/s²)."""

    roll_rad: float
    moved_n: tuple[float, float]  # load of the left wheel, front and rear
    bicycle: float
    linear: float
    curved: float  # with the tyres' closed curves at the given acceleration instead of their stiffness


def cornering(vehicle: Vehicle, speed_mps: float, ay_mps2: float) -> Cornering:
    """Theory of a symmetric vehicle at a speed; only `curved` depends on the acceleration."""
    static = _static(vehicle)
    length_m, mass_kg, g = vehicle.wheelbase_m, static.total_kg, vehicle.gravity_mps2
    sides = [axle_side(vehicle, c, static.wheel_n[c]) for c in ("fl", "rl")]
    front, rear = sides
    pulls = [s.stiffness_npr * _static_slip(vehicle, c, s) for s, c in zip(sides, ("fl", "rl"), strict=True)]
    b_m = static.cg_m[0]
    a_m = length_m - b_m
    height_m = static.cg_m[2] + vehicle.body.origin_height_m
    yaw = 1.0 / speed_mps
    cf, cr = 2.0 * front.stiffness_npr, 2.0 * rear.stiffness_npr
    bicycle = mass_kg / length_m * (b_m / cf - a_m / cr)
    rack = (length_m / speed_mps**2 + bicycle) / front.heading_rack  # good enough for what steering does besides
    linear, curved, roll, moved = bicycle, bicycle, 0.0, (0.0, 0.0)
    for _ in range(4):  # moments of drag need the steering angle, which needs the moments
        forces = _axle_forces(sides, pulls, mass_kg, a_m, b_m, rack)
        roll, bumps, moved = _rolled(sides, pulls, forces, mass_kg, height_m, g, yaw, rack)
        linear = _gradient(vehicle, sides, forces, roll, bumps, moved, rack, None)
        rack = (length_m / speed_mps**2 + linear) / front.heading_rack
        curved = _gradient(vehicle, sides, forces, roll, bumps, moved, rack, ay_mps2)
    return Cornering(roll, moved, bicycle, linear, curved)


def _axle_forces(s: list[AxleSide], pulls: list[float], mass_kg: float, a_m: float, b_m: float, rack: float) -> Array:
    """Side forces of both axles: Y_f + Y_r = m, moments about the centre of gravity vanish."""
    more = 0.0  # −Σ F_x y of both wheels, F_x = −F_y · heading
    arms = []
    for axle, x_m, pull_n in zip(s, (a_m, -b_m), pulls, strict=True):
        more += 2.0 * axle.y_m * pull_n * axle.heading_rack * rack
        arms.append(x_m - axle.trail_m + axle.y_m * axle.toe_rad)
    system = np.array([[1.0, 1.0], arms])
    return np.asarray(np.linalg.solve(system, np.array([mass_kg, -more])))


def _static_slip(vehicle: Vehicle, corner: str, axle: AxleSide) -> float:
    """Slip of the left tyre on a straight, camber counted in."""
    return axle.toe_rad - vehicle.corner(corner).axle.tyre.camber_slip * axle.lean_rad


def _rolled(
    s: list[AxleSide], pulls: list[float], forces: Array, mass_kg: float, height_m: float, g: float, yaw: float,
    rack: float,
) -> tuple[float, tuple[float, float], tuple[float, float]]:  # fmt: skip
    """Roll angle, bump of the left wheels and load moved to them: corners by virtual work, roll moment of the car."""
    system, right = np.zeros((5, 5)), np.zeros(5)  # φ, b_f, b_r, ΔF_f, ΔF_r
    for k, axle in enumerate(s):
        # ΔF z' = R b − (½ Y + F φ) y' − F_y0 y'' b + m_u (a + g φ) y_W' − H yaw lean'
        system[k, 3 + k] = axle.height_b
        system[k, 1 + k] = -axle.wheel_rate_npm + pulls[k] * axle.y_bb
        system[k, 0] = axle.load_n * axle.y_b - axle.unsprung_kg * g * axle.centre_y_b
        spin = axle.spin_inertia_kgm2 / (yaw * axle.radius_m)
        right[k] = -0.5 * forces[k] * axle.y_b + axle.unsprung_kg * axle.centre_y_b - spin * yaw * axle.lean_b
        # ΔF = −k (φ y + z' b + z'_rack rack)
        system[2 + k, 3 + k] = 1.0
        system[2 + k, 0] = axle.vertical_npm * axle.y_m
        system[2 + k, 1 + k] = axle.vertical_npm * axle.height_b
        right[2 + k] = -axle.vertical_npm * axle.height_rack * rack
        # Σ 2 y ΔF + 2 (F y' − m_u g y_W') b = −m h − m g h φ − H yaw
        system[4, 3 + k] = 2.0 * axle.y_m
        system[4, 1 + k] = 2.0 * (axle.load_n * axle.y_b - axle.unsprung_kg * g * axle.centre_y_b)
        right[4] -= 2.0 * spin * yaw
    system[4, 0] = mass_kg * g * height_m
    right[4] -= mass_kg * height_m
    x = np.linalg.solve(system, right)
    return float(x[0]), (float(x[1]), float(x[2])), (float(x[3]), float(x[4]))


def _gradient(
    vehicle: Vehicle, s: list[AxleSide], forces: Array, roll: float, bumps: tuple[float, float],
    moved: tuple[float, float], rack: float, ay_mps2: float | None,
) -> float:  # fmt: skip
    """Steering of the wheels against each other that the axles need beyond L/R, per m/s²."""
    needed = []
    for k, corner in enumerate(("fl", "rl")):
        axle, slip_of_camber = s[k], vehicle.corner(corner).axle.tyre.camber_slip
        camber = -roll - axle.lean_b * bumps[k] - axle.lean_rack * rack
        if ay_mps2 is None:
            e0 = _static_slip(vehicle, corner, axle)
            slip = (forces[k] - 2.0 * axle.stiffness_slope * moved[k] * e0) / (2.0 * axle.stiffness_npr)
        else:
            slip = _slip_of_curve(vehicle, corner, axle, forces[k] * ay_mps2, moved[k] * ay_mps2) / ay_mps2
        needed.append(slip - slip_of_camber * camber - axle.heading_b * bumps[k])
    return float(needed[0] - needed[1])


def _slip_of_curve(vehicle: Vehicle, corner: str, axle: AxleSide, force_n: float, moved_n: float) -> float:
    """Slip (camber counted in) that both tyres of an axle need for a side force, by their closed formula."""
    tyre, e0 = vehicle.corner(corner).axle.tyre, _static_slip(vehicle, corner, axle)

    def missing(slip: float) -> float:
        loads = np.array([axle.load_n + moved_n, axle.load_n - moved_n])
        return float(steady_force(tyre, loads, 0.0, np.array([e0 + slip, -e0 + slip]))[1].sum()) - force_n

    return float(brentq(missing, -0.1, 0.1, xtol=1e-12))
