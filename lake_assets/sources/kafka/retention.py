"""What brokers delete of a topic, by its settings: how long rows are kept, and how many bytes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._resource import ResourceType

from lake_assets.model.endpoints import Endpoints
from lake_assets.sources.base import ANSWER_S
from lake_assets.sources.kafka.assigned import IN_NO_GROUP
from lake_assets.sources.kafka.topics import asking, client_config


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicRetention:
    """Of each partition of a topic."""

    seconds: float | None = None
    """How long rows are kept; None if age deletes none."""

    size_bytes: int | None = None
    """How many bytes are; None if size deletes none."""


def topic_retention(
    endpoints: Endpoints, topic: str, *, timeout_s: float = ANSWER_S
) -> TopicRetention:
    """What brokers delete of a topic; of one that is only compacted nothing.

    Raises:
        SourceError: no broker answers within `timeout_s`, or it refuses us.
    """
    with asking(endpoints, topic, timeout_s) as refusals:
        admin = AdminClient(client_config(endpoints, refusals))
        resource = ConfigResource(ResourceType.TOPIC, topic)
        (answer,) = admin.describe_configs([resource], request_timeout=timeout_s).values()
        config = {name: entry.value for name, entry in answer.result().items()}
    return retention_in(config)


def retention_in(config: Mapping[str, str | None]) -> TopicRetention:
    """What a topic's settings say; who is no Kafka but speaks like one may leave some out."""
    if "delete" not in (config.get("cleanup.policy") or "delete"):
        return TopicRetention()
    age_ms = _limit(config.get("retention.ms"))
    return TopicRetention(
        seconds=None if age_ms is None else age_ms / 1000,
        size_bytes=_limit(config.get("retention.bytes")),
    )


def _limit(text: str | None) -> int | None:
    """A number, unless it says that there is no limit, or nothing that can be read."""
    return int(text) if text is not None and text.isdecimal() else None


def offsets_at(
    endpoints: Endpoints,
    topic: str,
    partitions: Iterable[int],
    at: float,
    *,
    timeout_s: float = ANSWER_S,
) -> dict[int, int | None]:
    """By partition, the first row whose time is not before `at`; None if there is none.

    Args:
        endpoints: the brokers.
        topic: which.
        partitions: of it.
        at: seconds since 1970, as rows have them; before, all rows count.
        timeout_s: for an answer.

    Raises:
        SourceError: no broker answers within `timeout_s`, or it refuses us.
    """
    asked = [TopicPartition(topic, partition, max(0, round(at * 1000))) for partition in partitions]
    with asking(endpoints, topic, timeout_s) as refusals:
        consumer = Consumer({**client_config(endpoints, refusals), **IN_NO_GROUP})
        try:
            found = consumer.offsets_for_times(asked, timeout=timeout_s)
        finally:
            consumer.close()
        for place in found:
            if place.error is not None:
                raise KafkaException(place.error)
    return {place.partition: place.offset if place.offset >= 0 else None for place in found}
