"""Files of a batch that was cut off before a table had them; its feed's next start adds them."""

from collections.abc import Sequence
from contextlib import suppress

from deltalake import DeltaTable

from lake_assets.delta.commit import DataFile
from lake_assets.delta.commit_journal import Journal
from lake_assets.delta.data_files import are_whole
from lake_assets.delta.log_history import is_done
from lake_assets.delta.table_log import TableLog
from lake_assets.errors import LakeError
from lake_assets.model.tables import TableRef


def pending_files(
    log: TableLog, table: TableRef, handle: DeltaTable, journal: Journal
) -> Sequence[DataFile]:
    """What a feed's journal is about to add to a table, if it is whole; else it is undone.

    Args:
        log: of the table.
        table: of silver.
        handle: the same, as it is now.
        journal: of a feed that fills it.
    """
    with suppress(LakeError):  # torn: then the batch is undone and comes again
        noted = journal.last()
        if noted is not None and not is_done(handle, noted[0]):
            files = [file for one in noted[1] if one.table == table for file in one.files]
            return files if are_whole(log, files) else []  # else it is undone, too
    return []
