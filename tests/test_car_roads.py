"""Roads under the car: loads follow slope, bank, waves and bumps, and the car comes back to rest."""

from __future__ import annotations

import numpy as np
import pytest
from car_drives import SLOPE_RAD, STEP_S, VEHICLES, car_of, on_slope, settled, times_s

from hodograph.multibody.car import CORNERS, static_loads
from hodograph.multibody.forces.road import Road


@pytest.mark.parametrize("name", VEHICLES)
def test_a_slope_moves_load_to_the_lower_axle_and_a_bank_to_the_lower_side(name: str) -> None:
    """Moments about the contacts: m g h sin γ, within 2 % along and 6 % across, where the body leans on its springs."""
    car = car_of(name)
    static = static_loads(car.vehicle)
    weight_n = car.vehicle.gravity_mps2 * static.total_kg
    height_m = static.cg_m[2] + car.vehicle.body.origin_height_m
    flat = car.loads_n(settled(name))
    car_up, up = on_slope(name, "up")
    loads = car_up.loads_n(up)
    tyre = car.vehicle.rear.tyre
    belt_m = tyre.dynamic_radius_share * static.wheel_n["rl"] / tyre.stiffness_npm  # r_D − r: moment of the belt
    front_n = loads["fl"] + loads["fr"] - np.cos(SLOPE_RAD) * (flat["fl"] + flat["fr"])
    assert front_n == pytest.approx(
        -weight_n * np.sin(SLOPE_RAD) * (height_m + belt_m) / car.vehicle.wheelbase_m, rel=0.02
    )
    car_banked, banked = on_slope(name, "banked")  # rises to the left
    loads = car_banked.loads_n(banked)
    moment_nm = 0.0
    for c in CORNERS:
        moment_nm += (loads[c] - np.cos(SLOPE_RAD) * flat[c]) * car.vehicle.corner(c).axle.wheel_centre_m[1]
    assert moment_nm == pytest.approx(-weight_n * np.sin(SLOPE_RAD) * height_m, rel=0.06)


@pytest.mark.parametrize("name", VEHICLES)
def test_a_cosine_bump_is_felt_by_each_axle_and_forgotten(name: str) -> None:
    """Loads rise on the ramp, fall behind the crest; afterwards the car stands on its static loads again."""
    speed_mps, at_m = 8.0, 6.0
    road = Road.flat() + Road.bump(height_m=0.04, length_m=1.5, x_m=at_m)
    flat = car_of(name)
    car = flat.on(road)
    state = car.settle()
    t = times_s(5.0)
    drive = car.drive(car.moving(state, speed_mps), {"drive_nm": 30.0 + 0.0 * t})
    rest = np.array([flat.loads_n(settled(name))[c] for c in CORNERS])
    assert np.isfinite(drive.trajectory.q).all()
    for wheels, x_m in (((0, 1), car.vehicle.wheelbase_m), ((2, 3), 0.0)):
        nose_m = drive.position_m[:, 0] + x_m - at_m
        on_it = (nose_m > -0.75) & (nose_m < 0.75)
        before = (nose_m > -2.0) & (nose_m < -1.0) & (t > 0.3)
        for k in wheels:
            assert drive.load_n[on_it, k].max() > 1.3 * rest[k]
            assert drive.load_n[on_it, k].min() < 0.7 * rest[k]
            if x_m > 0.0:
                assert drive.load_n[before, k] == pytest.approx(np.full(before.sum(), rest[k]), rel=0.05)
    late = t > 4.0
    np.testing.assert_allclose(drive.load_n[late].mean(axis=0), rest, rtol=0.03)
    assert np.ptp(drive.load_n[late], axis=0).max() < 0.02 * rest.max()
    assert np.abs(drive.position_m[late, 2] - state.q[car.model.index("O.z")]).max() < 2e-3


@pytest.mark.parametrize("name", VEHICLES)
def test_a_long_wave_lifts_the_car_and_loads_follow_its_curvature(name: str) -> None:
    """On waves much longer than the car the body rides along: ΔF/F = −(2π v/λ)² A sin/g, within a fifth."""
    amplitude_m, wave_m, speed_mps = 0.15, 60.0, 12.0
    car = car_of(name).on(Road.sine(amplitude_m, wave_m))
    t = times_s(10.0)
    drive = car.drive(car.moving(car.settle(braked=True), speed_mps), {"drive_nm": 40.0 + 0.0 * t})
    weight_n = car.vehicle.gravity_mps2 * car.model.inertia.total_kg
    x_m = drive.position_m[:, 0] + 0.5 * car.vehicle.wheelbase_m
    later = t > 2.0
    wave = np.sin(2.0 * np.pi * x_m[later] / wave_m)
    swing = np.linalg.lstsq(np.column_stack([wave, np.ones(len(wave))]), drive.load_n[later].sum(axis=1), rcond=None)[0]
    v_mps = drive.body_mps[later, 0].mean()
    expected = -weight_n * (2.0 * np.pi * v_mps / wave_m) ** 2 * amplitude_m / car.vehicle.gravity_mps2
    assert swing[0] == pytest.approx(expected, rel=0.2)
    road_m = amplitude_m * np.sin(2.0 * np.pi * drive.position_m[later, 0] / wave_m)
    assert np.abs(drive.position_m[later, 2] - car.vehicle.body.origin_height_m - road_m).max() < 0.03


@pytest.mark.parametrize("name", VEHICLES)
def test_starting_from_rest_on_rough_roads_stays_finite(name: str) -> None:
    """Settled astride a bump on a wave that runs askew, then driven off by a torque that makes the wheels slip."""
    road = Road.sine(0.03, 2.3, 0.7) + Road.bump(0.05, 0.8, x_m=car_of(name).vehicle.wheelbase_m, y_m=0.7, width_m=0.8)
    car = car_of(name).on(road)
    state = car.settle(braked=True)
    weight_n = car.vehicle.gravity_mps2 * car.model.inertia.total_kg
    assert sum(car.loads_n(state).values()) == pytest.approx(weight_n, rel=0.02)
    t = times_s(4.0)
    released = {"brake_front_pa": 0.0 * t, "brake_rear_pa": 0.0 * t}
    pushed = {"drive_nm": 900.0 * np.clip(t / 0.5, 0.0, 1.0), "rack_m": 0.01 * np.sin(2.0 * t)}
    drive = car.drive(state, pushed | released)
    assert np.isfinite(drive.trajectory.q).all()
    assert np.isfinite(drive.load_n).all()
    assert drive.body_mps[-1, 0] > 3.0
    assert drive.cost.capped <= 0.01 * drive.cost.steps
    stopping = {"drive_nm": 0.0 * t, "brake_front_pa": 1.4e7 + 0.0 * t, "brake_rear_pa": 1.4e7 + 0.0 * t}
    blocked = car.drive(drive.last, stopping, STEP_S)
    assert np.isfinite(blocked.trajectory.q).all()
    assert np.abs(blocked.body_mps[-1]).max() < 0.02
