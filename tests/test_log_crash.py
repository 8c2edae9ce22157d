"""Whatever a crash leaves behind opens again, minus at most a batch per stream, and says what it lost."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from conftest import SOAK
from log_samples import STEP_NS, check_prefix, wide_data, wide_row, wide_schema

from hodograph.acquisition.log import FsyncPolicy, LogReader, LogWriter
from hodograph.acquisition.log.framing import BatchEncoder
from hodograph.acquisition.log.schema import raw_schema
from hodograph.acquisition.log.segment import open_segment
from hodograph.core import LogError, LogWriteError, Reading

BATCH_ROWS = 500
KILLS = 50 if SOAK else 6
CUTS = 200 if SOAK else 60
FLIPS = 200 if SOAK else 40


@pytest.mark.parametrize("seed", range(KILLS))
def test_a_killed_recording_loses_at_most_a_batch(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    path, tally_path = tmp_path / "killed.drive", tmp_path / "tally"
    tally_path.write_bytes(b"\0" * 8)
    speed = 1.0 if seed % 2 == 0 else 40.0  # the fast ones spend their life in write(): more kills hit one
    child = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("log_child.py")), str(path), str(tally_path), str(speed)]
    )
    try:
        while struct.unpack("<q", tally_path.read_bytes())[0] == 0:
            assert child.poll() is None
            time.sleep(0.01)
        time.sleep(float(rng.uniform(0.0, 3.0)))
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    appended = struct.unpack("<q", tally_path.read_bytes())[0]
    reader = LogReader(path)
    kept = check_prefix(reader.numpy("imu"))
    assert appended - BATCH_ROWS <= kept <= appended + 1  # the count is taken just after the append
    raw = b"".join(chunk for _, chunk in reader.raw("imu_raw"))
    assert raw == b"".join(b"%d\n" % k for k in range(raw.count(b"\n")))
    assert appended - BATCH_ROWS <= raw.count(b"\n")
    assert len(reader.events) >= (appended - 1) // 997 + 1
    for stream in ("imu", "imu_raw", "events"):
        loss = reader.lost[stream]
        assert "never closed" in loss.reason
        assert 0 < loss.at_most_s <= 1.0
        assert loss.at_most_power_cut_s == pytest.approx(loss.at_most_s + 5.0)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty seconds of a closed recording."""
    path = tmp_path_factory.mktemp("whole") / "whole.drive"
    with LogWriter.create(path) as log:
        log.add_stream(wide_schema())
        log.append_data(wide_data(20 * BATCH_ROWS))
        log.add_raw("imu_raw")
        for k in range(200):
            log.append_raw("imu_raw", k * 100_000_000, b"%d\n" % k * 20)
    return path


def damaged_copy(whole: Path, tmp_path: Path, name: str = "imu.0000.arrow") -> tuple[Path, Path]:
    copy = tmp_path / "damaged.drive"
    shutil.copytree(whole, copy)
    return copy, copy / name


@pytest.mark.parametrize("seed", range(CUTS))
def test_a_file_cut_anywhere_keeps_every_whole_batch(whole: Path, tmp_path: Path, seed: int) -> None:
    log, segment = damaged_copy(whole, tmp_path)
    size = segment.stat().st_size
    cut = int(np.random.default_rng(seed).integers(0, size))
    ends = [b.offset + b.size for b in open_segment(segment).batches]
    os.truncate(segment, cut)
    reader = LogReader(log)
    survivors = sum(end <= cut for end in ends)
    assert (reader.rows("imu") if "imu" in reader.streams else 0) == survivors * BATCH_ROWS
    if "imu" in reader.streams:
        assert check_prefix(reader.numpy("imu")) == survivors * BATCH_ROWS
    assert reader.lost["imu"].bytes == (cut - ([0, *ends][survivors] or _header_bytes(whole, cut)))
    assert "imu_raw" not in reader.lost
    with LogWriter.append_to(log) as again:  # and the drive goes on
        again.add_stream(wide_schema())
        again.append(Reading(10**12, "imu", wide_row(0)))
    assert LogReader(log).rows("imu") == survivors * BATCH_ROWS + 1


def _header_bytes(whole: Path, cut: int) -> int:
    """Where the first batch starts; 0 when the cut went through the header, which is then lost too."""
    first = open_segment(whole / "imu.0000.arrow").batches[0].offset
    return first if cut >= first else 0


