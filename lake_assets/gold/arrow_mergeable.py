"""Which views Arrow may merge as Spark would: told from their SQL and their columns. Pure.

A view of a few thousand rows and as many new ones costs Spark's planning, two shuffles and the
opening of files far more than the rows are worth. Where all keys are columns and all measures are
aggregates of columns (`gold.arrow_aggregates`), tasks merge them without Spark's SQL; all else is
Spark's.
"""

from typing import TYPE_CHECKING

import pyarrow as pa

from lake_assets.gold.arrow_aggregates import SAFE_SUM, ArrowAggregate, ArrowAggregates, Average
from lake_assets.model.gold_views import GoldView
from lake_assets.model.tables import STATE

if TYPE_CHECKING:
    from sqlglot import exp

# sqlglot is imported where a view is read: it takes 0.3 s, and Spark's workers import this room.


def arrow_aggregates_of(view: GoldView, columns: pa.Schema) -> ArrowAggregates | None:
    """How a view is merged in Arrow; None if it is not.

    Args:
        view: of keys and measures.
        columns: of its tables, as Spark made them. They tell the types that silver's had.
    """
    if view.expectations:
        return None  # rows are judged by Spark
    keys, measures = {}, {}
    for name, sql in view.key_expressions.items():
        column = _column(_parsed(sql))
        if column is None or not _is_plain(columns.field(name).type):
            return None
        keys[name] = column
    for name, sql in view.measures.items():
        measure = _measure(_parsed(sql), name, columns)
        if measure is None:
            return None
        measures[name] = measure
    return ArrowAggregates(group_keys=keys, measures=measures, columns=columns)


def _measure(
    call: "exp.Expr | None", name: str, columns: pa.Schema
) -> ArrowAggregate | Average | None:
    from sqlglot import exp  # noqa: PLC0415

    functions: dict[type, str] = {
        exp.Count: "count",
        exp.Min: "min",
        exp.Max: "max",
        exp.Sum: "sum",
        exp.Avg: "avg",
    }
    function = functions.get(type(call))
    if call is None or function is None or _given(call) - {"this", "big_int"}:
        return None
    column = _column(call.this)
    if function == "count" and (column or isinstance(call.this, exp.Star | exp.Literal)):
        return _count(column)
    return _fold(function, column, name, columns) if column else None


def _fold(
    function: str, column: str, name: str, columns: pa.Schema
) -> ArrowAggregate | Average | None:
    kind = columns.field(name).type
    if function in {"min", "max"}:
        plain = ArrowAggregate(source=column, of_rows=function, of_states=function, kind=kind)
        return plain if _is_plain(kind) else None
    total = ArrowAggregate(source=column, of_rows="sum", of_states="sum", kind=kind)
    if kind not in SAFE_SUM:
        return None
    if function == "sum":
        return total
    average = Average(total=total, count=_count(column))
    return average if columns.field(STATE + name).type == average.state else None


def _count(column: str | None) -> ArrowAggregate:
    how = "count" if column else "count_all"
    return ArrowAggregate(source=column, of_rows=how, of_states="sum", kind=pa.int64())


def _given(call: "exp.Expr") -> set[str]:
    return {name for name, value in call.args.items() if value}


def _parsed(sql: str) -> "exp.Expr | None":
    from sqlglot import parse_one  # noqa: PLC0415
    from sqlglot.errors import SqlglotError  # noqa: PLC0415

    try:
        return parse_one(sql, dialect="spark")
    except SqlglotError:
        return None  # `exact …`, or an error that Spark tells better


def _column(found: "exp.Expr | None") -> str | None:
    """The column that an expression is; None if it is anything else."""
    from sqlglot import exp  # noqa: PLC0415

    is_one = isinstance(found, exp.Column) and _given(found) == {"this"}
    return str(found.name) if found is not None and is_one else None


def _is_plain(kind: pa.DataType) -> bool:
    """Whether values are equal, and one less than another, in Arrow just if they are in Spark.

    Not so floats, for their NaN and two zeros.
    """
    return any(
        is_it(kind)
        for is_it in (
            pa.types.is_string,
            pa.types.is_signed_integer,
            pa.types.is_boolean,
            pa.types.is_date32,
            pa.types.is_timestamp,
        )
    )
