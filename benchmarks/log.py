"""The log: one hour of 40 channels at 500 Hz, beside MDF4, MCAP and Parquet.

302 MB of float32 values with int64 time (Parquet and MDF4: the same columns; MCAP: 50 rows a message, as raw records).
Every format writes and reads the same arrays in turn, three rounds, medians. Write times end when the data is on disk
(fsync); reads are warm, from the page cache.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hodograph.acquisition.log import LogReader, LogWriter
from hodograph.core import Channel, Reading, StreamData, StreamSchema

RATE_HZ, CHANNELS, HOURS_BIG = 500, 40, 10
SCHEMA = StreamSchema("imu", tuple(Channel(f"c{i:02d}_mps2", "m/s^2") for i in range(CHANNELS)), dtype="float32")
ROUNDS = 3


def hour(first_row: int = 0) -> StreamData:
    """Noisy sines, one hour."""
    rng = np.random.default_rng(first_row)
    rows = 3600 * RATE_HZ
    t_ns = (first_row + np.arange(rows, dtype=np.int64)) * (10**9 // RATE_HZ)
    noise = rng.normal(size=rows).astype(np.float32)
    wave = np.sin(t_ns * 1e-9).astype(np.float32)
    return StreamData(
        SCHEMA, t_ns, {n: wave * np.float32(i + 1) + np.roll(noise, i) for i, n in enumerate(SCHEMA.names)}
    )


def table_of(data: StreamData) -> pa.Table:
    """The same columns for Parquet and MDF4."""
    return pa.table({"t_ns": data.t_ns, **data.columns})


def synced(path: Path) -> None:
    """Force a file to disk, so that every format pays for durability."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def write_drive(path: Path, data: StreamData) -> None:
    """Ours."""
    with LogWriter.create(path) as log:
        log.add_stream(SCHEMA)
        log.append_data(data)


def write_parquet(path: Path, data: StreamData) -> None:
    """Parquet with its defaults."""
    pq.write_table(table_of(data), path)
    synced(path)


def write_mdf4(path: Path, data: StreamData) -> None:
    """MDF4, not compressed, by asammdf."""
    from asammdf import MDF, Signal

    mdf = MDF(version="4.10")
    t_s = data.t_ns * 1e-9
    mdf.append([Signal(samples=c, timestamps=t_s, name=n, unit="m/s^2") for n, c in data.columns.items()])
    saved = mdf.save(path, overwrite=True)
    mdf.close()
    synced(Path(saved))


def write_mcap(path: Path, data: StreamData) -> None:
    """MCAP, zstd chunks, 50 rows a message."""
    from mcap.writer import Writer

    matrix = np.column_stack(list(data.columns.values()))
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start()
        schema = writer.register_schema("rows", "text", b"float32[40]")
        channel = writer.register_channel("imu", "raw", schema)
        for begin in range(0, len(data), 50):
            t_ns = int(data.t_ns[begin])
            writer.add_message(channel, t_ns, matrix[begin : begin + 50].tobytes(), t_ns)
        writer.finish()
    synced(path)


def read_mdf4(path: Path) -> float:
    """All channels as numpy, in one pass."""
    from asammdf import MDF

    with MDF(path) as mdf:
        return sum(float(s.samples[-1]) for s in mdf.select(list(SCHEMA.names)))


def read_mcap(path: Path) -> float:
    """All messages as one array."""
    from mcap.reader import make_reader

    with path.open("rb") as file:
        messages = [m.data for _, _, m in make_reader(file).iter_messages()]
    return float(np.frombuffer(b"".join(messages), dtype=np.float32).reshape(-1, CHANNELS)[-1].sum())


def read_parquet(path: Path) -> float:
    """All columns as numpy."""
    table = pq.read_table(path)
    return sum(float(table[n].to_numpy()[-1]) for n in SCHEMA.names)


def read_drive(path: Path) -> float:
    """All columns as numpy."""
    data = LogReader(path).numpy("imu")
    return sum(float(data[n][-1]) for n in SCHEMA.names)


def read_drive_arrow(path: Path) -> float:
    """All columns as Arrow, zero-copy."""
    table = LogReader(path).arrow("imu")
    return sum(float(table[n][-1].as_py()) for n in SCHEMA.names)


Write, Read = Callable[[Path, StreamData], None], Callable[[Path], float]
FORMATS: dict[str, tuple[str, Write, dict[str, Read]]] = {
    ".drive": ("a.drive", write_drive, {"arrow": read_drive_arrow, "numpy": read_drive}),
    "MDF4 (asammdf)": ("a.mf4", write_mdf4, {"numpy": read_mdf4}),
    "Parquet (pyarrow)": ("a.parquet", write_parquet, {"numpy": read_parquet}),
    "MCAP zstd": ("a.mcap", write_mcap, {"numpy": read_mcap}),
}


