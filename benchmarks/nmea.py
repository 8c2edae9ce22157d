"""NMEA throughput: our decoder, epochs included, beside `pynmea2.parse` plus reading the same fields.

python -m benchmarks.nmea

Both get the same sentences in the same run, in alternating rounds; the ratio is the median over rounds.
Three inputs: the sentence types that fixes are made of (all work, nothing ignored), a whole receiver output with
satellite tables, and the same bytes cut into 64-byte chunks as a serial port delivers them.
"""

from __future__ import annotations

import functools
import operator
import statistics
import time
from collections.abc import Callable

import pynmea2

from hodograph.acquisition.nmea import NmeaDecoder

ROUNDS = 9
EPOCHS = 600
SERIAL_CHUNK_BYTES = 64


def _line(text: str) -> bytes:
    return f"${text}*{functools.reduce(operator.xor, text.encode()):02X}\r\n".encode()


def _epoch(k: int, *, with_satellites: bool) -> list[bytes]:
    """What a dual-antenna RTK receiver sends per epoch."""
    clock = f"{10 + k // 36000:02d}{k // 600 % 60:02d}{k // 10 % 60:02d}.{k % 10}0"
    latitude, longitude = f"4329.{61417292 + 31 * k:08d}", f"00814.{86569421 - 17 * k:08d}"
    texts = [
        f"GNGGA,{clock},{latitude},N,{longitude},W,4,14,0.7,6.846,M,53.031,M,1.6,1503",
        f"GNRMC,{clock},A,{latitude},N,{longitude},W,{20 + k % 7}.513,126.965,180324,0.5,E,R,V",
        f"GNVTG,126.965,T,,M,{20 + k % 7}.513,N,37.99,K,R",
        f"GNGST,{clock},12.0,,,,0.011,0.010,0.021",
        f"GNZDA,{clock},18,03,2024,00,00",
        "GNHDT,244.28,T",
    ]
    if with_satellites:
        texts += ["GNGSA,A,3,05,12,25,29,,,,,,,,,1.7,0.8,1.6,1"] * 4
        texts += ["GPGSV,3,1,10,25,70,260,46,02,55,052,,12,53,162,46,20,52,107,,1"] * 8
    return [_line(text) for text in texts]


def _stream(*, with_satellites: bool) -> list[bytes]:
    return [line for k in range(EPOCHS) for line in _epoch(k, with_satellites=with_satellites)]


def _read_like_a_fix(line: str) -> object:
    """`pynmea2.parse` with the checksum required, and the fields that a fix takes."""
    s = pynmea2.parse(line, check=True)
    kind = s.sentence_type
    if kind == "GGA":
        height = s.altitude + float(s.geo_sep)
        used = int(s.num_sats), float(s.horizontal_dil), float(s.age_gps_data)
        return s.timestamp, s.latitude, s.longitude, s.gps_qual, height, used
    if kind == "RMC":
        place = s.latitude, s.longitude, s.mode_indicator
        return s.timestamp, s.datestamp, s.status, place, s.spd_over_grnd, s.true_course
    if kind == "VTG":
        return s.true_track, s.spd_over_grnd_kts, s.spd_over_grnd_kmph, s.faa_mode
    if kind == "GST":
        return s.timestamp, s.std_dev_latitude, s.std_dev_longitude, s.std_dev_altitude
    if kind == "ZDA":
        return s.timestamp, s.day, s.month, s.year
    if kind == "HDT":
        return s.heading
    return None


def _theirs(lines: list[bytes]) -> None:
    for line in lines:
        _read_like_a_fix(line.decode("ascii"))


def _ours(chunks: list[bytes]) -> None:
    decoder = NmeaDecoder()
    fixes = 0
    for chunk in chunks:
        fixes += len(decoder.feed(chunk, 0))
    fixes += len(decoder.flush())
    if fixes != EPOCHS:
        raise RuntimeError(f"{fixes} fixes, want {EPOCHS}")


def _seconds(work: Callable[[], None]) -> float:
    start_s = time.perf_counter()
    work()
    return time.perf_counter() - start_s


def _compare(lines: list[bytes], chunks: list[bytes]) -> tuple[float, float, float]:
    """Ours and theirs in sentences/s, and the median ratio."""
    ours_s, theirs_s = [], []
    for _ in range(ROUNDS):
        ours_s.append(_seconds(lambda: _ours(chunks)))
        theirs_s.append(_seconds(lambda: _theirs(lines)))
    ratio = statistics.median(t / o for o, t in zip(ours_s, theirs_s, strict=True))
    return len(lines) / statistics.median(ours_s), len(lines) / statistics.median(theirs_s), ratio


def main() -> dict[str, float]:
    """Print the table; figures by name, ratios are ours to theirs."""
    fix_only, whole = _stream(with_satellites=False), _stream(with_satellites=True)
    data = b"".join(fix_only)
    serial = [data[i : i + SERIAL_CHUNK_BYTES] for i in range(0, len(data), SERIAL_CHUNK_BYTES)]
    cases = {
        "fix_sentences": (fix_only, [data]),
        "fix_sentences_64_byte_chunks": (fix_only, serial),
        "whole_output": (whole, [b"".join(whole)]),
    }
    figures: dict[str, float] = {}
    print(f"{'NMEA input':<30}{'hodograph':>14}{'pynmea2':>14}   sentences/s{'ratio':>10}")
    for name, (lines, chunks) in cases.items():
        ours_hz, theirs_hz, ratio = _compare(lines, chunks)
        print(f"{name:<30}{ours_hz:>14,.0f}{theirs_hz:>14,.0f}{ratio:>24.2f}")
        figures |= {
            f"nmea_{name}_sentences_per_s": ours_hz,
            f"nmea_{name}_pynmea2_sentences_per_s": theirs_hz,
            f"nmea_{name}_ratio": ratio,
        }
    return figures


if __name__ == "__main__":
    main()
