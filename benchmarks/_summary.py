"""The table that RESULTS.md opens with: read from the sections that follow it, so it says what they say.

Goals are read from the sections too wherever a benchmark prints them beside its figure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

AT_MOST, AT_LEAST = "≤", "≥"
LOST = "**not found**"
HEADING = "| what | figure | goal | | command |\n|---|---|---|---|---|"


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table: where its number stands in the section of a benchmark, and where its goal does.

    `figure` and `goal` are patterns with one group; several matches of `figure` add up. Without `goal` none was set.
    """

    what: str
    benchmark: str
    figure: str
    unit: str
    sense: str = AT_MOST
    goal: str | None = None

    def line(self, section: str) -> str:
        """The line of the table; a figure that its section does not hold any more is said to be lost, not left out."""
        numbers = _numbers(self.figure, section)
        goals = _numbers(self.goal, section) if self.goal is not None else []
        shown, wanted, judged = LOST, "none set", ""
        if numbers:
            value = sum(map(float, numbers))
            shown = f"{numbers[0] if len(numbers) == 1 else f'{value:.4g}'} {self.unit}".strip()
        if self.goal is not None:
            wanted = f"{self.sense} {goals[0]}" if goals else LOST
        if numbers and goals:
            reached = value <= float(goals[0]) if self.sense == AT_MOST else value >= float(goals[0])
            judged = "reached" if reached else "**missed**"
        return f"| {self.what} | {shown} | {wanted} | {judged} | `python -m benchmarks {self.benchmark}` |"


def _numbers(pattern: str, section: str) -> list[str]:
    found = (text.strip(",;").replace(",", "") for text in re.findall(pattern, section, re.MULTILINE | re.DOTALL))
    return [text for text in found if re.fullmatch(r"\d+(\.\d+)?", text)]


def _step(what: str, name: str, *, judged: bool = True) -> Figure:
    goal = rf"^{name} +\S+ +\S+ +<= (\S+)" if judged else None
    return Figure(f"step of {what}, median", "multibody", rf"^{name} +(\S+)", "µs", goal=goal)


def _observer(name: str) -> Figure:
    return Figure(
        f"ten seconds of the four-bar, {name}", "observers", rf"^{name} +(\S+)", "ms", goal=rf"^{name} .*?<= (\S+)"
    )


def _rms(config: str, name: str) -> Figure:
    block = rf"^{config}: .*?^  {name}, reference stream: .*?; geometric mean "
    what = f"four-bar, {config}, {name}: RMS over that of the best reference, mean of nine cells"
    return Figure(what, "observers", rf"{block}(\S+)", "", goal=rf"{block}\S+ \(want <= (\S+)\)")


def _sideslip(what: str, drive: str, name: str) -> Figure:
    row = rf"^{drive}.*?^{name} +"
    return Figure(
        f"sideslip, {what}: RMSE", "vsa", rf"{row}(\S+)", "deg", goal=rf"{row}[^\n]*?(\S+) (?:reached|MISSED)"
    )


def _car(name: str) -> Sequence[Figure]:
    block = rf"^{name}: .*?"
    step = rf"{block}every step as it came, us +(\S+)"
    return (
        Figure(f"step of the car {name}, median, required", "car", step, "µs", goal=rf"{block}median <= (\S+) us"),
        Figure(f"step of the car {name}, median, aimed at", "car", step, "µs", goal=rf"{block}goal (\S+);"),
        Figure(
            f"step of 57 cars {name}, four by four, median", "car", rf"{block}57 cars, [^:]*: median (\S+) ms", "ms",
            goal=rf"{block}57 cars, [^\n]*\(target <= (\S+)\)",
        ),
    )  # fmt: skip


