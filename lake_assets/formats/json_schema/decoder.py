"""Framed JSON in the workers: bronze's values to columns, `_rescued`, refusals and questions.

Which rows are read their ids say; how, `formats.json`. Knows no registry.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.delta.renamed_columns import Renames
from lake_assets.formats.base import Decoded
from lake_assets.formats.confluent.other_rows import judge
from lake_assets.formats.confluent.schemas import FIRST
from lake_assets.formats.json.decoder import JsonDecoder
from lake_assets.formats.json_schema.decoding_plan import Decoding
from lake_assets.formats.questions import MessageQuestion, Question, SchemaIdQuestion

_HEADER = 5
"""Bytes of magic byte and schema id."""

_NO_COLUMNS = pa.schema([])


@dataclass(frozen=True, kw_only=True, slots=True)
class JsonSchemaDecoder:
    """A `formats.base.Decoder`."""

    plan: Decoding
    inner: JsonDecoder
    """Of the values behind the header."""

    name: str = ""
    """What the subject's records are called."""

    own: frozenset[str] = frozenset()
    """The columns that its rows may have."""

    unused: pa.Schema = _NO_COLUMNS
    renames: Renames = field(default_factory=Renames)

    @property
    def columns(self) -> pa.Schema:
        """Columns of the decoded rows."""
        return self.inner.columns

    @property
    def message_columns(self) -> Mapping[str, frozenset[str]]:
        """The columns that rows may have, by what they are called."""
        return {self.name: self.own}

    @property
    def has_waiting(self) -> bool:
        """Whether rows of some schema ids wait for the registry."""
        return bool(self.plan.waiting_ids)

    def decode(self, batch: pa.RecordBatch) -> Decoded:
        """Decode bronze rows, by `value` and `schema_id`."""
        values, ids = batch["value"].cast(pa.binary()), batch["schema_id"].cast(pa.int64())
        is_read = _is_among(ids, self.plan.readable)
        if pc.all(is_read, min_count=0).as_py():
            return replace(self._read(values), **self._called(len(values)))
        is_open = _is_among(ids, self.plan.open_ids)
        reason, detail, asked = judge(values, ids, pc.or_(is_read, is_open), self.plan)
        asked = pc.if_else(is_open, ids, asked).dictionary_encode()
        open_ids = self.plan.open_ids
        own: list[Question] = [
            MessageQuestion(one, FIRST) if one in open_ids else SchemaIdQuestion(one)
            for one in asked.dictionary.to_pylist()
        ]
        rows = pc.indices_nonzero(is_read).cast(pa.int64())
        read = self._read(values.take(rows))
        where = pc.index_in(pa.array(range(len(values)), pa.int64()), value_set=rows)
        of_values = pc.add(read.question.take(where), len(own))
        return Decoded(
            columns=read.columns.take(where),
            reason=pc.coalesce(reason, read.reason.take(where)),
            detail=pc.coalesce(detail, read.detail.take(where)),
            question=pc.coalesce(asked.indices.cast(pa.int32()), of_values.cast(pa.int32())),
            questions=(*own, *read.questions),
            **self._called(len(values)),
        )

    def _called(self, count: int) -> dict[str, Any]:
        """What all rows are called."""
        return {"message": pa.repeat(pa.scalar(0, pa.int32()), count), "messages": (self.name,)}

    def _read(self, values: pa.Array) -> Decoded:
        """The values of rows that are read, behind their headers."""
        # `binary_slice` without an end fails where some values end at the header (PyArrow 26).
        bodies = pc.binary_replace_slice(values, 0, _HEADER, b"")
        return self.inner.decode(pa.RecordBatch.from_arrays([bodies], names=["value"]))


def _is_among(ids: pa.Array, some: frozenset[int]) -> pa.Array:
    return pc.is_in(ids, value_set=pa.array(sorted(some), pa.int64()))
