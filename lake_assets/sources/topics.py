"""Short questions to a broker about its topics. Reading rows is `sources.kafka`'s work."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from tenacity import (
    Retrying,
    retry_if_exception,
    retry_if_result,
    stop_after_delay,
    wait_fixed,
)

from lake_assets.errors import SourceError
from lake_assets.model.endpoints import Endpoints

_T = TypeVar("_T")

_TIMEOUT_S = 10.0
"""Seconds for an answer. A broker that starts needs 5; a person waits no longer than this."""

# librdkafka's own error codes begin with an underscore; they are public all the same.
_MISSING = {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC}  # noqa: SLF001
_UNREACHABLE = {
    KafkaError._TRANSPORT,  # noqa: SLF001
    KafkaError._TIMED_OUT,  # noqa: SLF001
    KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001
    KafkaError._RESOLVE,  # noqa: SLF001
}
_UNSETTLED = {
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001
}
"""What a partition's broker says for a moment after the topic was made or its leader went.
`KafkaError.retriable()` is false for all of them: it is set for transactions only."""

_BAD_PROPERTY = KafkaError._INVALID_ARG  # noqa: SLF001

_LONG = 2**63 - 1
"""What fits into the version of a Delta transaction, where the number is kept."""

_PAUSE_S = 0.05
"""Seconds between two looks at a topic that is being created, which takes a few of them."""

_SILENT = logging.getLogger("lake_assets.librdkafka")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


def client_config(endpoints: Endpoints) -> dict[str, Any]:
    """Properties that every librdkafka client of these brokers has, the user's own included.

    What librdkafka would print on standard error is dropped: what matters comes as an error too.
    """
    return {
        **endpoints.kafka_options,
        "bootstrap.servers": endpoints.kafka,
        "logger": _SILENT,
    }


def ensure_topic(
    endpoints: Endpoints, topic: str, *, partitions: int = 2, timeout_s: float = _TIMEOUT_S
) -> None:
    """Create a topic unless there is one of that name, which is left as it is.

    Returns when the topic can be used: a broker says "created" a little before it can be.

    Raises:
        SourceError: no broker answers within `timeout_s`, or it refuses the topic.
    """
    with _asking(endpoints, topic, timeout_s):
        admin = AdminClient(client_config(endpoints))
        wanted = NewTopic(topic, num_partitions=partitions)
        (answer,) = admin.create_topics(
            [wanted], operation_timeout=timeout_s, request_timeout=timeout_s
        ).values()
        try:
            answer.result()
        except KafkaException as problem:
            if problem.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise
        _await_leaders(admin, topic, timeout_s)


def begin_offsets(
    endpoints: Endpoints, topic: str, *, timeout_s: float = _TIMEOUT_S
) -> dict[int, int]:
    """First offset of each partition that the broker still has.

    Raises:
        SourceError: no broker answers within `timeout_s`, or the topic does not exist.
    """
    return {partition: first for partition, (first, _) in _ends(endpoints, topic, timeout_s)}


def end_offsets(
    endpoints: Endpoints, topic: str, *, timeout_s: float = _TIMEOUT_S
) -> dict[int, int]:
    """Offset after the last row of each partition.

    Raises:
        SourceError: no broker answers within `timeout_s`, or the topic does not exist.
    """
    return {partition: end for partition, (_, end) in _ends(endpoints, topic, timeout_s)}


def topic_identity(
    endpoints: Endpoints, topic: str, *, timeout_s: float = _TIMEOUT_S
) -> int | None:
    """A number that another topic of the same name would not have; None if brokers give none.

    It is the upper half of the topic's id, which Kafka has since 2.8 (KIP-516).

    Raises:
        SourceError: no broker answers within `timeout_s`, or the topic does not exist.
    """
    with _asking(endpoints, topic, timeout_s):
        admin = AdminClient(client_config(endpoints))
        asked = TopicCollection([topic])
        (answer,) = admin.describe_topics(asked, request_timeout=timeout_s).values()
        found = answer.result().topic_id
    return int(found.get_most_significant_bits()) & _LONG or None


def settled(question: Callable[[], _T], *, timeout_s: float = _TIMEOUT_S) -> _T:
    """Ask about a partition, again while its leader is being found.

    Raises:
        KafkaException: another error, or it is not found within `timeout_s`.
    """
    patience = Retrying(
        retry=retry_if_exception(_is_unsettled),
        stop=stop_after_delay(timeout_s),
        wait=wait_fixed(_PAUSE_S),
        reraise=True,
    )
    return patience(question)


def _is_unsettled(problem: BaseException) -> bool:
    return isinstance(problem, KafkaException) and problem.args[0].code() in _UNSETTLED


def _await_leaders(admin: AdminClient, topic: str, timeout_s: float) -> None:
    """Wait until each partition can be written; the caller's first question finds out if not."""
    patience = Retrying(
        retry=retry_if_result(lambda is_ready: not is_ready),
        stop=stop_after_delay(timeout_s),
        wait=wait_fixed(_PAUSE_S),
        retry_error_callback=lambda _: False,
    )

    def is_ready() -> bool:
        found = admin.list_topics(topic, timeout=timeout_s).topics[topic]
        return found.error is None and all(p.leader >= 0 for p in found.partitions.values())

    patience(is_ready)


def _ends(
    endpoints: Endpoints, topic: str, timeout_s: float
) -> Iterator[tuple[int, tuple[int, int]]]:
    # An AdminClient would create the topic by asking about it; a consumer does not.
    config = {**client_config(endpoints), "group.id": "lake_assets", "enable.auto.commit": False}
    with _asking(endpoints, topic, timeout_s):
        consumer = Consumer(config)
        try:
            found = consumer.list_topics(topic, timeout=timeout_s).topics[topic]
            if found.error is not None:
                raise KafkaException(found.error)
            for partition in sorted(found.partitions):
                place = TopicPartition(topic, partition)
                ask = partial(consumer.get_watermark_offsets, place, timeout=timeout_s)
                yield partition, settled(ask, timeout_s=timeout_s)
        finally:
            consumer.close()


@contextmanager
def _asking(endpoints: Endpoints, topic: str, timeout_s: float) -> Iterator[None]:
    """Turn what the client raises into our errors."""
    broker = f"Kafka at {endpoints.kafka}"
    try:
        yield
    except KafkaException as problem:
        error: KafkaError = problem.args[0]
        if error.code() in _MISSING:
            thing, fact = f"topic {topic!r}", f"does not exist at {endpoints.kafka}"
            step = "Create it, or correct source.kafka.topic of the feed"
        elif error.code() in _UNREACHABLE:
            thing, fact = broker, f"cannot be reached within {timeout_s:g} s"
            step = "Start it, or correct LAKE_ASSETS_KAFKA_BOOTSTRAP_SERVERS"
        elif error.code() == _BAD_PROPERTY:
            thing, fact = broker, f"a client property is wrong ({error.str()})"
            step = "Correct LAKE_ASSETS_KAFKA_OPTIONS or LAKE_ASSETS_KAFKA_BOOTSTRAP_SERVERS"
        else:
            thing, fact = f"topic {topic!r} at {endpoints.kafka}", f"is refused ({error.str()})"
            step = "Look into the broker's log"
        raise SourceError(thing, fact, step) from problem
