"""Four states side by side equal four states one after the other; warm-up and the bench report."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from hodograph.bench import kernel_speed
from hodograph.bench.kernel_speed import Timing, chain, kernel_report, multilink
from hodograph.cli.main import app
from hodograph.multibody import LaneStepper, StepOptions, Stepper, build, shipped_mechanism
from hodograph.multibody.warm_up import warm_up_jobs


@pytest.mark.parametrize("name", ["fourbar", "spatial_fourbar", "double_wishbone"])
def test_lanes_equal_single_states(name: str) -> None:
    model = build(shipped_mechanism(name))
    options = StepOptions(tolerance=1e-12)
    single, lanes = Stepper(model, options=options), LaneStepper(model, options)
    if "rack_m" in model.inputs:
        for stepper in (single, lanes):
            stepper.set_input("rack_m", 0.01)
    states = []
    for k in range(4):
        qd = np.zeros(model.n)
        qd[model.independent] = 0.7 * k
        states.append(single.start(qd))
    together, cost = lanes.step(states, 2e-3, 300)
    assert cost.residual < 1e-10
    for state, lane in zip(states, together, strict=True):
        single.forget()
        alone = single.run(state, 2e-3, 300).last
        assert lane.t_s == pytest.approx(alone.t_s)
        assert np.abs(lane.q - alone.q).max() < 1e-7
        assert np.abs(lane.qd - alone.qd).max() < 1e-6


def test_lanes_want_four_states_of_one_time() -> None:
    model = build(shipped_mechanism("pendulum"))
    state = Stepper(model).start()
    with pytest.raises(ValueError, match="want 4 states"):
        LaneStepper(model).step([state] * 3, 1e-3)


def test_the_five_link_corner_is_as_large_as_the_seeds() -> None:
    model = build(multilink())
    assert (model.n, model.constraints, model.degrees_of_freedom) == (77, 66, 11)
    stepper = Stepper(model)
    run = stepper.run(stepper.start(), 1e-3, 200)
    assert run.cost.residual < 1e-10


def test_a_chain_swings() -> None:
    model = build(chain(20))
    assert model.degrees_of_freedom == 20
    stepper = Stepper(model)
    assert stepper.run(stepper.start(), 2e-3, 200).cost.residual < 1e-10


def test_warm_up_compiles_by_running() -> None:
    names = [name for name, job in warm_up_jobs() if job() is not None]
    assert len(names) >= 8


def test_report_has_null_for_an_absent_peer() -> None:
    timings = {"fourbar": Timing(0.5, 0.4), "exudyn_fourbar": Timing(20.0, 19.0)}
    report = kernel_report(timings, None)
    assert report["ratios"] == {"fourbar_vs_exudyn": 40.0, "fourbar_vs_exudyn_index2": None, "ukf28_vs_filterpy": None}
    assert json.loads(json.dumps(report))["us"]["fourbar"] == 0.5


def test_bench_prints_one_json_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_speed, "kernel_timings", lambda: {"fourbar": Timing(0.5, 0.4)})
    result = CliRunner().invoke(app, ["bench", "kernels", "--json"])
    assert result.exit_code == 0, (result.output, result.exception)
    assert json.loads(result.stdout)["us"] == {"fourbar": 0.5}


def test_warmup_command() -> None:
    result = CliRunner().invoke(app, ["warmup"])
    assert result.exit_code == 0, (result.output, result.exception)
