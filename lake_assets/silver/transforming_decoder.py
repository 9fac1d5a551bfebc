"""Decoding with a feed's `transform` behind it, in Spark's workers.

Which columns the function gives was found before (`silver.transform_trial`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.delta.renamed_columns import Renames
from lake_assets.feeds.functions import NamedFunction
from lake_assets.formats.base import Decoded, Decoder
from lake_assets.model.quarantine import Reason
from lake_assets.silver.transform_call import transformed

_NO_COLUMNS = pa.schema([])


@dataclass(frozen=True, kw_only=True, slots=True)
class TransformingDecoder:
    """A `formats.base.Decoder` whose columns are what a function makes of another one's."""

    inner: Decoder
    function: NamedFunction
    takes: pa.Schema
    """Columns that the function is given: those of `inner`, used and unused, in some order."""

    gives: pa.Schema
    """Columns that it gives for them."""

    columns: pa.Schema
    """Those of the tables; of those that the function does not give, all rows have nulls."""

    unused: pa.Schema = _NO_COLUMNS
    renames: Renames = field(default_factory=Renames)

    @property
    def has_waiting(self) -> bool:
        """As the other decoder says."""
        return self.inner.has_waiting

    def decode(self, batch: pa.RecordBatch) -> Decoded:
        """Decode bronze rows, and have the function called with those that were decoded."""
        decoded = self.inner.decode(batch)
        is_fit = pc.and_(pc.is_null(decoded.reason), pc.is_null(decoded.question))
        are_all = bool(pc.all(is_fit).as_py())
        rows = _ordered(decoded.columns, self.takes)
        rows = rows if are_all else rows.filter(is_fit)
        if not rows.num_rows:
            none = self._placed(None, batch.num_rows)
            return replace(decoded, columns=none, given=decoded.columns)
        made = transformed(self.function.load(), rows, self.gives)
        places = None if are_all else _places(is_fit)
        found = made.columns if places is None else made.columns.take(places)
        columns = self._placed(found, batch.num_rows)
        decoded = replace(decoded, columns=columns, given=decoded.columns)
        return _refused(decoded, made.failures, places) if made.failures else decoded

    def _placed(self, made: pa.RecordBatch | None, rows: int) -> pa.RecordBatch:
        """As the tables' columns."""
        arrays = []
        for one in self.columns:
            if made is None or one.name not in made.schema.names:
                arrays.append(pa.nulls(rows, one.type))
                continue
            array = made[one.name]
            arrays.append(array if array.type == one.type else array.cast(one.type))
        return pa.RecordBatch.from_arrays(arrays, schema=self.columns)


def _refused(
    decoded: Decoded, failures: Sequence[tuple[int, str]], places: pa.Array | None
) -> Decoded:
    """The answer with the reason of rows for which the function failed."""
    count = len(decoded.reason)
    details = dict(failures)
    wanted = pa.array(range(count)) if places is None else places
    detail = pa.array([details.get(place) for place in wanted.to_pylist()], pa.string())
    word = pa.scalar(Reason.TRANSFORM_FAILED.value)
    reason = pc.if_else(pc.is_valid(detail), word, pa.scalar(None, pa.string()))
    return replace(
        decoded,
        reason=pc.coalesce(decoded.reason, reason),
        detail=pc.coalesce(decoded.detail, detail),
    )


def _places(is_fit: pa.Array) -> pa.Array:
    """Where each row is among those that fit; null of the others."""
    place = pc.subtract(pc.cumulative_sum(is_fit.cast(pa.int64())), 1)
    return pc.if_else(is_fit, place, pa.scalar(None, pa.int64()))


def _ordered(rows: pa.RecordBatch, columns: pa.Schema) -> pa.RecordBatch:
    """The rows as the columns say, with nulls where no row has used one yet."""
    arrays = [
        rows[one.name] if one.name in rows.schema.names else pa.nulls(rows.num_rows, one.type)
        for one in columns
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=columns)
