from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from tyre_samples import MAGIC, TMEASY

from hodograph.core import SettingsError, settings_from_text
from hodograph.multibody.forces.columns import AERO_WIDTH, BRAKE_WIDTH, DIFFERENTIAL_WIDTH
from hodograph.multibody.forces.driveline import aero_row, brake_row, differential_row
from hodograph.multibody.forces.driveline_kernels import (
    aero_force,
    brake_limit,
    brake_torque,
    differential,
    rolling_resistance,
)
from hodograph.multibody.forces.tyre_kernels import tyre_response
from hodograph.multibody.forces.tyres import steady_force, tyre_row
from hodograph.vehicles.driveline import Aerodynamics, DiscBrake, LimitedSlip, OpenDifferential
from hodograph.vehicles.tyres import Tyre

BRAKE = DiscBrake(friction=0.35, effective_radius_m=0.1, pad_force=(-60.0, 1.1e-3, 6e-11, -3e-18))
INERTIA_KGM2 = 0.6
HOLD_PA = 2e6


def limit_nm(brake: DiscBrake, pressure_pa: float) -> float:
    """T_sl written out."""
    c0, c1, c2, c3 = brake.pad_force
    p = pressure_pa
    return max(0.0, 2 * brake.friction * brake.effective_radius_m * (c0 + c1 * p + c2 * p**2 + c3 * p**3))


def spin(brake: DiscBrake, drive: Any, pressure: Any, duration_s: float, h: float, omega: float = 0.0) -> Any:
    """A wheel on the brake, implicit steps with Newton: (angle, omega, theta) in the end, and the largest iteration."""
    row, angle, theta, worst = brake_row(brake), 0.0, 0.0, 0
    for k in range(round(duration_s / h)):
        t = (k + 1) * h
        now, low, high = omega, -1e9, 1e9
        for _count in range(60):
            torque, theta1, slope = brake_torque(row, pressure(t), now, theta, h)
            residual = INERTIA_KGM2 * (now - omega) / h - drive(t) + torque
            low, high = (now, high) if residual < 0.0 else (low, now)  # the residual grows with omega
            step = now - residual / (INERTIA_KGM2 / h + slope)
            if not low <= step <= high:
                step = 0.5 * (low + high) if high - low < 1e8 else step
            if abs(step - now) < 1e-12:
                break
            now = step
        worst = max(worst, _count)
        omega, theta = now, theta1
        angle += h * omega
    return angle, omega, theta, worst


def test_the_limit_is_the_cubic_of_the_pressure() -> None:
    assert brake_row(BRAKE).shape == (BRAKE_WIDTH,)
    for pressure in (-1e6, 0.0, 3e4, 1e5, 1e6, 8e6):
        assert brake_limit(brake_row(BRAKE), pressure) == pytest.approx(limit_nm(BRAKE, max(pressure, 0.0)), rel=1e-12)
    assert brake_limit(brake_row(BRAKE), 3e4) == 0.0  # the pads do not touch yet
    assert brake_limit(brake_row(BRAKE), 5e6) > 400.0


@settings(max_examples=300, deadline=None)
@given(
    pressure=st.floats(-1e6, 1.5e7),
    omega=st.one_of(st.floats(-300.0, 300.0), st.floats(-1e-3, 1e-3)),
    part=st.floats(-1.0, 1.0),
    tau=st.sampled_from([0.0, 1e-9, 1e-3, 4e-3, 1.0]),
    damping=st.sampled_from([0.0, 100.0]),
)
def test_the_brake_never_exceeds_its_limit_nor_winds_up(
    pressure: float, omega: float, part: float, tau: float, damping: float
) -> None:
    row = brake_row(replace(BRAKE, damping_nmspr=damping))
    limit = brake_limit(row, pressure)
    theta0 = part * limit / BRAKE.stiffness_nmpr
    torque, theta, slope = brake_torque(row, pressure, omega, theta0, tau)
    assert abs(torque) <= limit
    assert abs(theta) <= limit / BRAKE.stiffness_nmpr * (1.0 + 1e-12) or abs(torque) < limit
    assert slope >= 0.0
    if abs(omega) * (BRAKE.stiffness_nmpr * tau + damping) > 2.0 * limit:
        assert torque == np.copysign(limit, omega)
    mirrored = brake_torque(row, pressure, -omega, -theta0, tau)
    assert mirrored == (-torque, -theta, slope)


