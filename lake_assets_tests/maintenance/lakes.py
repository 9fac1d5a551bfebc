"""A lake that streams wrote, without the streams: commits as theirs, at times of the test's own."""

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable

from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.delta.committer import Committer
from lake_assets.delta.table_log import log_of
from lake_assets.model.owners import Owner
from lake_assets.model.tables import TableRef
from lake_assets.parquet.data_file import write_file
from lake_assets.settings.schema import Settings
from lake_assets.storage.open_store import lake_of

SCHEMA = pa.schema([("n", pa.int64()), ("text", pa.string())])


class WrittenLake:
    """Tables of one feed."""

    def __init__(self, settings: Settings, feed: str) -> None:
        self.settings, self.feed = settings, feed
        self.store = lake_of(settings)
        self.committer = Committer(self.store, threads=1)
        self.number = 0

    def create(self, table: TableRef, key: str = "") -> None:
        self.committer.create({table: SCHEMA}, owners={table: Owner(feed=self.feed, key=key)})

    def file(self, table: TableRef, rows: pa.Table) -> DataFile:
        return DataFile(**write_file(self.store, rows, log_of(self.store, table).folder))

    def append(self, table: TableRef, count: int = 1, *, hours_ago: float = 0.0) -> None:
        """Some commits of a row each, which came so many hours ago."""
        for _ in range(count):
            self.number += 1
            row = pa.table({"n": [self.number], "text": ["x"]}, schema=SCHEMA)
            commit = Commit(table=table, files=[self.file(table, row)])
            self.committer.append([commit], Batch("stream", self.number))
        self.committer.settle()
        self.age(table, hours_ago)

    def age(self, table: TableRef, hours: float) -> None:
        """Make all that is there older, which is not yet."""
        for path in self.path(table).rglob("*"):
            with suppress(FileNotFoundError):  # maintenance may be at work
                stat = path.stat()
                if path.is_file() and hours:
                    os.utime(path, (stat.st_atime - hours * 3600, stat.st_mtime - hours * 3600))

    def path(self, table: TableRef) -> Path:
        return self.settings.lake_dir / table.relative

    def numbers(self, table: TableRef, version: int | None = None) -> list[int]:
        rows = DeltaTable(self.path(table), version=version).to_pyarrow_table()
        return sorted(rows["n"].to_pylist())

    def data(self, table: TableRef) -> set[str]:
        return {path.name for path in self.path(table).glob("*.parquet")}

    def log(self, table: TableRef) -> Sequence[str]:
        return sorted(path.name for path in (self.path(table) / "_delta_log").iterdir())


def later(
    settings: Settings,
    *,
    feed: str = "games",
    wall_s: float = 8 * 86_400.0,
    monotonic_s: float = 3601.0,
) -> None:
    """Time passes since a feed's unused files were met."""
    file = settings.state_dir / "unused_files" / f"{feed}.json"
    noted = json.loads(file.read_text())
    for files in noted["tables"].values():
        for name, (wall, monotonic) in files.items():
            files[name] = (wall - wall_s, monotonic - monotonic_s)
    file.write_text(json.dumps(noted))
