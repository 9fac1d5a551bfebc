"""What a sink of bronze follows: a feed's rows as they came, decoded on their way to the sink.

They are decoded in this process, as the feed's payload says, by columns that are made anew at each
start: no table keeps any. Rows have the columns that they would have in silver.
"""

from collections.abc import Collection, Iterator
from pathlib import Path
from time import time
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.formats.base import Decoded, Decoder, PayloadFormat
from lake_assets.model.flows import origin_of
from lake_assets.model.sources import ORIGIN_NAMES
from lake_assets.model.tables import TableRef, bronze_of
from lake_assets.silver.rows import as_in_silver, demux_names, silver_schema
from lake_assets.sinks.added_rows import AddedRows, Refused
from lake_assets.sinks.base import Refusal
from lake_assets.sinks.following import Whose
from lake_assets.sinks.origins import SilverOrigins
from lake_assets.sinks.shape import Shaped, Shaper

_MOST_OF_VALUE = 4_096
"""Characters that a dead letter has of what could not be decoded; all of it is in bronze."""


class BronzeRows(AddedRows):
    """Follows the bronze table of a feed; a `sinks.following.Following`."""

    def __init__(self, whose: Whose, note: Path) -> None:
        """As `AddedRows`; no schema is asked for yet."""
        super().__init__(whose, note)
        assert whose.format is not None  # noqa: S101 - who makes sinks of bronze gives it
        shaped = (whose.session, whose.feed, whose.sink, whose.target.rows_of)
        self._shaper = Shaper(*shaped, hidden=ORIGIN_NAMES)
        self._origins = SilverOrigins(whose.feed, whose.sink)
        self._decoding = _Decoding(whose.format)
        self._read = demux_names(whose.feed)
        self.offset_column = whose.feed.source.origin.offset

    def tables(self) -> Collection[TableRef]:
        """As `AddedRows.tables`: the one there is."""
        return [bronze_of(self._feed.feed)]

    def columns_in(self, table: pa.Schema) -> pa.Schema:
        """As `AddedRows.columns_in`: those that are decoded, and those of the origin."""
        return pa.schema([field for field in table if field.name in self._read])

    def made_of(self, table: TableRef, rows: pa.RecordBatch) -> Iterator[Shaped | Refused]:
        """As `AddedRows.made_of`; what cannot be decoded is refused.

        Raises:
            RegistryError: schemas cannot be asked for.
            UnknownColumnsError: rows have names at which the feed is to stop.
        """
        origin = origin_of(self._feed)
        decoded = self._decoding.decode(rows)
        columns = [*decoded.columns.columns, *as_in_silver(rows, origin)]
        schema = silver_schema(decoded.columns.schema, origin)
        pairs = zip(columns, schema, strict=True)
        whole = pa.RecordBatch.from_arrays(
            [one if one.type == field.type else one.cast(field.type) for one, field in pairs],
            schema=schema,
        )
        identity = self._origins.of(table.relative, whole)
        is_refused = pc.is_valid(decoded.reason)
        is_good = pc.invert(is_refused)
        if decoded.reason.null_count:
            yield self._shaper.shape(whole.filter(is_good), identity.filter(is_good))
        if decoded.reason.null_count < len(decoded.reason):
            yield Refused(
                rows=identity.filter(is_refused),
                refusals=[
                    Refusal(reason=_in_words(reason, detail), value=_text(value))
                    for reason, detail, value in zip(
                        decoded.reason.filter(is_refused).to_pylist(),
                        decoded.detail.filter(is_refused).to_pylist(),
                        rows["value"].filter(is_refused).to_pylist(),
                        strict=True,
                    )
                ],
            )


class _Decoding:
    """A format's values decoded, its questions answered as they come."""

    def __init__(self, given: PayloadFormat[Any]) -> None:
        self._format = given
        self._schemas: Any = None
        self._decoder: Decoder | None = None

    def decode(self, rows: pa.RecordBatch) -> Decoded:
        """Decode rows of bronze; none of them is open."""
        if self._schemas is None:
            self._adopt(self._format.newest())
        else:
            self._adopt(self._format.for_next_batch(self._schemas, time()))
        while True:
            assert self._decoder is not None  # noqa: S101 - just made
            decoded = self._decoder.decode(rows)
            if not decoded.questions:
                return decoded
            self._adopt(self._format.resolve(self._schemas, frozenset(decoded.questions)))

    def _adopt(self, schemas: Any) -> None:  # noqa: ANN401 - the format's own
        if schemas is not self._schemas or self._decoder is None:
            decoder = self._format.plan(schemas, pa.schema([]), ())
            self._schemas, self._decoder = schemas, decoder


def _in_words(reason: str, detail: str | None) -> str:
    return f"{reason}: {detail}" if detail else reason


def _text(value: bytes | None) -> str:
    if value is None:
        return ""
    return value[: 4 * _MOST_OF_VALUE].decode(errors="replace")[:_MOST_OF_VALUE]