def size_mb(path: Path) -> float:
    """Size on disk in MB."""
    files = path.iterdir() if path.is_dir() else [path]
    return sum(f.stat().st_size for f in files) / 1e6


def formats(folder: Path) -> None:
    """The table of all formats."""
    data = hour()
    payload_mb = (len(data) * (8 + 4 * CHANNELS)) / 1e6
    expected = sum(float(data[n][-1]) for n in SCHEMA.names)
    seconds: dict[tuple[str, str], list[float]] = {}
    sizes_mb: dict[str, float] = {}
    for _ in range(ROUNDS):
        for name, (file_name, write, reads) in FORMATS.items():
            path = folder / file_name
            shutil.rmtree(path, ignore_errors=True)
            path.unlink(missing_ok=True)
            begin_s = time.perf_counter()
            write(path, data)
            seconds.setdefault((name, "write"), []).append(time.perf_counter() - begin_s)
            sizes_mb[name] = size_mb(path)
            for kind, read in reads.items():
                begin_s = time.perf_counter()
                last = read(path)
                seconds.setdefault((name, kind), []).append(time.perf_counter() - begin_s)
                assert abs(last - expected) < 1e-2 * max(1.0, abs(expected)), (name, last, expected)
    print(f"{'':20s} write s  (MB/s)   size MB  read as Arrow s  read as numpy s")
    for name in FORMATS:
        write_s, arrow_s, numpy_s = (
            statistics.median(seconds[name, kind]) if (name, kind) in seconds else None
            for kind in ("write", "arrow", "numpy")
        )
        arrow = f"{arrow_s:15.2f}" if arrow_s else " " * 15
        print(f"{name:20s} {write_s:7.2f} {payload_mb / write_s:7.0f} {sizes_mb[name]:9.0f}  {arrow} {numpy_s:16.2f}")
    ours = LogReader(folder / "a.drive", verify=False)
    begin_s = time.perf_counter()
    LogReader(ours.path, verify=True)
    print(f"\n.drive: opening with every checksum computed {time.perf_counter() - begin_s:.2f} s")
    print("targets: write >= 100 MB/s, Arrow <= 0.5 s, numpy <= 2 s")


def rows_one_by_one(folder: Path) -> None:
    """The live path: `append` per reading, and the merged iterator back."""
    path = folder / "rows.drive"
    rows = 60 * RATE_HZ
    values = tuple(float(i) for i in range(CHANNELS))
    begin_s = time.perf_counter()
    with LogWriter.create(path) as log:
        log.add_stream(SCHEMA)
        for k in range(rows):
            log.append(Reading(k * 2_000_000, "imu", values))
    write_us = (time.perf_counter() - begin_s) / rows * 1e6
    begin_s = time.perf_counter()
    count = sum(1 for _ in LogReader(path).readings())
    read_us = (time.perf_counter() - begin_s) / count * 1e6
    print(f"\nrow by row, 40 channels: append {write_us:.1f} us, iterate {read_us:.1f} us a reading")


def big_log(folder: Path) -> None:
    """Ten hours, read batch by batch and sliced in a fresh process whose own memory is watched."""
    path = folder / "big.drive"
    with LogWriter.create(path) as log:
        log.add_stream(SCHEMA)
        for k in range(HOURS_BIG):
            log.append_data(hour(k * 3600 * RATE_HZ))
    script = """
import sys, time
from hodograph.acquisition.log import LogReader
def anonymous_mb():
    return next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith("RssAnon")) / 1e3
start = anonymous_mb(); peak = start
t0 = time.perf_counter(); log = LogReader(sys.argv[1]); opened = time.perf_counter() - t0
t0 = time.perf_counter()
for k, batch in enumerate(log.batches("imu")):
    batch.column(2).to_numpy().sum()
    if k % 50 == 0: peak = max(peak, anonymous_mb())
scan = time.perf_counter() - t0
t0 = time.perf_counter()
log.numpy("imu", t_min_ns=18_000 * 10**9, t_max_ns=18_010 * 10**9)
cut = time.perf_counter() - t0
print(f"opened in {opened:.2f} s, scanned in {scan:.2f} s, 10 s from its middle in {1e3 * cut:.1f} ms; "
      f"memory of its own {start:.0f} MB before, {peak:.0f} MB at most")
"""
    done = subprocess.run([sys.executable, "-c", script, str(path)], check=True, capture_output=True, text=True)
    print(f"\na log of {size_mb(path) / 1e3:.1f} GB ({HOURS_BIG} h): {done.stdout.strip()}")


def main() -> None:
    """Print all tables."""
    with tempfile.TemporaryDirectory() as folder:
        formats(Path(folder))
        rows_one_by_one(Path(folder))
        big_log(Path(folder))


if __name__ == "__main__":
    main()
