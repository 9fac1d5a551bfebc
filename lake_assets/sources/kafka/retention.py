"""What brokers delete of a topic, by its settings: how long rows are kept, and how many bytes."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._resource import ResourceType

from lake_assets.model.endpoints import Endpoints
from lake_assets.model.origins import Place
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
    endpoints: Endpoints, topics: Collection[str], *, timeout_s: float = ANSWER_S
) -> dict[str, TopicRetention]:
    """What brokers delete of topics; of one that is only compacted nothing.

    Raises:
        SourceError: no broker answers within `timeout_s`, or it refuses us.
    """
    found: dict[str, TopicRetention] = {}
    with asking(endpoints, None, timeout_s) as refusals:
        admin = AdminClient(client_config(endpoints, refusals))
        asked = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]
        answers = admin.describe_configs(asked, request_timeout=timeout_s)
        for resource, answer in answers.items():
            with asking(endpoints, resource.name, timeout_s, refusals):
                config = {name: entry.value for name, entry in answer.result().items()}
            found[resource.name] = retention_in(config)
    return found


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
    at: Mapping[Place, float],
    *,
    timeout_s: float = ANSWER_S,
) -> dict[Place, int | None]:
    """By topic and partition, the first row whose time is not before some; None if there is none.

    Args:
        endpoints: the brokers.
        at: by topic and partition, seconds since 1970, as rows have them; before, all rows count.
        timeout_s: for an answer.

    Raises:
        SourceError: no broker answers within `timeout_s`, or it refuses us.
    """
    asked = [TopicPartition(*place, max(0, round(since * 1000))) for place, since in at.items()]
    with asking(endpoints, None, timeout_s) as refusals:
        consumer = Consumer({**client_config(endpoints, refusals), **IN_NO_GROUP})
        try:
            found = consumer.offsets_for_times(asked, timeout=timeout_s)
        finally:
            consumer.close()
        for place in found:
            if place.error is not None:
                raise KafkaException(place.error)
    return {
        (place.topic, place.partition): place.offset if place.offset >= 0 else None
        for place in found
    }
