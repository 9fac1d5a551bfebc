"""The hot path: an Arrow array of framed messages to typed columns, without a loop over rows.

Runs in Spark's workers and knows no registry: what `Decoding` has no answer for comes back as a
question. What a refused row is worth is its caller's business.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.delta.renamed_columns import Renames
from lake_assets.formats.bad_rows import with_problems
from lake_assets.formats.base import Decoded
from lake_assets.formats.protobuf.decoders import handler_of
from lake_assets.formats.protobuf.decoding import Decoding, Reader
from lake_assets.formats.protobuf.isolate_errors import isolate
from lake_assets.formats.protobuf.normalize import normal_of
from lake_assets.formats.protobuf.reader_assignment import Assigned, assign, sole_reader
from lake_assets.model.quarantine import Reason


@dataclass(frozen=True, slots=True)
class ProtobufDecoder:
    """A `formats.base.Decoder`."""

    plan: Decoding

    @property
    def columns(self) -> pa.Schema:
        """Columns of the decoded rows."""
        return self.plan.columns

    @property
    def unused(self) -> pa.Schema:
        """Columns that no row has used yet."""
        return self.plan.unused

    @property
    def renames(self) -> Renames:
        """Older names of columns."""
        return self.plan.renames

    @property
    def message_columns(self) -> Mapping[str, frozenset[str]]:
        """By message type, the columns that its rows may have."""
        return self.plan.message_columns

    @property
    def has_waiting(self) -> bool:
        """Whether rows of some schema ids wait for the registry."""
        return bool(self.plan.waiting_ids)

    def decode(self, batch: pa.RecordBatch) -> Decoded:
        """Decode bronze rows, by `value` and `schema_id`."""
        return with_problems(batch, decode(batch["value"], batch["schema_id"], self.plan))


@dataclass(frozen=True, slots=True)
class _Part:
    """What one reader made of its rows."""

    decoded: pa.RecordBatch
    """The good rows, without gaps."""

    rows: pa.Array
    """int64: which input rows the reader got."""

    refused: dict[int, str]
    """Position in `rows` to complaint."""


def decode(values: pa.Array, schema_ids: pa.Array, decoding: Decoding) -> Decoded:
    """Decode messages of any version; no row makes another fail.

    A row's verdict depends on its bytes and on `decoding` alone, so a batch that runs again, or in
    other slices, gives the same rows.

    Args:
        values: binary; Confluent-framed protobuf.
        schema_ids: integers, one a value; null where the value is not framed.
        decoding: what is known of the ids.
    """
    values, ids = values.cast(pa.binary()), schema_ids.cast(pa.int64())
    sole = sole_reader(values, ids, decoding)
    none, unasked = pa.nulls(len(values), pa.string()), pa.nulls(len(values), pa.int32())
    kinds = tuple(reader.kind for reader in decoding.readers)
    if sole is None:
        assigned = assign(values, ids, decoding)
        spread = _spread(list(_read(assigned, decoding)), assigned, decoding.columns)
        return replace(spread, message=assigned.reader, messages=kinds)
    message = pa.repeat(pa.scalar(sole, pa.int64()), len(values))
    decoded, refused = _read_values(decoding.readers[sole], values, decoding.columns)
    if not refused:
        plain = Decoded(columns=decoded, reason=none, detail=none, question=unasked)
        return replace(plain, message=message, messages=kinds)
    part = _Part(decoded, pa.arange(0, len(values)), refused)
    assigned = Assigned(
        values=values, reader=pa.nulls(0, pa.int64()), reason=none, detail=none, question=unasked
    )
    spread = _spread([part], assigned, decoding.columns)
    return replace(spread, message=message, messages=kinds)


def _read(assigned: Assigned, decoding: Decoding) -> Iterator[_Part]:
    for reader in pc.unique(assigned.reader.drop_null()).to_pylist():
        rows = pc.indices_nonzero(pc.equal(assigned.reader, reader)).cast(pa.int64())
        values = assigned.values.take(rows)
        decoded, refused = _read_values(decoding.readers[reader], values, decoding.columns)
        yield _Part(decoded, rows, refused)


def _read_values(
    reader: Reader, values: pa.Array, schema: pa.Schema
) -> tuple[pa.RecordBatch, dict[int, str]]:
    about = (reader.message, reader.descriptor_set)
    isolated = isolate(handler_of(*about), values, normal_of(*about))
    return _conform(isolated.decoded, reader.named, schema), isolated.refused


def _conform(batch: pa.RecordBatch, named: pa.Schema | None, schema: pa.Schema) -> pa.RecordBatch:
    """Turn what `ptars` gives into the columns as they are stored.

    Args:
        batch: what `ptars` gives.
        named: the same under other names, if it has some.
        schema: all columns of the feed; those that the message lacks are null.
    """
    fields = named if named is not None else batch.schema
    indices = {field.name: index for index, field in enumerate(fields)}
    arrays = []
    for field in schema:
        index = indices.get(field.name)
        if index is None:
            arrays.append(pa.nulls(batch.num_rows, field.type))
            continue
        array = batch.column(index)
        if named is not None and array.type != named.field(index).type:
            # Fields of structs under other names; the same buffers.
            array = array.view(named.field(index).type)
        arrays.append(array if array.type == field.type else array.cast(field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _spread(parts: list[_Part], assigned: Assigned, schema: pa.Schema) -> Decoded:
    """Put decoded rows back where their messages were, and complaints beside them."""
    total = len(assigned.reason)
    sources = np.full(total, -1, np.int64)
    complaints: dict[int, str] = {}
    start = 0
    for part in parts:
        rows = part.rows.to_numpy()
        bad = np.fromiter(part.refused, np.int64, len(part.refused))
        good = np.delete(rows, bad)
        sources[good] = np.arange(start, start + len(good))
        start += len(good)
        complaints |= {int(rows[i]): complaint for i, complaint in part.refused.items()}
    nothing = pa.RecordBatch.from_pylist([], schema=schema)
    decoded = pa.concat_batches([part.decoded for part in parts] or [nothing])
    where = pa.array(complaints, pa.int64())
    texts = pa.array(complaints.values(), pa.string())
    words = pa.array([Reason.UNDECODABLE.value] * len(texts), pa.string())
    which = pc.index_in(pa.arange(0, total), value_set=where)
    return Decoded(
        columns=decoded.take(pa.array(sources, mask=sources < 0)),
        reason=pc.coalesce(assigned.reason, words.take(which)),
        detail=pc.coalesce(assigned.detail, texts.take(which)),
        question=assigned.question,
        questions=assigned.questions,
    )
