"""Expectations in Spark SQL: which columns they read, and a mark on each row that violates one.

What becomes of a marked row is `silver.judge`'s business.
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import BooleanType

from lake_assets.errors import FeedError
from lake_assets.lake.sql import first_line
from lake_assets.model.feeds import Expectation

MARKS_PER_COLUMN = 62
"""Expectations that share a bigint: a bit each, and its sign stays out of it."""


def marks(expectations: Sequence[Expectation]) -> list[Column]:
    """Columns `#marks_0`, `#marks_1`, ...: bigint; bit i is set where expectation i is violated.

    Null counts as violated. One column stands for many, since each costs its way to Python.
    """
    groups = _groups_of(expectations)
    return [_mark(group).alias(f"#marks_{index}") for index, group in enumerate(groups)]


def columns_read(
    session: SparkSession, schema: pa.Schema, expectations: Sequence[Expectation]
) -> list[str]:
    """Names of the columns that the expectations' SQL reads, in the schema's order.

    Raises:
        FeedError: an expectation does not compile against `schema`, is no boolean, or needs more
            than the row it judges (a subquery, an aggregate, a window).
    """
    rows = session.createDataFrame([], from_arrow_schema(schema))
    for expectation in expectations:
        _ensure_fits(rows, expectation)
    read = set()
    references = _plan(rows.select(*marks(expectations))).references().iterator()
    while references.hasNext():
        read.add(references.next().name())
    return [name for name in schema.names if name in read]


def _ensure_fits(rows: DataFrame, expectation: Expectation) -> None:
    thing = f"expectation {expectation.name!r}"
    try:
        judged = rows.select(F.expr(expectation.sql))
    except AnalysisException as problem:
        raise FeedError(
            thing,
            f"does not compile ({first_line(problem)})",
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


def _is_projection(rows: DataFrame, judged: DataFrame) -> bool:
    """Whether `judged` has a row for each of `rows`, made from it alone."""
    plan = _plan(judged)
    return bool(
        plan.nodeName() == "Project"
        and plan.child().fastEquals(_plan(rows))
        and plan.subqueriesAll().isEmpty()
    )


def _plan(rows: DataFrame) -> Any:  # noqa: ANN401 - a Java object
    return rows._jdf.queryExecution().analyzed()  # noqa: SLF001 - PySpark has no other way to it


def _groups_of(expectations: Sequence[Expectation]) -> list[Sequence[Expectation]]:
    starts = range(0, len(expectations), MARKS_PER_COLUMN)
    return [expectations[start : start + MARKS_PER_COLUMN] for start in starts]


def _mark(group: Sequence[Expectation]) -> Column:
    mark = F.lit(0).cast("bigint")
    for bit, expectation in enumerate(group):
        violated = F.when(F.expr(expectation.sql), F.lit(0)).otherwise(F.lit(1 << bit))
        mark = mark.bitwiseOR(violated.cast("bigint"))
    return mark
