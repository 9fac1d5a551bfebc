"""Where ingest goes on in its topic: after the rows that bronze has. Pure.

Bronze's commits say which offsets it has (`delta.kafka_offsets`); the broker says which there are.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from lake_assets.errors import StreamError

Declared = Literal["earliest", "latest"] | Mapping[int, int]
"""Where a feed begins in a topic that bronze has nothing of (`model.feeds.KafkaSource`)."""

_ELSEWHERE = (
    "Name the right broker; or read the new topic into another lake (--lake), or into this one "
    "under another feed's name"
)

_EARLIEST, _LATEST = -2, -1
"""Kafka's own numbers for "the first there is" and "the end", which a feed may write as well."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicRange:
    """Which offsets a topic has."""

    topic: str
    begins: Mapping[int, int]
    """By partition, the first that the broker still has."""

    ends: Mapping[int, int]
    """By partition, the one that the next row gets."""

    identity: int | None = None
    """Half of the id that Kafka gave the topic when it was made; None if its brokers give none."""


def first_offsets(found: TopicRange, declared: Declared) -> dict[int, int]:
    """Where to begin in a topic that bronze has nothing of, by partition.

    Raises:
        StreamError: the topic has no such offset as the feed declares.
    """
    if declared == "latest":
        return dict(found.ends)
    if isinstance(declared, str):
        return dict(found.begins)
    starts = {
        partition: _resolved(declared.get(partition, _EARLIEST), begin, found.ends[partition])
        for partition, begin in found.begins.items()
    }
    for partition in sorted({*starts, *declared}):
        begin, end = found.begins.get(partition), found.ends.get(partition)
        if begin is None or end is None or not begin <= starts[partition] <= end:
            fact = "is not there" if begin is None else f"has the offsets {begin} to {end}"
            raise StreamError(
                f"partition {partition} of topic {found.topic!r}",
                f"{fact}, and the feed begins at {declared[partition]}",
                "Correct source.kafka.starting_offsets of the feed",
            )
    return starts


def _resolved(declared: int, begin: int, end: int) -> int:
    return {_EARLIEST: begin, _LATEST: end}.get(declared, declared)


def next_offsets(
    found: TopicRange, have: Mapping[int, int], identity: int | None
) -> dict[int, int]:
    """Where to go on, by partition; one that came since is read from its first row.

    Args:
        found: what the topic has.
        have: by partition, the offset after the last that bronze has.
        identity: as `TopicRange.identity`, of the topic that bronze's rows are of.

    Raises:
        StreamError: the topic no longer has what comes next, or never had what bronze has.
    """
    if None not in {identity, found.identity} and identity != found.identity:
        raise StreamError(
            f"topic {found.topic!r}",
            "is not the one that bronze has rows of: it was created again under the same name, or "
            "this lake belongs to another broker",
            _ELSEWHERE,
        )
    for partition, offset in have.items():
        _ensure_readable(found, partition, offset)
    return {partition: have.get(partition, begin) for partition, begin in found.begins.items()}


def _ensure_readable(found: TopicRange, partition: int, offset: int) -> None:
    begin, end = found.begins.get(partition), found.ends.get(partition)
    thing = f"partition {partition} of topic {found.topic!r}"
    if begin is None or end is None or offset > end:
        fact = "is not there" if end is None else f"ends at offset {end}"
        raise StreamError(
            thing,
            f"{fact}, and bronze has its rows up to offset {offset}: the topic was created again, "
            "or this lake belongs to another broker",
            _ELSEWHERE,
        )
    if offset < begin:
        raise StreamError(
            thing,
            f"begins at offset {begin}, and bronze needs offset {offset} next: Kafka deleted "
            f"{begin - offset} offsets before they were read",
            "Restore them in Kafka; or go on without them in another lake (--lake), or in this one "
            "under another feed's name",
        )
