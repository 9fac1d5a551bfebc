"""A topic's rows read one by one, without Spark: what a broker has of a range that Spark fails at.

Damaged record batches, which Spark's client and this one refuse by their checksum, are passed over
exactly: which offsets they hold is found out by asking for offsets behind them.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as Partition

from lake_assets.model.endpoints import Endpoints
from lake_assets.model.origins import ByPlace
from lake_assets.sources.base import ANSWER_S, Fetched
from lake_assets.sources.kafka.assigned import IN_NO_GROUP, next_message
from lake_assets.sources.kafka.refusals import Refusals
from lake_assets.sources.kafka.topics import asking, client_config

_MOST_ROWS = 1_000
_MOST_BYTES = 16 * 1024 * 1024
"""Of rows that are handed over at once, which are in memory twice."""

_LONG = 2**63 - 1
"""Microseconds that a table can have. Nanoseconds that are taken for Kafka's milliseconds are more,
which is what Spark fails at."""

_DAMAGED = KafkaError._BAD_MSG  # noqa: SLF001 - librdkafka's own codes begin so
_AT_END = KafkaError._PARTITION_EOF  # noqa: SLF001

_OWN = {
    **IN_NO_GROUP,
    "enable.partition.eof": True,
    # librdkafka hands over damaged bytes else.
    "check.crcs": True,
    "isolation.level": "read_committed",
    # Rows that went meanwhile are an error, and not passed over.
    "auto.offset.reset": "error",
}


def fetch_rows(
    endpoints: Endpoints,
    columns: pa.Schema,
    *,
    starts: ByPlace,
    ends: ByPlace,
    timeout_s: float = ANSWER_S,
) -> Iterator[Fetched]:
    """Read topics' rows; as `sources.base.Source.fetch`, which says what comes.

    Args:
        endpoints: the brokers.
        columns: `KafkaTopic.columns`.
        starts: by topic and partition, the first offset.
        ends: likewise, the offset after the last.
        timeout_s: for each answer.

    Raises:
        SourceError: brokers do not answer, refuse us, or have the rows no more.
    """
    for (topic, partition), end in sorted(ends.items()):
        place = Partition(topic, partition, starts.get((topic, partition), 0))
        if place.offset < end:
            with asking(endpoints, topic, timeout_s) as refusals:
                yield from _of_partition(endpoints, refusals, place, end, columns, timeout_s)


def _of_partition(
    endpoints: Endpoints,
    refusals: Refusals,
    place: Partition,
    end: int,
    columns: pa.Schema,
    timeout_s: float,
) -> Iterator[Fetched]:
    reader = _Reader({**client_config(endpoints, refusals), **_OWN}, place, timeout_s)
    rows: list[dict[str, Any]] = []
    size = 0
    try:
        reader.seek(place.offset)
        while (message := reader.next()) is not None and _offset(message) < end:
            if message.error() is not None:
                first = _offset(message)
                after = _end_of_damage(reader, first, end)
                damaged = {(place.topic, place.partition): [(max(first, place.offset), after)]}
                yield Fetched(rows=pa.Table.from_pylist(rows, schema=columns), unreadable=damaged)
                rows, size = [], 0
                if after >= end:
                    return  # it may go on behind it, and be told of again
                reader.seek(after)
                continue
            rows.append(_row(message))
            size += len(message.value() or b"") + len(message.key() or b"")
            if len(rows) >= _MOST_ROWS or size >= _MOST_BYTES:
                yield Fetched(rows=pa.Table.from_pylist(rows, schema=columns))
                rows, size = [], 0
            if _offset(message) + 1 == end:
                break
        if rows:
            yield Fetched(rows=pa.Table.from_pylist(rows, schema=columns))
    finally:
        reader.close()


class _Reader:
    """Reads one partition from wherever it is told to."""

    def __init__(self, config: Mapping[str, Any], place: Partition, timeout_s: float) -> None:
        self._config = config
        self._place = place
        self._timeout_s = timeout_s
        self._consumer: Consumer | None = None

    def seek(self, offset: int) -> None:
        """Go on at an offset."""
        # The errors of a damaged batch that were fetched ahead outlive a seek and an assignment.
        self.close()
        self._consumer = Consumer(dict(self._config))
        self._consumer.assign([Partition(self._place.topic, self._place.partition, offset)])

    def close(self) -> None:
        """Leave the broker; `seek` connects again."""
        if self._consumer is not None:
            self._consumer.close()

    def next(self) -> Any:  # noqa: ANN401 - a message of confluent_kafka's
        """The next message, or the error of a damaged batch; None at the end of the partition.

        Raises:
            KafkaException: another error, or no answer.
        """
        if self._consumer is None:
            raise AssertionError
        message = next_message(self._consumer, self._timeout_s)
        error = message.error()
        if error is None or error.code() == _DAMAGED:
            return message
        if error.code() == _AT_END:
            return None
        raise KafkaException(error)


def _end_of_damage(reader: _Reader, first: int, end: int) -> int:
    """The offset after a damaged batch that begins at `first`, or `end` if that comes before.

    A broker answers with the batch that has the offset asked for, and the error names its first.
    """
    inside, outside = first, end
    while outside - inside > 1:
        middle = (inside + outside) // 2
        if _is_of_batch(reader, middle, first):
            inside = middle
        else:
            outside = middle
    return outside


def _is_of_batch(reader: _Reader, offset: int, first: int) -> bool:
    reader.seek(offset)
    message = reader.next()
    return message is not None and message.error() is not None and _offset(message) <= first


def _offset(message: Any) -> int:  # noqa: ANN401 - as `_Reader.next`
    return int(message.offset())


def _row(message: Any) -> dict[str, Any]:  # noqa: ANN401 - as `_Reader.next`
    kind, at_ms = message.timestamp()
    micros, headers = at_ms * 1000, message.headers()
    is_untold = kind == TIMESTAMP_NOT_AVAILABLE or not -_LONG <= micros <= _LONG
    return {
        "key": message.key(),
        "value": message.value(),
        "headers": None if not headers else [{"key": k, "value": v} for k, v in headers],
        "topic": message.topic(),
        "partition": message.partition(),
        "offset": message.offset(),
        "kafka_timestamp": None if is_untold else micros,
    }
