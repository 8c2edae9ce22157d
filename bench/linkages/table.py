"""The table of `hodograph bench linkages`: RMS of the crank angle by sensor rate, one row per observer."""

from __future__ import annotations

from rich.table import Table

from hodograph.bench.linkages.grid import Score


def linkage_table(mechanism: str, scores: list[Score], rates_hz: list[int]) -> Table:
    """The rows of one linkage."""
    table = Table(title=f"{mechanism}: RMS of the crank angle in rad, x = diverged", box=None, pad_edge=False)
    for heading in ("sensors", "observer", "error", *(f"{r} Hz" for r in rates_hz), "ms/10 s"):
        numeric = heading not in ("sensors", "observer", "error")
        table.add_column(heading, justify="right" if numeric else "left", no_wrap=True)
    own = [s for s in scores if s.case.mechanism == mechanism]
    keys = dict.fromkeys((s.case.sensors, s.case.observer, s.case.error_level) for s in own)
    for key in keys:
        rows = {s.case.rate_hz: s for s in own if (s.case.sensors, s.case.observer, s.case.error_level) == key}
        cells = ["x" if rows[r].diverged else f"{rows[r].rms_rad:.5f}" for r in rates_hz]
        table.add_row(*key, *cells, f"{1e4 * min(s.rtf for s in rows.values()):.1f}")
    return table
