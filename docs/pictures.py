"""Draws the pictures of `docs/architecture.md`: the rooms with the direction of data, and a step.

    python -m docs.pictures

Lengths are in tenths of an inch. Text becomes outlines, so the pictures look the same everywhere.
"""

from __future__ import annotations

import ast
import hashlib
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

FOLDER = Path(__file__).parent / "images"
PLAIN, COMPILED, OUTSIDE, GROUND, INSIDE = "#e8eef7", "#fbe6cf", "#ffffff", "#ececec", "#fff6ea"
EDGE, LINE, SOFT = "#5b6b80", "#30507a", "#5f6673"
TEXT, TITLE, HEAD = 10.0, 11.0, 13.5
LINE_HEIGHT = 1.85
"""Of TEXT, in tenths of an inch."""

Place = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle by its lower left corner; arrows begin and end at its sides."""

    x: float
    y: float
    width: float
    height: float

    def at(self, side: str, share: float = 0.5) -> Place:
        """A place on its left, right, top or bottom."""
        if side in ("left", "right"):
            return self.x + (self.width if side == "right" else 0.0), self.y + share * self.height
        return self.x + share * self.width, self.y + (self.height if side == "top" else 0.0)


@dataclass(slots=True)
class Sheet:
    """A page for boxes, arrows and words."""

    width: float
    height: float
    figure: Figure = field(init=False)
    axes: Axes = field(init=False)

    def __post_init__(self) -> None:
        self.figure = plt.figure(figsize=(self.width / 10.0, self.height / 10.0))
        self.axes = self.figure.add_axes((0.0, 0.0, 1.0, 1.0), xlim=(0.0, self.width), ylim=(0.0, self.height))
        self.axes.set_axis_off()

    def box(self, box: Box, title: str, text: str = "", colour: str = PLAIN) -> Box:
        """A box with a heading, and lines of text below it; both stand in its middle."""
        style, dashes = "round,pad=0,rounding_size=0.8", "--" if colour == OUTSIDE else "-"
        corner = (box.x, box.y)
        self.axes.add_patch(
            FancyBboxPatch(corner, box.width, box.height, boxstyle=style, fc=colour, ec=EDGE, lw=1.0, ls=dashes)
        )
        lines = text.split("\n") if text else []
        x, y = box.at("left")[0] + box.width / 2.0, box.at("left")[1] + 0.5 * LINE_HEIGHT * len(lines)
        family = "sans-serif" if colour in (OUTSIDE, INSIDE) else "monospace"
        for k, line in enumerate([title, *lines]):
            size, weight = (TITLE, "bold") if k == 0 else (TEXT, "normal")
            self.say(x, y - k * LINE_HEIGHT, line, size=size, weight=weight, family=family if k == 0 else "sans-serif")
        return box

    def say(
        self, x: float, y: float, text: str, *, ha: str = "center", size: float = TEXT, weight: str = "normal",
        family: str = "sans-serif", colour: str = "black",
    ) -> None:  # fmt: skip
        """Words at a place."""
        self.axes.text(
            x, y, text, ha=ha, va="center", fontsize=size, weight=weight, family=family, color=colour, linespacing=1.2
        )

    def arrow(self, begin: Place, end: Place, text: str = "", at: Place = (0.0, 0.0), ha: str = "center") -> None:
        """From one place to another, with words elsewhere."""
        look = {"arrowstyle": "-|>", "color": LINE, "lw": 1.4, "shrinkA": 0, "shrinkB": 0}
        self.axes.annotate("", end, begin, arrowprops=look)
        self.say(*at, text, ha=ha, colour=LINE)

    def save(self, name: str) -> None:
        """As SVG, the same bytes for the same picture."""
        with mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "path"}):
            self.figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None, "Description": state()})
        plt.close()


def rooms() -> Sheet:
    """The folders, and what flows between them."""
    s = Sheet(146.0, 92.0)
    s.box(Box(28, 84, 96, 6), "cli", "the command line: every command calls into the rooms below")
    s.box(Box(31, 3.5, 48, 5.5), "numerics", "compiling and keeping machine code, dense algebra", GROUND)
    s.box(Box(81, 3.5, 45, 5.5), "core", "Reading, Estimate, units, frames, errors", GROUND)
    legend = ["blue: plain Python", "orange: with machine code", "dashed: outside of the package"]
    s.say(78.5, 1.2, "     ".join([*legend, "imports only point down"]), colour=SOFT)
    _draw_logs(s)
    _draw_models(s)
    s.arrow((105, 67), (105, 39), "events:\ntime, stream,\nvalues, variances", (103.8, 53), "right")
    s.arrow((108, 39), (108, 67), "nodes:\nx, P, valid", (109.2, 61.5), "left")
    s.arrow((122, 67), (122, 56), "drives, models", (123.2, 61.5), "left")
    return s


def _draw_logs(s: Sheet) -> None:
    twin = s.box(Box(2, 69, 20, 9), "twin", "a simulated drive,\nplayed into real ports")
    ports = s.box(Box(2, 53, 20, 10), "serial ports", "IMU, GNSS, wheels,\nsteering, pressure", OUTSIDE)
    files = s.box(Box(2, 41, 20, 7), "files of others", "NMEA, tables", OUTSIDE)
    text = "decoders, importers,\nclocks, geodesy,\nhow a log is laid down"
    acquisition = s.box(Box(31, 42, 28, 14), "acquisition", text)
    onboard = s.box(Box(31, 69, 28, 9), "onboard", "the live run:\nthe recorder")
    log = s.box(Box(70, 67, 20, 11), "the log", "raw bytes,\nstreams,\nestimates", OUTSIDE)
    replay = s.box(Box(102, 67, 24, 11), "replay", "finished logs: runs of\nsideslip models, scores,\nexports")
    out = s.box(Box(133, 67, 11, 11), "out", "MF4, CSV,\nParquet,\npictures", OUTSIDE)
    s.arrow(twin.at("bottom"), ports.at("top"), "bytes", (13, 66), "left")
    s.arrow(ports.at("right", 0.2), (31, 55), "bytes", (26.5, 56.6))
    s.arrow(files.at("right"), (31, 44.5), "rows", (26.5, 46))
    s.arrow(acquisition.at("top"), onboard.at("bottom"), "readings, raw bytes", (46, 62.5), "left")
    s.arrow(onboard.at("right"), (70, 73.5), "rows", (64.5, 75))
    s.arrow(acquisition.at("right", 0.8), log.at("bottom", 0.3), "imported rows", (69.5, 58), "left")
    s.arrow(log.at("right", 0.75), replay.at("left", 0.75), "streams", (96, 76.8))
    s.arrow(replay.at("left", 0.25), log.at("right", 0.25), "estimates", (96, 68.1))
    s.arrow(replay.at("right"), out.at("left"))


def _draw_models(s: Sheet) -> None:
    s.box(Box(113, 48, 27, 8), "ann", "networks and the hybrid,\nas engines of the loop", COMPILED)
    text = "what a sensor reads: h, its\nJacobians, noise, mounts"
    sensors = s.box(Box(31, 27, 28, 9), "sensors", text, COMPILED)
    text = (
        "one loop, its engine and online shell; smoothers, checks\n"
        "on_mechanism: EKF, UKF, CEKF, SCKF, DIEKFpm\n"
        "sideslip: a filter on a single-track car"
    )
    observers = s.box(Box(70, 27, 56, 12), "observers", text, COMPILED)
    files = s.box(Box(2, 13, 20, 7), "vehicle files", "TOML", OUTSIDE)
    vehicles = s.box(Box(31, 12, 28, 9), "vehicles", "the schema of vehicle files,\nwhat each use needs")
    text = "model: a mechanism as tables · forces · motion\nsteps · car"
    multibody = s.box(Box(70, 12, 56, 9), "multibody", text, COMPILED)
    bench = s.box(Box(133, 18, 11, 15), "bench", "speed,\npeers,\nlinkages")
    s.arrow((122, 48), (122, 39), "answers, or one more\nsensor of sideslip", (123.2, 43.5), "left")
    s.arrow(sensors.at("right"), (70, 31.5), "rows of h", (64.5, 33))
    s.arrow(files.at("right"), vehicles.at("left"))
    s.arrow(vehicles.at("right"), multibody.at("left"), "hard points", (64.5, 18))
    s.arrow((70, 20), (59, 27.8), "places", (66.5, 25.2), "left")
    s.arrow((98, 21), (98, 27), "tables, states, one step, derivatives", (99.2, 24), "left")
    s.arrow(bench.at("left", 0.87), observers.at("right", 0.33))
    s.arrow(bench.at("left", 0.13), multibody.at("right", 0.89))


def step() -> Sheet:
    """Who calls whom from a reading to an estimate, for an EKF."""
    s = Sheet(160.0, 96.0)
    for x, title, where in (
        (16, "the shell, plain Python", "online.py, engine.py"),
        (49, "the loop, one compiled call", "loop.py, doubt.py"),
        (79, "the filter", "on_mechanism/ekf.py"),
        (108, "the plant", "on_mechanism/plant.py, linearised.py"),
        (143, "kernels", "multibody, sensors, numerics"),
    ):
        s.say(x, 94, title, size=HEAD, weight="bold")
        s.say(x, 91.3, where, family="monospace", colour=SOFT)
    _draw_shell(s)
    _draw_loop(s)
    _draw_prediction(s)
    _draw_correction(s)
    return s


def _draw_shell(s: Sheet) -> None:
    feed = s.box(Box(2, 78, 28, 9), "OnlineObserver.feed", "readings in any order;\ntheir verdicts in the same")
    text = "shape, numbers, clock,\nlatency; too far ahead?\ntoo old? INVALID and\nSTALE end here"
    screened = s.box(Box(2, 59, 28, 13), "_screened", text)
    text = (
        "by time and stream; for a\nlate one Engine.rewind goes\nback to the ring, and what\ncame since goes in again"
    )
    take = s.box(Box(2, 40, 28, 13), "_take", text)
    process = s.box(Box(2, 24, 28, 10), "Engine.process", "the events as one table;\nverdicts and nodes come out")
    s.box(Box(2, 6, 28, 9), "OnlineObserver.estimate", "x, P, layout, valid, the\nlast verdict of each stream")
    s.arrow(feed.at("bottom"), screened.at("top"))
    s.arrow(screened.at("bottom"), take.at("top"))
    s.arrow(take.at("bottom"), process.at("top"))
    s.arrow(process.at("right", 0.6), (35, 80))
    s.arrow((35, 10.5), (30, 10.5))


def _draw_loop(s: Sheet) -> None:
    entry = s.box(Box(35, 78, 28, 9), "run_ekf", "the entry: loop with\nits three functions", COMPILED)
    s.box(Box(35, 4, 28, 69), "", "", COMPILED)
    s.say(49, 70.8, "loop", size=TITLE, weight="bold", family="monospace")
    s.say(49, 68.6, "for each event, in order:")
    ahead = "close_node: x, P out\npredict\nsane? keep_prior\nopen_node: memory\ninto the ring"
    ahead_box = s.box(Box(36.5, 50, 25, 16.5), "its node is ahead", ahead, INSIDE)
    there = "correct, a verdict:\nUSED: heard\nGATED: refused\nLOST: memory as before"
    there_box = s.box(Box(36.5, 29, 25, 14.5), "at its node, off by τ", there, INSIDE)
    stepped = "row of refusals: widen\nfailed or not sane:\nbegin_anew; a long gap:\nstand still; then renew"
    stepped_box = s.box(Box(36.5, 6, 25, 14.5), "when it steps in", stepped, INSIDE)
    s.arrow(entry.at("bottom"), (49, 73))
    s.arrow(ahead_box.at("right"), (69, 58.25))
    s.arrow(there_box.at("right"), (69, 36.25))
    s.arrow(stepped_box.at("right"), (69, 13.25))


def _draw_prediction(s: Sheet) -> None:
    predict = s.box(Box(69, 54, 20, 8.5), "predict_ekf", "from node\nto node", COMPILED)
    inputs = s.box(Box(95, 81, 27, 7), "carry_inputs", "rack, brakes, torque to t + h", COMPILED)
    text = "transition, process_noise:\nA, F, Q"
    linear = s.box(Box(95, 69.5, 27, 9), "linearise", text, COMPILED)
    covariance = s.box(Box(95, 61, 27, 6), "propagate", "P = F P Fᵀ + Q", COMPILED)
    move = s.box(Box(95, 51, 27, 7.5), "step", "q, qd, qdd, θ by h", COMPILED)
    arrive = s.box(Box(95, 42.5, 27, 6), "arrive", "wheels go on; x", COMPILED)
    text = "null_space, rate_change,\nlagrange, saddle"
    derivatives = s.box(Box(128, 78, 30, 9), "acceleration_derivatives", text, COMPILED)
    text = (
        "until it has converged:\nevaluate: Φ, its Jacobian\ngeneralised_forces, rolling_forces\n"
        "refactor: factorise W\ncorrection: solve\nthen pull_back: qd and qdd\nonto the constraints"
    )
    augmented = s.box(Box(128, 53, 30, 19), "augmented_step", text, COMPILED)
    commit = s.box(Box(128, 44.5, 30, 5), "commit", "", COMPILED)
    for part in (inputs, linear, covariance, move, arrive):
        s.arrow(predict.at("right"), part.at("left"))
    s.arrow(linear.at("right"), derivatives.at("left"))
    s.arrow(move.at("right"), augmented.at("left", 0.3))
    s.arrow(arrive.at("right"), commit.at("left"))


def _draw_correction(s: Sheet) -> None:
    correct = s.box(Box(69, 32, 20, 8.5), "correct_ekf", "by one\nreading", COMPILED)
    renew = s.box(Box(69, 9, 20, 8.5), "renew_ekf", "P was changed\nfrom outside", COMPILED)
    rows = s.box(Box(95, 34, 27, 6), "chain_rows", "H of the reading's rows", COMPILED)
    update = s.box(Box(95, 25.5, 27, 6), "update_rows", "gate, gain, dx, P", COMPILED)
    apply_box = s.box(Box(95, 17, 27, 6), "apply_tangent, _full", "dx into q, qd, θ", COMPILED)
    anew = s.box(Box(95, 6, 27, 8), "renew_node", "lost: at rest, where it is;\nsettle", COMPILED)
    measure = s.box(Box(128, 33, 30, 8), "measure", "measure_jacobians,\nrate_change for dqd/dz", COMPILED)
    dense = s.box(Box(128, 25.5, 30, 5), "joseph_row, tidy", "", COMPILED)
    text = "position_problem,\nvelocity_problem; matrix_r:\nexact accelerations"
    rest = s.box(Box(128, 9, 30, 11), "rest, accelerate", text, COMPILED)
    for part in (rows, update, apply_box):
        s.arrow(correct.at("right"), part.at("left"))
    s.arrow(renew.at("right", 0.4), anew.at("left"))
    s.arrow(rows.at("right"), measure.at("left"))
    s.arrow(update.at("right"), measure.at("left", 0.15))
    s.arrow(update.at("right", 0.4), dense.at("left"))
    s.arrow(apply_box.at("right"), rest.at("left", 0.75))
    s.arrow(anew.at("right"), rest.at("left", 0.2))


def state() -> str:
    """Of what is drawn: a key of this module's code, which each picture carries."""
    tree = ast.parse(Path(__file__).read_text(encoding="utf-8"))
    return "docs/pictures.py " + hashlib.sha256(ast.dump(tree).encode()).hexdigest()[:16]


def main() -> None:
    """Draw both."""
    rooms().save("architecture-rooms")
    step().save("architecture-step")


if __name__ == "__main__":
    main()
