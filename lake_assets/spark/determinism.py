"""Whether SQL says the same of the same rows each time, or asks the clock, chance or the session.

Spark tells: by `deterministic` of chance and of where a row lies, by the tree pattern under which
its own rules look for what stands for one query (`current_timestamp()`, `now()`, `current_user()`),
and by its rule for dates in words (`cast('today' as date)`). There is no list of functions here.
"""

import re
from collections.abc import Iterable
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lake_assets.spark.jvm import analyzed_plan, asks_for_current, optimizer_rule

_TYPED_LITERAL = re.compile(
    r"\b(date|timestamp(?:_ltz|_ntz)?)\s*('[^']*'|\"[^\"]*\")", re.IGNORECASE
)
"""`date'today'`: the parser makes a plain date of it, of which no plan tells where it came from."""


def is_repeatable(frame: DataFrame, expressions: Iterable[str]) -> bool:
    """Whether a query gives the same for the same rows, whenever and wherever it runs.

    Args:
        frame: the query.
        expressions: SQL that it consists of.

    Raises:
        pyspark.errors.AnalysisException: the query does not compile.
    """
    plan = analyzed_plan(frame)
    return bool(plan.deterministic()) and not asks_session(frame, expressions)


def asks_session(frame: DataFrame, expressions: Iterable[str]) -> bool:
    """Whether a query depends on when it runs or who runs it; chance is not asked about.

    Args and errors are those of `is_repeatable`.
    """
    literals = {match for sql in expressions for match in _TYPED_LITERAL.findall(sql)}
    frames = [frame]
    if literals:
        casts = [F.expr(f"cast({value} as {kind})") for kind, value in sorted(literals)]
        frames.append(frame.sparkSession.range(0).select(*casts))
    return any(_asks(frame.sparkSession, analyzed_plan(query)) for query in frames)


def _asks(session: SparkSession, plan: Any) -> bool:  # noqa: ANN401 - an object of the JVM
    # What a function stands for is seen once it is put in its place: `to_date('today')` is a cast.
    plain = optimizer_rule(session, "ReplaceExpressions").apply(plan)
    if asks_for_current(session, plain):
        return True
    return not plain.fastEquals(optimizer_rule(session, "SpecialDatetimeValues").apply(plain))
