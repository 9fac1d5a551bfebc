"""Files that wait for their commit, written as a fan-out's worker writes them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from lake_assets.delta.commit import Commit, DataFile
from lake_assets.delta.committer import Committer
from lake_assets.model.tables import TableRef
from lake_assets.parquet.writer import TABLE, Layout, Target, WritePlan, write_task
from lake_assets.storage.local import LocalStore

Land = Callable[..., Commit]


@pytest.fixture
def committer(tmp_path: Path) -> Iterator[Committer]:
    """A committer on `tmp_path`."""
    found = Committer(LocalStore.at(tmp_path), threads=2)
    yield found
    found.close()


@pytest.fixture
def land(tmp_path: Path) -> Land:
    """Writes rows into a table's folder, uncommitted."""

    def write(table: TableRef, rows: pa.Table, /, **info: str) -> Commit:
        lake = LocalStore.at(tmp_path)
        plan = WritePlan(
            store=lake,
            targets=(Target(folder=lake.root / table.relative, layout="it"),),
            layouts={"it": Layout(schema=rows.schema, sources=tuple(rows.column_names))},
            buffer_bytes=2**30,
        )
        placed = rows.append_column(TABLE, pa.array([0] * rows.num_rows, pa.int32()))
        files = [
            DataFile(path=e["path"], size=e["size"], rows=e["rows"], stats=e["stats"])
            for manifest in write_task(placed.to_batches(), plan)
            for e in manifest.to_pylist()
        ]
        return Commit(table=table, files=files, info=info)

    return write
