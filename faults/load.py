"""The load: a producer in a process of its own, which notes what the broker acknowledged.

`python -m faults.load` reads what to send from standard input, as JSON, and sends until SIGTERM;
then it waits for the last acknowledgements, and says on standard output how many events it sent.
Keys and versions of the schema grow with time; some messages cannot be decoded. A player is one of
some seconds only and sends nothing after them, so that whoever asks for a player of the past to be
erased asks for all of them.
"""

import json
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import IO, Any

from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient, SchemaRegistryError
from confluent_kafka.schema_registry.common._httpx_compat import httpx
from pydantic import BaseModel

from faults.journal import Acked, append
from lake_assets.simulator.games.schema import custom_column, message_class, proto_text

_SLICE_S = 0.1
"""Events come in so many slices of a second; the journal is brought to the disk with each."""

_ENDS_WITHIN_S = 180.0
"""For the last acknowledgements: longer than any fault."""

PLAYERS = 20
"""Of a window."""


class Plan(BaseModel):
    """What to send."""

    kafka: str
    registry: str
    topic: str
    subject: str
    journal: Path
    seed: int
    rate: float
    """Events a second."""

    key_every_s: float
    """Seconds after which one more key comes along; there are three at first."""

    most_keys: int
    version_every_s: float
    """Seconds after which a version of the schema is registered, with one field more."""

    player_for_s: float
    """Seconds for which a player plays."""

    bad_share: float = 0.02


def player(began: float, now: float, plan_s: float, number: int) -> str:
    """The name of a player of now: it has the window in it."""
    return f"w{int((now - began) / plan_s)}-p{number}"


def window_of(name: str) -> int:
    """Which window a player is of."""
    return int(name[1:].partition("-")[0])


class Schemas:
    """Versions of the event, registered one by one; a registry that is away is asked again."""

    def __init__(self, plan: Plan) -> None:
        """Register nothing yet."""
        self._plan, self._ids = plan, list[int]()

    def first(self) -> tuple[int, int]:
        """Version 0 and its id; a registry that has just begun may take its time."""
        self._ids.append(self._register(0, timeout_s=60))
        return 0, self._ids[0]

    def upto(self, version: int) -> tuple[int, int]:
        """The newest version that is registered, and its id; one more is tried at most."""
        if len(self._ids) <= version:
            with suppress(SchemaRegistryError, OSError, httpx.HTTPError):
                self._ids.append(self._register(len(self._ids), timeout_s=1))
        return len(self._ids) - 1, self._ids[-1]

    def _register(self, version: int, *, timeout_s: int) -> int:
        schema = Schema(f"{proto_text(version)}// {self._plan.subject}\n", "PROTOBUF")
        config = {"url": self._plan.registry, "timeout": timeout_s, "max.retries": 0}
        with SchemaRegistryClient(config) as client:
            return int(client.register_schema(self._plan.subject, schema))


class Load:
    """Sends events, and notes those that are acknowledged."""

    def __init__(self, plan: Plan) -> None:
        """Know what to send; nothing is sent yet."""
        self.sent = self.failed = 0
        self._plan, self._chance = plan, Random(plan.seed)  # noqa: S311 - need not be secret
        self._schemas, self._acked = Schemas(plan), list[Acked]()
        self._began, self._registered_at = time.time(), 0.0
        self._version = self._schemas.first()
        self._class_of = cache(message_class)
        self._producer = Producer(
            {
                "bootstrap.servers": plan.kafka,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 20,
                # Longer than any fault: what it gives up is not acknowledged and may be there.
                "message.timeout.ms": round(_ENDS_WITHIN_S * 1000),
                "reconnect.backoff.max.ms": 1000,
                "log_level": 0,
            }
        )

    def run(self, stop: threading.Event) -> None:
        """Send until `stop` is set, then wait for what is on its way."""
        with self._plan.journal.open("a") as journal:
            owed, last = 0.0, time.monotonic()
            while not stop.wait(_SLICE_S):
                now = time.monotonic()
                # After a pause of this machine not all at once.
                owed += min(now - last, 1.0) * self._plan.rate
                last = now
                for _ in range(int(owed)):
                    self._send()
                owed -= int(owed)
                self._note(journal)
            self._producer.flush(_ENDS_WITHIN_S)
            self._note(journal)

    def _note(self, journal: IO[str]) -> None:
        self._producer.poll(0)
        if self._acked:
            append(journal, self._acked)
            self._acked.clear()

    def _send(self) -> None:
        event = f"e{self.sent}"
        self.sent += 1
        if self._chance.random() < self._plan.bad_share:
            self._produce(b"bad " + event.encode(), self._on_ack(event, "", ""))
            return
        now = time.time()
        past = now - self._began
        game = f"game_{self._chance.randrange(self._keys(past))}"
        gamer = player(self._began, now, self._plan.player_for_s, self._chance.randrange(PLAYERS))
        version, schema_id = self._newest(past)
        message = self._class_of(version)(game_name=game, gamer_id=gamer, device_id=event)
        message.event_timestamp.FromNanoseconds(int(now * 1e9))  # type: ignore[attr-defined]
        for added in range(1, version + 1):
            setattr(message, custom_column(added), f"v{added}")
        framed = b"\0" + schema_id.to_bytes(4, "big") + b"\0" + message.SerializeToString()
        self._produce(framed, self._on_ack(event, game, gamer))

    def _keys(self, past: float) -> int:
        return min(3 + int(past / self._plan.key_every_s), self._plan.most_keys)

    def _newest(self, past: float) -> tuple[int, int]:
        wanted = int(past / self._plan.version_every_s)
        if self._version[0] < wanted and time.monotonic() - self._registered_at > 1:
            self._version, self._registered_at = self._schemas.upto(wanted), time.monotonic()
        return self._version

    def _produce(self, value: bytes, on_ack: Callable[[KafkaError | None, Message], None]) -> None:
        while True:
            with suppress(BufferError):  # the broker has been away for long
                self._producer.produce(self._plan.topic, value, on_delivery=on_ack)
                return
            self._producer.poll(_SLICE_S)

    def _on_ack(self, event: str, game: str, gamer: str) -> Any:  # noqa: ANN401 - as librdkafka calls it
        def note(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                self.failed += 1
                return
            partition, offset = message.partition(), message.offset()
            assert partition is not None and offset is not None  # noqa: S101, PT018 - it was acked
            self._acked.append(
                Acked(time.time(), self._plan.topic, partition, offset, event, game, gamer)
            )

        return note


def main() -> None:
    """Send until told to stop."""
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    load = Load(Plan.model_validate_json(sys.stdin.read()))
    load.run(stop)
    sys.stdout.write(json.dumps({"sent": load.sent, "given_up": load.failed}))


if __name__ == "__main__":
    main()
