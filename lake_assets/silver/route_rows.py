"""Which table each decoded row goes to, by the keys that it names. In Spark's workers.

What names a key is read by `silver.route_values`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.formats.base import Decoded, Decoder
from lake_assets.model.quarantine import Reason
from lake_assets.model.routes import Unknown
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

    tables: tuple[pa.Array, ...]
    """int32: by route, the index of the key that it names, or null."""

    lost: Lost | None
    """Null of rows that have a table; None if all decoded ones have."""


def route(
    batch: pa.RecordBatch,
    decoded: Decoded,
    plan: RoutePlan,
    is_decoded: pa.Array,
    computed: Mapping[int, pa.Array],
) -> Routed:
    """Find each row's table, or tables.

    Args:
        batch: bronze's columns `silver.rows.read_names`.
        decoded: what became of its rows.
        plan: the routes and the keys.
        is_decoded: which rows are to have a table.
        computed: by place among the routes, what Spark made of its SQL.
    """
    if not plan.routes:
        return Routed((pa.repeat(pa.scalar(0, pa.int32()), batch.num_rows),), None)
    is_several = len(plan.routes) > 1
    tables: list[pa.Array] = []
    shown: list[pa.Array] = []
    lost: Lost | None = None
    for number, value in enumerate(plan.routes):
        try:
            texts = value.texts(batch, decoded, plan.decoder, computed.get(number))
        except NotEvaluableError as problem:
            return _asked(str(problem), is_decoded)
        keys = value.keys(texts)
        tables.append(pc.index_in(keys, value_set=pa.array(plan.keys, pa.string())))
        is_lost = pc.and_(is_decoded, pc.is_null(tables[-1]))
        if is_several:
            is_lost = pc.and_(is_lost, pc.is_valid(texts))
            shown.append(value.shown(texts))
        if pc.any(is_lost).as_py():
            lost = _both(lost, _judge_lost(value, texts, keys, is_lost, plan))
    is_nowhere = pc.and_(is_decoded, pc.is_null(pc.coalesce(*tables)))
    if lost is not None:  # of which a route has said something else
        is_nowhere = pc.and_(is_nowhere, pc.is_null(pc.coalesce(lost.reason, lost.question)))
    if is_several and pc.any(is_nowhere).as_py():
        lost = _both(lost, _nowhere(is_nowhere, shown))
    return Routed(tuple(tables), lost)


def _asked(operation: str, is_decoded: pa.Array) -> Routed:
    """All rows with the question whether Spark computes what routes read."""
    nothing = pa.nulls(len(is_decoded), pa.string())
    question = pc.if_else(is_decoded, pa.scalar(encoded(RouteQuestion(operation))), _NONE)
    return Routed((pa.nulls(len(is_decoded), pa.int32()),), Lost(nothing, nothing, question))


_NONE = pa.scalar(None, pa.string())


def _both(one: Lost | None, other: Lost) -> Lost:
    """What becomes of rows of which two routes say something: the first counts, and a refusal."""
    if one is None:
        return other
    is_refused = pc.is_valid(pc.coalesce(one.reason, other.reason))
    question = pc.coalesce(one.question, other.question)
    return Lost(
        reason=pc.coalesce(one.reason, other.reason),
        detail=pc.coalesce(one.detail, other.detail),
        question=pc.if_else(is_refused, _NONE, question),
    )


def _nowhere(is_nowhere: pa.Array, shown: Sequence[pa.Array]) -> Lost:
    """Rows of which no route reads anything are refused."""
    read = pc.binary_join_element_wise(*shown, ", ")
    return Lost(
        reason=pc.if_else(is_nowhere, pa.scalar(Reason.BAD_KEY_NAME.value), _NONE),
        detail=pc.if_else(is_nowhere, read, _NONE),
        question=pa.nulls(len(is_nowhere), pa.string()),
    )


def in_all_tables(tables: Sequence[pa.Array], alone: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Each row as often as it has tables, and once if it has none.

    Args:
        tables: int32, by route; null where that names none.
        alone: int32, of rows that go elsewhere than the routes say, where; others null.

    Returns:
        Which row each is, in their order, and its table.
    """
    goes_alone = pc.or_(pc.is_valid(alone), pc.is_null(pc.coalesce(*tables)))
    is_alone = goes_alone.to_numpy(zero_copy_only=False)
    numbers = np.arange(len(alone))
    rows, places = [numbers[is_alone]], [alone.fill_null(_NOWHERE).to_numpy()[is_alone]]
    had: list[npt.NDArray[np.int32]] = []
    for table in tables:
        place = table.fill_null(_NOWHERE).to_numpy()
        is_new = ~is_alone & (place != _NOWHERE)
        for before in had:
            is_new &= place != before
        rows.append(numbers[is_new])
        places.append(place[is_new])
        had.append(place)
    row, at = np.concatenate(rows), np.concatenate(places)
    order = np.argsort(row, kind="stable")
    found = pa.array(at[order], pa.int32(), mask=at[order] == _NOWHERE)
    return pa.array(row[order]), found


_NOWHERE = -1
"""Place of a row in no table."""


def _judge_lost(
    value: RouteValue, texts: pa.Array, keys: pa.Array, is_lost: pa.Array, plan: RoutePlan
) -> Lost:
    """Reason or question of each decoded row whose key has no table."""
    fits = pc.match_substring_regex(keys, f"^(?:{KEY_NAME.pattern})$").fill_null(fill_value=False)
    taken = pc.index_in(keys, value_set=pa.array(plan.refused_keys, pa.string()))
    is_taken = pc.and_(is_lost, pc.is_valid(taken))
    is_bad = pc.and_(is_lost, pc.invert(fits))
    is_new = pc.and_(pc.and_(is_lost, fits), pc.invert(is_taken))
    named, creates = value.shown(texts), value.route.unknown is Unknown.CREATE
    refused = pc.or_(is_bad, is_taken) if creates else is_lost
    word = pc.if_else(is_bad, Reason.BAD_KEY_NAME.value, Reason.UNKNOWN_KEY.value)
    word = pc.if_else(is_taken, Reason.TABLE_TAKEN.value, word)
    whose = pa.array(plan.refused_keys.values(), pa.string()).take(taken)
    named = pc.coalesce(pc.binary_join_element_wise(named, whose, ": "), named)
    return Lost(
        reason=pc.if_else(refused, word, _NONE),
        detail=pc.if_else(refused, named, _NONE),
        question=_ask_for_keys(is_new, keys) if creates else pa.nulls(len(keys), pa.string()),
    )


def _ask_for_keys(mask: pa.Array, keys: pa.Array) -> pa.Array:
    """The question for a key's tables where `mask` holds, else null."""
    new = pc.if_else(mask, keys, pa.scalar(None, pa.string())).dictionary_encode()
    texts = [encoded(KeyQuestion(key)) for key in new.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(new.indices)
