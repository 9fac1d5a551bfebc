"""The rows of bronze that are derived again, the range they are in, and whether it has them all."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise

from deltalake import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from lake_assets.bronze.rows import file_schema
from lake_assets.delta.data_files import active_files
from lake_assets.delta.offset_range import Range
from lake_assets.delta.restores import held_offsets
from lake_assets.delta.source_offsets import (
    Offsets,
    offsets_of_rows,
    retained_offsets,
    table_offsets,
)
from lake_assets.delta.table_log import log_of
from lake_assets.errors import SettingsError, StreamError
from lake_assets.logs.gaps import recorded_gaps
from lake_assets.model.feeds import Feed
from lake_assets.model.gaps import Gap, GapReason
from lake_assets.model.origins import Origin, OriginColumns, Place, Spans
from lake_assets.model.tables import bronze_of
from lake_assets.model.transforms import generators_in
from lake_assets.silver.reprocess import Bronze
from lake_assets.sources.catalog import kind_of
from lake_assets.spark.lake_context import LakeContext
from lake_assets.spark.read_tables import read_tables
from lake_assets.storage.store import Store


def rows_of(session: SparkSession, feed: Feed, bronze: DeltaTable) -> DataFrame:
    """All rows of bronze, with what says when they came."""
    return read_tables(session, [bronze], file_schema(kind_of(feed).columns))


def within(session: SparkSession, feed: Feed, rows: DataFrame, span: Range) -> Bronze:
    """The rows within a range; the range is a table, since there may be thousands of partitions."""
    ends, starts = span.ends or {}, span.starts
    retained = span.retained or {}
    bounds = [
        (*place, max(0 if starts is None else starts[place], retained.get(place, 0)), end)
        for place, end in ends.items()
        if starts is None or place in starts
    ]
    joined = _rows_in(session, rows, feed, bounds)
    return Bronze(rows=joined.select(*rows.columns), range=span)


def _rows_in(
    session: SparkSession, rows: DataFrame, feed: Feed, bounds: Sequence[tuple[str, int, int, int]]
) -> DataFrame:
    """The rows in some ranges: name and partition, the first offset and that after the last."""
    names = "`#name` string, `#partition` int, `#first` long, `#end` long"
    ranges = session.createDataFrame(bounds, names)
    name, partition, offset = _identity(feed.source.origin)
    is_in = (
        (name == F.col("`#name`"))
        & (partition == F.col("`#partition`"))
        & (offset >= F.col("`#first`"))
        & (offset < F.col("`#end`"))
    )
    return rows.join(F.broadcast(ranges), is_in, "inner")


def apart_of(context: LakeContext, feed: Feed, rows: DataFrame) -> Spans | None:
    """Which rows a feed has that are in no bronze any more; None if there are none.

    Bronze refused them, and has not taken them since: they were put into quarantine as they came
    when their batch was skipped. Or they are erased, and silver has what the same rows told of
    others.

    Args:
        context: of the lake that they are in.
        feed: whose rows.
        rows: all of bronze.
    """
    gaps = [*_refused(context.lake, feed), *_erased(context, feed)]
    if not gaps:
        return None
    bounds = [(gap.source, gap.partition, gap.offset_from, gap.offset_to) for gap in gaps]
    identity = _identity(feed.source.origin)
    found = _rows_in(rows.sparkSession, rows, feed, bounds).select(*identity).collect()
    taken = {Origin(*row) for row in found}
    spans: dict[Place, list[tuple[int, int]]] = {}
    for gap in gaps:
        own = spans.setdefault((gap.source, gap.partition), [])
        held = sorted(origin.offset for origin in taken if gap.has(origin))
        for first, end in pairwise([gap.offset_from - 1, *held, gap.offset_to]):
            if first + 1 < end:
                own.append((first + 1, end))
    return spans


def _refused(lake: Store, feed: Feed) -> list[Gap]:
    gaps = (one.gap for one in recorded_gaps(lake, feed.feed))
    return [gap for gap in gaps if gap.reason is GapReason.REFUSED]


def _erased(context: LakeContext, feed: Feed) -> list[Gap]:
    """Where rows are erased, of a feed that makes several of one: the others stay."""
    if context.erasures is None or not generators_in(feed.select):
        return []
    return [
        Gap(source=name, partition=part, offset_from=a, offset_to=b, reason=GapReason.REFUSED)
        for (name, part), spans in context.erasures.spans(feed.feed).items()
        for a, b in spans
    ]


def retained_of(feed: Feed, bronze: DeltaTable, places: Collection[Place]) -> Offsets:
    """By partition, the offset below which bronze lost rows for their age.

    What was derived of rows below stays as it is, whatever is derived again.

    Args:
        feed: whose bronze.
        bronze: the table.
        places: partitions that are known; further ones of their sources are looked at, too.
    """
    kind, names = feed.source.kind, {name for name, _ in places}
    every = {*places, *(place for name in names for place in table_offsets(bronze, kind, name))}
    return retained_offsets(bronze, kind, every)


def ensure_in_order(since: datetime | None, until: datetime | None) -> None:
    """Refuse a time that ends before it begins.

    Raises:
        SettingsError: it does.
    """
    if since is not None and until is not None and until <= since:
        fact = f"is {until.isoformat()}, which is not after `since`, {since.isoformat()}"
        raise SettingsError("until", fact, "Name a later time, or leave one of them out")


def of_time(
    feed: Feed, rows: DataFrame, whole: Range, since: datetime | None, until: datetime | None
) -> Range:
    """The part of a range that came into bronze in some time.

    In each partition from the first of these rows to the last, whatever the clock said of those
    between them.
    """
    came, origin = F.col("ingested_at"), feed.source.origin
    if since is not None:
        whole = replace(whole, starts=starts_of(rows.where(came >= F.lit(since)), origin))
    if until is not None:
        ends, reached = ends_of(rows.where(came < F.lit(until)), origin), whole.ends or {}
        # Silver may have taken less than bronze has by now.
        both = ends.keys() & reached.keys()
        whole = replace(whole, ends={place: min(ends[place], reached[place]) for place in both})
    return whole


def starts_of(rows: DataFrame, origin: OriginColumns) -> Offsets:
    """In each partition, the first offset of these rows: bronze has a partition's rows in order."""
    name, partition, offset = _identity(origin)
    firsts = rows.groupBy(name.alias("name"), partition.alias("partition")).agg(
        F.min(offset).alias("first")
    )
    return {(row["name"], row["partition"]): row["first"] for row in firsts.collect()}


