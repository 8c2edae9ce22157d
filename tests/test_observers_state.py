"""One state: all that an observer knows lies in its memory, so rewinding, copying and batching leave no trace."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from mechanism_benches import wheel
from state_samples import FAMILIES, MECHANISMS, car_inputs, car_problem, linkage, make, outside, readings_of

from hodograph.core.frames import Array, wrap_rad
from hodograph.core.layout import StateLayout
from hodograph.core.reading import Reading, Verdict
from hodograph.observers.conformance import (
    DENSITY,
    POSITION_STD,
    RATE_STD,
    START_STD,
    STEP_NS,
    STEP_S,
    LinearCase,
    check_late_data,
    rail,
    rotor,
    simulate,
    stepwise_rail,
)
from hodograph.observers.counts import RESETS
from hodograph.observers.on_mechanism.mechanism import engine, observer
from hodograph.observers.on_mechanism.problem import Problem
from hodograph.observers.on_mechanism.recipes import RECIPES
from hodograph.observers.on_mechanism.uncertainty import (
    body_force,
    road_height,
    sensor_bias,
    sensor_latency,
    sensor_scale,
    spring_stiffness,
    tyre_friction,
    unknown_force,
)
from hodograph.observers.online import OnlineObserver
from hodograph.observers.smoothing import smooth, smooth_fixed_lag

STEPS = 60
FAMILY_NAMES = sorted(FAMILIES)


def served(problem: Problem, name: str, horizon_s: float = 0.5) -> OnlineObserver:
    """The observer in service, never gating."""
    return OnlineObserver(make(problem, name, horizon_s, gate=np.inf))


def memory_of(observer: OnlineObserver) -> bytes:
    return observer.engine.core.memory.tobytes()


# --- nothing outside the memory matters ------------------------------------------------------------------------------


def touched_by(problem: Problem, name: str, readings: Sequence[Reading]) -> dict[str, Array]:
    """Of every array outside the memory the entries that a run writes."""
    one = served(problem, name)
    before = {path: array.copy() for path, array in outside(one.engine).items()}
    masks = {path: np.zeros(array.shape, dtype=bool) for path, array in before.items()}
    for reading in readings:
        one.feed([reading])
        for path, array in outside(one.engine).items():
            masks[path] |= ~((array == before[path]) | (np.isnan(array) & np.isnan(before[path])))
    return {path: mask for path, mask in masks.items() if mask.any()}


def spoilt(problem: Problem, name: str, readings: Sequence[Reading], masks: dict[str, Array]) -> list[bytes]:
    """The memory after every call, what `masks` names being spoilt before each."""
    one, found = served(problem, name), []
    for reading in readings:
        for ask in (lambda r=reading: one.predict_to(r.t_ns - 1_500_000), lambda r=reading: one.feed([r])):
            arrays = outside(one.engine)
            for path, mask in masks.items():
                arrays[path][mask] = np.nan if arrays[path].dtype.kind == "f" else 7
            ask()
            found.append(memory_of(one))
    return found


def assert_nothing_else_is_known(problem: Problem, name: str, readings: Sequence[Reading]) -> None:
    masks = touched_by(problem, name, readings)
    assert len(masks) > 5, "a filter has buffers"
    clean = spoilt(problem, name, readings, {})
    assert len(set(clean)) > len(readings)
    if spoilt(problem, name, readings, masks) != clean:
        guilty = [p for p, m in masks.items() if spoilt(problem, name, readings, {p: m}) != clean]
        raise AssertionError(f"known outside the memory: {', '.join(guilty)}")


@pytest.mark.parametrize("name", FAMILY_NAMES)
def test_what_is_outside_the_memory_is_made_anew_at_every_step(name: str) -> None:
    """Every buffer that a run writes and the memory does not hold may be rubbish between two calls."""
    problem = linkage("fourbar", name)
    assert_nothing_else_is_known(problem, name, readings_of(problem, STEPS))


def test_so_it_is_on_a_corner_of_a_car() -> None:
    problem = linkage("double_wishbone", "error_ekf_ej")
    assert_nothing_else_is_known(problem, "error_ekf_ej", readings_of(problem, STEPS))


@pytest.mark.parametrize("name", ["error_ekf_ej", "force_ekf", "ukf_tr", "srukf", "cekf", "sckf", "diekf_pm"])
def test_so_it_is_with_unknowns_of_every_kind(name: str) -> None:
    """Entries of tables and forces that turn with a body are put in place before they are used."""
    bench = wheel()
    unknowns = (
        *unknown_force(bench.model, 0.1, 1.0)[:1],
        body_force(bench.model, "W", "knuckle", (0.0, 0.3, 1.0), density=10.0, std=50.0),
        road_height(density=1e-6, std_m=1e-3),
        tyre_friction(0, density=1e-3, std=0.1),
        spring_stiffness(bench.model, "spring", density=1e4, std=1e3),
        sensor_bias("acc", density=1e-3, std=0.1),
        sensor_scale("spin", density=1e-5, std=0.01),
        sensor_latency("spin", density=1e-7, std_s=1e-3),
    )
    problem = bench.problem(unknowns)
    readings = readings_of(problem, 25)
    assert_nothing_else_is_known(problem, name, readings)
    whole, late = served(problem, name), served(problem, name)
    assert set(whole.feed(readings)) == {Verdict.USED}
    assert whole.engine.core.counts[RESETS] == 0.0
    late.feed(readings[:-4] + readings[-3:])
    assert late.correct(readings[-4]) is Verdict.LATE
    assert memory_of(late) == memory_of(whole)


@pytest.mark.parametrize("name", ["error_ekf", "error_ekf_ej"])
def test_so_it_is_on_a_car(name: str) -> None:
    problem = car_problem()
    readings = sorted(readings_of(problem, 30) + car_inputs(problem, 30), key=lambda r: r.t_ns)
    assert_nothing_else_is_known(problem, name, readings)


# --- detours, batches, copies -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("name", FAMILY_NAMES)
def test_how_readings_come_leaves_no_trace(mechanism: str, name: str) -> None:
    """In one table, one by one, in batches of any size, late, with questions between, after a detour: equal bytes."""
    problem = linkage(mechanism, name)
    readings = readings_of(problem, STEPS)
    whole = served(problem, name)
    calls = whole.engine.calls
    said = set(whole.feed(readings))
    assert whole.engine.calls == calls + 1
    if name != "published_cekf":  # it loses the sign of its covariance now and then, and begins anew
        assert said == {Verdict.USED}
        assert whole.engine.core.counts[RESETS] == 0.0
    wanted, rng = memory_of(whole), np.random.default_rng(3)
    single, asked, late, back = (served(problem, name) for _ in range(4))
    for k, reading in enumerate(readings):
        single.correct(reading)
        asked.predict_to(reading.t_ns - int(rng.integers(0, 8_000_000)))
        assert np.isfinite(asked.estimate.x).all()
        asked.correct(reading)
        if k % 6 == 2:
            kept, ring = back.engine.snapshot(), back.engine.core.ring.copy()
            back.engine.advance(3 * problem.step_s)
            back.engine.restore(kept)
            back.engine.core.ring[:] = ring
        back.correct(reading)
    order = np.argsort([r.t_ns + (40_000_000 if k % 5 == 1 else 0) for k, r in enumerate(readings)], kind="stable")
    verdicts = [late.correct(readings[k]) for k in order]
    if name != "published_cekf":
        assert set(verdicts) == {Verdict.LATE, Verdict.USED}
    sized, begin = served(problem, name), 0
    while begin < len(readings):
        end = begin + int(rng.integers(1, 9))
        calls = sized.engine.calls
        sized.feed(readings[begin:end])
        assert sized.engine.calls == calls + 1
        begin = end
    for way, one in {"single": single, "asked": asked, "back": back, "late": late, "sized": sized}.items():
        assert memory_of(one) == wanted, way


@pytest.mark.parametrize("name", FAMILY_NAMES)
def test_a_copy_goes_on_like_the_original(name: str) -> None:
    """Shallow, deep and pickled, in the middle of a run, and with a late reading after it."""
    problem = linkage("fivebar", name)
    readings = readings_of(problem, STEPS)
    held, first, second = readings[20], readings[:20] + readings[21:30], [*readings[30:], readings[20]]
    made = served(problem, name)
    made.feed(first)
    copies = [copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))]
    engines = [copy.copy(made.engine), copy.deepcopy(made.engine), pickle.loads(pickle.dumps(made.engine))]
    estimate = pickle.loads(pickle.dumps(made.estimate))
    assert np.array_equal(estimate.x, made.estimate.x)
    assert np.array_equal(copy.deepcopy(made.estimate).P, made.estimate.P)
    made.engine.advance(problem.step_s)
    for one in engines:
        one.advance(problem.step_s)
        assert one.core.memory.tobytes() == memory_of(made)
    made = pickle.loads(pickle.dumps(copies[0]))
    for one in (made, *copies):
        assert one.feed(second)[-1] is Verdict.LATE
        assert memory_of(one) == memory_of(made)
    assert held is second[-1]


def test_the_check_of_late_data_sees_an_adaptive_observer_adapt() -> None:
    """Its window is full before the late reading comes, and its noise is not that of the start."""
    made: list[OnlineObserver] = []

    def make_one(case: LinearCase) -> OnlineObserver:
        made.append(observer(case.problem, "error_ekf_adaptive", gate=36.0))
        return made[-1]

    check_late_data(make_one, stepwise_rail)
    plant = made[-1].engine.filter.arrays.c.plant
    assert abs(plant.noise_theta[0] / plant.unknowns.density[0] - 1.0) > 0.01


# --- what a reading says ----------------------------------------------------------------------------------------------


NO_SPREAD = sorted(set(RECIPES) - {"force_ekf", "shaping_ekf", "error_ekf_fe", "error_ekf_adaptive"})
ON_RAIL = [name for name in NO_SPREAD if not name.startswith("gravity")]


def textbook(steps: int, tau_s: float, value: float, row: int, var: float) -> tuple[Array, Array]:
    """State and covariance of a particle on a rail after `steps` and a reading τ after the last of them."""
    F, P = np.array([[1.0, STEP_S], [0.0, 1.0]]), np.diag(START_STD) ** 2
    Q = DENSITY * np.array([[STEP_S**3 / 3.0, STEP_S**2 / 2.0], [STEP_S**2 / 2.0, STEP_S]])
    x = np.array([0.0, 1.5])
    for _ in range(steps):
        x, P = F @ x, F @ P @ F.T + Q
    H = np.array([1.0, tau_s]) if row == 0 else np.array([0.0, 1.0])
    K = P @ H / (H @ P @ H + var)
    return x + K * (value - H @ x), P - np.outer(K, H @ P)


@pytest.mark.parametrize("name", ON_RAIL)
@pytest.mark.parametrize("tau_ns", [-4_000_000, 3_000_000])
def test_a_reading_between_nodes_acts_with_what_is_left_of_its_time(name: str, tau_ns: int) -> None:
    """On a rail, at constant velocity, the position τ after a node is x + τ v; that of a rate is v."""
    case = rail()
    start = case.problem.start.copy()
    start.qd[case.problem.model.independent] = 1.5
    for row, (stream, std) in enumerate((("position", POSITION_STD), ("rate", RATE_STD))):
        one = served(replace(case.problem, start=start), name)
        assert one.correct(Reading(20 * STEP_NS + tau_ns, stream, (0.37,))) is Verdict.USED
        x, P = textbook(20, 1e-9 * tau_ns, 0.37, row, std**2)
        loose = 3e-2 if name == "cekf" else 1e-9  # its readings act over the step that ends with them
        assert np.allclose(one.estimate.x, x, atol=loose)
        assert np.allclose(one.estimate.P, P, atol=loose)


@pytest.mark.parametrize("name", ON_RAIL)
def test_a_reading_may_bring_its_own_variance(name: str) -> None:
    """Small and it is believed, huge or infinite and nothing moves, NaN and it is that of the sensor."""
    case, reading = rail(), Reading(10 * STEP_NS, "position", (0.8,))

    def after(var: Sequence[float] | None) -> OnlineObserver:
        one = served(case.problem, name)
        one.predict_to(10 * STEP_NS)
        assert one.feed([reading], [var]) == [Verdict.USED]
        return one

    idle = served(case.problem, name)
    idle.predict_to(10 * STEP_NS)
    assert abs(after((1e-8,)).estimate.x[0] - 0.8) < 1e-5
    assert memory_of(after((np.nan,))) == memory_of(after(None)) == memory_of(after((POSITION_STD**2,)))
    for huge in (1e30, 1e200, np.inf):
        assert np.allclose(after((huge,)).estimate.x, idle.estimate.x, atol=1e-12)
        assert np.allclose(after((huge,)).estimate.P, idle.estimate.P, rtol=1e-9, atol=1e-12)


def test_each_row_has_a_variance_of_its_own() -> None:
    problem = linkage("fourbar", "published_ukf")  # its rows come together
    reading = readings_of(problem, 4)[0]
    assert len(reading.values) == 3
    one, other = served(problem, "error_ekf_ej"), served(problem, "error_ekf_ej")
    one.feed([reading], [(np.nan, np.inf, np.inf)])
    other.feed([replace(reading, values=(reading.values[0], np.nan, np.nan))])
    assert np.allclose(one.estimate.x, other.estimate.x, atol=1e-12)
    assert np.allclose(one.estimate.P, other.estimate.P, atol=1e-15)


def test_readings_of_a_joined_stream_act_as_their_mean() -> None:
    """Within a step: mean time, mean value, variance of a mean; a channel that says nothing does not count."""
    case = rail()
    problem = replace(case.problem, joined=frozenset({"position"}))
    times_ns, values = (98_000_000, 100_000_000, 103_000_000), (0.31, 0.35, 0.36)
    together, mean = served(problem, "dekf"), served(case.problem, "dekf")
    for t_ns, value in zip(times_ns, values, strict=True):
        together.correct(Reading(t_ns, "position", (value,)))
    batch = served(problem, "dekf")
    batch.feed([Reading(t, "position", (v,)) for t, v in zip(times_ns, values, strict=True)])
    mean.feed([Reading(sum(times_ns) // 3, "position", (sum(values) / 3.0,))], [(POSITION_STD**2 / 3.0,)])
    assert memory_of(together) == memory_of(batch)
    assert np.allclose(together.estimate.x, mean.estimate.x, atol=1e-14)
    assert np.allclose(together.estimate.P, mean.estimate.P, atol=1e-16)


def test_a_mean_of_angles_goes_the_short_way_round() -> None:
    case = rotor()
    problem = replace(case.problem, joined=frozenset({"position"}))
    one = served(problem, "dekf")
    said = [Reading(t, "position", (v,)) for t, v in ((9_000_000, 3.13), (10_000_000, -3.13), (11_000_000, 3.14))]
    assert set(one.feed(said)) == {Verdict.USED}
    mean = 3.13 + (2.0 * np.pi - 6.26 + 0.01) / 3.0
    start, P = case.x0[0] + STEP_S * case.x0[1], (case.F @ case.P0 @ case.F.T + case.Q)[0, 0]
    wanted = start + P / (P + POSITION_STD**2 / 3.0) * (mean - start)
    assert one.estimate.x[0] == pytest.approx(wanted, abs=1e-6)


# --- smoothing over angles -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["dekf", "ukf_tr"])
def test_a_smoother_takes_states_apart_by_their_layout(name: str) -> None:
    """A rotor passes ±π: with its angle kept on the circle the smoother says what it says with the turns counted."""
    case = rotor()
    truth, readings = simulate(case, 200, 5)
    assert truth[:, 0].min() < np.pi < truth[:, 0].max()
    grid = np.full((200, 2), np.nan)
    for reading in readings:
        grid[reading.t_ns // STEP_NS - 1, 0 if reading.stream == "position" else 1] = reading.values[0]
    run = engine(case.problem, name).run(grid, for_smoother=True)
    angle = run.layout.names[0]
    x, x_prior = run.x.copy(), run.x_prior.copy()
    x[:, 0], x_prior[:, 0] = wrap_rad(x[:, 0]), wrap_rad(x_prior[:, 0])
    assert np.abs(np.diff(x[:, 0])).max() > 6.0
    on_circle = replace(run, x=x, x_prior=x_prior, layout=StateLayout(run.layout.names, frozenset({angle})))
    straight = replace(run, layout=StateLayout(run.layout.names))
    for counted, wrapped in (
        (smooth(straight), smooth(on_circle)),
        (smooth_fixed_lag(straight, 15), smooth_fixed_lag(on_circle, 15)),
    ):
        assert np.abs(wrap_rad(counted.x[:, 0] - wrapped.x[:, 0])).max() < 1e-9
        assert np.allclose(counted.x[:, 1], wrapped.x[:, 1], atol=1e-9)
    rms = [float(np.sqrt((wrap_rad(s[:, 0] - truth[1:, 0]) ** 2).mean())) for s in (run.x, smooth(on_circle).x)]
    assert rms[1] < rms[0]
