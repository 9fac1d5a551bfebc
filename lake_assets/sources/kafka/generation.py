"""Whether a topic is the one that it was, and its rows those that they were.

A topic that is created again has another id. A partition that gets a leader, another one or the
same after a restart, has another epoch: that leader may lack the newest rows of the one before, and
give their offsets to others (KIP-101, KIP-320).
"""

from collections.abc import Collection, Iterator
from contextlib import suppress

from confluent_kafka import (
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec

from lake_assets.model.endpoints import Endpoints
from lake_assets.model.origins import ByPlace, Place
from lake_assets.sources.base import ANSWER_S, Generation
from lake_assets.sources.kafka.assigned import IN_NO_GROUP, next_message
from lake_assets.sources.kafka.found_topics import described
from lake_assets.sources.kafka.refusals import Refusals
from lake_assets.sources.kafka.topics import asking, client_config, result_of

_LONG = 2**63 - 1
"""What fits into the version of a Delta transaction, where an identity is kept."""

_NO_ROW = {
    KafkaError._PARTITION_EOF,  # noqa: SLF001 - librdkafka's own codes begin so
    KafkaError._AUTO_OFFSET_RESET,  # noqa: SLF001 - the offset is in the topic no more, or not yet
    KafkaError._BAD_MSG,  # noqa: SLF001 - its record batch is damaged
}

_OWN = {
    **IN_NO_GROUP,
    "enable.partition.eof": True,
    "check.crcs": True,
    "auto.offset.reset": "error",
    # Of each partition about the record batch that has the row; a larger one comes in an answer of
    # its own. Smaller, and each has one: of 100 partitions 101, and not 2.
    "fetch.message.max.bytes": 65_536,
}

_ONE_CALENDAR_MS = -2_208_988_800_000
"""Since 1900, times are the same in bronze as in Kafka. Spark takes those before for Julian ones,
or for local ones, and moves them by days or minutes: the year 1, .NET's zero, is not so rare."""


def topic_generation(
    endpoints: Endpoints, topics: Collection[str], *, timeout_s: float = ANSWER_S
) -> Generation:
    """Half of each topic's id, which Kafka has since 2.8 (KIP-516), and its leaders' epochs.

    Without topics that do not exist.

    Raises:
        SourceError: no broker answers within `timeout_s`, or it refuses us.
    """
    with asking(endpoints, _only(topics), timeout_s) as refusals:
        admin = AdminClient(client_config(endpoints, refusals))
        found = described(admin, endpoints, topics, refusals, timeout_s=timeout_s)
        places = [TopicPartition(name, p.id) for name, t in found.items() for p in t.partitions]
        epochs = dict(_epochs(admin, places, refusals, timeout_s)) if places else {}
    # The stubs lack it.
    ids = {n: t.topic_id.get_most_significant_bits() for n, t in found.items()}  # type: ignore[attr-defined]
    return Generation(
        identities={name: (number & _LONG) or None for name, number in ids.items()}, epochs=epochs
    )


def _epochs(
    admin: AdminClient, places: list[TopicPartition], refusals: Refusals, timeout_s: float
) -> Iterator[tuple[Place, int]]:
    latest: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]  # nor annotated
    newest = dict.fromkeys(places, latest)
    for place, answer in admin.list_offsets(newest, request_timeout=timeout_s).items():
        # Of a partition without a leader just now nothing is known; it has another epoch then.
        with suppress(KafkaException):
            epoch = result_of(answer, admin, refusals).leader_epoch
            if epoch is not None:
                yield (place.topic, place.partition), epoch


def row_times(
    endpoints: Endpoints, offsets: ByPlace, *, timeout_s: float = ANSWER_S
) -> dict[Place, int]:
    """By topic and partition, the time of the row at an offset; as `sources.base.Source.times`.

    Raises:
        SourceError: an answer does not come within `timeout_s`, or brokers refuse us.
    """
    if not offsets:
        return {}
    with asking(endpoints, _only({topic for topic, _ in offsets}), timeout_s) as refusals:
        consumer = Consumer({**client_config(endpoints, refusals), **_OWN})
        try:
            consumer.assign([TopicPartition(*place, at) for place, at in sorted(offsets.items())])
            return dict(_times(consumer, offsets, timeout_s))
        finally:
            consumer.close()


def _only(topics: Collection[str]) -> str | None:
    """The topic that a question is about; None if it is about several."""
    return next(iter(topics)) if len(topics) == 1 else None


def _times(consumer: Consumer, offsets: ByPlace, timeout_s: float) -> Iterator[tuple[Place, int]]:
    """What the first answer of each partition tells."""
    left = dict(offsets)
    while left:
        message = next_message(consumer, timeout_s)
        error = message.error()
        if error is not None and error.code() not in _NO_ROW:
            raise KafkaException(error)
        topic, partition = message.topic(), message.partition()
        if topic is None or partition is None or (topic, partition) not in left:
            continue
        wanted = left.pop((topic, partition))
        consumer.incremental_unassign([TopicPartition(topic, partition)])
        kind, at_ms = message.timestamp()
        # At another offset: the row was compacted away, or stands for nothing but a transaction.
        is_there = error is None and message.offset() == wanted
        if is_there and kind != TIMESTAMP_NOT_AVAILABLE and at_ms >= _ONE_CALENDAR_MS:
            yield (topic, partition), at_ms * 1000
