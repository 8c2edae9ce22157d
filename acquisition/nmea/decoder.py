"""The live decoder: chunks of bytes in, readings out."""

from __future__ import annotations

from hodograph.acquisition.nmea.epoch import EpochAssembler
from hodograph.acquisition.nmea.fields import gga_quality_digits, kind_of, read_body
from hodograph.acquisition.nmea.fix import Fix, fix_schema
from hodograph.acquisition.nmea.framing import ChecksumPolicy, Sentence, SentenceCounts, SentenceSplitter
from hodograph.core import Reading


class NmeaDecoder:
    """NMEA 0183 of any talker → one reading per epoch, stamped with the arrival of the epoch's first sentence.

    Never raises on what comes in. The numbers, and which fixes there are, do not depend on how the bytes are cut into
    chunks. A fix is given as soon as its epoch is known to be complete; `whole_epochs` waits for the next epoch
    instead, which is right for files: a sentence type that comes now and then is not missed.
    """

    def __init__(
        self,
        stream: str = "gnss",
        policy: ChecksumPolicy = ChecksumPolicy.REQUIRE,
        *,
        whole_epochs: bool = False,
        rate_hz: float | None = None,
    ) -> None:
        self.schema = fix_schema(stream, rate_hz)
        self._splitter = SentenceSplitter(policy)
        self._assembler = EpochAssembler(whole_epochs=whole_epochs)

    @property
    def counts(self) -> SentenceCounts:
        """How many sentences of each address were good, bad, without checksum, malformed, ignored."""
        return self._splitter.counts

    def feed(self, chunk: bytes, t_ns: int) -> list[Reading]:
        """Readings of the epochs that `chunk`, arrived at `t_ns`, completes."""
        return [fix.reading(self.schema.name) for fix in self.feed_fixes(chunk, t_ns)]

    def flush(self) -> list[Reading]:
        """End of the bytes: the reading of the epoch that is still open."""
        return [fix.reading(self.schema.name) for fix in self.flush_fixes()]

    def feed_fixes(self, chunk: bytes, t_ns: int) -> list[Fix]:
        """As `feed`, but whole fixes."""
        fixes: list[Fix] = []
        for sentence in self._splitter.feed(chunk):
            fixes.extend(self._take(sentence, t_ns))
        return fixes

    def flush_fixes(self) -> list[Fix]:
        """As `flush`, but whole fixes."""
        self._splitter.flush()
        return self._assembler.flush()

    def _take(self, sentence: Sentence, t_ns: int) -> list[Fix]:
        kind = kind_of(sentence.address)
        if kind is None:
            if sentence.has_checksum:
                self.counts.of(sentence.address).ignored += 1
            return []
        if kind == b"GGA" and sentence.has_checksum:
            self._count_quality(sentence.body)
        report = read_body(kind, sentence.body)
        if report is None:
            self.counts.of(sentence.address).malformed += 1
            return []
        return self._assembler.add(kind, report, t_ns)

    def _count_quality(self, body: bytes) -> None:
        digits = gga_quality_digits(body)
        if digits:
            self.counts.gga_quality[digits] = self.counts.gga_quality.get(digits, 0) + 1
