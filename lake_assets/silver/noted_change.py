"""A change of a feed's tables that is noted and then made: rows leave some and come to others.

Which ones is the caller's to say (`silver.reprocess`, `erasure.remove`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lake_assets.delta.catalog import keys_found
from lake_assets.delta.change_journal import ChangeJournal, TableChange, TablesChange
from lake_assets.delta.commit import Batch, Commit
from lake_assets.delta.multi_table_change import finish
from lake_assets.delta.offset_range import NOTHING
from lake_assets.delta.table_features import Use
from lake_assets.delta.table_log import log_of
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import origin_of
from lake_assets.model.origins import Spans
from lake_assets.model.tables import TableRef, duplicates_of, erased_of, quarantine_of, waiting_of
from lake_assets.silver.demux_position import reprocess_app
from lake_assets.spark.lake_context import LakeContext
from lake_assets.storage.store import Store


@dataclass(frozen=True, kw_only=True, slots=True)
class Changed:
    """What a change did."""

    number: int
    removed: dict[TableRef, int]
    """By table, rows that left it."""


def silver_tables(lake: Store, feed: Feed) -> list[TableRef]:
    """Tables of keys that are there, among them such as the feed has no longer."""
    tables = map(feed.silver_table, keys_found(lake, feed))
    return [table for table in tables if log_of(lake, table).exists()]


def tables_aside(lake: Store, feed: Feed) -> list[TableRef]:
    """The tables of waiting rows, of duplicates and of erased ones, if there ever were some."""
    tables = (of(feed.feed) for of in (waiting_of, duplicates_of, erased_of))
    return [table for table in tables if log_of(lake, table).exists()]


def change_tables(
    context: LakeContext,
    journal: ChangeJournal,
    feed: Feed,
    parts: Sequence[TableChange],
    dropped: Spans,
) -> Changed:
    """Note a change and make it; quarantine's part is the last, and makes it whole.

    Args:
        context: commits.
        journal: where it is noted.
        feed: whose tables.
        parts: by table what leaves and comes, in their order.
        dropped: as `TablesChange.dropped`.

    Raises:
        CommitConflictError: others keep rewriting a table; the next start finishes it.
        LakeError: the lake cannot be written.
        TableFeatureError: a feature of a table forbids it; nothing has happened.
    """
    order = [part.table for part in parts]
    batch, committer = _next(context, feed, order), context.committer
    aside = {*tables_aside(context.lake, feed), quarantine_of(feed.feed)}
    # Before it is noted: what is noted is finished by whoever starts next.
    given = [Commit(table=p.table, files=p.files, info=p.info) for p in parts if p.files]
    committer.judge(given, batch)
    rewritten = [p.table for p in parts if p.leaving != NOTHING or p.table in aside]
    committer.ensure_usable(rewritten, Use.REWRITE)
    companions = {*silver_tables(context.lake, feed), *aside, *order} - {quarantine_of(feed.feed)}
    change = TablesChange(
        batch=batch,
        origin=origin_of(feed),
        tables=parts,
        companions=[*companions],
        dropped=dropped,
    )
    journal.write(change)
    return Changed(number=batch.version, removed=finish(journal, committer))


def _next(context: LakeContext, feed: Feed, tables: Iterable[TableRef]) -> Batch:
    """The number of a change: one that none of the tables has yet, whatever the clock says."""
    app_id = reprocess_app(feed.feed)
    handles = context.committer.opened(list(tables)).values()
    numbers = (handle.transaction_version(app_id) or 0 for handle in handles)
    return Batch(app_id, 1 + max(numbers, default=0))
