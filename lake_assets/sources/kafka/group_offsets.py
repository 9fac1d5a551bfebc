"""A consumer group's offsets, committed so that Kafka's own tools see how far a feed is.

Nobody reads them back: how far a feed is, bronze's commits say.
"""

import time
from collections.abc import Sequence

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from lake_assets.errors import SourceError
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.origins import ByPlace
from lake_assets.sources.base import ANSWER_S
from lake_assets.sources.kafka.refusals import FORBIDDEN, Refusals
from lake_assets.sources.kafka.topics import client_config

_GRANT = (
    "Grant the user Read on the group and the topic, or set "
    "LAKE_ASSETS_KAFKA_COMMIT_OFFSETS=false; the lake does not need them"
)

_AGAIN = "It is tried again by itself; the lake does not need them"

_LOOKS_EVERY_S = 0.05
"""An answer of the broker ends a look at once."""


def group_of(feed: str) -> str:
    """Name of a feed's consumer group."""
    return f"lake_assets-{feed}"


class GroupOffsets:
    """Of one group; used by one thread. Keeps a connection.

    By a consumer that reads nothing, not by an admin client: of that, a request to the group's
    coordinator aborts the whole process if the connection breaks at the wrong moment (librdkafka
    issue 4605; 2.16 has it).
    """

    def __init__(self, endpoints: Endpoints, group: str) -> None:
        """Commit to these brokers; nothing is asked yet."""
        self._endpoints = endpoints
        self._group = group
        self._refusals = Refusals()
        self._consumer: Consumer | None = None
        self._answers: list[_Answer] = []

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
                _GRANT if error.code() in FORBIDDEN else _AGAIN,
            )

    def _refusal(
        self, places: Sequence[TopicPartition], timeout_s: float
    ) -> tuple[KafkaError, list[str]] | None:
        """Commit; why that did not work and for which topics, if it did not."""
        everything = [place.topic for place in places]
        try:
            error, answered = self._answer(places, timeout_s)
        except KafkaException as problem:
            return problem.args[0], everything
        refused = [(place.error, place.topic) for place in answered if place.error is not None]
        if refused:
            return refused[0][0], [topic for _, topic in refused]
        return None if error is None else (self._refusals.behind(error), everything)

    def _answer(self, places: Sequence[TopicPartition], timeout_s: float) -> "_Answer":
        if self._consumer is None:
            self._consumer = Consumer(
                {
                    **client_config(self._endpoints, self._refusals),
                    "group.id": self._group,
                    "enable.auto.commit": False,
                    "on_commit": lambda error, answered: self._answers.append((error, answered)),
                }
            )
        deadline = time.monotonic() + timeout_s
        self._consumer.commit(offsets=list(places), asynchronous=True)
        while time.monotonic() < deadline and self._refusals.lasting() is None:
            message = self._consumer.poll(_LOOKS_EVERY_S)
            refusal = None if message is None else message.error()
            if refusal is not None and refusal.code() in FORBIDDEN:
                return refusal, []
            # Those of an earlier commit, which was waited for in vain, may come only now.
            ours = [one for one in self._answers if _of(one[1]) == _of(places)]
            self._answers.clear()
            if ours:
                return ours[-1]
        return KafkaError(KafkaError._TIMED_OUT), []  # noqa: SLF001 - public all the same


_Answer = tuple[KafkaError | None, Sequence[TopicPartition]]


def _of(places: Sequence[TopicPartition]) -> list[tuple[str, int, int]]:
    return sorted((place.topic, place.partition, place.offset) for place in places)


def _named(topics: Sequence[str]) -> str:
    names = sorted(set(topics))
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{names[0]!r}{more}"
