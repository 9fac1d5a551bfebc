"""Looking where one key's view stands, in the logs of its silver and gold.

What follows from that is decided in `gold.refresh_need`.
"""

from lake_assets.delta.commit_digest import commit_digest
from lake_assets.delta.refresh_position import Position
from lake_assets.delta.table_log import log_of
from lake_assets.gold.refresh_need import Silver, ViewSnapshot, definition_of
from lake_assets.gold.view_columns import view_columns_of
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.spark.lake_context import LakeContext


def view_snapshot_of(
    feed: Feed,
    view: GoldView,
    key: str,
    silver: tuple[int, str],
    gold: tuple[int, Position | None],
    context: LakeContext,
) -> ViewSnapshot:
    """Where a key stands.

    Args:
        feed: whose view.
        view: what is brought up to date.
        key: of it.
        silver: its silver's version and Delta's id of it.
        gold: version and position of its gold; 0 and None without.
        context: where the lake is.
    """
    (version, table), (gold_version, position) = silver, gold
    silver_table = feed.silver_table(key)
    log = log_of(context.committer.store, silver_table)
    commit = commit_digest(log, version) or ""
    if position is None or position.silver_version == version:
        read = commit
    else:
        read = commit_digest(log, position.silver_version) or ""
    return ViewSnapshot(
        key=key,
        silver_table=silver_table,
        gold_table=feed.gold_table(view, key),
        definition=definition_of(view, context.session),
        silver=Silver(version=version, table=table, commit=commit),
        gold_version=gold_version,
        position=position,
        commit_read=read,
        columns=view_columns_of(feed, view),
    )
