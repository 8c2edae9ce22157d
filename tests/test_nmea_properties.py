"""Properties of the decoder: chunks do not matter, damage never raises and never makes a fix.

Reduced here; `make soak` gives `test_fuzz` ten minutes.
"""

from __future__ import annotations

import functools
import operator
import os
import random
import re
import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hodograph.acquisition.nmea import ChecksumPolicy, FixQuality, NmeaDecoder
from hodograph.core import Reading

FUZZ_S = 600.0
FUZZ_REDUCED_COUNT = 1500
SENTENCE = re.compile(rb"\$([A-Z]{1,16},[ -#%-)+-~]{0,1024})\*([0-9A-Fa-f]{2})")


def mostly(good: list[str], bad: list[str]) -> st.SearchStrategy[str]:
    """Good values nine times out of ten, so that whole sentences are mostly readable and make fixes."""
    return st.integers(0, 9).flatmap(lambda k: st.sampled_from(bad if k == 9 else good))


TIMES = mostly(["235959", "000000", "100000.00", "100000.0", "100000.20"], ["", "235960", "99", "10000x"])
DATES = mostly(["290224", "311299", "010180"], ["", "000000", "9"])
NUMBERS = mostly(["0", "1.5", "99.99", "12"], ["", "-3", "nan", "1e400", "1_0", "M"])
LATITUDES = mostly(["4329.61417292,N", "0000.0000,S", "9000,N"], [",", "9100,N", "4360,N", ",N", "43,"])
LONGITUDES = mostly(["00814.86569421,W", "17959.999,E", "18000.0,W"], [",", "18100,E", "x,E"])
TALKERS = st.sampled_from(["GP", "GN", "II", "GL"])


def numbers(count: int) -> st.SearchStrategy[str]:
    return st.lists(NUMBERS, min_size=count, max_size=count).map(",".join)


def fields(*parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*parts).map(",".join)


BODIES = st.one_of(
    fields(st.just("GGA"), TIMES, LATITUDES, LONGITUDES, st.sampled_from("0124568x"), numbers(3), st.just("M,1.0,M,,")),
    fields(st.just("GNS"), TIMES, LATITUDES, LONGITUDES, st.sampled_from(["NN", "AN", "RF", ""]), numbers(6)),
    fields(st.just("RMC"), TIMES, st.sampled_from("AV"), LATITUDES, LONGITUDES, numbers(2), DATES, st.just(",,A")),
    fields(st.just("VTG"), NUMBERS, st.just("T,,M"), NUMBERS, st.just("N"), NUMBERS, st.just("K,A")),
    fields(st.just("GST"), TIMES, numbers(7)),
    fields(st.just("ZDA"), TIMES, numbers(5)),
    fields(st.just("HDT"), NUMBERS, st.just("T")),
    fields(st.just("THS"), NUMBERS, st.sampled_from("AV")),
    fields(st.just("DPT"), numbers(2)),
)


def framed(text: str, kind: int) -> bytes:
    """Mostly right sentences, some with a wrong, a lower-case or no checksum."""
    value = functools.reduce(operator.xor, text.encode())
    tails = (f"*{value:02X}\r\n", f"*{value:02x}\n", f"*{value:02X}", f"*{value ^ 0x11:02X}\r\n", "\r\n", "*", "")
    return f"${text}{tails[kind]}".encode()


SENTENCES = st.builds(
    lambda talker, body, kind: framed(talker + body, kind),
    TALKERS,
    BODIES,
    st.sampled_from([0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6]),
)
NOISE = st.one_of(st.binary(max_size=12), st.sampled_from([b"$", b"*", b"$GP", b"$$", b"\xb5b", b"# text\r\n"]))
STREAMS = st.lists(st.one_of(SENTENCES, SENTENCES, SENTENCES, NOISE), min_size=4, max_size=40).map(b"".join)
POLICIES = st.sampled_from(ChecksumPolicy)


def decoded(chunks: list[bytes], policy: ChecksumPolicy, *, whole_epochs: bool) -> tuple[list[str], str]:
    """All fixes and counts, as text so that NaN equals NaN."""
    decoder = NmeaDecoder(policy=policy, whole_epochs=whole_epochs)
    readings: list[Reading] = []
    for chunk in chunks:
        readings += decoder.feed(chunk, 0)
    readings += decoder.flush()
    return [repr(reading) for reading in readings], repr(decoder.counts)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[a:b] for a, b in pairwise(edges)]


