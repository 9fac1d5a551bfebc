"""One free query: run over what one table is computed from, its rows left in files nobody sees yet.

What is to be computed, and whether the files are committed, is decided in `gold.sql_views`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    FractionalType,
    IntegralType,
    MapType,
    StringType,
    StructType,
    TimestampType,
)

from lake_assets.delta.commit import Commit
from lake_assets.delta.table_log import log_of
from lake_assets.errors import FeedError
from lake_assets.gold.source_rows import SourceRows, read_source, view_name
from lake_assets.gold.view_expectations import GoldJudge, marked
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.queries import SILVER, with_names
from lake_assets.model.tables import TableRef
from lake_assets.parquet.writer import TABLE, Layout, Target, WritePlan
from lake_assets.spark.error_words import spark_words
from lake_assets.spark.fan_out import FanOut, discard, fan_out
from lake_assets.spark.jvm import arrow_schema
from lake_assets.storage.store import Store

_NEVER_IN_A_NAME = set(" ,;{}()\n\t=")
"""Characters that Delta refuses in the names of columns; `count(1)` has some, which is what Spark
calls a column that got no name."""

_STORABLE = (
    StringType,
    BinaryType,
    BooleanType,
    IntegralType,
    FractionalType,
    DateType,
    TimestampType,
)
"""Types that need no table feature, as `timestamp_ntz` and `variant` do: reader version 1."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SqlViewInput:
    """What a table of a view is computed from."""

    scope: str
    """A key, or `EVERY_KEY`."""

    table: TableRef
    sources: tuple[SourceRows, ...]
    """A name that the query reads each."""

    info: Mapping[str, str]
    """Which versions these are, for the commit."""

    @property
    def handles(self) -> tuple[DeltaTable, ...]:
        """All tables that it reads."""
        return tuple(handle for source in self.sources for handle in source.handles)


@dataclass(frozen=True, kw_only=True, slots=True)
class SqlViewResult:
    """A table's new rows."""

    source: SqlViewInput
    schema: pa.Schema
    plan: WritePlan
    left: FanOut

    @property
    def commit(self) -> Commit:
        """What puts them in the place of the old ones."""
        written = self.left.written.get(0)
        files = written.files if written else ()
        return Commit(table=self.source.table, files=files, info=self.source.info)

    def discard(self) -> None:
        """Delete the files."""
        discard(self.left.written, self.plan)


@dataclass(frozen=True, kw_only=True, slots=True)
class SqlViewQuery:
    """What all tables of a view are computed with."""

    feed: Feed
    view: GoldView
    lake: Store
    buffer_bytes: int


def compute(session: SparkSession, query: SqlViewQuery, source: SqlViewInput) -> SqlViewResult:
    """Run a view's query over what a table of it is computed from.

    In a session of its own, so that `silver` may mean another key's rows elsewhere at the same
    time; it shares Spark and its settings with `session`. Thread-safe.

    Raises:
        FeedError: the query or an expectation does not compile, fails, or gives columns that a
            table cannot have.
    """
    view = query.view
    own = session.newSession()
    names = {}
    for index, each in enumerate(source.sources):
        names[each.source] = view_name(each.source, index)
        read_source(own, query.feed, each).createOrReplaceTempView(names[each.source])
    others = {each: name for each, name in names.items() if not each.is_plain}
    with _told(query, source):
        rows = own.sql(with_names(str(view.sql), others))
        schema = stored_columns(_thing(query), rows)
        plan = WritePlan(
            store=query.lake,
            targets=(Target(folder=log_of(query.lake, source.table).folder, layout=view.name),),
            layouts={view.name: Layout(schema=schema, sources=tuple(schema.names))},
            buffer_bytes=query.buffer_bytes,
        )
        placed = marked(rows.withColumn(TABLE, F.lit(0).cast("int")), view)
        scope = source.scope  # tables cannot be pickled, and the judge goes to the tasks
        judge = (lambda: GoldJudge(view, [scope])) if view.expectations else None
        left = fan_out(placed, plan, judge)
    return SqlViewResult(source=source, schema=schema, plan=plan, left=left)


def stored_columns(thing: str, rows: DataFrame) -> pa.Schema:
    """The columns of the table of a view's rows; `thing` is what errors call the view.

    Raises:
        FeedError: a table cannot have them.
    """
    twice = [name for name, n in Counter(c.lower() for c in rows.columns).items() if n > 1]
    if twice:
        raise FeedError(thing, f"has two columns called {twice[0]}", "Rename one with `as`")
    for name in rows.columns:
        if set(name) & _NEVER_IN_A_NAME or name.startswith("#"):
            fact = f"has a column {name!r}, and a table cannot have such a name"
            raise FeedError(thing, fact, "Write `as` and a name after it")
    for field in rows.schema.fields:
        if not _is_storable(field.dataType):
            kind = field.dataType.simpleString()
            fact = f"has a column {field.name!r} of type {kind}, which a table cannot have"
            raise FeedError(thing, fact, "Cast it to another type")
    return arrow_schema(rows.schema)


def _is_storable(kind: DataType) -> bool:
    """Whether a Delta table that every reader opens can have such a column."""
    if isinstance(kind, StructType):
        return all(_is_storable(field.dataType) for field in kind.fields)
    if isinstance(kind, ArrayType):
        return _is_storable(kind.elementType)
    if isinstance(kind, MapType):
        return _is_storable(kind.keyType) and _is_storable(kind.valueType)
    return isinstance(kind, _STORABLE)


@contextmanager
def _told(query: SqlViewQuery, source: SqlViewInput) -> Iterator[None]:
    """What Spark finds wrong with the query, as an error of the feed."""
    try:
        yield
    except AnalysisException as problem:
        columns = "; ".join(map(_columns, source.sources))
        fact = f"does not compile ({spark_words(problem)})"
        raise _bad(query, fact, f"Correct its sql; {columns}") from problem
    except PySparkException as problem:
        fact = f"fails ({spark_words(problem)})"
        raise _bad(
            query, fact, "Correct its sql; `try_divide`, `try_cast` … give null instead"
        ) from problem


def _columns(rows: SourceRows) -> str:
    name = SILVER if rows.source.is_plain else str(rows.source)
    return f"{name}'s columns are {', '.join(rows.columns.names)}"


def _bad(query: SqlViewQuery, fact: str, next_step: str) -> FeedError:
    return FeedError(_thing(query), fact, next_step)


def _thing(query: SqlViewQuery) -> str:
    return f"gold view {query.view.name!r} of feed {query.feed.feed!r}"
