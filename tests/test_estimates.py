"""Estimates in a log: written whole or not at all, read like streams, and no damage keeps a log from opening."""

from __future__ import annotations

import math
import os
import resource
import shutil
import signal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from conftest import SOAK
from hypothesis import given
from hypothesis import strategies as st
from log_samples import wide_data, wide_schema

from hodograph.acquisition.log import LogReader, LogWriter, estimate_name, write_estimates
from hodograph.acquisition.log.estimate_names import schema_name
from hodograph.acquisition.log.framing import END_OF_STREAM, BatchEncoder
from hodograph.acquisition.log.schema import arrow_schema
from hodograph.acquisition.log.segment import open_segment
from hodograph.core import Channel, LogError, LogWriteError, StreamData, StreamSchema

ROWS, STEP_NS, T0_NS = 1000, 10_000_000, 5_000_000_000
FORMER = Path(__file__).parent / "fixtures" / "log-1.drive" / "estimates" / "vsa_hybrid.arrow"
CUTS, FLIPS = (400, 400) if SOAK else (60, 60)
SIDESLIP = StreamSchema(
    "sideslip",
    (
        Channel("beta_cg_rad", "rad", description="centre of gravity"),
        Channel("beta_cg_std_rad", "rad"),
        Channel("beta_cg_valid", "1"),
    ),
    description="by formula",
)


def sideslip(rows: int = ROWS, scale: float = 0.05) -> StreamData:
    k = np.arange(rows)
    columns = {
        "beta_cg_rad": scale * np.sin(0.01 * k),
        "beta_cg_std_rad": np.full(rows, 0.01),
        "beta_cg_valid": (k % 10 > 0).astype(float),
    }
    return StreamData(SIDESLIP, T0_NS + k * STEP_NS, columns)


def same(a: StreamData, b: StreamData) -> bool:
    return np.array_equal(a.t_ns, b.t_ns) and all(np.array_equal(a[name], b[name]) for name in b.schema.names)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "a.drive"
    with LogWriter.create(path) as writer:
        writer.add_stream(wide_schema("imu", 3))
        writer.append_data(wide_data(100, wide_schema("imu", 3)))
    return path


def live_segment(log: Path, name: str, number: int, data: StreamData, *, end: bytes = END_OF_STREAM) -> Path:
    """What the estimator of a live run leaves: a segment like a recorder's, of estimates."""
    path = log / "estimates" / f"{name}.{number:04d}.arrow"
    path.parent.mkdir(exist_ok=True)
    schema = arrow_schema(StreamSchema(schema_name(name), data.schema.channels, data.schema.dtype), "estimate")
    encoder = BatchEncoder(schema)
    arrays = [pa.array(data.t_ns), pa.nulls(len(data), pa.int64()), *(pa.array(c) for c in data.columns.values())]
    batch = pa.record_batch(arrays, schema=schema)
    message = bytes(encoder.encode(batch, int(data.t_ns[0]), int(data.t_ns[-1])))
    path.write_bytes(encoder.header + message + end)
    return path


def test_what_was_written_is_read_by_its_name(log: Path) -> None:
    path = write_estimates(
        log,
        "vsa_250lm-hybrid",
        sideslip(),
        description="hybrid on a Monday",
        notes={"model": "250lm-hybrid.npz", "β": ""},
    )
    assert path == log / "estimates" / "vsa_250lm-hybrid.arrow"
    reader = LogReader(log, verify=True)
    assert reader.estimates == ("vsa_250lm-hybrid",)
    assert reader.streams == ("imu",)
    assert dict(reader.lost) == {}
    for name in ("vsa_250lm-hybrid", "estimates/vsa_250lm-hybrid"):
        assert same(reader.numpy(name), sideslip())
        assert reader.rows(name) == ROWS
        assert reader.schema(name).channels == SIDESLIP.channels
        assert reader.schema(name).name == "vsa_250lm_hybrid"
        assert reader.schema(name).description == "hybrid on a Monday"
        assert reader.notes(name) == {"model": "250lm-hybrid.npz", "β": ""}
        assert sum(batch.num_rows for batch in reader.batches(name, channels=["beta_cg_rad"])) == ROWS
        assert reader.pandas(name, t_min_ns=T0_NS + 5 * STEP_NS, t_max_ns=T0_NS + 9 * STEP_NS).shape == (4, 3)
    assert max(batch.num_rows for batch in reader.batches("vsa_250lm-hybrid")) <= 100  # one second, like a recording


