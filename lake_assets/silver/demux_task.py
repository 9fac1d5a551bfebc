"""The half of demux that runs in Spark's workers: decode a batch of bronze rows and place them.

It marks rows that violate expectations, too, where Arrow can tell. What becomes of those is
`silver.apply_expectations`', writing `parquet.writer`'s.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.formats.base import Decoded, Decoder
from lake_assets.model.origins import OriginColumns
from lake_assets.model.quarantine import Reason
from lake_assets.model.tables import KEY_NAME
from lake_assets.parquet.writer import TABLE, UNRESOLVED
from lake_assets.silver.arrow_evaluator import Node, NotEvaluableError, marks_of
from lake_assets.silver.expectation_columns import Marks, Reading, packed, spread
from lake_assets.silver.questions import KeyQuestion, SqlQuestion, encoded
from lake_assets.silver.rows import (
    DETAIL,
    REASON,
    REFUSED_AT,
    VALUE,
    bronze_names,
    silver_origin,
)
from lake_assets.silver.selecting_decoder import decoded_rows


@dataclass(frozen=True, kw_only=True, slots=True)
class DecodePlan:
    """What a decoding task must know; pickled once a job."""

    decoder: Decoder

    origin: OriginColumns
    """Bronze's columns that say where a row came from."""

    route: str | None
    """Decoded column that names the key; None if all rows are of the one key there is."""

    keys: tuple[str, ...]
    """Keys with a table; a row's `#table` is its key's index, `len(keys)` for quarantine, or one
    more for rows that wait for the registry."""

    create_unknown: bool
    """Whether an unknown key raises a question instead of going to quarantine."""

    refused_at: pa.Scalar
    """Time of the batch."""

    refused_keys: Mapping[str, str] = field(default_factory=dict)
    """By key that must not get tables, in words, why."""

    unused: pa.Schema = field(default_factory=lambda: pa.schema([]))
    """Columns of `Decoder.unused` that expectations read; null in all rows."""

    keep_values: bool = False
    """Whether good rows keep their raw value, since an expectation may still quarantine them."""


def stage_schema(plan: DecodePlan) -> pa.Schema:
    """What `decode_task` yields: decoded columns, origin, and the internal columns."""
    return pa.schema(
        [
            *plan.decoder.columns,
            *plan.unused,
            *silver_origin(plan.origin),
            pa.field(VALUE, pa.binary()),
            pa.field(REASON, pa.string()),
            pa.field(DETAIL, pa.string()),
            pa.field(REFUSED_AT, pa.timestamp("us", tz="UTC")),
            pa.field(TABLE, pa.int32()),
            pa.field(UNRESOLVED, pa.string()),
        ]
    )


def decode_task(batches: Iterable[pa.RecordBatch], plan: DecodePlan) -> Iterator[pa.RecordBatch]:
    """Decode and place one task's bronze rows; every row comes out, in order, as one or several.

    Args:
        batches: `value binary` and the columns `bronze_names`.
        plan: what decodes them, and the route.
    """
    schema = stage_schema(plan)
    for batch, decoded in decoded_rows(plan.decoder, batches):
        yield place(batch, decoded, plan, schema)


def mark_violations(
    batches: Iterable[pa.RecordBatch], reading: Reading, conditions: Sequence[Node]
) -> Iterator[tuple[pa.RecordBatch, Marks]]:
    """Each batch with the marks of its rows, or with a question where Spark must judge."""
    for batch in batches:
        if not batch.num_rows:
            continue
        kept, seen = packed(batch, reading)
        places = kept.columns[batch.num_columns :]
        try:
            made = marks_of(seen, conditions)
        except NotEvaluableError as problem:
            question = pa.repeat(encoded(SqlQuestion(str(problem))), batch.num_rows)
            index = batch.schema.get_field_index(UNRESOLVED)
            yield batch.set_column(index, UNRESOLVED, question), ()
        else:
            yield batch, spread(made, places, batch.num_rows, reading)


