"""Tables that are kept open: reading what a log gained is several times cheaper than all of it."""

import threading
from pathlib import Path

from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from lake_assets.delta.table_paths import for_deltalake
from lake_assets.errors import LakeError
from lake_assets.model.tables import TableRef


class Handles:
    """The opened tables of one lake. Thread-safe."""

    def __init__(self, lake: Path) -> None:
        """Open tables of `lake`, when they are asked for."""
        self._lake = lake
        self._handles: dict[TableRef, DeltaTable] = {}
        self._lock = threading.Lock()

    def fresh(self, table: TableRef) -> DeltaTable:
        """A table at its newest version.

        Raises:
            LakeError: there is no such table.
        """
        handle = self.find(table)
        if handle is None:
            raise LakeError(
                str(table.path(self._lake)), "there is no such table", "Run the streams first"
            )
        return handle

    def find(self, table: TableRef) -> DeltaTable | None:
        """A table at its newest version; None if there is no such table."""
        with self._lock:
            handle = self._handles.get(table)
        try:
            if handle is None:
                handle = DeltaTable(for_deltalake(table.path(self._lake)))
            else:
                handle.update_incremental()
        except TableNotFoundError:
            return None
        with self._lock:
            self._handles[table] = handle
        return handle
