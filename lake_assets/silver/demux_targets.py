"""The tables that a job of demux writes, and what a file of each looks like."""

from lake_assets.delta.table_log import log_of
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import TableRef, erased_of, quarantine_of, waiting_of
from lake_assets.parquet.writer import Beside, Layout, Target, WritePlan
from lake_assets.silver.demux_task import DecodePlan
from lake_assets.silver.erased_rows import erased_schema, erased_sources
from lake_assets.silver.layouts import with_partition_sources, write_layout
from lake_assets.silver.own_columns import own_columns
from lake_assets.silver.rows import HEADERS, quarantine_of_feed, quarantine_sources
from lake_assets.sources.kafka.headers import as_lists
from lake_assets.spark.lake_context import LakeContext

_SILVER = "silver"
_QUARANTINE = "quarantine"
_ERASED = "erased"


def tables_of(feed: Feed, plan: DecodePlan) -> list[TableRef]:
    """The tables in the order of the places that rows are given."""
    name = feed.feed
    erased = [erased_of(name)] if plan.erasing is not None else []
    return [*map(feed.silver_table, plan.keys), quarantine_of(name), waiting_of(name), *erased]


def write_plan_of(
    feed: Feed, plan: DecodePlan, context: LakeContext, beside: Beside | None
) -> WritePlan:
    """How tasks write the rows of a job.

    Args:
        feed: whose rows.
        plan: by which they are decoded and placed.
        context: of the lake.
        beside: what tasks leave beside each file of silver.
    """
    lake, origin = context.lake, plan.origin
    decoded = with_partition_sources(feed, plan.columns, plan.unused)
    keys_columns = own_columns(feed, plan.keys, decoded, plan.by_key or plan.decoder)
    by_key = {
        key: (feed.layout_of(key).partition_by, tuple(own.names))
        for key, own in zip(plan.keys, keys_columns, strict=True)
    }
    schemas = {tuple(own.names): own for own in keys_columns}
    named = {
        kind: f"{_SILVER} {number}" for number, kind in enumerate(dict.fromkeys(by_key.values()))
    }
    aside = (_QUARANTINE, _QUARANTINE, *([_ERASED] if plan.erasing is not None else []))
    layouts = (*(named[kind] for kind in by_key.values()), *aside)
    return WritePlan(
        store=lake,
        targets=tuple(
            Target(folder=log_of(lake, table).folder, layout=layout)
            for table, layout in zip(tables_of(feed, plan), layouts, strict=True)
        ),
        layouts={
            **{
                name: write_layout(schemas[names], origin, by)
                for (by, names), name in named.items()
            },
            _QUARANTINE: Layout(
                schema=quarantine_of_feed(feed),
                sources=quarantine_sources(origin, keeps_headers=feed.keeps_headers),
                parsers={HEADERS: as_lists} if feed.keeps_headers else {},
            ),
            _ERASED: Layout(
                schema=erased_schema(feed.source.origin), sources=erased_sources(origin)
            ),
        },
        buffer_bytes=context.buffer_bytes,
        beside=beside,
    )
