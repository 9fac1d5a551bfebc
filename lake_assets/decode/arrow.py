"""The hot path: an Arrow array of framed messages to typed columns, without a loop over rows.

Runs in Spark's workers. Knows no registry: an id that `SchemaSet` has no answer for comes back as
`UNRESOLVED`. What a refused row is worth is its caller's business.
"""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.decode.columns import columns
from lake_assets.decode.handlers import handler_of
from lake_assets.decode.isolate import isolate
from lake_assets.decode.schemas import SchemaSet
from lake_assets.model.quarantine import Reason

UNRESOLVED = "unresolved"
"""Stands among the reasons for "ask the registry for this id and decode again"; never stored."""

_FIRST_MESSAGE = pa.scalar(b"\0", pa.binary())
"""The message index after the 5-byte header: the schema's first message, in short."""

_FIRST_MESSAGE_LONG = pa.scalar(b"\2\0", pa.binary())
"""The same written out (a list of one index, which is 0), as some clients do; `ptars` would not
understand it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Decoded:
    """The answer for each row, in the order of the input."""

    columns: pa.RecordBatch
    """The columns of `decode.columns`; null where a row was refused."""

    reason: pa.Array
    """string: a `Reason`, `UNRESOLVED`, or null where the row was decoded."""

    detail: pa.Array
    """string: what the reason means for this row, or null."""


@dataclass(frozen=True, slots=True)
class _Framing:
    values: pa.Array
    reason: pa.Array
    detail: pa.Array


def decode(values: pa.Array, schema_ids: pa.Array, schemas: SchemaSet) -> Decoded:
    """Decode messages of any version with the newest schema; no row makes another fail.

    A row's verdict depends on its bytes and on `schemas` alone, so a batch that runs again, or in
    other slices, gives the same rows.

    Args:
        values: binary; Confluent-framed protobuf.
        schema_ids: integers, one a value; null where the value is not framed.
        schemas: the feed's newest schema and the ids it knows.
    """
    schema = columns(schemas)
    values = values.cast(pa.binary())
    framing = _judge_framing(values, schema_ids.cast(pa.int64()), schemas)
    if framing is None:
        found = isolate(handler_of(schemas), values)
        decoded = _conform(found.decoded, schema)
        none = pa.nulls(len(values), pa.string())
        if not found.refused:
            return Decoded(columns=decoded, reason=none, detail=none)
        framing = _Framing(values, none, none)
        rows = pa.arange(0, len(values))
    else:
        rows = pc.indices_nonzero(pc.is_null(framing.reason)).cast(pa.int64())
        found = isolate(handler_of(schemas), framing.values.take(rows))
        decoded = _conform(found.decoded, schema)
    return _spread(decoded, framing, rows, found.refused)


def _judge_framing(values: pa.Array, ids: pa.Array, schemas: SchemaSet) -> _Framing | None:
    """What headers alone tell; None if every row may go to the decoder as it is."""
    is_known = pc.is_in(ids, value_set=_set_of(schemas.known_ids))
    is_short = pc.equal(pc.binary_slice(values, 5, 6), _FIRST_MESSAGE)
    if pc.all(is_known).as_py() and pc.all(is_short, skip_nulls=False).as_py():
        return None
    is_long = _true(pc.equal(pc.binary_slice(values, 5, 7), _FIRST_MESSAGE_LONG))
    is_first = pc.or_(_true(is_short), is_long)
    verdicts = (
        (_true(pc.less(pc.binary_length(values), 1), null=True), Reason.EMPTY_VALUE),
        (pc.is_null(ids), Reason.NOT_FRAMED),
        (pc.is_in(ids, value_set=_set_of(schemas.unknown_ids)), Reason.UNKNOWN_SCHEMA),
        (pc.is_in(ids, value_set=_set_of(schemas.foreign_ids)), Reason.FOREIGN_SCHEMA),
        (pc.invert(is_known), UNRESOLVED),
        (pc.invert(is_first), Reason.UNDECODABLE),
    )
    tests = pc.make_struct(*(test for test, _ in verdicts))
    words = [pa.scalar(str(word), pa.string()) for _, word in verdicts]
    reason = pc.case_when(tests, *words)
    if pc.any(is_long).as_py():
        values = pc.if_else(is_long, pc.binary_replace_slice(values, 5, 6, b""), values)
    return _Framing(values, reason, _explain(reason, ids, schemas.subject))


def _explain(reason: pa.Array, ids: pa.Array, subject: str) -> pa.Array:
    shown = ids.cast(pa.string())
    alien = pa.scalar(f" is not of subject {subject}")
    details = (
        (Reason.UNKNOWN_SCHEMA, pc.binary_join_element_wise("schema id", shown, " ")),
        (
            Reason.FOREIGN_SCHEMA,
            pc.binary_join_element_wise("schema id ", shown, alien, ""),
        ),
        (Reason.UNDECODABLE, pa.scalar("the message index is missing or not the first message's")),
    )
    tests = pc.make_struct(*(_true(pc.equal(reason, str(word))) for word, _ in details))
    return pc.case_when(tests, *(detail for _, detail in details))


def _conform(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Cast what `ptars` gives to the columns as they are stored."""
    found = {field.name: index for index, field in enumerate(batch.schema)}
    arrays = []
    for field in schema:
        array = batch.column(found[field.name])
        arrays.append(array if array.type == field.type else array.cast(field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _spread(
    decoded: pa.RecordBatch, framing: _Framing, rows: pa.Array, refused: dict[int, str]
) -> Decoded:
    """Put decoded rows back where their messages were, and refusals beside them.

    Args:
        decoded: the good rows, without gaps.
        framing: one entry an input row.
        rows: int64; which input rows went to the decoder.
        refused: position in `rows` to complaint.
    """
    total = len(framing.reason)
    bad = pa.array(sorted(refused), pa.int64())
    is_good = pc.invert(pc.is_in(pa.arange(0, len(rows)), value_set=bad))
    sources: pa.Array = _scatter(total, rows.filter(is_good), pa.arange(0, decoded.num_rows))
    complaints = pa.array([refused[i] for i in bad.to_pylist()], pa.string())
    words = pa.array([Reason.UNDECODABLE.value] * len(bad), pa.string())
    where = _scatter(total, rows.take(bad), pa.arange(0, len(bad)))
    return Decoded(
        columns=decoded.take(sources),
        reason=pc.coalesce(framing.reason, words.take(where)),
        detail=pc.coalesce(framing.detail, complaints.take(where)),
    )


def _scatter(total: int, targets: pa.Array, sources: pa.Array) -> pa.Array:
    """int64 of length `total`: at each target its source, else null."""
    positions = pc.index_in(pa.arange(0, total), value_set=targets)
    return sources.cast(pa.int64()).take(positions)


def _set_of(ids: frozenset[int]) -> pa.Array:
    return pa.array(sorted(ids), pa.int64())


def _true(mask: pa.Array, *, null: bool = False) -> pa.Array:
    """`mask` with a plain answer where it has none."""
    return mask.fill_null(fill_value=null)