def test_a_released_brake_lets_go() -> None:
    row = brake_row(BRAKE)
    torque, theta, _ = brake_torque(row, 0.0, 0.0, 0.004, 4e-3)
    assert torque == 0.0
    assert 0.0 < theta < 0.002
    for _ in range(50):
        _, theta, _ = brake_torque(row, 0.0, 0.0, theta, 4e-3)
    assert theta == pytest.approx(0.0, abs=1e-12)


def reference(brake: DiscBrake, drive: Any, pressure: Any, duration_s: float) -> Any:
    """The same brake as a differential equation: spring and damper in series with a slider, tight tolerance."""
    k, c = brake.stiffness_nmpr, brake.damping_nmspr

    def rate(t: float, state: Any) -> Any:
        _, omega, theta = state
        limit = limit_nm(brake, pressure(t))
        torque = k * theta + c * omega
        if abs(torque) <= limit:
            return [omega, (drive(t) - torque) / INERTIA_KGM2, omega]
        torque = np.copysign(limit, torque)
        return [omega, (drive(t) - torque) / INERTIA_KGM2, (torque - k * theta) / c]

    return solve_ivp(rate, (0.0, duration_s), [0.0, 0.0, 0.0], rtol=1e-8, atol=1e-11, max_step=2e-3).y[:, -1]


def test_stick_slip_converges_to_the_differential_equation() -> None:
    def drive(t: float) -> float:
        return 260.0 * np.sin(9.0 * t)

    def pressure(t: float) -> float:
        return HOLD_PA * (1.0 + 0.3 * np.sin(4.0 * t))

    assert 100.0 < limit_nm(BRAKE, HOLD_PA) < 200.0  # it sticks and slides in turn
    want = reference(BRAKE, drive, pressure, 1.3)
    assert abs(want[0]) > 1.0
    errors = [abs(spin(BRAKE, drive, pressure, 1.3, h)[0] - want[0]) for h in (4e-3, 1e-3, 2.5e-4)]
    assert errors[2] < 0.3 * errors[1] < 0.1 * errors[0]
    assert errors[2] < 0.01 * abs(want[0])


def test_a_held_wheel_does_not_creep() -> None:
    torque = 0.8 * limit_nm(BRAKE, HOLD_PA)
    for h in (4e-3, 1e-3):
        angle, omega, theta, worst = spin(BRAKE, lambda t: min(torque, torque * t), lambda t: HOLD_PA, 2.0, h)
        assert angle == pytest.approx(torque / BRAKE.stiffness_nmpr, rel=1e-6)
        assert worst <= 3
        row = brake_row(BRAKE)
        for _ in range(round(60.0 / h)):
            torque_now, theta, slope = brake_torque(row, HOLD_PA, omega, theta, h)
            omega += (torque - torque_now) / (INERTIA_KGM2 / h + slope)
            angle += h * omega
        assert angle == pytest.approx(torque / BRAKE.stiffness_nmpr, rel=1e-6)
        assert abs(omega) < 1e-12


def test_a_braked_wheel_stops_when_friction_says_and_stays() -> None:
    limit = limit_nm(BRAKE, HOLD_PA)
    stop_s = 30.0 * INERTIA_KGM2 / limit
    h, k = 1e-3, BRAKE.stiffness_nmpr
    angle, omega, _, _ = spin(BRAKE, lambda t: 0.0, lambda t: HOLD_PA, stop_s + 1.0, h, omega=30.0)
    assert angle == pytest.approx(0.5 * 30.0 * (stop_s - h) - limit / k, abs=1e-3)  # implicit Euler; it springs back
    assert abs(omega) < 1e-9


LSD = LimitedSlip(preload_nm=100.0, drive_ratio=0.65, coast_ratio=0.25)
wheel = st.floats(-200.0, 200.0)


