"""Gold views as Spark analyses them: keys, measures, queries, what is expected of their rows."""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lake_assets.errors import FeedError
from lake_assets.gold.sql_view import stored_columns
from lake_assets.model.exact_measures import split_exact
from lake_assets.model.gold_views import WINDOW_END, WINDOW_START, GoldView
from lake_assets.model.queries import QuerySource, with_names
from lake_assets.validation.expressions_by_spark import problem_of, single, with_texts
from lake_assets.validation.quick import Problem
from lake_assets.validation.rows_by_spark import RowsOfFeed, Verdicts
from lake_assets.validation.spark_words import fault_of
from lake_assets.validation.sql_text import Fault, Kind
from lake_assets.validation.texts import Over, Text


@dataclass(frozen=True, slots=True)
class ViewOfFeed:
    """One view of a feed; what it gives is put among `views`."""

    tables: Mapping[str, RowsOfFeed]
    views: dict[tuple[str, str], DataFrame]
    feed: str
    view: GoldView

    def verdicts(self) -> Verdicts:
        """Of all its texts."""
        own = self.tables[self.feed]
        texts = [one for one in own.texts if one.loc[0] == "gold" and self._is_mine(one)]
        silver = own.silver
        made = None
        for text in (one for one in texts if one.over is Over.SILVER):
            if text.kind is Kind.QUERY:
                verdict, made, is_known = self._query(text)
                if is_known:
                    yield tuple(text.loc), verdict
            elif silver is not None:
                is_of_many = text.kind is Kind.AGGREGATE
                verdict = _aggregate(silver, text) if is_of_many else single(silver, text)
                yield tuple(text.loc), verdict
        if self.view.sql is None and silver is not None:
            made = self._grouped(silver)
        if made is None:
            return
        self.views[self.feed, self.view.name] = made
        for text in (one for one in texts if one.over is Over.VIEW):
            yield tuple(text.loc), single(made, text)

    def _is_mine(self, text: Text) -> bool:
        place = text.loc[1]
        name = self.tables[self.feed].judged.declared.at(("gold", place, "name"))
        return self.view.name in (text.view, name)

    def _grouped(self, silver: DataFrame) -> DataFrame | None:
        """The rows of a view of keys and measures, or of a keyed one."""
        view = self.view
        try:
            if view.keyed is not None:
                left_out = view.keyed.except_columns
                start = F.expr(view.keyed.order_value)
                made = silver.withColumn("__start_at", start).withColumn("__end_at", start)
                return made.drop(*left_out)
            keys = [F.expr(sql).alias(name) for name, sql in view.key_expressions.items()]
            measures = [F.expr(split_exact(s)[0]).alias(n) for n, s in view.measures.items()]
            made = silver.groupBy(*keys).agg(*measures)
            if view.windows is not None:
                for name in (WINDOW_END, WINDOW_START):
                    made = made.withColumn(name, F.lit(None).cast("timestamp"))
        except PySparkException:
            return None  # which is told of the text that it is of
        return made

    def _query(self, text: Text) -> tuple[Problem | None, DataFrame | None, bool]:
        """What is wrong with a query, what it gives, and whether all that it reads is known."""
        rows = {source: self._rows(source) for source in self.view.sources}
        own = self.tables[self.feed].session.newSession()
        names = {}
        for index, (source, frame) in enumerate(rows.items()):
            if frame is None:
                return None, None, False
            names[source] = f"_source_{index}"
            copied = own.createDataFrame(own.sparkContext.emptyRDD(), frame.schema)
            copied.createOrReplaceTempView(names[source])
        sql = with_names(text.sql, names)
        try:
            found = own.sql(sql)
        except PySparkException as problem:
            fault = fault_of(problem, sql)
            piece = sql[fault.start : fault.end]
            start = text.sql.find(piece) if piece != sql else -1
            fault = Fault(
                max(start, 0),
                start + len(piece) if start >= 0 else len(text.sql),
                _plain(fault.fact, names),
                _plain(fault.next_step, names),
            )
            return problem_of(text, fault), None, True
        try:
            stored_columns("", found)
        except FeedError as problem:
            return Problem(text.loc, problem.fact, problem.next_step), None, True
        return None, found, True

    def _rows(self, source: QuerySource) -> DataFrame | None:
        if source.external:
            return None
        whose = self.tables.get(source.feed or self.feed)
        if whose is None or not source.view:
            return None if whose is None else whose.silver
        found = self.views.get((whose.feed.feed, source.view))
        key = whose.feed.view_key_column
        view = whose.feed.view(source.view)
        is_all = not source.is_of_key and not view.is_over_all
        return with_texts(found, [key] if is_all and key else [])


def _aggregate(silver: DataFrame, text: Text) -> Problem | None:
    try:
        grouped = silver.groupBy(F.lit(1).alias("#one"))
        grouped.agg(F.expr(f"({text.sql}\n)").alias("value"))
    except PySparkException as problem:
        fault = fault_of(problem, text.sql, behind=1)
        condition = problem.getCondition() or ""
        if condition.startswith(("MISSING_AGGREGATION", "MISSING_GROUP_BY")):
            fact = "is no aggregate: a group has many rows, and it is a value of each"
            step = "Put an aggregate around it, such as max(…), or make it a key"
            fault = Fault(0, len(text.sql), fact, step)
        return problem_of(text, fault)
    return None


def _plain(words: str, names: Mapping[QuerySource, str]) -> str:
    """Words with the names that the query has for its tables."""
    for source, name in names.items():
        words = words.replace(f"{name}.", "").replace(name, str(source))
    return words