def test_any_arrow_library_reads_the_file_without_us(log: Path) -> None:
    path = write_estimates(log, "ekf", sideslip())
    with pa.OSFile(str(path)) as file:
        table = pa.ipc.open_stream(file).read_all()
    assert np.array_equal(table["beta_cg_rad"].to_numpy(), sideslip()["beta_cg_rad"])
    assert table.schema.field("beta_cg_rad").metadata[b"unit"] == b"rad"
    assert table.schema.metadata[b"kind"] == b"estimate"


def test_readings_stay_apart_from_estimates(log: Path) -> None:
    before = LogReader(log)
    write_estimates(log, "ekf", sideslip())
    reader = LogReader(log)
    assert reader.span_ns == before.span_ns
    assert list(reader.readings()) == list(before.readings())
    with pytest.raises(LogError, match="no stream 'ekf'; it has: imu"):
        list(reader.readings(["ekf"]))
    with pytest.raises(LogError, match="no stream 'imu'; it has: ekf"):
        reader.notes("imu")
    with pytest.raises(LogError, match="no stream 'ukf'; it has: imu, ekf"):
        reader.numpy("ukf")


def test_a_stream_of_the_same_name_goes_first(log: Path) -> None:
    write_estimates(log, "imu", sideslip())
    reader = LogReader(log)
    assert reader.estimates == ("estimates/imu",)
    assert reader.rows("imu") == 100
    assert reader.rows("estimates/imu") == ROWS
    assert reader.schema("imu").names != reader.schema("estimates/imu").names


def test_an_estimate_is_replaced_whole_and_what_is_open_stays(log: Path) -> None:
    write_estimates(log, "ekf", sideslip())
    before = LogReader(log)
    write_estimates(log, "ekf", sideslip(300, scale=1.0))
    assert same(LogReader(log, verify=True).numpy("ekf"), sideslip(300, scale=1.0))
    assert same(before.numpy("ekf"), sideslip())
    assert [p.name for p in (log / "estimates").iterdir()] == ["ekf.arrow"]


def test_no_rows_and_float32_are_estimates_too(log: Path) -> None:
    write_estimates(log, "none", sideslip(0))
    schema = StreamSchema("roll", (Channel("roll_rad", "rad"),), "float32")
    write_estimates(log, "roll", StreamData(schema, np.arange(3), {"roll_rad": np.array([1, math.nan, 3], np.float32)}))
    reader = LogReader(log, verify=True)
    assert (reader.rows("none"), len(reader.numpy("none"))) == (0, 0)
    assert reader.schema("roll").dtype == "float32"
    assert np.array_equal(reader.numpy("roll")["roll_rad"], np.array([1, math.nan, 3], np.float32), equal_nan=True)
    assert dict(reader.lost) == {}


@given(st.text(max_size=300), st.sampled_from(["vsa_", "", "error_ekf_"]))
def test_any_text_becomes_a_name_that_can_be_written(text: str, prefix: str) -> None:
    name = estimate_name(text)
    assert estimate_name(name) == name
    assert name
    assert not {*'/\\:*?"<>| \0\n'} & set(name)
    assert not name.startswith(".")
    assert len(f"{name}.0000.arrow".encode()) < 200
    StreamSchema(schema_name(prefix + name), SIDESLIP.channels)  # which refuses what is no name
    if all(c.isascii() and (c.isalnum() or c in "-_") for c in text) and 0 < len(text) <= 160:
        assert name == text


