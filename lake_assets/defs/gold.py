"""Gold: views that Dagster itself refreshes, on their schedules or by hand.

Views of a feed that share a cron expression share a schedule and its runs, since each run starts
Spark. One run refreshes all keys of a view that changed. A view over all keys is an asset without
partitions. What a run tells of each key is `gold_answers`'.

Which partitions a run of a schedule plans, and leaves as failed if it fails, is `planned_keys`'.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

import dagster as dg
from pydantic import Field

from lake_assets.defs.code_references import code_references
from lake_assets.defs.gold_answers import Answer, Answers
from lake_assets.defs.gold_lineage import view_lineage_metadata
from lake_assets.defs.grouping import AssetLayer, of_feed
from lake_assets.defs.hand_runs import gold_pool, is_by_hand, limit_runtime
from lake_assets.defs.keys import (
    gold_key,
    gold_prefix,
    identifier_of,
    key_partitions,
    key_pattern,
    named,
)
from lake_assets.defs.lake_resource import lake_in, resource_key, resources
from lake_assets.defs.lake_scope import is_under_way, known_keys, lake_tags
from lake_assets.defs.lazy_imports import refresh_gold, views_behind
from lake_assets.defs.metadata import declared_metadata, family_metadata
from lake_assets.defs.planned_keys import is_of_behind, plan_behind, tags_of_behind
from lake_assets.defs.processes import note_process
from lake_assets.defs.view_order import deps_of, parts_of
from lake_assets.delta.catalog import example_keys, keys_of
from lake_assets.gold.column_lineage import view_lineage, view_words
from lake_assets.model.cron import slug
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import fillers
from lake_assets.model.gold_views import GoldView
from lake_assets.settings.schema import Settings
from lake_assets.state.failing_expectations import failures_of_tables
from lake_assets.state.lake_id import lake_id
from lake_assets.storage.open_store import lake_of

MAX_RUNTIME_S = 3600
"""After which run monitoring ends a run that hangs; a refresh takes seconds to minutes."""


class RefreshConfig(dg.Config):
    """The form of the launchpad."""

    full_refresh: bool = Field(
        default=False,
        description="Compute the partitions anew, also those whose silver has not changed.",
    )


def run_tags(lake: str) -> dict[str, str]:
    """Tags of a run that refreshes gold; dagster.yaml lets one a lake happen at a time."""
    return {
        "lake_assets/refresh": lake,
        **lake_tags(lake),
        "dagster/max_runtime": str(MAX_RUNTIME_S),
    }


Views = Sequence[GoldView]


def build(settings: Settings, feeds: Sequence[Feed]) -> dg.Definitions:
    """The gold views of each feed, and a schedule for all that are due at the same times."""
    return dg.Definitions.merge(
        *(_build_feed(settings, feed) for feed in feeds if feed.gold),
        dg.Definitions(resources=resources(settings, feeds)),
    )


def _build_feed(settings: Settings, feed: Feed) -> dg.Definitions:
    lake, together = lake_id(settings), _together(settings, feed)
    return dg.Definitions(
        assets=[_views(settings, feed)],
        jobs=[
            dg.define_asset_job(
                _job_name(settings, feed, views),
                selection=dg.AssetSelection.assets(
                    *(gold_key(settings, feed, view) for view in views)
                ).without_checks(),
                description=f"Brings {_names(views)} up to date for the keys that changed.",
                tags=run_tags(lake),
                executor_def=dg.in_process_executor,
            )
            for views in together
        ],
        schedules=[_schedule(settings, feed, views) for views in together if views[0].schedule],
    )


def _together(settings: Settings, feed: Feed) -> list[list[GoldView]]:
    """The views that are refreshed in one run: due at the same times, or each alone by hand."""
    groups: dict[str, list[GoldView]] = {}
    for view in feed.gold:
        groups.setdefault(_job_name(settings, feed, [view]), []).append(view)
    return list(groups.values())


def _names(views: Views) -> str:
    return ", ".join(f"`{view.name}`" for view in views)


def _job_name(settings: Settings, feed: Feed, views: Views) -> str:
    """Stands for when views are refreshed, or for the view that is refreshed by hand.

    A view more or less changes nothing about it, so what a user made of a schedule stays.
    """
    cron = views[0].schedule
    if cron is None:
        return named(settings, f"refresh_{gold_key(settings, feed, views[0]).path[-1]}")
    return named(settings, f"{gold_prefix(feed)}_refresh_{slug(cron)}")


def schedule_name(settings: Settings, feed: Feed, view: GoldView) -> str:
    """The schedule of a view that has one."""
    return f"{_job_name(settings, feed, [view])}_schedule"


def former_schedule_names(settings: Settings, feed: Feed) -> dict[str, str]:
    """By what the first release called a schedule (first view and count), its name of today."""
    names = {}
    for views in _together(settings, feed):
        if views[0].schedule:
            first, others = identifier_of(gold_key(settings, feed, views[0])), len(views) - 1
            more = f"_and_{others}_more" if others else ""
            names[f"refresh_{first}{more}_schedule"] = schedule_name(settings, feed, views[0])
    return names


def _spec(settings: Settings, feed: Feed, view: GoldView) -> dg.AssetSpec:
    lake = lake_of(settings)
    pattern = feed.gold_table(view, key_pattern(feed))
    keys = view.scopes(example_keys(lake, feed))
    example = feed.gold_table(view, keys[0]) if keys else pattern
    lineage = view_lineage(lake, feed, view)
    made = view_words(lineage)
    return dg.AssetSpec(
        gold_key(settings, feed, view),
        deps=deps_of(settings, feed, view),
        skippable=True,
        partitions_def=None if view.is_over_all else key_partitions(feed, lake_id(settings)),
        **of_feed(settings, feed, AssetLayer.GOLD),
        description="\n\n".join([*_description(view), _when_refreshed(view)]),
        kinds={"delta", "spark"},
        metadata={
            **(
                declared_metadata(lake, example, made)
                if view.is_over_all
                else family_metadata(lake, pattern, example, made)
            ),
            **view_lineage_metadata(settings, feed, lineage),
            **code_references(settings, feed, view),
        },
    )


def _description(view: GoldView) -> Iterator[str]:
    if view.description:
        yield view.description.strip()
    tables = "One table over all keys" if view.is_over_all else "A table a key"
    if view.sql is not None:
        yield f"{tables}:"
        yield f"```sql\n{view.sql.strip()}\n```"
        return
    if view.keyed is not None:
        yield f"{tables}, of the changes in silver:"
        told = view.keyed.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
        yield "\n".join(f"- {name}: {_in_code(value)}" for name, value in told.items())
        return
    windows = ["window"] if view.windows else []
    yield f"{tables}, one row for each {', '.join([*windows, *view.keys])}:"
    columns = {**{k: s for k, s in view.keys.items() if k != s}, **view.measures}
    yield "\n".join(f"- `{name}`: `{sql}`" for name, sql in columns.items())


def _when_refreshed(view: GoldView) -> str:
    by = []
    if view.refresh is not None:
        every_s = view.refresh.total_seconds()
        how = f"at most every {every_s:g} s" if every_s else "seconds after silver"
        by.append(f"by the streams, {how}")
    if view.schedule is not None:
        by.append(f"on a schedule, `{view.schedule}` (UTC)")
    return f"Refreshed {' and '.join(by)}." if by else "Refreshed when somebody asks for it."


def _in_code(value: object) -> str:
    return ", ".join(f"`{one}`" for one in (value if isinstance(value, list) else [value]))


def _views(settings: Settings, feed: Feed) -> dg.AssetsDefinition:
    """All views of a feed, in one operation.

    Dagster would skip a second one that reads what the first refreshed, since that tells of keys by
    events of its own.
    """
    by_key = {gold_key(settings, feed, view): view.name for view in feed.gold}
    is_of_keys = not all(view.is_over_all for view in feed.gold)
    lake = lake_id(settings)

    @dg.multi_asset(
        name=named(settings, f"refresh_gold_of_{feed.feed}"),
        specs=[_spec(settings, feed, view) for view in feed.gold],
        can_subset=True,
        backfill_policy=dg.BackfillPolicy.single_run() if is_of_keys else None,
        required_resource_keys={resource_key(settings)},
        pool=gold_pool(lake),
    )
    def refresh(context: dg.AssetExecutionContext, config: RefreshConfig) -> Iterator[Answer]:
        note_process(context.instance, context.run.run_id, lake)
        limit_runtime(context.instance, context.run, MAX_RUNTIME_S)
        names = {by_key[key] for key in context.selected_asset_keys}
        told = known_keys(context.instance, settings, feed, lake)
        is_of_some = context.has_partition_key or context.has_partition_key_range
        if is_of_behind(context.run):
            plan_behind(context, settings, feed, names, told)
            is_of_some = False
        asked = set(context.partition_keys if is_of_some else told)
        known = keys_of(lake_of(settings), feed)
        keys = [key for key in known if key in asked]
        if not keys and any(view.name in names and not view.is_over_all for view in feed.gold):
            context.log.warning("None of these keys is in the feed; nothing to refresh")
        lend, is_whole = lake_in(context, settings).lend, config.full_refresh
        is_to_each = is_by_hand(context.run) and not is_of_behind(context.run)
        answers = Answers(settings, feed, context, is_to_each=is_to_each)
        for views, of in parts_of(feed, names, keys, known):
            yield from answers.to(
                refresh_gold(settings, feed, views=views, keys=of, full_refresh=is_whole, lend=lend)
            )
        yield from answers.of_nothing(names, asked)

    return refresh


def _schedule(settings: Settings, feed: Feed, views: Views) -> dg.ScheduleDefinition:
    job_name, lake = _job_name(settings, feed, views), lake_id(settings)

    @dg.schedule(
        name=schedule_name(settings, feed, views[0]),
        cron_schedule=str(views[0].schedule),
        job_name=job_name,
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="One run for all views and keys whose silver has changed; none if none has.",
    )
    def refresh_behind(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        if is_under_way(context.instance, lake, job_name):
            return dg.SkipReason("The last refresh is still under way")
        known = known_keys(context.instance, settings, feed, lake)
        failures = failures_of_tables(settings.state_dir, fillers(feed))
        behind = views_behind(settings, feed, failures, views=[view.name for view in views])
        chosen = [view for view in views if behind[view.name]]
        if not chosen:
            suffix = ", or held up by what fails" if failures else ""
            return dg.SkipReason(f"Every key is up to date with its silver{suffix}")
        return request(settings, feed, chosen, behind, known, lake)

    return refresh_behind


def request(
    settings: Settings,
    feed: Feed,
    views: Views,
    behind: Mapping[str, Collection[str]],
    known: Sequence[str],
    lake: str,
) -> dg.RunRequest:
    """A run that refreshes some of a feed's views; it looks again what is behind.

    Args:
        settings: of the lake.
        feed: whose views.
        views: some of them.
        behind: by view, the keys that are behind.
        known: the keys that are partitions in Dagster.
        lake: the id of the lake they are in.
    """
    of_keys = {view.name: behind[view.name] for view in views if not view.is_over_all}
    partitions = tags_of_behind(of_keys, known)
    assets = [gold_key(settings, feed, view) for view in views]
    tags = run_tags(lake) | partitions
    return dg.RunRequest(asset_selection=assets, asset_check_keys=[], tags=tags)
