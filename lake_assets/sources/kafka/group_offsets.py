"""A consumer group's offsets, committed so that Kafka's own tools see how far a feed is.

Nobody reads them back: how far a feed is, bronze's commits say.
"""

from collections.abc import Sequence

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from lake_assets.errors import SourceError
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.origins import ByPlace
from lake_assets.sources.base import ANSWER_S
from lake_assets.sources.kafka.refusals import Refusals
from lake_assets.sources.kafka.topics import client_config


def group_of(feed: str) -> str:
    """Name of a feed's consumer group."""
    return f"lake_assets-{feed}"


class GroupOffsets:
    """Of one group; used by one thread. Keeps a connection."""

    def __init__(self, endpoints: Endpoints, group: str) -> None:
        """Commit to these brokers; nothing is asked yet."""
        self._endpoints = endpoints
        self._group = group
        self._refusals = Refusals()
        self._admin: AdminClient | None = None

    def commit(self, offsets: ByPlace, *, timeout_s: float = ANSWER_S) -> None:
        """Commit the offset that comes next, by topic and partition; again is as once.

        Those of topics that are refused are left out, and the others are committed.

        Raises:
            SourceError: brokers do not answer, or refuse any of it.
        """
        places = [TopicPartition(*place, offset) for place, offset in sorted(offsets.items())]
        refused = self._refusal(places, timeout_s)
        if refused is not None:
            error, topics = refused
            raise SourceError(
                f"consumer group {self._group!r} at {self._endpoints.kafka}",
                f"takes no offsets of topic {_named(topics)} ({error.str()})",
                "Grant the user Read on the group and the topic, or set "
                "LAKE_ASSETS_KAFKA_COMMIT_OFFSETS=false; the lake does not need them",
            )

    def _refusal(
        self, places: Sequence[TopicPartition], timeout_s: float
    ) -> tuple[KafkaError, list[str]] | None:
        """Commit; why that did not work and for which topics, if it did not."""
        if self._admin is None:
            self._admin = AdminClient(client_config(self._endpoints, self._refusals))
        asked = ConsumerGroupTopicPartitions(self._group, list(places))
        try:
            answers = self._admin.alter_consumer_group_offsets([asked], request_timeout=timeout_s)
            (answer,) = answers.values()
            done = answer.result()
        except KafkaException as problem:
            self._admin.poll(0)
            return self._refusals.behind(problem.args[0]), [place.topic for place in places]
        refused = [place for place in done.topic_partitions if place.error]
        return (refused[0].error, [place.topic for place in refused]) if refused else None


def _named(topics: Sequence[str]) -> str:
    names = sorted(set(topics))
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{names[0]!r}{more}"
