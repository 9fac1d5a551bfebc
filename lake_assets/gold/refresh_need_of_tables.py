"""Deciding whether a query over several tables is behind, and what it waits for. Pure.

Its counterparts for views over their feed's silver alone are `gold.refresh_need` and
`gold.refresh_need_all`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from lake_assets.delta.refresh_position_of_tables import PositionOfTables, ReadVersion
from lake_assets.gold.refresh_need import Silver
from lake_assets.model.gold_views import GoldView
from lake_assets.model.queries import QuerySource
from lake_assets.model.reports import RefreshReport
from lake_assets.model.tables import EVERY_KEY, Layer, TableRef


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadTable:
    """One of the tables that a query's source stands for."""

    source: QuerySource
    table: TableRef
    key: str
    """Whose it is: a key, `feed.key` of another feed, or `EVERY_KEY`."""

    now: Silver | None
    """None if there is no such table."""


def position_of_tables(definition: str, reads: Sequence[ReadTable]) -> PositionOfTables:
    """Where a view gets by a refresh."""
    return PositionOfTables(
        tables={
            read.table.relative: ReadVersion(read.now.version, read.now.table, read.now.commit)
            for read in reads
            if read.now is not None
        },
        definition=definition,
    )


def waits_for(reads: Sequence[ReadTable], position: PositionOfTables | None) -> str | None:
    """Why the view cannot be computed as things are, in words; None if it can.

    Without any table a source has no columns. A view's table that is gone, dropped or lost, comes
    back with that view's next refresh; what was computed from it stays until then.
    """
    for source in sorted({read.source for read in reads}):
        if not any(read.now for read in reads if read.source == source):
            return f"{source}, which it reads, has no table yet"
    known = position.tables if position else {}
    for read in reads:
        is_gone = read.now is None and read.table.relative in known
        if is_gone and read.table.layer is Layer.GOLD:
            gone = f"{read.table.name}, which it was computed from, is gone"
            return f"{gone} until {read.source} is refreshed"
    return None


def is_behind_tables(
    definition: str, reads: Sequence[ReadTable], position: PositionOfTables | None
) -> bool:
    """Whether a view can be computed and must: never done, redefined, or a table is another now.

    A table is another if its version, its id or that version's commit is, and if it came or, of
    silver, went.
    """
    is_other = position != position_of_tables(definition, reads)
    return is_other and waits_for(reads, position) is None


def unread_tables(
    definition: str, reads: Sequence[ReadTable], position: PositionOfTables | None
) -> tuple[ReadTable, ...]:
    """The tables that, as they are now, would come into the view by a refresh."""
    there = tuple(read for read in reads if read.now is not None)
    if position is None or position.definition != definition:
        return there
    now = position_of_tables(definition, there).tables
    return tuple(
        read
        for read in there
        if position.tables.get(read.table.relative) != now[read.table.relative]
    )


def followers(
    view: GoldView, scopes: Iterable[str], behind: Mapping[str, Collection[str]]
) -> tuple[str, ...]:
    """The scopes of a view that read what is refreshed before it.

    Args:
        view: that reads others.
        scopes: of it.
        behind: by view of its feed, the scopes that are to be refreshed.
    """
    read = [source for source in view.sources if source.view and not source.feed]

    def follows(scope: str) -> bool:
        return any(
            scope in behind.get(source.view, ()) if source.is_of_key else behind.get(source.view)
            for source in read
        )

    return tuple(filter(follows, scopes))


def told_of_held(
    view: GoldView, report: RefreshReport, held: Mapping[str, Mapping[str, str]]
) -> RefreshReport:
    """A view's report, which says where it has nothing new only since what it reads is held up.

    Args:
        view: whose report.
        report: as its refresh gave it.
        held: by view of its feed that was looked at before, by scope, why it is as it was.
    """
    reasons = {}
    for scope, _ in report.up_to_date:
        for source in view.sources:
            of_read = {} if source.feed else held.get(source.view, {})
            scopes = (scope, EVERY_KEY) if source.is_of_key else tuple(of_read)
            found = next((name for name in scopes if name in of_read), None)
            if found is not None:
                of_key = "" if found in {scope, EVERY_KEY} else f" of {found}"
                reasons[scope] = f"{source}{of_key}, which it reads, is held up: {of_read[found]}"
                break
    current = tuple(each for each in report.up_to_date if each[0] not in reasons)
    return replace(report, up_to_date=current, blocked={**report.blocked, **reasons})


def first_lacking(
    reads: Sequence[ReadTable], position: PositionOfTables | None
) -> Mapping[TableRef, int]:
    """By table that moved on, the first version that the view lacks."""
    known = position.tables if position else {}
    firsts = {
        read.table: known[read.table.relative].version + 1 if read.table.relative in known else 0
        for read in reads
    }
    return {
        read.table: firsts[read.table]
        for read in reads
        if read.now is not None and firsts[read.table] <= read.now.version
    }
