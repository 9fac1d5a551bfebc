"""Short questions to a broker about its topics. Reading rows is `sources.kafka.stream`'s work."""

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeVar

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._metadata import ClusterMetadata
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
from lake_assets.sources.base import ANSWER_S
from lake_assets.sources.kafka.assigned import IN_NO_GROUP
from lake_assets.sources.kafka.refusals import Refusals, explain, is_about_question

_T = TypeVar("_T")

_UNSETTLED = {
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001 - librdkafka's own codes begin so
}
"""What a partition's broker says for a moment after the topic was made or its leader went.
`KafkaError.retriable()` is false for all of them: it is set for transactions only."""

_PAUSE_S = 0.05
"""Seconds between two looks at a topic that is being created, which takes a few of them."""

_EARLY_S = 1.0
"""Seconds after which a question that was not answered ends if a broker refused us meanwhile: a
refusal comes in milliseconds, and waiting does not heal it."""

_SILENT = logging.getLogger("lake_assets.librdkafka")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


def client_config(endpoints: Endpoints, refusals: Refusals | None = None) -> dict[str, Any]:
    """Properties that every librdkafka client of these brokers has, the user's own included.

    In clear text, secrets too: for a client's constructor, and nothing else.

    What librdkafka would print on standard error is dropped: what matters comes as an error too.
    """
    return {
        **endpoints.client_options(),
        "bootstrap.servers": endpoints.kafka,
        "logger": _SILENT,
        "error_cb": refusals or Refusals(),
    }


def ensure_topic(
    endpoints: Endpoints, topic: str, *, partitions: int = 2, timeout_s: float = ANSWER_S
) -> None:
    """Create a topic unless there is one of that name, which is left as it is.

    Returns when the topic can be used: a broker says "created" a little before it can be.

    Raises:
        SourceError: no broker answers within `timeout_s`, or it refuses us or the topic.
    """
    with asking(endpoints, topic, timeout_s) as refusals:
        admin = AdminClient(client_config(endpoints, refusals))
        new_topic = NewTopic(topic, num_partitions=partitions)
        (answer,) = admin.create_topics(
            [new_topic], operation_timeout=timeout_s, request_timeout=timeout_s
        ).values()
        try:
            result_of(answer, admin, refusals)
        except KafkaException as problem:
            if not _is_there(problem.args[0], endpoints, topic, timeout_s):
                raise
        _await_leaders(admin, topic, timeout_s)


def result_of(answer: "Future[_T]", client: AdminClient, refusals: Refusals) -> _T:
    """Wait for an answer, and no longer once a broker has refused us.

    Raises:
        KafkaException: the answer is an error, or the refusal.
    """
    while True:
        try:
            return answer.result(timeout=_PAUSE_S)
        except TimeoutError:
            client.poll(0)
            if (refusal := refusals.lasting()) is not None:
                raise KafkaException(refusal) from None


def _is_there(error: KafkaError, endpoints: Endpoints, topic: str, timeout_s: float) -> bool:
    """Whether a topic that was not created is there all the same."""
    if error.code() == KafkaError.TOPIC_ALREADY_EXISTS:
        return True
    if not is_about_question(error):
        return False
    # Where we may not create topics we are told so even if there is nothing to create, and hosted
    # brokers refuse it with various codes.
    with suppress(SourceError):
        offset_bounds(endpoints, topic, timeout_s=timeout_s)
        return True
    return False


def check_broker(endpoints: Endpoints, *, timeout_s: float = ANSWER_S) -> None:
    """Make sure that a broker answers us.

    Raises:
        SourceError: none answers within `timeout_s`, or it refuses us.
    """
    with asking(endpoints, None, timeout_s) as refusals:
        admin = AdminClient(client_config(endpoints, refusals))
        if not metadata(admin, None, refusals, timeout_s).brokers:
            raise SourceError(
                f"Kafka at {endpoints.kafka}", "has no broker registered", "Look into its log"
            )


def offset_bounds(
    endpoints: Endpoints, topic: str, *, timeout_s: float = ANSWER_S
) -> dict[int, tuple[int, int]]:
    """By partition, the first offset that the broker still has, and the one after the last row.

    Raises:
        SourceNotFoundError: the topic does not exist.
        SourceError: no broker answers within `timeout_s`, or it refuses us.
    """
    return dict(_bounds(endpoints, topic, timeout_s))


def end_offsets(endpoints: Endpoints, topic: str, *, timeout_s: float = ANSWER_S) -> dict[int, int]:
    """By partition, the offset after the last row; raises as `offset_bounds`."""
    bounds = offset_bounds(endpoints, topic, timeout_s=timeout_s)
    return {partition: end for partition, (_, end) in bounds.items()}


def settled(question: Callable[[], _T], *, timeout_s: float = ANSWER_S) -> _T:
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
        metadata = admin.list_topics(topic, timeout=timeout_s).topics[topic]
        return metadata.error is None and all(p.leader >= 0 for p in metadata.partitions.values())

    patience(is_ready)


def _bounds(
    endpoints: Endpoints, topic: str, timeout_s: float
) -> Iterator[tuple[int, tuple[int, int]]]:
    # An AdminClient would create the topic by asking about it; a consumer does not.
    with asking(endpoints, topic, timeout_s) as refusals:
        consumer = Consumer({**client_config(endpoints, refusals), **IN_NO_GROUP})
        try:
            told = metadata(consumer, topic, refusals, timeout_s).topics[topic]
            if told.error is not None:
                raise KafkaException(told.error)
            for partition in sorted(told.partitions):
                place = TopicPartition(topic, partition)
                ask = partial(consumer.get_watermark_offsets, place, timeout=timeout_s)
                with _hearing(consumer):
                    both = settled(ask, timeout_s=timeout_s)
                yield partition, both
        finally:
            consumer.close()


def metadata(
    client: Consumer | AdminClient, topic: str | None, refusals: Refusals, timeout_s: float
) -> ClusterMetadata:
    """What brokers tell about a topic, or about all that they let us see.

    Raises:
        KafkaException: they do not answer, or refuse us.
    """
    about = {} if topic is None else {"topic": topic}
    early_s = min(timeout_s, _EARLY_S)
    try:
        with _hearing(client):
            return client.list_topics(**about, timeout=early_s)
    except KafkaException:
        if refusals.lasting() is not None or timeout_s <= early_s:
            raise
    with _hearing(client):
        return client.list_topics(**about, timeout=timeout_s - early_s)


@contextmanager
def _hearing(client: Consumer | AdminClient) -> Iterator[None]:
    """Have a client tell its callback what it heard before an error goes on."""
    try:
        yield
    except KafkaException:
        client.poll(0)
        raise


@contextmanager
def asking(
    endpoints: Endpoints, topic: str | None, timeout_s: float, refusals: Refusals | None = None
) -> Iterator[Refusals]:
    """Turn what the client raises into our errors; it is to tell what it hears to the refusals."""
    refusals = refusals or Refusals()
    try:
        yield refusals
    except KafkaException as problem:
        error = refusals.behind(problem.args[0])
        options = endpoints.client_options()
        raise explain(error, endpoints.kafka, topic, options, timeout_s) from problem
