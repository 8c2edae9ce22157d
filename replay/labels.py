"""How a row of a state is told to people: its name and its unit apart."""

from __future__ import annotations

from collections.abc import Mapping

from hodograph.core.units import unit_named

_UNITS: Mapping[str, str] = {
    unit_named(symbol).suffix: symbol
    for symbol in (
        "rad",
        "rad/s",
        "rad/s^2",
        "m",
        "m/s",
        "m/s^2",
        "N",
        "N*m",
        "N/m",
        "s",
        "Pa",
        "Hz",
        "kg",
        "m^2",
        "1/m",
    )
}


def name_and_unit(row: str) -> tuple[str, str]:
    """`theta_dot_radps` → (`theta_dot`, `rad/s`); a row without a unit is a pure number, `1`."""
    name, _, suffix = row.rpartition("_")
    return (name, _UNITS[suffix]) if name and suffix in _UNITS else (row, "1")


def labelled(row: str) -> str:
    """`theta_dot_radps` → `theta_dot [rad/s]`."""
    name, unit = name_and_unit(row)
    return name if unit == "1" else f"{name} [{unit}]"
