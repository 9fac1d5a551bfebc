"""A small lake with a feed, a view a key and a view over all, made without Spark."""

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from deltalake.schema import ArrayType, Field, PrimitiveType

from lake_assets.delta.table_owners import claim
from lake_assets.model.feeds import Feed
from lake_assets.model.owners import Owner
from lake_assets.model.tables import EVERY_KEY, TableRef, bronze_of, files_of, quarantine_of
from lake_assets.settings.schema import Settings
from lake_assets.storage.open_store import lake_of

FEED = Feed.model_validate(
    {
        "feed": "play",
        "source": {"kafka": {"topic": "plays"}},
        "payload": {"json": {"schema": "kind string, ante int"}},
        "route": {"column": "kind", "keys": ["uno", "poker"]},
        "gold": [
            {
                "name": "best",
                "description": "Most that was staked.",
                "keys": ["kind"],
                "measures": {"total": "sum(ante)"},
            },
            {
                "name": "all_of_it",
                "sql": "select kind, sum(total) as total from gold_all.best group by kind",
            },
        ],
    }
)

BEST, ALL = FEED.gold
UNO, POKER = FEED.silver_table("uno"), FEED.silver_table("poker")
UNO_BEST, OF_ALL = FEED.gold_table(BEST, "uno"), FEED.gold_table(ALL, EVERY_KEY)

ROWS = pa.table({"kind": ["a"], "ante": pa.array([1], pa.int32())})
TOTALS = pa.table({"kind": ["a"], "total": [1], "_state_count": [1]})


def put(settings: Settings, table: TableRef, rows: pa.Table, owner: Owner | None) -> None:
    """A table as streams and refreshes make it."""
    write_deltalake(settings.lake_dir / table.relative, rows)
    claim(lake_of(settings), table, owner)


def fill(settings: Settings) -> None:
    """The whole lake."""
    feed = Owner(feed="play")
    raw = pa.table({"value": [b"{}"], "topic": ["plays"]})
    put(settings, bronze_of("play"), raw, feed)
    put(settings, files_of("play"), raw, feed)
    put(settings, quarantine_of("play"), raw, feed)
    put(settings, UNO, ROWS, Owner(feed="play", key="uno"))
    put(settings, POKER, ROWS, Owner(feed="play", key="poker"))
    put(settings, UNO_BEST, TOTALS, Owner(feed="play", key="uno", view="best"))
    put(settings, OF_ALL, TOTALS, Owner(feed="play", view="all_of_it"))


def add_tags(settings: Settings, table: TableRef) -> None:
    """A column of a nested type, with a comment."""
    comment = {"comment": "what players call it"}
    nested = ArrayType(PrimitiveType("string"), contains_null=True)
    handle = DeltaTable(settings.lake_dir / table.relative)
    handle.alter.add_columns([Field("tags", nested, nullable=True, metadata=comment)])