def place(
    batch: pa.RecordBatch, decoded: Decoded, plan: DecodePlan, schema: pa.Schema
) -> pa.RecordBatch:
    """Bronze rows, decoded, with what says where they go.

    Args:
        batch: `value binary` and the columns `bronze_names`.
        decoded: what became of its rows.
        plan: the route.
        schema: `stage_schema` of the plan.
    """
    values = batch["value"]
    reason, detail, questions = decoded.reason, decoded.detail, _asked(decoded)
    is_decoded = pc.and_(pc.is_null(reason), pc.is_null(questions))
    keys = _keys(decoded.columns, plan, batch.num_rows)
    index = pc.index_in(keys, value_set=pa.array(plan.keys, pa.string()))
    is_lost = pc.and_(is_decoded, pc.is_null(index))
    if pc.any(is_lost).as_py():
        lost = _judge_lost(keys, is_lost, plan)
        reason = pc.coalesce(reason, lost.reason)
        detail = pc.coalesce(detail, lost.detail)
        questions = pc.coalesce(questions, lost.question)
    is_refused = pc.is_valid(reason)
    table = pc.if_else(is_refused, pa.scalar(len(plan.keys), pa.int32()), index)
    if plan.decoder.has_waiting:
        is_waiting = pc.equal(reason, Reason.WAITING.value).fill_null(fill_value=False)
        table = pc.if_else(is_waiting, pa.scalar(len(plan.keys) + 1, pa.int32()), table)
    arrays = [
        *decoded.columns.columns,
        *(pa.nulls(batch.num_rows, field.type) for field in plan.unused),
        *(batch[name] for name in bronze_names(plan.origin)),
        values if plan.keep_values else _where(is_refused, values),
        reason,
        detail,
        pa.repeat(plan.refused_at, batch.num_rows),
        table,
        questions,
    ]
    pairs = zip(arrays, schema, strict=True)
    cast = [array if array.type == f.type else array.cast(f.type) for array, f in pairs]
    return pa.RecordBatch.from_arrays(cast, schema=schema)


def _where(mask: pa.Array, values: pa.Array) -> pa.Array:
    """The values where `mask` holds; null elsewhere, and without memory if it holds nowhere."""
    if not pc.any(mask).as_py():
        return pa.nulls(len(values), values.type)
    return pc.if_else(mask, values, pa.scalar(None, values.type))


@dataclass(frozen=True, slots=True)
class _Lost:
    reason: pa.Array
    detail: pa.Array
    question: pa.Array


def _judge_lost(keys: pa.Array, is_lost: pa.Array, plan: DecodePlan) -> _Lost:
    """Reason or question of each decoded row whose key has no table."""
    fits = pc.match_substring_regex(keys, f"^(?:{KEY_NAME.pattern})$").fill_null(fill_value=False)
    taken = pc.index_in(keys, value_set=pa.array(plan.refused_keys, pa.string()))
    is_taken = pc.and_(is_lost, pc.is_valid(taken))
    is_bad = pc.and_(is_lost, pc.invert(fits))
    is_new = pc.and_(pc.and_(is_lost, fits), pc.invert(is_taken))
    shown = pc.utf8_slice_codeunits(pc.coalesce(keys, pa.scalar("")), 0, 100)
    named = pc.binary_join_element_wise(plan.route, shown, " = ")
    none = pa.scalar(None, pa.string())
    refused = pc.or_(is_bad, is_taken) if plan.create_unknown else is_lost
    word = pc.if_else(is_bad, Reason.BAD_KEY_NAME.value, Reason.UNKNOWN_KEY.value)
    word = pc.if_else(is_taken, Reason.TABLE_TAKEN.value, word)
    whose = pa.array(plan.refused_keys.values(), pa.string()).take(taken)
    named = pc.coalesce(pc.binary_join_element_wise(named, whose, ": "), named)
    return _Lost(
        reason=pc.if_else(refused, word, none),
        detail=pc.if_else(refused, named, none),
        question=_ask_for_keys(is_new, keys)
        if plan.create_unknown
        else pa.nulls(len(keys), pa.string()),
    )


def _asked(decoded: Decoded) -> pa.Array:
    """The decoder's question of each row as text, else null."""
    texts = [encoded(question) for question in decoded.questions]
    return pa.array(texts, pa.string()).take(decoded.question)


def _ask_for_keys(mask: pa.Array, keys: pa.Array) -> pa.Array:
    """The question for a key's tables where `mask` holds, else null."""
    new = pc.if_else(mask, keys, pa.scalar(None, pa.string())).dictionary_encode()
    texts = [encoded(KeyQuestion(key)) for key in new.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(new.indices)


def _keys(columns_: pa.RecordBatch, plan: DecodePlan, rows: int) -> pa.Array:
    """The key of each row."""
    if plan.route is None:
        return pa.repeat(pa.scalar(plan.keys[0], pa.string()), rows)
    return _as_text(columns_, plan.route, rows)


def _as_text(columns_: pa.RecordBatch, name: str, rows: int) -> pa.Array:
    if name not in columns_.schema.names:
        # No row had a message with the field yet.
        return pa.nulls(rows, pa.string())
    column = columns_[name]
    if not pa.types.is_binary(column.type):
        return column if pa.types.is_string(column.type) else column.cast(pa.string())
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        texts = [value and value.decode(errors="replace") for value in column.to_pylist()]
        return pa.array(texts, pa.string())
