"""What sinks of bronze and silver follow: rows that were added to tables, told by their origins.

Which tables, and what of a table's rows is sent, is each one's own.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.delta.deletion_vectors import Mask, kept_rows
from lake_assets.delta.files_between import files_between
from lake_assets.delta.increments import Point
from lake_assets.delta.log_history import open_table
from lake_assets.delta.table_features import Use, features_of
from lake_assets.delta.table_log import log_of
from lake_assets.errors import LakeError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.model.tables import TableRef
from lake_assets.sinks.base import Refusal
from lake_assets.sinks.batches import Part, SinkBatch, next_batch, write_note
from lake_assets.sinks.calls import RefusedRows, WaitingRows
from lake_assets.sinks.deliveries import Progress
from lake_assets.sinks.following import Ready, Whose
from lake_assets.sinks.shape import Shaped
from lake_assets.sinks.table_rows import pieces_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Refused:
    """Rows that cannot be sent."""

    rows: pa.Table
    """Which they are: `IDENTITY`."""

    refusals: Sequence[Refusal]


class AddedRows(ABC):
    """Follows tables to which rows are added; a `sinks.following.Following`."""

    offset_column: str
    """What the tables call a row's offset."""

    def __init__(self, whose: Whose, note: Path) -> None:
        """Nothing is looked at yet; a batch is noted in `note` before its first call."""
        self._lake, self._feed, self._note = whose.lake, whose.feed, note
        self._deliveries = whose.deliveries
        self._columns: dict[TableRef, pa.Schema] = {}

    @abstractmethod
    def tables(self) -> Collection[TableRef]:
        """The tables that are followed."""

    @abstractmethod
    def made_of(self, table: TableRef, rows: pa.RecordBatch) -> Iterator[Shaped | Refused]:
        """What is sent of some rows of a table, and what of them cannot be; raises as `next`."""

    def columns_in(self, table: pa.Schema) -> pa.Schema:
        """Which of a table's columns are read."""
        return table

    def next(self) -> Ready | None:
        """As `Following.next`."""
        self._deliveries.look_again()
        tables = sorted(set(self.tables()))
        points = {table: self._deliveries.point_of(table.relative) for table in tables}
        batch = next_batch(self._lake, self._deliveries, points, self._note)
        if batch is None:
            return None
        self._take_in(batch)
        ends = {part.table.relative: part.until for part in batch.parts}
        return Ready(
            number=batch.number,
            has_rows=batch.has_files,
            begin=lambda: self._begin(batch),
            rows=lambda: self._rows(batch),
            progress=Progress(batch=batch.number, points=ends),
            end=self._end,
        )

    def rows_again(self, table: TableRef, asked: pa.Table) -> Iterator[Shaped]:
        """As `Following.rows_again`; none of another table, which the sink followed once."""
        if table not in self.tables():
            return
        handle, column = open_table(self._lake, table), self.offset_column
        if handle is None:
            return
        offsets = asked["offset"].combine_chunks()
        bounds = pc.min_max(offsets).as_py()
        part = Part(
            table=table,
            after=Point(),
            until=Point(version=handle.version()),
            files=tuple(files_between(handle, column, bounds["min"], bounds["max"])),
            has_deleted_rows=True,
        )
        for piece in self._pieces(part):
            having = piece.filter(pc.is_in(piece[column], offsets))
            if having.num_rows:
                for made in self.made_of(table, having):
                    if isinstance(made, Shaped):
                        yield made

    def _take_in(self, batch: SinkBatch) -> None:
        """Note which tables have other columns since a batch, also where it has no rows of them."""
        for part in batch.parts:
            if part.has_other_columns:
                self._columns.pop(part.table, None)

    def _begin(self, batch: SinkBatch) -> None:
        try:
            write_note(self._note, batch)
        except OSError as problem:
            fact = f"cannot be written ({problem.strerror or problem})"
            raise LakeError(str(self._note), fact, "Free some space") from problem

    def _end(self) -> None:
        with suppress(OSError):  # a number that is done fits no batch
            self._note.unlink(missing_ok=True)

    def _rows(self, batch: SinkBatch) -> Iterator[WaitingRows | RefusedRows]:
        for part in batch.parts:
            for piece in self._pieces(part):
                for made in self.made_of(part.table, piece):
                    before, own = self._deliveries.is_recorded(made.rows, batch.number)
                    if isinstance(made, Shaped):
                        yield WaitingRows.of(made, own).only(~before)
                    else:
                        yield RefusedRows(made.rows, made.refusals, own).only(~before)

    def _pieces(self, part: Part) -> Iterator[pa.RecordBatch]:
        log = log_of(self._lake, part.table)
        if not part.files:
            return
        kept: Mapping[LakeUri, Mask] = {}
        if part.has_deleted_rows or part.table not in self._columns:
            handle = log.open(part.until.version)
            features_of(handle).ensure(Use.READ)
            self._columns[part.table] = self.columns_in(pa.schema(handle.schema()))
            kept = kept_rows(log, handle)
        yield from pieces_of(log, part.files, self._columns[part.table], kept)
