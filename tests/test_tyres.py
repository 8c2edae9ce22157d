from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from tyre_samples import MAGIC, SHIFTED, TMEASY

from hodograph.core import SettingsError, settings_from_text
from hodograph.multibody.forces.columns import TYRE_WIDTH
from hodograph.multibody.forces.tyre_kernels import TRAIL_SPEED_MPS, tyre_force, tyre_response
from hodograph.multibody.forces.tyres import cornering_stiffness_npr, slip_stiffness_n, steady_force, tyre_row
from hodograph.vehicles.tyres import MagicCurve, MagicFormulaTyre, TMeasyCurve, TMeasyTyre, Tyre

KINDS = pytest.mark.parametrize("tyre", [TMEASY, MAGIC], ids=lambda t: t.kind)
LOADS = np.array([1.0, 300.0, 1500.0, 2000.0, 4000.0, 6000.0, 30000.0])
SLIPS = np.array([-1.5, -0.4, -0.13, -0.05, -0.01, 0.0, 1e-4, 0.03, 0.09, 0.2, 0.7, 3.0])
LONG_S = 1e3
REST = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def velocities(tyre: Tyre, sx: float, sy: float, reference_mps: float = 20.0) -> tuple[float, float, float]:
    """vx, vy, roll that have these slips in the tyre's own definition."""
    if isinstance(tyre, TMeasyTyre):
        return reference_mps * (1.0 - sx), -reference_mps * sy, reference_mps
    return reference_mps, -reference_mps * sy, reference_mps * (1.0 + sx)


def friction_limit_n(tyre: Tyre, fz_n: float, fx: float, fy: float) -> float:
    """√(F_Mx² cos² + F_My² sin²) in the direction of a force; the peaks are found on fine curves."""
    fine = np.concatenate([np.linspace(0.0, 1.0, 2001), np.geomspace(1.0, 60.0, 200)])
    peak_x = steady_force(tyre, fz_n, fine, 0.0)[0].max()
    peak_y = steady_force(tyre, fz_n, 0.0, fine)[1].max()
    size = np.hypot(fx, fy)
    return float(np.hypot(peak_x * fx, peak_y * fy) / size) if size > 0.0 else 0.0


@pytest.mark.parametrize("tyre", [TMEASY, MAGIC, SHIFTED, replace(TMEASY, friction=0.4), replace(MAGIC, friction=0.4)])
@pytest.mark.parametrize("gamma_rad", [0.0, -0.06])
def test_the_kernel_settles_on_the_closed_formulas(tyre: Tyre, gamma_rad: float) -> None:
    row = tyre_row(tyre)
    assert row.shape == (TYRE_WIDTH,)
    for fz in LOADS:
        for sx in SLIPS:
            for sy in SLIPS:
                vx, vy, roll = velocities(tyre, sx, sy)
                got = tyre_force(row, fz, vx, vy, roll, gamma_rad, 0.0, 0.0, LONG_S)
                want = steady_force(tyre, fz, sx, sy, gamma_rad)
                assert got[:2] == pytest.approx([float(f) for f in want], abs=2e-7 * fz), (fz, sx, sy)
                assert got[3] * tyre.stiffness_x_npm == pytest.approx(got[0], abs=1e-9 * fz)


def test_a_tmeasy_curve_passes_through_its_data() -> None:
    for k, fz in enumerate((2000.0, 4000.0)):
        for curve, axis in ((TMEASY.longitudinal, 0), (TMEASY.lateral, 1)):

            def force(slip: float, axis: int = axis, fz: float = fz) -> float:
                return float(steady_force(TMEASY, fz, *((slip, 0.0) if axis == 0 else (0.0, slip)))[axis])

            assert force(curve.peak_slip[k]) == pytest.approx(curve.peak_n[k], rel=1e-12)
            assert force(curve.sliding_slip[k]) == pytest.approx(curve.sliding_n[k], rel=1e-12)
            assert force(5.0) == pytest.approx(curve.sliding_n[k], rel=1e-12)
            assert force(1e-7) / 1e-7 == pytest.approx(curve.initial_slope_n[k], rel=1e-4)
            slope = [(force(s + 1e-6) - force(s - 1e-6)) / 2e-6 for s in (curve.peak_slip[k], curve.sliding_slip[k])]
            assert slope == pytest.approx([0.0, 0.0], abs=0.2)  # against slopes of 50 000


