"""Adding to the index of a feed's files: new files get the offsets that come next.

A file's range is committed before its rows are read, and stands from then on.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.delta.committer import Committer
from lake_assets.delta.conflicts import overtaken
from lake_assets.delta.restores import is_restored
from lake_assets.delta.table_log import log_of
from lake_assets.errors import LakeError
from lake_assets.model.owners import Owner
from lake_assets.model.tables import files_of
from lake_assets.parquet.data_file import write_file
from lake_assets.sources.files.found import Found
from lake_assets.sources.files.index import (
    FOUND,
    SCHEMA,
    Change,
    Entry,
    cleaned_app,
    cleaned_until,
    end_app,
    end_of,
    index_app,
    rows_of_index,
)
from lake_assets.storage.store import Store


class FileIndex:
    """Adds to a feed's index; used by the one process that streams the feed."""

    def __init__(self, lake: Store, feed: str) -> None:
        """Open the index, and create it if it is not there.

        Raises:
            LakeError: the lake cannot be written.
        """
        self._lake, self._feed, self._table = lake, feed, files_of(feed)
        self._committer = Committer(lake, threads=1)
        self._committer.create({self._table: SCHEMA}, owners={self._table: Owner(feed=feed)})
        handle = self._committer.fresh(self._table)
        self._number = handle.transaction_version(index_app(feed)) or 0
        self._ensure_whole(handle)
        self._committer.accept_restores({self._table: handle})
        # Of an earlier release: whoever rewrites its files keeps the columns that the table has.
        self._committer.add_columns({self._table: SCHEMA})
        self.end = end_of(handle, feed)
        """The offset that the next file gets."""
        self.cleaned = cleaned_until(handle, feed)
        """The offset before which all files were archived or deleted."""

    def _ensure_whole(self, handle: DeltaTable) -> None:
        """Refuse an index that lacks files after a RESTORE: they would be found and read again."""
        if not is_restored(log_of(self._lake, self._table), handle.version()):
            return
        parts = rows_of_index(self._lake, self._feed, ("first", "lines"))
        ends = (pc.max(pc.add(rows["first"], rows["lines"])).as_py() for rows in parts)
        reached, end = (
            max((at for at in ends if at is not None), default=0),
            end_of(handle, self._feed),
        )
        if reached < end:
            raise LakeError(
                self._table.name,
                f"was put back to an older version (RESTORE): it ends at offset {reached} in place "
                f"of {end}, and files that were read would be read again",
                "Put it to the newest version that it had before that",
            )

    def close(self) -> None:
        """Wait for what is under way; raises as `Committer.close`."""
        self._committer.close()

    def add(self, entries: Sequence[Entry], changes: Sequence[Change] = ()) -> None:
        """Add files, whose offsets follow those that are there, and changes of others.

        Raises:
            CommitConflictError: another process added to the index meanwhile.
            LakeError: the lake cannot be written.
        """
        if not entries and not changes:
            return
        now = datetime.now(UTC)
        rows = [
            *(_row_of(entry, now) for entry in entries),
            *(_row_of_change(change) for change in changes),
        ]
        end = entries[-1].end if entries else self.end
        data = pa.Table.from_pylist(rows, schema=SCHEMA)
        written = write_file(self._lake, data, log_of(self._lake, self._table).folder)
        self._commit([DataFile(**written)], Batch(end_app(self._feed), end))  # type: ignore[arg-type]
        self.end = end

    def note_cleaned(self, offset: int) -> None:
        """Note before which offset all files were archived or deleted; raises as `add`."""
        self._commit([], Batch(cleaned_app(self._feed), offset))
        self.cleaned = offset

    def flush(self) -> None:
        """Make what was committed to the lake so far durable, as its settings ask."""
        self._committer.flush()

    def _commit(self, files: Iterable[DataFile], noted: Batch) -> None:
        batch = Batch(index_app(self._feed), self._number + 1)
        commit = Commit(table=self._table, files=[*files], transactions=[noted])
        if self._committer.append([commit], batch):
            raise overtaken(self._table, f"it has batch {batch.version} already")
        self._number = batch.version


def _row_of(entry: Entry, now: datetime) -> dict[str, object]:
    return {
        **_row_of_file(entry.file),
        "state": FOUND,
        "first": entry.first,
        "lines": entry.lines,
        "mark_lines": [line for line, _ in entry.marks],
        "mark_positions": [position for _, position in entry.marks],
        "problem": entry.problem or None,
        "sample": entry.sample or None,
        "counted_as": entry.counted_as or None,
        "schema": entry.schema or None,
        "noticed_at": now,
    }


def _row_of_file(file: Found) -> dict[str, object]:
    known = {"size": file.size, "modified_ns": file.modified_ns, "etag": file.etag or None}
    return {"file": file.name, **known}


def _row_of_change(change: Change) -> dict[str, object]:
    return {
        **_row_of_file(change.file),
        "state": change.state,
        "noticed_at": change.noticed_at,
    }
