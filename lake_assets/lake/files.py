"""A table's data files: which there are, who added them, and the same files without some rows.

Reads logs and files and writes files that no commit names yet; committing is `lake.commits`' work.
"""

import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from lake_assets.lake.change import APP_ID, BATCH, Batch, DataFile
from lake_assets.lake.origins import RowSet, origin_columns
from lake_assets.lake.tail import actions_of
from lake_assets.lake.writer import write_file

_PARTITION = "partition."

_SUFFIX = ".parquet"

_REWRITTEN = "~"
"""Between a file's first name and what tells its rewritings apart. The log tells by path who added
a file's rows, and that must stay known."""

_COMMITS_AT_ONCE = (20, 200, None)
"""How far the log is read back, until the wanted commit is met."""


def active_files(handle: DeltaTable) -> list[DataFile]:
    """The files of a table's version, without their statistics."""
    actions = pa.table(handle.get_add_actions(flatten=True)).to_pylist()
    return [
        DataFile(
            path=action["path"],
            size=action["size_bytes"],
            rows=action["num_records"] or 0,
            stats="",
            partition={
                name.removeprefix(_PARTITION): None if value is None else str(value)
                for name, value in action.items()
                if name.startswith(_PARTITION)
            },
        )
        for action in actions
    ]


def rewritten(path: str) -> str:
    """A new path for the rows of a file that is written anew with the same rows."""
    whole = first_path(path)
    return f"{whole.removesuffix(_SUFFIX)}{_REWRITTEN}{uuid.uuid4().hex[:8]}{_SUFFIX}"


def first_path(path: str) -> str:
    """The path of the file that these rows first were in, whoever wrote them anew since."""
    before, mark, _ = path.rpartition(_REWRITTEN)
    return f"{before}{_SUFFIX}" if mark else path


def added_after(handle: DeltaTable, batch: Batch, folder: Path) -> set[str]:
    """Paths of the files that the same stream added in batches after `batch`.

    A file that was written anew since has another path: compare its `first_path`.
    """
    for limit in _COMMITS_AT_ONCE:
        later: list[int] = []
        commits = handle.history(limit)
        for commit in commits:
            if commit.get(APP_ID) != batch.app_id:
                continue
            if int(commit[BATCH]) <= batch.version:
                return _added_by(folder, later)
            later.append(commit["version"])
        if limit is None or len(commits) < limit:
            return _added_by(folder, later)
    raise AssertionError  # the last limit is none


def without(
    folder: Path, files: Sequence[DataFile], rows: RowSet
) -> tuple[list[DataFile], list[DataFile]]:
    """The files of a table that have some of `rows`, and new ones with what else was in them.

    One file is in memory at a time, and read whole only if some of its rows stay and some go.
    """
    removed: list[DataFile] = []
    added: list[DataFile] = []
    for file in files:
        path = folder / file.path
        footer = pq.read_schema(path)
        goes = rows.mask(read_file(path, origin_columns(footer.names)))
        if not goes.any():
            continue
        removed.append(file)
        if not goes.all():
            kept = read_file(path).filter(pa.array(~goes))
            partition = "/".join(f"{name}={value}" for name, value in file.partition.items())
            written = write_file(kept, folder, partition)
            added.append(DataFile(partition=file.partition, **written))  # type: ignore[arg-type]
    return removed, added


def read_file(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """A data file as it is, without the columns that its folder's name has."""
    wanted = None if columns is None else list(columns)
    return pq.read_table(path, columns=wanted, partitioning=None)


def _added_by(folder: Path, versions: Iterable[int]) -> set[str]:
    paths: set[str] = set()
    for version in versions:
        actions = actions_of(folder, version)
        paths |= {action["path"] for kind, action in actions if kind == "add"}
    return paths
