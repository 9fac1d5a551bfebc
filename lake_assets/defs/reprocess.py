"""The job `rebuild`: silver from bronze, or gold from silver, with a form to choose what."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from enum import Enum

import dagster as dg
from pydantic import Field

from lake_assets.defs.keys import gold_key, named, partition_of, quarantine_key, silver_key
from lake_assets.defs.lake_scope import lake_tags
from lake_assets.defs.metadata import refresh_metadata, table_metadata
from lake_assets.defs.processes import note_process
from lake_assets.delta.catalog import keys_found
from lake_assets.errors import SettingsError
from lake_assets.feeds.load import find_feed
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import quarantine_of
from lake_assets.services.control import locate
from lake_assets.settings.schema import Settings
from lake_assets.silver.noted_columns import in_words, noted_columns_of
from lake_assets.state.lake_id import lake_id
from lake_assets.storage.open_store import lake_of
from lake_assets.streams.refresh import refresh_gold
from lake_assets.streams.reprocess import rebuild_silver

NAME = "rebuild"


class RebuildLayer(Enum):
    """What can be rebuilt."""

    SILVER = "silver"
    GOLD = "gold"


class RebuildConfig(dg.Config):
    """The form of the launchpad."""

    layer: RebuildLayer = Field(description="Silver is derived from bronze, gold from silver.")
    feed: str = Field(default="", description="Which feed; may be left out if there is one.")
    keys: list[str] = Field(default_factory=list, description="Only these keys; all if empty.")
    since: str = Field(
        default="",
        description="Silver: only rows that came into bronze since then, in ISO 8601 and UTC.",
    )


Events = Iterator[dg.AssetMaterialization]


def build(settings: Settings, feeds: Sequence[Feed]) -> dg.Definitions:
    """The job."""
    return dg.Definitions(jobs=[job(settings, feeds)])


def job(settings: Settings, feeds: Sequence[Feed]) -> dg.JobDefinition:
    """The job for these feeds."""
    lake = lake_id(settings)

    @dg.op(
        name=named(settings, "run_rebuild"),
        out={},
        description="Derives the asked-for tables from scratch while the streams go on.",
    )
    def run_rebuild(context: dg.OpExecutionContext, config: RebuildConfig) -> Events:
        note_process(context.instance, context.run.run_id, lake)
        feed = find_feed(feeds, config.feed or feeds[0].feed)
        keys = config.keys or None
        if config.layer is RebuildLayer.GOLD:
            yield from _gold(settings, feed, keys)
        else:
            yield from _silver(settings, feed, keys, _time(config.since))

    @dg.job(
        name=named(settings, NAME),
        description="A full refresh: silver from bronze, or gold from silver, from scratch.",
        tags={"dagster/max_runtime": str(24 * 3600), **lake_tags(lake)},
        executor_def=dg.in_process_executor,
    )
    def rebuild() -> None:
        run_rebuild()

    return rebuild


def _silver(
    settings: Settings, feed: Feed, keys: Sequence[str] | None, since: datetime | None
) -> Events:
    done = rebuild_silver(settings, feed, locate(settings, [feed]), keys=keys, since=since)
    touched = {*done.rows, *done.removed}
    for key in keys or keys_found(lake_of(settings), feed):
        silver = feed.silver_table(key)
        if silver.name in touched:
            made = in_words(noted_columns_of(settings, feed, key))
            metadata = table_metadata(lake_of(settings), silver, made)
            yield dg.AssetMaterialization(
                silver_key(settings, feed), partition=key, metadata=metadata
            )
    if quarantine_of(feed.feed).name in touched:
        metadata = table_metadata(lake_of(settings), quarantine_of(feed.feed))
        yield dg.AssetMaterialization(quarantine_key(settings, feed), metadata=metadata)


def _gold(settings: Settings, feed: Feed, keys: Sequence[str] | None) -> Events:
    views = {view.name: view for view in feed.gold}
    for report in refresh_gold(settings, feed, keys=keys, full_refresh=True).reports:
        metadata = refresh_metadata(lake_of(settings), feed, report)
        for refresh in report.refreshed:
            yield dg.AssetMaterialization(
                gold_key(settings, feed, views[refresh.view]),
                partition=partition_of(refresh.key),
                metadata=metadata[refresh.key],
            )


def _time(text: str) -> datetime | None:
    if not text:
        return None
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError as problem:
        raise SettingsError(
            "since", f"{text!r} is no time", "Write it like 2026-11-21T08:00:00"
        ) from problem
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
