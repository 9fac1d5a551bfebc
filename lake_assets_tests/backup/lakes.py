"""A lake as streams and refreshes leave it, without them: commits that tell what theirs tell."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from lake_assets.backup.create import back_up
from lake_assets.backup.manifest import Manifest
from lake_assets.backup.place import BackupPlace
from lake_assets.backup.progress import Progress
from lake_assets.backup.restore import Restored
from lake_assets.delta.commit import Batch, Commit
from lake_assets.delta.commit_digest import commit_digest
from lake_assets.delta.increments import Point
from lake_assets.delta.refresh_position import (
    DEFINITION,
    SILVER_COMMIT,
    SILVER_TABLE,
    SILVER_VERSION,
)
from lake_assets.delta.table_log import log_of, table_folders
from lake_assets.delta.transaction_numbers import checksum
from lake_assets.erasure.obeyed_restore import restore
from lake_assets.feeds.load import load_feeds
from lake_assets.gold.refresh_need import definition_of
from lake_assets.model.owners import Owner
from lake_assets.model.tables import Layer, TableRef, bronze_of, quarantine_of
from lake_assets.settings.schema import Settings
from lake_assets.silver.demux_position import POSITION, Position, batch_of
from lake_assets.spark.session_digest import session_digest
from lake_assets.storage.local import LocalStore
from lake_assets.storage.open_store import lake_of
from lake_assets_tests.maintenance.lakes import SCHEMA, WrittenLake
from lake_assets_tests.sample import gold_of, silver_of

BRONZE, QUARANTINE = bronze_of("games"), quarantine_of("games")
UNO, FISH = silver_of("uno"), silver_of("go_fish")
UNO_AGG = gold_of("uno", "player_agg")


class BatchedLake(WrittenLake):
    """Tables of the feed `games`, and what its streams know of them."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, "games")
        for table, key in ((BRONZE, ""), (QUARANTINE, ""), (UNO, "uno"), (FISH, "go_fish")):
            self.create(table, key)
        owner = Owner(feed="games", key="uno", view="player_agg")
        self.committer.create({UNO_AGG: SCHEMA}, owners={UNO_AGG: owner})
        self.batch = 0
        self.left: tuple[TableRef, ...] = ()
        """Of a batch that is not whole."""

        self.numbers_of_tables: dict[TableRef, int] = {}

    def ingest(self) -> None:
        """A row into bronze."""
        self._add(BRONZE, Batch("ingest", self._next()))

    def demux(self, *tables: TableRef, whole: bool = True) -> None:
        """A batch of a row a table; one that is not whole never comes to quarantine."""
        self.batch += 1
        for table in tables:
            self._add(table, batch_of("games", self.batch))
        self.left = tables
        if whole:
            self.finish()

    def finish(self) -> None:
        """Quarantine's part, which makes the newest batch whole."""
        tables, self.left = self.left, ()
        self.numbers_of_tables |= dict.fromkeys(tables, self.batch)
        log = log_of(self.store, BRONZE)
        position = Position(
            number=self.batch,
            bronze_id=str(log.open().metadata().id),
            bronze=Point.at(log, log.open().version()),
            tables=checksum(self.numbers_of_tables),
        )
        info = {POSITION: position.to_json()}
        commit = Commit(table=QUARANTINE, files=(), info=info)
        self.committer.append([commit], batch_of("games", self.batch))

    def refresh(self, definition: str | None = None) -> None:
        """The view of a key, of silver as it is now; by its declaration of today by default."""
        log, number = log_of(self.store, UNO), self._next()
        silver = log.open()
        info = {
            SILVER_VERSION: str(silver.version()),
            SILVER_TABLE: str(silver.metadata().id),
            SILVER_COMMIT: commit_digest(log, silver.version()) or "",
            DEFINITION: definition or self.definition,
        }
        row = pa.table({"n": [number], "text": ["gold"]}, schema=SCHEMA)
        commit = Commit(table=UNO_AGG, files=[self.file(UNO_AGG, row)], info=info)
        self.committer.append([commit], Batch("refresh", number))

    @property
    def definition(self) -> str:
        """Of the view, as a refresh notes it."""
        (games,) = (feed for feed in load_feeds(self.settings.feeds) if feed.feed == "games")
        view = next(view for view in games.gold if view.name == "player_agg")
        return definition_of(view, session_digest(self.settings))

    def _add(self, table: TableRef, batch: Batch) -> None:
        row = pa.table({"n": [self._next()], "text": ["x"]}, schema=SCHEMA)
        self.committer.append([Commit(table=table, files=[self.file(table, row)])], batch)

    def _next(self) -> int:
        self.number += 1
        return self.number

    def version(self, table: TableRef) -> int:
        return int(log_of(self.store, table).open().version())

    def versions(self, *tables: TableRef) -> dict[str, int]:
        return {table.relative: self.version(table) for table in tables}


def place_at(folder: Path) -> BackupPlace:
    return BackupPlace(LocalStore.at(folder))


def backed_up(settings: Settings, folder: Path, progress: Progress | None = None) -> Manifest:
    return back_up(settings, place_at(folder), progress or Progress())


def restored(
    settings: Settings, folder: Path, *, number: int | None = None, force: bool = False
) -> Restored:
    return restore(settings, place_at(folder), Progress(), number=number, force=force)


def versions_in(manifest: Manifest) -> Mapping[str, int]:
    return {summary.table: summary.version for summary in manifest.tables}


def rows_in(settings: Settings) -> dict[str, list[int]]:
    """By table of a lake, the numbers of its rows, as deltalake reads them."""
    lake = lake_of(settings)
    layers = (Layer.BRONZE, Layer.SILVER, Layer.QUARANTINE, Layer.GOLD)
    return {
        table.relative: sorted(log_of(lake, table).open().to_pyarrow_table()["n"].to_pylist())
        for table in table_folders(lake, layers)
    }
