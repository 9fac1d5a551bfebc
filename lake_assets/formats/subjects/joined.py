"""Parts of a batch put back where their rows were, each with the columns that it has.

Whose rows a part is, is not known here.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.formats.base import Decoded
from lake_assets.formats.questions import Question, SchemaIdQuestion


def with_columns(rows: pa.RecordBatch, columns: pa.Schema) -> pa.RecordBatch:
    """Rows, as `Decoded` counts them, with all columns: null in those that they lack."""
    found = dict(zip(rows.schema.names, rows.columns, strict=True))
    arrays = [
        found[one.name] if one.name in found else pa.nulls(rows.num_rows, one.type)
        for one in columns
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=columns)


class Joined:
    """Parts of a batch put back where their rows were."""

    def __init__(self, columns: pa.Schema, total: int) -> None:
        """Nothing is there yet.

        Args:
            columns: of all parts; a part may lack some.
            total: rows of the batch.
        """
        self._schema = columns
        self._total = total
        self._rows: list[pa.Array] = []
        self._columns: dict[str, list[tuple[int, pa.Array]]] = {}
        self._reason = [pa.nulls(0, pa.string())]
        self._detail = [pa.nulls(0, pa.string())]
        self._question = [pa.nulls(0, pa.int32())]
        self._message = [pa.nulls(0, pa.int64())]
        self._questions: dict[Question, int] = {}
        self._messages: list[str] = []

    def add(self, part: Decoded, rows: pa.Array) -> None:
        """Rows that were decoded, and where they were."""
        for name, array in zip(part.columns.schema.names, part.columns.columns, strict=True):
            self._columns.setdefault(name, []).append((len(self._rows), array))
        self._rows.append(rows)
        self._reason.append(part.reason)
        self._detail.append(part.detail)
        places = [self._questions.setdefault(one, len(self._questions)) for one in part.questions]
        self._question.append(pa.array(places, pa.int32()).take(part.question))
        message = pa.nulls(len(rows), pa.int64())
        if part.message is not None:
            message = pc.add(part.message.cast(pa.int64()), len(self._messages))
            self._messages += part.messages
        self._message.append(message)

    def with_others(self, reason: pa.Array, detail: pa.Array, asked: pa.DictionaryArray) -> Decoded:
        """All rows, with what is said of those that are of no part.

        Args:
            reason: why a row is refused.
            detail: what that means.
            asked: the schema id that a row asks about.
        """
        own: list[Question] = [SchemaIdQuestion(one) for one in asked.dictionary.to_pylist()]
        where = self._where(range(len(self._rows)))
        question = pc.add(pa.concat_arrays(self._question).take(where), len(own))
        return Decoded(
            columns=self._spread(),
            reason=pc.coalesce(reason, pa.concat_arrays(self._reason).take(where)),
            detail=pc.coalesce(detail, pa.concat_arrays(self._detail).take(where)),
            question=pc.coalesce(asked.indices.cast(pa.int32()), question.cast(pa.int32())),
            questions=(*own, *self._questions),
            message=pa.concat_arrays(self._message).take(where),
            messages=tuple(self._messages),
        )

    def _spread(self) -> pa.RecordBatch:
        """Each column from the parts that have it."""
        places: dict[tuple[int, ...], pa.Array] = {}
        arrays = []
        for one in self._schema:
            found = self._columns.get(one.name)
            if found is None:
                arrays.append(pa.nulls(self._total, one.type))
                continue
            parts = tuple(part for part, _ in found)
            if parts not in places:
                places[parts] = self._where(parts)
            arrays.append(pa.concat_arrays([array for _, array in found]).take(places[parts]))
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _where(self, parts: Sequence[int]) -> pa.Array:
        """By row of the batch, where it is among the rows of some parts; null of others."""
        sources = np.full(self._total, -1, np.int64)
        start = 0
        for part in parts:
            count = len(self._rows[part])
            sources[self._rows[part].to_numpy()] = np.arange(start, start + count)
            start += count
        return pa.array(sources, mask=sources < 0)
