"""What brokers tell of a topic, and its committed records one after the other, up to an offset.

Which offsets, `plan` says. Markers of transactions, aborted records and what was compacted away
have offsets and no records: how far a range was read is therefore told by positions.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient

from lake_assets.errors import ExportError, SourceError, SourceNotFoundError
from lake_assets.export.plan import Range, TopicFacts
from lake_assets.export.record import Newest
from lake_assets.model.endpoints import Endpoints
from lake_assets.sources.base import ANSWER_S
from lake_assets.sources.kafka.assigned import IN_NO_GROUP
from lake_assets.sources.kafka.generation import row_times, topic_generation
from lake_assets.sources.kafka.refusals import Refusals
from lake_assets.sources.kafka.topics import asking, client_config, metadata, offset_bounds

_MOST = 2_000
"""Messages that are handed over at once."""

_WAIT_S = 0.1
"""Seconds that fewer are waited for; the end of a range takes as long."""

_OWN = {
    **IN_NO_GROUP,
    "enable.partition.eof": True,
    # librdkafka hands over damaged bytes else.
    "check.crcs": True,
    "isolation.level": "read_committed",
    # Records that went meanwhile are an error, and not passed over.
    "auto.offset.reset": "error",
    # Between two records there may be millions that were aborted: what is fetched tells that
    # brokers answer.
    "statistics.interval.ms": 1000,
}

_AT_END = KafkaError._PARTITION_EOF  # noqa: SLF001 - librdkafka's own codes begin so
_DAMAGED = KafkaError._BAD_MSG  # noqa: SLF001
_GONE = {KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE}  # noqa: SLF001
_SILENT = KafkaError(KafkaError._TIMED_OUT)  # noqa: SLF001


class RecordsGoneError(Exception):
    """Brokers deleted the records that come next."""


@dataclass(frozen=True, slots=True)
class Read:
    """Some records of a range, in their order."""

    messages: Sequence[Message]
    position: int
    """The offset after what was read, the last of them or what has none."""


def topic_facts(
    endpoints: Endpoints,
    topic: str,
    newest: Mapping[int, Newest] | None = None,
    *,
    timeout_s: float = ANSWER_S,
) -> TopicFacts:
    """Ask about a topic.

    Args:
        endpoints: the brokers.
        topic: its name.
        newest: records that it had, by partition, whose times are asked for.
        timeout_s: for each answer.

    Raises:
        ExportError: it does not exist.
        SourceError: no broker answers within `timeout_s`, or it refuses us.
    """
    try:
        bounds = offset_bounds(endpoints, topic, timeout_s=timeout_s)
    except SourceNotFoundError as problem:
        raise ExportError(problem.thing, problem.fact, "Create it, or correct --topic") from problem
    with asking(endpoints, topic, timeout_s) as refusals:
        admin = AdminClient(client_config(endpoints, refusals))
        cluster = metadata(admin, topic, refusals, timeout_s).cluster_id
    identities = topic_generation(endpoints, [topic], timeout_s=timeout_s).identities
    asked = {(topic, p): one.offset for p, one in (newest or {}).items() if p in bounds}
    times = row_times(endpoints, asked, timeout_s=timeout_s)
    return TopicFacts(
        topic=topic,
        cluster=cluster,
        identity=identities.get(topic),
        bounds=bounds,
        times={partition: micros // 1000 for (_, partition), micros in times.items()},
    )


def read_range(
    endpoints: Endpoints,
    topic: str,
    due: Range,
    *,
    stop: Callable[[], bool],
    timeout_s: float = ANSWER_S,
) -> Iterator[Read]:
    """Read the records of a range; the last position is its end, unless it was stopped.

    Args:
        endpoints: the brokers.
        topic: its name.
        due: the range; the brokers have it, or had it when they were asked.
        stop: whether to end before.
        timeout_s: for as long brokers may answer nothing.

    Raises:
        RecordsGoneError: the next records of the range were deleted.
        SourceError: brokers do not answer or refuse us, or the next records are damaged.
    """
    with asking(endpoints, topic, timeout_s) as refusals:
        reader = _Reader(endpoints, topic, due, refusals, timeout_s)
        try:
            while not reader.is_done and not stop():
                yield reader.next()
        finally:
            reader.close()


class _Fetched:
    """Whether brokers answer, also with what is no record: by librdkafka's statistics."""

    def __init__(self, topic: str, partition: int) -> None:
        self._topic, self._partition, self._at = topic, str(partition), -1
        self._has_moved = False

    def __call__(self, statistics: str) -> None:
        """Take a report."""
        told: dict[str, Any] = json.loads(statistics)["topics"].get(self._topic, {})
        partition = told.get("partitions", {}).get(self._partition, {})
        at = int(partition.get("next_offset", -1))
        self._has_moved, self._at = self._has_moved or at > self._at, max(at, self._at)

    def has_moved(self) -> bool:
        """Whether something was fetched since it was asked last."""
        moved, self._has_moved = self._has_moved, False
        return moved


