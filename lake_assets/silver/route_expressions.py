"""What a feed's routes read, for some columns of silver: SQL, resolved and computed.

Spark says what an expression means; tasks compute it where Arrow says the same
(`silver.route_values`), else Spark does (`silver.route_by_spark`).
"""

import logging
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from lake_assets.errors import FeedError
from lake_assets.model.feeds import Feed
from lake_assets.model.routes import Route
from lake_assets.silver.arrow_evaluator import Column, is_sure
from lake_assets.silver.computed_columns import kind_without_keys
from lake_assets.silver.key_masks import ensure_unmasked
from lake_assets.silver.route_values import RouteValue
from lake_assets.silver.selection import Output, select

_LOG = logging.getLogger(__name__)

_NOT_THERE = ("UNRESOLVED_COLUMN", "FIELD_NOT_FOUND")
"""How Spark's words for a column or a field begin that rows have not."""


@dataclass(slots=True)
class RouteCompiler:
    """Resolves a feed's routes again only if the columns or the values ask for it."""

    feed: Feed
    last: tuple[RouteValue, ...] = ()
    _columns: pa.Schema | None = field(default=None, init=False)
    _is_spark_asked: bool = field(default=False, init=False)

    def compiled(self, session: SparkSession, columns: pa.Schema) -> tuple[RouteValue, ...]:
        """The routes for rows with these columns.

        Raises:
            FeedError: one does not fit them, is not the same of the same row each time, or reads
                what is hidden later.
        """
        if self._columns != columns:
            self.last = tuple(self._value(session, columns, one) for one in self.feed.all_routes)
            ensure_unmasked(self.feed, self.last, columns.names)
            self._columns = columns
        return self.last

    def ask_spark(self) -> None:
        """Let Spark compute from now on: values came of which Arrow is not sure, and come again."""
        self._is_spark_asked, self._columns = True, None

    def forget(self) -> None:
        """Resolve again before the next rows."""
        self._columns = None

    def _value(self, session: SparkSession, columns: pa.Schema, route: Route) -> RouteValue:
        topic = self.feed.source.origin.name
        if route.expression is None:
            return RouteValue(route=route, topic=topic)
        thing, sql = f"route of feed {self.feed.feed!r}", f"({route.expression}\n)"
        try:
            (output,) = select(
                session, self.feed.feed, columns, [f"{sql} as route"], thing=thing
            ).outputs
        except FeedError as problem:
            if self.feed.payload.grows and _is_not_there(problem):
                return RouteValue(route=route, topic=topic)  # until a value brings it along
            raise
        if kind := kind_without_keys(output.kind):
            fact = f"reads {route.what}, which is {kind} and holds no keys"
            step = f"Make it text: `sql: cast({route.what} as string)`"
            raise FeedError(thing, fact, step)
        return self._computed(route, topic, sql, output)

    def _computed(self, route: Route, topic: str, sql: str, output: Output) -> RouteValue:
        node = output.node if output.source is None else Column(output.source)
        if node is None or (self._is_spark_asked and not is_sure(node)):
            text = "route of feed %r: Spark computes %s, for which rows travel through the JVM"
            _LOG.info(text, self.feed.feed, route.what, extra={"feed": self.feed.feed})
            return RouteValue(route=route, topic=topic, sql=sql, reads=output.reads)
        return RouteValue(route=route, topic=topic, node=node, reads=output.reads)


def _is_not_there(problem: FeedError) -> bool:
    cause = problem.__cause__
    if not isinstance(cause, AnalysisException):
        return False
    return (cause.getCondition() or "").startswith(_NOT_THERE)
