"""Whether SQL says the same of the same rows each time, or asks the clock, chance or the session.

Spark tells: by `deterministic` of chance and of where a row lies, by the tree pattern under which
its own rules look for what stands for one query (`current_timestamp()`, `now()`, `current_user()`),
and by its rule for dates in words (`cast('today' as date)`). There is no list of functions here.
"""

import re
from collections.abc import Iterable
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

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
    plan = frame._jdf.queryExecution().analyzed()  # noqa: SLF001 - no other way to the plans
    return bool(plan.deterministic()) and not asks_session(frame, expressions)


def asks_session(frame: DataFrame, expressions: Iterable[str]) -> bool:
    """Whether a query depends on when it runs or who runs it; chance is not asked about.

    Args and errors are those of `is_repeatable`.
    """
    catalyst = frame.sparkSession._jvm.org.apache.spark.sql.catalyst  # type: ignore[union-attr]  # noqa: SLF001
    literals = {match for sql in expressions for match in _TYPED_LITERAL.findall(sql)}
    frames = [frame]
    if literals:
        casts = [F.expr(f"cast({value} as {kind})") for kind, value in sorted(literals)]
        frames.append(frame.sparkSession.range(0).select(*casts))
    return any(_asks(one._jdf.queryExecution().analyzed(), catalyst) for one in frames)  # noqa: SLF001


def _asks(plan: Any, catalyst: Any) -> bool:  # noqa: ANN401 - objects of the JVM
    # What a function stands for is seen once it is put in its place: `to_date('today')` is a cast.
    plain = _rule(catalyst, "ReplaceExpressions").apply(plan)
    if plain.containsPattern(catalyst.trees.TreePattern.CURRENT_LIKE()):
        return True
    return not plain.fastEquals(_rule(catalyst, "SpecialDatetimeValues").apply(plain))


def _rule(catalyst: Any, name: str) -> Any:  # noqa: ANN401 - objects of the JVM
    return getattr(getattr(catalyst.optimizer, f"{name}$"), "MODULE$")
