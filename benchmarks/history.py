"""A long silver history, made of real silver rows: each data file once, and many links to it.

The tables come of a topic by our own pipeline. What is added later are hard links of the same files
with the same statistics, a commit a game each time, and for less than all of a game's rows a file
with the first of them. So games, players and sizes are as in real silver; event times repeat.
"""

import json
import os
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import pyarrow as pa

from benchmarks.landed import adds_of, commits_of
from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.delta.data_files import read_file
from lake_assets.delta.table_log import log_of
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import TableRef
from lake_assets.parquet.data_file import write_file
from lake_assets.spark.lake_context import LakeContext

_WRITER = "bench-history"


@dataclass
class History:
    """Silver tables that grow by what they had at first."""

    context: LakeContext
    first: Mapping[TableRef, list[DataFile]]
    """The files that each table began with."""

    made: int = 0
    """Additions so far."""

    @property
    def rows(self) -> int:
        """Rows that all tables began with."""
        return sum(file.rows for files in self.first.values() for file in files)

    def add(self, share: float) -> int:
        """Add a share of the first rows, of each game as many as it has; at least one a game.

        Returns:
            How many rows were added.
        """
        whole, part = divmod(round(share, 9), 1)  # 0.1 * 10 is not quite 1
        for _ in range(int(whole)):
            self._commit({table: [self._link(table, f) for f in fs] for table, fs in self._all()})
        added = int(whole) * self.rows
        if part:
            pieces = {table: [self._cut(table, files, part)] for table, files in self._all()}
            self._commit(pieces)
            added += sum(file.rows for files in pieces.values() for file in files)
        return added

    def _all(self) -> Iterator[tuple[TableRef, list[DataFile]]]:
        return iter(self.first.items())

    def _commit(self, files: Mapping[TableRef, list[DataFile]]) -> None:
        commits = [
            Commit(table=table, files=fs, info={"rows": str(sum(f.rows for f in fs))})
            for table, fs in files.items()
        ]
        self.context.committer.append(commits, Batch(app_id=_WRITER, version=self.made))
        self.made += 1
        # What follows is timed, and these checkpoints are of other processes there.
        self.context.committer.settle()

    def _link(self, table: TableRef, file: DataFile) -> DataFile:
        log, name = log_of(self.context.lake, table), f"part-{uuid.uuid4()}.parquet"
        os.link(log.data_file(file.path).as_path(), log.data_file(name).as_path())
        return DataFile(path=name, size=file.size, rows=file.rows, stats=file.stats)

    def _cut(self, table: TableRef, files: list[DataFile], share: float) -> DataFile:
        log = log_of(self.context.lake, table)
        row_count = ceil(round(share * sum(file.rows for file in files), 6))
        rows = pa.concat_tables(read_file(log, file) for file in files).slice(0, row_count)
        return DataFile(**write_file(log.store, rows, log.folder))  # type: ignore[arg-type]


def history_of(context: LakeContext, feed: Feed, games: tuple[str, ...]) -> History:
    """The history of games whose silver has been written."""
    tables = [feed.silver_table(game) for game in games]
    first = {table: list(_files(context.lake.root.as_path() / table.relative)) for table in tables}
    return History(context, {table: files for table, files in first.items() if files})


def _files(table: Path) -> Iterator[DataFile]:
    for commit in commits_of(table):
        for add in adds_of(commit):
            rows = json.loads(add["stats"])["numRecords"]
            yield DataFile(path=add["path"], size=add["size"], rows=rows, stats=add["stats"])
