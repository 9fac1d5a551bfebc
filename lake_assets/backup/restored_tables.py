"""Where restored tables come to in a lake: beside its own first, then into their places.

On a disk tables change places by renames. In a bucket, which has none, the lake's own are deleted
and the others copied there by the store itself; what is beside them stays until all have come, so
that whoever was cut off does it again. What is copied, and when, is `restore`'s.
"""

import os
import shutil
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from lake_assets.backup.lake_tables import tables_in
from lake_assets.model.lake_uri import LakeUri
from lake_assets.model.tables import Layer
from lake_assets.runtime.atomic_write import replace_text
from lake_assets.settings.places import BESIDE_TABLES, GIVEN_WAY
from lake_assets.state.lake_id import RESTORING
from lake_assets.storage.local import LocalStore
from lake_assets.storage.store import Store

if TYPE_CHECKING:
    from lake_assets.storage.objects import ObjectStore

_LOG = "_delta_log"


class RestoredTables(Protocol):
    """The tables of one restore, and the mark that keeps all others from the lake meanwhile."""

    @property
    def beside(self) -> LakeUri:
        """The folder in the lake that they come to first."""

    def as_lake(self) -> Store:
        """That folder as a lake, through the same store."""

    def mark(self) -> bytes | None:
        """What a restore that was cut off noted; None if there is none."""

    def note(self, mark: str) -> None:
        """Note something instead, durably."""

    def drop_others(self, ours: Collection[str]) -> None:
        """Delete tables beside the lake's that are not among these: another restore's."""

    def change_places(self, ours: Collection[str]) -> None:
        """Have the lake's tables give way to these; again after it was cut off, too."""

    def leave(self) -> None:
        """Delete what is left beside the tables, then the mark."""


def restored_tables(lake: Store) -> RestoredTables:
    """Those of a lake, by the store at its root."""
    return _OnDisk(lake) if isinstance(lake, LocalStore) else _InBucket(cast("ObjectStore", lake))


class _OnDisk:
    def __init__(self, lake: LocalStore) -> None:
        self._lake, self._folder = lake, lake.root.as_path()
        self.beside = lake.root / BESIDE_TABLES

    def as_lake(self) -> Store:
        return self._lake.below(self.beside)

    def mark(self) -> bytes | None:
        file = self._folder / RESTORING
        return file.read_bytes() if file.exists() else None

    def note(self, mark: str) -> None:
        replace_text(self._folder / RESTORING, mark)

    def drop_others(self, ours: Collection[str]) -> None:
        for layer in Layer:
            for table in (self._folder / BESIDE_TABLES / layer.value).glob("*"):
                if f"{layer}/{table.name}" not in ours:
                    shutil.rmtree(table)

    def change_places(self, ours: Collection[str]) -> None:
        for table in tables_in(self._lake):
            if table.relative not in ours:
                move(self._folder / table.relative, self._folder / GIVEN_WAY / table.relative)
        for name in sorted(ours):
            beside = self._folder / BESIDE_TABLES / name
            if not beside.exists():
                continue  # it has its place already
            if os.path.lexists(self._folder / name):
                move(self._folder / name, self._folder / GIVEN_WAY / name)
            move(beside, self._folder / name)

    def leave(self) -> None:
        for folder in (GIVEN_WAY, BESIDE_TABLES):
            shutil.rmtree(self._folder / folder, ignore_errors=True)
        (self._folder / RESTORING).unlink()


class _InBucket:
    def __init__(self, lake: "ObjectStore") -> None:
        self._lake = lake
        self.beside = lake.root / BESIDE_TABLES
        self._mark = lake.root / RESTORING

    def as_lake(self) -> Store:
        return self._lake.below(self.beside)

    def mark(self) -> bytes | None:
        try:
            return self._lake.get(self._mark)
        except FileNotFoundError:
            return None

    def note(self, mark: str) -> None:
        with self._lake.open_for_writing(self._mark, durable=True) as stream:
            stream.write(mark.encode())

    def drop_others(self, ours: Collection[str]) -> None:
        for layer in Layer:
            for name in self._lake.folders(self.beside / layer.value):
                if f"{layer}/{name}" not in ours:
                    self._lake.delete_folder(self.beside / layer.value / name)

    def change_places(self, ours: Collection[str]) -> None:
        root = self._lake.root
        for table in tables_in(self._lake):
            self._lake.delete_folder(root / table.relative, first=_LOG)
        for name in sorted(ours):
            self._lake.delete_folder(root / name, first=_LOG)  # what is there and no table
            self._lake.copy_folder(self.beside / name, root / name, last=_LOG)

    def leave(self) -> None:
        self._lake.delete_folder(self.beside)
        self._lake.delete(self._mark)


def move(source: Path, target: Path) -> None:
    """Have a folder take another name; what has that name is deleted."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    source.rename(target)