def test_the_magic_formula_is_the_magic_formula() -> None:
    fz = 2000.0
    for slip in (-0.3, 0.02, 0.08, 1.0):
        for curve, axis in ((SHIFTED.longitudinal, 0), (SHIFTED.lateral, 1)):
            d, c, e = curve.peak_n[0], curve.shape, curve.curvature[0]
            b = curve.slip_stiffness_n[0] / (c * d)
            other = SHIFTED.lateral if axis == 0 else SHIFTED.longitudinal
            slips = (slip, -other.shift_slip) if axis == 0 else (-other.shift_slip, slip)
            x = slip + curve.shift_slip
            want = d * np.sin(c * np.arctan(b * x - e * (b * x - np.arctan(b * x)))) + curve.shift_force * fz
            assert float(steady_force(SHIFTED, fz, *slips)[axis]) == pytest.approx(want, rel=1e-3)
    assert float(steady_force(MAGIC, fz, 0.0, 0.05)[1]) == pytest.approx(
        2100
        * np.sin(1.35 * np.arctan(1.5 * 0.05 * 45e3 / (1.35 * 2100) - 0.5 * np.arctan(0.05 * 45e3 / (1.35 * 2100))))
    )


@KINDS
def test_stiffnesses_are_the_slopes_of_the_curves(tyre: Tyre) -> None:
    d = 1e-6
    for fz in LOADS:
        slope_y = (steady_force(tyre, fz, 0.0, d)[1] - steady_force(tyre, fz, 0.0, -d)[1]) / (2 * d)
        slope_x = (steady_force(tyre, fz, d, 0.0)[0] - steady_force(tyre, fz, -d, 0.0)[0]) / (2 * d)
        assert float(cornering_stiffness_npr(tyre, fz)) == pytest.approx(float(slope_y), rel=1e-3)
        assert float(slip_stiffness_n(tyre, fz)) == pytest.approx(float(slope_x), rel=1e-3)
    assert float(cornering_stiffness_npr(tyre, 2000.0)) == 45e3
    assert float(cornering_stiffness_npr(tyre, 4000.0)) == 70e3


@KINDS
def test_friction_falls_with_load(tyre: Tyre) -> None:
    loads = np.linspace(100.0, 12000.0, 60)
    for slips in ((0.15, 0.0), (0.0, 0.2), (-0.1, 0.1)):
        grip = np.hypot(*steady_force(tyre, loads, *slips)) / loads
        assert np.all(np.diff(grip) < 1e-12)
    _, inner, outer, even = (steady_force(tyre, fz, 0.0, 0.08)[1] for fz in (0.0, 1000.0, 3000.0, 2000.0))
    assert inner + outer < 2 * even  # why an axle with more roll stiffness loses grip
    assert np.all(np.diff(steady_force(tyre, loads, 0.0, 0.2)[1]) > -1e-9)


@KINDS
def test_a_steady_tyre_never_gives_power(tyre: Tyre) -> None:
    for fz in LOADS:
        for sx in SLIPS:
            for sy in SLIPS:
                vx, vy, roll = velocities(tyre, sx, sy)
                fx, fy = steady_force(tyre, fz, sx, sy)
                assert fx * (vx - roll) + fy * vy <= 0.0


