"""A topic as a sink's target: a message a row, each with its own delivery report."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from types import TracebackType
from typing import Any, NamedTuple, Self

import pyarrow as pa
from confluent_kafka import KafkaError, KafkaException, Message, Producer
from pydantic import SecretStr

from lake_assets.errors import SinkError
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.kafka_sink import KafkaSink
from lake_assets.settings.secrets import Secrets
from lake_assets.sinks.base import Call, DeletedRow, Outcome, origins_of
from lake_assets.sinks.kafka.cluster import cluster_of, look_at_topic
from lake_assets.sinks.kafka.subject import Subject
from lake_assets.sinks.kafka.values import JsonValues, ProtobufValues, Unfit, Values, as_json
from lake_assets.sources.kafka.refusals import FORBIDDEN, MISSING, Refusals, explain
from lake_assets.sources.kafka.topics import client_config

ORIGIN = "lake_assets.origin"
"""Header that says where a row came from, one text a row: by it, a repetition is known."""

_USUAL: dict[str, Any] = {
    "linger.ms": 5,
    "compression.type": "lz4",
    "message.max.bytes": 1_000_000_000,  # how large one may be, the topic says
}
"""Properties of the producer unless the user gives others: hosted brokers may take less."""

_CONFIG: dict[str, Any] = {
    "enable.idempotence": True,  # what librdkafka sends again by itself is there once
    "acks": "all",
    "partitioner": "murmur2_random",  # as Java's clients do: keys are in the same partition
}

_REFUSED = frozenset(
    {
        KafkaError.MSG_SIZE_TOO_LARGE,
        KafkaError.INVALID_RECORD,
        KafkaError.RECORD_LIST_TOO_LARGE,
        KafkaError.INVALID_MSG,
    }
)
"""What is wrong with one message; others may pass."""

_STOPS = frozenset({*FORBIDDEN, *MISSING})

_POLL_S = 0.05

_TRIED_FOR_S = 60.0
"""Seconds after which no further try begins while brokers are away; then the sink stands still,
which is told, and goes on when they are back. No row is a dead letter for that."""

_KEPT_CHARACTERS = 16_384
"""Of a message that a dead letter has."""


class _Message(NamedTuple):
    key: bytes | None
    value: bytes | Unfit | None
    """None of a row that is gone."""


@dataclass(slots=True)
class _Reports:
    """What became of some messages, by their places in the call; None of one that was taken."""

    found: dict[int, KafkaError | None] = field(default_factory=dict)

    def callback(self, number: int) -> Callable[[KafkaError | None, Message], None]:
        def report(error: KafkaError | None, _: Message) -> None:
            self.found[number] = error

        return report


class KafkaTarget:
    """Produces calls to a topic."""

    def __init__(
        self,
        sink: KafkaSink,
        own: Endpoints | None,
        look_up: Callable[[str], SecretStr],
        *,
        tried_for_s: float = _TRIED_FOR_S,
    ) -> None:
        """Nothing is connected yet; `own` are the lake's brokers, `look_up` knows secrets.

        Raises:
            SettingsError: a secret is not there.
            SinkError: there are no brokers, or no registry for values that need one.
        """
        self.rows_per_call, self.in_flight = sink.rows_per_call, sink.calls_in_flight
        self._sink, self._tried_for_s = sink, tried_for_s
        self._cluster = cluster_of(sink, own, look_up)
        is_json = sink.value == "json"
        self._values: Values = JsonValues() if is_json else ProtobufValues(Subject(sink, own))
        self._secrets = Secrets(look_up)
        for secret in sink.secrets.values():
            self._secrets.value(secret)
        self._timeout_s = sink.timeout.total_seconds()
        self._refusals = Refusals()

    async def __aenter__(self) -> Self:
        """Look at the topic, and make the producer."""
        await asyncio.to_thread(look_at_topic, self._sink, self._cluster)
        own = {**_CONFIG, "message.timeout.ms": int(self._timeout_s * 1000)}
        given = client_config(self._cluster, self._refusals)
        self._producer = Producer({**_USUAL, **given, **own})
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Drop what is still on its way: its outcome would not be known."""
        self._producer.purge()

    def rows_of(self, columns: Mapping[str, pa.Array]) -> list[dict[str, Any]]:
        """Rows whose values can be made.

        Raises:
            SinkError: the field that is the key is not there, or no schema has the fields.
        """
        if self._sink.key is not None and self._sink.key not in columns:
            fact = f"{self._sink.key} is no field of the rows: they have {', '.join(columns)}"
            raise SinkError(f"topic {self._sink.topic!r}", fact, "Correct `key`")
        return self._values.rows_of(columns, self._sink.key)

    def body_of(self, rows: Sequence[Mapping[str, Any]]) -> list[_Message]:
        """A message a row."""
        return [_Message(self._key_of(row), self._value_of(row)) for row in rows]

    def _key_of(self, row: Mapping[str, Any]) -> bytes | None:
        key = self._sink.key
        value = self._values.key_of(row, key) if key is not None else None
        if value is None:
            return None
        return (value if isinstance(value, str) else as_json(value)).encode()

    def _value_of(self, row: Mapping[str, Any]) -> bytes | Unfit | None:
        return None if isinstance(row, DeletedRow) else self._values.value_of(row)

    async def deliver(self, call: Call) -> list[Outcome]:
        """As `base.Target`; a message that brokers refuse is a dead letter of its own.

        They refuse messages in batches, as librdkafka sends them: each of those goes once more,
        alone, to find which it was.
        """
        began, origins = monotonic(), origins_of(call.rows)
        unfit = [number for number, one in enumerate(call.body) if isinstance(one.value, Unfit)]
        outcomes = [self._unfit(call, number, call.body[number]) for number in unfit]
        fit = [number for number in range(len(call.body)) if number not in set(unfit)]
        waiting, tries = [fit] if fit else [], dict.fromkeys(fit, 0)
        while waiting:
            numbers, started = waiting.pop(), monotonic()
            try:
                reports = await asyncio.to_thread(self._produce, call, numbers, origins)
            except KafkaException as problem:  # a fatal one: the producer is of no use any more
                raise self._stopped(problem.args[0]) from problem
            seconds = monotonic() - started
            for number in numbers:
                tries[number] += 1
            taken = [number for number in numbers if reports[number] is None]
            failed = {number: error for number, error in reports.items() if error is not None}
            refused = [number for number, error in failed.items() if error.code() in _REFUSED]
            if taken:
                part, most = call.part(taken, call.body), max(tries[number] for number in taken)
                outcomes.append(Outcome(call=part, is_delivered=True, tries=most, seconds=seconds))
            if refused == numbers and len(numbers) == 1:
                (number,) = numbers
                error = failed[number]
                outcomes.append(self._refused(call, number, error, tries[number], seconds))
                continue
            waiting += [[number] for number in refused]
            left = [number for number in failed if number not in refused]
            if left:
                self._ensure_may_pass(failed[left[0]], monotonic() - began)
                waiting.append(left)
        return outcomes

    def _ensure_may_pass(self, error: KafkaError, tried_s: float) -> None:
        error = self._refusals.behind(error)
        is_lasting = error.code() in _STOPS or self._refusals.lasting() or error.fatal()
        if is_lasting or tried_s >= self._tried_for_s:
            raise self._stopped(error)

    def _produce(
        self, call: Call, numbers: Sequence[int], origins: Sequence[str]
    ) -> dict[int, KafkaError | None]:
        """Produce some of a call's messages, and wait for what becomes of each."""
        reports = _Reports()
        for number in numbers:
            message: _Message = call.body[number]
            assert not isinstance(message.value, Unfit)  # noqa: S101 - those are told before
            while True:
                try:
                    self._producer.produce(
                        self._sink.topic,
                        key=message.key,
                        value=message.value,
                        headers=[(ORIGIN, origins[number].encode())],
                        on_delivery=reports.callback(number),
                    )
                except BufferError:
                    self._producer.poll(_POLL_S)  # its queue is full
                    continue
                except KafkaException as problem:
                    reports.found[number] = problem.args[0]
                break
        while len(reports.found) < len(numbers):  # each ends after `message.timeout.ms`
            self._producer.poll(_POLL_S)
        return {number: reports.found[number] for number in numbers}

    def _refused(
        self, call: Call, number: int, error: KafkaError, tries: int, seconds: float
    ) -> Outcome:
        message: _Message = call.body[number]
        words = self._secrets.masked(f"{error.name()}: {error.str()}")
        return Outcome(
            call=call.part([number], [message]),
            is_delivered=False,
            tries=tries,
            seconds=seconds,
            reason=f"is refused: {words}",
            request=self._request(message),
            response=words,
        )

    def _unfit(self, call: Call, number: int, message: _Message) -> Outcome:
        """Of a row that is no message."""
        assert isinstance(message.value, Unfit)  # noqa: S101 - asked by the caller
        return Outcome(
            call=call.part([number], [message]),
            is_delivered=False,
            tries=1,
            seconds=0.0,
            reason=f"is no message: {message.value.reason}"[:_KEPT_CHARACTERS],
            request=self._request(message),
        )

    def _request(self, message: _Message) -> str:
        key = "none" if message.key is None else message.key.decode()
        value = message.value
        if isinstance(value, Unfit):
            shown = value.shown
        else:
            shown = "no value" if value is None else self._values.shown(value)
        return f"to {self._sink.topic}, key {key}\n\n{shown}"[:_KEPT_CHARACTERS]

    def _stopped(self, error: KafkaError) -> SinkError:
        options = self._cluster.client_options()
        said = explain(error, self._cluster.kafka, self._sink.topic, options, self._timeout_s)
        return SinkError(said.thing, self._secrets.masked(said.fact), said.next_step)
