"""The rows of windows that close, computed by Spark: all keys of a refresh in one job.

From which files is decided in `gold.window_refresh`. Commits nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import NamedTuple

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.schema import Schema as DeltaSchema
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lake_assets.delta.commit import DataFile
from lake_assets.delta.table_log import log_of
from lake_assets.delta.table_paths import data_file
from lake_assets.errors import ExpectationFailedError, FeedError
from lake_assets.gold.compiled_view import compiled_view_of
from lake_assets.gold.view_expectations import (
    GoldJudge,
    ensure_none_fails,
    judged_of,
    marked,
    unviolated,
)
from lake_assets.gold.windows import LateRows, Range, believed_sql, late_rows, micros_of, start_sql
from lake_assets.model.exact_measures import split_exact
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import WINDOW_END, WINDOW_START, GoldView, Windows
from lake_assets.model.reports import Judged
from lake_assets.model.tables import STATE, TableRef
from lake_assets.parquet.writer import TABLE, Layout, Target, WritePlan
from lake_assets.spark.fan_out import discard, fan_out
from lake_assets.spark.key_column import key_column, named_for_keys
from lake_assets.spark.lake_context import LakeContext
from lake_assets.spark.read_tables import Contents, read_contents, read_files

_KEY, _TIME, _CAME = "#key", "#time", "#came"


@dataclass(frozen=True, kw_only=True, slots=True)
class CompiledWindows:
    """A view of windows, analyzed against the silver there is."""

    feed: Feed
    view: GoldView
    windows: Windows
    silver: pa.Schema
    group_keys: Mapping[str, str]
    """By column that the rows are grouped by, its SQL over silver's columns."""

    columns: pa.Schema
    """Of the gold tables."""

    @property
    def came(self) -> str | None:
        """Silver's column with the time at which the source got a row; None if there is none."""
        name = self.feed.source.origin.in_silver.time
        return name if name in self.silver.names else None

    def changed_columns(self, gold: DeltaTable) -> str:
        """Why rows cannot be added to a table, in words; empty if they can."""
        has = {field.name: field for field in gold.schema().fields}
        wanted = {field.name: field for field in DeltaSchema.from_arrow(self.columns).fields}
        return "" if has == wanted else "a column has another type"

    def aggregated(self, rows: DataFrame) -> DataFrame:
        """Silver's rows with `#table`, as gold's columns with it."""
        keys = [F.expr(sql).alias(name) for name, sql in self.group_keys.items()]
        measures = [
            F.expr(split_exact(sql)[0]).alias(name) for name, sql in self.view.measures.items()
        ]
        grouped = rows.groupBy(F.col(f"`{TABLE}`"), *keys).agg(*measures)
        return grouped.select(*(f"`{name}`" for name in self.columns.names), f"`{TABLE}`")


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyWindows:
    """What one key's refresh reads and replaces."""

    key: str
    table: TableRef
    taken: Range
    closing: Contents
    """Silver that may have rows of windows that close."""

    late: Contents
    """New files of silver that may have rows of windows that were closed before."""

    rows_read: int
    joined: tuple[DataFile, ...] = ()
    """The view's own files that become one with what is added."""

    rows_ahead: int = 0
    """New rows that say too late a time to be believed, as far as the log did not tell."""


