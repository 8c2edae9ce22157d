from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hodograph.core import UnitError, from_si, to_si, unit_named
from hodograph.core.units import _EDGE, _SPELLINGS, kmh_to_mps, knots_to_mps, same_dimension


@pytest.mark.parametrize(
    ("value", "unit", "si"),
    [
        (36.0, "km/h", 10.0),
        (180.0, "deg", math.pi),
        (1.0, "bar", 1e5),
        (1.0, "g", 9.80665),
        (60.0, "rpm", 2 * math.pi),
        (25.0, "degC", 298.15),
        (212.0, "degF", 373.15),
        (50.0, "%", 0.5),
        (1.0, "psi", 6894.757293168),
        (1.0, "kn", 0.514444),
        (7.0, "", 7.0),
    ],
)
def test_known_conversions(value: float, unit: str, si: float) -> None:
    assert to_si(value, unit) == pytest.approx(si, rel=1e-6)


@given(st.sampled_from(sorted(_EDGE)), st.floats(-1e6, 1e6))
def test_every_unit_goes_there_and_back(unit: str, value: float) -> None:
    assert from_si(to_si(value, unit), unit) == pytest.approx(value, rel=1e-9, abs=1e-6)


def test_arrays_convert_without_changing_the_callers() -> None:
    speeds_kmh = np.array([0.0, 36.0])
    assert to_si(speeds_kmh, "km/h") == pytest.approx([0.0, 10.0])
    assert speeds_kmh[1] == 36.0


def test_spellings_lead_to_known_units() -> None:
    for spelling in _SPELLINGS:
        assert unit_named(spelling).scale > 0


def test_unknown_unit_is_named_in_one_line() -> None:
    with pytest.raises(UnitError, match="unknown unit 'furlong'") as caught:
        unit_named("furlong")
    assert "\n" not in str(caught.value)


def test_dimensions_and_named_converters() -> None:
    assert same_dimension("km/h", "kn")
    assert not same_dimension("bar", "m/s")
    assert knots_to_mps(1.0) == pytest.approx(to_si(1.0, "kn"))
    assert kmh_to_mps(3.6) == pytest.approx(1.0)
