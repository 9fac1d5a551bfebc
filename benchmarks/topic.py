"""The topic that all peers read: made by the simulator, gone afterwards."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import uuid4

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

from lake_assets.errors import RegistryError
from lake_assets.feeds.load import find_feed, load_feeds
from lake_assets.formats.confluent.registry_client import registry_client
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.simulator.games.events import GameEvents
from lake_assets.simulator.produce import produce
from lake_assets.simulator.script import Script
from lake_assets.sources.kafka.topics import client_config

_FEED = "games"

_TIMEOUT_S = 10.0
"""Seconds to delete what was made; what is left then is small or named for what it is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Topic:
    """A topic full of events."""

    feed: Feed
    by_game: Mapping[str, int]
    value_bytes: int

    @property
    def events(self) -> int:
        """How many it holds."""
        return sum(self.by_game.values())


@contextmanager
def topic_of(
    endpoints: Endpoints, *, tables: int, events: int, stop: Callable[[], bool] = lambda: False
) -> Iterator[Topic]:
    """Produce the events of as many games as there are to be tables; nothing is left at the end.

    The feed is the one that ships, expectations included, with other games and a topic of its own.

    Raises:
        SourceError: the broker cannot be reached or does not take an event.
        RegistryError: the registry cannot be reached or refuses.
        KeyboardInterrupt: `stop` said so.
    """
    feed = feed_of(f"bench-{uuid4().hex[:8]}", keys_of(tables))
    topic, subject = feed.source.topics.names[0], feed.payload.subject
    try:
        game_events = GameEvents(endpoints, subject, feed.keys)
        made = produce(endpoints, topic, game_events, Script(events=events), stop=stop)
        if stop():
            raise KeyboardInterrupt
        yield Topic(feed=feed, by_game=made.by_key, value_bytes=made.value_bytes)
    finally:
        delete_topic(endpoints, topic, subject)


def keys_of(tables: int) -> tuple[str, ...]:
    """Names of that many games."""
    return tuple(f"game_{number:03d}" for number in range(tables))


def feed_of(topic: str, games: tuple[str, ...]) -> Feed:
    """The feed that ships, with other games and another topic and subject."""
    declared = find_feed(load_feeds(None), _FEED).model_dump()
    declared["source"]["kafka"] = {"topic": topic, "starting_offsets": "earliest"}
    declared["payload"]["protobuf"]["subject"] = f"{topic}-value"
    declared["route"]["keys"] = games
    return Feed.model_validate(declared)


def delete_topic(endpoints: Endpoints, topic: str, subject: str) -> None:
    """Delete a topic and its subject, as far as there are any."""
    with contextlib.suppress(KafkaException, RegistryError, SchemaRegistryError):
        admin = AdminClient(client_config(endpoints))
        for answer in admin.delete_topics([topic], request_timeout=_TIMEOUT_S).values():
            answer.result(_TIMEOUT_S)
        with registry_client(endpoints.registry, endpoints.registry_access) as client:
            client.delete_subject(subject)
