"""Every plotting helper gives axes or a figure of them, with units; those that save a file save the same picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hodograph.acquisition.log import LogReader, LogWriter
from hodograph.ann.network import VsaEstimate
from hodograph.bench.linkages.grid import Case, Score, Source
from hodograph.core import Channel, Frame, HodographError, StreamData, StreamSchema
from hodograph.core.frames import Array
from hodograph.multibody.car import read_vehicle
from hodograph.observers.sideslip.drive import SideslipDrive

pytest.importorskip("matplotlib", reason="needs the plot extra")

from matplotlib.axes import Axes
from matplotlib.figure import Figure

PNG = b"\x89PNG"


def labels(figure: Figure) -> list[tuple[str, str]]:
    """x and y label of all axes that have both."""
    found = [(axes.get_xlabel(), axes.get_ylabel()) for axes in figure.axes]
    return [pair for pair in found if all(pair)]


def sideslip() -> tuple[SideslipDrive, VsaEstimate]:
    t_s = 0.05 * np.arange(1600)
    beta = 0.05 * np.sin(t_s)
    inputs = np.column_stack([20.0 + np.sin(t_s), 0.1 * np.sin(t_s), 6.0 * np.sin(t_s), 0.0 * t_s, 0.2 * np.sin(t_s)])
    estimate = VsaEstimate((t_s * 1e9).astype(np.int64), beta + 0.002, np.full(1600, 0.004), t_s > 1.0)
    return SideslipDrive.sampled("lap", t_s, inputs, beta), estimate


@pytest.fixture
def log(tmp_path: Path) -> LogReader:
    names = (("latitude_rad", "rad"), ("longitude_rad", "rad"), ("height_m", "m"), ("speed_mps", "m/s"))
    schema = StreamSchema("gnss", tuple(Channel(n, u, Frame.NONE) for n, u in names))
    angle = np.linspace(0.0, 6.0, 200)
    columns = (0.9 + 1e-5 * np.sin(angle), 0.1 + 1e-5 * np.cos(angle), 0.0 * angle, 10.0 + angle)
    with LogWriter.create(tmp_path / "lap.drive") as writer:
        writer.add_stream(schema)
        t_ns = np.arange(200) * 100_000_000
        writer.append_data(StreamData(schema, t_ns, dict(zip(schema.names, columns, strict=True))))
    return LogReader(tmp_path / "lap.drive")


def test_a_track_is_drawn_on_the_axes_one_has(log: LogReader, tmp_path: Path) -> None:
    from hodograph.cli.track_plot import draw_track, plot_track

    given = Figure().add_subplot()
    assert draw_track(log, title="mine", axes=given) is given
    assert (given.get_xlabel(), given.get_title(loc="left")) == ("east of the first fix in m", "mine")
    plot_track(log, tmp_path / "track.png")
    assert (tmp_path / "track.png").read_bytes().startswith(PNG)
    with pytest.raises(HodographError, match="has no stream 'imu'"):
        draw_track(log, stream="imu", axes=given)


def test_new_axes_are_those_of_a_notebook(log: LogReader) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    from hodograph.cli.track_plot import draw_track

    axes = draw_track(log)
    assert axes.figure in map(pyplot.figure, pyplot.get_fignums())
    pyplot.close(axes.figure)


def test_sideslip_against_its_reference(tmp_path: Path) -> None:
    from hodograph.replay import vsa_plot

    drive, estimate = sideslip()
    rows = vsa_plot.draw_estimate(drive, estimate, "mine")
    assert [axes.get_ylabel() for axes in rows.axes] == ["sideslip β [deg]"] * 2  # a row a minute
    errors = vsa_plot.draw_residuals(drive, estimate, "mine")
    assert labels(errors)[1] == ("speed [m/s]", "estimate - reference [deg]")
    given = Figure().add_subplot()
    assert vsa_plot.draw_comparison(drive, {"network": estimate}, (10.0, 20.0), given) is given
    assert [text.get_text() for text in given.get_legend().get_texts()] == ["reference", "network"]
    vsa_plot.plot_estimate(drive, estimate, tmp_path / "a.png", "mine")
    vsa_plot.plot_residuals(drive, estimate, tmp_path / "b.png", "mine")
    vsa_plot.plot_comparison(drive, {"network": estimate}, tmp_path / "c.png", (10.0, 20.0))
    assert all((tmp_path / f"{name}.png").read_bytes().startswith(PNG) for name in "abc")


def test_a_vehicle_and_its_curves(tmp_path: Path) -> None:
    from hodograph.cli.vehicle_plot import draw_curves, draw_vehicle, plot_curves
    from hodograph.multibody.car.examine import examine

    vehicle = read_vehicle("race_car")
    assert len(draw_vehicle(vehicle, None).axes) == 5
    report = examine(vehicle)
    curves = draw_curves(report)
    assert [axes.get_xlabel() for axes in curves.axes] == [
        *["wheel travel in mm, bump +"] * 5,
        "rack travel in mm, left +",
    ]
    plot_curves(report, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes().startswith(PNG)


def test_the_report_of_the_linkages() -> None:
    from hodograph.bench.linkages.report import DRAWN, draw_realtime

    cases = [Case("fourbar", "encoder_crank", name, 200, "high") for name in ("dekf", "ukf_tr")]
    figure = draw_realtime([Score(case, 0.01, False, 0.002) for case in cases], "nd2017", Source())
    axes: Axes = figure.axes[0]
    widths: Array = np.array([bar.get_width() for bar in axes.containers[0]])
    assert widths == pytest.approx([500.0, 500.0])
    assert list(DRAWN) == ["rms", "realtime", "error", "observability"]
