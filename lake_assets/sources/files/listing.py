"""Which files a folder has, by their names, sizes and times. Opens none of them."""

import errno
import heapq
import logging
import os
import stat
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from lake_assets.errors import SourceError, SourceNotFoundError
from lake_assets.model.files_source import FilesSource
from lake_assets.sources.files.found import Found

_LOG = logging.getLogger(__name__)


def ensure_folder(source: FilesSource) -> None:
    """Make sure that the folder can be listed.

    Raises:
        SourceNotFoundError: it is not there.
        SourceError: it cannot be read, or is none.
    """
    try:
        with os.scandir(source.path):
            return
    except OSError as problem:
        raise _unreadable(source.path, problem) from problem


def ensure_places(source: FilesSource) -> None:
    """Make sure that a file which is not there is gone: that its folder and the archive are there.

    Raises:
        SourceNotFoundError: one of them is not, as when its disk is not mounted.
        SourceError: one cannot be read.
    """
    ensure_folder(source)
    if source.archive is None:
        return
    try:
        with os.scandir(source.archive):
            return
    except OSError as problem:
        raise _unreadable(source.archive, problem) from problem


def list_files(source: FilesSource) -> Iterator[Found]:
    """The files that a source reads, in no order, one at a time; without those that go meanwhile.

    Raises:
        SourceError: as `ensure_folder`, or of a folder below it.
    """
    for entry, name in _entries(source, source.path, ""):
        found = look(entry.path, name)
        if found is not None:
            yield found


def names_after(source: FilesSource, last: str, most: int) -> list[str]:
    """The first names after one, in order; raises as `list_files`.

    Args:
        source: whose files.
        last: the name; empty for all.
        most: as many at most, which is what is in memory at once.
    """
    names = (name for _, name in _entries(source, source.path, "") if name > last)
    return heapq.nsmallest(most, names)


def look(path: str | Path, name: str) -> Found | None:
    """A file as it is now; None if it is not there, or no file.

    Raises:
        SourceError: the disk does not tell.
    """
    try:
        status = os.stat(path)  # noqa: PTH116 - a Path for each of a million names costs as much
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as problem:
        raise _unreadable(str(path), problem) from problem
    if not stat.S_ISREG(status.st_mode):
        return None
    return Found(name, status.st_size, status.st_mtime_ns)


def _entries(
    source: FilesSource, folder: str, above: str
) -> Iterator[tuple["os.DirEntry[str]", str]]:
    below: list[tuple[str, str]] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                name = above + entry.name
                if _is_folder(source, entry):
                    below.append((entry.path, f"{name}/"))
                elif source.matches(name) and _is_text(name) and _is_file(entry):
                    yield entry, name
    except FileNotFoundError as problem:
        if not above:
            raise _unreadable(folder, problem) from problem
        return  # a folder that went meanwhile
    except OSError as problem:
        raise _unreadable(folder, problem) from problem
    for path, name in below:
        yield from _entries(source, path, name)


def _is_folder(source: FilesSource, entry: "os.DirEntry[str]") -> bool:
    """Whether an entry is a folder that is looked into."""
    is_meant = source.is_deep and entry.name[:1] not in {".", "_"}
    return is_meant and _is_text(entry.name) and entry.is_dir(follow_symlinks=False)


def _is_file(entry: "os.DirEntry[str]") -> bool:
    """Whether an entry is a file, or a link to one.

    A link that leads to itself is none, nor is one whose target we may not look at, which is told.
    """
    try:
        return entry.is_file()
    except PermissionError:
        if not entry.is_symlink():
            raise
        _tell_forbidden(entry.path)
        return False
    except OSError as problem:
        if problem.errno == errno.ELOOP:
            return False
        raise


@lru_cache(maxsize=1_000)
def _tell_forbidden(path: str) -> None:
    """Once a link: a look is repeated every second."""
    _LOG.warning("link %s is passed over: what it leads to may not be looked at", path)


def _is_text(name: str) -> bool:
    """Whether a name can be told: one that is no UTF-8 can be in no column."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unreadable(folder: str, problem: OSError) -> SourceError:
    if isinstance(problem, FileNotFoundError):
        return SourceNotFoundError(f"folder {folder}", "does not exist", "Make it, or mount it")
    fact = f"cannot be read ({problem.strerror or problem})"
    return SourceError(f"folder {folder}", fact, "Correct its permissions, or source.files.path")
