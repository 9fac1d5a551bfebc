"""Silver tables for tests of gold, and what gold notes of them."""

from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.delta.commit_digest import commit_digest
from lake_assets.delta.committer import Committer
from lake_assets.delta.table_log import log_of
from lake_assets.gold.refresh_need import Silver, definition_of, info_of
from lake_assets.gold.refresh_need_all import position_now
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.parquet.data_file import write_file
from lake_assets.settings.schema import Settings
from lake_assets.spark.session_digest import session_digest
from lake_assets.storage.local import LocalStore
from lake_assets.storage.open_store import lake_of
from lake_assets_tests.columns import ORIGIN
from lake_assets_tests.sample import GAMES

SCHEMA = pa.schema(
    [
        ("game_name", pa.string()),
        ("gamer_id", pa.string()),
        ("event_timestamp", pa.timestamp("us", tz="UTC")),
        ("device_id", pa.string()),
        *ORIGIN,
    ]
)


def add_silver(
    lake: Path, key: str, *gamers: str | None, start: int = 0, feed: Feed = GAMES
) -> None:
    """One commit with one event a gamer, an event a second."""
    rows = [
        {
            "game_name": key,
            "gamer_id": gamer,
            "event_timestamp": (start + second) * 1_000_000,
            "_offset": start + second,
        }
        for second, gamer in enumerate(gamers)
    ]
    append_silver(lake, key, pa.Table.from_pylist(rows, schema=SCHEMA), feed)


def append_silver(lake: Path, key: str, rows: pa.Table, feed: Feed = GAMES) -> None:
    """One commit through the committer; the first makes the table."""
    table = feed.silver_table(key)
    folder = lake / table.relative
    if not folder.exists():
        write_deltalake(folder, rows)
        return
    committer = Committer(LocalStore.at(lake), threads=1)
    # As a rebuild does, which goes on after a RESTORE.
    committer.accept_restores({table: committer.fresh(table)})
    file = DataFile(**write_file(committer.store, rows, log_of(committer.store, table).folder))
    info = {"rows": str(rows.num_rows)}
    committer.append(
        [Commit(table=table, files=[file], info=info)],
        Batch("silver", committer.fresh(table).version()),
    )
    committer.close()


def silver_at(
    settings: Settings, key: str, version: int, table: str = "", feed: Feed = GAMES
) -> Silver:
    """A game's silver as it was at a version; `table` is Delta's id of it, if it is to be told."""
    commit = commit_digest(log_of(lake_of(settings), feed.silver_table(key)), version) or ""
    return Silver(version=version, table=table, commit=commit)


def stands_for(
    settings: Settings,
    view: GoldView,
    version: int,
    *,
    key: str = "uno",
    table: str = "",
    feed: Feed = GAMES,
) -> dict[str, str]:
    """What a refresh notes in the commit of a game's view."""
    definition = definition_of(view, session_digest(settings))
    return info_of(definition, silver_at(settings, key, version, table, feed))


def stands_for_all(settings: Settings, view: GoldView, **versions: int) -> dict[str, str]:
    """What a refresh notes in the commit of a view over all games."""
    definition = definition_of(view, session_digest(settings))
    silver = {key: silver_at(settings, key, version) for key, version in versions.items()}
    return dict(position_now(definition, silver).info)
