"""Comparing observers on a known motion: the table against plain numpy, seeds, consistency, what is lost, bad input."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from hodograph.multibody.forces.loads import CoordinateSpring, Torque
from hodograph.multibody.model.build import Model, build
from hodograph.multibody.model.mechanism import shipped_mechanism
from hodograph.multibody.steps.stepper import Stepper
from hodograph.observers.conformance import pushed_rail, rail
from hodograph.observers.on_mechanism.uncertainty import Uncertainty, state_layout, unknown_force
from hodograph.replay.evaluate import Contender, evaluate
from hodograph.replay.evaluation import BAND, Evaluation
from hodograph.replay.labels import labelled, name_and_unit
from hodograph.replay.motion import TrueMotion, simulate
from hodograph.sensors import AbsolutePoint, Encoder, Gyroscope, Quality, RateEncoder, ideal, mount

UNSURE = Uncertainty(0.05, 0.05, 0.1)
CRANK = Encoder("crank", "theta", Quality(0.017, rate_hz=50.0))
GYRO = Gyroscope("gyro", "coupler", Quality(0.01, latency_s=0.02))


@cache
def fourbar(gravity_mps2: float = 9.81) -> Model:
    return build(replace(shipped_mechanism("fourbar"), gravity_mps2=(0.0, -gravity_mps2)))


@cache
def compared() -> Evaluation:
    truth = simulate(fourbar(), 1.5)
    return evaluate(
        truth, ["dekf", "error_ekf_ej"], [CRANK, GYRO], uncertainty=UNSURE, model=fourbar(9.0), seeds=(3, 4)
    )


def new_axes() -> Any:
    return pytest.importorskip("matplotlib.figure", reason="needs the plot extra").Figure().subplots()


def test_the_figures_equal_those_of_plain_loops() -> None:
    result = compared()
    rows, steps = ("theta_rad", "theta_dot_radps"), len(result.truth.states) - 1
    assert result.layout.names == rows
    z = int(result.truth.model.independent[0])
    for name in result.observers:
        squares, normed, inside = [[], []], [], [0, 0]
        for run in result.runs[name]:
            for k in range(steps):
                state = result.truth.states[k + 1]
                error = [run.x[k, 0] - state.q[z], run.x[k, 1] - state.qd[z]]
                inverse = np.linalg.inv(run.P[k])
                normed.append(sum(error[i] * inverse[i, j] * error[j] for i in range(2) for j in range(2)))
                for i in range(2):
                    squares[i].append(error[i] ** 2)
                    inside[i] += abs(error[i]) <= BAND * run.P[k, i, i] ** 0.5
        frame = result.to_pandas().loc[name]
        for i, row in enumerate(rows):
            assert frame[f"rmse_{row}"] == pytest.approx((sum(squares[i]) / (2 * steps)) ** 0.5, rel=1e-12)
            assert frame[f"coverage_95_{row}"] == pytest.approx(inside[i] / (2 * steps), rel=1e-12)
        assert frame["nees"] == pytest.approx(sum(normed) / len(normed) / 2, rel=1e-9)
    assert compared().figures("dekf").rmse[0] != result.figures("error_ekf_ej").rmse[0]


def test_a_seed_is_repeated_bit_for_bit_and_others_differ() -> None:
    result, truth = compared(), compared().truth
    again = evaluate(
        truth, {"again": "error_ekf_ej"}, mount(truth.model, [CRANK, GYRO]), uncertainty=UNSURE,
        model=fourbar(9.0), seeds=(4,),
    )  # fmt: skip
    assert np.array_equal(again.run("again").x, result.run("error_ekf_ej", 4).x)
    assert np.array_equal(again.run("again").P, result.run("error_ekf_ej", 4).P)
    assert not np.array_equal(again.run("again").x, result.run("error_ekf_ej", 3).x)


def test_a_filter_that_knows_how_wrong_it_is_lies_within_its_bounds() -> None:
    """A particle on a rail, pushed by nothing unknown: the Kalman filter is exact, its start drawn from its own P."""
    model = rail().problem.model
    start = Stepper(model).start(np.array([2.0, 0.0]))
    sensors = [Encoder("position", "P.x", Quality(0.05)), RateEncoder("rate", "P.x", Quality(0.1, rate_hz=20.0))]
    sure = Uncertainty(1e-9, 0.4, 0.6)
    truth = simulate(model, 2.0, step_s=0.01, start=start)
    result = evaluate(truth, {"right": "dekf", "boasts": Contender("dekf", replace(sure, std_z=0.01))},
                      sensors, uncertainty=sure, seeds=range(30))  # fmt: skip
    low, high = result.nees_bounds
    right, boasts = result.figures("right"), result.figures("boasts")
    assert (low, high) == pytest.approx((0.675, 1.388), abs=1e-3)  # chi-square of 60 samples, from a table
    assert low < right.nees < high
    assert right.nis_bounds[0] < right.nis < right.nis_bounds[1]
    assert right.coverage_95 == pytest.approx(0.95, abs=0.03)
    assert boasts.nees > 5.0 * high
    assert boasts.nis > 1.5 * boasts.nis_bounds[1]


def test_what_is_lost_is_told_and_never_flatters() -> None:
    truth = simulate(fourbar(), 0.3)
    result = evaluate(truth, ["dekf"], [CRANK], uncertainty=UNSURE, seeds=(0, 1), start_error=[0.0, 1000.0])
    run, figures = result.run("dekf"), result.figures("dekf")
    assert run.lost_s is not None
    assert 0.0 < run.lost_s < 0.3
    held = np.isfinite(run.x).all(axis=1)
    assert held.sum() == round(run.lost_s / 0.005) - 1
    assert (figures.lost, figures.first_lost_s) == (2, pytest.approx(run.lost_s, abs=0.05))
    assert np.isinf([*figures.rmse, figures.nees, figures.nis]).all()
    assert (figures.coverage_95 <= held.mean()).all()
    assert f"2 of 2, at {figures.first_lost_s:.2f} s" in str(result)
    assert result.to_pandas().loc["dekf", "lost"] == 2
    axes = result.plot(axes=new_axes())
    assert axes.get_legend().get_texts()[0].get_text() == f"dekf, lost at {run.lost_s:.2f} s"


def test_figures_count_from_where_they_are_asked_to() -> None:
    result = compared()
    later = replace(result, after_s=1.0)
    errors = np.array([result.error("dekf", seed)[199:] for seed in (3, 4)])
    assert later.figures("dekf").rmse == pytest.approx(np.sqrt((errors**2).mean(axis=(0, 1))), rel=1e-12)
    assert "from 1 s on" in str(later)


def test_an_angle_is_compared_the_short_way_round() -> None:
    pendulum = build(shipped_mechanism("pendulum"))
    assert state_layout(pendulum).circular == {f"{pendulum.names[pendulum.independent[0]]}_rad"}
    wound = shipped_mechanism("fourbar")
    spring = CoordinateSpring("theta", 3.0)
    assert state_layout(build(replace(wound, forces={"spring": spring}))).circular == frozenset()
    assert state_layout(rail().problem.model).circular == frozenset()
    result = compared()
    run = result.run("dekf", 3)
    turned = replace(run, x=run.x + np.array([2.0 * np.pi, 0.0]))
    other = replace(result, runs={"dekf": (turned,)})
    assert other.error("dekf") == pytest.approx(result.error("dekf", 3), abs=1e-12)


def test_the_truth_may_be_pushed_by_what_nobody_knows() -> None:
    model = pushed_rail().problem.model
    truth = simulate(model, 1.0, step_s=0.01, push=lambda t_s: np.array([6.0, 0.0]))
    assert truth.states[-1].q[0] == pytest.approx(0.5 * 6.0 / 2.0, rel=1e-6)
    finer = simulate(model, 1.0, step_s=0.01, substeps=3, push=lambda t_s: np.array([6.0, 0.0]))
    assert finer.states[-1].q[0] == pytest.approx(1.5, rel=1e-6)
    sensors = [Encoder("position", "P.x", Quality(0.01))]
    plain = Uncertainty(1e-3, 0.01, 0.01)
    able = Contender("force_ekf", replace(plain, disturbances=unknown_force(model, 0.1, 10.0)))
    result = evaluate(truth, {"dekf": "dekf", "force_ekf": able}, sensors, uncertainty=plain, seeds=range(3))
    assert result.figures("force_ekf").rmse[0] < 0.2 * result.figures("dekf").rmse[0]


def test_observers_are_told_the_inputs() -> None:
    mechanism = replace(shipped_mechanism("fourbar"), forces={"motor": Torque(1.0, coordinate="theta", input="motor")})
    model = build(mechanism)
    schedule = np.zeros((200, 1, 3))
    schedule[:, 0, 0] = 300.0 * np.sin(0.05 * np.arange(200))
    truth = simulate(model, 1.0, schedule=schedule)
    finer = simulate(model, 1.0, substeps=4, schedule=schedule)
    assert finer.x[-1] == pytest.approx(truth.x[-1], abs=2e-3)
    still = simulate(model, 1.0)
    assert abs(truth.x[-1, 0] - still.x[-1, 0]) > 0.1
    blunt = [Encoder("crank", "theta", Quality(10.0))]
    sure = Uncertainty(1e-8, 1e-4, 1e-4)
    result = evaluate(truth, ["error_ekf_ej"], blunt, uncertainty=sure, start_error=[0.0, 0.0], seeds=(0,))
    assert result.figures("error_ekf_ej").rmse[0] < 0.02


def test_a_recorded_motion_serves_and_finer_steps_move_it_little() -> None:
    coarse, fine = simulate(fourbar(), 0.5), simulate(fourbar(), 0.5, substeps=4)
    assert 0.0 < abs(coarse.x[-1, 0] - fine.x[-1, 0]) < 1e-3
    recorded = TrueMotion(fourbar(), tuple(fine.states[::2]))
    assert recorded.step_s == pytest.approx(0.01)
    result = evaluate(recorded, ["dekf"], [CRANK], uncertainty=UNSURE, seeds=(0,))
    assert len(result.error("dekf")) == 50
    assert repr(recorded) == "TrueMotion(four-bar linkage: 0.5 s in steps of 0.01 s)"


def test_every_observer_reads_the_same() -> None:
    """Two names for one observer: the very same answer; readings with a latency act when they were measured."""
    truth = compared().truth
    result = evaluate(truth, {"a": "dekf", "b": "dekf"}, [GYRO], uncertainty=UNSURE, seeds=(0,))
    assert np.array_equal(result.run("a").x, result.run("b").x)
    prompt = replace(GYRO, quality=replace(GYRO.quality, latency_s=0.0))
    other = evaluate(truth, ["dekf"], [prompt], uncertainty=UNSURE, seeds=(0,))
    assert np.array_equal(result.run("a").x, other.run("dekf").x)
    assert result.run("a").nis_rows == len(ideal(mount(truth.model, [GYRO]), truth.states[1:]))


def test_the_plot_is_axes_with_units_and_a_legend() -> None:
    result = compared()
    axes = result.plot("theta_dot_radps", axes=new_axes())
    assert axes.get_xlabel() == "time [s]"
    assert axes.get_ylabel() == "error of theta_dot [rad/s], 95 % band"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["dekf", "error_ekf_ej"]
    lines = {line.get_label(): line.get_ydata() for line in axes.get_lines()}
    assert np.array_equal(lines["dekf"], result.error("dekf", 3)[:, 1])
    one = result.plot(observers=["dekf"], seed=4, axes=new_axes())
    assert "error of theta [rad]" in one.get_ylabel()
    assert "seed 4" in one.get_title(loc="left")


def test_a_plot_on_axes_of_its_own_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason="needs the plot extra").use("Agg")
    from matplotlib import pyplot

    monkeypatch.setattr(pyplot, "show", lambda: pytest.fail("shown"))
    axes = compared().plot()
    assert axes.figure in map(pyplot.figure, pyplot.get_fignums())
    pyplot.close(axes.figure)


def test_table_and_frame() -> None:
    result = compared()
    text = str(result).splitlines()
    assert len(text) == 4
    assert "RMSE theta [rad]" in text[1]
    assert text[2].startswith("dekf ")
    frame = result.to_pandas()
    assert list(frame.columns) == [
        "rmse_theta_rad", "rmse_theta_dot_radps", "nees", "nees_low", "nees_high", "coverage_95_theta_rad",
        "coverage_95_theta_dot_radps", "nis", "nis_low", "nis_high", "runs", "lost", "first_lost_s", "step_us",
    ]  # fmt: skip
    assert frame.index.name == "observer"
    assert frame.attrs["units"]["rmse_theta_dot_radps"] == "rad/s"
    assert repr(result) == "Evaluation(four-bar linkage, 1.5 s, 2 seeds: dekf, error_ekf_ej)"
    named = replace(result, runs={"<script>": result.runs["dekf"]})
    assert "<script>" not in named._repr_html_()
    assert "&lt;script&gt;" in named._repr_html_()


def test_rows_are_told_with_their_units() -> None:
    assert name_and_unit("theta_dot_radps") == ("theta_dot", "rad/s")
    assert name_and_unit("gravity_error_mps2") == ("gravity_error", "m/s^2")
    assert name_and_unit("force_theta") == ("force_theta", "1")
    assert (labelled("P.x_m"), labelled("friction_0")) == ("P.x [m]", "friction_0")


def wrong(**changed: Any) -> dict[str, Any]:
    return {"observers": ["dekf"], "sensors": [CRANK], "uncertainty": UNSURE, "seeds": (0,), **changed}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (wrong(observers=["ekf"]), "no observer ekf; there are dekf"),
        (wrong(observers=["dekf", "force_ekf"]), "force_ekf estimates an unknown force"),
        (wrong(observers={"mine": Contender("gravity_ukf")}), "gravity_ukf estimates the strength of gravity"),
        (wrong(observers=[]), "no observers"),
        (wrong(observers=["dekf", "dekf"]), "named twice"),
        (wrong(observers="dekf"), "the text 'dekf'"),
        (wrong(observers=[Contender("dekf")]), "give a mapping"),
        (wrong(sensors=[]), "no sensors"),
        (wrong(sensors=[Encoder("e", "phi", Quality(0.1))]), "phi"),
        (wrong(sensors=[Gyroscope("g", "flywheel", Quality(0.1))]), "no body flywheel"),
        (wrong(sensors=[AbsolutePoint("p", "P9", Quality(0.1))]), "P9"),
        (wrong(seeds=()), "at least one seed"),
        (wrong(seeds=(1, 1)), "none twice"),
        (wrong(start_error=[0.1]), r"want \(2,\)"),
        (wrong(start_error=[np.nan, 0.0]), "cannot start"),
        (wrong(after_s=5.0), "lasts 0.1 s"),
        (wrong(model=rail().problem.model), "four-bar linkage moves in theta, the observers' model in P.x"),
    ],
)
def test_bad_input_is_one_clear_error(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        evaluate(simulate(fourbar(), 0.1), **arguments)


def test_bad_motions_and_questions_are_one_clear_error() -> None:
    model = fourbar()
    with pytest.raises(ValueError, match="seconds >= step_s > 0"):
        simulate(model, 0.0)
    with pytest.raises(ValueError, match="seconds >= step_s > 0"):
        simulate(model, float("nan"))
    with pytest.raises(ValueError, match=r"push\(0\) has shape \(2,\)"):
        simulate(model, 0.1, push=lambda t_s: np.zeros(2))
    with pytest.raises(ValueError, match="schedule has shape"):
        simulate(model, 0.1, schedule=np.zeros((3, 0, 3)))
    truth = simulate(model, 0.1)
    with pytest.raises(ValueError, match="has 1 states"):
        TrueMotion(model, truth.states[:1])
    with pytest.raises(ValueError, match="equal steps"):
        TrueMotion(model, (*truth.states[:3], truth.states[5]))
    with pytest.raises(ValueError, match="do not belong"):
        TrueMotion(rail().problem.model, truth.states)
    result = compared()
    with pytest.raises(ValueError, match="no observer ukf; there are dekf"):
        result.plot(observers=["ukf"])
    with pytest.raises(ValueError, match="no run of seed 9"):
        result.plot(seed=9)
    with pytest.raises(ValueError, match="no state row 'phi_rad'"):
        result.plot("phi_rad")
