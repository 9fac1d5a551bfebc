"""Whether a run of a feed would find anything to do: none starts Spark for nothing."""

import math

from lake_assets.delta.log_history import open_table, rows_of, rows_since
from lake_assets.errors import SourceError
from lake_assets.gold.status import views_behind
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import feed_of_tables, fillers
from lake_assets.model.tables import bronze_of, waiting_of
from lake_assets.settings.schema import Settings
from lake_assets.sinks.standing import standing_of
from lake_assets.sources.catalog import source_of
from lake_assets.state.failing_expectations import failures_of_tables
from lake_assets.storage.open_store import lake_of
from lake_assets.streams.progress import demux_position, ingested_offsets
from lake_assets.streams.source_changes import has_changed


def is_run_needed(settings: Settings, feed: Feed, endpoints: Endpoints | None) -> bool:
    """Whether a feed's source has rows that silver lacks, or silver some that live views lack.

    True also where a source is new to bronze, since a run records where it is begun: what comes
    after that is read, also by `latest`. And where nobody can tell: a run says what is wrong.

    Args:
        settings: where the lake is.
        feed: one with a schedule.
        endpoints: broker and registry; None if they are not there.

    Raises:
        LakeAssetsError: the lake cannot be read.
    """
    try:
        is_source_done = endpoints is not None and not _has_new_rows(settings, feed, endpoints)
    except SourceError:
        is_source_done = False
    return (
        not is_source_done or _is_silver_behind(settings, feed) or _is_gold_behind(settings, feed)
    )


def _has_new_rows(settings: Settings, feed: Feed, endpoints: Endpoints) -> bool:
    lake = lake_of(settings)
    source = source_of(feed, endpoints, lake)
    extent, have = source.extent(), ingested_offsets(lake, feed)
    if open_table(lake, bronze_of(feed.feed)) is None or not extent.begins.keys() <= have.keys():
        return True
    if has_changed(source, lake, feed, extent.names):
        return True
    return any(have[place] != end for place, end in extent.ends.items()) or source.has_unseen()


def _is_silver_behind(settings: Settings, feed: Feed) -> bool:
    lake = lake_of(settings)
    bronze = open_table(lake, bronze_of(feed.feed))
    if bronze is None:
        return False
    if not feed.has_silver:
        return _are_sinks_behind(settings, feed)
    waiting = open_table(lake, waiting_of(feed.feed))
    is_waiting = waiting is not None and bool(rows_of(waiting))
    return is_waiting or bool(rows_since(bronze, demux_position(lake, feed).bronze.version + 1))


def _are_sinks_behind(settings: Settings, feed: Feed) -> bool:
    """Whether a sink has not got all of bronze, of a feed whose rows go there at once."""
    found = (standing_of(lake_of(settings), feed, sink, math.inf) for sink in feed.sinks)
    return any(one is None or one.behind_since is not None for one in found)


def _is_gold_behind(settings: Settings, feed: Feed) -> bool:
    """Whether a view is behind that runs refresh, over tables that are another feed's, too."""
    owner = feed_of_tables(feed)
    paced = [view.name for view in owner.gold if view.refresh is not None]
    if not paced:
        return False
    failures = failures_of_tables(settings.state_dir, fillers(owner))
    return any(views_behind(settings, owner, failures, views=paced).values())
