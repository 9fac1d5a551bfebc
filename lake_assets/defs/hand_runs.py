"""What runs that somebody starts by hand have in place of their job's tags: pools and time limits.

"Materialize" and "Execute" start Dagster's own job, which has none of ours' tags.
"""

import dagster as dg

from lake_assets.defs.internals.runs import MAX_RUNTIME, STARTED_BY, tag_run


def spark_pool(lake: str) -> str:
    """The pool of short work with Spark: refreshes and checks. One at a time, by dagster.yaml."""
    return f"lake_assets_spark_{lake}"


def rebuild_pool(lake: str) -> str:
    """The pool of rebuilds, which take hours: refreshes do not wait for them."""
    return f"lake_assets_rebuild_{lake}"


def limit_runtime(instance: dg.DagsterInstance, run: dg.DagsterRun, seconds: int) -> None:
    """Have run monitoring end a run that takes longer, unless it has a limit of its own.

    Monitoring looks at the record while the run goes on.
    """
    if MAX_RUNTIME not in run.tags:
        tag_run(instance, run.run_id, {MAX_RUNTIME: str(seconds)})


def is_by_hand(run: dg.DagsterRun) -> bool:
    """Whether somebody started a run, or a backfill: no schedule, sensor or condition did."""
    return not STARTED_BY & run.tags.keys()
