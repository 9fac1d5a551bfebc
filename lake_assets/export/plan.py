"""Which offsets an export takes now, and what forbids it. Pure: facts in, ranges out."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lake_assets.errors import ExportError
from lake_assets.export.lines import ExportFormat
from lake_assets.export.record import Gap, Record


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicFacts:
    """A topic as brokers tell of it."""

    topic: str
    cluster: str | None
    identity: int | None
    bounds: Mapping[int, tuple[int, int]]
    """By partition, the first offset that there is, and the one after the last."""

    times: Mapping[int, int] = field(default_factory=dict)
    """By partition, the time in milliseconds of the record that was exported last, where it can be
    told."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Range:
    """Offsets of a partition that are due."""

    partition: int
    first: int
    after: int


def first_record(facts: TopicFacts, kind: ExportFormat) -> Record:
    """Of an export that begins: with the oldest record that there is."""
    return Record(
        topic=facts.topic,
        cluster=facts.cluster,
        identity=facts.identity,
        format=kind,
        number=0,
        offsets={partition: begin for partition, (begin, _) in facts.bounds.items()},
    )


def ranges_due(record: Record, facts: TopicFacts) -> list[Range]:
    """What there is of each partition beyond the record; of new ones from their first offset on.

    Raises:
        ExportError: the topic is another one than the record's, or lost its newest records.
    """
    ensure_same(record, facts)
    due = []
    for partition, (_, end) in sorted(facts.bounds.items()):
        first = record.offsets.get(partition, 0)
        if end < first:
            fact = f"ends at offset {end:,}, and was exported up to {first:,}"
            raise _other_topic(record, f"partition {partition} {fact}")
        if first < end:
            due.append(Range(partition=partition, first=first, after=end))
    return due


def ensure_same(record: Record, facts: TopicFacts) -> None:
    """Make sure that a topic is still the one that was exported.

    Raises:
        ExportError: it is not.
    """
    if None not in {record.cluster, facts.cluster} and record.cluster != facts.cluster:
        raise _other_topic(record, f"is one of cluster {facts.cluster}, not {record.cluster}")
    if None not in {record.identity, facts.identity} and record.identity != facts.identity:
        raise _other_topic(record, "was deleted and made again since it was exported")
    for partition, at_ms in facts.times.items():
        newest = record.newest.get(partition)
        if newest is not None and newest.at_ms != at_ms:
            fact = f"has another record at offset {newest.offset:,} of partition {partition} than"
            raise _other_topic(record, f"{fact} was exported: brokers lost some")
    missing = sorted(record.offsets.keys() - facts.bounds.keys())
    if missing:
        raise _other_topic(record, f"has no partition {missing[0]}, which was exported")


def gap_before(
    record: Record, partition: int, facts: TopicFacts, *, allow_gaps: bool
) -> Gap | None:
    """What brokers deleted of a partition before it was exported; None if nothing.

    Raises:
        ExportError: there is such a range, and none is allowed.
    """
    begin, _ = facts.bounds[partition]
    first = record.offsets.get(partition, 0)
    if begin <= first:
        return None
    if not allow_gaps:
        raise ExportError(
            f"topic {record.topic!r}",
            f"offsets {first:,} to {begin - 1:,} of partition {partition} were deleted (by "
            "retention, or DeleteRecords) before they were exported",
            "Go on after them by --allow-gaps; nothing was lost of what is in the folder",
        )
    return Gap(partition=partition, first=first, after=begin)


def _other_topic(record: Record, fact: str) -> ExportError:
    step = "Export it into another folder; what is in this one stays as it is"
    return ExportError(f"topic {record.topic!r}", fact, step)
