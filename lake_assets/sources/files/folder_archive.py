"""Files leave a folder of a disk: into the archive, whole at any moment, or for good."""

import errno
import logging
import os
import shutil
from pathlib import Path

from lake_assets.model.files_source import FilesSource
from lake_assets.sources.files.index import Entry
from lake_assets.sources.files.listing import look

_LOG = logging.getLogger(__name__)


def archived(archive: str, entry: Entry) -> tuple[Path, Path]:
    """Where a file is in the archive: under its name, or where that was taken, with its offset."""
    plain = Path(archive, entry.file.name)
    return plain, plain.with_name(f"{plain.name}.{entry.first}")


def leave_folder(source: FilesSource, entry: Entry, *, makes_archive: bool) -> None:
    """Archive or delete a file, if it is as it was found: `place.FilePlace.leave`."""
    path = Path(source.path, entry.file.name)
    if look(path, entry.file.name) != entry.file:
        return
    if source.archive is None:
        if not entry.problem:  # nothing of one that could not be read is in bronze
            path.unlink(missing_ok=True)
        return
    _ensure_archive(Path(source.archive), makes_it=makes_archive)
    plain, numbered = archived(source.archive, entry)
    target = numbered if os.path.lexists(plain) else plain
    if os.path.lexists(target) and look(target, entry.file.name) != entry.file:
        raise FileExistsError(errno.EEXIST, "is there already, and another file", str(target))
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink():
        _link(path, target)
        path.unlink()
        return
    try:
        os.rename(path, target)  # noqa: PTH104 - fails where it is another disk
    except OSError as problem:
        if problem.errno != errno.EXDEV:
            raise
        # Another disk: whole there before it goes here, whenever this dies.
        staged = _staged(target)
        shutil.copy2(path, staged)
        with staged.open("rb") as stream:
            os.fsync(stream.fileno())
        os.replace(staged, target)  # noqa: PTH105 - likewise
        path.unlink()


def begin_archive(source: FilesSource) -> None:
    """Make the archive where no file has left yet, so that later it is known to be away."""
    if source.archive is None:
        return
    try:
        _ensure_archive(Path(source.archive), makes_it=True)
    except OSError as problem:
        _LOG.warning("files will not leave %s: %s", source.path, problem)


def _ensure_archive(folder: Path, *, makes_it: bool) -> None:
    """Make sure that the archive is there; folders above it are never made."""
    if folder.is_dir():
        return
    if not makes_it:
        raise FileNotFoundError(errno.ENOENT, "is not there: make it, or mount it", str(folder))
    try:
        folder.mkdir(exist_ok=True)
    except FileNotFoundError as problem:
        words = "cannot be made, since the folder above it is not there: make it, or mount it"
        raise FileNotFoundError(errno.ENOENT, words, str(folder)) from problem


def _link(path: Path, target: Path) -> None:
    """Have a link in the archive to what a link leads to, wherever that is from."""
    staged = _staged(target)
    staged.unlink(missing_ok=True)  # of a process that died
    staged.symlink_to(path.resolve())
    os.replace(staged, target)  # noqa: PTH105 - replaces, as no other way does


def _staged(target: Path) -> Path:
    return target.with_name(f".{target.name}.tmp")
