"""A feed for tests of any room, like the one that ships and smaller."""

from lake_assets.model.expectations import Action, Expectation
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.payload import Payload
from lake_assets.model.protobuf_payload import ProtobufPayload
from lake_assets.model.routes import Route
from lake_assets.model.sources import KafkaSource, Source
from lake_assets.model.table_names import TableNames
from lake_assets.model.tables import TableRef

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


def silver_of(key: str) -> TableRef:
    """A key's silver table in a feed that does not name its tables."""
    return GAMES.tables.silver_of(key)


def gold_of(key: str, view: str) -> TableRef:
    """A view's table of a key in such a feed."""
    return GAMES.tables.gold_of(key, view)


RENAMED = GAMES.model_copy(
    update={
        "feed": "renamed",
        "tables": TableNames(silver="{key}_in_silver", gold="{view}_of_{key}"),
    }
)
"""The same keys and views, under names of its own."""

WITHOUT_ROUTE = GAMES.model_copy(update={"feed": "clicks", "route": None})
"""All rows of one key, `clicks`."""