class _Reader:
    """Reads one range."""

    def __init__(
        self, endpoints: Endpoints, topic: str, due: Range, refusals: Refusals, timeout_s: float
    ) -> None:
        self._topic, self._due, self._timeout_s = topic, due, timeout_s
        self._position, self.is_done = due.first, False
        self._quiet_s = 0.0
        self._failure: Exception | None = None
        self._fetched = _Fetched(topic, due.partition)
        config = {**client_config(endpoints, refusals), **_OWN, "stats_cb": self._fetched}
        self._consumer = Consumer(config)
        self._consumer.assign([TopicPartition(topic, due.partition, due.first)])

    def close(self) -> None:
        """Leave the brokers."""
        self._consumer.close()

    def next(self) -> Read:
        """What came next, if anything did for a moment."""
        if self._failure is not None:
            raise self._failure
        came = self._consumer.consume(_MOST, _WAIT_S)
        is_quiet = not self._fetched.has_moved() and not came
        self._quiet_s = self._quiet_s + _WAIT_S if is_quiet else 0.0
        if self._quiet_s > self._timeout_s:
            raise KafkaException(_SILENT)
        messages = list(self._due_of(came))
        if messages:
            self._position = _offset(messages[-1]) + 1
        self.is_done = self.is_done or self._position >= self._due.after
        return Read(messages, self._due.after if self.is_done else self._position)

    def _due_of(self, came: Sequence[Message]) -> Iterator[Message]:
        """Those of the range, up to an error: what came before it is handed over first."""
        for message in came:
            try:
                if self._is_due(message):
                    yield message
            except (RecordsGoneError, SourceError, KafkaException) as problem:
                self._failure = problem
                return

    def _is_due(self, message: Message) -> bool:
        error = message.error()
        if error is None:
            is_beyond = _offset(message) >= self._due.after
            self.is_done = self.is_done or is_beyond
            return not is_beyond
        code = error.code()
        if code == _AT_END:
            # Of a replica that lags the end may come before that of the range; it goes on.
            self.is_done = self.is_done or _offset(message) >= self._due.after
        elif code in _GONE:
            raise RecordsGoneError
        elif code == _DAMAGED:
            raise self._damaged(_offset(message))
        elif code != KafkaError.GROUP_AUTHORIZATION_FAILED:  # of a group that we are not in
            raise KafkaException(error)
        return False

    def _damaged(self, offset: int) -> SourceError:
        fact = (
            f"the record batch at offset {offset:,} of partition {self._due.partition} is damaged"
        )
        step = (
            "Have the broker restore it from a replica; or stream the topic, with `on_gap: record`"
        )
        return SourceError(f"topic {self._topic!r}", fact, step)


def _offset(message: Message) -> int:
    offset = message.offset()
    if offset is None:
        raise AssertionError
    return offset
