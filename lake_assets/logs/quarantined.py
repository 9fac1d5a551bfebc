"""How many rows a feed's quarantine has, by why they are there."""

from collections import Counter
from collections.abc import Mapping

from lake_assets.delta.data_files import active_files, read_file
from lake_assets.delta.log_history import open_table
from lake_assets.delta.table_log import log_of
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import quarantine_of
from lake_assets.storage.store import Store

_REASON = "reason"


def rows_by_reason(lake: Store, feed: Feed) -> Mapping[str, int]:
    """By reason, in their order, the rows of quarantine now; reads that column alone.

    Raises:
        LakeError: the table cannot be read.
    """
    table, found = quarantine_of(feed.feed), Counter[str]()
    if (handle := open_table(lake, table)) is None:
        return {}
    log = log_of(lake, table)
    for file in active_files(handle):
        found.update(map(str, read_file(log, file, [_REASON])[_REASON].to_pylist()))
    return dict(sorted(found.items()))
