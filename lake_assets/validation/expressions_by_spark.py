"""One expression, or one item of a select, over rows that Spark analyses and never computes."""

from collections.abc import Sequence

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lake_assets.errors import FeedError
from lake_assets.feeds.document import Loc
from lake_assets.silver.selection import select
from lake_assets.validation.quick import Problem
from lake_assets.validation.spark_words import fault_of
from lake_assets.validation.sql_text import Fault, Kind
from lake_assets.validation.texts import Text


def problem_of(text: Text, fault: Fault) -> Problem:
    """What is wrong with a text, at its place."""
    is_whole = fault.end - fault.start >= len(text.sql)
    start, end = (0, 0) if is_whole else (fault.start + text.skipped, fault.end + text.skipped)
    return Problem(text.loc, fault.fact, fault.next_step, start, end)


def told(loc: Loc, problem: FeedError) -> Problem:
    """What the streams would say of a part of a feed."""
    cause = problem.__cause__
    if isinstance(cause, PySparkException):
        fault = fault_of(cause, "")
        return Problem(loc, fault.fact, fault.next_step)
    return Problem(loc, problem.fact, problem.next_step)


def item(session: SparkSession, columns: pa.Schema, text: Text) -> Problem | None:
    """What is wrong with one item of a select, by itself."""
    try:
        select(session, "", columns, [text.sql])
    except FeedError as problem:
        cause = problem.__cause__
        if isinstance(cause, PySparkException):
            return problem_of(text, fault_of(cause, text.sql))
        return Problem(text.loc, problem.fact, problem.next_step)
    return None


def with_texts(frame: DataFrame | None, names: Sequence[str]) -> DataFrame | None:
    """Rows with further columns of texts, unless they have them."""
    if frame is None:
        return None
    for name in names:
        if name not in frame.columns:
            frame = frame.withColumn(name, F.lit("").cast("string"))
    return frame


def single(frame: DataFrame, text: Text) -> Problem | None:
    """What is wrong with an expression over rows; None if it compiles.

    In brackets: Spark would take a word behind it for its name.
    """
    try:
        kind = frame.select(F.expr(f"({text.sql}\n)")).schema[0].dataType.simpleString()
    except PySparkException as problem:
        return problem_of(text, fault_of(problem, text.sql, behind=1))
    if not _is_of_a_row(frame, text.sql):
        fact = (
            "needs more than its own row (a subquery, an aggregate or a window), or makes several"
        )
        is_condition = text.kind is Kind.CONDITION
        step = "Judge each row by" if is_condition else "Compute it from"
        return Problem(text.loc, fact, f"{step} its own columns")
    if text.kind is Kind.CONDITION and kind != "boolean":
        fact = f"is of type {kind}, and no condition"
        return Problem(text.loc, fact, "Compare it with something: player <> ''")
    return None


def _is_of_a_row(frame: DataFrame, sql: str) -> bool:
    """Whether an expression that compiles is one of a row: Spark filters rows by no others."""
    try:
        frame.where(F.expr(f"({sql}\n)").isNotNull()).schema  # noqa: B018 - which compiles it
    except PySparkException:
        return False
    return True
