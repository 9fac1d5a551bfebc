"""A consumer group's offsets, committed so that Kafka's own tools see how far a feed is.

Nobody reads them back: how far a feed is, bronze's commits say.
"""

from collections.abc import Mapping, Sequence

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from lake_assets.errors import SourceError
from lake_assets.model.endpoints import Endpoints
from lake_assets.sources.base import ANSWER_S
from lake_assets.sources.kafka.refusals import Refusals
from lake_assets.sources.kafka.topics import client_config


class GroupOffsets:
    """Of one group in one topic; used by one thread. Keeps a connection."""

    def __init__(self, endpoints: Endpoints, topic: str, group: str) -> None:
        """Commit to these brokers; nothing is asked yet."""
        self._endpoints = endpoints
        self._topic = topic
        self._group = group
        self._refusals = Refusals()
        self._admin: AdminClient | None = None

    def commit(self, offsets: Mapping[int, int], *, timeout_s: float = ANSWER_S) -> None:
        """Commit the offset that comes next, by partition; again is as once.

        Raises:
            SourceError: brokers do not answer, or refuse it.
        """
        places = [TopicPartition(self._topic, p, offset) for p, offset in sorted(offsets.items())]
        error = self._refusal(places, timeout_s)
        if error is not None:
            raise SourceError(
                f"consumer group {self._group!r} at {self._endpoints.kafka}",
                f"takes no offsets of topic {self._topic!r} ({error.str()})",
                "Grant the user Read on the group and the topic, or set "
                "LAKE_ASSETS_KAFKA_COMMIT_OFFSETS=false; the lake does not need them",
            )

    def _refusal(self, places: Sequence[TopicPartition], timeout_s: float) -> KafkaError | None:
        """Commit; why that did not work, if it did not."""
        if self._admin is None:
            self._admin = AdminClient(client_config(self._endpoints, self._refusals))
        asked = ConsumerGroupTopicPartitions(self._group, list(places))
        try:
            answers = self._admin.alter_consumer_group_offsets([asked], request_timeout=timeout_s)
            (answer,) = answers.values()
            done = answer.result()
        except KafkaException as problem:
            self._admin.poll(0)
            return self._refusals.behind(problem.args[0])
        return next((place.error for place in done.topic_partitions if place.error), None)
