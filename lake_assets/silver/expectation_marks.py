"""Expectations in Spark SQL: which columns they read, and a mark on each row that violates one.

What becomes of a marked row is `silver.apply_expectations`'s business.
"""

from collections.abc import Sequence

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType

from lake_assets.errors import FeedError
from lake_assets.model.expectations import Expectation
from lake_assets.silver.expectation_columns import MARKS_PER_COLUMN, Reading
from lake_assets.spark.error_words import spark_words
from lake_assets.spark.jvm import analyzed_plan, each, spark_schema


def marks(expectations: Sequence[Expectation]) -> list[Column]:
    """Columns `#marks_0`, `#marks_1`, ...: bigint; bit i is set where expectation i is violated.

    Null counts as violated. One column stands for many, since each costs its way to Python.
    """
    groups = _groups_of(expectations)
    return [_mark(group).alias(f"#marks_{index}") for index, group in enumerate(groups)]


def reading_of(
    session: SparkSession, schema: pa.Schema, expectations: Sequence[Expectation]
) -> Reading:
    """Which columns of `schema` the expectations' SQL reads, and how they may travel.

    A column goes by its distinct values if all that read it read it alone, say the same of the same
    value each time, and its type usually has fewer values than rows.

    Raises:
        FeedError: an expectation does not compile against `schema`, is no boolean, or needs more
            than the row it judges (a subquery, an aggregate, a window).
    """
    rows = session.createDataFrame([], spark_schema(schema))
    read = [_columns_read(rows, expectation) for expectation in expectations]
    by_row = {name for names, is_alike in read if not is_alike or len(names) != 1 for name in names}
    by_row |= {f.name for f in schema if not _has_few_values(f.type)}
    bits_by_name: dict[str, list[int]] = {}
    row_bits = [0] * len(_groups_of(expectations))
    names_by_row: set[str] = set()
    for index, (names, _) in enumerate(read):
        column, bit = divmod(index, MARKS_PER_COLUMN)
        alone = names[0] if len(names) == 1 and names[0] not in by_row else None
        if alone is None:
            row_bits[column] |= 1 << bit
            names_by_row.update(names or schema.names[:1])
        else:
            bits_by_name.setdefault(alone, [0] * len(row_bits))[column] |= 1 << bit
    by_value = tuple(name for name in schema.names if name in bits_by_name)
    return Reading(
        by_row=tuple(name for name in schema.names if name in names_by_row),
        row_bits=tuple(row_bits),
        by_value=by_value,
        value_bits=tuple(tuple(bits_by_name[name]) for name in by_value),
    )


def _has_few_values(kind: pa.DataType) -> bool:
    """Whether values repeat, as names, states and levels do; times and measurements hardly do."""
    return any(
        is_kind(kind)
        for is_kind in (
            pa.types.is_string,
            pa.types.is_binary,
            pa.types.is_integer,
            pa.types.is_boolean,
            pa.types.is_date,
        )
    )


def _columns_read(rows: DataFrame, expectation: Expectation) -> tuple[list[str], bool]:
    """What an expectation reads, and whether it says the same of the same values each time."""
    plan = analyzed_plan(_judged(rows, expectation))
    # By id: a condition may write a column's name in another case.
    columns = {one.exprId().id(): one.name() for one in each(analyzed_plan(rows).output())}
    names = {columns[one.exprId().id()] for one in each(plan.references())}
    return sorted(names), bool(plan.deterministic())


def _judged(rows: DataFrame, expectation: Expectation) -> DataFrame:
    """The condition's value for each of `rows`, if it is one that can judge a row."""
    thing = f"expectation {expectation.name!r}"
    try:
        judged = rows.select(F.expr(expectation.sql))
    except AnalysisException as problem:
        raise FeedError(
            thing,
            f"does not compile ({spark_words(problem)})",
            f"Correct its sql; the columns are {', '.join(rows.columns)}",
        ) from problem
    kind = judged.schema[0].dataType
    if not isinstance(kind, BooleanType):
        fact = f"is {kind.simpleString()}, not a boolean"
        raise FeedError(thing, fact, "Make it a condition, such as `gamer_id <> ''`")
    if not _is_projection(rows, judged):
        raise FeedError(
            thing,
            "needs more than its own row (a subquery, an aggregate or a window)",
            "Judge each row by its own columns",
        )
    return judged


def _is_projection(rows: DataFrame, judged: DataFrame) -> bool:
    """Whether `judged` has a row for each of `rows`, made from it alone."""
    plan = analyzed_plan(judged)
    return bool(
        plan.nodeName() == "Project"
        and plan.child().fastEquals(analyzed_plan(rows))
        and plan.subqueriesAll().isEmpty()
    )


def _groups_of(expectations: Sequence[Expectation]) -> list[Sequence[Expectation]]:
    starts = range(0, len(expectations), MARKS_PER_COLUMN)
    return [expectations[start : start + MARKS_PER_COLUMN] for start in starts]


def _mark(group: Sequence[Expectation]) -> Column:
    mark = F.lit(0).cast("bigint")
    for bit, expectation in enumerate(group):
        violated = F.when(F.expr(expectation.sql), F.lit(0)).otherwise(F.lit(1 << bit))
        mark = mark.bitwiseOR(violated.cast("bigint"))
    return mark
