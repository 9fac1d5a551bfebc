"""Putting a backup back: an empty folder becomes the lake, or a lake gives way to what it was.

All is copied beside the lake's tables first, with its checksums; only then do tables change places
(`restored_tables`). A file in the lake says meanwhile that it is not whole, and nothing else uses
it. Who was cut off runs again and goes on.
"""

import json
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ValidationError

from lake_assets.backup.consistent_cut import JOURNAL
from lake_assets.backup.create import STATE
from lake_assets.backup.log_archive import put_log
from lake_assets.backup.made_here import is_made_here
from lake_assets.backup.manifest import CopiedFile, Manifest, TablePart, digest_of
from lake_assets.backup.place import BackupPlace
from lake_assets.backup.progress import Progress
from lake_assets.backup.replaceable import ensure_one_disk, ensure_replaceable
from lake_assets.backup.restored_tables import RestoredTables, restored_tables
from lake_assets.backup.transfer import THREADS, copy_file, is_copied
from lake_assets.backup.verify import verify
from lake_assets.delta.table_log import TableLog
from lake_assets.errors import LakeError
from lake_assets.feeds.load import load_feeds
from lake_assets.gold.view_turns import turn_of_views
from lake_assets.model.lake_uri import LakeUri
from lake_assets.runtime.atomic_write import replace_bytes
from lake_assets.settings.schema import Settings
from lake_assets.silver.lost_rows import note_lost_in
from lake_assets.spark.lake_context import writable
from lake_assets.state.backup_hold import backup_turn
from lake_assets.state.files import ensure_writable, maintenance_turn, streams_lock, turn
from lake_assets.state.kept_rules import OF_TABLES
from lake_assets.state.lake_id import RESTORING, ensure_bound, lake_id, take_identity
from lake_assets.state.lake_record import lake_record
from lake_assets.storage.open_store import lake_of
from lake_assets.storage.store import Store
from lake_assets.streams.noted_changes import REDO_TURN

_FORGOTTEN = (*OF_TABLES, *STATE)
"""What the state has of the tables that give way, or gets from the backup."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Restored:
    """What became of it."""

    manifest: Manifest
    lake_id: str
    is_other: bool
    """Whether it is another lake now than the one that was backed up, which lives on."""

    is_backed_up_here: bool
    """Whether the place's newest backup is of this copy, so that its next goes there as well."""


class _Mark(BaseModel, frozen=True):
    """What the file in the lake says."""

    place: str
    number: int
    is_copied: bool = False
    """Whether all has been copied, so that tables change places."""

    is_placed: bool = False
    """Whether they have."""


def restore(
    settings: Settings, place: BackupPlace, progress: Progress, *, number: int | None, force: bool
) -> Restored:
    """Make the lake of `settings` what it was when a backup was made.

    Args:
        settings: where the lake is to be; nothing may stream into it.
        place: where the backup is.
        progress: is told.
        number: which of its backups; the newest by default.
        force: whether tables that are there with rows may give way.

    Raises:
        ForeignStateError: the state folder is another lake's.
        StreamsLockedError: streams run.
        LakeError: the backup is not whole, the lake has rows and may not be replaced, or something
            cannot be read or written.
    """
    place.ensure_apart_from(settings.lake_root)
    manifest, lake = place.manifest(number), lake_of(settings)
    missing = verify(place, manifest, read=False)
    if missing:
        fact = f"backup {manifest.number} is not whole: {missing[0]}"
        more = f", and {len(missing) - 1} files more" if missing[1:] else ""
        raise LakeError(str(place), f"{fact}{more}", "Name another (`--backup NUMBER`)")
    if lake.root.is_local:
        ensure_writable(settings.lake_dir)
        ensure_one_disk(settings.lake_dir, lake)
    left = _left(restored_tables(lake), lake.root)
    if left is None:
        ensure_replaceable(lake, manifest, force=force)
        if lake_record(settings).read() is not None:
            ensure_bound(settings)
    with _alone(settings) as lake:
        if left is None:
            ensure_replaceable(lake, manifest, force=force)  # somebody may have written meanwhile
        take_identity(settings, manifest.lake)
        _put_back(settings, place, lake, manifest, progress, left)
        return _restored(settings, place, manifest)


def _put_back(
    settings: Settings,
    place: BackupPlace,
    lake: Store,
    manifest: Manifest,
    progress: Progress,
    left: "_Mark | None",
) -> None:
    tables = restored_tables(lake)
    mark = _Mark(place=str(place), number=manifest.number)
    copied = mark.model_copy(update={"is_copied": True})
    placed = copied.model_copy(update={"is_placed": True})
    if left not in {copied, placed}:
        _Copying(tables, place, lake, manifest, progress).run(mark, copied)
    if left != placed:
        tables.change_places({summary.table for summary in manifest.tables})
        lake.flush()
        tables.note(placed.model_dump_json())
    _renew_state(settings.state_dir, place, manifest)
    lake.flush()
    tables.leave()
    lake.flush()


