"""Rows that two versions of a view's table do not have in common, as a sink sends them.

Files that only one of the versions has are read, the older ones first: of their rows a hash each is
in memory. One of a change with too many rows for that is read several times, each time for the rows
of one share of the keys. Rows are in the same order each time.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from lake_assets.delta.commit import DataFile
from lake_assets.delta.table_log import TableLog
from lake_assets.silver.key_hashes import Hashes, Mask
from lake_assets.sinks.base import DeletedRow
from lake_assets.sinks.row_hashes import RowBag, hash_rows
from lake_assets.sinks.shape import Shaped
from lake_assets.sinks.table_rows import PIECE_ROWS, pieces_of
from lake_assets.sinks.view_changes import Files, ViewChange
from lake_assets.sinks.view_position import Begun
from lake_assets.sinks.view_tables import Revision, key_in, key_texts

_READ_ROWS = 65_536
"""Rows that are hashed at once: 4,096 cost twice as much a row."""

UPSERT, DELETE = "upsert", "delete"
"""What became of a row: it came or has other values, or it is gone."""

Shape: TypeAlias = Callable[[pa.RecordBatch, str, pa.Table], Shaped]
"""The wanted ones of rows that became `UPSERT` or `DELETE`, and are told by `IDENTITY`."""


@dataclass(kw_only=True, slots=True)
class ChangedRows:
    """The rows of a change that are sent, of one share of its keys."""

    change: ViewChange
    begun: Begun
    log: TableLog
    feed: str
    key: tuple[str, ...]
    """Columns that tell the table's rows apart; none if whole rows are."""

    is_unique: bool
    """Whether no two rows of the table have the same key, if there is one."""

    deletes: bool
    """Whether rows that are gone, or not wanted any more, are sent, too."""

    shape: Shape
    _sent: dict[str, dict[str, int]] = field(default_factory=lambda: {UPSERT: {}, DELETE: {}})
    """By what became of rows and key's text, how many are sent."""

    def rows(self) -> Iterator[Shaped]:
        """They, in pieces: those that came, then those that went."""
        had = RowBag([_hashes(rows) for rows in self._own(self.change.went)])
        for piece in self._pieces(self.change.came, lambda rows: ~had.take(_hashes(rows))):
            yield self._shaped(piece, key_texts(piece, self.key), UPSERT)
        if had and self.deletes:
            if self.key and not self.is_unique:
                yield from self._staying(had)
            for piece in self._pieces(self.change.went, lambda rows: had.take(_hashes(rows))):
                gone, keys = self._unsent(piece)
                if keys:
                    yield self._shaped(gone, keys, DELETE)

    def _unsent(self, piece: pa.RecordBatch) -> tuple[pa.RecordBatch, list[str]]:
        """Rows that went, of whose key none was sent, and these keys."""
        keys = key_texts(piece, self.key)
        # One that is there with other values, and wanted, was sent with them.
        is_unsent = [key not in self._sent[UPSERT] for key in keys]
        return piece.filter(pa.array(is_unsent)), list(compress(keys, is_unsent))

    def _staying(self, had: RowBag) -> Iterator[Shaped]:
        """Rows that are there as they were, and have the key of one that went.

        Who has one row a key may have had that one, and would lose it.
        """
        gone = []
        for piece in self._pieces(self.change.went, lambda rows: had.has(_hashes(rows))):
            unsent, keys = self._unsent(piece)
            if keys:
                gone.append(hash_rows(unsent, self.key))
        lost, now = RowBag(gone), self.change.now if gone else Files(kept={})
        for piece in self._pieces(now, lambda rows: lost.has(hash_rows(rows, self.key))):
            yield self._shaped(piece, key_texts(piece, self.key), UPSERT)

    def _pieces(
        self, files: Files, wanted: Callable[[pa.RecordBatch], Mask]
    ) -> Iterator[pa.RecordBatch]:
        """Some rows of files of this share, thousands at once: Spark may have to shape them."""
        waiting: list[pa.RecordBatch] = []
        for rows in self._own(files):
            found = rows.filter(pa.array(wanted(rows)))
            waiting += [found] if found.num_rows else []
            if sum(some.num_rows for some in waiting) >= PIECE_ROWS:
                yield from _together(waiting)
                waiting.clear()
        yield from _together(waiting)

    @property
    def _is_by_files(self) -> bool:
        """Whether files are shared out, each of which is read once, and not keys.

        It is the same for all shares: nothing of the table counts as sent until the last is done.
        """
        return self.change.is_first and self.is_unique

    def _own(self, files: Files) -> Iterator[pa.RecordBatch]:
        """Rows of files of this share."""
        shares, share = self.begun.shares, self.begun.share
        columns, key = self.change.columns, self.key or self.change.columns.names
        if self._is_by_files:
            own = _share_of(files.files, share, shares)
            yield from pieces_of(self.log, own, columns, files.kept, most=_READ_ROWS)
            return
        for rows in pieces_of(self.log, files.files, columns, files.kept, most=_READ_ROWS):
            if shares == 1:
                yield rows
                continue
            is_own: Mask = hash_rows(rows, key).high % np.uint64(shares) == share
            yield rows.filter(pa.array(is_own))

    def _shaped(self, rows: pa.RecordBatch, keys: list[str], became: str) -> Shaped:
        revision = Revision(
            feed=self.feed,
            table=self.change.table,
            table_id=self.change.table_id,
            version=self.change.until.version,
            time_us=self.begun.time_us,
        )
        shaped = self.shape(rows, became, revision.identity(keys))
        if self._is_by_files:  # no two have one key, and none went that would be looked for
            return shaped
        sent, ordinals = self._sent[became], []
        for source in shaped.rows["source"].to_pylist():
            key = key_in(source)
            ordinals.append(sent.get(key, 0))
            sent[key] = ordinals[-1] + 1
        place = shaped.rows.schema.get_field_index("ordinal")
        told = shaped.rows.set_column(place, "ordinal", pa.array(ordinals, pa.int32()))
        values = shaped.values
        if became == DELETE:
            values = [DeletedRow(value) for value in values]
        return Shaped(rows=told, values=values)


def _share_of(files: Sequence[DataFile], share: int, shares: int) -> list[DataFile]:
    """Files of a share, which have about as many rows as those of each other."""
    rows, before, own = max(1, sum(file.rows for file in files)), 0, []
    for file in files:
        if min(before * shares // rows, shares - 1) == share:
            own.append(file)
        before += file.rows
    return own


def _hashes(rows: pa.RecordBatch) -> Hashes:
    return hash_rows(rows, rows.schema.names)


def _together(some: Sequence[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    if some:
        rows = pa.concat_batches(some)
        for start in range(0, rows.num_rows, PIECE_ROWS):
            yield rows.slice(start, PIECE_ROWS)