def ends_of(rows: DataFrame, origin: OriginColumns) -> Offsets:
    """In each partition that has any of these rows, the offset after the last of them."""
    name, partition, offset = _identity(origin)
    ends = rows.groupBy(name.alias("name"), partition.alias("partition")).agg(
        (F.max(offset) + 1).alias("end")
    )
    return {(row["name"], row["partition"]): row["end"] for row in ends.collect()}


def _identity(origin: OriginColumns) -> tuple[Column, Column, Column]:
    """Name, partition and offset of a bronze row."""
    partition = F.lit(0) if origin.partition is None else F.col(f"`{origin.partition}`")
    return F.col(f"`{origin.name}`"), partition, F.col(f"`{origin.offset}`")


def ensure_reaches(
    lake: Store, feed: Feed, bronze: DeltaTable, offsets: Offsets, before: str = ""
) -> None:
    """Make sure that bronze has the rows that are derived again: they leave silver.

    Args:
        lake: where they are.
        feed: whose tables.
        bronze: what they are derived from.
        offsets: how far silver is.
        before: what to do before the streams can run.

    Raises:
        StreamError: it has not; it was put back from a copy and the streams have not run since.
    """
    sources = [feed.source.named(name) for name in {name for name, _ in offsets}]
    log = log_of(lake, bronze_of(feed.feed))
    ends = dict(held_offsets(log, bronze, sources)) if sources else {}
    if offsets.keys() - ends.keys():
        # Bronze's commits do not tell of a partition; its rows do, if it has any.
        ends = {
            **offsets_of_rows(log, active_files(bronze), feed.source.origin),
            **ends,
        }
    for (name, partition), offset in offsets.items():
        end = ends.get((name, partition), 0)
        if end < offset:
            raise StreamError(
                bronze_of(feed.feed).name,
                f"ends at {end} in partition {partition} of {name!r}, and silver at {offset}",
                f"{before}Let the streams run first: they read again what bronze lacks",
            )
