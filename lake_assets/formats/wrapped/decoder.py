"""Envelopes in the workers: decoded, and then what is in their bytes, into one row.

Knows neither format. What a row is refused for or asks is the envelope's, if it is not decoded, and
else the body's.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.delta.renamed_columns import Renames
from lake_assets.formats.base import Decoded, Decoder, HasMessageColumns
from lake_assets.formats.confluent.framing import schema_ids, with_ids
from lake_assets.formats.questions import WrappedQuestion
from lake_assets.model.quarantine import Reason

MOST_ID = 0xFFFFFFFF
"""The largest id that framing has room for."""

TAKEN = pa.null()
"""Type of a column that stands for a name of the envelope's, so that no body's goes with it."""

_TAKEN_TOLD = f"and the column is {TAKEN}"
_TAKEN_MEANT = "and the envelope has a column of that name"


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where bodies are in decoded envelopes."""

    column: str
    """Of bytes."""

    schema_id: str | None
    """Column of ids; None if they are in the bytes, or if there are none."""

    path: bytes
    """What stands between an id of a column and the bytes, for the body's decoder."""

    prefix: str
    """Of the body's columns."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WrappedDecoder:
    """A `formats.base.Decoder`."""

    outer: Decoder
    inner: Decoder
    place: Place
    columns: pa.Schema
    unused: pa.Schema
    renames: Renames

    @property
    def has_waiting(self) -> bool:
        """Whether rows of some schema ids wait, of envelopes or bodies."""
        return self.outer.has_waiting or self.inner.has_waiting

    @property
    def message_columns(self) -> Mapping[str, frozenset[str]]:
        """By message type of bodies, its columns and all of the envelope's.

        Raises:
            TypeError: the body's decoder does not tell.
        """
        if not isinstance(self.inner, HasMessageColumns):
            message = f"{type(self.inner).__name__} does not tell the columns of messages"
            raise TypeError(message)
        own = {*self.outer.columns.names} - {self.place.column}
        return {
            message: frozenset({*own, *(f"{self.place.prefix}{name}" for name in names)})
            for message, names in self.inner.message_columns.items()
        }

    def decode(self, batch: pa.RecordBatch) -> Decoded:
        """Decode envelopes, and the bodies of those that are decoded."""
        envelopes, total = self.outer.decode(batch), batch.num_rows
        is_open = pc.and_(pc.is_null(envelopes.reason), pc.is_null(envelopes.question))
        values, ids = self._bodies(envelopes.columns)
        is_empty = pc.and_(is_open, pc.is_null(values))
        has_body = pc.and_(is_open, pc.is_valid(values))
        rows = None if pc.all(has_body, min_count=0).as_py() else pc.indices_nonzero(has_body)
        given = pa.record_batch({"value": values, "schema_id": ids})
        bodies = self.inner.decode(given if rows is None else given.take(rows))
        where = None if rows is None else _places(rows, total)
        empty = pc.if_else(is_empty, _EMPTY, _NO_TEXT)
        reason = pc.coalesce(envelopes.reason, empty, _at(bodies.reason, where))
        detail = pc.coalesce(envelopes.detail, self._details(bodies, where))
        detail = pc.if_else(is_empty, pa.scalar(f"in {self.place.column}", pa.string()), detail)
        asked = _at(bodies.question, where).cast(pa.int32())
        asked = pc.add(asked, pa.scalar(len(envelopes.questions), pa.int32()))
        question = pc.coalesce(envelopes.question.cast(pa.int32()), asked)
        is_good = pc.and_(pc.is_null(reason), pc.is_null(question))
        message = None if bodies.message is None else _at(bodies.message, where)
        return Decoded(
            columns=self._joined(envelopes.columns, bodies.columns, where, is_good),
            reason=reason,
            detail=detail,
            question=question,
            questions=(*envelopes.questions, *map(WrappedQuestion, bodies.questions)),
            message=message,
            messages=bodies.messages,
        )

    def _bodies(self, envelopes: pa.RecordBatch) -> tuple[pa.Array, pa.Array]:
        """The bodies' values, framed, and their ids; values are null where there is no body."""
        place, total = self.place, envelopes.num_rows
        if place.column not in envelopes.schema.names:  # no envelope with one has come yet
            return pa.nulls(total, pa.binary()), pa.nulls(total, pa.int64())
        values = envelopes[place.column].cast(pa.binary())
        if place.schema_id is None:
            has_some = pc.greater(pc.binary_length(values), 0)
            values = pc.if_else(has_some, values, pa.scalar(None, pa.binary()))
            return values, schema_ids(values)
        names = envelopes.schema.names
        has_ids = place.schema_id in names
        ids = envelopes[place.schema_id] if has_ids else pa.nulls(total, pa.int64())
        ids = ids.cast(pa.int64(), safe=False)
        is_id = pc.and_(pc.greater(ids, 0), pc.less_equal(ids, MOST_ID)).fill_null(fill_value=False)
        # Of no bytes an id says that they are a message all the same: one of nothing but defaults.
        has_some = pc.or_(pc.greater(pc.binary_length(values), 0), is_id)
        whole = with_ids(values, pc.if_else(is_id, ids, pa.scalar(None, pa.int64())), place.path)
        whole = pc.if_else(is_id, whole, values)
        known = pc.if_else(is_id, ids, pa.scalar(None, pa.int64()))
        return pc.if_else(has_some, whole, pa.scalar(None, pa.binary())), known

    def _details(self, bodies: Decoded, where: pa.Array | None) -> pa.Array:
        """What the body's reasons mean, with the column that the body is in."""
        start, reason = f"in {self.place.column}", bodies.reason
        if reason.null_count == len(reason):
            return _at(bodies.detail, where)
        told = pc.replace_substring(bodies.detail, _TAKEN_TOLD, _TAKEN_MEANT)
        if self.place.schema_id is not None:
            no_id = pc.equal(reason, Reason.NOT_FRAMED.value).fill_null(fill_value=False)
            no_text = pa.scalar(f"{self.place.schema_id} has no id of a schema", pa.string())
            told = pc.coalesce(told, pc.if_else(no_id, no_text, _NO_TEXT))
        whole = pc.binary_join_element_wise(start, told, ": ")
        whole = pc.coalesce(whole, pa.scalar(start, pa.string()))
        return _at(pc.if_else(pc.is_valid(reason), whole, _NO_TEXT), where)

    def _joined(
        self,
        envelopes: pa.RecordBatch,
        bodies: pa.RecordBatch,
        where: pa.Array | None,
        is_good: pa.Array,
    ) -> pa.RecordBatch:
        """The columns of both, null where a row is not decoded."""
        total, prefix = envelopes.num_rows, self.place.prefix
        is_whole = pc.all(is_good, min_count=0).as_py()
        rows = pa.array(range(total), pa.int64()) if not is_whole else None
        kept = None if rows is None else pc.if_else(is_good, rows, pa.scalar(None, pa.int64()))
        found = {
            name: _at(array, kept)
            for name, array in zip(envelopes.schema.names, envelopes.columns, strict=True)
            if name != self.place.column
        }
        for name, array in zip(bodies.schema.names, bodies.columns, strict=True):
            if array.type != TAKEN:
                found[f"{prefix}{name}"] = _at(array, where)
        arrays = [
            found[one.name] if one.name in found else pa.nulls(total, one.type)
            for one in self.columns
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.columns)


# Not by `pa.scalar`, which imports pandas: this module is imported by commands, too.
_NO_TEXT = pa.nulls(1, pa.string())[0]
_EMPTY = Reason.EMPTY_VALUE.value


def _places(rows: pa.Array, total: int) -> pa.Array:
    """By row, where it is among `rows`; null where it is not."""
    every = pa.array(range(total), pa.int64())
    return pc.index_in(every, value_set=rows.cast(pa.int64()))


def _at(array: pa.Array, where: pa.Array | None) -> pa.Array:
    return array if where is None else array.take(where)
