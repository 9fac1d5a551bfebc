"""What runs that somebody starts by hand have in place of their job's tags: pools and time limits.

"Materialize" and "Execute" start Dagster's own job, which has none of ours' tags.
"""

import dagster as dg

from lake_assets.defs.internals.runs import MAX_RUNTIME, STARTED_BY, tag_run


def gold_pool(lake: str) -> str:
    """The pool of gold: refreshes and its checks. One run at a time, by dagster.yaml."""
    return f"lake_assets_gold_{lake}"


def silver_pool(lake: str) -> str:
    """The pool of silver: rebuilds, which take hours, and its checks.

    Apart from gold's: a run holds the pools of all its steps from its start, and refreshes must not
    wait for a rebuild.
    """
    return f"lake_assets_silver_{lake}"


def limit_runtime(instance: dg.DagsterInstance, run: dg.DagsterRun, seconds: int) -> None:
    """Have run monitoring end a run that takes longer, unless it has a limit of its own.

    Monitoring looks at the record while the run goes on, and so does this: an earlier step of the
    run may have set a longer one.
    """
    record = instance.get_run_by_id(run.run_id) or run
    if MAX_RUNTIME not in record.tags:
        tag_run(instance, run.run_id, {MAX_RUNTIME: str(seconds)})


def is_by_hand(run: dg.DagsterRun) -> bool:
    """Whether somebody started a run, or a backfill: no schedule, sensor or condition did."""
    return not STARTED_BY & run.tags.keys()
