"""A feed for tests of any room, like the one that ships and smaller."""

from lake_assets.model.feeds import (
    Action,
    Expectation,
    Feed,
    GoldView,
    KafkaSource,
    Route,
    Source,
)
from lake_assets.model.payload import Payload, ProtobufPayload

GAMES = Feed(
    feed="games",
    source=Source(kafka=KafkaSource(topic="game-stream")),
    payload=Payload(protobuf=ProtobufPayload(subject="game-stream-value")),
    route=Route(column="game_name", keys=("uno", "go_fish")),
    expectations=(
        Expectation(name="gamer_is_known", sql="gamer_id <> ''", action=Action.DROP),
        Expectation(name="device_is_known", sql="device_id <> ''"),
    ),
    gold=(
        GoldView(
            name="player_agg",
            keys=("gamer_id",),
            measures={"session_count": "count(*)"},
            schedule="*/1 * * * *",
        ),
    ),
)
"""Two games, two expectations, one gold view."""
