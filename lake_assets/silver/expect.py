"""Expectations as columns: conditions in, marks out. Counting and acting are the writer's work."""

from collections.abc import Sequence

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lake_assets.errors import FeedError
from lake_assets.lake.sql import first_line
from lake_assets.lake.writer import KEEP
from lake_assets.model.feeds import Action, Expectation
from lake_assets.silver.rows import REASON

DROPPED = "#dropped"
"""boolean: some expectation drops the row; counted once however many do."""


def mark_of(expectation: Expectation) -> str:
    """Name of the boolean column that says whether a row violates an expectation."""
    return f"#violates_{expectation.name}"


def judged(rows: DataFrame, expectations: Sequence[Expectation]) -> DataFrame:
    """Add one boolean column an expectation, `#dropped` and `#keep`; null counts as violated.

    Refused rows are judged by nothing: they are quarantined already and violate no expectation.

    Raises:
        FeedError: an expectation's SQL does not compile against the rows' columns.
    """
    if not expectations:
        return rows
    is_refused = F.col(f"`{REASON}`").isNotNull()
    try:
        marked = rows.select("*", *(_mark(e, is_refused) for e in expectations))
    except AnalysisException:
        for expectation in expectations:
            _ensure_compiles(rows, expectation)
        raise
    dropping = [F.col(f"`{mark_of(e)}`") for e in expectations if e.action is Action.DROP]
    dropped = F.lit(False)  # noqa: FBT003 - a literal
    for mark in dropping:
        dropped = dropped | mark
    return marked.select("*", dropped.alias(DROPPED), (~dropped).alias(KEEP))


def holds(expectation: Expectation) -> Column:
    """Whether a row meets an expectation: never null, since null counts as violated."""
    return F.coalesce(F.expr(expectation.sql).cast("boolean"), F.lit(False))  # noqa: FBT003 - a literal


def _ensure_compiles(rows: DataFrame, expectation: Expectation) -> None:
    try:
        rows.select(F.expr(expectation.sql).cast("boolean"))
    except AnalysisException as problem:
        columns = ", ".join(name for name in rows.columns if not name.startswith("#"))
        raise FeedError(
            f"expectation {expectation.name!r}",
            f"does not compile ({first_line(problem)})",
            f"Correct its sql; the columns are {columns}",
        ) from problem


def _mark(expectation: Expectation, is_refused: Column) -> Column:
    return (~(is_refused | holds(expectation))).alias(mark_of(expectation))