_DRIVE = r"^\.drive"
FIGURES = (
    Figure("log, 40 channels at 500 Hz: write", "log", rf"{_DRIVE} +\S+ +(\S+)", "MB/s", AT_LEAST, r"write >= (\S+)"),
    Figure("log, one hour: read as Arrow", "log", rf"{_DRIVE} +(?:\S+ +){{3}}(\S+)", "s", goal=r"Arrow <= (\S+) s"),
    Figure("log, one hour: read as numpy", "log", rf"{_DRIVE} +(?:\S+ +){{4}}(\S+)", "s", goal=r"numpy <= (\S+) s"),
    Figure(
        "import of `hodograph.core` beyond numpy", "startup", r"beyond numpy (\S+) s", "s",
        goal=r"beyond numpy \S+ s \(target <= ([\d.]+)\)",
    ),
    Figure("`hodograph --help`", "startup", r"^hodograph --help +(\S+) s", "s", goal=r"--help target <= (\S+) s"),
    Figure("geodetic to ENU, one fix", "geodesy", r"^scalar +(\S+)", "µs"),
    Figure("NMEA, sentences of fixes", "nmea", r"^fix_sentences +(\S+)", "a second"),
    Figure("NMEA, times as fast as `pynmea2`", "nmea", r"^fix_sentences +\S+ +\S+ +(\S+)", "", AT_LEAST),
    _step("the four-bar", "fourbar"),
    _step("the five-bar", "fivebar"),
    _step("the five-link corner (77 coordinates)", "multilink"),
    _step("the same, linearly implicit, dependent coordinates", "multilink_implicit_dependent"),
    _step("the same, linearly implicit, independent coordinates", "multilink_implicit_independent"),
    Figure(
        "step of the four-bar, times as fast as exudyn", "multibody", r"^fourbar_vs_exudyn: (\S+) times", "", AT_LEAST,
        r"^fourbar_vs_exudyn: [^\n]*target >= (\d+)",
    ),
    Figure(
        "compiling what a simulation needs", "multibody", r"what a simulation needs, cold +(\S+) s wall", "s",
        goal=r"simulation <= (\S+) s wall",
    ),
    Figure(
        "compiling everything, CPU time", "multibody", r"^  compile of [^\n]*, cold +\S+ s wall +(\S+) s CPU", "s",
        goal=r"everything <= (\S+) s CPU",
    ),
    Figure(
        "start with all machine code on disk", "multibody", r"everything, cached start +(\S+) s wall", "s",
        goal=r"cached start <= (\S+) s",
    ),
    Figure(
        "compiling after a line in the extended filters", "edits", r"^a line in the extended filters +(\S+) s wall", "s"
    ),
    Figure("compiling after a line in the tyre", "edits", r"^a line in the tyre +(\S+) s wall", "s"),
    Figure("compiling after a line in the step", "edits", r"^a line in the index-3 step +(\S+) s wall", "s"),
    *_car("xbw"),
    *_car("race_car"),
    Figure("a reading through the live shell, one by one", "shell", r"^ +1 +(\S+)", "µs"),
    Figure("a reading through the live shell, twenty at once", "shell", r"^ +20 +(\S+)", "µs"),
    _observer("error_ekf"),
    _observer("ukf_fe"),
    _observer("ukf_tr"),
    Figure(
        "UKF of 28 states, times as fast as filterpy's", "observers", r"filterpy \S+ us, (\S+) times", "", AT_LEAST,
        r"times \(target >= (\d+)\)",
    ),
    Figure(
        "linkage benchmark, all 960 rows on two threads", "observers", r"the whole grid, [^:]*: (\S+) s wall", "s",
        goal=r"target <= (\S+) s wall on two",
    ),
    _rms("nd2017", "force_ekf"),
    *(_rms("head2023", name) for name in ("force_ekf", "gravity_ukf", "gravity_ekf")),
    _sideslip("250 LM, filter", "250 LM, last third", r"filter \(vsa identify\)"),
    _sideslip("250 LM, the published network", "250 LM, last third", "published network, raw inputs"),
    _sideslip("250 LM, static network", "250 LM, last third", "static"),
    _sideslip("250 LM, network with memory", "250 LM, last third", "memory"),
    _sideslip("250 LM, hybrid", "250 LM, last third", "hybrid"),
    _sideslip("TUM race car, filter", "TUM simulated", r"filter \(vsa identify\)"),
    Figure(
        "sideslip, network, a sample in a batch", "vsa", r"(\S+) us a sample batched", "µs",
        goal=r"a sample batched \(want (\S+)\)",
    ),
    Figure(
        "sideslip, network, one sample by itself", "vsa", r"(\S+) us one by one", "µs",
        goal=r"one by one \(want (\S+)\)",
    ),
)  # fmt: skip


def summary(sections: Sequence[str]) -> str:
    """The table, of the figures whose benchmark has a section."""
    by_name = {
        m[1]: text for text in sections if (m := re.search(r"^`python -m benchmarks (\w+)`", text, re.MULTILINE))
    }
    lines = [figure.line(by_name[figure.benchmark]) for figure in FIGURES if figure.benchmark in by_name]
    return "\n".join((HEADING, *lines))
