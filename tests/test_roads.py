from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hodograph.core import settings_from_text
from hodograph.multibody.forces.road import ROAD_WIDTH, Bump, Plane, Road, RoadSurface, Sine
from hodograph.multibody.forces.road_kernels import road_at

ROADS = {
    "nothing": Road(),
    "flat": Road.flat(0.3),
    "slope": Road.slope(0.1),
    "bank": Road.bank(-0.2),
    "sine": Road.sine(0.05, 4.0, direction_rad=0.6, phase_rad=1.0),
    "bump": Road.bump(0.08, 1.5, x_m=2.0, y_m=-1.0, direction_rad=-0.4),
    "short bump": Road.bump(-0.08, 1.5, x_m=2.0, y_m=-1.0, direction_rad=0.9, width_m=2.0),
    "sharp bump": Road.bump(0.05, 0.5, x_m=0.5, width_m=1.0, edge_m=0.1),
}
ROADS["all"] = sum(ROADS.values(), Road())
EACH = pytest.mark.parametrize("road", ROADS.values(), ids=ROADS.keys())
PLACES = np.random.default_rng(8).uniform(-4.0, 4.0, size=(2, 2000))


@EACH
def test_the_kernel_and_the_road_agree(road: Road) -> None:
    table = road.table()
    assert table.shape == (len(road.features), ROAD_WIDTH)
    z, n = road.height_m(*PLACES), road.normal(*PLACES)
    got = np.array([road_at(table, x, y) for x, y in PLACES.T])
    assert got[:, 0] == pytest.approx(z, abs=1e-15)
    assert got[:, 1:] == pytest.approx(n, abs=1e-14)


@EACH
def test_normals_stand_on_the_surface(road: Road) -> None:
    x, y = PLACES
    d = 1e-5
    zx = (road.height_m(x + d, y) - road.height_m(x - d, y)) / (2 * d)
    zy = (road.height_m(x, y + d) - road.height_m(x, y - d)) / (2 * d)
    n = road.normal(x, y)
    assert np.linalg.norm(n, axis=-1) == pytest.approx(1.0)
    assert np.all(n[:, 2] > 0.0)
    assert n[:, 0] + n[:, 2] * zx == pytest.approx(0.0, abs=2e-5)  # perpendicular to (1, 0, zx)
    assert n[:, 1] + n[:, 2] * zy == pytest.approx(0.0, abs=2e-5)


def test_heights_are_where_they_should_be() -> None:
    assert Road().height_m(3.0, 4.0) == 0.0
    assert Road.flat(0.3).height_m([1.0, 2.0], 0.0) == pytest.approx([0.3, 0.3])
    assert Road.slope(np.radians(5.0)).height_m(10.0, 7.0) == pytest.approx(10.0 * np.tan(np.radians(5.0)))
    assert Road.bank(0.1).height_m(10.0, 2.0) == pytest.approx(2.0 * np.tan(0.1))
    assert Road.slope(0.1).normal(0.0, 0.0) == pytest.approx([-np.sin(0.1), 0.0, np.cos(0.1)])
    wave = Road.sine(0.05, 4.0)
    assert wave.height_m([0.0, 1.0, 3.0, 5.0], 2.0) == pytest.approx([0.0, 0.05, -0.05, 0.05])
    bump = Road.bump(0.1, 2.0, x_m=10.0)
    assert bump.height_m([8.9, 9.0, 9.5, 10.0, 10.5, 11.0], 50.0) == pytest.approx([0.0, 0.0, 0.05, 0.1, 0.05, 0.0])
    limited = Road.bump(0.1, 2.0, x_m=10.0, width_m=4.0, edge_m=1.0)
    assert limited.height_m(10.0, [0.0, 1.0, -1.5, 2.0, -3.0]) == pytest.approx([0.1, 0.1, 0.05, 0.0, 0.0])
    across = Road.bump(0.1, 2.0, x_m=0.0, direction_rad=np.pi / 2)
    assert across.height_m(30.0, [0.0, 0.5, 1.0]) == pytest.approx([0.1, 0.05, 0.0])


def test_roads_add_up() -> None:
    a, b = ROADS["sine"], ROADS["short bump"]
    assert (a + b).height_m(*PLACES) == pytest.approx(a.height_m(*PLACES) + b.height_m(*PLACES))
    assert len((a + b).features) == 2
    assert a + Road() == a


def test_shapes_are_broadcast() -> None:
    road = ROADS["all"]
    assert road.height_m(np.zeros((3, 1)), np.zeros(4)).shape == (3, 4)
    assert road.normal(np.zeros((3, 1)), np.zeros(4)).shape == (3, 4, 3)
    assert road.normal(0.0, 0.0).shape == (3,)


@settings(max_examples=200, deadline=None)
@given(x=st.floats(-1e6, 1e6), y=st.floats(-1e6, 1e6))
def test_anywhere_is_finite_and_upward(x: float, y: float) -> None:
    z, nx, ny, nz = road_at(ROADS["all"].table(), x, y)
    assert np.isfinite(z)
    assert nx * nx + ny * ny + nz * nz == pytest.approx(1.0)
    assert nz > 0.5


def test_a_road_is_a_surface_and_can_be_read_from_toml() -> None:
    surface: RoadSurface = settings_from_text(
        '[[features]]\nkind = "plane"\nrise_x = 0.05\n[[features]]\nkind = "bump"\nheight_m = 0.1\nlength_m = 0.5\n',
        Road,
    )
    assert surface == Road((Plane(rise_x=0.05), Bump(0.1, 0.5)))


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: Sine(0.1, 0.0), "wavelength_m is 0"),
        (lambda: Bump(0.1, -1.0), "length_m is -1"),
        (lambda: Bump(0.1, 1.0, width_m=-1.0), "width_m is -1"),
        (lambda: Bump(0.1, 1.0, width_m=1.0, edge_m=0.6), "at most half of width_m"),
        (lambda: Plane(rise_x=float("nan")), "finite"),
    ],
)
def test_wrong_features_say_what_to_do(make: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        make()
