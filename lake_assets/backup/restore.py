"""Putting a backup back: an empty folder becomes the lake, or a lake gives way to what it was.

All is copied beside the lake's tables first, with its checksums; only then do tables change places
(`restored_tables`). A file in the lake says meanwhile that it is not whole, and nothing else uses
it. Who was cut off runs again and goes on.
"""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from lake_assets.backup.bring_beside import BringBeside, altered
from lake_assets.backup.copied_state import STATE
from lake_assets.backup.kept_erasures import ended_in, ledger_at, ledgers_of
from lake_assets.backup.made_here import is_made_here
from lake_assets.backup.manifest import Manifest, digest_of
from lake_assets.backup.obey import Obey, Obeyed
from lake_assets.backup.place import BackupPlace
from lake_assets.backup.progress import Progress
from lake_assets.backup.replaceable import ensure_one_disk, ensure_replaceable
from lake_assets.backup.restore_mark import RestoreMark, left_mark
from lake_assets.backup.restored_tables import RestoredTables, restored_tables
from lake_assets.backup.verify import verify
from lake_assets.errors import LakeError
from lake_assets.feeds.load import load_feeds
from lake_assets.gold.view_turns import turn_of_views
from lake_assets.model.erasures import Erasures
from lake_assets.runtime.atomic_write import replace_bytes
from lake_assets.settings.schema import Settings
from lake_assets.spark.lake_context import writable
from lake_assets.state.backup_hold import backup_turn
from lake_assets.state.erasure_ledger import ERASING
from lake_assets.state.files import (
    ensure_writable,
    maintenance_turn,
    streams_lock,
    turn,
    turn_if_free,
)
from lake_assets.state.kept_rules import OF_TABLES
from lake_assets.state.lake_id import ensure_bound, lake_id, take_identity
from lake_assets.state.lake_record import lake_record
from lake_assets.state.united_erasures import unite, united
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

    obeyed: Obeyed
    """What was taken out since it is erased."""


def restore(
    settings: Settings,
    place: BackupPlace,
    progress: Progress,
    *,
    number: int | None,
    force: bool,
    obey: Obey,
) -> Restored:
    """Make the lake of `settings` what it was when a backup was made.

    Args:
        settings: where the lake is to be; nothing may stream into it.
        place: where the backup is.
        progress: is told.
        number: which of its backups; the newest by default.
        force: whether tables that are there with rows may give way.
        obey: takes out what is erased.

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
    left = left_mark(restored_tables(lake), lake.root)
    if left is None:
        ensure_replaceable(lake, manifest, force=force)
        if lake_record(settings).read() is not None:
            ensure_bound(settings)
    with _alone(settings) as lake:
        if left is None:
            ensure_replaceable(lake, manifest, force=force)  # somebody may have written meanwhile
        take_identity(settings, manifest.lake)
        erasures = united(ledger_at(lake, settings), ledgers_of(place, manifest, settings))
        given = _Given(settings, place, lake, manifest, erasures)
        return _restored(settings, place, manifest, _put_back(given, progress, left, obey))


@dataclass(frozen=True, slots=True)
class _Given:
    """What is put where."""

    settings: Settings
    place: BackupPlace
    lake: Store
    manifest: Manifest
    erasures: Erasures


def _put_back(given: _Given, progress: Progress, left: RestoreMark | None, obey: Obey) -> Obeyed:
    tables, lake, manifest = restored_tables(given.lake), given.lake, given.manifest
    ids = tuple(sorted(erasure.id for erasure in given.erasures.every))
    mark = RestoreMark(place=str(given.place), number=manifest.number, erasures=ids)
    if left is None or not left.is_copied or not left.is_as(mark):
        tables.note(mark.model_dump_json())
        BringBeside(tables, given.place, lake, manifest, progress).run()
        left = mark.model_copy(update={"is_copied": True, "obeyed": _obeyed(given, tables, obey)})
        lake.flush()
        tables.note(left.model_dump_json())
    if not left.is_placed:
        ours = {summary.table for summary in manifest.tables}
        tables.change_places(ours - {*left.obeyed.dropped})
        lake.flush()
        tables.note(left.model_copy(update={"is_placed": True}).model_dump_json())
    _renew_state(given.settings.state_dir, given.place, manifest)
    lake.flush()
    tables.leave()
    lake.flush()
    return left.obeyed


def _obeyed(given: _Given, tables: RestoredTables, obey: Obey) -> Obeyed:
    if not given.erasures:
        return Obeyed()
    kept = ledgers_of(given.place, given.manifest, given.settings)
    ledger = ledger_at(given.lake, given.settings)
    unite(ledger, kept)
    return obey(tables.as_lake(), ledger, ended_in(kept[0]))


def _restored(
    settings: Settings, place: BackupPlace, manifest: Manifest, obeyed: Obeyed
) -> Restored:
    id_, newest = lake_id(settings), place.last()
    is_other = id_ != manifest.lake.id
    is_ours = newest is not None and is_made_here(settings.state_dir, newest)
    return Restored(
        manifest=manifest,
        lake_id=id_,
        is_other=is_other,
        is_backed_up_here=is_ours and not is_other,
        obeyed=obeyed,
    )


@contextmanager
def _alone(settings: Settings) -> Iterator[Store]:
    """Keep all away that change the lake; those who wait are refused by the lake's mark.

    Yields the store to write it through.
    """
    state, lake = settings.state_dir, lake_of(settings)
    with ExitStack() as held:
        if not held.enter_context(turn_if_free(state, ERASING)):
            fact = "rows of it are being erased"
            raise LakeError(str(lake.root), fact, "Wait until that is done")
        held.enter_context(streams_lock(state))
        held.enter_context(backup_turn(state))
        held.enter_context(turn(state, REDO_TURN))
        for feed in load_feeds(settings.feeds):
            held.enter_context(turn(state, maintenance_turn(feed.feed)))
            held.enter_context(turn_of_views(state, feed, feed.gold))
        if not lake.root.is_local:
            lake = held.enter_context(writable(settings))  # from here alone, whatever the machine
        yield lake


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
            raise altered(place.state_file(manifest.folder, file.path))
        replace_bytes(state_dir / file.path, content)
