"""Channel, StreamSchema, StreamData, Reading, StateLayout, Estimate, Verdict."""

from __future__ import annotations

import dataclasses
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hodograph.core import Channel, Estimate, Frame, Reading, StateLayout, StreamData, StreamSchema, UnitError, Verdict

LAYOUT = StateLayout(("yaw_rad", "v_x_mps", "roll_rad"), circular=frozenset({"yaw_rad", "roll_rad"}))
angles = st.floats(-50.0, 50.0)


def test_channel_refuses_names_and_units_that_could_be_mistaken() -> None:
    assert Channel("v_east_mps", "m/s", Frame.ENU).frame == "enu"
    with pytest.raises(ValueError, match="ends in _mps"):
        Channel("speed", "m/s")
    with pytest.raises(ValueError, match="not SI"):
        Channel("speed_kmh", "km/h")
    with pytest.raises(ValueError, match="lower-case"):
        Channel("Speed_mps", "m/s")
    with pytest.raises(UnitError):
        Channel("speed_mps", "furlong/fortnight")
    with pytest.raises(ValueError, match="rate_hz"):
        Channel("v_mps", "m/s", rate_hz=0.0)


def test_stream_schema_knows_its_channels() -> None:
    schema = StreamSchema("imu", (Channel("gyro_z_radps", "rad/s"), Channel("temp_k", "K")))
    assert schema.names == ("gyro_z_radps", "temp_k")
    assert schema.index("temp_k") == 1
    with pytest.raises(ValueError, match="it has gyro_z_radps"):
        schema.index("gyro_x_radps")
    with pytest.raises(ValueError, match="twice"):
        StreamSchema("imu", (schema.channels[0], schema.channels[0]))
    with pytest.raises(ValueError, match="no channels"):
        StreamSchema("imu", ())
    with pytest.raises(ValueError, match="stream name"):
        StreamSchema("../evil", schema.channels)
    for taken in ("events", "imu_raw"):
        with pytest.raises(ValueError, match="is taken"):
            StreamSchema(taken, schema.channels)
    with pytest.raises(ValueError, match="is taken"):
        Channel("t_ns", "ns")


def test_stream_data_checks_its_shape() -> None:
    schema = StreamSchema("imu", (Channel("gyro_z_radps", "rad/s"),))
    t_ns = np.arange(3, dtype=np.int64)
    data = StreamData(schema, t_ns, {"gyro_z_radps": np.zeros(3)})
    assert len(data) == 3
    assert data["gyro_z_radps"].shape == (3,)
    with pytest.raises(ValueError, match="differ in length"):
        StreamData(schema, t_ns, {"gyro_z_radps": np.zeros(2)})
    with pytest.raises(ValueError, match="want gyro_z_radps"):
        StreamData(schema, t_ns, {"other": np.zeros(3)})
    with pytest.raises(ValueError, match="t_sensor_ns"):
        StreamData(schema, t_ns, {"gyro_z_radps": np.zeros(3)}, t_sensor_ns=t_ns[:1])


def test_values_are_frozen() -> None:
    reading = Reading(5, "imu", (1.0,))
    with pytest.raises(dataclasses.FrozenInstanceError):
        reading.t_ns = 6  # type: ignore[misc]
    assert [v.name for v in Verdict] == ["USED", "LATE", "GATED", "STALE", "INVALID"]
    assert list(Verdict) == list(range(5))


@given(st.lists(angles, min_size=3, max_size=3), st.lists(angles, min_size=3, max_size=3))
def test_subtract_undoes_add(a: list[float], b: list[float]) -> None:
    x, y = LAYOUT.wrap(np.array(a)), LAYOUT.wrap(np.array(b))
    assert LAYOUT.subtract(LAYOUT.add(x, LAYOUT.subtract(y, x)), y) == pytest.approx(np.zeros(3), abs=1e-9)


def test_difference_of_angles_takes_the_short_way() -> None:
    d = LAYOUT.subtract(np.array([math.pi - 0.01, 10.0, 0.0]), np.array([-math.pi + 0.01, 1.0, 0.0]))
    assert d == pytest.approx([-0.02, 9.0, 0.0])


def test_mean_survives_the_seam_and_large_negative_weights() -> None:
    spread = np.array([0.0, 0.3, -0.3])
    points = np.column_stack([math.pi - 0.001 + spread, 1.0 + spread, spread])
    weights = np.array([-1e6 + 1, 5e5, 5e5])
    mean = LAYOUT.mean(LAYOUT.wrap(points), weights)
    assert LAYOUT.subtract(mean, np.array([math.pi - 0.001, 1.0, 0.0])) == pytest.approx(np.zeros(3), abs=1e-6)


def test_layout_refuses_nonsense() -> None:
    with pytest.raises(ValueError, match="twice"):
        StateLayout(("a", "a"))
    with pytest.raises(ValueError, match="no rows"):
        StateLayout(("a_rad",), circular=frozenset({"b_rad"}))
    with pytest.raises(ValueError, match="end in _rad"):
        StateLayout(("v_mps",), circular=frozenset({"v_mps"}))
    with pytest.raises(ValueError, match="rows are yaw_rad"):
        LAYOUT["pitch_rad"]
    with pytest.raises(ValueError, match="want"):
        LAYOUT.add(np.zeros(2), np.zeros(3))
    with pytest.raises(ValueError, match="weights"):
        LAYOUT.mean(np.zeros((4, 3)), np.zeros(3))


def test_estimate_answers_by_name_and_cannot_be_changed() -> None:
    x = np.array([0.1, 20.0, 0.02])
    estimate = Estimate(7, LAYOUT, x, np.diag([1e-4, 0.25, 1e-6]), {"imu": Verdict.USED})
    x[1] = 99.0
    assert estimate["v_x_mps"] == 20.0
    assert estimate.std("v_x_mps") == 0.5
    with pytest.raises(ValueError, match="read-only"):
        estimate.x[0] = 1.0
    with pytest.raises(TypeError):
        estimate.verdicts["imu"] = Verdict.LATE  # type: ignore[index]
    with pytest.raises(ValueError, match="want"):
        Estimate(7, LAYOUT, np.zeros(2), np.zeros((2, 2)))


def test_core_needs_nothing_but_numpy() -> None:
    script = "import sys, hodograph.core; print(*{m.split('.')[0] for m in sys.modules})"
    loaded = set(
        subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.split()
    )
    assert not loaded & {"scipy", "pandas", "pyarrow", "numba", "pyproj", "matplotlib", "rich", "typer", "sklearn"}
