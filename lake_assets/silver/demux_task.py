"""The half of demux that runs in Spark's workers: decode a batch of bronze rows and place them.

It marks rows that violate expectations, too, where Arrow can tell. What becomes of those is
`silver.apply_expectations`', writing `parquet.writer`'s.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.formats.base import Decoded, Decoder
from lake_assets.formats.questions import ExpressionQuestion
from lake_assets.model.origins import OriginColumns
from lake_assets.model.quarantine import Reason
from lake_assets.parquet.writer import TABLE, UNRESOLVED
from lake_assets.silver.arrow_evaluator import Node, NotEvaluableError, marks_of
from lake_assets.silver.erased_rows import ERASED, RowEraser, erased_at
from lake_assets.silver.erasing_decoder import with_fields_judged
from lake_assets.silver.expectation_columns import Marks, Reading, packed, spread
from lake_assets.silver.questions import SqlQuestion, encoded
from lake_assets.silver.route_rows import in_all_tables, route
from lake_assets.silver.route_values import RouteValue
from lake_assets.silver.rows import (
    DETAIL,
    HEADERS,
    KEPT_HEADERS,
    REASON,
    REFUSED_AT,
    ROW,
    VALUE,
    as_in_silver,
    bronze_names,
    headers_in,
    silver_origin,
)
from lake_assets.silver.selecting_by_key import SelectingByKeyDecoder
from lake_assets.silver.selecting_decoder import decoded_rows
from lake_assets.sources.kafka import headers


@dataclass(frozen=True, kw_only=True, slots=True)
class DecodePlan:
    """What a decoding task must know; pickled once a job."""

    decoder: Decoder

    origin: OriginColumns
    """Bronze's columns that say where a row came from."""

    routes: tuple[RouteValue, ...]
    """What names the key; none if all rows are of the one key there is."""

    keys: tuple[str, ...]
    """Keys with a table; a row's `#table` is its key's index, `len(keys)` for quarantine, one more
    for rows that wait for the registry, or two for those that are erased."""

    refused_at: pa.Scalar
    """Time of the batch."""

    refused_keys: Mapping[str, str] = field(default_factory=dict)
    """By key that must not get tables, in words, why."""

    unused: pa.Schema = field(default_factory=lambda: pa.schema([]))
    """Columns of `Decoder.unused` that expectations read; null in all rows."""

    keep_values: bool = False
    """Whether good rows keep their raw value, since an expectation may still quarantine them."""

    keeps_headers: bool = False
    """Whether quarantine keeps headers."""

    by_key: SelectingByKeyDecoder | None = None
    """What keys make of the rows that `decoder` makes; None where they leave them as they are."""

    erasing: RowEraser | None = None
    """What tells which rows are erased; None while none are."""

    @property
    def task_decoder(self) -> Decoder:
        """What decodes in a task: `decoder`, which judges fields of messages, too, if any does."""
        eraser = self.erasing
        return self.decoder if eraser is None else with_fields_judged(self.decoder, eraser)

    @property
    def columns(self) -> pa.Schema:
        """The columns of the keys' tables."""
        return self.decoder.columns if self.by_key is None else self.by_key.columns

    @property
    def has_rows_in_several_tables(self) -> bool:
        """Whether a row may go to several tables."""
        return len(self.routes) > 1

    @property
    def read_names(self) -> tuple[str, ...]:
        """As `silver.rows.read_names`."""
        own = (HEADERS,) if self.keeps_headers else ()
        return ("value", *bronze_names(self.origin), *own)


Unplaced: TypeAlias = tuple[pa.RecordBatch, Decoded, Mapping[int, pa.Array] | None]
"""Bronze's rows, what became of them, and what Spark computed of the routes, as `place` has it."""


def stage_schema(plan: DecodePlan) -> pa.Schema:
    """What `decode_task` yields: decoded columns, origin, and the internal columns.

    Headers may also be text, as they came.
    """
    return pa.schema(
        [
            *plan.columns,
            *plan.unused,
            *silver_origin(plan.origin),
            pa.field(VALUE, pa.binary()),
            pa.field(REASON, pa.string()),
            pa.field(DETAIL, pa.string()),
            pa.field(REFUSED_AT, pa.timestamp("us", tz="UTC")),
            *([pa.field(KEPT_HEADERS, headers.TYPE)] if plan.keeps_headers else []),
            *([pa.field(ROW, pa.int32())] if plan.has_rows_in_several_tables else []),
            pa.field(TABLE, pa.int32()),
            pa.field(UNRESOLVED, pa.string()),
        ]
    )


def place_rows(
    rows: Iterable[tuple[pa.RecordBatch, Decoded]], plan: DecodePlan
) -> Iterator[pa.RecordBatch]:
    """Place decoded rows; every row comes out, in order."""
    schema = stage_schema(plan)
    for batch, decoded in rows:
        yield place(batch, decoded, plan, schema)


