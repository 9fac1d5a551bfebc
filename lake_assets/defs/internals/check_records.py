"""Which record of an asset check is its newest: Dagster keeps one per run, check and partition.

The record that was made last counts as the newest, and a run's later results only change its own.
So what a run of days finds would stay behind the result of a run that began after it and ended
long ago: a click on "Execute", a rebuild. Tried on Dagster 1.13.27 and 1.13.29 with SQLite; another
storage than Dagster's own is left alone.
"""

import dagster as dg
from dagster._core.event_api import PartitionKeyFilter
from dagster._core.storage.event_log.schema import AssetCheckExecutionsTable
from dagster._core.storage.event_log.sql_event_log import SqlEventLogStorage


def give_way(instance: dg.DagsterInstance, run_id: str, result: dg.AssetCheckEvaluation) -> None:
    """Delete a run's record of a check if another run's is newer; its next result makes a new one.

    Args:
        instance: has the records.
        run_id: the run that is about to tell `result`.
        result: of which check and partition.
    """
    log = instance.event_log_storage
    if not isinstance(log, SqlEventLogStorage):
        return
    newest = log.get_asset_check_execution_history(
        result.asset_check_key,
        limit=1,
        partition_filter=PartitionKeyFilter(key=result.partition),
    )
    if not newest or newest[0].run_id == run_id:
        return
    record = AssetCheckExecutionsTable.c
    with log.index_connection() as connection:
        connection.execute(
            AssetCheckExecutionsTable.delete().where(
                record.asset_key == result.asset_key.to_string(),
                record.check_name == result.check_name,
                record.run_id == run_id,
                record.partition.is_not_distinct_from(result.partition),
            )
        )