class NewestTime(NamedTuple):
    """Of rows that were read."""

    believed: int
    """Up to which time they close windows, in microseconds since 1970."""

    rows_ahead: int
    """How many say a later time than they may."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowResult:
    """What one job came to."""

    files: Mapping[str, Sequence[DataFile]] = field(default_factory=dict)
    late: Mapping[str, LateRows] = field(default_factory=dict)
    judged: Mapping[tuple[str, str], Judged] = field(default_factory=dict)


def compile_windows(
    session: SparkSession, feed: Feed, view: GoldView, silver: pa.Schema
) -> CompiledWindows:
    """Analyze a view against silver's columns.

    Raises:
        FeedError: silver has no such time, or a key or a measure does not compile.
    """
    windows = view.windows
    if windows is None:
        raise ValueError(view.name)
    index = silver.get_field_index(windows.time)
    kind = silver.field(index).type if index >= 0 else None
    if kind is None or not pa.types.is_timestamp(kind):
        times = [f.name for f in silver if pa.types.is_timestamp(f.type)]
        raise FeedError(
            f"gold view {view.name!r} of feed {feed.feed!r}",
            f"has windows of {windows.time!r}, which is no timestamp of silver",
            f"Silver's timestamps are {', '.join(times) or 'none'}",
        )
    keys = {
        WINDOW_START: start_sql(windows),
        WINDOW_END: start_sql(windows, micros_of(windows)[0]),
        **view.keys,
    }
    compiled = compiled_view_of(session, feed, view.model_copy(update={"keys": keys}), silver)
    columns = [f for f in compiled.columns if not f.name.startswith(STATE)]
    return CompiledWindows(
        feed=feed,
        view=view,
        windows=windows,
        silver=silver,
        group_keys=compiled.group_keys,
        columns=pa.schema(columns),
    )


def newest_times(
    session: SparkSession, compiled: CompiledWindows, contents: Mapping[str, Contents]
) -> dict[str, NewestTime]:
    """By key, the newest time of rows, where no log tells; keys without any are absent."""
    if not contents:
        return {}
    rows = _silver(session, compiled, _together(list(contents.values())))
    came = F.lit(None) if compiled.came is None else F.expr(f"unix_micros(`{compiled.came}`)")
    believed = F.expr(believed_sql(compiled.windows, f"`{_TIME}`", f"`{_CAME}`"))
    found = (
        rows.withColumn(_CAME, came.cast("bigint"))
        .groupBy(_KEY)
        .agg(F.max(believed).alias("newest"), F.count_if(believed < F.col(_TIME)).alias("ahead"))
        .where("newest is not null")
        .collect()
    )
    return {row[_KEY]: NewestTime(row["newest"], row["ahead"]) for row in found}


def compute_windows(
    session: SparkSession,
    compiled: CompiledWindows,
    work: Sequence[KeyWindows],
    context: LakeContext,
) -> WindowResult:
    """Write the rows of windows that close, and count those that came too late.

    Raises:
        ExpectationFailedError: rows violate an expectation that fails; nothing is left of the job.
    """
    late = _late(session, compiled, [one for one in work if one.late != Contents()])
    closing = [one for one in work if one.closing != Contents()]
    if not closing:
        return WindowResult(late=late)
    view = compiled.view
    plan = WritePlan(
        store=context.lake,
        targets=tuple(
            Target(folder=log_of(context.lake, one.table).folder, layout=view.name)
            for one in closing
        ),
        layouts={view.name: Layout(schema=compiled.columns, sources=tuple(compiled.columns.names))},
        buffer_bytes=context.buffer_bytes,
    )
    rows = _silver(session, compiled, _together([one.closing for one in closing]))
    taken = rows.join(F.broadcast(_ranges(session, closing)), on=_KEY, how="inner").where(
        f"`{_TIME}` < `#until` and (`#since` is null or `{_TIME}` >= `#since`)"
    )
    placed = marked(compiled.aggregated(taken), view)
    if any(one.joined for one in closing):
        placed = placed.unionByName(unviolated(_own(session, compiled, closing, plan), view))
    keys = [one.key for one in closing]
    placed = placed.repartition(F.col(f"`{TABLE}`"))
    left = fan_out(placed, plan, (lambda: GoldJudge(view, keys)) if view.expectations else None)
    had = {one.key: sum(file.rows for file in one.joined) for one in closing}
    judged = {
        (key, name): replace(found, seen=found.seen - had[key])
        for (key, name), found in judged_of(left.notes, view, keys).items()
    }
    try:
        ensure_none_fails(judged, view)
    except ExpectationFailedError:
        discard(left.written, plan)
        raise
    files = {keys[index]: written.files for index, written in left.written.items()}
    return WindowResult(files=files, late=late, judged=judged)


def _silver(session: SparkSession, compiled: CompiledWindows, contents: Contents) -> DataFrame:
    """Silver's rows with their keys and times."""
    rows = read_contents(session, contents, compiled.silver, named=named_for_keys(compiled.feed))
    time = F.expr(f"unix_micros(`{compiled.windows.time}`)")
    return rows.withColumns({_KEY: key_column(compiled.feed), _TIME: time})


def _together(contents: Sequence[Contents]) -> Contents:
    return Contents(
        files=tuple(file for each in contents for file in each.files),
        versions=tuple(version for each in contents for version in each.versions),
    )


def _ranges(session: SparkSession, work: Sequence[KeyWindows]) -> DataFrame:
    """By key its place among these, and between which times its rows are taken."""
    ranges = [(one.key, place, one.taken.since, one.taken.until) for place, one in enumerate(work)]
    schema = f"`{_KEY}` string, `{TABLE}` int, `#since` bigint, `#until` bigint"
    return session.createDataFrame(ranges, schema)


def _own(
    session: SparkSession, compiled: CompiledWindows, work: Sequence[KeyWindows], plan: WritePlan
) -> DataFrame:
    """The rows of the views' own files that become one with what is added."""
    frames = [
        read_files(
            session, [data_file(target.folder, file.path) for file in one.joined], compiled.columns
        ).withColumn(TABLE, F.lit(place).cast("int"))
        for place, (one, target) in enumerate(zip(work, plan.targets, strict=True))
        if one.joined
    ]
    return reduce(DataFrame.unionByName, frames)


def _late(
    session: SparkSession, compiled: CompiledWindows, work: Sequence[KeyWindows]
) -> dict[str, LateRows]:
    if not work:
        return {}
    rows = _silver(session, compiled, _together([one.late for one in work]))
    rows = rows.join(F.broadcast(_ranges(session, work)), on=_KEY, how="inner").where(
        f"`{_TIME}` < `#since`"
    )
    identity = compiled.feed.source.origin.in_silver.identity
    present = [name for name in identity if name in compiled.silver.names]
    origin = [F.col(f"`{name}`").cast("string") for name in present]
    found = rows.groupBy(_KEY).agg(
        F.count(F.lit(1)).alias("rows"),
        F.min(_TIME).alias("least"),
        F.max(_TIME).alias("greatest"),
        F.min_by(F.concat_ws("/", *origin), _TIME).alias("example"),
    )
    return {row[_KEY]: late_rows(*row[1:]) for row in found.collect()}
