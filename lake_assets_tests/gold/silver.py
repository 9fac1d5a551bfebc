"""Silver tables for tests of gold."""

from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

from lake_assets.model.tables import silver_of
from lake_assets.silver.rows import ORIGIN

SCHEMA = pa.schema(
    [
        ("game_name", pa.string()),
        ("gamer_id", pa.string()),
        ("event_timestamp", pa.timestamp("us", tz="UTC")),
        ("device_id", pa.string()),
        *ORIGIN,
    ]
)


def add_silver(lake: Path, game: str, *gamers: str, start: int = 0) -> None:
    """One commit with one event a gamer, an event a second."""
    rows = [
        {
            "game_name": game,
            "gamer_id": gamer,
            "event_timestamp": (start + second) * 1_000_000,
            "_offset": start + second,
        }
        for second, gamer in enumerate(gamers)
    ]
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    write_deltalake(silver_of(game).path(lake), table, mode="append")
