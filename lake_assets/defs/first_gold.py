"""Sensors that do not let a view's first rows wait for its schedule.

Which views are asked for is decided by `gold.first_refresh`.
"""

import json
from collections.abc import Sequence

import dagster as dg

from lake_assets.defs.gold import former_schedule_names, request, run_tags, schedule_name
from lake_assets.defs.internals.instigators import keep_off, repository_of, turned_off
from lake_assets.defs.keys import gold_key, named
from lake_assets.defs.lake_scope import UNFINISHED, known_keys
from lake_assets.defs.lazy_imports import never_computed, views_behind
from lake_assets.gold.first_refresh import first_refreshes
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import fillers
from lake_assets.model.gold_views import GoldView
from lake_assets.settings.schema import Settings
from lake_assets.state.failing_expectations import failures_of_tables
from lake_assets.state.lake_id import lake_id


def build(settings: Settings, feeds: Sequence[Feed]) -> dg.Definitions:
    """A sensor for each feed with scheduled views."""
    return dg.Definitions(
        sensors=[_sensor(settings, feed) for feed in feeds if any(map(_waits, feed.gold))]
    )


def _sensor(settings: Settings, feed: Feed) -> dg.SensorDefinition:
    lake = lake_id(settings)
    scheduled = {view.name: view for view in feed.gold if _waits(view)}
    assets = [gold_key(settings, feed, view) for view in scheduled.values()]

    @dg.sensor(
        name=named(settings, f"first_gold_of_{feed.feed}"),
        target=dg.AssetSelection.assets(*assets).without_checks(),
        minimum_interval_seconds=5,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=(
            "Refreshes a scheduled view at once if it was never computed and silver has rows. It "
            "asks once a view, and for none whose schedule is off."
        ),
    )
    def first_gold(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        instance, requested = context.instance, set(json.loads(context.cursor or "[]"))
        repository = repository_of(context)
        keep_off(instance, repository, former_schedule_names(settings, feed))
        keys = known_keys(instance, settings, feed, lake)
        under_way = dg.RunsFilter(tags=run_tags(lake), statuses=[*UNFINISHED])
        if instance.get_run_records(under_way, limit=1):
            return dg.SensorResult(
                skip_reason="A refresh is under way", cursor=json.dumps(sorted(requested))
            )
        failures = failures_of_tables(settings.state_dir, fillers(feed))
        lacking = never_computed(settings, feed, failures) if keys else ()
        off = turned_off(instance, repository) if lacking else frozenset()
        first = first_refreshes(
            scheduled,
            never_computed=set(lacking),
            asked=requested,
            turned_off={
                name
                for name, view in scheduled.items()
                if schedule_name(settings, feed, view) in off
            },
        )
        due = [scheduled[name] for name in first.due]
        behind = views_behind(settings, feed, failures, views=first.due) if due else {}
        return dg.SensorResult(
            # No run key: with one, Dagster would not ask again after a reset.
            run_requests=[request(settings, feed, due, behind, keys, lake)] if due else [],
            skip_reason=None if due else "No view waits for its first refresh",
            cursor=json.dumps(first.asked),
        )

    return first_gold


def _waits(view: GoldView) -> bool:
    """Whether a view has a schedule to wait for; what streams refresh, they refresh at once."""
    return view.schedule is not None and view.refresh is None
