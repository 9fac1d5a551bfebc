"""How a view is computed: its columns, and whether new rows can be merged with what it has.

Spark analyzes the measures here over no rows; nothing is read.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyspark.sql.types as T  # noqa: N812 - as every Spark guide writes it
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from lake_assets.errors import FeedError
from lake_assets.gold.measures import CannotMergeError, Mergeable, mergeable
from lake_assets.gold.parse_measures import call_of
from lake_assets.gold.refresh_need import unmergeable
from lake_assets.model.exact_measures import split_exact
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.tables import STATE
from lake_assets.spark.determinism import is_repeatable
from lake_assets.spark.error_words import spark_words
from lake_assets.spark.jvm import arrow_schema, spark_schema
from lake_assets.spark.key_column import key_column, with_table_names

KEY = "#key"
"""string: the key of a row, beside a view's columns."""

BUCKET = "#bucket"
"""int: the bucket of a row within its key's table."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Measure:
    """One measure of a view."""

    name: str
    sql: str
    kind: T.DataType
    """Of the value."""

    merge: Mergeable | None
    """None where Spark's own function computes the value from all rows."""

    @property
    def held(self) -> str:
        """The column that holds what is merged: the value itself, or a state beside it."""
        return STATE + self.name if self.merge and self.merge.value else self.name

    @property
    def of_rows(self) -> Column:
        """What is held of rows."""
        return F.expr(self.merge.of_rows if self.merge else self.sql).alias(self.held)

    @property
    def value(self) -> Column:
        """The value, of what is held."""
        if self.merge is None or self.merge.value is None:
            return F.col(f"`{self.held}`")
        return F.expr(self.merge.value(f"`{self.held}`")).cast(self.kind).alias(self.name)


@dataclass(frozen=True, kw_only=True, slots=True)
class CompiledView:
    """A view and its measures, analyzed against the silver there is."""

    feed: Feed
    view: GoldView
    group_keys: Mapping[str, str]
    """By column that the rows are grouped by, its SQL over silver's columns."""

    measures: tuple[Measure, ...]
    why_full: str
    """In words, why the view cannot be merged; empty if it can."""

    held: T.StructType
    """`#key`, the group keys and what is held of each measure."""

    columns: pa.Schema
    """Of the gold table: group keys, values, and the states that the values do not carry."""

    def states_of(self, rows: DataFrame) -> DataFrame:
        """Silver's rows, aggregated: `held`."""
        keys = [F.expr(sql).alias(name) for name, sql in self.group_keys.items()]
        return rows.groupBy(key_column(self.feed).alias(KEY), *keys).agg(
            *(measure.of_rows for measure in self.measures)
        )

    def stored(self, gold: DataFrame, key: Column) -> DataFrame:
        """What is held, of gold's rows and their keys."""
        return gold.select(key.alias(KEY), *(f"`{name}`" for name in self.held.names[1:]))

    def merged(self, states: DataFrame) -> DataFrame:
        """`held` and `#bucket`, possibly many rows of a group, merged into one."""
        merges = []
        for measure in self.measures:
            if measure.merge is None:
                raise ValueError(self.why_full)
            state = F.expr(measure.merge.of_states(f"`{measure.held}`"))
            merges.append(state.cast(self.held[measure.held].dataType).alias(measure.held))
        return states.groupBy(
            *self._places(), *(F.col(f"`{name}`") for name in self.group_keys)
        ).agg(*merges)

    def finished(self, held: DataFrame) -> DataFrame:
        """`held` and `#bucket` as gold's columns, with `#key` and `#bucket` after them."""
        values = {measure.name: measure.value for measure in self.measures}
        return held.select(
            *(values.get(name, F.col(f"`{name}`")) for name in self.columns.names), *self._places()
        )

    def _places(self) -> tuple[Column, Column]:
        return F.col(f"`{KEY}`"), F.col(f"`{BUCKET}`")


