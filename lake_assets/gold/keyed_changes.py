"""What changes come to: Spark's half of keyed tables, as `gold.job` computes any view.

Of each row the change with the greatest place counts (`model.keyed`), so what is there and what
comes can be merged in any order, any number of times. Nothing is read or committed here.
"""

from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from lake_assets.errors import FeedError
from lake_assets.gold.compiled_view import BUCKET, KEY, nullable_arrow
from lake_assets.gold.refresh_need import unmergeable
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.keyed import END, END_PLACE, PLACE, START, History, Keyed
from lake_assets.spark.determinism import is_repeatable
from lake_assets.spark.error_words import spark_words
from lake_assets.spark.jvm import spark_schema
from lake_assets.spark.key_column import key_column, with_table_names

_DELETED = "#deleted"
"""boolean: whether a change deletes its row."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Remembered:
    """What keyed tables know of deletes, beside the changes that are read."""

    deletes: DataFrame | None = None
    """`#key`, `by` and the place of each delete."""

    truncates: DataFrame | None = None
    """`#key` and the place of its last truncate, a row a key."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CompiledKeyed:
    """A keyed table, analyzed against the silver there is; to `gold.job` a compiled view."""

    feed: Feed
    view: GoldView
    keyed: Keyed
    silver: tuple[str, ...]
    """Silver's columns that the table has, `by` among them."""

    columns: pa.Schema
    """Of the gold table."""

    why_full: str = ""
    remembered: Remembered = field(default_factory=Remembered)

    @property
    def group_keys(self) -> dict[str, str]:
        """By which columns a row has its bucket."""
        return {name: f"`{name}`" for name in self.keyed.by}

    def states_of(self, rows: DataFrame) -> DataFrame:
        """The changes of silver's rows that count, with the deletes that are known of their rows.

        `#key`, silver's columns, a change's place, and whether it deletes.
        """
        keyed = self.keyed
        changes = rows.where(f"{keyed.is_complete} and not {keyed.is_truncate}").select(
            key_column(self.feed).alias(KEY),
            *(_named(name) for name in self.silver),
            F.expr(self.place).alias(PLACE),
            F.expr(keyed.is_delete).alias(_DELETED),
        )
        if self.remembered.deletes is not None:
            whose = [KEY, *keyed.by]
            known = self.remembered.deletes.join(changes.select(*whose).distinct(), whose, "semi")
            known = known.withColumn(_DELETED, F.expr("true"))
            changes = changes.unionByName(known, allowMissingColumns=True)
        return self._counting(changes, [])

    def stored(self, gold: DataFrame, key: Column) -> DataFrame:
        """A table's rows as changes: each of them, and of a history the ends that they have."""
        own = gold.select(
            key.alias(KEY),
            *(_named(name) for name in self.silver),
            _named(PLACE),
            F.expr("false").alias(_DELETED),
        )
        if self.keyed.history is History.NEWEST:
            return own
        ends = gold.where(f"`{END_PLACE}` is not null").select(
            key.alias(KEY),
            *(_named(name) for name in self.keyed.by),
            _named(END_PLACE).alias(PLACE),
            F.expr("true").alias(_DELETED),
        )
        return own.unionByName(ends, allowMissingColumns=True)

    def merged(self, states: DataFrame) -> DataFrame:
        """The changes that count, of all there are; with `#bucket`."""
        return self._counting(states, [BUCKET])

    def finished(self, changes: DataFrame) -> DataFrame:
        """The table's rows, with `#key` and `#bucket` after their columns."""
        if self.keyed.history is History.ALL:
            # By bucket, too, as the rows lie already.
            row = [KEY, BUCKET, *self.keyed.by]
            following = Window.partitionBy(*map(_named, row)).orderBy(PLACE)
            changes = changes.withColumn(END_PLACE, F.lead(PLACE).over(following)).withColumns(
                {START: self._order_of(PLACE), END: self._order_of(END_PLACE)}
            )
        changes = changes.where(f"not `{_DELETED}`")
        if self.remembered.truncates is not None:
            last = self.remembered.truncates.withColumnRenamed(PLACE, "#truncated")
            changes = changes.join(F.broadcast(last), KEY, "left").where(
                f"`#truncated` is null or `{PLACE}` > `#truncated`"
            )
        return changes.select(*map(_named, [*self.columns.names, KEY, BUCKET]))

    def truncates_of(self, rows: DataFrame) -> DataFrame:
        """`#key` and place of the truncates among silver's rows."""
        condition = f"{self.keyed.is_complete} and {self.keyed.is_truncate}"
        return rows.where(condition).select(
            key_column(self.feed).alias(KEY), F.expr(self.place).alias(PLACE)
        )

    def deletes_in(self, rows: DataFrame, column: str) -> DataFrame:
        """`#key`, `by` and place of what a view of deletes holds in one of its columns."""
        whose = map(_named, [KEY, *self.keyed.by])
        return rows.where(f"`{column}` is not null").select(*whose, _named(column).alias(PLACE))

    def truncates_in(self, rows: DataFrame, column: str) -> DataFrame:
        """`#key` and place of what a view of deletes holds in one of its columns."""
        found = rows.where(f"`{column}` is not null")
        return found.select(_named(KEY), _named(column).alias(PLACE))

    @staticmethod
    def last_of(truncates: DataFrame) -> DataFrame:
        """The last truncate of each key."""
        return truncates.groupBy(_named(KEY)).agg(F.max(PLACE).alias(PLACE))

    @property
    def place(self) -> str:
        """SQL: the place of a change among those of its row."""
        return self.keyed.place(self.feed.source.origin.in_silver.identity)

    def _counting(self, changes: DataFrame, beside: list[str]) -> DataFrame:
        """The last change of each row; of a history, the last of each that has the same order."""
        whose = [*map(_named, [KEY, *beside, *self.keyed.by])]
        if self.keyed.history is History.ALL:
            whose.append(self._order_of(PLACE).alias("#order"))
        rest = [name for name in self.silver if name not in self.keyed.by]
        all_of_it = F.struct(*map(_named, [*rest, PLACE, _DELETED]))
        # A version and the end that it made of the one before it have one place: the version.
        later = F.struct(_named(PLACE), ~_named(_DELETED))
        last = changes.groupBy(*whose).agg(F.max_by(all_of_it, later).alias("#last"))
        return last.select(*map(_named, [KEY, *beside, *self.keyed.by]), "`#last`.*")

    def _order_of(self, place: str) -> Column:
        """What `order` is in a place."""
        count = len(self.keyed.order)
        values = [_named(place).getField(f"order_{index}") for index in range(count)]
        if count == 1:
            return values[0]
        named = (value.alias(f"order_{index}") for index, value in enumerate(values))
        return F.when(_named(place).isNotNull(), F.struct(*named))


