"""Whether a feed's silver has had a row yet: what comes before is first, whatever the tables are.

Tables are there before the first row, with the columns that are declared.
"""

from lake_assets.delta.catalog import keys_found
from lake_assets.delta.data_files import active_files
from lake_assets.delta.log_history import open_table
from lake_assets.model.feeds import Feed
from lake_assets.silver.demux_position import demux_app
from lake_assets.storage.store import Store


def has_rows(lake: Store, feed: Feed) -> bool:
    """Whether a silver table of a feed has rows, or had some that left it.

    Raises:
        LakeError: a table's log cannot be read.
    """
    app = demux_app(feed.feed)
    for key in keys_found(lake, feed):
        handle = open_table(lake, feed.silver_table(key))
        if handle is None:
            continue
        # A batch is recorded by the tables that get rows of it; a requeue's rows are files.
        if handle.transaction_version(app) is not None or active_files(handle):
            return True
    return False
