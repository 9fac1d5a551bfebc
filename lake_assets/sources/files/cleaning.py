"""Files leave their folder once bronze has all of their rows: into the archive, or for good.

What was done is found by looking: a file that is gone was taken care of. A file that changed since
it was found stays where it is.
"""

import errno
import logging
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from lake_assets.delta.log_history import open_table
from lake_assets.delta.recorded_sources import sources_read
from lake_assets.delta.restores import held_offsets
from lake_assets.delta.table_log import log_of
from lake_assets.errors import SourceError
from lake_assets.model.feeds import Feed
from lake_assets.model.files_source import LISTING, FilesSource
from lake_assets.model.tables import bronze_of
from lake_assets.sources.files.index import Entry
from lake_assets.sources.files.listing import look
from lake_assets.sources.files.reading import archived
from lake_assets.storage.store import Store

_LOG = logging.getLogger(__name__)


def bronze_reached(lake: Store, feed: Feed) -> int:
    """The offset before which bronze has all rows, by its own commits.

    Raises:
        LakeError: bronze cannot be read.
    """
    bronze = open_table(lake, bronze_of(feed.feed))
    if bronze is None:
        return 0
    log = log_of(lake, bronze_of(feed.feed))
    held = held_offsets(log, bronze, sources_read(log, bronze, feed.source))
    return dict(held).get((LISTING, 0), 0)


def clean(source: FilesSource, entries: Iterable[Entry], *, has_cleaned: bool = False) -> int:
    """Archive or delete files that bronze has, in their order.

    Args:
        source: whose files.
        entries: those files.
        has_cleaned: whether some left before. The archive is made for the first ones alone: when
            it is gone later, its disk is away, and what was put there would be on another one.

    Returns:
        The offset before which all of them are taken care of; 0 if the first could not be. What
        could not be is told in the log, and tried again with the next batch.
    """
    reached = 0
    for entry in entries:
        path = Path(source.path, entry.file.name)
        try:
            if look(path, entry.file.name) == entry.file:
                _leave(source, entry, path, makes_archive=not has_cleaned)
        except (OSError, SourceError) as problem:
            _LOG.warning("file %s cannot leave its folder: %s", path, problem)
            return reached
        reached = entry.end
    return reached


def _leave(source: FilesSource, entry: Entry, path: Path, *, makes_archive: bool) -> None:
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
