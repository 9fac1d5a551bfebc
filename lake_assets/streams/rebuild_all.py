"""All of silver from all of bronze: where its tables do not fit together, or have other names.

When that is asked for is `streams.reprocess`'; the streams do not run.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace

from deltalake import DeltaTable

from lake_assets.delta.catalog import keys_found
from lake_assets.delta.change_journal import TableChange
from lake_assets.delta.data_files import active_files, are_whole
from lake_assets.delta.feeds_in_table import others_in
from lake_assets.delta.increments import Point
from lake_assets.delta.offset_range import Range
from lake_assets.delta.restores import is_restored
from lake_assets.delta.source_offsets import offsets_of_rows
from lake_assets.delta.table_log import log_of
from lake_assets.delta.table_owners import is_there
from lake_assets.delta.transaction_numbers import checksum, numbers_of
from lake_assets.errors import FeedError
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import beside_it, is_shared, origin_of
from lake_assets.model.tables import TableRef, bronze_of, quarantine_of
from lake_assets.silver.demux_position import (
    POSITION,
    Position,
    batch_of,
    demux_app,
    read_position,
)
from lake_assets.silver.lost_rows import clear_lost, note_lost
from lake_assets.silver.redone import Redone
from lake_assets.silver.reprocess import Bronze, Redo
from lake_assets.storage.store import Store
from lake_assets.streams.bronze_ranges import apart_of, ensure_reaches, retained_of, rows_of, within
from lake_assets.streams.demux_loop import tables_of_silver
from lake_assets.streams.superseded_silver import drop_superseded, offsets_of_silver

_LOG = logging.getLogger(__name__)


def under_new_names(redo: Redo, renamed: Mapping[TableRef, TableRef]) -> Redone:
    """Derive all of silver, then drop its tables of former names; the streams do not run."""
    feed, context = redo.demux.feed, redo.demux.context
    bronze = context.committer.fresh(bronze_of(feed.feed))
    offsets = offsets_of_silver(context, feed, renamed)
    ensure_reaches(context.lake, feed, bronze, offsets, "Put `tables` back. ")
    redone = from_nothing(redo, bronze)
    drop_superseded(context, feed, renamed)
    return redone


def ensure_renamable(lake: Store, feed: Feed, renamed: Mapping[TableRef, TableRef]) -> None:
    """Refuse to derive under new names what other feeds' rows are in, too: they would be dropped.

    Raises:
        FeedError: several feeds fill the feed's silver, or did: a table has another one's rows.
        LakeError: a table cannot be read.
    """
    table, now = next(iter(renamed.items()))
    who = ""
    if is_shared(feed):
        who = f"{', '.join(beside_it(feed))} fills it, too"
    elif found := others_in(lake, renamed, feed.feed):
        (table, other), now = found, renamed[found[0]]
        who = f"it has rows of {other}, which would be dropped with it"
    if who:
        raise FeedError(
            f"feed {feed.feed!r}",
            f"{table.name} would be {now.name} by its `tables`, and {who}",
            "Put `tables` back as it was: tables that several feeds fill keep their names",
        )


def accept_restores(redo: Redo) -> Mapping[TableRef, DeltaTable]:
    """Let tables change that were restored, since all of them is derived again; all, by table."""
    feed, context = redo.demux.feed, redo.demux.context
    ours = [*tables_of_silver(context.lake, feed), quarantine_of(feed.feed)]
    opened = context.committer.opened(ours)
    context.committer.accept_restores(opened)
    return opened


def from_nothing(redo: Redo, bronze: DeltaTable) -> Redone:
    """Derive all there is of bronze, and record again how far demux is thereby."""
    _tell_others(redo)
    feed, context, origin = redo.demux.feed.feed, redo.demux.context, origin_of(redo.demux.feed)
    log = log_of(context.lake, bronze_of(feed))
    aside = accept_restores(redo).get(quarantine_of(feed))  # it may be gone
    offsets = offsets_of_rows(log, active_files(bronze), origin)
    noted = read_position(aside, feed) if aside else None
    places = {*offsets, *(noted.offsets if noted else ())}
    retained = retained_of(redo.demux.feed, bronze, places) or None
    reached = Position(
        bronze_id=str(bronze.metadata().id),
        bronze=Point.at(log, bronze.version()),
        offsets=offsets,
    )

    def record() -> TableChange:
        quarantine = quarantine_of(feed)
        tables = tables_of_silver(context.lake, redo.demux.feed)
        handles = context.committer.opened([*tables, quarantine])
        numbers = numbers_of(demux_app(feed), handles)
        number = max(numbers.values(), default=0) + 1
        numbers.pop(quarantine, None)
        position = replace(reached, number=number, tables=checksum(numbers))
        return TableChange(
            table=quarantine,
            info={POSITION: position.to_json()},
            transactions=[batch_of(feed, number)],
        )

    rows = rows_of(redo.session, redo.demux.feed, bronze)
    apart = apart_of(context, redo.demux.feed, rows)
    everything = Range(retained=retained, apart=apart)
    if retained:
        span = replace(everything, ends=offsets)
        rows = within(redo.session, redo.demux.feed, rows, span).rows
    redone = redo.rebuild(Bronze(rows=rows, range=everything), record=record)
    clear_lost(context.lake, feed)
    return redone


def _tell_others(redo: Redo) -> None:
    """Have other feeds that fill the tables derive their rows again, too, if some are lost."""
    feed, context = redo.demux.feed, redo.demux.context
    if not is_shared(feed):
        return
    for table, handle in context.committer.opened(_silver_tables(context.lake, feed)).items():
        log = log_of(context.lake, table)
        is_back = is_restored(log, handle.version())
        if is_back or not are_whole(log, active_files(handle)):
            what = "was put back to an older version (RESTORE)" if is_back else "lacked files"
            fact = f"{table.name} {what} when feed {feed.feed!r} was derived again"
            begun = [o for o in beside_it(feed) if is_there(context.lake, quarantine_of(o))]
            note_lost(context.lake, begun, fact)
            told = "%s: run `lake-assets rebuild silver` for %s, too"
            others = ", ".join(beside_it(feed))
            _LOG.warning(told, fact, others, extra={"feed": feed.feed})
            return


def _silver_tables(lake: Store, feed: Feed) -> list[TableRef]:
    """The silver tables that a feed fills."""
    return [*map(feed.silver_table, keys_found(lake, feed))]
