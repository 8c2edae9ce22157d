"""Units at the edges: everything inside is SI and radians, everything else is converted here, once.

A unit is written as engineers write it (`km/h`, `deg/s`, `bar`, `g`); `unit_named` also takes the common
spellings (`kph`, `°/s`, `G`). Conversion is affine: si = scale * value + offset.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from hodograph.core.errors import UnitError
from hodograph.core.frames import FloatOrArray

GRAVITY_MPS2 = 9.80665  # standard gravity, ISO 80000-3
KNOT_MPS = 1852.0 / 3600.0


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit and its way to SI: si = scale * value + offset; `suffix` ends the names of SI channels."""

    symbol: str
    si: str
    scale: float = 1.0
    offset: float = 0.0
    suffix: str = ""


_SI_SUFFIX: Mapping[str, str] = {
    "1": "",
    "m": "m",
    "m/s": "mps",
    "m/s^2": "mps2",
    "rad": "rad",
    "rad/s": "radps",
    "rad/s^2": "radps2",
    "s": "s",
    "ns": "ns",
    "Hz": "hz",
    "kg": "kg",
    "kg*m^2": "kgm2",
    "N": "n",
    "N*m": "nm",
    "N/m": "npm",
    "N*s/m": "nspm",
    "Pa": "pa",
    "K": "k",
    "V": "v",
    "A": "a",
    "W": "w",
    "J": "j",
    "T": "tesla",
    "m^2": "m2",
    "1/m": "perm",
}

_DEG = math.pi / 180.0
# symbol: (SI unit, scale, offset)
_EDGE: Mapping[str, tuple[str, float, float]] = {
    "%": ("1", 0.01, 0.0),
    "km": ("m", 1e3, 0.0),
    "cm": ("m", 1e-2, 0.0),
    "mm": ("m", 1e-3, 0.0),
    "ft": ("m", 0.3048, 0.0),
    "mi": ("m", 1609.344, 0.0),
    "km/h": ("m/s", 1 / 3.6, 0.0),
    "mph": ("m/s", 0.44704, 0.0),
    "kn": ("m/s", KNOT_MPS, 0.0),
    "mm/s": ("m/s", 1e-3, 0.0),
    "g": ("m/s^2", GRAVITY_MPS2, 0.0),
    "mg": ("m/s^2", 1e-3 * GRAVITY_MPS2, 0.0),
    "deg": ("rad", _DEG, 0.0),
    "mrad": ("rad", 1e-3, 0.0),
    "rev": ("rad", 2 * math.pi, 0.0),
    "deg/s": ("rad/s", _DEG, 0.0),
    "mdeg/s": ("rad/s", 1e-3 * _DEG, 0.0),
    "rpm": ("rad/s", 2 * math.pi / 60, 0.0),
    "deg/s^2": ("rad/s^2", _DEG, 0.0),
    "min": ("s", 60.0, 0.0),
    "h": ("s", 3600.0, 0.0),
    "ms": ("s", 1e-3, 0.0),
    "us": ("s", 1e-6, 0.0),
    "kHz": ("Hz", 1e3, 0.0),
    "bar": ("Pa", 1e5, 0.0),
    "mbar": ("Pa", 1e2, 0.0),
    "kPa": ("Pa", 1e3, 0.0),
    "MPa": ("Pa", 1e6, 0.0),
    "psi": ("Pa", 6894.757293168, 0.0),
    "kN": ("N", 1e3, 0.0),
    "degC": ("K", 1.0, 273.15),
    "degF": ("K", 5 / 9, 459.67 * 5 / 9),
    "kN*m": ("N*m", 1e3, 0.0),
    "N/mm": ("N/m", 1e3, 0.0),
    "mV": ("V", 1e-3, 0.0),
    "mA": ("A", 1e-3, 0.0),
    "kW": ("W", 1e3, 0.0),
    "gauss": ("T", 1e-4, 0.0),
    "uT": ("T", 1e-6, 0.0),
}

_SPELLINGS: Mapping[str, str] = {
    "": "1",
    "-": "1",
    "count": "1",
    "counts": "1",
    "kph": "km/h",
    "kmh": "km/h",
    "knot": "kn",
    "knots": "kn",
    "kt": "kn",
    "mps": "m/s",
    "m/s2": "m/s^2",
    "m/s²": "m/s^2",
    "mps2": "m/s^2",
    "G": "g",
    "°": "deg",
    "degree": "deg",
    "degrees": "deg",
    "°/s": "deg/s",
    "dps": "deg/s",
    "degps": "deg/s",
    "radps": "rad/s",
    "rad/s2": "rad/s^2",
    "rad/s²": "rad/s^2",
    "°C": "degC",
    "C": "degC",
    "°F": "degF",
    "sec": "s",
    "µs": "us",
    "hz": "Hz",
    "Nm": "N*m",
    "N.m": "N*m",
    "N·m": "N*m",
    "1/min": "rpm",
    "pa": "Pa",
}

_UNITS: dict[str, Unit] = {si: Unit(si, si, suffix=suffix) for si, suffix in _SI_SUFFIX.items()}
_UNITS |= {symbol: Unit(symbol, si, scale, offset) for symbol, (si, scale, offset) in _EDGE.items()}


def unit_named(symbol: str) -> Unit:
    """The unit of that symbol or of a common spelling of it; `UnitError` when nobody knows it."""
    symbol = symbol.strip()
    found = _UNITS.get(_SPELLINGS.get(symbol, symbol))
    if found is None:
        known = ", ".join(sorted(_UNITS))
        raise UnitError(f"unknown unit {symbol!r}; known: {known}")
    return found


def to_si(values: FloatOrArray, symbol: str) -> FloatOrArray:
    """`values` in the unit `symbol` → SI."""
    unit = unit_named(symbol)
    return values * unit.scale + unit.offset


def from_si(values: FloatOrArray, symbol: str) -> FloatOrArray:
    """`values` in SI → the unit `symbol`."""
    unit = unit_named(symbol)
    return (values - unit.offset) / unit.scale


def same_dimension(a: str, b: str) -> bool:
    """Whether two units measure the same thing, e.g. `km/h` and `m/s`."""
    return unit_named(a).si == unit_named(b).si


def knots_to_mps(speed_kn: float) -> float:
    """Knots → m/s."""
    return speed_kn * KNOT_MPS


def kmh_to_mps(speed_kmh: float) -> float:
    """km/h → m/s."""
    return speed_kmh / 3.6
