"""Where the record of a lake's id is kept in the lake itself: on a disk, or in a bucket.

What the record says is `lake_id`'s, and whether it may be used is decided in `binding`.
"""

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Protocol

from pydantic import TypeAdapter

from lake_assets.errors import LakeAssetsError
from lake_assets.model.lake_uri import LakeUri, is_address
from lake_assets.runtime.atomic_write import replace_bytes
from lake_assets.runtime.file_lock import lock
from lake_assets.settings.schema import Settings
from lake_assets.state.binding import Place, Record
from lake_assets.state.files import ensure_writable

RECORD = "_lake.json"
"""Its name, right in the lake."""


RECORD_JSON = TypeAdapter(Record)


def state_record(state_dir: Path) -> Path:
    """The file of a state folder that says whose it is."""
    return state_dir / "lake.json"


class LakeRecord(Protocol):
    """A lake's record; of one thread."""

    @property
    def place(self) -> Place:
        """Where the lake is."""

    def read(self) -> bytes | None:
        """What is noted; None if nothing is.

        Raises:
            OSError: the folder cannot be read.
            LakeError: the bucket cannot be read.
        """

    def alone(self) -> AbstractContextManager[object]:
        """Keep others of this lake off on this machine, whatever state folder they have.

        Raises:
            LakeError: the lake cannot be written, or a bucket's store cannot keep others off.
        """

    def write(self, content: bytes) -> bool:
        """Note something in place of what was read; False if others did meanwhile.

        Raises:
            OSError: the folder cannot be written.
            LakeError: the bucket cannot be written.
        """


class _InFolder:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def place(self) -> Place:
        return place_of(self._folder)

    def read(self) -> bytes | None:
        with suppress(FileNotFoundError, NotADirectoryError):
            return (self._folder / RECORD).read_bytes()
        return None

    def alone(self) -> AbstractContextManager[object]:
        ensure_writable(self._folder)
        return lock(self._folder / "_lake.lock")

    def write(self, content: bytes) -> bool:
        replace_bytes(self._folder / RECORD, content)
        return True


class _InBucket:
    def __init__(self, root: LakeUri, options: Mapping[str, str]) -> None:
        # Loaded only for buckets, as their store is.
        from lake_assets.storage.conditional import ConditionalFile  # noqa: PLC0415

        self._root, self._options = root, options
        self.place = Place.in_bucket(str(root))
        self._file = ConditionalFile(root / RECORD, options)
        self.read, self.write = self._file.read, self._file.write

    def alone(self) -> AbstractContextManager[object]:
        # Writing is conditional, if the bucket knows conditions.
        from lake_assets.storage.conditions import ensure_conditions  # noqa: PLC0415 - as above

        ensure_conditions(self._root, self._options)
        return nullcontext()


def lake_record(settings: Settings) -> LakeRecord:
    """The record of the lake of `settings`; nothing is read yet.

    Raises:
        SettingsError: an option of the bucket cannot be used.
    """
    if settings.lake_root.is_local:
        return _InFolder(settings.lake_dir)
    return _InBucket(settings.lake_root, settings.storage.secrets)


def noted_elsewhere(path: str, settings: Settings) -> bytes | None:
    """What is noted at another place that was a lake's, if that can be read."""
    try:
        if is_address(path):
            return _InBucket(LakeUri.parse(path), settings.storage.secrets).read()
        return _InFolder(Path(path)).read()
    except (OSError, LakeAssetsError):
        return None


def place_of(folder: Path) -> Place:
    """A folder of this machine, which need not be there.

    Raises:
        OSError: it cannot be looked at.
    """
    path, device, inode = os.path.realpath(folder), 0, 0
    with suppress(FileNotFoundError, NotADirectoryError):
        status = folder.stat()
        device, inode = status.st_dev, status.st_ino
    return Place(path=path, device=device, inode=inode)


def lake_around(state: Place, lake: Place) -> str | None:
    """The nearest folder above the state, or it itself, that is another lake's."""
    above = (folder for folder in (Path(state.path), *Path(state.path).parents))
    others = (folder for folder in above if str(folder) != lake.path)
    # Of a folder that may not be read nothing is known: unlike `Path.is_file`, this says so.
    found = (folder for folder in others if os.path.isfile(folder / RECORD))  # noqa: PTH113
    return next(map(str, found), None)