@settings(max_examples=300, deadline=None)
@given(torque=st.floats(-4000.0, 4000.0), left=wheel, right=wheel)
def test_limited_slip_gives_to_the_slower_wheel_and_keeps_the_sum(torque: float, left: float, right: float) -> None:
    t_left, t_right, slope = differential(differential_row(LSD), torque, left, right)
    assert t_left + t_right == pytest.approx(torque, abs=1e-9)
    assert (t_left - t_right) * (right - left) >= 0.0
    ratio = 0.65 if torque >= 0.0 else 0.25
    assert abs(t_left - t_right) <= max(ratio * abs(torque), 100.0) * (1.0 + 1e-12)
    if abs(right - left) > 10.0:
        assert abs(t_left - t_right) == pytest.approx(max(ratio * abs(torque), 100.0))
    assert slope >= 0.0
    # power lost in the clutches is never gained
    assert t_left * left + t_right * right <= 0.5 * torque * (left + right) + 1e-6
    other = differential(differential_row(LSD), torque, right, left)
    assert other == pytest.approx((t_right, t_left, slope))


def test_the_slope_is_the_derivative() -> None:
    row, d = differential_row(LSD), 1e-6
    for torque in (-700.0, 20.0, 500.0):
        for difference in (-0.6, 0.0, 0.2):
            slope = differential(row, torque, 10.0, 10.0 + difference)[2]
            ends = [differential(row, torque, 10.0, 10.0 + difference + s * d)[0] for s in (-1, 1)]
            assert (ends[1] - ends[0]) / (2 * d) == pytest.approx(slope, rel=1e-5)


def test_an_open_differential_halves() -> None:
    assert differential_row(OpenDifferential()).shape == differential_row(LSD).shape == (DIFFERENTIAL_WIDTH,)
    assert differential(differential_row(OpenDifferential()), 300.0, 5.0, 50.0) == (150.0, 150.0, 0.0)


def test_rolling_resistance_is_smooth_and_absent_at_rest() -> None:
    assert rolling_resistance(0.017, 2000.0, 0.28, 0.0)[0] == 0.0
    full = 0.017 * 2000.0 * 0.28
    assert rolling_resistance(0.017, 2000.0, 0.28, 40.0)[0] == pytest.approx(full, rel=1e-4)
    assert rolling_resistance(0.017, 2000.0, 0.28, -40.0)[0] == pytest.approx(-full, rel=1e-4)
    assert rolling_resistance(0.017, -50.0, 0.28, 40.0) == (0.0, 0.0)
    for omega in (-3.0, -0.1, 0.0, 0.02, 1.0):
        d = 1e-6
        ends = [rolling_resistance(0.017, 2000.0, 0.28, omega + s * d)[0] for s in (-1, 1)]
        assert (ends[1] - ends[0]) / (2 * d) == pytest.approx(
            rolling_resistance(0.017, 2000.0, 0.28, omega)[1], rel=1e-5
        )


