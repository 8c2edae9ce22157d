"""Bytes → sentences with a verified checksum, and a count of everything that was not one.

A sentence is `$`, an address of capital letters, a comma, printable ASCII without `$` and `*`, then `*` and two hex
digits. A `$` inside starts it anew, any other byte ends the attempt. What is found does not depend on how the bytes are
cut into chunks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from hodograph.core.display import short_repr

MAX_ADDRESS_BYTES = 16
MAX_BODY_BYTES = 1024  # NMEA allows 82 in all, real receivers send up to some 200; more without an end is noise
MAX_ADDRESSES_COUNTED = 512  # noise must not grow the table of counts without bound
OTHER_ADDRESS = "?"

_ADDRESS = rb"[A-Z]{1,%d}" % MAX_ADDRESS_BYTES
_BODY = rb"[ -#%%-)+-~]{0,%d}" % MAX_BODY_BYTES
_SENTENCE = re.compile(rb"\$((%s),(%s))\*([0-9A-Fa-f]{2})" % (_ADDRESS, _BODY))
_UNFINISHED = re.compile(rb"\$(?:[A-Z]{0,%d}|%s,%s(?:\*[0-9A-Fa-f]?)?)" % (MAX_ADDRESS_BYTES, _ADDRESS, _BODY))
_ATTEMPT = re.compile(rb"\$(%s),(%s)([\r\n])?" % (_ADDRESS, _BODY))


class ChecksumPolicy(StrEnum):
    """What to do with a sentence that has no checksum; one with a wrong checksum is always refused."""

    REQUIRE = "require"
    ACCEPT_MISSING = "accept_missing"


class Sentence(NamedTuple):
    """One accepted sentence: `address` such as b"GNGGA", `body` everything between its comma and the `*`."""

    address: bytes
    body: bytes
    has_checksum: bool


@dataclass(slots=True)
class AddressCount:
    """How often an address was seen.

    `good`: right checksum. `bad_checksum`: wrong one. `missing_checksum`: a whole line without one. `malformed`: cut
    off by noise or by the next `$`, or right checksum but a field that is needed cannot be read. `ignored`: those of
    the good ones that say nothing about a fix.
    """

    good: int = 0
    bad_checksum: int = 0
    missing_checksum: int = 0
    malformed: int = 0
    ignored: int = 0


@dataclass(slots=True)
class SentenceCounts:
    """Counts by address (talker and type, e.g. `GNGGA`), and of the quality digits in good GGA sentences."""

    by_address: dict[str, AddressCount] = field(default_factory=dict)
    gga_quality: dict[str, int] = field(default_factory=dict)

    def of(self, address: bytes) -> AddressCount:
        """The count of `address`, made on first use."""
        name = address.decode("ascii")
        count = self.by_address.get(name)
        if count is None:
            if len(self.by_address) >= MAX_ADDRESSES_COUNTED:
                name = OTHER_ADDRESS
            count = self.by_address.setdefault(name, AddressCount())
        return count

    @property
    def by_type(self) -> Mapping[str, AddressCount]:
        """The counts by sentence type, talkers added up: `GGA`, `RMC`; proprietary ones by their whole address."""
        sums: dict[str, AddressCount] = {}
        for address, count in self.by_address.items():
            name = address if address.startswith("P") or len(address) != 5 else address[2:]
            _add(sums.setdefault(name, AddressCount()), count)
        return sums

    @property
    def total(self) -> AddressCount:
        """All addresses added up."""
        total = AddressCount()
        for count in self.by_address.values():
            _add(total, count)
        return total

    @property
    def sentences(self) -> int:
        """Sentences with a checksum, right or wrong."""
        total = self.total
        return total.good + total.bad_checksum

    @property
    def talkers(self) -> tuple[str, ...]:
        """The talkers of the good sentences, sorted; `P` stands for the proprietary ones."""
        good = (address for address, count in self.by_address.items() if count.good)
        return tuple(sorted({"P" if a.startswith("P") else a[:2] for a in good}))

    __repr__ = short_repr


def _add(to: AddressCount, count: AddressCount) -> None:
    to.good += count.good
    to.bad_checksum += count.bad_checksum
    to.missing_checksum += count.missing_checksum
    to.malformed += count.malformed
    to.ignored += count.ignored


def checksum(text: bytes) -> int:
    """The exclusive or of all bytes between `$` and `*`.

    One long integer folded onto itself, halves upon halves: several times faster than a loop over the bytes.
    """
    folded = int.from_bytes(text)
    if len(text) > 128:
        shift_bits = 1024
        while shift_bits < 4 * len(text):
            shift_bits *= 2
        while shift_bits > 512:
            folded ^= folded >> shift_bits
            shift_bits >>= 1
    folded ^= folded >> 512
    folded ^= folded >> 256
    folded ^= folded >> 128
    folded ^= folded >> 64
    folded ^= folded >> 32
    folded ^= folded >> 16
    return (folded ^ folded >> 8) & 0xFF


class SentenceSplitter:
    """Fed with chunks of any size, gives the sentences they complete."""

    def __init__(self, policy: ChecksumPolicy = ChecksumPolicy.REQUIRE) -> None:
        self.counts = SentenceCounts()
        self._accept_missing = policy is ChecksumPolicy.ACCEPT_MISSING
        self._rest = b""
        self._count_of: dict[bytes, AddressCount] = {}

    def feed(self, chunk: bytes) -> list[Sentence]:
        """The sentences that `chunk` completes, in order."""
        data = self._rest + chunk
        found: list[Sentence] = []
        done = 0
        for match in _SENTENCE.finditer(data):
            start = match.start()
            if start - done > 2:
                found.extend(self._attempts(data, done, start))
            done = match.end()
            text, address, body, digits = match.groups()
            count = self._count_of.get(address) or self._count(address)
            if checksum(text) == int(digits, 16):
                count.good += 1
                found.append(Sentence(address, body, True))
            else:
                count.bad_checksum += 1
        keep = self._unfinished_from(data, done)
        found.extend(self._attempts(data, done, keep))
        self._rest = data[keep:]
        return found

    def flush(self) -> None:
        """End of the bytes: what is unfinished stays so, and is counted."""
        match = _ATTEMPT.match(self._rest)
        if match:
            self._count(match[1]).malformed += 1
        self._rest = b""

    def _count(self, address: bytes) -> AddressCount:
        count = self._count_of[address] = self.counts.of(address)
        if len(self._count_of) > 2 * MAX_ADDRESSES_COUNTED:
            self._count_of.clear()
        return count

    @staticmethod
    def _unfinished_from(data: bytes, done: int) -> int:
        """Where the sentence starts that the next chunk may complete; the end of `data` if there is none."""
        last = data.rfind(b"$", done)
        if last >= 0 and _UNFINISHED.fullmatch(data, last):
            return last
        return len(data)

    def _attempts(self, data: bytes, start: int, end: int) -> Iterator[Sentence]:
        """What began as a sentence between two good ones, and did not become one."""
        at = data.find(b"$", start, end)
        while at >= 0:
            match = _ATTEMPT.match(data, at, end)
            if match:
                address, body, line_end = match.groups()
                if line_end is None:
                    self._count(address).malformed += 1
                else:
                    self._count(address).missing_checksum += 1
                    if self._accept_missing:
                        yield Sentence(address, body, False)
            at = data.find(b"$", at + 1, end)
