"""Avro in the workers: bronze's values to columns, refusals and questions.

Knows no registry: what `Decoding` has no answer for comes back as a question.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.delta.renamed_columns import Renames
from lake_assets.formats.avro.cursor import Cursor, Source
from lake_assets.formats.avro.decoding_plan import Decoding
from lake_assets.formats.avro.nested import decode_fields
from lake_assets.formats.avro.schema import Type
from lake_assets.formats.bad_rows import with_problems
from lake_assets.formats.base import Decoded
from lake_assets.formats.confluent.framing import START
from lake_assets.formats.confluent.other_rows import judge
from lake_assets.formats.confluent.schemas import FIRST
from lake_assets.formats.questions import MessageQuestion, Question, SchemaIdQuestion
from lake_assets.model.quarantine import Reason


@dataclass(frozen=True, slots=True)
class AvroDecoder:
    """A `formats.base.Decoder`."""

    plan: Decoding

    @property
    def columns(self) -> pa.Schema:
        """Columns of the decoded rows."""
        return self.plan.columns

    @property
    def unused(self) -> pa.Schema:
        """None: the newest version's columns are there before its rows are."""
        return pa.schema([])

    @property
    def renames(self) -> Renames:
        """Older names of columns."""
        return self.plan.renames

    @property
    def message_columns(self) -> Mapping[str, frozenset[str]]:
        """By record, the columns that its rows may have."""
        return self.plan.message_columns

    @property
    def has_waiting(self) -> bool:
        """Whether rows of some schema ids wait for the registry."""
        return bool(self.plan.waiting_ids)

    def decode(self, batch: pa.RecordBatch) -> Decoded:
        """Decode bronze rows, by `value` and `schema_id`."""
        values = batch["value"].cast(pa.binary())
        return with_problems(batch, self._decoded(values, batch["schema_id"].cast(pa.int64())))

    def _decoded(self, values: pa.Array, ids: pa.Array) -> Decoded:
        sole = self._sole_reader(values, ids)
        if sole is None:
            return self._decode_mixed(values, ids)
        columns, problems = read(sole, values, self.columns, header=self.plan.header)
        details = _placed(problems, len(values))
        return Decoded(
            columns=columns,
            reason=_undecodable(details),
            detail=details,
            question=pa.nulls(len(values), pa.int32()),
            message=pa.repeat(pa.scalar(0, pa.int32()), len(values)),
            messages=(sole.name,),
        )

    def _sole_reader(self, values: pa.Array, ids: pa.Array) -> Type | None:
        """The reader of all rows, where one reads them all; the usual case, and cheap."""
        if not len(ids) or ids.null_count or values.null_count:
            return None
        is_same = pc.all(pc.equal(ids, ids[0])).as_py()
        return self.plan.readers.get(ids[0].as_py()) if is_same else None

    def _decode_mixed(self, values: pa.Array, ids: pa.Array) -> Decoded:
        known = pa.array(sorted({*self.plan.readers, *self.plan.open_ids}), pa.int64())
        is_known = pc.is_in(ids, value_set=known)
        reason, detail, asked = judge(values, ids, is_known, self.plan)
        is_open = pc.is_in(ids, value_set=pa.array(sorted(self.plan.open_ids), pa.int64()))
        asked = pc.if_else(is_open, ids, asked).dictionary_encode()
        questions: tuple[Question, ...] = tuple(
            MessageQuestion(one, FIRST) if one in self.plan.open_ids else SchemaIdQuestion(one)
            for one in asked.dictionary.to_pylist()
        )
        problems: dict[int, str] = {}
        sources = np.full(len(ids), -1, np.int64)
        parts = [pa.RecordBatch.from_pylist([], schema=self.columns)]
        start = 0
        for schema_id in pc.unique(ids.drop_null()).to_pylist():
            if schema_id not in self.plan.readers:
                continue
            rows = np.flatnonzero(pc.equal(ids, schema_id).fill_null(fill_value=False))
            taken = values.take(pa.array(rows))
            reader = self.plan.readers[schema_id]
            columns, found = read(reader, taken, self.columns, header=self.plan.header)
            problems |= {int(rows[row]): problem for row, problem in found.items()}
            sources[rows] = np.arange(start, start + len(rows))
            start += len(rows)
            parts.append(columns)
        details = _placed(problems, len(ids))
        columns = pa.concat_batches(parts).take(pa.array(sources, mask=sources < 0))
        return Decoded(
            columns=columns,
            reason=pc.coalesce(reason, _undecodable(details)),
            detail=pc.coalesce(detail, details),
            question=asked.indices.cast(pa.int32()),
            questions=questions,
            message=pc.index_in(ids, value_set=pa.array(list(self.plan.readers), pa.int64())),
            messages=tuple(reader.name for reader in self.plan.readers.values()),
        )


def read(
    record: Type, values: pa.Array, columns: pa.Schema, *, header: int = START
) -> tuple[pa.RecordBatch, Mapping[int, str]]:
    """Decode values of one writer; no row makes another fail.

    Args:
        record: the writer's.
        values: binary, framed, without nulls.
        columns: what the rows become.
        header: bytes that each has before its datum.

    Returns:
        The columns, null in bad rows, and by row what is wrong with it.
    """
    source, start, end = Source.of(values)
    cursor = Cursor(source, np.arange(len(values)), np.minimum(start + header, end), end)
    arrays = decode_fields(record, list(columns), cursor)
    left = end - cursor.at
    for extra in np.unique(left[left > 0]).tolist():
        cursor.refuse(left == extra, f"{extra} bytes are left over after the record", "")
    batch = pa.RecordBatch.from_arrays(arrays, schema=columns)
    problems = source.problems
    if problems:
        is_bad = np.zeros(len(values), np.bool_)
        is_bad[list(problems)] = True
        batch = batch.take(pa.array(np.arange(len(values)), mask=is_bad))
    return batch, problems


def _placed(problems: Mapping[int, str], total: int) -> pa.Array:
    """The problems where their rows are; null elsewhere."""
    if not problems:
        return pa.nulls(total, pa.string())
    texts = np.full(total, None, object)
    texts[list(problems)] = list(problems.values())
    return pa.array(texts, pa.string())


def _undecodable(details: pa.Array) -> pa.Array:
    word = pa.scalar(Reason.UNDECODABLE.value, pa.string())
    return pc.if_else(pc.is_valid(details), word, pa.scalar(None, pa.string()))
