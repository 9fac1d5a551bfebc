"""One export of a topic, from begin to end: what is new of it goes into its folder, then it ends.

A partition after the other, up to the offsets that were its end when the export began.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from confluent_kafka import Message

from lake_assets.errors import ExportError, SourceError
from lake_assets.export.folder import ExportFolder, PartFile, open_folder
from lake_assets.export.lines import ENCODERS, ExportFormat, is_framed
from lake_assets.export.plan import (
    Range,
    TopicFacts,
    ensure_same,
    first_record,
    gap_before,
    ranges_due,
)
from lake_assets.export.reading import RecordsGoneError, read_range, topic_facts
from lake_assets.export.record import Gap, Newest, Record
from lake_assets.model.endpoints import Endpoints
from lake_assets.sources.kafka.generation import topic_generation


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What is to be exported, and how."""

    topic: str
    folder: Path
    format: ExportFormat = "jsonl"
    rows_per_file: int = 1_000_000
    bytes_per_file: int = 128 * 1024 * 1024
    allow_gaps: bool = False


@dataclass(kw_only=True, slots=True)
class PartitionReport:
    """What became of a partition in one export."""

    partition: int
    first: int
    """The offset that it began with."""

    after: int
    """The offset that the next export begins with."""

    rows: int = 0
    size: int = 0
    """Bytes."""

    files: list[str] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True, slots=True)
class ExportReport:
    """What one export did."""

    partitions: Sequence[PartitionReport]
    """All that the topic has."""

    is_whole: bool
    """Whether it went to the end; else it was stopped."""


_Step: TypeAlias = tuple[int, Message | None]
"""A record, or nothing, and the offset after it."""


@dataclass(kw_only=True, slots=True)
class _Filled:
    """A file with all that it got."""

    after: int
    """The offset after what was read."""

    last: Message | None = None
    failure: Exception | None = None
    """What ended it before it was full, or the range was over."""


OnProgress: TypeAlias = Callable[[int, int], None]
"""Called with the offsets that are done, and those that were due."""


def export_topic(
    endpoints: Endpoints,
    request: Request,
    *,
    stop: Callable[[], bool] = lambda: False,
    on_progress: OnProgress = lambda _done, _due: None,
) -> ExportReport:
    """Export what a topic has that its folder has not yet.

    Args:
        endpoints: the brokers.
        request: what, and how.
        stop: whether to end with the file that is being written.
        on_progress: hears how far it is.

    Raises:
        ExportError: the topic or the folder is not as it was left, or cannot be used; a gap.
        SourceError: brokers do not answer, or refuse us.
    """
    with open_folder(request.folder, request.topic) as folder:
        newest = folder.record.newest if folder.record else {}
        facts = topic_facts(endpoints, request.topic, newest)
        record = folder.record or first_record(facts, request.format)
        _ensure_format(record, request)
        due = ranges_due(record, facts)
        if folder.record is None and not due:
            folder.put(record)  # so that it is known which topic was empty then
        export = _Export(endpoints, request, folder, record, replace(facts, times={}), stop)
        total = sum(one.after - one.first for one in due)
        for one in due:
            export.take(one, lambda done: on_progress(done, total))
    done = export.reports
    return ExportReport(
        partitions=[done[number] for number in sorted(done)], is_whole=not export.is_stopped
    )


def _ensure_format(record: Record, request: Request) -> None:
    if record.format != request.format:
        fact = f"is an export of topic {request.topic!r} as {record.format}, not {request.format}"
        step = "Go on as it was begun, or export into another folder"
        raise ExportError(f"folder {request.folder}", fact, step)


def _newest(message: Message) -> Newest:
    return Newest(offset=int(message.offset() or 0), at_ms=message.timestamp()[1])


