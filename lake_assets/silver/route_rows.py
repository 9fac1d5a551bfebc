"""Which table each decoded row goes to, by the keys that it names. In Spark's workers.

What names a key is read by `silver.route_values`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.formats.base import Decoded, Decoder
from lake_assets.model.quarantine import Reason
from lake_assets.model.tables import KEY_NAME
from lake_assets.silver.arrow_evaluator import NotEvaluableError
from lake_assets.silver.questions import KeyQuestion, RouteQuestion, encoded
from lake_assets.silver.route_values import RouteValue


class RoutePlan(Protocol):
    """What of `silver.demux_task.DecodePlan` routing goes by."""

    @property
    def decoder(self) -> Decoder:
        """Of the rows."""

    @property
    def routes(self) -> tuple[RouteValue, ...]:
        """What names the key."""

    @property
    def keys(self) -> Sequence[str]:
        """Those with a table."""

    @property
    def create_unknown(self) -> bool:
        """Whether an unknown key raises a question."""

    @property
    def refused_keys(self) -> Mapping[str, str]:
        """By key that must not get tables, in words, why."""


@dataclass(frozen=True, slots=True)
class Lost:
    """What becomes of rows that have no table."""

    reason: pa.Array
    detail: pa.Array
    question: pa.Array


@dataclass(frozen=True, slots=True)
class Routed:
    """The answer for each row."""

    table: pa.Array
    """int32: index of the row's key, or null."""

    lost: Lost | None
    """Null of rows that have a table; None if all decoded ones have."""


def route(
    batch: pa.RecordBatch,
    decoded: Decoded,
    plan: RoutePlan,
    is_decoded: pa.Array,
    computed: Mapping[int, pa.Array],
) -> Routed:
    """Find each row's table.

    Args:
        batch: bronze's columns `silver.rows.read_names`.
        decoded: what became of its rows.
        plan: the routes and the keys.
        is_decoded: which rows are to have a table.
        computed: by place among the routes, what Spark made of its SQL.
    """
    rows = batch.num_rows
    if not plan.routes:
        return Routed(pa.repeat(pa.scalar(0, pa.int32()), rows), None)
    (value,) = plan.routes
    try:
        texts = value.texts(batch, decoded, plan.decoder, computed.get(0))
    except NotEvaluableError as problem:
        return _asked(str(problem), is_decoded)
    keys = value.keys(texts)
    table = pc.index_in(keys, value_set=pa.array(plan.keys, pa.string()))
    is_lost = pc.and_(is_decoded, pc.is_null(table))
    if not pc.any(is_lost).as_py():
        return Routed(table, None)
    return Routed(table, _judge_lost(value, texts, keys, is_lost, plan))


def _asked(operation: str, is_decoded: pa.Array) -> Routed:
    """All rows with the question whether Spark computes what routes read."""
    nothing = pa.nulls(len(is_decoded), pa.string())
    question = pc.if_else(is_decoded, encoded(RouteQuestion(operation)), None)
    table = pa.nulls(len(is_decoded), pa.int32())
    return Routed(table, Lost(nothing, nothing, question.cast(pa.string())))


def _judge_lost(
    value: RouteValue, texts: pa.Array, keys: pa.Array, is_lost: pa.Array, plan: RoutePlan
) -> Lost:
    """Reason or question of each decoded row whose key has no table."""
    fits = pc.match_substring_regex(keys, f"^(?:{KEY_NAME.pattern})$").fill_null(fill_value=False)
    taken = pc.index_in(keys, value_set=pa.array(plan.refused_keys, pa.string()))
    is_taken = pc.and_(is_lost, pc.is_valid(taken))
    is_bad = pc.and_(is_lost, pc.invert(fits))
    is_new = pc.and_(pc.and_(is_lost, fits), pc.invert(is_taken))
    named = value.shown(texts)
    none = pa.scalar(None, pa.string())
    refused = pc.or_(is_bad, is_taken) if plan.create_unknown else is_lost
    word = pc.if_else(is_bad, Reason.BAD_KEY_NAME.value, Reason.UNKNOWN_KEY.value)
    word = pc.if_else(is_taken, Reason.TABLE_TAKEN.value, word)
    whose = pa.array(plan.refused_keys.values(), pa.string()).take(taken)
    named = pc.coalesce(pc.binary_join_element_wise(named, whose, ": "), named)
    return Lost(
        reason=pc.if_else(refused, word, none),
        detail=pc.if_else(refused, named, none),
        question=_ask_for_keys(is_new, keys)
        if plan.create_unknown
        else pa.nulls(len(keys), pa.string()),
    )


def _ask_for_keys(mask: pa.Array, keys: pa.Array) -> pa.Array:
    """The question for a key's tables where `mask` holds, else null."""
    new = pc.if_else(mask, keys, pa.scalar(None, pa.string())).dictionary_encode()
    texts = [encoded(KeyQuestion(key)) for key in new.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(new.indices)