def compiled_keyed_of(
    session: SparkSession, feed: Feed, view: GoldView, silver: pa.Schema
) -> CompiledKeyed:
    """Analyze a keyed table against silver's columns.

    Raises:
        FeedError: a condition or the order does not compile, or asks the clock or chance.
    """
    keyed = view.keyed
    if keyed is None:
        raise ValueError(view.name)
    missing = [name for name in (*keyed.by, *keyed.except_columns) if name not in silver.names]
    if missing:
        raise _bad(feed, view, silver, f"names {missing[0]}, which is no column of silver")
    own = [name for name in silver.names if name not in keyed.except_columns]
    draft = CompiledKeyed(
        feed=feed, view=view, keyed=keyed, silver=tuple(own), columns=pa.schema([])
    )
    nothing = with_table_names(session.createDataFrame([], spark_schema(silver)), feed)
    conditions = [keyed.is_delete, keyed.is_truncate, keyed.is_complete, draft.place]
    try:
        changes = draft.states_of(nothing)
        # What is compared, as in the job: a map cannot be.
        places = nothing.select(
            *(F.expr(sql).alias(f"c{index}") for index, sql in enumerate(conditions))
        )
        if not is_repeatable(places, conditions):
            raise _bad(feed, view, silver, "depends on when it is computed, or on chance")
        full = changes.withColumn(END_PLACE, _named(PLACE)).withColumns(
            {START: draft._order_of(PLACE), END: draft._order_of(END_PLACE)}  # noqa: SLF001
        )
        kinds = nullable_arrow(full.schema)
    except AnalysisException as problem:
        fact = f"does not compile ({spark_words(problem)})"
        raise _bad(feed, view, silver, fact) from problem
    of_history = (START, END, PLACE, END_PLACE)
    more = of_history if keyed.history is History.ALL else (PLACE,)
    taken = [name for name in own if name in more]
    if taken:
        fact = f"has a column {taken[0]}, which silver has, too"
        raise _bad(feed, view, silver, fact)
    columns = pa.schema([kinds.field(name) for name in (*own, *more)])
    return CompiledKeyed(
        feed=feed,
        view=view,
        keyed=keyed,
        silver=tuple(own),
        columns=columns,
        why_full=unmergeable(view),
    )


def _named(name: str) -> Column:
    return F.col(f"`{name}`")


def _bad(feed: Feed, view: GoldView, silver: pa.Schema, fact: str) -> FeedError:
    return FeedError(
        f"keyed table {view.name!r} of feed {feed.feed!r}",
        fact,
        f"Correct its `keyed`; silver's columns are {', '.join(silver.names)}",
    )
