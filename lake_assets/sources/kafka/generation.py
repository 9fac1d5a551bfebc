"""Whether a topic is the one that it was, and its rows those that they were.

A topic that is created again has another id. A partition that gets a leader, another one or the
same after a restart, has another epoch: that leader may lack the newest rows of the one before, and
give their offsets to others (KIP-101, KIP-320).
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress

from confluent_kafka import (
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec

from lake_assets.model.endpoints import Endpoints
from lake_assets.model.origins import ByPartition
from lake_assets.sources.base import ANSWER_S, Generation
from lake_assets.sources.kafka.assigned import IN_NO_GROUP, next_message
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
    endpoints: Endpoints, topic: str, *, timeout_s: float = ANSWER_S
) -> Generation:
    """Half of the topic's id, which Kafka has since 2.8 (KIP-516), and its leaders' epochs.

    Raises:
        SourceError: no broker answers within `timeout_s`, or the topic does not exist.
    """
    with asking(endpoints, topic, timeout_s) as refusals:
        admin = AdminClient(client_config(endpoints, refusals))
        topics = TopicCollection([topic])
        (answer,) = admin.describe_topics(topics, request_timeout=timeout_s).values()
        found = result_of(answer, admin, refusals)
        places = [TopicPartition(topic, partition.id) for partition in found.partitions]
        epochs = dict(_epochs(admin, places, refusals, timeout_s))
    identity = int(found.topic_id.get_most_significant_bits()) & _LONG
    return Generation(identity=identity or None, epochs=epochs)


def _epochs(
    admin: AdminClient, places: list[TopicPartition], refusals: Refusals, timeout_s: float
) -> Iterator[tuple[int, int]]:
    latest: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]  # nor annotated
    newest = dict.fromkeys(places, latest)
    for place, answer in admin.list_offsets(newest, request_timeout=timeout_s).items():
        # Of a partition without a leader just now nothing is known; it has another epoch then.
        with suppress(KafkaException):
            epoch = result_of(answer, admin, refusals).leader_epoch
            if epoch is not None:
                yield place.partition, epoch


def row_times(
    endpoints: Endpoints, topic: str, offsets: ByPartition, *, timeout_s: float = ANSWER_S
) -> dict[int, int]:
    """By partition, the time that the row at an offset has; as `sources.base.Source.times`.

    Raises:
        SourceError: an answer does not come within `timeout_s`, or brokers refuse us.
    """
    if not offsets:
        return {}
    with asking(endpoints, topic, timeout_s) as refusals:
        consumer = Consumer({**client_config(endpoints, refusals), **_OWN})
        try:
            consumer.assign([TopicPartition(topic, p, at) for p, at in sorted(offsets.items())])
            return dict(_times(consumer, topic, offsets, timeout_s))
        finally:
            consumer.close()


def _times(
    consumer: Consumer, topic: str, offsets: Mapping[int, int], timeout_s: float
) -> Iterator[tuple[int, int]]:
    """What the first answer of each partition tells."""
    left = dict(offsets)
    while left:
        message = next_message(consumer, timeout_s)
        error = message.error()
        if error is not None and error.code() not in _NO_ROW:
            raise KafkaException(error)
        partition = message.partition()
        if partition is None or partition not in left:
            continue
        wanted = left.pop(partition)
        consumer.incremental_unassign([TopicPartition(topic, partition)])
        kind, at_ms = message.timestamp()
        # At another offset: the row was compacted away, or stands for nothing but a transaction.
        is_there = error is None and message.offset() == wanted
        if is_there and kind != TIMESTAMP_NOT_AVAILABLE and at_ms >= _ONE_CALENDAR_MS:
            yield partition, at_ms * 1000
