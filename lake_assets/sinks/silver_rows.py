"""What a sink of silver follows: rows that were added to a feed's silver tables."""

from collections.abc import Collection, Iterator
from pathlib import Path

import pyarrow as pa

from lake_assets.delta.catalog import keys_found
from lake_assets.model.sinks import UNSENT
from lake_assets.model.tables import TableRef
from lake_assets.sinks.added_rows import AddedRows, Refused
from lake_assets.sinks.following import Whose
from lake_assets.sinks.origins import SilverOrigins
from lake_assets.sinks.shape import Shaped, Shaper


class SilverRows(AddedRows):
    """Follows the silver tables of a feed; a `sinks.following.Following`."""

    def __init__(self, whose: Whose, note: Path) -> None:
        """As `AddedRows`."""
        super().__init__(whose, note)
        shaped = (whose.session, whose.feed, whose.sink, whose.target.rows_of)
        self._shaper = Shaper(*shaped, hidden=UNSENT)
        self._origins = SilverOrigins(whose.feed, whose.sink)
        self.offset_column = self._origins.offset_column

    def tables(self) -> Collection[TableRef]:
        """As `AddedRows.tables`: those of all keys."""
        return [self._feed.silver_table(key) for key in keys_found(self._lake, self._feed)]

    def made_of(self, table: TableRef, rows: pa.RecordBatch) -> Iterator[Shaped | Refused]:
        """As `AddedRows.made_of`: all are sent that are wanted."""
        yield self._shaper.shape(rows, self._origins.of(table.relative, rows))
