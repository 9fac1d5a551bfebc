"""What a sink of silver follows: rows that were added to a feed's tables, told by origins."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.delta.catalog import keys_found
from lake_assets.delta.deletion_vectors import Mask, kept_rows
from lake_assets.delta.files_between import files_between
from lake_assets.delta.increments import Point
from lake_assets.delta.log_history import open_table
from lake_assets.delta.table_features import Use, features_of
from lake_assets.delta.table_log import log_of
from lake_assets.errors import LakeError
from lake_assets.model.sources import ORIGIN_NAMES
from lake_assets.model.tables import Layer, TableRef
from lake_assets.model.transforms import ELEMENT
from lake_assets.sinks.batches import Part, SinkBatch, next_batch, write_note
from lake_assets.sinks.calls import WaitingRows
from lake_assets.sinks.deliveries import Progress
from lake_assets.sinks.following import Ready, Whose
from lake_assets.sinks.origins import SilverOrigins
from lake_assets.sinks.shape import Shaped, Shaper
from lake_assets.sinks.table_rows import pieces_of
from lake_assets.storage.uri import LakeUri


class SilverRows:
    """Follows the silver tables of a feed; a `sinks.following.Following`."""

    def __init__(self, whose: Whose, note: Path) -> None:
        """Nothing is looked at yet; a batch is noted in `note` before its first call."""
        self._lake, self._feed, self._note = whose.lake, whose.feed, note
        self._deliveries = whose.deliveries
        shaped = (whose.session, whose.feed, whose.sink, whose.target.rows_of)
        self._shaper = Shaper(*shaped, hidden={*ORIGIN_NAMES, ELEMENT})
        self._origins = SilverOrigins(whose.feed, whose.sink)
        self._columns: dict[TableRef, pa.Schema] = {}

    def next(self) -> Ready | None:
        """As `Following.next`."""
        self._deliveries.look_again()
        tables = [self._feed.silver_table(key) for key in keys_found(self._lake, self._feed)]
        points = {table: self._deliveries.point_of(table.relative) for table in sorted(set(tables))}
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
        """As `Following.rows_again`; none of a view that the sink followed once."""
        if table.layer is not Layer.SILVER:
            return
        handle, column = open_table(self._lake, table), self._origins.offset_column
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
                yield self._shaped(part, having)

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

    def _rows(self, batch: SinkBatch) -> Iterator[WaitingRows]:
        for part in batch.parts:
            for piece in self._pieces(part):
                shaped = self._shaped(part, piece)
                before, own = self._deliveries.is_recorded(shaped.rows, batch.number)
                yield WaitingRows.of(shaped, own).only(~before)

    def _shaped(self, part: Part, rows: pa.RecordBatch) -> Shaped:
        return self._shaper.shape(rows, self._origins.of(part.table.relative, rows))

    def _pieces(self, part: Part) -> Iterator[pa.RecordBatch]:
        log = log_of(self._lake, part.table)
        if not part.files:
            return
        kept: Mapping[LakeUri, Mask] = {}
        if part.has_deleted_rows or part.table not in self._columns:
            handle = log.open(part.until.version)
            features_of(handle).ensure(Use.READ)
            self._columns[part.table] = pa.schema(handle.schema())
            kept = kept_rows(log, handle)
        yield from pieces_of(log, part.files, self._columns[part.table], kept)