@KINDS
def test_a_deflecting_tyre_never_gives_more_than_it_stored(tyre: Tyre) -> None:
    """F·v + d(½ c x²)/dt = −d ẋ² − (w/K) F² ≤ 0, whatever the motion; also when the load is taken away."""
    rng = np.random.default_rng(5)
    row, h = tyre_row(tyre), 2e-5
    x, y, work = 0.0, 0.0, 0.0
    v, roll, fz = np.zeros(2), 0.0, 2000.0
    for k in range(40000):
        if k % 400 == 0:
            scale = 10.0 ** rng.uniform(-4, 1)
            target, roll_target, fz_target = scale * rng.normal(size=2), scale * rng.normal(), rng.uniform(10.0, 5000.0)
        v += 0.02 * (target - v)
        roll += 0.02 * (roll_target - roll)
        fz += 0.02 * (fz_target - fz)
        fx, fy, _, x, y = tyre_force(row, fz, v[0], v[1], roll, 0.0, x, y, h)
        work += h * (fx * (v[0] - roll) + fy * v[1])
        stored = 0.5 * (tyre.stiffness_x_npm * x * x + tyre.stiffness_y_npm * y * y)
        assert work + stored < 1e-3, k
    assert work < -100.0


small = st.floats(-1e-2, 1e-2)
speed = st.one_of(st.floats(-60.0, 60.0), st.sampled_from([0.0, 1e-12, -1e-6, 1e-3]), st.floats(-1e6, 1e6))
load = st.one_of(st.floats(-1e5, 1e5), st.floats(0.0, 1e4), st.sampled_from([0.0, 1e-300, 1e-7, 2e-6, 1e-3]))
angle = st.floats(-3.2, 3.2)
shift = st.one_of(st.floats(-1.0, 1.0), small)
step = st.sampled_from([0.0, 1e-15, 1e-9, 1e-4, 4e-3, 1.0, 1e9])


@settings(max_examples=400, deadline=None)
@given(fz=load, vx=speed, vy=speed, roll=speed, gamma=angle, x=shift, y=shift, tau=step, which=st.integers(0, 2))
def test_any_input_gives_finite_forces_within_friction(
    fz: float, vx: float, vy: float, roll: float, gamma: float, x: float, y: float, tau: float, which: int
) -> None:
    tyre = (TMEASY, MAGIC, SHIFTED)[which]
    fx, fy, mz, x1, y1, bx, by = tyre_response(tyre_row(tyre), fz, vx, vy, roll, gamma, x, y, tau)
    assert np.all(np.isfinite([fx, fy, mz, x1, y1, bx, by]))
    assert min(bx, by) >= 0.0
    if fz <= 0.0:
        assert (fx, fy, mz, x1, y1) == (0.0,) * 5
        return
    for u, v in ((fx, fy), (tyre.stiffness_x_npm * x1, tyre.stiffness_y_npm * y1)):
        assert np.hypot(u, v) <= 1.001 * friction_limit_n(MAGIC if which == 2 else tyre, fz, u, v) + 1e-9


@KINDS
def test_left_and_right_mirror_exactly(tyre: Tyre) -> None:
    rng = np.random.default_rng(3)
    row = tyre_row(tyre)
    for _ in range(300):
        fz, vx, vy, roll = rng.uniform(10, 6000), *rng.normal(size=3) * 10.0 ** rng.uniform(-4, 1.3)
        gamma, x, y, tau = rng.normal() * 0.1, rng.normal() * 0.01, rng.normal() * 0.01, 10.0 ** rng.uniform(-5, 0)
        fx, fy, mz, x1, y1 = tyre_force(row, fz, vx, vy, roll, gamma, x, y, tau)
        assert tyre_force(row, fz, vx, -vy, roll, -gamma, x, -y, tau) == (fx, -fy, -mz, x1, -y1)


def test_a_tyre_with_shifts_mirrors_by_its_row() -> None:
    left, right = tyre_row(SHIFTED), tyre_row(SHIFTED, mirrored=True)
    fx, fy, mz, x1, y1 = tyre_force(left, 1800.0, 15.0, 0.4, 15.2, 0.03, 0.001, 0.002, 0.004)
    assert tyre_force(right, 1800.0, 15.0, -0.4, 15.2, -0.03, 0.001, -0.002, 0.004) == (fx, -fy, -mz, x1, -y1)


