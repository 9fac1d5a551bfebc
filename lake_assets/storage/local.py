"""The store on a local or mounted disk: a hard link is what makes a file appear only if absent.

Not obstore's: a commit is a file of a few hundred bytes, and a thousand tables get theirs together
(decision 36 has the figures).
"""

import errno
import glob
import heapq
import io
import logging
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

from lake_assets.errors import LakeError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.settings.schema import Durability
from lake_assets.storage.durability import flush, sync_file
from lake_assets.storage.store import DROPPED, STAGED, FileStat, Readable, Writing

_LOG = logging.getLogger(__name__)

_PAGE = 65_536
"""Names of a folder that are held at once, some 10 MB; each page reads the folder once."""

_NEXT_STEP = {
    errno.ENOSPC: "Free some space on its disk",
    errno.EDQUOT: "Free some space, or have the quota raised",
    errno.EROFS: "Mount its disk for writing, or name another folder",
    errno.EACCES: "Correct its permissions, or name another folder",
    errno.EPERM: "Correct its permissions, or name another folder",
    errno.ENOENT: "Make its folder",
}


class LocalStore:
    """Keeps `storage.store.Store` on the disk of `root`, whose folder need not be there yet."""

    def __init__(
        self, root: LakeUri, durability: Durability = Durability.POWER, *, page: int = _PAGE
    ) -> None:
        """Open the store; nothing is read or made.

        Args:
            root: a local folder.
            durability: what `flush` waits for.
            page: names that a list holds at once.
        """
        self.root = root
        self.options: Mapping[str, str] = {}
        self._durability = durability
        self._page_size = page

    @classmethod
    def at(cls, folder: Path) -> Self:
        """The store of a folder that its caller has as a path."""
        return cls(LakeUri.local(folder.absolute()))

    def below(self, folder: LakeUri) -> Self:
        """As `Store` has it."""
        return type(self)(folder, self._durability)

    def put_if_absent(self, file: LakeUri, content: bytes) -> bool:
        """As `Store` has it."""
        try:
            return put_new_file(file.path, content)
        except OSError as problem:
            raise _unusable(file, "written", problem) from problem

    def get(self, file: LakeUri) -> bytes:
        """As `Store` has it."""
        try:
            with open(file.path, "rb", buffering=0) as stream:
                return stream.read()
        except FileNotFoundError:
            raise
        except OSError as problem:
            raise _unusable(file, "read", problem) from problem

    @contextmanager
    def open_for_reading(self, file: LakeUri) -> Iterator[Readable]:
        """As `Store` has it: the path, which pyarrow reads without Python."""
        yield file.path

    def stat(self, file: LakeUri) -> FileStat | None:
        """As `Store` has it; inodes are used again, so the time of the change is in the tag."""
        try:
            status = os.stat(file.path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as problem:
            raise _unusable(file, "read", problem) from problem
        tag = f"{status.st_dev}-{status.st_ino}-{status.st_ctime_ns}"
        return FileStat(status.st_size, status.st_mtime_ns, tag)

    def list_from(self, folder: LakeUri, start: str = "") -> Iterator[str]:
        """As `Store` has it; a folder of more than a page is read again for each."""
        page = self._page(folder, start, after=None)
        yield from page
        while len(page) == self._page_size:
            page = self._page(folder, start, after=page[-1])
            yield from page

    def _page(self, folder: LakeUri, start: str, after: str | None) -> list[str]:
        try:
            with os.scandir(folder.path) as entries:
                names = (
                    entry.name
                    for entry in entries
                    if entry.name >= start
                    and (after is None or entry.name > after)
                    and not entry.name.endswith(STAGED)
                    and entry.is_file()
                )
                return heapq.nsmallest(self._page_size, names)
        except FileNotFoundError:
            return []
        except OSError as problem:
            raise _unusable(folder, "listed", problem) from problem

    def staged(self, folder: LakeUri) -> list[str]:
        """As `Store` has it."""
        try:
            with os.scandir(folder.path) as entries:
                return sorted(entry.name for entry in entries if entry.name.endswith(STAGED))
        except FileNotFoundError:
            return []
        except OSError as problem:
            raise _unusable(folder, "listed", problem) from problem

    def folders(self, folder: LakeUri) -> list[str]:
        """As `Store` has it."""
        try:
            with os.scandir(folder.path) as entries:
                folders = (entry for entry in entries if not entry.name.endswith(DROPPED))
                return sorted(entry.name for entry in folders if _is_folder(entry))
        except FileNotFoundError:
            return []
        except OSError as problem:
            raise _unusable(folder, "listed", problem) from problem

    def delete(self, file: LakeUri) -> None:
        """As `Store` has it."""
        try:
            with suppress(FileNotFoundError):
                os.unlink(file.path)
        except OSError as problem:
            raise _unusable(file, "deleted", problem) from problem

    def delete_folder(self, folder: LakeUri, *, first: str = "") -> None:  # noqa: ARG002 - at once
        """As `Store` has it: it gets another name, by which nobody finds it."""
        above = folder.parent.path
        leaving = f"{above}/.{uuid4().hex}{DROPPED}"
        try:
            with suppress(FileNotFoundError):
                os.rename(folder.path, leaving)
                _delete_tree(leaving)
        except OSError as problem:
            raise _unusable(folder, "deleted", problem) from problem
        for left in glob.iglob(f"{glob.escape(above)}/.*{DROPPED}"):
            try:
                _delete_tree(left)
            except OSError as problem:  # no fault of this folder's
                _LOG.warning("%s is left of a folder that was deleted: %s", left, problem)

    @contextmanager
    def open_for_writing(self, file: LakeUri, *, durable: bool = False) -> Iterator[Writing]:
        """As `Store` has it; a rename makes the file appear, and its folder is made if need be."""
        # Not longer than any name may be, and not one that whoever deletes unused files leaves.
        staged = f"{file.path.rpartition('/')[0]}/staged-{uuid4().hex}{STAGED}"
        try:
            with io.BufferedWriter(self._create(file, staged)) as stream:
                yield stream
            try:
                if durable:
                    sync_file(Path(staged))
                os.replace(staged, file.path)
            except OSError as problem:
                raise _unusable(file, "written", problem) from problem
        except BaseException:
            with suppress(OSError):
                os.unlink(staged)
            raise

    def _create(self, file: LakeUri, staged: str) -> "_Staged":
        try:
            return _Staged(file, staged)
        except FileNotFoundError:
            self.make_folder(file.parent)
        except OSError as problem:
            raise _unusable(file, "written", problem) from problem
        try:
            return _Staged(file, staged)
        except OSError as problem:
            raise _unusable(file, "written", problem) from problem

    def make_folder(self, folder: LakeUri) -> None:
        """As `Store` has it."""
        try:
            os.makedirs(folder.path, exist_ok=True)
        except OSError as problem:
            raise _unusable(folder, "made", problem) from problem

    def flush(self) -> None:
        """As `Store` has it: one flush of the file system, for any number of files."""
        flush(self.root.as_path(), self._durability)

    def sync(self, file: LakeUri) -> None:
        """As `Store` has it."""
        try:
            sync_file(file.as_path())
        except FileNotFoundError:
            raise
        except OSError as problem:
            raise _unusable(file, "put onto the disk", problem) from problem


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads in a circle
        return False


def put_new_file(target: str, content: bytes) -> bool:
    """Make `target` a file with this content; False if it is there already, and nothing happens.

    Nobody ever sees a part of it. A hard link fails where its name is taken, which is the
    put-if-absent that deltalake's store for local disks makes, too.

    Raises:
        OSError: the folder cannot be written, or is not there.
    """
    # Cheap, and most conflicts are seen here; the link below is what makes sure.
    if os.path.exists(target):
        return False
    staged = f"{target.rpartition('/')[0]}/_commit_{uuid4()}.json{STAGED}"
    try:
        handle = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            left = memoryview(content)
            while left:
                left = left[os.write(handle, left) :]
        finally:
            os.close(handle)
        os.link(staged, target)
    except FileExistsError:
        # On a file server's disk it may be our own: made, its answer lost, and asked for again.
        return os.stat(staged).st_nlink > 1
    finally:
        with suppress(FileNotFoundError):
            os.unlink(staged)
    return True


def _delete_tree(folder: str) -> None:
    """Delete a folder; of a link to one, what it leads to, too."""
    shutil.rmtree(os.path.realpath(folder), onerror=_unless_gone)
    if os.path.islink(folder):
        os.unlink(folder)


def _unless_gone(_: object, __: str, failure: tuple[Any, BaseException, Any]) -> None:
    """What another process deletes at the same time is as it should be."""
    if not isinstance(failure[1], FileNotFoundError):
        raise failure[1]


class _Staged(io.FileIO):
    """A file that is being written under another name, whose errors tell of the one it will be."""

    def __init__(self, file: LakeUri, staged: str) -> None:
        super().__init__(staged, "w")
        self._file = file

    def write(self, data: Any, /) -> int:  # noqa: ANN401 - whatever has bytes
        try:
            return super().write(data)
        except OSError as problem:
            raise _unusable(self._file, "written", problem) from problem


def _unusable(file: LakeUri, what: str, problem: OSError) -> LakeError:
    step = _NEXT_STEP.get(problem.errno or 0, "Check the folder and the disk")
    return LakeError(str(file), f"cannot be {what} ({problem.strerror or problem})", step)
