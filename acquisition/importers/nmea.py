"""NMEA text files → a log: the fixes as the stream `gnss`, and every byte of the files as `nmea_raw`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from hodograph.acquisition.importers.imported import Imported, ImportOptions, RawData
from hodograph.acquisition.log.events import Event, EventKind
from hodograph.acquisition.nmea import ChecksumPolicy, Fix, NmeaDecoder, SentenceCounts, fix_schema
from hodograph.acquisition.nmea.timeline import Timeline, timeline
from hodograph.core import NO_SENSOR_TIME_NS, ImportFormatError, StreamData

STREAM = "gnss"
RAW_STREAM = "nmea_raw"
CLOCK_UTC = "UTC of the receiver, nanoseconds since 1970; runs on evenly where the receiver had no time or a wrong one"
CLOCK_TIME_OF_DAY = "UTC time of day of the receiver, nanoseconds; no sentence carries a date"
_PROGRESS_BYTES = 1 << 20


def import_nmea(files: Sequence[Path], options: ImportOptions) -> Imported:
    """The recording whose consecutive pieces are `files`; `ImportFormatError` when they hold none."""
    if options.mapping is not None:
        raise ImportFormatError(f"{options.mapping}: a mapping describes tables; NMEA text needs none, leave it out")
    contents = [_content(path) for path in files]
    policy = ChecksumPolicy.ACCEPT_MISSING if options.accept_missing_checksum else ChecksumPolicy.REQUIRE
    decoder = NmeaDecoder(STREAM, policy, whole_epochs=True)
    data = contents[0] if len(contents) == 1 else b"".join(contents)
    fixes = list(_fixes(decoder, data, options))
    name = ", ".join(str(path) for path in files)
    _check_sentences(name, decoder.counts, accept_missing=options.accept_missing_checksum)
    if not fixes:
        raise ImportFormatError(f"{name}: NMEA, but no GGA, GNS or RMC sentence: the receiver must send one of them")
    times = timeline(fixes)
    if times is None:
        raise ImportFormatError(f"{name}: {len(fixes)} epochs, but none has a time: the receiver never saw a satellite")
    return Imported(
        streams=(_stream(fixes, times),),
        clock=CLOCK_UTC if times.has_date else CLOCK_TIME_OF_DAY,
        raw=(_raw(data, fixes, times),),
        events=tuple(_events(times)),
        notes={"format": "NMEA 0183", "files": ", ".join(path.name for path in files)},
        report={"nmea": _report(decoder.counts, fixes, times)},
    )


def _content(path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ImportFormatError(f"{path}: cannot be read: {error.strerror}") from error
    if not content:
        raise ImportFormatError(f"{path}: the file is empty")
    return content


def _fixes(decoder: NmeaDecoder, data: bytes, options: ImportOptions) -> Iterator[Fix]:
    """The fixes; their `t_ns` is the place in `data` of the line that completed their first sentence."""
    told = 0
    start = 0
    while start < len(data):
        end = data.find(b"\n", start) + 1 or len(data)
        yield from decoder.feed_fixes(data[start:end], start)
        start = end
        if options.on_bytes is not None and (start - told >= _PROGRESS_BYTES or start == len(data)):
            told = start
            options.on_bytes(start, len(data))
    yield from decoder.flush_fixes()


def _check_sentences(name: str, counts: SentenceCounts, *, accept_missing: bool) -> None:
    total = counts.total
    if total.good or (accept_missing and total.missing_checksum):
        return
    if total.missing_checksum:
        found = f"{total.missing_checksum} NMEA sentences, none with a checksum"
        raise ImportFormatError(f"{name}: {found}: --accept-missing-checksum takes them")
    if total.bad_checksum:
        raise ImportFormatError(f"{name}: {total.bad_checksum} NMEA sentences, all with a wrong checksum")
    raise ImportFormatError(f"{name}: no NMEA sentence in it: is this another format?")


def _stream(fixes: Sequence[Fix], times: Timeline) -> StreamData:
    rate_hz = round(1e9 / times.period_ns, 6) if len(fixes) > 1 else None
    schema = fix_schema(STREAM, rate_hz)
    table = np.array([fix.values for fix in fixes], dtype=np.float64)
    utc_ns = [NO_SENSOR_TIME_NS if t is None else t for t in times.utc_ns]
    return StreamData(
        schema,
        times.t_ns,
        {name: np.ascontiguousarray(table[:, i]) for i, name in enumerate(schema.names)},
        np.array(utc_ns, dtype=np.int64) if times.has_date else None,
    )


def _raw(data: bytes, fixes: Sequence[Fix], times: Timeline) -> RawData:
    """All bytes, cut where epochs begin; what stands before the first epoch goes with it."""
    cuts = [0, *(fix.t_ns for fix in fixes[1:]), len(data)]
    chunks = [data[a:b] for a, b in pairwise(cuts)]
    return RawData(RAW_STREAM, times.t_ns.copy(), chunks, "the bytes of the files, unchanged")


def _events(times: Timeline) -> Iterator[Event]:
    for jump in times.jumps:
        way = "back" if jump.jump_ns < 0 else "forward"
        text = f"the receiver's clock jumped {way} by {abs(jump.jump_ns) / 1e9:.3f} s"
        yield Event(int(times.t_ns[jump.row]), EventKind.CLOCK_JUMP, STREAM, duration_ns=jump.jump_ns, text=text)


def _report(counts: SentenceCounts, fixes: Sequence[Fix], times: Timeline) -> dict[str, object]:
    total = counts.total
    rows = [i for i, fix in enumerate(fixes) if fix.has_position]
    return {
        "sentences": counts.sentences,
        "bad_checksum": total.bad_checksum,
        "missing_checksum": total.missing_checksum,
        "talkers": list(counts.talkers),
        "gga_quality": dict(sorted(counts.gga_quality.items())),
        "fixes": len(rows),
        "duration_s": _duration_ns(rows[0], rows[-1], times) / 1e9 if rows else 0.0,
    }


def _duration_ns(first: int, last: int, times: Timeline) -> int:
    """Last minus first row by the receiver's UTC; by the log's clock where that has no date or ran backwards."""
    first_ns, last_ns = times.utc_ns[first], times.utc_ns[last]
    if first_ns is not None and last_ns is not None and last_ns >= first_ns:
        return last_ns - first_ns
    return int(times.t_ns[last] - times.t_ns[first])
