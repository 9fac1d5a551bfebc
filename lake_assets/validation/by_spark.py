"""The last word: Spark's own analyser over no rows that have the columns there will be.

It tells what the quick judge cannot: types, numbers of arguments, what is grouped. What it takes is
right, whatever the quick judge said; where both refuse, the quick judge's words are kept, which
tell the nearest right name.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lake_assets.errors import FeedError
from lake_assets.feeds.document import Loc
from lake_assets.gold.sql_view import stored_columns
from lake_assets.model.exact_measures import split_exact
from lake_assets.model.expectations import Expectation
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import origin_of
from lake_assets.model.gold_views import WINDOW_END, WINDOW_START, GoldView
from lake_assets.model.queries import QuerySource, with_names
from lake_assets.model.sinks import CHANGE
from lake_assets.model.transforms import ELEMENT, generators_in
from lake_assets.silver.computed_columns import kind_without_keys
from lake_assets.silver.expectation_marks import reading_of
from lake_assets.silver.layouts import table_columns
from lake_assets.silver.selection import no_rows, select
from lake_assets.spark.conditions import without_ansi
from lake_assets.validation.quick import Problem
from lake_assets.validation.run import Judged
from lake_assets.validation.spark_words import fault_of
from lake_assets.validation.sql_text import Fault, Kind
from lake_assets.validation.texts import Over, Text


def judge_by_spark(
    session: SparkSession, judged: Sequence[Judged]
) -> Mapping[str, Sequence[Problem]]:
    """By feed, what is wrong with it after all."""
    tables = {one.file.feed.feed: _Tables(session, one) for one in judged}
    views: dict[tuple[str, str], DataFrame] = {}
    verdicts: dict[str, dict[Loc, Problem | None]] = {}
    for name, one in tables.items():
        verdicts[name] = dict(one.rows())
    for name, view in _in_order(judged):
        verdicts[name] |= dict(_View(tables, views, name, view).verdicts())
    for name, one in tables.items():
        verdicts[name] |= dict(one.of_sinks(views))
    return {
        one.file.feed.feed: _together(one.problems, verdicts[one.file.feed.feed]) for one in judged
    }


def _together(
    quick: Sequence[Problem], verdicts: Mapping[Loc, Problem | None]
) -> Sequence[Problem]:
    """What both said of the same texts; what Spark was not asked about stays as it is."""
    kept = [one for one in quick if verdicts.get(tuple(one.loc), one) is not None]
    told = {tuple(one.loc) for one in kept}
    new = [one for loc, one in verdicts.items() if one is not None and loc not in told]
    return [*kept, *new]


def _problem(loc: Loc, text: Text, fault: Fault) -> Problem:
    is_whole = fault.end - fault.start >= len(text.sql)
    start, end = (0, 0) if is_whole else (fault.start + text.skipped, fault.end + text.skipped)
    return Problem(loc, fault.fact, fault.next_step, start, end)


@dataclass(slots=True)
class _Tables:
    """The rows of one feed at each stage; none where they are not known."""

    session: SparkSession
    judged: Judged
    selected: pa.Schema | None = None
    silver: DataFrame | None = None
    texts: Sequence[Text] = field(default=())

    def __post_init__(self) -> None:
        self.texts = tuple(self.judged.declared.texts())

    @property
    def feed(self) -> Feed:
        return self.judged.file.feed

    def rows(self) -> Iterator[tuple[Loc, Problem | None]]:
        """Verdicts of what is of single rows, on their way to silver."""
        decoded = self.judged.known.own.schema
        if decoded is None or self.judged.known.own.decoded.is_open:
            return
        # Where one makes rows of elements, the others read what it makes: only all can be asked.
        alone = not generators_in(self.feed.select)
        items = [text for text in self.texts if alone and text.over is Over.DECODED]
        verdicts = {tuple(one.loc): _item(self.session, decoded, one) for one in items}
        yield from verdicts.items()
        if any(verdicts.values()):
            return
        common = decoded
        if self.feed.select:
            try:
                common = _selected(self.session, self.feed, decoded, self.feed.select)
            except FeedError as problem:
                yield ("select",), _told(("select",), problem)
                return
        items = [text for text in self.texts if text.over is Over.COMMON]
        verdicts = {tuple(one.loc): _item(self.session, common, one) for one in items}
        yield from verdicts.items()
        if any(verdicts.values()):
            return
        try:
            self.selected = _of_all_keys(self.session, self.feed, common)
        except FeedError as problem:
            yield ("selects",), _told(("selects",), problem)
            return
        origin = origin_of(self.feed)
        try:
            columns = table_columns(self.selected, origin, self.feed.layout_of("").partition_by)
        except FeedError as problem:
            yield ("partition_by",), _told(("partition_by",), problem)
            return
        self.silver = no_rows(self.session, columns.remove_metadata())
        yield from self._of_selected()

    def _of_selected(self) -> Iterator[tuple[Loc, Problem | None]]:
        assert self.selected is not None  # noqa: S101 - just made
        frame = no_rows(self.session, self.selected)
        for text in self.texts:
            if text.over is not Over.SELECTED:
                continue
            with without_ansi(self.session):
                verdict = _single(frame, text)
            if verdict is None:
                is_condition = text.kind is Kind.CONDITION
                verdict = self._condition(text) if is_condition else self._route(text)
            yield tuple(text.loc), verdict

    def _condition(self, text: Text) -> Problem | None:
        """What of a condition is not one, though it compiles."""
        assert self.selected is not None  # noqa: S101 - as above
        try:
            reading_of(self.session, self.selected, [Expectation(name="asked", sql=text.sql)])
        except FeedError as problem:
            return Problem(text.loc, problem.fact, problem.next_step)
        return None

    def _route(self, text: Text) -> Problem | None:
        """What of a route is none, though it compiles."""
        assert self.selected is not None  # noqa: S101 - as above
        item = f"({text.sql}\n) as route"
        try:
            made = select(self.session, self.feed.feed, self.selected, [item])
        except FeedError as problem:
            return _told(text.loc, problem)
        kind = kind_without_keys(made.outputs[0].kind)
        fact = f"is {kind}, which holds no keys"
        return Problem(text.loc, fact, "Make it text: cast(… as string)") if kind else None

    def of_sinks(
        self, views: Mapping[tuple[str, str], DataFrame]
    ) -> Iterator[tuple[Loc, Problem | None]]:
        """Verdicts of what sinks send."""
        for text in self.texts:
            if text.loc[0] != "sinks":
                continue
            frame = self.silver
            if text.over is Over.VIEW:
                key, frame = self.feed.view_key_column, views.get((self.feed.feed, text.view))
                frame = _with_texts(frame, [CHANGE, *([key] if key else [])])
            if frame is None:
                continue
            with without_ansi(self.session):
                yield tuple(text.loc), _single(frame, text)


def _told(loc: Loc, problem: FeedError) -> Problem:
    """What the streams would say of a part of a feed."""
    cause = problem.__cause__
    if isinstance(cause, PySparkException):
        fault = fault_of(cause, "")
        return Problem(loc, fault.fact, fault.next_step)
    return Problem(loc, problem.fact, problem.next_step)


def _item(session: SparkSession, columns: pa.Schema, text: Text) -> Problem | None:
    """What is wrong with one item of a select, by itself."""
    try:
        select(session, "", columns, [text.sql])
    except FeedError as problem:
        cause = problem.__cause__
        if isinstance(cause, PySparkException):
            return _problem(text.loc, text, fault_of(cause, text.sql))
        return Problem(text.loc, problem.fact, problem.next_step)
    return None


def _selected(
    session: SparkSession, feed: Feed, columns: pa.Schema, items: Sequence[str]
) -> pa.Schema:
    """The columns that items make of others."""
    made = select(session, feed.feed, columns, items)
    found = pa.schema([pa.field(one.name, one.kind) for one in made.outputs])
    has_elements = made.explosion is not None and ELEMENT not in found.names
    return found.append(pa.field(ELEMENT, pa.int32())) if has_elements else found


def _of_all_keys(session: SparkSession, feed: Feed, common: pa.Schema) -> pa.Schema:
    """The columns of the tables of all keys."""
    if not feed.selects:
        return common
    found = list(common) if feed.has_other_keys else []
    for items in feed.selects.values():
        names = {one.name for one in found}
        made = _selected(session, feed, common, items)
        found += [one for one in made if one.name not in names]
    return pa.schema(found)


def _with_texts(frame: DataFrame | None, names: Sequence[str]) -> DataFrame | None:
    """Rows with further columns of texts, unless they have them."""
    if frame is None:
        return None
    for name in names:
        if name not in frame.columns:
            frame = frame.withColumn(name, F.lit("").cast("string"))
    return frame


def _single(frame: DataFrame, text: Text) -> Problem | None:
    """What is wrong with an expression over rows; None if it compiles.

    In brackets: Spark would take a word behind it for its name.
    """
    try:
        kind = frame.select(F.expr(f"({text.sql}\n)")).schema[0].dataType.simpleString()
    except PySparkException as problem:
        return _problem(text.loc, text, fault_of(problem, text.sql, behind=1))
    if text.kind is Kind.CONDITION and kind != "boolean":
        fact = f"is of type {kind}, and no condition"
        return Problem(text.loc, fact, "Compare it with something: player <> ''")
    return None


def _in_order(judged: Sequence[Judged]) -> Iterator[tuple[str, GoldView]]:
    """All views, each after those that it reads."""
    left = [(one.file.feed.feed, view) for one in judged for view in one.file.feed.gold]
    done: set[tuple[str, str]] = set()
    while left:
        waiting = {(name, view.name) for name, view in left}
        ready = [
            (name, view)
            for name, view in left
            if not any(((s.feed or name), s.view) in waiting for s in view.sources if s.view)
        ]
        if not ready:
            return  # those that read each other in turn, which is told elsewhere
        yield from ready
        done |= {(name, view.name) for name, view in ready}
        left = [one for one in left if (one[0], one[1].name) not in done]


@dataclass(frozen=True, slots=True)
class _View:
    """One view of a feed; what it gives is put among `views`."""

    tables: Mapping[str, _Tables]
    views: dict[tuple[str, str], DataFrame]
    feed: str
    view: GoldView

    def verdicts(self) -> Iterator[tuple[Loc, Problem | None]]:
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
                verdict = self._aggregate(silver, text) if text.kind is Kind.AGGREGATE else None
                yield tuple(text.loc), verdict or _single_value(silver, text)
        if self.view.sql is None and silver is not None:
            made = self._grouped(silver)
        if made is None:
            return
        self.views[self.feed, self.view.name] = made
        for text in (one for one in texts if one.over is Over.VIEW):
            yield tuple(text.loc), _single(made, text)

    def _is_mine(self, text: Text) -> bool:
        place = text.loc[1]
        name = self.tables[self.feed].judged.declared.at(("gold", place, "name"))
        return self.view.name in (text.view, name)

    def _aggregate(self, silver: DataFrame, text: Text) -> Problem | None:
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
            return _problem(text.loc, text, fault)
        return None

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
                self._plain(fault.fact, names),
                self._plain(fault.next_step, names),
            )
            return _problem(text.loc, text, fault), None, True
        try:
            stored_columns("", found)
        except FeedError as problem:
            return Problem(text.loc, problem.fact, problem.next_step), None, True
        return None, found, True

    def _plain(self, words: str, names: Mapping[QuerySource, str]) -> str:
        """Words with the names that the query has for its tables."""
        for source, name in names.items():
            words = words.replace(f"{name}.", "").replace(name, str(source))
        return words

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
        return _with_texts(found, [key] if is_all and key else [])


def _single_value(silver: DataFrame, text: Text) -> Problem | None:
    return None if text.kind is Kind.AGGREGATE else _single(silver, text)