def oracle(tyre: Tyre, fz: float, vx: float, vy: float, roll: float, start: Any, tau: float) -> tuple[Any, Any]:
    """dx/dt and the forces of the deflection equations, with K = F/s from the closed formulas, not from the kernel.

    (K + w d) dx/dt = −K v − w c x, Sanjurjo 2016, 5.36, 5.37 with 5.41, w times the share of sliding.
    """
    vn = tyre.standstill_speed_mps
    if isinstance(tyre, TMeasyTyre):
        sliding = np.hypot(vx - roll, vy)
        locks = np.interp(sliding / np.hypot(roll, 1e-6), [5.0, 10.0], [0.0, 1.0])
        least = np.hypot(vn, 0.03 * sliding * locks**2 * (3.0 - 2.0 * locks))
        w = np.hypot(roll * np.array(tyre.weights), least)
        slips = -np.array([vx - roll, vy]) / w * np.array(tyre.weights)
    else:
        w = np.full(2, np.hypot(vx, vn))
        slips = -np.array([vx - roll, vy]) / w
    v = np.array([vx - roll, vy])
    steady = np.array([float(f) for f in steady_force(tyre, fz, *slips)])
    secant = steady * w / -v
    c = np.array([tyre.stiffness_x_npm, tyre.stiffness_y_npm])
    d = np.array([tyre.damping_x_nspm, tyre.damping_y_nspm])
    slip = np.hypot(*v) / np.hypot(roll, 1e-6)
    needed = np.hypot(*(c * (start - v * tau) - d * v)) / np.hypot(*steady)
    stuck = np.interp(slip, [1.0, 3.0], [0.0, 1.0]), np.interp(needed, [0.7, 1.0], [1.0, 0.0])
    w = w * max(1e-3, 1.0 - np.prod([x * x * (3.0 - 2.0 * x) for x in stuck]))

    def rate(x: Any) -> Any:
        return (-secant * v - w * c * x) / (secant + w * d)

    return rate, lambda x: c * x + d * rate(x)