def _restored(settings: Settings, place: BackupPlace, manifest: Manifest) -> Restored:
    id_, newest = lake_id(settings), place.last()
    is_other = id_ != manifest.lake.id
    is_ours = newest is not None and is_made_here(settings.state_dir, newest)
    return Restored(
        manifest=manifest,
        lake_id=id_,
        is_other=is_other,
        is_backed_up_here=is_ours and not is_other,
    )


def _left(tables: RestoredTables, lake: LakeUri) -> _Mark | None:
    """What a restore that was cut off noted."""
    noted = tables.mark()
    if noted is None:
        return None
    try:
        return _Mark.model_validate_json(noted)
    except ValidationError as problem:
        fact = f"is damaged ({json.dumps(str(problem).splitlines()[0])})"
        step = "Delete it and the lake's tables, then restore again"
        raise LakeError(f"{lake}/{RESTORING}", fact, step) from problem


@contextmanager
def _alone(settings: Settings) -> Iterator[Store]:
    """Keep all away that change the lake; those who wait are refused by the lake's mark.

    Yields the store to write it through.
    """
    state, lake = settings.state_dir, lake_of(settings)
    with ExitStack() as held:
        held.enter_context(streams_lock(state))
        held.enter_context(backup_turn(state))
        held.enter_context(turn(state, REDO_TURN))
        for feed in load_feeds(settings.feeds):
            held.enter_context(turn(state, maintenance_turn(feed.feed)))
            held.enter_context(turn_of_views(state, feed, feed.gold))
        if not lake.root.is_local:
            lake = held.enter_context(writable(settings))  # from here alone, whatever the machine
        yield lake


class _Copying:
    """Everything brought beside the lake's tables."""

    def __init__(
        self,
        tables: RestoredTables,
        place: BackupPlace,
        lake: Store,
        manifest: Manifest,
        progress: Progress,
    ) -> None:
        self._tables, self._place, self._lake = tables, place, lake
        self._manifest, self._progress = manifest, progress

    def run(self, mark: _Mark, copied: _Mark) -> None:
        self._tables.note(mark.model_dump_json())
        self._tables.drop_others({summary.table for summary in self._manifest.tables})
        self._progress.of_tables = len(self._manifest.tables)
        with ThreadPoolExecutor(THREADS) as pool:
            for part in self._place.parts(self._manifest):
                self._table(pool, part)
                self._progress.add(tables=1)
        self._lake.flush()
        self._tables.note(copied.model_dump_json())

    def _table(self, pool: ThreadPoolExecutor, part: TablePart) -> None:
        folder = self._tables.beside / part.table
        log = TableLog(self._lake, folder)
        list(pool.map(lambda file: self._file(log, part.table, file), part.files))
        archive = self._place.log_file(self._manifest.folder, part.table)
        archived = self._place.store.get(archive)
        if digest_of(archived) != part.log.digest:
            raise _altered(archive)
        put_log(self._lake, folder, archived)
        # Each may be there of another backup, whose restore was cut off.
        self._lake.delete(folder / JOURNAL)
        if part.journal is not None:
            with self._lake.open_for_writing(folder / JOURNAL) as stream:
                stream.write(part.journal.encode())
        note_lost_in(self._lake, folder, part.lost)

    def _file(self, log: TableLog, table: str, file: CopiedFile) -> None:
        to, source = log.data_file(file.path), self._place.data_file(table, file.path)
        if is_copied(self._lake, to, file):
            self._progress.add(kept=1)
            return
        try:
            got = copy_file(
                self._place.store, source, self._lake, to, lambda n: self._progress.add(size=n)
            )
        except FileNotFoundError as problem:
            raise _altered(source) from problem
        if got != (file.size, file.digest):
            self._lake.delete(to)
            raise _altered(source)
        self._progress.add(copied=1)


def _altered(file: LakeUri) -> LakeError:
    fact = "is gone, or not what was copied"
    return LakeError(str(file), fact, "Name another backup (`--backup NUMBER`)")


def _renew_state(state_dir: Path, place: BackupPlace, manifest: Manifest) -> None:
    """Forget what is noted of other tables, and put what the backup has of the state there."""
    for name in _FORGOTTEN:
        path = state_dir / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    for file in manifest.state:
        content = place.store.get(place.state_file(manifest.folder, file.path))
        if digest_of(content) != file.digest:
            raise _altered(place.state_file(manifest.folder, file.path))
        replace_bytes(state_dir / file.path, content)
