"""Silver tables for tests of gold."""

from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

from lake_assets.lake.change import Batch, Commit, DataFile
from lake_assets.lake.commits import CommitDoor
from lake_assets.lake.writer import write_file
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


def add_silver(lake: Path, game: str, *gamers: str | None, start: int = 0) -> None:
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
    append_silver(lake, game, pa.Table.from_pylist(rows, schema=SCHEMA))


def append_silver(lake: Path, game: str, rows: pa.Table) -> None:
    """One commit through the door; the first makes the table."""
    table = silver_of(game)
    folder = table.path(lake)
    if not folder.exists():
        write_deltalake(folder, rows)
        return
    door = CommitDoor(lake, threads=1)
    file = DataFile(**write_file(rows, folder))
    info = {"rows": str(rows.num_rows)}
    door.append(
        [Commit(table=table, files=[file], info=info)],
        Batch("silver", door.fresh(table).version()),
    )
    door.close()
