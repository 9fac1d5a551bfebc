"""How long Dagster's storage takes for what is asked all the time: pages, sensors, reports."""

import asyncio
import time
from collections.abc import Callable, Mapping
from statistics import median

import dagster as dg
from dagster._core.loader import LoadingContextForTest
from dagster._core.storage.partition_status_cache import get_partition_subsets

from benchmarks.dagster_rows import log_of
from lake_assets.defs.internals.asset_checks import check_results
from lake_assets.defs.internals.materializations import latest_ids
from lake_assets.defs.keys import gold_key, key_partitions, silver_key
from lake_assets.defs.lake_scope import UNFINISHED, runs_of
from lake_assets.model.feeds import Feed
from lake_assets.settings.schema import Settings

_TIMES = 5
"""Of each, the median counts."""


def query_times(
    settings: Settings, instance: dg.DagsterInstance, feed: Feed, lake: str
) -> Mapping[str, float]:
    """Milliseconds of each question."""
    silver, partitions = silver_key(settings, feed), key_partitions(feed, lake)
    assets = [silver, *(gold_key(settings, feed, view) for view in feed.gold)]
    checks = [dg.AssetCheckKey(silver, expectation.name) for expectation in feed.expectations]
    keys = feed.route.keys if feed.route else ()

    def status() -> None:
        context = LoadingContextForTest(instance)
        asyncio.run(get_partition_subsets(instance, context, silver, instance, partitions))

    def status_anew() -> None:
        log_of(instance).wipe_asset_cached_status(silver)
        status()

    asked: Mapping[str, Callable[[], object]] = {
        "assets_page_ms": lambda: instance.get_asset_records(assets),
        "runs_page_ms": lambda: instance.get_run_records(limit=25),
        "partitions_ms": status,
        "partitions_anew_ms": status_anew,
        "supervisor_ms": lambda: instance.get_run_records(runs_of(lake, UNFINISHED)),
        "alerts_ms": lambda: check_results(instance, checks),
        "report_ms": lambda: latest_ids(instance, silver, keys),
    }
    return {name: round(1000 * _seconds(ask), 1) for name, ask in asked.items()}


def _seconds(ask: Callable[[], object]) -> float:
    taken = []
    for _ in range(_TIMES):
        at = time.perf_counter()
        ask()
        taken.append(time.perf_counter() - at)
    return median(taken)
