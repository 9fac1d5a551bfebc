"""The end of a table's history: no older version can be read, and nothing tells values of one.

For a table that somebody's rows were erased from. Files that its newest version does not have are
deleted, whatever is to be kept else, and the log is written again without their statistics
(`delta.shortened_log`). Commits stay, and stay what they are for those who follow the table:
positions, transactions and digests. May run beside anything, and again after it was cut off.

What is not certain to be nobody's is left, and told: whoever called comes again.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias

from deltalake import DeltaTable

from lake_assets.delta.data_files import active_files
from lake_assets.delta.deletion_vectors import has_deleted_rows
from lake_assets.delta.log_tail import actions_of, path_of
from lake_assets.delta.shortened_log import SIDECARS, ShortenedLog, shorten_log
from lake_assets.delta.table_log import TableLog
from lake_assets.delta.unused_files import files_below
from lake_assets.errors import LakeError
from lake_assets.model.lake_uri import LakeUri, is_address
from lake_assets.storage.store import FileStat

_CHANGES = "_change_data"
"""Folder of a table with rows before and after changes, for those who read these."""

_LOG = "_delta_log"

_VECTOR = re.compile(r"deletion_vector_.*\.bin")


@dataclass(frozen=True, kw_only=True, slots=True)
class OldFile:
    """A file in a table's folder that the newest version does not have."""

    path: str
    """Below the table's folder."""

    size: int
    """Bytes."""

    tag: str
    """As `FileStat.tag`."""

    is_named: bool
    """Whether a commit named it: whoever wrote it was done with it."""


InUse: TypeAlias = Callable[[Sequence[OldFile]], Mapping[str, str]]
"""Of files, by path, why some of them may be those of work that is not done."""


