"""Tables of keys and views that a feed declares no more: which they are, and how they are dropped.

Whose a table is, it records itself. Deriving silver again afterwards is `streams.reprocess`'.
"""

from collections.abc import Collection, Sequence

from lake_assets.delta.catalog import keys_of
from lake_assets.delta.feeds_in_table import others_in
from lake_assets.delta.table_log import drop_table
from lake_assets.delta.table_owners import owners_in
from lake_assets.errors import FeedError
from lake_assets.gold.view_turns import turn_of_views
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import beside_it, is_shared
from lake_assets.model.owners import Owner, claims_of
from lake_assets.model.tables import Layer, TableRef
from lake_assets.settings.schema import Settings
from lake_assets.state.files import streams_lock, turn
from lake_assets.state.lake_id import ensure_bound
from lake_assets.storage.open_store import lake_of
from lake_assets.storage.store import Store
from lake_assets.streams.noted_changes import REDO_TURN


def is_undeclared(owner: Owner | None, feed: Feed, declared: Collection[Owner]) -> bool:
    """Whether a table of silver or gold is of a key or a view that its feed has no more. Pure."""
    return owner is not None and owner.feed == feed.feed and owner not in declared


def undeclared_tables(
    lake: Store, feed: Feed, keys: Collection[str] | None = None
) -> tuple[TableRef, ...]:
    """Silver and gold tables that were made for the feed, and that it declares no more.

    Keys that a route creates by itself (`unknown: create`) are declared.

    Args:
        lake: where the tables are.
        feed: as it is declared now.
        keys: only tables of these; all by default.

    Raises:
        LakeError: a table's log cannot be read.
    """
    declared = {owner for _, owner in claims_of(feed, keys_of(lake, feed))}
    return tuple(
        table
        for layer in (Layer.SILVER, Layer.GOLD)
        for table, owner in owners_in(lake, layer).items()
        if is_undeclared(owner, feed, declared)
        and (keys is None or (owner is not None and owner.key in keys))
    )


def drop_undeclared(settings: Settings, feed: Feed, tables: Sequence[TableRef]) -> bool:
    """Delete tables that `undeclared_tables` found.

    Silver records which tables it has. So if a silver table goes, streams refuse to go on until
    silver was derived again: also if this, or what comes after it, is killed.

    Returns:
        Whether silver is to be derived again.

    Raises:
        FeedError: other feeds fill the silver tables, too, or did.
        StreamsLockedError: the streams run.
        LakeError: a table cannot be read or deleted.
    """
    ensure_bound(settings)
    lake, state_dir = lake_of(settings), settings.state_dir
    silver = [table for table in tables if table.layer is Layer.SILVER]
    _ensure_alone(lake, feed, silver)
    with (
        streams_lock(state_dir),
        turn(state_dir, REDO_TURN),
        turn_of_views(state_dir, feed, feed.gold),
    ):
        for table in reversed(tables):
            drop_table(lake, table)
    return bool(silver)


def _ensure_alone(lake: Store, feed: Feed, silver: Sequence[TableRef]) -> None:
    fact = ""
    if silver and is_shared(feed):
        fact = f"{', '.join(beside_it(feed))} fills the feed's silver tables, too"
    elif found := others_in(lake, silver, feed.feed):
        table, other = found
        fact = f"{table.name} has rows of {other}, which would be dropped with it"
    if fact:
        step = "Leave these tables, or name other keys by --key"
        raise FeedError(f"feed {feed.feed!r}", fact, step)