def compiled_view_of(
    session: SparkSession, feed: Feed, view: GoldView, silver: pa.Schema
) -> CompiledView:
    """Analyze a view against silver's columns.

    Raises:
        FeedError: a key or a measure of the view does not compile.
    """
    nothing = session.createDataFrame([], spark_schema(silver))
    keys = view.key_expressions
    try:
        plain = nothing.groupBy(*(F.expr(sql).alias(name) for name, sql in keys.items())).agg(
            *(F.expr(split_exact(sql)[0]).alias(name) for name, sql in view.measures.items())
        )
        measures, why = _measures(session, view, plain.schema)
        why = _unrepeatable(nothing, view, plain) or why
        draft = CompiledView(
            feed=feed,
            view=view,
            group_keys=keys,
            measures=measures,
            why_full=why,
            held=T.StructType(),
            columns=pa.schema([]),
        )
        held_columns = nullable_arrow(draft.states_of(with_table_names(nothing, feed)).schema)
    except AnalysisException as problem:
        raise FeedError(
            f"gold view {view.name!r} of feed {feed.feed!r}",
            f"does not compile ({spark_words(problem)})",
            f"Correct its keys and measures; silver's columns are {', '.join(silver.names)}",
        ) from problem
    fields = [nullable_arrow(plain.schema).field(name) for name in (*keys, *view.measures)]
    if not why:
        fields += [
            held_columns.field(measure.held) for measure in measures if measure.held != measure.name
        ]
    return CompiledView(
        feed=feed,
        view=view,
        group_keys=keys,
        measures=measures,
        why_full=why,
        held=spark_schema(held_columns),
        columns=pa.schema(fields),
    )


def _unrepeatable(nothing: DataFrame, view: GoldView, plain: DataFrame) -> str:
    """Why what is there may not be merged with what comes; empty if it may.

    States of other times than now's would come together with those of now.
    """
    keys, measures = view.key_expressions, {n: split_exact(m)[0] for n, m in view.measures.items()}
    if is_repeatable(plain, [*keys.values(), *measures.values()]):
        return ""
    grouped = nothing.groupBy(*(F.expr(sql) for sql in keys.values()))
    frames = {
        **{name: (nothing.select(F.expr(sql)), sql) for name, sql in keys.items()},
        **{name: (grouped.agg(F.expr(sql)), sql) for name, sql in measures.items()},
    }
    # Measures come after what they are grouped by, so the first is the one.
    unrepeatable = (
        name for name, (frame, sql) in frames.items() if not is_repeatable(frame, [sql])
    )
    name = next(unrepeatable, view.name)
    return f"{name} depends on when it is computed, or on chance"


def _measures(
    session: SparkSession, view: GoldView, kinds: T.StructType
) -> tuple[tuple[Measure, ...], str]:
    """The measures, and the first reason why they cannot be merged."""
    reasons = [unmergeable(view)]
    measures = []
    for name, text in view.measures.items():
        sql, is_exact = split_exact(text)
        kind = kinds[name].dataType
        merge = None
        try:
            merge = None if is_exact else _merge(session, sql, kind)
        except CannotMergeError as problem:
            reasons.append(f"{name}: {problem}")
        if is_exact:
            reasons.append(f"{name} is exact")
        measures.append(Measure(name=name, sql=sql, kind=kind, merge=merge))
    return tuple(measures), next((reason for reason in reasons if reason), "")


def _merge(session: SparkSession, sql: str, kind: T.DataType) -> Mergeable:
    call = call_of(session, sql)
    if call is None:
        raise CannotMergeError("only a single aggregate can be merged")
    return mergeable(call, kind)


def nullable_arrow(found: T.StructType) -> pa.Schema:
    """Spark's columns as those of a table."""
    return pa.schema([_nullable(field) for field in arrow_schema(found)])


def _nullable(field: pa.Field) -> pa.Field:
    """A column, and the fields of a struct, that may be null, as all of a lake's are."""
    kind = field.type
    if pa.types.is_struct(kind):
        kind = pa.struct([_nullable(child) for child in kind])
    return pa.field(field.name, kind, nullable=True)
