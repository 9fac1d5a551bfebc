"""Whether bronze has rows that silver, and what is beside it, do not tell of.

Rows that an expectation dropped, or that left for their age while raw ones stay; and what nobody
declares any more: an expectation of former days, a `DELETE` by hand. Reads logs alone.
"""

from collections.abc import Iterator
from datetime import timedelta

from lake_assets.delta.log_history import open_table, rows_of
from lake_assets.erasure.pending import untaken
from lake_assets.model.expectations import Action
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import bronze_of, quarantine_of
from lake_assets.silver.noted_change import silver_tables, tables_aside
from lake_assets.storage.store import Store


def drops_rows(feed: Feed) -> bool:
    """Whether rows leave silver or quarantine, or do not come there, that stay in bronze. Pure."""
    is_dropping = any(one.action is Action.DROP for one in feed.expectations)
    stays = feed.bronze.retention
    return (
        is_dropping
        or feed.where is not None
        or any(stays is None or keep < stays for keep in _ages(feed))
    )


def _ages(feed: Feed) -> Iterator[timedelta]:
    """After which rows leave silver or quarantine; at once, where that is by times of their own."""
    for key in (None, *feed.layouts):
        kept = feed.layout_of(key).retention
        if kept is not None:
            yield kept.keep if kept.column is None else timedelta(0)
    if feed.quarantine.retention is not None:
        yield feed.quarantine.retention


def has_more_rows(lake: Store, feed: Feed) -> bool:
    """Whether bronze has more rows that silver has taken than silver and what is beside it have.

    Where a message is several rows, that tells little.

    Raises:
        LakeError: a table cannot be read.
    """
    # In this order: what streams add meanwhile makes nobody look in vain.
    raw = open_table(lake, bronze_of(feed.feed))
    rows = 0 if raw is None else rows_of(raw) - untaken(lake, feed)
    tables = [*silver_tables(lake, feed), *tables_aside(lake, feed), quarantine_of(feed.feed)]
    handles = (open_table(lake, table) for table in tables)
    return rows > sum(rows_of(handle) for handle in handles if handle is not None)
