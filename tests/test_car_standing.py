"""Standing, rolling away, stopping and sliding: where tyres and brakes stick, and where they let go."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from car_drives import SLOPE_RAD, STEP_S, VEHICLES, car_of, on_slope, pulse, rise, settled, times_s

from hodograph.core.frames import Array
from hodograph.multibody import State
from hodograph.multibody.car import CORNERS, StaticLoads, static_loads
from hodograph.multibody.car.car import STANDSTILL_BRAKE_PA, Car, Drive
from hodograph.multibody.forces.driveline import aero_row
from hodograph.multibody.forces.rolling_kernels import RADIUS
from hodograph.multibody.forces.tyres import steady_force
from hodograph.vehicles.driveline import DiscBrake


def _held(pressure_pa: Array) -> dict[str, Array]:
    return {"brake_front_pa": pressure_pa, "brake_rear_pa": pressure_pa}


@pytest.mark.parametrize("kind", ["up", "across", "banked"])
@pytest.mark.parametrize("name", VEHICLES)
def test_a_braked_car_stands_on_a_slope(name: str, kind: str) -> None:
    """Sixty seconds on five degrees: drift below 5 mm is asked, below 1 mm it is."""
    car, state = on_slope(name, kind)
    drive = car.drive(state, _held(np.full(round(60.0 / STEP_S), STANDSTILL_BRAKE_PA)), every=250)
    drift_m = np.linalg.norm(car.cg_position_m(drive.last) - car.cg_position_m(state))
    assert drift_m < 1e-3
    assert np.abs(drive.velocity_mps).max() < 1e-4
    assert drive.cost.capped == 0
    weight_n = car.vehicle.gravity_mps2 * car.model.inertia.total_kg
    assert drive.load_n[-1].sum() == pytest.approx(weight_n * np.cos(SLOPE_RAD), rel=1e-4)


def _radii_m(car: Car, state: State, wheel: int) -> tuple[float, float]:
    """Loaded and rolling radius of a wheel."""
    tyre = car.vehicle.corner(car.model.wheel_names[wheel][:2]).axle.tyre
    loaded_m = float(car.wheels_at(state)[wheel, RADIUS])
    return loaded_m, loaded_m + tyre.dynamic_radius_share * (tyre.radius_m - loaded_m)


def _rotating_share(car: Car, state: State) -> float:
    """Σ I/(m r_D²): what spinning wheels add to the mass (left out in Sanjurjo 2016, 5.43)."""
    total = 0.0
    for k, name in enumerate(car.model.wheel_names):
        _, rolling_m = _radii_m(car, state, k)
        total += car.vehicle.corner(name[:2]).axle.wheel.spin_inertia_kgm2 / rolling_m**2
    return total / car.model.inertia.total_kg


def _resistance(car: Car, state: State) -> float:
    """Rolling resistance as a share of the load: its moment C_rr F r turns the wheel against a force at r_D."""
    radii = np.array([_radii_m(car, state, k) for k in range(4)])
    return float(car.vehicle.front.tyre.rolling_resistance * np.mean(radii[:, 0] / radii[:, 1]))


@pytest.mark.parametrize("name", VEHICLES)
def test_a_released_car_rolls_away_as_gravity_and_rotating_inertia_say(name: str) -> None:
    """a = g (sin γ − C_rr cos γ)/(1 + Σ I/(m r_D²)), the ramp test of Sanjurjo 2016, 5.43, corrected, within 0.5 %."""
    car, state = on_slope(name, "up")
    t = times_s(2.0)
    drive = car.drive(state, _held(np.zeros(len(t))))
    back_mps = -drive.body_mps[:, 0]
    steady = t > 0.8
    acceleration = np.polyfit(t[steady], back_mps[steady], 1)[0]
    resistance = _resistance(car, state)
    free = car.vehicle.gravity_mps2 * (np.sin(SLOPE_RAD) - resistance * np.cos(SLOPE_RAD))
    share = _rotating_share(car, state)
    assert share > 0.03
    assert acceleration == pytest.approx(free / (1.0 + share), rel=5e-3)


def _without_chatter(drive: Drive, since_s: float) -> None:
    """After a stop the body rocks on its springs and comes to rest: amplitudes die out, they do not sustain themselves.

    Chatter would be an acceleration that goes on changing sign at the same size, step after step.
    """
    a = drive.acceleration_mps2[:, 0]
    rms = [
        float(np.sqrt(np.mean(a[(drive.t_s > since_s + s) & (drive.t_s <= since_s + s + 0.5)] ** 2)))
        for s in (0.0, 0.5, 1.0, 1.5, 2.0)
    ]
    for earlier, later in pairwise(rms):
        assert later < 0.5 * earlier
    late = drive.t_s > since_s + 2.0
    assert np.abs(a[late]).max() < 5e-3
    assert np.abs(drive.body_mps[late]).max() < 1e-3
    shaking = a[(drive.t_s > since_s + 0.02) & (np.abs(a) > 1e-2)]  # the dip of the nose swings at 1 … 10 Hz
    assert np.count_nonzero(np.diff(np.sign(shaking))) <= 20


@pytest.mark.parametrize("name", VEHICLES)
def test_braking_to_a_stop_does_not_chatter(name: str) -> None:
    car = car_of(name)
    t = times_s(7.0)
    pressure = 2e6 * rise(t, 0.2, 0.5)
    drive = car.drive(car.moving(settled(name), 10.0), {"brake_front_pa": pressure, "brake_rear_pa": 0.7 * pressure})
    stopped_s = float(drive.t_s[np.argmax(drive.body_mps[:, 0] < 1e-3)])
    assert 1.0 < stopped_s < 4.5
    _without_chatter(drive, stopped_s)
    assert drive.cost.capped == 0


@pytest.mark.parametrize("name", VEHICLES)
def test_coasting_comes_to_rest_without_chatter(name: str) -> None:
    """Rolling resistance stops the car once; what is left is a creep out of the side stresses of toe, < 1 mm/s."""
    car = car_of(name)
    t = times_s(14.0)
    drive = car.drive(car.moving(settled(name), 1.0), _held(np.zeros(len(t))))
    speed = drive.body_mps[:, 0]
    assert np.abs(speed[t > 12.0]).max() < 1e-3
    assert np.abs(drive.acceleration_mps2[t > 12.0, 0]).max() < 1e-3
    assert speed.min() > -1e-3
    rolling = (t > 1.0) & (speed > 0.2)
    resistance = _resistance(car, settled(name)) * car.vehicle.gravity_mps2
    slows = -np.polyfit(t[rolling], speed[rolling], 1)[0]
    assert slows == pytest.approx(resistance / (1.0 + _rotating_share(car, settled(name))), rel=0.02)


def _brake_force_n(car: Car, state: State, pressure_pa: float) -> float:
    """Σ torque/r_D of all brakes that slide at this pressure (Sanjurjo 2016, 5.26)."""
    total = 0.0
    for k, name in enumerate(car.model.wheel_names):
        brake = car.vehicle.corner(name[:2]).axle.brake
        assert isinstance(brake, DiscBrake)
        pad_n = np.polynomial.polynomial.polyval(pressure_pa, np.array(brake.pad_force))
        total += 2.0 * brake.friction * pad_n * brake.effective_radius_m / _radii_m(car, state, k)[1]
    return float(total)


def _distance_m(speed_mps: float, until_mps: float, mass_kg: float, force_n: float, drag: float) -> float:
    """∫ m v dv/(F + k v²): the friction integral in closed form."""
    if drag == 0.0:
        return mass_kg * (speed_mps**2 - until_mps**2) / (2.0 * force_n)
    return float(mass_kg / (2.0 * drag) * np.log((force_n + drag * speed_mps**2) / (force_n + drag * until_mps**2)))


def _stopped(car: Car, name: str, pressure_pa: float, speed_mps: float) -> tuple[Drive, float]:
    """A stop with the brakes applied at once, and its length."""
    state = car.moving(settled(name), speed_mps)
    drive = car.drive(state, _held(np.full(round(6.0 / STEP_S), pressure_pa)))
    still = int(np.argmax(drive.body_mps[:, 0] < 0.05))
    assert still > 0
    return drive, float(np.linalg.norm(drive.position_m[still, :2] - state.q[car.model.index("O.x") :][:2]))


@pytest.mark.parametrize("name", VEHICLES)
def test_braking_distance_below_the_friction_limit(name: str) -> None:
    """Known brake torques: (m + Σ I/r_D²) dv/dt = −Σ T/r_D − C_rr m g − k v², integrated, within 2 %."""
    car, state, speed_mps = car_of(name), settled(name), 20.0
    pressure_pa = 2.2e6 if name == "xbw" else 1.2e6
    drive, distance_m = _stopped(car, name, pressure_pa, speed_mps)
    assert (drive.spin_radps[drive.body_mps[:, 0] > 1.0] > 0.0).all()  # nothing locks
    mass_kg = car.model.inertia.total_kg
    rolling_n = _resistance(car, state) * mass_kg * car.vehicle.gravity_mps2
    force_n = _brake_force_n(car, state, pressure_pa) + rolling_n
    assert force_n > 0.3 * mass_kg * car.vehicle.gravity_mps2
    assert car.vehicle.aero is not None
    drag = aero_row(car.vehicle.aero.aerodynamics)[0]
    effective_kg = mass_kg * (1.0 + _rotating_share(car, state))
    assert distance_m == pytest.approx(_distance_m(speed_mps, 0.05, effective_kg, force_n, drag), rel=0.02)


@pytest.mark.parametrize("name", VEHICLES)
def test_braking_distance_with_locked_wheels(name: str) -> None:
    """Sliding on all four: the closed tyre formula at the loads of this deceleration, integrated, within 2 %."""
    car, speed_mps = car_of(name), 20.0
    drive, distance_m = _stopped(car, name, 1.5e7, speed_mps)
    sliding = (drive.t_s > 0.3) & (drive.body_mps[:, 0] > 1.0)
    assert np.abs(drive.spin_radps[sliding]).max() < 0.5
    static, lift = static_loads(car.vehicle), car.vehicle.aero
    assert lift is not None
    drag, *lifts = aero_row(lift.aerodynamics)
    speeds = np.linspace(0.05, speed_mps, 100)
    forces = np.array([_sliding_force_n(car, static, -v * v * np.array(lifts)) for v in speeds])
    assert 0.4 < forces[0] / (car.vehicle.gravity_mps2 * static.total_kg) < 1.5
    expected = np.trapezoid(static.total_kg * speeds / (forces + drag * speeds**2), speeds)
    assert distance_m == pytest.approx(expected, rel=0.02)


def _sliding_force_n(car: Car, static: StaticLoads, down_n: Array) -> float:
    """Of four locked wheels, with the load that braking moves to the front and the downforce of each axle."""
    height_m = static.cg_m[2] + car.vehicle.body.origin_height_m
    force_n = 0.0
    for _ in range(8):  # the loads depend on the force
        moved_n = force_n * height_m / car.vehicle.wheelbase_m
        more = {"f": 0.5 * (down_n[0] + moved_n), "r": 0.5 * (down_n[1] - moved_n)}
        force_n = 0.0
        for c in CORNERS:
            tyre = car.vehicle.corner(c).axle.tyre
            force_n -= float(steady_force(tyre, static.wheel_n[c] + more[c[0]], _locked(car, c), 0.0)[0])
    return force_n


def _locked(car: Car, corner: str) -> float:
    """Slip of a locked wheel: −1 by the speed of the car (Magic Formula), beyond all bounds by its own (TMeasy)."""
    return -1.0 if car.vehicle.corner(corner).axle.tyre.kind == "magic_formula" else -30.0


@pytest.mark.parametrize("name", VEHICLES)
def test_a_spin_with_wheels_that_lock_and_roll_back_stays_finite(name: str) -> None:
    """Steering and brakes beyond the limit: the car turns round, slides sideways and backwards, and stops.

    A wheel that is about to lock while its tyre slides askew once let Newton go round in circles.
    """
    car = car_of(name)
    t = times_s(10.0)
    rack = 0.012 * np.sin(np.pi * (t - 1.0)) * pulse(t, 1.0, 9.0, 0.6)
    brake = pulse(t, 6.0, 9.0)
    drive = car.drive(
        car.moving(settled(name), 15.0),
        {
            "rack_m": rack,
            "drive_nm": 400.0 * pulse(t, 0.2, 5.0),
            "brake_front_pa": 1.5e6 * brake,
            "brake_rear_pa": 1.0e6 * brake,
        },
    )
    assert np.isfinite(drive.trajectory.q).all()
    assert np.abs(drive.load_n).max() < 3.0 * sum(car.loads_n(settled(name)).values())
    handbrake = car.drive(
        car.moving(settled(name), 15.0),
        {"rack_m": 0.02 * rise(t, 0.5, 0.8), "brake_rear_pa": 1.4e7 * pulse(t, 0.8, 4.0)},
    )
    locked = (t > 1.4) & (t < 3.0)
    assert np.abs(handbrake.spin_radps[locked][:, 2:]).max() < 1.0
    assert np.ptp(np.unwrap(handbrake.rpy_rad[:, 2])) > np.radians(60.0)
    assert np.isfinite(handbrake.trajectory.q).all()