class _Export:
    """An export under way."""

    def __init__(
        self,
        endpoints: Endpoints,
        request: Request,
        folder: ExportFolder,
        record: Record,
        facts: TopicFacts,
        stop: Callable[[], bool],
    ) -> None:
        self._endpoints, self._request, self._folder = endpoints, request, folder
        self._record, self._facts, self._stop = record, facts, stop
        self._encode = ENCODERS[request.format]
        self._done = 0
        self._is_begun = folder.record is not None
        self.is_stopped = False
        self.reports = {
            partition: PartitionReport(partition=partition, first=first, after=first)
            for partition in facts.bounds
            for first in [record.offsets.get(partition, 0)]
        }

    def take(self, due: Range, on_progress: Callable[[int], None]) -> None:
        """Export a range of a partition, unless it was told to stop."""
        while not self._stop() and self._next(due.partition) < due.after:
            self._pass_over_gap(due.partition)
            if (first := self._next(due.partition)) >= due.after:
                break
            rest = Range(partition=due.partition, first=first, after=due.after)
            if not self._read(rest, lambda at: on_progress(self._done + at - due.first)):
                self._look_for_gap(due.partition)
        self._done += due.after - due.first
        self.is_stopped = self._next(due.partition) < due.after

    def _next(self, partition: int) -> int:
        return self._record.offsets.get(partition, 0)

    def _read(self, due: Range, on_progress: Callable[[int], None]) -> bool:
        """Export a range; whether brokers had all of it."""
        steps, first = self._steps(due, on_progress), due.first
        while first < due.after and not self._stop():
            with self._folder.part(self._record.number, due.partition, first) as part:
                filled = self._fill(part, steps)
                self._count(part, filled)
            if isinstance(filled.failure, RecordsGoneError):
                return False
            if filled.failure is not None:
                raise filled.failure
            first = filled.after
        return True

    def _steps(self, due: Range, on_progress: Callable[[int], None]) -> Iterator[_Step]:
        for read in read_range(self._endpoints, self._request.topic, due, stop=self._stop):
            if read.messages and not self._is_begun:
                self._ensure_fits(read.messages)
                self._is_begun = True
            for message in read.messages:
                yield int(message.offset() or 0) + 1, message
            yield read.position, None
            on_progress(read.position)

    def _fill(self, part: PartFile, steps: Iterator[_Step]) -> _Filled:
        """Write records until the file is full.

        What came before brokers failed is good, and counts.
        """
        filled, limits = _Filled(after=part.first), self._request
        try:
            for filled.after, message in steps:
                if message is None:
                    continue
                part.write(self._encode(message.value()))
                filled.last = message
                if part.rows >= limits.rows_per_file or part.size >= limits.bytes_per_file:
                    break
        except (RecordsGoneError, SourceError) as problem:
            filled.failure = problem
        return filled

    def _count(self, part: PartFile, filled: _Filled) -> None:
        """Let the folder have a file, and know how far it is."""
        if filled.after == part.first:
            return
        # It is asked after the records were read: these are the old topic's, or none is kept.
        identities = topic_generation(self._endpoints, [self._request.topic]).identities
        now = replace(self._facts, identity=identities.get(self._request.topic))
        ensure_same(self._record, now)
        offsets = {**self._record.offsets, part.partition: filled.after}
        record = self._record.model_copy(update={"offsets": offsets})
        report = self.reports[part.partition]
        if filled.last is None:
            self._folder.put(record)
        else:
            newest = {**record.newest, part.partition: _newest(filled.last)}
            record = record.model_copy(update={"number": record.number + 1, "newest": newest})
            report.files.append(str(self._folder.place(part, filled.after, record)))
        self._record = record
        report.rows += part.rows
        report.size += part.size
        report.after = filled.after

    def _look_for_gap(self, partition: int) -> None:
        """Find out what was deleted while it was read.

        Raises:
            SourceError: nothing was.
        """
        self._facts = topic_facts(self._endpoints, self._request.topic)
        ensure_same(self._record, self._facts)
        begin, _ = self._facts.bounds[partition]
        if begin <= self._next(partition):
            fact = f"has no record at offset {self._next(partition):,} of partition {partition}"
            step = "Look into the broker's log; run again, it goes on where it ended"
            raise SourceError(f"topic {self._request.topic!r}", fact, step)

    def _pass_over_gap(self, partition: int) -> None:
        allowed = self._request.allow_gaps
        gap = gap_before(self._record, partition, self._facts, allow_gaps=allowed)
        if gap is None:
            return
        offsets = {**self._record.offsets, partition: gap.after}
        gaps = (*self._record.gaps, gap)
        self._record = self._record.model_copy(update={"offsets": offsets, "gaps": gaps})
        self._folder.put(self._record)
        self.reports[partition].gaps.append(gap)
        self.reports[partition].after = gap.after

    def _ensure_fits(self, messages: Sequence[Message]) -> None:
        thing, kind = f"topic {self._request.topic!r}", self._request.format
        framed = [is_framed(message.value()) for message in messages if message.value()]
        if kind == "jsonl" and framed and all(framed):
            fact = "its first values are framed (they begin with the byte 0 and a schema's id)"
            raise ExportError(thing, fact, "Export it by --format framed")
        if kind == "framed" and framed and not any(framed):
            fact = "its first values are not framed (by the byte 0 and a registered schema's id)"
            raise ExportError(thing, fact, "JSON goes by --format jsonl, which is the default")
