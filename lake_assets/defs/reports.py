"""What the streams did, as Dagster's events: materializations and check results."""

from collections.abc import Iterator

import dagster as dg

from lake_assets.defs.internals import evaluation, latest_ids, latest_metadata
from lake_assets.defs.keys import bronze_key, quarantine_key, silver_key
from lake_assets.defs.metadata import VERSION, table_metadata
from lake_assets.lake.catalog import games_of
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import Judged
from lake_assets.model.tables import TableRef, bronze_of, quarantine_of, silver_of
from lake_assets.settings.schema import Settings
from lake_assets.streams.tally import Change

Event = dg.AssetMaterialization | dg.AssetCheckEvaluation


def events_of(
    settings: Settings, feed: Feed, change: Change, instance: dg.DagsterInstance, run_id: str
) -> Iterator[Event]:
    """One table's materialization, then the checks that its new rows were judged by.

    Each event must be stored before the next is asked for: a check refers to the materialization
    that came before it.
    """
    asset = _asset_of(feed, change.table)
    metadata = table_metadata(settings.lake_dir, change.table)
    metadata["rows_added"] = dg.MetadataValue.int(change.rows)
    if change.dropped:
        metadata["rows_dropped"] = dg.MetadataValue.int(change.dropped)
    yield dg.AssetMaterialization(asset, partition=change.game, metadata=metadata)
    if change.game is None or not change.judged:
        return
    storage_id = latest_ids(instance, asset).get(change.game)
    for name, judged in change.judged.items():
        yield evaluation_of(
            dg.AssetCheckKey(asset, name),
            change.game,
            judged,
            run_id=run_id,
            storage_id=storage_id,
        )


def evaluation_of(
    check: dg.AssetCheckKey, game: str, judged: Judged, *, run_id: str, storage_id: int | None
) -> dg.AssetCheckEvaluation:
    """One game's result of one expectation."""
    per_cent = 100.0 * judged.violated / judged.seen if judged.seen else 0.0
    return evaluation(
        check=check,
        partition=game,
        run_id=run_id,
        storage_id=storage_id,
        passed=judged.violated == 0,
        metadata={
            "rows_seen": dg.MetadataValue.int(judged.seen),
            "rows_violated": dg.MetadataValue.int(judged.violated),
            "per_cent_violated": dg.MetadataValue.float(round(per_cent, 3)),
        },
    )


def unreported(settings: Settings, feed: Feed, instance: dg.DagsterInstance) -> Iterator[Change]:
    """The tables of which Dagster knows another version than there is.

    A run that was killed, or one outside of Dagster, had no time to report its last batches.
    """
    lake = settings.lake_dir
    tables: list[tuple[TableRef, str | None]] = [
        (bronze_of(feed.feed), None),
        (quarantine_of(feed.feed), None),
        *((silver_of(game), game) for game in games_of(lake, feed)),
    ]
    for table, game in tables:
        now = table_metadata(lake, table)
        then = latest_metadata(instance, _asset_of(feed, table), game)
        has_rows = bool(now) and now["dagster/row_count"].value
        if has_rows and then.get(VERSION) != now[VERSION]:
            yield Change(feed=feed.feed, table=table, game=game)


def _asset_of(feed: Feed, table: TableRef) -> dg.AssetKey:
    if table == bronze_of(feed.feed):
        return bronze_key(feed)
    return quarantine_key(feed) if table == quarantine_of(feed.feed) else silver_key(feed)
