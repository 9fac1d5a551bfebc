"""Which rows of silver are which: their origins, as columns of `IDENTITY`. Pure."""

from collections.abc import MutableMapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.errors import LakeError
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import tables_owner
from lake_assets.model.origins import FEED
from lake_assets.model.sinks import Sink
from lake_assets.model.transforms import ELEMENT
from lake_assets.sinks.base import IDENTITY


class SilverOrigins:
    """Reads origins of a feed's silver rows, for one sink."""

    def __init__(self, feed: Feed, sink: Sink) -> None:
        """Of rows that may be other feeds' which fill the same tables."""
        self._origin = feed.source.origin.in_silver
        self._thing = f"sink {sink.name!r} of feed {feed.feed!r}"
        self._owner = tables_owner(feed)
        self.offset_column = self._origin.offset
        """What the tables call a row's offset."""

    def of(self, table: str, rows: pa.RecordBatch) -> pa.Table:
        """The origins of a table's rows (`IDENTITY`).

        Raises:
            LakeError: a row has none.
        """
        origin, count, names = self._origin, rows.num_rows, set(rows.schema.names)
        if any(rows[name].null_count for name in origin.identity):
            fact = f"{self._thing}: has rows without an origin, which cannot be told apart"
            step = "Only the streams write to silver; delete rows that others wrote"
            raise LakeError(table, fact, step)
        parts: MutableMapping[str, Any] = {
            "table": pa.repeat(table, count),
            "feed": self._feeds_of(rows),
            "source": rows[origin.name],
            "partition": rows[origin.partition] if origin.partition else pa.repeat(0, count),
            "offset": rows[origin.offset],
            "source_time": self._times_of(rows),
            "ordinal": rows[ELEMENT] if ELEMENT in names else pa.repeat(0, count),
        }
        columns = [parts[field.name].cast(field.type) for field in IDENTITY]
        return pa.Table.from_arrays(columns, schema=IDENTITY)

    def _feeds_of(self, rows: pa.RecordBatch) -> pa.Array:
        if FEED not in rows.schema.names:
            return pa.repeat(self._owner, rows.num_rows)
        return pc.fill_null(rows[FEED], self._owner)

    def _times_of(self, rows: pa.RecordBatch) -> pa.Array:
        kind = IDENTITY.field("source_time").type
        if not self._origin.time:
            return pa.repeat(pa.scalar(0, kind), rows.num_rows)
        return pc.fill_null(rows[self._origin.time].cast(kind), pa.scalar(0, kind))
