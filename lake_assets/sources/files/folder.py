"""A folder of a local or mounted disk as a place of files: `place.FilePlace`."""

import io
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

from lake_assets.model.files_source import FilesSource
from lake_assets.sources.files.folder_archive import archived, begin_archive, leave_folder
from lake_assets.sources.files.found import Found
from lake_assets.sources.files.index import Entry
from lake_assets.sources.files.listing import (
    ensure_folder,
    ensure_places,
    list_files,
    look,
    names_after,
)
from lake_assets.sources.files.opening import Opener
from lake_assets.sources.files.place import InOrder, Present


class Folder:
    """The folder that a source declares."""

    leaves_at_once: ClassVar[int] = 1

    def __init__(self, source: FilesSource) -> None:
        """Know where it is; nothing is looked at yet."""
        self._source = source

    def ensure(self, *, timeout_s: float | None = None) -> None:  # noqa: ARG002 - a disk answers or fails
        """As `FilePlace` has it."""
        ensure_folder(self._source)

    def ensure_all(self) -> None:
        """As `FilePlace` has it."""
        ensure_places(self._source)

    def files(self) -> Iterator[Found]:
        """As `FilePlace` has it."""
        return list_files(self._source)

    def files_after(self, last: str, most: int) -> InOrder:
        """As `FilePlace` has it: the whole folder's names are read."""
        names = names_after(self._source, last, most)
        looked = (self.look(name) for name in names)
        return InOrder(files=(file for file in looked if file), is_last=len(names) < most)

    def look(self, name: str) -> Found | None:
        """As `FilePlace` has it."""
        return look(self._path(name), name)

    def opener(self, file: Found) -> Opener:
        """As `FilePlace` has it."""
        return _opener(self._path(file.name))

    def read_ahead(self, files: Sequence[Found]) -> None:
        """As `FilePlace` has it: the system reads ahead."""

    def is_still(self, file: Found) -> bool:
        """As `FilePlace` has it."""
        return self.look(file.name) == file

    def find(self, entry: Entry) -> Present | None:
        """As `FilePlace` has it."""
        archive, path = self._source.archive, self._path(entry.file.name)
        for place in (path, *(map(str, archived(archive, entry)) if archive else ())):
            if look(place, entry.file.name) == entry.file:
                return Present(size=entry.file.size, is_as_found=True, open=_opener(place))
        now = look(path, entry.file.name)
        if now is None:
            return None
        return Present(size=now.size, is_as_found=False, open=_opener(path))

    def begin_archive(self) -> None:
        """As `FilePlace` has it."""
        begin_archive(self._source)

    def leave(self, entry: Entry, *, makes_archive: bool) -> None:
        """As `FilePlace` has it."""
        leave_folder(self._source, entry, makes_archive=makes_archive)

    def _path(self, name: str) -> str:
        return str(Path(self._source.path, name))


def _opener(path: str) -> Opener:
    return partial(_open, path)


def _open(path: str, *, reads_on: bool = False) -> io.RawIOBase:  # noqa: ARG001 - the system's own matter
    return io.FileIO(path)
