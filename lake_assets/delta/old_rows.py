"""Rows that leave a table for their age: the commits by which they do.

Which files are concerned is decided by `maintenance.retention`, from what `delta.row_ages` tells. A
file all of whose rows are old is not read for it, except to tell where a bronze table then begins;
of others the younger rows come in a new file. Others may append meanwhile, and what they rewrite
first is left to them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.delta.commit import RETENTION, Batch, Commit, DataFile
from lake_assets.delta.committer import Committer
from lake_assets.delta.compaction import put_unless_changed, row_groups
from lake_assets.delta.data_files import path_like, read_file, stored_columns
from lake_assets.delta.event_times import RowsFrom
from lake_assets.delta.row_ages import times_of
from lake_assets.delta.source_offsets import (
    Offsets,
    furthest,
    next_offsets,
    retained_offsets,
    retained_transactions,
)
from lake_assets.delta.table_log import TableLog, log_of
from lake_assets.delta.unused_writes import (
    discard,
    discarded_if_not_made,
    discarded_on_failure,
)
from lake_assets.model.origins import OriginColumns
from lake_assets.model.tables import TableRef
from lake_assets.parquet.data_file import write_pieces


@dataclass(kw_only=True, slots=True)
class Gone:
    """What left a table."""

    rows: int = 0
    offsets: Offsets = field(default_factory=dict)
    """By source and partition, the offset after the last of them, where that was asked for."""


@dataclass(frozen=True, kw_only=True)
class OldRows:
    """What a table is to be without."""

    table: TableRef
    columns: Sequence[str]
    """As `aged_files` takes them."""

    before: datetime
    """A row that is older leaves; not one that does not tell."""

    spared: Sequence[RowsFrom] = ()
    """Rows that stay, whatever their age."""

    origin: OriginColumns | None = None
    """What the table calls the columns of a row's origin, if the offsets are asked for."""

    kind: str = ""
    """Of the source, then."""

    upto: Offsets = field(default_factory=dict)
    """The offsets up to which rows may leave, then."""

    def delete(
        self, committer: Committer, whole: Sequence[DataFile], partly: Sequence[DataFile]
    ) -> Gone | None:
        """Take the old rows out of some files, in one commit; None if they are others by now.

        A process that dies on its way leaves files that no reader sees. A table's log tells that
        rows left for their age (`RETENTION`), so that what was computed from them stands.

        Args:
            committer: commits.
            whole: files all of whose rows are old.
            partly: files some of whose rows may be.

        Raises:
            CommitConflictError: others commit to the table all the time.
            LakeError: the lake cannot be read or written.
            TableFeatureError: a feature of the table forbids it; nothing has happened.
            ConstraintViolatedError: a constraint that it got later forbids the rows that stay.
        """
        log = log_of(committer.store, self.table)
        schema = pa.schema(committer.fresh(self.table).schema().to_arrow())
        gone = Gone()
        removed: list[DataFile] = []
        added: list[DataFile] = []
        try:
            with discarded_on_failure(log, added):
                for file in whole:
                    ends = self._ends(log, file)
                    if self._may_go(ends):
                        removed.append(file)
                        gone.rows += file.rows
                        gone.offsets = furthest([gone.offsets, ends])
                for file in partly:
                    self._rewrite(log, file, schema, gone, removed, added)
        except FileNotFoundError:
            return None  # rewritten and vacuumed meanwhile
        if not removed:
            return gone
        with discarded_if_not_made(log, added):
            commit = self._commit(removed, added, self._retained(committer, gone))
            is_put = put_unless_changed(committer, commit)
        if not is_put:
            discard(log, added)
        return gone if is_put else None

    def _retained(self, committer: Committer, gone: Gone) -> Gone:
        """With the offsets from which on all rows are there; later rows may have left before."""
        if not gone.offsets:
            return gone
        handle = committer.fresh(self.table)
        before = retained_offsets(handle, self.kind, gone.offsets)
        return Gone(rows=gone.rows, offsets=furthest([before, gone.offsets]))

    def _commit(self, removed: Sequence[DataFile], added: Sequence[DataFile], gone: Gone) -> Commit:
        marks: Sequence[Batch] = (
            retained_transactions(self.kind, gone.offsets) if self.origin else ()
        )
        return Commit(
            table=self.table,
            files=added,
            removed=tuple(removed),
            info={RETENTION: self.before.isoformat(), "lake_assets.rows_removed": str(gone.rows)},
            transactions=marks,
        )

    def _ends(self, log: TableLog, file: DataFile) -> Offsets:
        if self.origin is None:
            return {}
        return next_offsets(read_file(log, file, self.origin.identity), self.origin)

    def _may_go(self, ends: Offsets) -> bool:
        return all(end <= self.upto.get(place, 0) for place, end in ends.items())

    def _rewrite(
        self,
        log: TableLog,
        file: DataFile,
        schema: pa.Schema,
        gone: Gone,
        removed: list[DataFile],
        added: list[DataFile],
    ) -> None:
        """Write a file's younger rows, if it has older ones."""
        path, kept = path_like(file), stored_columns(schema, file)
        left = Gone()
        pieces = self._younger(row_groups(log, [file], kept), left)
        written = DataFile(
            partition=file.partition,
            **write_pieces(  # type: ignore[arg-type]
                log.store, pieces, kept, log.folder, path, file.partition
            ),
        )
        if not left.rows or not self._may_go(left.offsets):
            discard(log, [written])
            return
        removed.append(file)
        gone.rows += left.rows
        gone.offsets = furthest([gone.offsets, left.offsets])
        if written.rows:
            # Whatever the settings ask: the file that it stands for will be deleted.
            log.store.sync(log.data_file(written.path))
            added.append(written)
        else:
            discard(log, [written])

    def _younger(self, pieces: Iterator[pa.Table], left: Gone) -> Iterator[pa.Table]:
        limit = pa.scalar(self.before, pa.timestamp("us", tz="UTC"))
        for piece in pieces:
            is_old = pc.less(times_of(piece, self.columns), limit).fill_null(fill_value=False)
            for rows in self.spared:
                is_old = pc.and_not(is_old, _are_among(piece, rows))
            old = piece.filter(is_old)
            left.rows += old.num_rows
            if self.origin is not None and old.num_rows:
                left.offsets = furthest([left.offsets, next_offsets(old, self.origin)])
            yield piece.filter(pc.invert(is_old))


def _are_among(piece: pa.Table, rows: RowsFrom) -> pa.ChunkedArray:
    if rows.column not in piece.column_names:
        return pa.chunked_array([pa.repeat(pa.scalar(value=False), piece.num_rows)])
    times = piece[rows.column].cast(pa.timestamp("us", tz="UTC"))
    if rows.since is None:
        return pc.is_valid(times)
    since = pa.scalar(rows.since, pa.timestamp("us", tz="UTC"))
    return pc.greater_equal(times, since).fill_null(fill_value=False)