@KINDS
@pytest.mark.parametrize(
    "motion",
    [
        (20.0, 0.3, 20.1), (20.0, -2.0, 18.0), (1.0, 0.02, 1.01), (0.05, 0.05, 0.001), (20.0, 1.0, 0.0),
        (1e-5, 2e-5, 0.0), (1e-7, -1e-6, 1e-5), (-3.0, 0.4, -3.2), (0.5, 0.001, 15.0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("tau", [1e-7, 4e-3, 0.1, 30.0])
def test_the_deflection_is_the_solution_of_its_equation(tyre: Tyre, motion: Any, tau: float) -> None:
    vx, vy, roll = motion
    start = np.array([0.002, -0.003])
    rate, force = oracle(tyre, 1700.0, vx, vy, roll, start, tau)
    run = solve_ivp(lambda _, x: rate(x), (0.0, tau), start, method="LSODA", rtol=1e-11, atol=1e-15)
    fx, fy, _, x1, y1 = tyre_force(tyre_row(tyre), 1700.0, vx, vy, roll, 0.0, *start, tau)
    assert [x1, y1] == pytest.approx(run.y[:, -1], rel=1e-7, abs=1e-10)
    assert [fx, fy] == pytest.approx(force(run.y[:, -1]), rel=1e-7, abs=1e-5)
    if np.hypot(vx - roll, vy) > abs(roll):
        return  # the share of sliding is taken anew at each step
    half = tyre_force(tyre_row(tyre), 1700.0, vx, vy, roll, 0.0, *start, 0.5 * tau)
    again = tyre_force(tyre_row(tyre), 1700.0, vx, vy, roll, 0.0, half[3], half[4], 0.5 * tau)
    assert again == pytest.approx((fx, fy, again[2], x1, y1), rel=1e-9, abs=1e-12)


@KINDS
def test_steps_through_a_weaving_motion_converge_to_its_solution(tyre: Tyre) -> None:
    def motion(t: float) -> tuple[float, float, float]:
        return 8.0 + np.cos(3 * t), 0.8 * np.sin(7 * t) + 0.01, 8.1 + 0.8 * np.cos(4 * t)

    def rate(t: float, x: Any) -> Any:
        return oracle(tyre, 2200.0, *motion(t), x, 0.0)[0](x)

    want = solve_ivp(rate, (0.0, 1.0), np.zeros(2), rtol=1e-9, atol=1e-13).y[:, -1]
    row, errors = tyre_row(tyre), []
    for n in (500, 1000):
        x, y = 0.0, 0.0
        for k in range(n):
            _, _, _, x, y = tyre_force(row, 2200.0, *motion((k + 0.5) / n), 0.0, x, y, 1.0 / n)
        errors.append(np.hypot(x - want[0], y - want[1]))
    assert errors[1] < 1e-6
    assert errors[1] < errors[0] / 3.5  # midpoint values: second order


@KINDS
def test_the_relaxation_length_is_slip_stiffness_over_carcass_stiffness(tyre: Tyre) -> None:
    still = replace(tyre, damping_y_nspm=0.0)
    sigma = float(cornering_stiffness_npr(tyre, 2000.0)) / tyre.stiffness_y_npm
    for speed_mps in (0.5, 5.0, 50.0):
        vy = -1e-4 * speed_mps
        settled = tyre_force(tyre_row(still), 2000.0, speed_mps, vy, speed_mps, 0.0, 0.0, 0.0, LONG_S)[1]
        after = tyre_force(tyre_row(still), 2000.0, speed_mps, vy, speed_mps, 0.0, 0.0, 0.0, sigma / speed_mps)[1]
        assert after / settled == pytest.approx(1.0 - np.exp(-1.0), rel=2e-3)


@dataclass
class Block:
    """A mass on one tyre, pushed sideways or along; the wheel is locked or stands still without rolling."""

    tyre: Tyre
    along: bool
    mass_kg: float = 200.0
    travel_m: float = 0.0
    speed_mps: float = 0.0
    x_m: float = 0.0
    y_m: float = 0.0

    def run(self, push_n: float, duration_s: float, h: float = 1e-3, from_n: float | None = None) -> float:
        """The force in the end; the push begins at `from_n` and reaches `push_n` half way."""
        row, force = tyre_row(self.tyre), 0.0
        steps = round(duration_s / h)
        for k in range(steps):
            push = push_n if from_n is None else from_n + (push_n - from_n) * min(1.0, 2.0 * k / steps)
            vx, vy = (self.speed_mps, 0.0) if self.along else (0.0, self.speed_mps)
            fx, fy, _, self.x_m, self.y_m = tyre_force(row, 2000.0, vx, vy, 0.0, 0.0, self.x_m, self.y_m, h)
            force = fx if self.along else fy
            self.speed_mps += h * (push + force) / self.mass_kg
            self.travel_m += h * self.speed_mps
        return force


@KINDS
@pytest.mark.parametrize("along", [False, True])
def test_a_standing_tyre_holds_like_a_spring(tyre: Tyre, along: bool) -> None:
    block = Block(tyre, along)
    stiffness = tyre.stiffness_x_npm if along else tyre.stiffness_y_npm
    slope = float((slip_stiffness_n if along else cornering_stiffness_npr)(tyre, 2000.0))
    force = block.run(1000.0, 20.0, from_n=0.0)  # half the weight
    assert force == pytest.approx(-1000.0, abs=0.1)
    settled = block.travel_m
    assert settled == pytest.approx(1000.0 / stiffness, abs=0.5e-3)
    block.run(1000.0, 60.0)
    creep_m = block.travel_m - settled
    assert 0.9 < creep_m / (60.0 * tyre.standstill_speed_mps * 1000.0 / slope) < 1.5  # 1 to 1.5 mm
    block.run(0.0, 20.0, from_n=1000.0)
    assert block.travel_m == pytest.approx(creep_m, abs=0.8e-3)  # and back


@KINDS
@pytest.mark.parametrize("along", [False, True])
def test_a_tyre_let_loose_on_a_slope_trembles_but_does_not_walk(tyre: Tyre, along: bool) -> None:
    push_n = 2000.0 * np.sin(np.radians(5.0))
    block = Block(tyre, along)
    block.run(push_n, 10.0)
    assert block.travel_m < 0.4e-3 + push_n / (tyre.stiffness_x_npm if along else tyre.stiffness_y_npm)
    settled = block.travel_m
    block.run(push_n, 60.0)
    assert 0.0 < block.travel_m - settled < 0.3e-3


@KINDS
@pytest.mark.parametrize("along", [False, True])
def test_a_locked_tyre_slides_at_friction_and_does_not_wind_up(tyre: Tyre, along: bool) -> None:
    block = Block(tyre, along)
    force = block.run(3000.0, 1.0)
    slip = -1.0 if along and isinstance(tyre, MagicFormulaTyre) else -50.0  # κ of a locked wheel
    slips = (slip, 0.0) if along else (0.0, slip)
    sliding = float(steady_force(tyre, 2000.0, *slips)[0 if along else 1])
    assert force == pytest.approx(sliding, rel=0.02)
    assert block.speed_mps > 3.0
    deflection = block.x_m if along else block.y_m
    stiffness = tyre.stiffness_x_npm if along else tyre.stiffness_y_npm
    assert deflection == pytest.approx(sliding / stiffness, rel=0.02)
    block.run(3000.0, 3.0)
    assert (block.x_m if along else block.y_m) == pytest.approx(deflection, rel=0.02)
    row = tyre_row(tyre)
    vx, vy = (-1.0, 0.0) if along else (0.0, -1.0)
    back_s = 3.0 * abs(deflection)  # a few centimetres the other way turn the force round
    turned = tyre_force(row, 2000.0, vx, vy, 0.0, 0.0, block.x_m, block.y_m, back_s)[0 if along else 1]
    assert turned > 0.6 * abs(sliding)


@KINDS
def test_a_sliding_block_comes_to_rest_and_stays(tyre: Tyre) -> None:
    block = Block(tyre, along=False, speed_mps=2.0)
    block.run(0.0, 1.5)
    stopped = block.travel_m
    mean_n = 200.0 * 2.0**2 / 2.0 / stopped
    assert 0.8 * 1900.0 < mean_n < 1.05 * 2100.0
    block.run(0.0, 15.0)
    assert abs(block.speed_mps) < 1e-5
    assert abs(block.travel_m - stopped) < 0.03  # the carcass springs back


@KINDS
def test_a_locked_wheel_slides_against_its_motion(tyre: Tyre) -> None:
    fx, fy, mz, _, _ = tyre_force(tyre_row(tyre), 2000.0, 12.0, 5.0, 0.0, 0.0, 0.0, 0.0, LONG_S)
    if isinstance(tyre, TMeasyTyre):
        assert fx / fy == pytest.approx(12.0 / 5.0)
    assert fx < 0.0
    assert fy < 0.0
    assert np.hypot(fx, fy) > 0.75 * 2000.0
    assert mz == 0.0


@KINDS
def test_a_tyre_that_loses_its_load_lets_go(tyre: Tyre) -> None:
    row = tyre_row(tyre)
    _, _, _, x, y = tyre_force(row, 3000.0, 20.0, -3.0, 18.0, 0.0, 0.0, 0.0, LONG_S)
    fx, fy, _, x1, y1 = tyre_force(row, 100.0, 20.0, -3.0, 18.0, 0.0, x, y, 1e-6)
    assert np.hypot(fx, fy) < 1.4 * 100.0
    assert np.hypot(x1, y1) < 0.1 * np.hypot(x, y)
    assert tyre_force(row, -5.0, 20.0, -3.0, 18.0, 0.0, x, y, 1e-6) == (0.0,) * 5


@KINDS
def test_the_aligning_moment_turns_the_wheel_into_its_motion_and_fades_with_slip(tyre: Tyre) -> None:
    row = tyre_row(tyre)

    def moment(sy: float, sign: float = 1.0) -> tuple[float, float]:
        vx, vy, roll = velocities(tyre, 0.0, sy)
        return tyre_force(row, 2000.0, sign * vx, vy, sign * roll, 0.0, 0.0, 0.0, LONG_S)[1:3]

    fy, mz = moment(1e-4)
    assert -mz / fy == pytest.approx(tyre.trail_m, rel=5e-3)
    trails = [-np.divide(*moment(s)[::-1]) for s in (0.01, 0.05, 0.1, 0.15)]
    assert np.all(np.diff(trails) < 0.0)
    assert moment(0.25)[1] == 0.0
    assert moment(0.05, -1.0)[1] == pytest.approx(-moment(0.05)[1])  # rolling backwards it leads
    assert tyre_force(row, 2000.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.01, 1e-3)[2] == 0.0
    slow = tyre_force(row, 2000.0, TRAIL_SPEED_MPS, 0.0, TRAIL_SPEED_MPS, 0.0, 0.0, 0.005, 0.0)
    assert 0.0 < -slow[2] / slow[1] < tyre.trail_m


@KINDS
def test_camber_pushes_to_where_the_wheel_leans(tyre: Tyre) -> None:
    fx, fy, _, _, _ = tyre_force(tyre_row(tyre), 2000.0, 20.0, 0.0, 20.0, 0.01, 0.0, 0.0, LONG_S)
    assert fy == pytest.approx(0.01 * tyre.camber_slip * 45e3, rel=0.02)
    assert fx == 0.0
    assert tyre_force(tyre_row(tyre), 2000.0, 0.0, 0.0, 0.0, 0.01, 0.0, 0.0, 0.1)[1] == pytest.approx(0.0, abs=0.05)


@pytest.mark.parametrize("tyre", [TMEASY, SHIFTED], ids=lambda t: t.kind)
def test_camber_and_shifts_do_not_move_a_standing_tyre(tyre: Tyre) -> None:
    fx, fy, mz, _, _ = tyre_force(tyre_row(tyre), 2000.0, 0.0, 0.0, 0.0, 0.05, 0.0, 0.0, 600.0)
    assert (fx, fy, mz) == pytest.approx((0.0, 0.0, 0.0), abs=1e-9)


@KINDS
def test_a_slippery_road_keeps_the_stiffness_and_scales_the_limit(tyre: Tyre) -> None:
    ice = replace(tyre, friction=0.2)
    assert steady_force(ice, 2000.0, 0.0, 2.0)[1] == pytest.approx(
        0.2 * steady_force(tyre, 2000.0, 0.0, 10.0)[1], rel=5e-3
    )
    assert steady_force(ice, 2000.0, 0.0, 1e-6)[1] == pytest.approx(steady_force(tyre, 2000.0, 0.0, 1e-6)[1], rel=1e-3)


@KINDS
@pytest.mark.parametrize("motion", [(20.0, 0.0, 20.0), (0.3, 0.0, 0.3), (0.0, 0.0, 0.0)])
def test_tangents_are_exact_at_small_slip(tyre: Tyre, motion: tuple[float, float, float]) -> None:
    row, tau = tyre_row(tyre), 4e-3
    vx, vy, roll = motion
    d = 1e-6 * max(abs(vx), 1e-2)
    _, _, _, _, _, _, by = tyre_response(row, 2000.0, vx, vy + d, roll, 0.0, 0.0, 0.0, tau)
    _, _, _, _, _, bx, _ = tyre_response(row, 2000.0, vx, vy, roll + d, 0.0, 0.0, 0.0, tau)
    fy = [tyre_force(row, 2000.0, vx, vy + s * d, roll, 0.0, 0.0, 0.0, tau)[1] for s in (-1, 1)]
    fx = [tyre_force(row, 2000.0, vx, vy, roll + s * d, 0.0, 0.0, 0.0, tau)[0] for s in (-1, 1)]
    assert -(fy[1] - fy[0]) / (2 * d) == pytest.approx(by, rel=2e-3)
    assert (fx[1] - fx[0]) / (2 * d) == pytest.approx(bx, rel=2e-3)


TOML = """\
kind = "magic_formula"
radius_m = 0.3
stiffness_npm = 180e3
damping_nspm = 150
nominal_load_n = 2000
stiffness_x_npm = 150e3
stiffness_y_npm = 100e3
damping_x_nspm = 400
damping_y_nspm = 300
camber_slip = 0.12
trail_m = 0.03

[longitudinal]
slip_stiffness_n = [60e3, 105e3]
peak_n = [2200, 4100]
shape = 1.6
curvature = [0.1, 0.0]

[lateral]
slip_stiffness_n = [45e3, 70e3]
peak_n = [2100, 3900]
shape = 1.35
curvature = [-0.5, -0.6]
"""


def test_a_tyre_is_read_from_toml() -> None:
    assert settings_from_text(TOML, MagicFormulaTyre) == MAGIC


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("radius_m = 0.3", "radius_m = -0.3", "radius_m is -0.3, give a number above 0"),
        ("stiffness_npm = 180e3", "stiffness_npm = 180.0", "N/m (200000, not 200)"),
        ("damping_x_nspm = 400", "damping_x_nspm = -4", "damping_x_nspm is -4, give zero or more"),
        ("shape = 1.35", "shape = 2.5", "line 22: lateral: shape (C) is 2.5"),
        ("[45e3, 70e3]", "[45e3, 95e3]", "more than doubles with the load"),
        ("[0.1, 0.0]", "[1.1, 0.0]", "keep it at or below 1"),
        ("camber_slip = 0.12", "camber_slop = 0.12", "did you mean camber_slip?"),
        ('"magic_formula"', '"magic"', "want one of 'magic_formula'"),
    ],
)
def test_a_wrong_tyre_says_what_to_do(old: str, new: str, complaint: str) -> None:
    assert old in TOML
    with pytest.raises(SettingsError) as caught:
        settings_from_text(TOML.replace(old, new), MagicFormulaTyre)
    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"initial_slope_n": (30e3, 50e3)}, "inflection"),
        ({"sliding_n": (2300.0, 4000.0)}, "swap them"),
        ({"sliding_slip": (0.1, 0.1)}, "larger sliding_slip"),
        ({"peak_slip": (0.1, 0.25)}, "keep it below twice"),
        ({"peak_n": (0.0, 0.0)}, "above 0"),
    ],
)
def test_a_wrong_curve_says_what_to_do(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        replace(TMEASY.longitudinal, **change)


def test_slip_weights_default_to_those_of_tmeasy() -> None:
    hat_x, hat_y = TMEASY.weights
    knee_x, knee_y = 2200 / 60e3, 2100 / 45e3
    assert hat_x == pytest.approx(0.11 / 0.27 + knee_x / (knee_x + knee_y))
    assert hat_x + hat_y == pytest.approx(2.0)
    assert replace(TMEASY, slip_weights=(1.0, 1.5)).weights == (1.0, 1.5)
    curve = TMeasyCurve((60e3, 110e3), (0.1, 0.1), (2000.0, 3800.0), (0.4, 0.4), (1800.0, 3400.0))
    round_ = replace(TMEASY, longitudinal=curve, lateral=curve)
    assert round_.weights == (1.0, 1.0)
    for phi in (0.0, 0.7, 2.0):  # the same curve in every direction: a circle
        force = np.hypot(*steady_force(round_, 2000.0, 0.06 * np.cos(phi), 0.06 * np.sin(phi)))
        assert force == pytest.approx(float(steady_force(round_, 2000.0, 0.06, 0.0)[0]))


def test_the_magic_formula_stays_in_the_friction_ellipse() -> None:
    slips = np.linspace(-1.0, 1.0, 41)
    fx, fy = steady_force(MAGIC, 2000.0, slips[:, None], slips[None, :])
    use = np.hypot(fx / 2200.0, fy / 2100.0)
    assert use.max() <= 1.0 + 1e-12
    assert use.max() > 0.99
    assert isinstance(MAGIC.lateral, MagicCurve)