def test_the_air_resists_and_presses() -> None:
    row = aero_row(Aerodynamics(drag_area_m2=0.7, lift_area_front_m2=-0.5, lift_area_rear_m2=-0.8))
    assert row.shape == (AERO_WIDTH,)
    fx, fy, front, rear = aero_force(row, 40.0, 0.0)
    assert fx == pytest.approx(-0.5 * 1.2 * 0.7 * 1600.0)
    assert fy == 0.0
    assert (front, rear) == (pytest.approx(-0.5 * 1.2 * 0.5 * 1600.0), pytest.approx(-0.5 * 1.2 * 0.8 * 1600.0))
    fx, fy, front, rear = aero_force(row, -10.0, 10.0)
    assert fx == -fy > 0.0
    assert (front, rear) == (0.0, 0.0)
    assert aero_force(row, 0.0, 0.0) == (0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: replace(BRAKE, friction=0.0), "friction is 0, give a number above zero"),
        (lambda: replace(BRAKE, pad_force=(0.0, -1e-3, 0.0, 0.0)), "must grow with pressure"),
        (lambda: replace(BRAKE, pad_force=(0.0, 1e-3, 0.0, -1e-16)), "must grow with pressure"),
        (lambda: replace(BRAKE, damping_nmspr=-1.0), "of zero or more"),
        (lambda: replace(LSD, drive_ratio=1.5), "torque difference over the axle's torque"),
        (lambda: replace(LSD, full_slip_radps=0.0), "above zero"),
        (lambda: Aerodynamics(drag_area_m2=-0.1), "drag_area_m2"),
        (lambda: Aerodynamics(0.5, lift_area_rear_m2=800.0), "coefficient times area"),
    ],
)
def test_wrong_numbers_say_what_to_do(make: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        make()


def test_they_are_read_from_toml() -> None:
    text = 'kind = "limited_slip"\npreload_nm = 100\ndrive_ratio = 0.65\ncoast_ratio = 0.25\n'
    assert settings_from_text(text, LimitedSlip) == LSD
    with pytest.raises(SettingsError, match="'coast_ratio' is missing"):
        settings_from_text(text.replace("coast_ratio = 0.25\n", ""), LimitedSlip)
    brake = "friction = 0.35\neffective_radius_m = 0.1\npad_force = [-60, 1.1e-3, 6e-11, -3e-18]\n"
    assert settings_from_text(brake, DiscBrake) == BRAKE


class QuarterCar:
    """A mass on one braked wheel, implicit steps of 4 ms with the tangents that the laws return."""

    def __init__(self, tyre: Tyre, speed_mps: float) -> None:
        self.row, self.brake, self.radius_m = tyre_row(tyre), brake_row(BRAKE), 0.28
        self.v, self.omega = speed_mps, speed_mps / self.radius_m
        self.travel_m = self.deflection_m = self.theta = 0.0
        self.iterations = 0

    def step(self, pressure_pa: float, grade_rad: float, h: float = 4e-3) -> None:
        m, r, load = 200.0, self.radius_m, 200.0 * 9.81 * np.cos(grade_rad)
        v, omega = self.v, self.omega
        for _count in range(40):
            fx, _, _, x, _, b, _ = tyre_response(self.row, load, v, 0.0, r * omega, 0.0, self.deflection_m, 0.0, h)
            torque, theta, slope = brake_torque(self.brake, pressure_pa, omega, self.theta, h)
            resistance, more = rolling_resistance(0.015, load, r, omega)
            along = m * (v - self.v) / h - fx + m * 9.81 * np.sin(grade_rad)
            about = INERTIA_KGM2 * (omega - self.omega) / h + r * fx + torque + resistance
            tangent = [[m / h + b, -b * r], [-b * r, INERTIA_KGM2 / h + b * r * r + slope + more]]
            dv, domega = -np.linalg.solve(tangent, [along, about])
            v, omega = v + dv, omega + domega
            if abs(dv) + r * abs(domega) < 1e-7:
                break
        self.iterations = max(self.iterations, _count)
        self.v, self.omega, self.deflection_m, self.theta = v, omega, x, theta
        self.travel_m += h * v


@pytest.mark.parametrize("tyre", [TMEASY, MAGIC], ids=lambda t: t.kind)
def test_brake_and_tyre_hold_a_car_on_a_slope(tyre: Tyre) -> None:
    car = QuarterCar(tyre, 0.0)
    for _ in range(750):
        car.step(4e6, np.radians(5.0))
    settled = car.travel_m
    assert -3e-3 < settled < 0.0
    for _ in range(15000):
        car.step(4e6, np.radians(5.0))
    assert abs(car.travel_m - settled) < 0.3e-3
    assert abs(car.v) < 1e-5


@pytest.mark.parametrize("tyre", [TMEASY, MAGIC], ids=lambda t: t.kind)
@pytest.mark.parametrize("pressure_pa", [4e6, 1e7])
def test_a_car_brakes_to_a_stop_rolling_or_locked(tyre: Tyre, pressure_pa: float) -> None:
    car = QuarterCar(tyre, 20.0)
    steps = 0
    while car.v > 0.05:
        car.step(pressure_pa, 0.0)
        steps += 1
        assert steps < 2000
    if pressure_pa > 5e6:
        assert car.omega == pytest.approx(0.0, abs=1e-2)
        slip = -1.0 if tyre.kind == "magic_formula" else -100.0
        force = -float(steady_force(tyre, 200.0 * 9.81, slip, 0.0)[0])
    else:
        force = limit_nm(BRAKE, pressure_pa) / car.radius_m + 0.015 * 200.0 * 9.81
    mass = 200.0 if pressure_pa > 5e6 else 200.0 + INERTIA_KGM2 / car.radius_m**2
    assert car.travel_m == pytest.approx(mass * 20.0**2 / 2.0 / force, rel=0.03)
    assert car.iterations < 25
    for _ in range(2000):
        car.step(pressure_pa, 0.0)
    stopped = car.travel_m
    assert abs(car.v) < 1e-3
    for _ in range(1000):
        car.step(pressure_pa, 0.0)
    assert car.travel_m == pytest.approx(stopped, abs=1e-4)
