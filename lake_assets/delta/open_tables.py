"""Tables that are kept open: reading what a log gained is several times cheaper than all of it."""

import threading

from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from lake_assets.delta.table_log import log_of
from lake_assets.errors import LakeError
from lake_assets.model.tables import TableRef
from lake_assets.storage.guard import ensure_writer
from lake_assets.storage.store import Store


class Handles:
    """The opened tables of one lake. Thread-safe."""

    def __init__(self, store: Store) -> None:
        """Open tables of the lake whose folder is the store's root, when they are asked for."""
        self._store = store
        self._handles: dict[TableRef, DeltaTable] = {}
        self._lock = threading.Lock()

    def fresh(self, table: TableRef) -> DeltaTable:
        """A table at its newest version, for a commit.

        Raises:
            LakeError: there is no such table, or another machine writes the lake by now.
        """
        handle = self.find(table)
        if handle is None:
            raise LakeError(
                str(log_of(self._store, table).folder),
                "there is no such table",
                "Run the streams first",
            )
        ensure_writer(self._store)  # behind the look: whoever takes us for dead now fences it
        return handle

    def find(self, table: TableRef) -> DeltaTable | None:
        """A table at its newest version; None if there is no such table."""
        with self._lock:
            handle = self._handles.get(table)
        try:
            if handle is None:
                handle = log_of(self._store, table).open()
            else:
                handle.update_incremental()
        except TableNotFoundError:
            return None
        with self._lock:
            self._handles[table] = handle
        return handle
