"""The log of one table: where its commits lie in the lake's store, and reading and putting one.

What a commit says is `delta.log_tail`'s to read and `delta.append`'s to write. A lake is the store
at its root.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from lake_assets.delta.table_paths import data_file
from lake_assets.model.lake_uri import LakeUri
from lake_assets.model.tables import TABLE_NAME, Layer, TableRef
from lake_assets.settings.environment_lock import reading_environment
from lake_assets.storage.local import LocalStore
from lake_assets.storage.store import Store

LAST_CHECKPOINT = "_last_checkpoint"
"""The file of a log that names its newest checkpoint."""


@dataclass(frozen=True, slots=True)
class TableLog:
    """A table's log, which need not be there. Thread-safe."""

    store: Store
    folder: LakeUri
    """Of the table."""

    def file(self, name: str) -> LakeUri:
        """A file of the log."""
        # Not by `/`, which looks at each name: those of logs are known, and asked for often.
        place = self.folder
        return LakeUri(place.scheme, place.bucket, f"{place.path}/_delta_log/{name}")

    def commit_file(self, version: int) -> LakeUri:
        """The file of a version's commit."""
        return self.file(f"{version:020}.json")

    def data_file(self, path: str) -> LakeUri:
        """A file that the log names; as `delta.table_paths.data_file`."""
        return data_file(self.folder, path)

    def names_from(self, start: str = "") -> Iterable[str]:
        """Names of the log's files, as `Store.list_from` has them; none if there is no log."""
        return self.store.list_from(self.folder / "_delta_log", start)

    def make(self) -> None:
        """Make the log's folder, if it is not there and the store has folders.

        Raises:
            LakeError: it cannot be made.
        """
        self.store.make_folder(self.folder / "_delta_log")

    def has(self, version: int) -> bool:
        """Whether a version's commit is there.

        Raises:
            LakeError: the store cannot be read.
        """
        return self.store.stat(self.commit_file(version)) is not None

    def exists(self) -> bool:
        """Whether there is a table; its first commit may have been swept away since.

        Raises:
            LakeError: the store cannot be read.
        """
        if self.has(0):
            return True
        # A bucket lists as soon as it tells of one file.
        if self.folder.is_local and self.store.stat(self.file(LAST_CHECKPOINT)) is not None:
            return True
        return any(name.split(".")[0].isdecimal() for name in self.names_from())

    def commit(self, version: int) -> bytes:
        """A version's commit.

        Raises:
            FileNotFoundError: the log has none, or no longer.
            LakeError: it cannot be read.
        """
        return self.store.get(self.commit_file(version))

    def put(self, version: int, actions: Iterable[Mapping[str, Any]]) -> bool:
        """Make a commit of these actions; False if there is another one, and nothing happens.

        Raises:
            LakeError: the log cannot be written, or is not there.
        """
        # Not escaped: deltalake (1.6.6) takes escapes of characters beyond U+1FFFF for others.
        lines = (json.dumps(action, ensure_ascii=False) for action in actions)
        content = "".join(f"{line}\n" for line in lines).encode()
        file = self.commit_file(version)
        if self.store.put_if_absent(file, content):
            return True
        # A bucket's answer may have been lost, and asking again found our own: what a commit names
        # is named by chance, so nobody else's has these bytes.
        return not self.folder.is_local and self.store.get(file) == content

    def open(self, version: int | None = None) -> DeltaTable:
        """The table, at its newest version if none is given.

        Raises:
            DeltaError: deltalake cannot read the log; `TableNotFoundError` if there is none.
        """
        place, options = self.folder.for_deltalake(), dict(self.store.options)
        return reading_environment(
            lambda: DeltaTable(place, version=version, storage_options=options)
        )


def log_of(lake: Store, table: TableRef) -> TableLog:
    """The log of a table of a lake, or of one outside that is read beside them."""
    if table.outside:
        folder = Path(table.outside)
        return TableLog(LocalStore.at(folder), LakeUri.local(folder))
    return TableLog(lake, lake.root / table.relative)


def table_folders(lake: Store, layers: Iterable[Layer] = Layer) -> Iterator[TableRef]:
    """All folders of a lake that a table may have, whether there is one or not."""
    for layer in layers:
        for name in filter(TABLE_NAME.fullmatch, lake.folders(lake.root / layer.value)):
            yield TableRef(layer=layer, name=name)


def drop_table(lake: Store, table: TableRef) -> None:
    """Delete a table with all its versions.

    On a disk in one step. In a bucket its newest version goes first: what is left of one that is
    dropped half is an older version of it, or no table.

    Raises:
        LakeError: it cannot be deleted.
    """
    lake.delete_folder(log_of(lake, table).folder, first="_delta_log")
