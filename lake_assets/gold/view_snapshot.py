"""Where one key's view stands: its silver and gold at the versions that a refresh starts from.

What follows from that is decided in `gold.refresh_need`.
"""

from dataclasses import dataclass

from lake_assets.delta.commit_digest import commit_digest
from lake_assets.delta.refresh_position import Position
from lake_assets.delta.table_log import log_of
from lake_assets.gold.refresh_need import Silver, definition_of, is_behind, why_full
from lake_assets.model.feeds import Feed, GoldView
from lake_assets.model.tables import TableRef
from lake_assets.spark.lake_context import LakeContext


@dataclass(frozen=True, kw_only=True, slots=True)
class ViewSnapshot:
    """One key's silver and gold at the versions that a refresh starts from."""

    key: str
    silver_table: TableRef
    gold_table: TableRef
    definition: str
    """Of the view, as it is now."""

    silver: Silver
    gold_version: int
    position: Position | None
    commit_read: str = ""
    """`commit_digest` of the position's version, as silver's log has it now."""

    @property
    def is_behind(self) -> bool:
        """Whether the key's view must be brought up to date."""
        return is_behind(self.definition, self.silver, self.position)

    @property
    def why_full(self) -> str:
        """As `gold.refresh_need.why_full`."""
        return why_full(self.definition, self.silver, self.position, self.commit_read)


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
    )