def without_wrong_checksums(data: bytes) -> bytes:
    """`data` with every sentence that has a wrong checksum blotted out, found by the rule as written."""

    def blot(match: re.Match[bytes]) -> bytes:
        right = functools.reduce(operator.xor, match[1]) == int(match[2], 16)
        return match[0] if right else b"\x00" * len(match[0])

    return SENTENCE.sub(blot, data)


@given(STREAMS, st.lists(st.integers(0, 10_000), max_size=30), POLICIES, st.booleans())
@example(b"$GPGGA,1*00", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], ChecksumPolicy.REQUIRE, False)
def test_any_split_gives_the_same(data: bytes, places: list[int], policy: ChecksumPolicy, whole: bool) -> None:
    once = decoded([data], policy, whole_epochs=whole)
    assert decoded(cut(data, places), policy, whole_epochs=whole) == once
    assert decoded([data[i : i + 1] for i in range(len(data))], policy, whole_epochs=whole) == once


@given(STREAMS, POLICIES, st.booleans())
def test_wrong_checksums_contribute_nothing(data: bytes, policy: ChecksumPolicy, whole: bool) -> None:
    fixes, _ = decoded([data], policy, whole_epochs=whole)
    assert decoded([without_wrong_checksums(data)], policy, whole_epochs=whole)[0] == fixes


@given(st.binary(max_size=400))
def test_anything_may_come_in(data: bytes) -> None:
    decoder = NmeaDecoder(policy=ChecksumPolicy.ACCEPT_MISSING)
    decoder.feed(data, 0)
    decoder.flush()


@given(STREAMS, POLICIES)
def test_a_reading_without_quality_has_no_coordinates(data: bytes, policy: ChecksumPolicy) -> None:
    decoder = NmeaDecoder(policy=policy)
    for fix in decoder.feed_fixes(data, 0) + decoder.flush_fixes():
        assert fix.has_position == (fix.quality is not FixQuality.NONE)
        assert (fix.latitude_rad == fix.latitude_rad) == fix.has_position
        assert (fix.longitude_rad == fix.longitude_rad) == fix.has_position


def corrupted(data: bytes, rng: random.Random) -> bytes:
    """Flipped bits, cut-outs, doubled stretches, noise and truncation: what cables and buffers do."""
    damaged = bytearray(data)
    for _ in range(rng.randrange(1, 30)):
        at = rng.randrange(len(damaged) + 1)
        kind = rng.randrange(6)
        if kind == 0 and at < len(damaged):
            damaged[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del damaged[at : at + rng.randrange(40)]
        elif kind == 2:
            damaged[at:at] = damaged[at : at + rng.randrange(100)]
        elif kind == 3:
            damaged[at:at] = rng.randbytes(rng.randrange(30))
        elif kind == 4 and at < len(damaged):
            damaged[at] = rng.choice(b"$*,\r\n0A.NS_")
        elif kind == 5:
            damaged[at : at + 1] = b"$" * rng.randrange(3)
    return bytes(damaged)


def check_damaged(data: bytes, rng: random.Random) -> None:
    policy = rng.choice(list(ChecksumPolicy))
    whole = rng.random() < 0.5
    damaged = corrupted(data, rng)
    once = decoded([damaged], policy, whole_epochs=whole)
    places = [rng.randrange(len(damaged) + 1) for _ in range(rng.randrange(60))]
    assert decoded(cut(damaged, places), policy, whole_epochs=whole) == once
    assert decoded([without_wrong_checksums(damaged)], policy, whole_epochs=whole)[0] == once[0]


def test_fuzz(data_dir: Path, soak: bool) -> None:
    """Damaged stretches of the real logs, for ten minutes under `make soak`; the seed of a find is in its message."""
    logs = [path.read_bytes() for path in sorted((data_dir / "gpsd-nmea").glob("*.log"))]
    seed = int(os.environ.get("HODOGRAPH_FUZZ_SEED", "1"))
    end_s = time.monotonic() + FUZZ_S
    count = 0
    while time.monotonic() < end_s if soak else count < FUZZ_REDUCED_COUNT:
        rng = random.Random(f"{seed}/{count}")
        log = rng.choice(logs)
        start = rng.randrange(len(log))
        try:
            check_damaged(log[start : start + rng.randrange(6000)], rng)
        except Exception as error:
            pytest.fail(f"seed {seed}/{count}: {error!r}")
        count += 1
    print(f"{count} damaged streams, nothing found")


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(seed=st.integers(0, 2**32))
def test_damaged_logs_of_each_kind(data_dir: Path, seed: int) -> None:
    rng = random.Random(seed)
    for path in sorted((data_dir / "gpsd-nmea").glob("*.log")):
        content = path.read_bytes()
        start = rng.randrange(len(content))
        check_damaged(content[start : start + 2000], rng)
