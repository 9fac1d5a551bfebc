"""Gold that was made of rows which left: which tables that is, and computing them anew."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from lake_assets.delta.log_history import identity, newest_info
from lake_assets.delta.refresh_position import position_from
from lake_assets.delta.table_owners import owners_in
from lake_assets.erasure.gold_made_of import (
    Keys,
    Pairs,
    gold_computed_of,
    gold_made_of,
    keys_of_all,
    tables_of_views,
)
from lake_assets.gold.run import Warm
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import Layer, TableRef
from lake_assets.model.view_order import turns_of
from lake_assets.settings.schema import Settings
from lake_assets.storage.open_store import lake_of
from lake_assets.storage.store import Store
from lake_assets.streams.refresh import refresh_gold


@dataclass(kw_only=True, slots=True)
class Recomputed:
    """What became of gold."""

    tables: set[TableRef] = field(default_factory=set)
    """That were made of what left, or changed meanwhile."""

    changed: list[str] = field(default_factory=list)
    """Names of those that were computed."""

    left: list[str] = field(default_factory=list)
    """In words, what is held up."""

    shrunk: list[str] = field(default_factory=list)
    """In words, which totals may have lost rows of others, that silver keeps no longer."""


def recompute(
    settings: Settings, feeds: Sequence[Feed], touched: Collection[TableRef], warm: Warm | None
) -> Recomputed:
    """Bring all gold up to date that was made of silver tables which rows left.

    Args:
        settings: where the lake is.
        feeds: all that are declared: a view may read another feed's.
        touched: tables that rows left.
        warm: as `streams.refresh.refresh_gold` has it.

    Raises:
        LakeAssetsError: Spark or the lake cannot be used, or a view does not compile.
    """
    lake, done = lake_of(settings), Recomputed()
    keys = keys_of_all(lake, feeds)
    done.tables = gold_made_of(lake, feeds, keys, touched)
    if not done.tables:
        return done
    every = {t for feed in feeds for t in tables_of_views(feed, keys[feed.feed])}
    before = {table: identity(lake, table) for table in every}
    for feed in turns_of(feeds):
        if not feed.gold:
            continue
        for report in refresh_gold(settings, feed, warm=warm).reports:
            for key, why in report.blocked.items():
                words = f"gold of {feed.feed}.{key} is held up and has the rows still ({why})"
                done.left.append(f"{words}: mend that, then run `lake-assets erase --again`")
    changed = {table for table in every if identity(lake, table) != before[table]}
    done.changed = sorted(table.name for table in changed)
    direct = gold_computed_of(lake, feeds, keys, touched)
    done.left += _kept(lake, feeds, direct, {*done.tables} - changed)
    done.shrunk = totals_shrunk(feeds, keys, direct, changed)
    done.tables |= changed
    return done


def _kept(
    lake: Store, feeds: Sequence[Feed], direct: Pairs, same: Collection[TableRef]
) -> list[str]:
    """Which tables among some, that nobody computed, have what they had."""
    step = "declare it, or drop the table, then ask again"
    left = []
    for table, silver in sorted(direct):
        if table in same and _stands_for_older(lake, table, silver):
            words = f"{table.name} was not computed anew and has the rows still, since no feed "
            left.append(f"{words}declares its key or its view any more: {step}")
    for table in sorted(_undeclared(lake, feeds) & {*same}):
        words = f"{table.name} may have the rows still, since no feed declares its view any more"
        left.append(f"{words}: {step}")
    return left


def _undeclared(lake: Store, feeds: Sequence[Feed]) -> set[TableRef]:
    """Tables of views that their feeds have no longer."""
    declared = {(feed.feed, view.name) for feed in feeds for view in feed.gold}
    owners = owners_in(lake, Layer.GOLD).items()
    return {t for t, owner in owners if owner and (owner.feed, owner.view) not in declared}


def totals_shrunk(
    feeds: Sequence[Feed], keys: Keys, direct: Pairs, changed: Collection[TableRef]
) -> list[str]:
    """Which tables were computed from silver that rows leave for their age."""
    aged = {
        feed.silver_table(key)
        for feed in feeds
        for key in keys[feed.feed]
        if feed.layout_of(key).retention
    }
    names = {gold.name for gold, silver in direct if silver in aged}
    names &= {table.name for table in changed}
    return [
        f"{name}: computed anew from what silver keeps (`retention`): it counts rows no longer "
        "that left for their age, whoever's they were"
        for name in sorted(names)
    ]


def _stands_for_older(lake: Store, gold: TableRef, silver: TableRef) -> bool:
    """Whether a key's table says that it was computed from an older version of silver."""
    position, now = position_from(newest_info(lake, gold)), identity(lake, silver)
    return position is not None and now is not None and position.silver_version < now[0]