@pytest.mark.parametrize("seed", range(FLIPS))
def test_a_damaged_stretch_costs_the_batches_it_touches_and_no_other(whole: Path, tmp_path: Path, seed: int) -> None:
    log, segment = damaged_copy(whole, tmp_path)
    rng = np.random.default_rng(seed)
    content = bytearray(segment.read_bytes())
    batches = open_segment(segment).batches
    begin = int(rng.integers(batches[0].offset, len(content) - 8))
    length = int(rng.choice([1, 8, 4096, 150_000]))
    end = min(begin + length, len(content) - 8)
    kind = seed % 3
    new = {0: bytes(end - begin), 1: b"\xff" * (end - begin), 2: bytes(b ^ 0x41 for b in content[begin:end])}[kind]
    touched = {i for i, b in enumerate(batches) if b.offset < end and begin < b.offset + b.size}
    changed = new != content[begin:end]
    content[begin:end] = new
    segment.write_bytes(content)
    reader = LogReader(log, verify=True)
    kept = reader.numpy("imu")
    rows = {int(t // STEP_NS // BATCH_ROWS) for t in kept.t_ns}
    assert rows >= set(range(20)) - touched
    for name in ("c00_mps2", "c39_mps2"):
        k = kept.t_ns // STEP_NS
        assert np.array_equal(kept[name], ((k + 7 * int(name[1:3])) % 65536).astype(np.float32))
    if changed and len(kept) < 20 * BATCH_ROWS:
        assert reader.lost["imu"].batches >= 1
        assert "damaged" in reader.lost["imu"].reason
        assert reader.lost["imu"].at_most_s >= 0.99 * len(touched)


def test_a_zero_filled_tail_is_not_an_orderly_end(whole: Path, tmp_path: Path) -> None:
    log, segment = damaged_copy(whole, tmp_path)
    os.truncate(segment, segment.stat().st_size - 8 - 30_000)
    os.truncate(segment, segment.stat().st_size + 65_536)  # what some file systems leave after a power cut
    reader = LogReader(log)
    assert check_prefix(reader.numpy("imu")) == 19 * BATCH_ROWS
    assert reader.lost["imu"].batches == 1
    assert reader.lost["imu"].at_most_power_cut_s > reader.lost["imu"].at_most_s


def test_the_header_may_be_gone_and_the_data_still_reads(whole: Path, tmp_path: Path) -> None:
    log, _ = damaged_copy(whole, tmp_path)
    (log / "meta.toml").unlink()
    reader = LogReader(log)
    assert check_prefix(reader.numpy("imu")) == 20 * BATCH_ROWS
    assert "meta.toml" in reader.lost["meta"].reason


@pytest.mark.parametrize("seed", range(CUTS // 10))
def test_a_damaged_header_costs_the_header_only(whole: Path, tmp_path: Path, seed: int) -> None:
    log, meta = damaged_copy(whole, tmp_path, "meta.toml")
    os.truncate(meta, int(np.random.default_rng(seed).integers(1, 40)))
    reader = LogReader(log)
    assert check_prefix(reader.numpy("imu")) == 20 * BATCH_ROWS
    assert "damaged" in reader.lost["meta"].reason
    assert reader.meta.software == "unknown"
    with LogWriter.append_to(log) as again:
        again.add_stream(wide_schema())
    (tmp_path / "empty.drive").mkdir()
    shutil.copy(meta, tmp_path / "empty.drive")
    with pytest.raises(LogError, match="damaged"):
        LogReader(tmp_path / "empty.drive")


def test_a_segment_that_somebody_took_away_is_missed(tmp_path: Path) -> None:
    path = tmp_path / "a.drive"
    with LogWriter.create(path, segment_bytes=100_000) as log:
        log.add_stream(wide_schema())
        log.append_data(wide_data(10 * BATCH_ROWS))
    assert not LogReader(path).lost
    (path / "imu.0002.arrow").unlink()
    reader = LogReader(path)
    assert reader.rows("imu") < 10 * BATCH_ROWS
    assert reader.lost["imu"].reason == "1 segments before imu.0003.arrow are missing"
    missing_s = (10 * BATCH_ROWS - reader.rows("imu")) * STEP_NS / 1e9
    assert reader.lost["imu"].at_most_s == pytest.approx(missing_s, abs=0.01)


def test_a_well_sealed_lie_does_not_crash(whole: Path, tmp_path: Path) -> None:
    """A stranger can seal nonsense: Arrow must refuse it, not read beyond its buffers."""
    log, segment = damaged_copy(whole, tmp_path, "imu_raw.0000.arrow")
    schema = raw_schema("imu_raw", "")
    encoder = BatchEncoder(schema)
    message = encoder.encode(pa.record_batch([pa.array([0]), pa.array([b"x"])], schema=schema), 0, 0)
    offsets_at = bytes(message).rindex(struct.pack("<ii", 0, 1))
    struct.pack_into("<i", message, offsets_at + 4, 1 << 30)  # "these bytes end a gigabyte further on"
    crc_at = message.index(b"crc32=") + 6
    message[crc_at : crc_at + 8] = b"00000000"
    message[crc_at : crc_at + 8] = b"%08x" % zlib.crc32(message)
    segment.write_bytes(encoder.header + bytes(message))
    with pytest.raises(LogError, match="does not decode"):
        list(LogReader(log).raw("imu_raw"))


def test_a_full_disk_is_one_clear_error_and_the_log_stays_readable(tmp_path: Path) -> None:
    path = tmp_path / "full.drive"
    log = LogWriter.create(path, fsync=FsyncPolicy(every_s=None))
    log.add_stream(wide_schema())
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, hard))  # the kernel then refuses as a full disk does
    try:
        with pytest.raises(LogWriteError, match=r"imu\.0000\.arrow: cannot be written: .*stays readable"):
            log.append_data(wide_data(50 * BATCH_ROWS))
        with pytest.raises(LogWriteError, match="stays readable"):
            log.append(Reading(10**15, "imu", wide_row(0)))
        log.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    reader = LogReader(path)
    kept = check_prefix(reader.numpy("imu"))
    assert kept > 0
    assert kept % BATCH_ROWS == 0
    assert reader.lost["imu"].bytes == 0  # the torn batch was taken back
    with pa.OSFile(str(path / "imu.0000.arrow")) as file:
        assert pa.ipc.open_stream(file).read_all().num_rows == kept


def test_a_read_only_place_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LogWriteError, match="cannot be created"):
        LogWriter.create(tmp_path / "file" / "a.drive")