def test_names() -> None:
    known = {
        "250lm-hybrid": "250lm-hybrid",
        "my car (3).v2": "my_car__3_.v2",
        "../../etc/passwd": "___.._etc_passwd",
        "model.0001": "model_0001",
        "Käfer": "Käfer",
        "": "_",
        "..": "__",
    }
    assert {text: estimate_name(text) for text in known} == known
    assert [schema_name(n) for n in ("vsa_Käfer.v2", "250lm", "events", "vsa_raw")] == [
        "vsa_kafer_v2",
        "estimate_250lm",
        "events_estimate",
        "vsa_raw_estimate",
    ]


@pytest.mark.parametrize(
    "name", ["../x", "a/b", "", ".", "..", ".hidden", "x.0000", "a b", "live_ekf", "LIVE_x", "x" * 201]
)
def test_names_that_cannot_be_are_refused_and_nothing_is_written(log: Path, name: str) -> None:
    with pytest.raises(LogWriteError, match="estimates cannot be named"):
        write_estimates(log, name, sideslip())
    assert not (log / "estimates").exists()
    assert sorted(p.name for p in log.parent.iterdir()) == ["a.drive"]


def test_links_out_of_the_log_are_refused(log: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (log / "estimates").symlink_to(outside)
    with pytest.raises(LogWriteError, match="no folder of the log but a link"):
        write_estimates(log, "ekf", sideslip())
    assert list(outside.iterdir()) == []
    (log / "estimates").unlink()
    (log / "estimates").mkdir()
    (outside / "precious").write_text("mine")
    (log / "estimates" / "ekf.arrow").symlink_to(outside / "precious")
    with pytest.raises(LogWriteError, match="is no file but a link"):
        write_estimates(log, "ekf", sideslip())
    assert (outside / "precious").read_text() == "mine"


def test_places_that_cannot_be_are_one_clear_error(log: Path, tmp_path: Path) -> None:
    for place in (tmp_path / "none.drive", tmp_path):
        with pytest.raises(LogWriteError, match="not a log"):
            write_estimates(place, "ekf", sideslip())
    (log / "estimates").write_text("")
    with pytest.raises(LogWriteError, match="a link or a file; remove it first"):
        write_estimates(log, "ekf", sideslip())
    backward = StreamData(SIDESLIP, sideslip().t_ns[::-1].copy(), sideslip().columns)
    with pytest.raises(ValueError, match="runs backwards"):
        write_estimates(log, "ekf", backward)


def test_a_full_disk_leaves_the_earlier_estimate(log: Path) -> None:
    write_estimates(log, "ekf", sideslip())
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(LogWriteError, match=r"estimates/ekf\.arrow: cannot be written"):
            write_estimates(log, "ekf", sideslip(50_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert [p.name for p in (log / "estimates").iterdir()] == ["ekf.arrow"]
    assert same(LogReader(log, verify=True).numpy("ekf"), sideslip())


def test_segments_of_a_live_run_are_one_estimate(log: Path) -> None:
    whole = sideslip()
    for number, (begin, end) in enumerate([(0, 400), (400, 700), (700, 1000)]):
        part = StreamData(SIDESLIP, whole.t_ns[begin:end], {n: c[begin:end] for n, c in whole.columns.items()})
        live_segment(log, "live_c.ekf", number, part)
    reader = LogReader(log, verify=True)
    assert reader.estimates == ("live_c.ekf",)
    assert same(reader.numpy("live_c.ekf"), whole)
    assert dict(reader.lost) == {}
    (log / "estimates" / "live_c.ekf.0001.arrow").unlink()
    reader = LogReader(log)
    assert reader.rows("live_c.ekf") == 700
    assert reader.lost["estimates/live_c.ekf"].reason == "1 segments before live_c.ekf.0002.arrow are missing"
    assert reader.lost["estimates/live_c.ekf"].at_most_s == pytest.approx(3.01)


def test_a_live_run_that_was_killed_or_changed_keeps_the_rest(log: Path) -> None:
    live_segment(log, "live_ekf", 0, sideslip(), end=b"")
    other = StreamSchema("live_ekf", SIDESLIP.channels[:1])
    live_segment(log, "live_ekf", 1, StreamData(other, sideslip().t_ns, {"beta_cg_rad": sideslip()["beta_cg_rad"]}))
    shutil.copy(log / "estimates" / "live_ekf.0000.arrow", log / "estimates" / "live_ukf.arrow")
    reader = LogReader(log)
    assert same(reader.numpy("live_ekf"), sideslip())
    assert "never closed" in reader.lost["estimates/live_ekf"].reason
    assert (
        "live_ekf.0001.arrow: holds other channels than live_ekf.0000.arrow" in reader.lost["estimates/live_ekf"].reason
    )
    assert "has no number" in reader.lost["estimates/live_ukf"].reason
    assert reader.estimates == ("live_ekf",)


def test_a_file_that_is_renamed_is_called_by_its_new_name(log: Path) -> None:
    write_estimates(log, "ekf", sideslip()).rename(log / "estimates" / "before.arrow")
    reader = LogReader(log)
    assert reader.estimates == ("before",)
    assert reader.schema("before").name == "before"


def test_a_file_of_the_former_format_opens(log: Path) -> None:
    (log / "estimates").mkdir()
    shutil.copy(FORMER, log / "estimates")
    reader = LogReader(log, verify=True)
    assert dict(reader.lost) == {}
    found = reader.numpy("vsa_hybrid")
    with pa.ipc.open_stream(FORMER) as file:
        stored = file.read_all()
    assert found.schema.names == SIDESLIP.names
    assert [channel.unit for channel in found.schema.channels] == ["rad", "rad", "1"]
    assert found.t_ns.tolist() == stored["t_ns"].to_pylist()
    for name, former in (("beta_cg_rad", "vsa"), ("beta_cg_std_rad", "vsa_std"), ("beta_cg_valid", "vsa_valid")):
        assert np.array_equal(found[name], stored[former].to_numpy())


def check_open(log: Path) -> LogReader:
    """Opens the log; its readings are all there whatever lies in `estimates/`."""
    reader = LogReader(log, verify=True)
    assert reader.rows("imu") == 100
    assert set(reader.lost) <= {"estimates/ekf"}
    return reader


@pytest.mark.parametrize("seed", range(CUTS))
def test_a_cut_estimate_keeps_its_whole_batches_and_says_so(log: Path, seed: int) -> None:
    path = write_estimates(log, "ekf", sideslip())
    cut = int(np.random.default_rng(seed).integers(0, path.stat().st_size))
    batches = open_segment(path).batches
    os.truncate(path, cut)
    reader = check_open(log)
    loss = reader.lost["estimates/ekf"]
    assert math.isinf(loss.at_most_s)
    if cut < batches[0].offset:
        assert reader.estimates == ()
        assert loss.bytes == cut
        return
    kept = sum(batch.rows for batch in batches if batch.offset + batch.size <= cut)
    assert same(reader.numpy("ekf"), sideslip(kept))
    assert f"ekf.arrow: cut short, {kept} of {ROWS} rows are left" in loss.reason


@pytest.mark.parametrize("seed", range(FLIPS))
def test_a_damaged_estimate_never_says_a_wrong_number(log: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    path = write_estimates(log, "ekf", sideslip())
    content = bytearray(path.read_bytes())
    begin = int(rng.integers(0, len(content)))
    length = int(rng.choice([1, 8, 512, 20_000]))
    fill = [bytes(length), b"\xff" * length, rng.bytes(length)][seed % 3]
    content[begin : begin + length] = fill[: len(content) - begin]
    changed = bytes(content) != path.read_bytes()
    path.write_bytes(content)
    reader = check_open(log)
    assert ("estimates/ekf" in reader.lost) == changed
    if "ekf" in reader.estimates:
        found, whole = reader.numpy("ekf"), sideslip()
        rows = (found.t_ns - T0_NS) // STEP_NS
        assert np.array_equal(rows * STEP_NS + T0_NS, found.t_ns)
        assert all(np.array_equal(found[name], whole[name][rows]) for name in SIDESLIP.names)


@pytest.mark.parametrize("seed", range(CUTS))
def test_a_damaged_file_of_the_former_format_is_a_loss_or_reads(log: Path, seed: int) -> None:
    """It has no checksums: a cut is found, a flipped number is not, and nothing keeps the log from opening."""
    rng = np.random.default_rng(seed)
    content = bytearray(FORMER.read_bytes())
    if seed % 2:
        content = content[: int(rng.integers(0, len(content)))]
    else:
        for _ in range(3):
            content[int(rng.integers(0, len(content)))] = int(rng.integers(0, 256))
    (log / "estimates").mkdir()
    (log / "estimates" / "ekf.arrow").write_bytes(content)
    reader = check_open(log)
    assert ("ekf" in reader.estimates) != ("estimates/ekf" in reader.lost)
    if seed % 2:
        assert reader.lost["estimates/ekf"].bytes == len(content)
    elif "ekf" in reader.estimates:
        assert len(reader.numpy("ekf")) == reader.rows("ekf")


def test_whatever_lies_in_the_folder_the_log_opens(log: Path, tmp_path: Path) -> None:
    folder = log / "estimates"
    folder.mkdir()
    shutil.copy(log / "imu.0000.arrow", folder / "imu.arrow")
    (folder / "text.arrow").write_text("t_ns,vsa\n0,1\n")
    (folder / "empty.arrow").write_bytes(b"")
    (folder / "folder.arrow").mkdir()
    (folder / "gone.arrow").symlink_to(tmp_path / "nowhere")
    os.mkfifo(folder / "pipe.arrow")
    with pa.OSFile(str(folder / "other.arrow"), "wb") as file:
        table = pa.table({"x": [1.0]})
        with pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table)
    (folder / ".ekf.12345678.part").write_bytes(b"not yet whole")
    (folder / "README.txt").write_text("mine")
    reader = LogReader(log, verify=True)
    assert reader.estimates == ()
    reasons = {name.removeprefix("estimates/"): loss.reason for name, loss in reader.lost.items()}
    assert reasons.keys() == {"imu", "text", "empty", "folder", "gone", "pipe", "other"}
    assert reasons["imu"] == "imu.arrow: holds no estimates but stream"
    assert reasons["pipe"] == "pipe.arrow: is not a file"
    assert all("\n" not in reason and reason.startswith(f"{name}.arrow") for name, reason in reasons.items())
    shutil.rmtree(folder)
    folder.write_text("")
    assert set(LogReader(log).lost) == {"estimates"}


def test_a_well_sealed_lie_is_a_loss(log: Path) -> None:
    """A stranger can seal nonsense: other types, no metadata, units that are none."""
    good = arrow_schema(SIDESLIP, "estimate")
    text = pa.schema([*list(good)[:4], pa.field("beta_cg_valid", pa.string(), metadata=good.field(4).metadata)])
    unit = pa.schema([*list(good)[:4], pa.field("beta_cg_valid", pa.float64(), metadata={"unit": "furlong"})])
    (log / "estimates").mkdir()
    for name, schema in (
        ("types", text.with_metadata(good.metadata)),
        ("unit", unit.with_metadata(good.metadata)),
        ("newer", good.with_metadata({**good.metadata, b"hodograph": b"9"})),
        ("bare", good.with_metadata({"hodograph": "1"})),
        ("nameless", good.with_metadata({"hodograph": "1", "kind": "estimate"})),
        ("bytes", good.with_metadata({**good.metadata, b"note": b"\xff\xfe"})),
    ):
        (log / "estimates" / f"{name}.arrow").write_bytes(BatchEncoder(schema).header + END_OF_STREAM)
    reader = LogReader(log, verify=True)
    assert reader.estimates == ()
    assert set(reader.lost) == {f"estimates/{n}" for n in ("types", "unit", "newer", "bare", "nameless", "bytes")}
    assert all(loss.reason.startswith(name.split("/")[1] + ".arrow: ") for name, loss in reader.lost.items())
    assert "this version reads 1: update" in reader.lost["estimates/newer"].reason