@dataclass(frozen=True, slots=True)
class Left:
    """What may tell of older versions still."""

    path: str
    """Below the table's folder; empty if it is the table itself."""

    why: str
    """In words, with what to do."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryEnd:
    """What was done to a table, and what is left to do."""

    version: int
    """The newest, whose files and statistics stayed as they are."""

    files: int
    """That were deleted."""

    size: int
    """Bytes of them."""

    log_files: int
    """Of the log, written again or deleted."""

    left: tuple[Left, ...] = field(default=())
    """Nothing, once the history has ended."""


def end_history(
    log: TableLog,
    open_newest: Callable[[], DeltaTable],
    in_use: InUse,
    columns: Collection[str] = (),
) -> HistoryEnd:
    """Have nothing tell of rows that a table's newest version does not have.

    What others commit meanwhile stays. The folder is listed before the log is read: a file that is
    committed meanwhile is none that goes.

    Args:
        log: of the table.
        open_newest: the table at its newest version, when it is called.
        in_use: asked about files that are to be deleted.
        columns: whose values are not to be told: the log of a table that is partitioned by one has
            them in names of files, which stay.

    Raises:
        DeltaError: deltalake cannot read the log, or not write a checkpoint.
        LakeError: the store cannot be read or written.
        ValueError: a commit is torn.
        pa.ArrowException: a checkpoint is damaged.
    """
    listed = dict(_listed(log))
    handle = open_newest()
    used = {_place(log, file.path) for file in active_files(handle)}

    def is_gone(path: str) -> bool:
        return _place(log, path) not in used

    hides_rows = has_deleted_rows(handle)
    shortened = shorten_log(log, handle.version(), is_gone, handle.create_checkpoint)
    old = list(_old_files(log, listed, shortened, is_gone, keeps_vectors=hides_rows))
    why = in_use(old)
    used |= _added_after(log, handle.version())
    going = [file for file in old if file.path not in why and is_gone(file.path)]
    _delete(log, going, shortened)
    in_work = (file.path for file in old if file.path in why and is_gone(file.path))
    left = [Left(path, why[path]) for path in in_work]
    left += _left_of_table(log, shortened, columns, hides_rows=hides_rows)
    return HistoryEnd(
        version=handle.version(),
        files=len(going),
        size=sum(file.size for file in going),
        log_files=shortened.written,
        left=tuple(left),
    )


def _place(log: TableLog, path: str) -> LakeUri | str:
    with suppress(LakeError):  # in another store, as a shallow clone's may be
        return log.data_file(path)
    return path


def _added_after(log: TableLog, version: int) -> set[LakeUri | str]:
    """What was committed since: a batch may have come, or an older version been put back."""
    added: set[LakeUri | str] = set()
    with suppress(FileNotFoundError):
        while True:
            version += 1
            told = actions_of(log, version)
            added |= {_place(log, path_of(action)) for kind, action in told if kind == "add"}
    return added


def _listed(log: TableLog) -> Iterator[tuple[str, FileStat]]:
    """What a table's folder has that may be a version's, or that of a commit under way."""
    yield from files_below(log, log.folder)
    yield from files_below(log, log.folder / _CHANGES, f"{_CHANGES}/")
    vectors = filter(_VECTOR.fullmatch, log.store.list_from(log.folder, "deletion_vector_"))
    staged = log.store.staged(log.folder / _LOG)
    sidecars = (f"{SIDECARS}/{name}" for name in log.store.list_from(log.folder / _LOG / SIDECARS))
    for path in (*vectors, *(f"{_LOG}/{name}" for name in (*staged, *sidecars))):
        stat = log.store.stat(log.data_file(path))
        if stat is not None:
            yield path, stat


def _old_files(
    log: TableLog,
    listed: Mapping[str, FileStat],
    shortened: ShortenedLog,
    is_gone: Callable[[str], bool],
    *,
    keeps_vectors: bool,
) -> Iterator[OldFile]:
    named = {_place(log, path) for path in shortened.removed_in}
    in_checkpoints = {f"{_LOG}/{SIDECARS}/{name}" for name in shortened.sidecars}
    for path, stat in listed.items():
        if path in in_checkpoints:
            continue
        # A vector is named by its number alone; it tells which rows are gone, and no values.
        if is_gone(path) and not (keeps_vectors and _VECTOR.fullmatch(path)):
            is_named = log.data_file(path) in named
            yield OldFile(path=path, size=stat.size, tag=stat.tag, is_named=is_named)
    # In folders that are not listed: of a partition whose name begins like those of engines.
    for path in shortened.removed_in:
        if path not in listed and not is_address(path) and path.startswith(("_", ".")):
            found = log.store.stat(log.data_file(path))
            if found is not None:
                yield OldFile(path=path, size=found.size, tag=found.tag, is_named=True)


def _delete(log: TableLog, files: Sequence[OldFile], shortened: ShortenedLog) -> None:
    """Delete files; those that are others by now stay.

    A commit that removed one outlives a power cut before the file is gone, and so do the files that
    it added, which have the rows that stayed; whatever the settings ask. The table would be without
    either else.
    """
    versions = {shortened.removed_in.get(file.path) for file in files}
    for version in sorted(version for version in versions if version is not None):
        with suppress(FileNotFoundError):  # swept away since, by whoever has a checkpoint of it
            for kind, action in actions_of(log, version):
                if kind == "add":
                    _sync_data(log, path_of(action))
            log.store.sync(log.commit_file(version))
    for file in files:
        place = log.data_file(file.path)
        stat = log.store.stat(place)
        if stat is not None and stat.tag == file.tag:
            log.store.delete(place)
        if log.folder.is_local:  # what Hadoop compares it with
            log.store.delete(place.parent / f".{place.name}.crc")


def _sync_data(log: TableLog, path: str) -> None:
    with suppress(FileNotFoundError, LakeError):  # rewritten since; or in another store
        log.store.sync(log.data_file(path))


def _left_of_table(
    log: TableLog, shortened: ShortenedLog, columns: Collection[str], *, hides_rows: bool
) -> Iterator[Left]:
    wanted = {column.lower() for column in columns}
    if hides_rows:
        yield Left(
            "",
            "deletion vectors hide rows that its files still have: run REORG TABLE … APPLY (PURGE) "
            "in Spark, then end its history again",
        )
    told = sorted(name for name in shortened.partitions if name.lower() in wanted)
    if told:
        yield Left(
            _LOG,
            f"names files by values of {', '.join(told)}, by which the table was partitioned: lay "
            "it out otherwise; commits go with the log's retention",
        )
    elsewhere = [path for path in shortened.removed_in if _is_elsewhere(log, path)]
    if elsewhere:
        yield Left(
            elsewhere[0],
            f"and {len(elsewhere) - 1} more files are another table's, which this one was cloned "
            "from: end that one's history",
        )
    for name in shortened.left:
        yield Left(
            f"{_LOG}/{name}",
            "is a checkpoint of version 2 that has what no commit tells any more: it goes with the "
            "log's retention",
        )


def _is_elsewhere(log: TableLog, path: str) -> bool:
    """Whether an old file is there, and not below the table's folder."""
    if not is_address(path):
        return False
    try:
        place = log.data_file(path)
    except LakeError:
        return True  # in another store, where we cannot look
    is_below = place.path.startswith(f"{log.folder.path}/")
    return not is_below and log.store.stat(place) is not None
