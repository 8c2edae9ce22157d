"""The driver takes the car around every cone and stops; the pictures are drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hodograph.multibody.car.car import Car, Drive
from hodograph.twin.slalom import Slalom, drive_slalom

COURSE = Slalom(cones=3)


@pytest.fixture(scope="module")
def car() -> Car:
    return Car.of("xbw")


@pytest.fixture(scope="module")
def drive(car: Car) -> Drive:
    return drive_slalom(car, COURSE)


def test_every_cone_is_passed_on_its_side(drive: Drive) -> None:
    for k, (x, _) in enumerate(COURSE.cones_m()):
        aside = np.interp(x, drive.position_m[:, 0], drive.position_m[:, 1])
        assert aside * (-1.0) ** k > 0.9, f"cone {k} passed at {aside:.2f} m"


def test_the_car_stops_and_stands(drive: Drive) -> None:
    still = drive.t_s > drive.t_s[-1] - 1.0
    assert np.abs(drive.body_mps[still]).max() < 0.02
    assert np.abs(drive.position_m[still] - drive.position_m[-1]).max() < 5e-3


def test_steps_are_bounded_and_constraints_kept(drive: Drive) -> None:
    assert drive.cost.residual < 1e-8
    assert drive.cost.capped <= 0.002 * drive.cost.steps
    assert drive.cost.iterations < 2.5 * drive.cost.steps


def test_loads_shift_outwards(car: Car, drive: Drive) -> None:
    k = int(np.argmax(drive.acceleration_mps2[:, 1]))
    fl, fr, rl, rr = drive.load_n[k]
    assert fr > fl
    assert rr > rl
    assert drive.load_n[k].sum() == pytest.approx(sum(car.loads_n(car.settle()).values()), rel=0.03)


def test_pictures_are_drawn(car: Car, drive: Drive, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs the plot extra")
    from hodograph.cli.slalom_plot import draw_frames, draw_slalom, frame_lines, plot_frames, plot_slalom

    plot_slalom(car, drive, COURSE, tmp_path / "slalom.png")
    plot_frames(car, drive, COURSE, tmp_path / "frames.png")
    assert all((tmp_path / name).stat().st_size > 20_000 for name in ("slalom.png", "frames.png"))
    assert [axes.get_ylabel() for axes in draw_slalom(car, drive, COURSE).axes][1] == "yaw rate in °/s"
    assert len(draw_frames(car, drive, COURSE).axes) == 6
    rims = [line for part, line in frame_lines(car, drive.trajectory.q[0]) if part == "wheel"]
    assert len(rims) == 4
    assert all(abs(rim[:-1, 2].min()) < 0.02 for rim in rims)
