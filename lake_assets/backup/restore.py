"""Putting a backup back: an empty folder becomes the lake, or a lake gives way to what it was.

All is copied beside the lake's tables first, with its checksums; only then do tables change places,
each by a rename. A file in the lake says meanwhile that it is not whole, and nothing else uses it.
Who was cut off runs again and goes on.
"""

import json
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ValidationError

from lake_assets.backup.consistent_cut import JOURNAL
from lake_assets.backup.create import STATE
from lake_assets.backup.lake_tables import tables_in
from lake_assets.backup.log_archive import put_log
from lake_assets.backup.made_here import is_made_here
from lake_assets.backup.manifest import CopiedFile, Manifest, TablePart, digest_of
from lake_assets.backup.place import BackupPlace
from lake_assets.backup.progress import Progress
from lake_assets.backup.replaceable import ensure_one_disk, ensure_replaceable
from lake_assets.backup.transfer import THREADS, copy_file, is_copied
from lake_assets.backup.verify import verify
from lake_assets.delta.table_log import TableLog
from lake_assets.errors import LakeError
from lake_assets.feeds.load import load_feeds
from lake_assets.gold.view_turns import turn_of_views
from lake_assets.model.lake_uri import LakeUri
from lake_assets.model.tables import Layer
from lake_assets.runtime.atomic_write import replace_bytes, replace_text
from lake_assets.settings.schema import Settings
from lake_assets.silver.lost_rows import note_lost_in
from lake_assets.state.backup_hold import backup_turn
from lake_assets.state.files import ensure_writable, maintenance_turn, streams_lock, turn
from lake_assets.state.lake_id import RESTORING, ensure_bound, lake_id, take_identity
from lake_assets.storage.open_store import lake_of
from lake_assets.storage.store import Store
from lake_assets.streams.noted_changes import REDO_TURN

_NEW, _OLD = "_restore", "_replaced"
"""Folders in the lake: of tables that are to come, and of those that gave way."""

_FORGOTTEN = (
    "journals",
    "batches",
    "refreshing",
    "unused_files",
    "checkpoints",
    "checked_logs.json",
    *STATE,
)
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


class _Mark(BaseModel):
    """What the file in the lake says."""

    place: str
    number: int
    is_copied: bool = False
    """Whether all has been copied, so that tables change places."""


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
    place.ensure_apart_from(settings.lake_dir)
    manifest, lake = place.manifest(number), lake_of(settings)
    missing = verify(place, manifest, read=False)
    if missing:
        fact = f"backup {manifest.number} is not whole: {missing[0]}"
        more = f", and {len(missing) - 1} files more" if missing[1:] else ""
        raise LakeError(str(place), f"{fact}{more}", "Name another (`--backup NUMBER`)")
    ensure_writable(settings.lake_dir)
    ensure_one_disk(settings.lake_dir, lake)
    left = _left(settings.lake_dir)
    if left is None:
        ensure_replaceable(lake, manifest, force=force)
        if (settings.lake_dir / "_lake.json").exists():
            ensure_bound(settings)
    with _alone(settings):
        if left is None:
            ensure_replaceable(lake, manifest, force=force)  # somebody may have written meanwhile
        take_identity(settings, manifest.lake)
        mark = _Mark(place=str(place), number=manifest.number)
        if left != mark.model_copy(update={"is_copied": True}):
            _Copying(settings, place, lake, manifest, progress).run(mark)
        _change_places(settings.lake_dir, lake, manifest)
        _renew_state(settings.state_dir, place, manifest)
        lake.flush()
        for folder in (_OLD, _NEW):
            shutil.rmtree(settings.lake_dir / folder, ignore_errors=True)
        (settings.lake_dir / RESTORING).unlink()
        lake.flush()
        return _restored(settings, place, manifest)


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


def _left(lake_dir: Path) -> _Mark | None:
    """What a restore that was cut off noted."""
    file = lake_dir / RESTORING
    try:
        return _Mark.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError as problem:
        fact = f"is damaged ({json.dumps(str(problem).splitlines()[0])})"
        step = "Delete it and the lake's tables, then restore again"
        raise LakeError(str(file), fact, step) from problem


@contextmanager
def _alone(settings: Settings) -> Iterator[None]:
    """Keep all away that change the lake; those who wait are refused by the lake's mark."""
    state = settings.state_dir
    with ExitStack() as held:
        held.enter_context(streams_lock(state))
        held.enter_context(backup_turn(state))
        held.enter_context(turn(state, REDO_TURN))
        for feed in load_feeds(settings.feeds):
            held.enter_context(turn(state, maintenance_turn(feed.feed)))
            held.enter_context(turn_of_views(state, feed, feed.gold))
        yield


class _Copying:
    """Everything brought beside the lake's tables."""

    def __init__(
        self,
        settings: Settings,
        place: BackupPlace,
        lake: Store,
        manifest: Manifest,
        progress: Progress,
    ) -> None:
        self._settings, self._place, self._lake = settings, place, lake
        self._manifest, self._progress = manifest, progress
        self._beside = lake.root / _NEW

    def run(self, mark: _Mark) -> None:
        file = self._settings.lake_dir / RESTORING
        replace_text(file, mark.model_dump_json())
        _drop_others(self._settings.lake_dir / _NEW, self._manifest)
        self._progress.of_tables = len(self._manifest.tables)
        with ThreadPoolExecutor(THREADS) as pool:
            for part in self._place.parts(self._manifest):
                self._table(pool, part)
                self._progress.add(tables=1)
        self._lake.flush()
        replace_text(file, mark.model_copy(update={"is_copied": True}).model_dump_json())

    def _table(self, pool: ThreadPoolExecutor, part: TablePart) -> None:
        folder = self._beside / part.table
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


def _drop_others(beside: Path, manifest: Manifest) -> None:
    """Delete what a restore of another backup left there."""
    ours = {summary.table for summary in manifest.tables}
    for layer in Layer:
        for table in (beside / layer.value).glob("*"):
            if f"{layer}/{table.name}" not in ours:
                shutil.rmtree(table)


def _altered(file: LakeUri) -> LakeError:
    fact = "is gone, or not what was copied"
    return LakeError(str(file), fact, "Name another backup (`--backup NUMBER`)")


def _change_places(lake_dir: Path, lake: Store, manifest: Manifest) -> None:
    """Have the lake's tables give way to those beside them; again after it was cut off, too."""
    ours = {summary.table for summary in manifest.tables}
    for table in tables_in(lake):
        if table.relative not in ours:
            move(lake_dir / table.relative, lake_dir / _OLD / table.relative)
    for name in sorted(ours):
        beside = lake_dir / _NEW / name
        if not beside.exists():
            continue  # it has its place already
        if os.path.lexists(lake_dir / name):
            move(lake_dir / name, lake_dir / _OLD / name)
        move(beside, lake_dir / name)


def move(source: Path, target: Path) -> None:
    """Have a folder take another name; what has that name is deleted."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    source.rename(target)


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
