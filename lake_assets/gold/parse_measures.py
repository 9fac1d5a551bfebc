"""Measures as Spark's own parser sees them: whether one is a single call, and of what."""

from typing import Any

from pyspark.errors import ParseException
from pyspark.sql import SparkSession

from lake_assets.gold.measures import Call
from lake_assets.spark.jvm import sql_parser


def call_of(session: SparkSession, sql: str) -> Call | None:
    """The aggregate call that an SQL expression is; None if it is more than one, or something else.

    The arguments are cut out of the text where the parser found them, and parsed again: only what
    comes out the same is taken.

    Raises:
        pyspark.errors.ParseException: it is no SQL.
    """
    parser = sql_parser(session)
    call = parser.parseExpression(sql)
    if call.getClass().getSimpleName() != "UnresolvedFunction":
        return None
    names = call.nameParts()
    is_plain = names.size() == 1 and not call.ignoreNulls().isDefined()
    if not is_plain or not call.orderingWithinGroup().isEmpty():
        return None
    name = names.apply(0).lower()
    given = [call.arguments().apply(i) for i in range(call.arguments().size())]
    arguments = [_text(parser, sql, argument) for argument in given]
    where = _text(parser, sql, call.filter().get()) if call.filter().isDefined() else None
    if None in arguments or (where is None and call.filter().isDefined()):
        return None
    return Call(
        function=name,
        arguments=tuple(argument for argument in arguments if argument is not None),
        where=where,
        is_distinct=call.isDistinct(),
    )


def _text(parser: Any, sql: str, expression: Any) -> str | None:  # noqa: ANN401 - objects of the JVM
    """As the user wrote it or, where the parser does not tell its place, as Spark writes it.

    Of `count(*)` the parser makes a 1, and a condition's place is at times that of its operator.
    """
    place = expression.origin()
    texts = [expression.sql()]
    if place.startIndex().isDefined() and place.stopIndex().isDefined():
        texts.insert(0, sql[place.startIndex().get() : place.stopIndex().get() + 1])
    return next((text for text in texts if _means(parser, text, expression)), None)


def _means(parser: Any, text: str, expression: Any) -> bool:  # noqa: ANN401
    try:
        return bool(expression.equals(parser.parseExpression(text)))
    except ParseException:
        return False
