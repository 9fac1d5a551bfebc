"""A feed's conditions as Spark's columns, and what Spark says of those that do not compile."""

from pyspark.errors import PySparkException
from pyspark.sql import Column
from pyspark.sql import functions as F


def holds(condition: str) -> Column:
    """Whether a row meets a condition: never null, since null counts as violated."""
    return F.coalesce(F.expr(condition).cast("boolean"), F.lit(False))  # noqa: FBT003 - a literal


def first_line(problem: PySparkException) -> str:
    """The complaint itself, without the plan and the call site that follow it."""
    return str(problem.getMessage() or problem).splitlines()[0].rstrip(".")
