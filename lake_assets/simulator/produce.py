"""Sends a script's events to Kafka, at its rate or as fast as one core goes."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from lake_assets.errors import SourceError
from lake_assets.model.endpoints import Endpoints
from lake_assets.simulator.script import Script
from lake_assets.simulator.workload import Workload
from lake_assets.sources.kafka.refusals import Refusals, explain
from lake_assets.sources.kafka.topics import client_config, ensure_topic

_IN_FLIGHT = 200_000
"""Messages on their way at once. Fewer starve the broker at full speed; more cost memory only."""

_DELIVERY_S = 60.0
"""Seconds until a message that no broker takes counts as lost. Less would not outlast a broker's
restart; more keeps a user waiting whose broker is gone for good."""

_FLUSH_S = 0.1
"""Seconds of one `flush`. From 0.2 on, confluent-kafka's (2.16) goes on when a fatal error ended a
part of it, and calls delivery callbacks with the error raised: Python says SystemError in its place
or has forgotten it."""

_USUAL: dict[str, Any] = {"linger.ms": 20, "batch.size": 1 << 20, "compression.type": "lz4"}
"""Properties of the producer unless the user gives others: hosted brokers may take less."""

_CONFIG: dict[str, Any] = {
    "enable.idempotence": True,  # a message that is sent again must not count twice
    "queue.buffering.max.messages": 2 * _IN_FLIGHT,
    "queue.buffering.max.kbytes": 1 << 18,
    "message.timeout.ms": int(_DELIVERY_S * 1000),
    "delivery.report.only.error": True,  # a callback for each message halves the speed
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """How far a run is."""

    sent: int
    seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ProduceReport:
    """What a run delivered; every event is in Kafka once."""

    events: int
    by_key: dict[str, int]
    by_version: dict[int, int]
    value_bytes: int
    """Bytes of all values, framing included."""

    seconds: float


class _Deliveries:
    """Producer with a bounded queue; a message that is not delivered ends the run."""

    def __init__(self, endpoints: Endpoints, topic: str) -> None:
        self._topic = topic
        self._endpoints = endpoints
        self._refusals = Refusals()
        given = client_config(endpoints, self._refusals)
        self._producer = Producer({**_USUAL, **given, **_CONFIG})
        self._lost = 0
        self._problem = KafkaError(KafkaError.NO_ERROR)

    def send(self, messages: list[dict[str, Any]]) -> None:
        """Queue messages; waits while too many are on their way."""
        with self._asking(len(messages)):
            while len(self._producer) > _IN_FLIGHT:
                self._producer.poll(0.01)
            self._producer.poll(0)
            queued = self._producer.produce_batch(
                self._topic, messages, on_delivery=self._on_delivery
            )
        if queued < len(messages):
            first = next(m["_error"] for m in messages if "_error" in m)
            raise self._error(len(messages) - queued, first)
        self._raise_if_lost()

    def finish(self) -> None:
        """Wait until everything is delivered."""
        with self._asking(len(self._producer)):
            ends_at = time.monotonic() + _DELIVERY_S + 5
            while (left := self._producer.flush(_FLUSH_S)) and time.monotonic() < ends_at:
                pass
        self._raise_if_lost()
        if left:
            raise self._error(left, KafkaError(KafkaError._TIMED_OUT))  # noqa: SLF001 - public

    def abandon(self) -> None:
        """Drop what is not delivered, so that nothing waits for a broker that is gone."""
        self._producer.purge()

    @contextmanager
    def _asking(self, count: int) -> Iterator[None]:
        """Turn what the client raises into our error; a fatal one comes out of any call."""
        try:
            yield
        except BufferError as problem:
            full = KafkaError(KafkaError._QUEUE_FULL)  # noqa: SLF001 - public all the same
            raise self._error(count, full) from problem
        except KafkaException as problem:
            raise self._error(count, problem.args[0]) from problem

    def _on_delivery(self, error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            self._lost += 1
            self._problem = error

    def _raise_if_lost(self) -> None:
        if self._lost:
            raise self._error(self._lost, self._problem)

    def _error(self, count: int, problem: KafkaError) -> SourceError:
        cause = self._refusals.behind(problem)
        address, options = self._endpoints.kafka, self._endpoints.client_options()
        step = explain(cause, address, self._topic, options, _DELIVERY_S).next_step
        fact = f"did not take {count:,} events ({cause.str()})"
        return SourceError(
            f"topic {self._topic!r} at {address}", fact, f"{step}. What was delivered before stays"
        )


def produce(
    endpoints: Endpoints,
    topic: str,
    workload: Workload,
    script: Script,
    *,
    on_progress: Callable[[Progress], None] = lambda _: None,
    stop: Callable[[], bool] = lambda: False,
) -> ProduceReport:
    """Run a script: make the topic, send, await delivery.

    Args:
        endpoints: the broker.
        topic: created with two partitions unless it exists.
        workload: makes the events.
        script: how many, of which versions, and when.
        on_progress: called after each chunk, ten times a second or more.
        stop: asked before each chunk; true ends the run, and what was sent is still delivered.

    Raises:
        SourceError: the broker cannot be reached or does not take an event.
        RegistryError: the registry cannot be reached or refuses a version.
    """
    ensure_topic(endpoints, topic)
    deliveries = _Deliveries(endpoints, topic)
    keys: Counter[int] = Counter()
    versions: Counter[int] = Counter()
    sent = size = 0
    started, began = time.time(), time.perf_counter()
    workload.prepare()
    try:
        while (count := script.chunk(sent)) and not stop():
            chunk = workload.chunk(
                count,
                script.versions_at(sent),
                first=sent,
                first_s=started - script.lead_s + sent * script.spacing_s,
                spacing_s=script.spacing_s,
            )
            deliveries.send(chunk.messages)
            keys.update(chunk.keys.tolist())
            versions.update(chunk.versions.tolist())
            size += sum(len(message["value"]) for message in chunk.messages)
            sent += count
            seconds = time.perf_counter() - began
            on_progress(Progress(sent=sent, seconds=seconds))
            if script.rate is not None:
                time.sleep(max(0.0, sent / script.rate - seconds))
        deliveries.finish()
    except BaseException:
        deliveries.abandon()
        raise
    return ProduceReport(
        events=sent,
        by_key={key: keys[index] for index, key in enumerate(workload.keys)},
        by_version=dict(sorted(versions.items())),
        value_bytes=size,
        seconds=time.perf_counter() - began,
    )
