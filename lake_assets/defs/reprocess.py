"""The job `rebuild`: silver from bronze, or gold from silver, with a form to choose what."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from enum import Enum

import dagster as dg
from pydantic import Field

from lake_assets.defs.gold_answers import observed
from lake_assets.defs.hand_runs import silver_pool
from lake_assets.defs.keys import gold_key, named, partition_of, quarantine_key, silver_key
from lake_assets.defs.lake_resource import lake_in, resource_key, resources
from lake_assets.defs.lake_scope import lake_tags
from lake_assets.defs.lazy_imports import locate, rebuild_silver, refresh_gold
from lake_assets.defs.metadata import refresh_metadata, table_metadata
from lake_assets.defs.processes import note_process
from lake_assets.defs.rebuilt_silver import MAX_RUNTIME_S, rebuilt_metadata, silver_metadata
from lake_assets.defs.recounts import recounted
from lake_assets.defs.reports import results_of
from lake_assets.delta.catalog import keys_found
from lake_assets.errors import SettingsError
from lake_assets.feeds.load import find_feed
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import expectations_of_tables, feed_of_tables
from lake_assets.model.tables import EVERY_KEY, quarantine_of
from lake_assets.settings.schema import Settings
from lake_assets.state.lake_id import lake_id
from lake_assets.storage.open_store import lake_of

NAME = "rebuild"


class RebuildLayer(Enum):
    """What can be rebuilt."""

    SILVER = "silver"
    GOLD = "gold"


class RebuildConfig(dg.Config):
    """The form of the launchpad."""

    layer: RebuildLayer = Field(description="Silver is derived from bronze, gold from silver.")
    feed: str = Field(default="", description="Which feed; may be left out if there is one.")
    keys: list[str] = Field(default=[], description="Only these keys; all if empty.")
    since: str = Field(
        default="",
        description="Silver: only rows that came into bronze since then, in ISO 8601 and UTC.",
    )
    until: str = Field(
        default="",
        description="Silver: only rows that came into bronze before then, in ISO 8601 and UTC.",
    )
    view: str = Field(default="", description="Gold: only this view; all if empty.")


Events = Iterator[dg.AssetMaterialization | dg.AssetObservation | dg.AssetCheckEvaluation]


def build(settings: Settings, feeds: Sequence[Feed]) -> dg.Definitions:
    """The job."""
    return dg.Definitions(jobs=[job(settings, feeds)], resources=resources(settings, feeds))


def job(settings: Settings, feeds: Sequence[Feed]) -> dg.JobDefinition:
    """The job for these feeds."""
    lake = lake_id(settings)

    @dg.op(
        name=named(settings, "run_rebuild"),
        out={},
        description="Derives the asked-for tables from scratch while the streams go on.",
        required_resource_keys={resource_key(settings)},
        pool=silver_pool(lake),
    )
    def run_rebuild(context: dg.OpExecutionContext, config: RebuildConfig) -> Events:
        note_process(context.instance, context.run.run_id, lake)
        feed = _feed(feeds, config.feed)
        keys = config.keys or None
        _ensure_fits(config)
        if config.layer is RebuildLayer.GOLD:
            yield from _gold(context, settings, feed, keys, config.view)
        else:
            times = _time("since", config.since), _time("until", config.until)
            yield from _silver(context, settings, feed, keys, times)

    @dg.job(
        name=named(settings, NAME),
        description="A full refresh: silver from bronze, or gold from silver, from scratch.",
        tags={"dagster/max_runtime": str(MAX_RUNTIME_S), **lake_tags(lake)},
        executor_def=dg.in_process_executor,
    )
    def rebuild() -> None:
        run_rebuild()

    return rebuild


def _feed(feeds: Sequence[Feed], name: str) -> Feed:
    """The feed of that name; of several, one must be named, for a rebuild is long and of one."""
    if not name and len(feeds) > 1:
        names = ", ".join(feed.feed for feed in feeds)
        raise SettingsError("feed", "is blank, and there are several", f"Write one of: {names}")
    return find_feed(feeds, name or feeds[0].feed)


def _ensure_fits(config: RebuildConfig) -> None:
    of_other = ("since", "until") if config.layer is RebuildLayer.GOLD else ("view",)
    for name in of_other:
        if getattr(config, name):
            fact = f"does not go with layer {config.layer.name}"
            raise SettingsError(name, fact, "Leave it empty, or choose the other layer")


def _silver(
    context: dg.OpExecutionContext,
    settings: Settings,
    feed: Feed,
    keys: Sequence[str] | None,
    times: tuple[datetime | None, datetime | None],
) -> Events:
    lend, (since, until) = lake_in(context, settings).lend, times
    endpoints = locate(settings, [feed])
    done = rebuild_silver(settings, feed, endpoints, keys=keys, since=since, until=until, lend=lend)
    touched = {*done.rows, *done.removed}
    found = keys or keys_found(lake_of(settings), feed)
    changed = [key for key in found if feed.silver_table(key).name in touched]
    owner = feed_of_tables(feed)
    for key in changed:
        metadata = {
            **silver_metadata(settings, feed, key),
            **rebuilt_metadata(owner, key, [done]),
        }
        yield dg.AssetMaterialization(silver_key(settings, feed), partition=key, metadata=metadata)
    if quarantine_of(feed.feed).name in touched:
        metadata = table_metadata(lake_of(settings), quarantine_of(feed.feed))
        yield dg.AssetMaterialization(quarantine_key(settings, feed), metadata=metadata)
    # Dagster calls a check unknown once its table was materialized without it.
    names = {each.name for each in expectations_of_tables(owner)}
    yield from recounted(context, settings, owner, names, changed, lend)


def _gold(
    context: dg.OpExecutionContext,
    settings: Settings,
    feed: Feed,
    keys: Sequence[str] | None,
    view: str,
) -> Events:
    views = {view.name: view for view in feed.gold}
    lend, chosen = lake_in(context, settings).lend, [view] if view else None
    done = refresh_gold(settings, feed, views=chosen, keys=keys, full_refresh=True, lend=lend)
    for report in done.reports:
        metadata = refresh_metadata(lake_of(settings), feed, report)
        for refresh in report.refreshed:
            yield dg.AssetMaterialization(
                gold_key(settings, feed, views[refresh.view]),
                partition=partition_of(refresh.key),
                metadata=metadata[refresh.key],
            )
        for scope, reason in report.blocked.items():
            what = "all keys" if scope == EVERY_KEY else scope
            context.log.warning("%s of %s is left as it is: %s", report.view, what, reason)
            asset = gold_key(settings, feed, views[report.view])
            yield observed(asset, scope, "left as it is", reason)
    instance, run_id = context.instance, context.run.run_id
    for name, results in done.gold_checks.items():
        yield from results_of(instance, run_id, gold_key(settings, feed, views[name]), results)


def _time(name: str, text: str) -> datetime | None:
    if not text:
        return None
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError as problem:
        raise SettingsError(
            name, f"{text!r} is no time", "Write it like 2026-11-21T08:00:00"
        ) from problem
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
