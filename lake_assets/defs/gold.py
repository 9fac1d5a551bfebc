"""Gold: views that Dagster itself refreshes, on their schedules or by hand.

One run refreshes all games of a view that changed, in one Spark job; a game that did not change
gets no event.
"""

from collections.abc import Iterator, Sequence

import dagster as dg

from lake_assets.defs.checks import results_of
from lake_assets.defs.internals import all_of, latest_ids
from lake_assets.defs.keys import OWNERS, games_partitions, gold_key, group_of, silver_key
from lake_assets.defs.metadata import family_metadata, refresh_metadata, table_metadata
from lake_assets.defs.processes import UNFINISHED, note_process
from lake_assets.defs.reports import Event
from lake_assets.gold.status import views_behind
from lake_assets.lake.catalog import games_of
from lake_assets.lake.failing import read_failures
from lake_assets.model.feeds import Feed, GoldView
from lake_assets.model.tables import Layer, gold_of
from lake_assets.settings.schema import Settings
from lake_assets.streams.refresh import refresh_gold

RUN_TAGS = {
    "lake_assets/refresh": "gold",  # dagster.yaml lets one such run happen at a time
    # Seconds after which run monitoring ends a run that hangs; a refresh takes seconds to minutes.
    "dagster/max_runtime": "3600",
}


def build(settings: Settings, feeds: Sequence[Feed]) -> dg.Definitions:
    """The gold views of each feed, and a schedule for each view that has one."""
    return dg.Definitions.merge(
        *(_build_feed(settings, feed) for feed in feeds if feed.gold), dg.Definitions()
    )


def _build_feed(settings: Settings, feed: Feed) -> dg.Definitions:
    return dg.Definitions(
        assets=[_views(settings, feed)],
        jobs=[
            dg.define_asset_job(
                _job_name(feed, view),
                selection=dg.AssetSelection.assets(gold_key(feed, view)).without_checks(),
                description=f"Brings view `{view.name}` up to date for the games that changed.",
                tags=RUN_TAGS,
            )
            for view in feed.gold
        ],
        schedules=[_schedule(settings, feed, view) for view in feed.gold if view.schedule],
    )


def _job_name(feed: Feed, view: GoldView) -> str:
    return f"refresh_{gold_key(feed, view).to_python_identifier()}"


def schedule_name(feed: Feed, view: GoldView) -> str:
    """The schedule of a view that has one."""
    return f"{_job_name(feed, view)}_schedule"


def _spec(settings: Settings, feed: Feed, view: GoldView) -> dg.AssetSpec:
    games = games_of(settings.lake_dir, feed)
    pattern = gold_of("{game}", view.name)
    example = gold_of(games[0], view.name) if games else pattern
    measures = "\n".join(f"- `{name}`: `{sql}`" for name, sql in view.measures.items())
    return dg.AssetSpec(
        gold_key(feed, view),
        deps=[silver_key(feed)],
        skippable=True,
        group_name=group_of(Layer.GOLD),
        description=f"One row for each {', '.join(view.keys)}, a table a game:\n\n{measures}",
        kinds={"delta", "spark"},
        owners=OWNERS,
        metadata=family_metadata(settings.lake_dir, pattern, example),
    )


def _views(settings: Settings, feed: Feed) -> dg.AssetsDefinition:
    by_key = {gold_key(feed, view): view.name for view in feed.gold}

    @dg.multi_asset(
        name=f"refresh_gold_of_{feed.feed}",
        specs=[_spec(settings, feed, view) for view in feed.gold],
        partitions_def=games_partitions(feed),
        can_subset=True,
        backfill_policy=dg.BackfillPolicy.single_run(),
    )
    def refresh(context: dg.AssetExecutionContext) -> Iterator[Event]:
        note_process(context.instance, context.run.run_id)
        keys = {by_key[key]: key for key in context.selected_asset_keys}
        known = {key: latest_ids(context.instance, key) for key in keys.values()}
        games = [g for g in games_of(settings.lake_dir, feed) if g in set(context.partition_keys)]
        if not games:
            context.log.warning("None of these games is in the feed; nothing to refresh")
            return
        found = refresh_gold(settings, feed, views=list(keys), games=games)
        run_id = context.run.run_id
        yield from results_of(context.instance, run_id, silver_key(feed), found.silver_checks)
        for report in found.reports:
            context.log.info("%s", report.seconds)
            for game, reason in report.blocked.items():
                context.log.warning("%s is left as it is: %s", game, reason)
            done = refresh_metadata(settings.lake_dir, report)
            views = {(r.game, r.view) for r in report.refreshed}
            unseen = {(g, v) for g, v in report.up_to_date if g not in known[keys[v]]}
            for game, view in sorted(views | unseen):
                metadata = done.get(game) or table_metadata(settings.lake_dir, gold_of(game, view))
                yield dg.AssetMaterialization(keys[view], partition=game, metadata=metadata)
        for view, results in found.gold_checks.items():
            if view in keys:
                yield from results_of(context.instance, run_id, keys[view], results)

    return refresh


def _schedule(settings: Settings, feed: Feed, view: GoldView) -> dg.ScheduleDefinition:
    job_name = _job_name(feed, view)
    partitions = games_partitions(feed)

    @dg.schedule(
        name=schedule_name(feed, view),
        cron_schedule=str(view.schedule),
        job_name=job_name,
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="One run for all games whose silver has changed; none if none has.",
    )
    def refresh_behind(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        unfinished = dg.RunsFilter(job_name=job_name, statuses=UNFINISHED)
        if context.instance.get_runs_count(unfinished):
            return dg.SkipReason("The last refresh is still under way")
        games = context.instance.get_dynamic_partitions(str(partitions.name))
        failures = read_failures(settings.state_dir, feed.feed)
        behind = views_behind(settings.lake_dir, feed, failures)[view.name]
        if not games or not behind:
            held = ", or held up by what fails" if failures else ""
            return dg.SkipReason(f"Every game is up to date with its silver{held}")
        # The run looks again; what changes until then is in it too.
        return dg.RunRequest(tags=all_of(games))

    return refresh_behind