def decode_task(batches: Iterable[pa.RecordBatch], plan: DecodePlan) -> Iterator[pa.RecordBatch]:
    """Decode and place one task's bronze rows; every row comes out, in order, as one or several.

    Where there are several routes, a row comes out once for each of its tables.
    """
    return place_rows(decoded_rows(plan.task_decoder, batches), plan)


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
    batch: pa.RecordBatch,
    decoded: Decoded,
    plan: DecodePlan,
    schema: pa.Schema,
    computed: Mapping[int, pa.Array] | None = None,
) -> pa.RecordBatch:
    """Bronze rows, decoded, with what says where they go.

    Args:
        batch: the columns `DecodePlan.read_names`.
        decoded: what became of its rows.
        plan: the routes.
        schema: `stage_schema` of the plan.
        computed: by place among the routes, what Spark made of its SQL.
    """
    return place_with_rows(batch, decoded, plan, schema, computed)[0]


def place_with_rows(
    batch: pa.RecordBatch,
    decoded: Decoded,
    plan: DecodePlan,
    schema: pa.Schema,
    computed: Mapping[int, pa.Array] | None = None,
) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """As `place`, and the same rows as they were decoded, of which keys make their columns."""
    values = batch["value"]
    reason, detail, questions = decoded.reason, decoded.detail, _asked(decoded)
    is_decoded = pc.and_(pc.is_null(reason), pc.is_null(questions))
    routed = route(batch, decoded, plan, is_decoded, computed or {})
    if routed.lost is not None:
        reason = pc.coalesce(reason, routed.lost.reason)
        detail = pc.coalesce(detail, routed.lost.detail)
        questions = pc.coalesce(questions, routed.lost.question)
    is_refused = pc.is_valid(reason)
    alone = _alone(reason, plan)
    rows = decoded.columns
    arrays = [
        *(pa.nulls(batch.num_rows, field.type) for field in plan.unused),
        *as_in_silver(batch, plan.origin),
        values if plan.keep_values else _where(is_refused, values),
        reason,
        detail,
        pa.repeat(plan.refused_at, batch.num_rows),
        *([_kept_headers(batch, plan, is_refused)] if plan.keeps_headers else []),
    ]
    if plan.has_rows_in_several_tables:
        row, table = in_all_tables(routed.tables, alone)
        if len(row) > batch.num_rows:  # else each is there once, in its order
            arrays = [array.take(row) for array in arrays]
            rows, questions = rows.take(row), questions.take(row)
        arrays += [row]
    else:
        table = pc.coalesce(alone, routed.tables[0])
    own, questions = _columns(rows, table, questions, plan)
    arrays = [*own, *arrays, table, questions]
    if plan.keeps_headers:
        at = schema.get_field_index(KEPT_HEADERS)
        schema = schema.set(at, pa.field(KEPT_HEADERS, arrays[at].type))
    return _as(schema, arrays), rows


def _alone(reason: pa.Array, plan: DecodePlan) -> pa.Array:
    """The table of each row that goes elsewhere than its keys say; else null."""
    keys = len(plan.keys)
    aside = [(Reason.WAITING.value, keys + 1)] if plan.decoder.has_waiting else []
    aside += [(ERASED, erased_at(keys))] if plan.erasing is not None else []
    found = pc.if_else(pc.is_valid(reason), pa.scalar(keys, pa.int32()), _NOWHERE)
    for word, place in aside:
        is_it = pc.equal(reason, word).fill_null(fill_value=False)
        found = pc.if_else(is_it, pa.scalar(place, pa.int32()), found)
    return found


def _as(schema: pa.Schema, arrays: Sequence[pa.Array]) -> pa.RecordBatch:
    pairs = zip(arrays, schema, strict=True)
    cast = [array if array.type == f.type else array.cast(f.type) for array, f in pairs]
    return pa.RecordBatch.from_arrays(cast, schema=schema)


def _columns(
    rows: pa.RecordBatch, table: pa.Array, questions: pa.Array, plan: DecodePlan
) -> tuple[Sequence[pa.Array], pa.Array]:
    """The columns of the tables, of rows as they were decoded; and what rows ask by now."""
    if plan.by_key is None:
        return rows.columns, questions
    try:
        return plan.by_key.columns_of(rows, table, plan.keys), questions
    except NotEvaluableError as problem:
        asked = encoded(ExpressionQuestion(str(problem)))
        is_key = pc.less(table, len(plan.keys)).fill_null(fill_value=False)
        nulls = [pa.nulls(rows.num_rows, one.type) for one in plan.columns]
        return nulls, pc.coalesce(questions, pc.if_else(is_key, pa.scalar(asked), _NO_QUESTION))


_NO_QUESTION = pa.scalar(None, pa.string())

_NOWHERE = pa.scalar(None, pa.int32())


def _where(mask: pa.Array, values: pa.Array) -> pa.Array:
    """The values where `mask` holds; null elsewhere, and without memory if it holds nowhere."""
    if not pc.any(mask).as_py():
        return pa.nulls(len(values), values.type)
    return pc.if_else(mask, values, pa.scalar(None, values.type))


def _asked(decoded: Decoded) -> pa.Array:
    """The decoder's question of each row as text, else null."""
    texts = [encoded(question) for question in decoded.questions]
    return pa.array(texts, pa.string()).take(decoded.question)


def _kept_headers(batch: pa.RecordBatch, plan: DecodePlan, is_refused: pa.Array) -> pa.Array:
    """The headers of rows that are refused, or may still be, in the form they came; else null."""
    given = headers_in(batch)
    return given if plan.keep_values else _where(is_refused, given)
