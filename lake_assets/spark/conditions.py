"""A feed's conditions as Spark's columns."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

_ANSI = "spark.sql.ansi.enabled"


def holds(condition: str) -> Column:
    """Whether a row meets a condition: never null, since null counts as violated."""
    return F.coalesce(F.expr(condition).cast("boolean"), F.lit(False))  # noqa: FBT003 - a literal


@contextmanager
def without_ansi(session: SparkSession) -> Iterator[None]:
    """Plan what is planned meanwhile with ANSI mode off.

    What an expectation cannot compute is null then, and so violated, where ANSI would stop the
    stream for the one row that the expectation is there to catch.
    """
    before = str(session.conf.get(_ANSI))
    session.conf.set(_ANSI, "false")
    try:
        yield
    finally:
        session.conf.set(_ANSI, before)
