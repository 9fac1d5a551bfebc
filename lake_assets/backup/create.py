"""Making a backup: versions that fit together are chosen, and what they need is copied.

The lake goes on meanwhile, and is only read. What an earlier backup of the place has is not copied
again. A backup counts when its manifest is there, which is written when all else is durable.
"""

import io
import logging
import tarfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from lake_assets.backup.consistent_cut import Cut, choose_versions, files_in
from lake_assets.backup.copied_state import copy_state
from lake_assets.backup.kept_erasures import copy_files, keep_in, read_files
from lake_assets.backup.lake_tables import other_tables_in, tables_in
from lake_assets.backup.log_archive import write_log
from lake_assets.backup.made_here import ensure_made_here
from lake_assets.backup.manifest import (
    CopiedFile,
    Manifest,
    TablePart,
    TableSummary,
    digest_of,
    folder_name,
)
from lake_assets.backup.place import BackupPlace
from lake_assets.backup.place_turn import PlaceTurn, place_turn
from lake_assets.backup.progress import Progress
from lake_assets.backup.prune import prune
from lake_assets.backup.transfer import THREADS, copy_file, digest_of_file
from lake_assets.backup.unread_files import files_gained, read_until
from lake_assets.delta.data_files import active_files
from lake_assets.delta.log_history import rows_of
from lake_assets.delta.table_features import features_of
from lake_assets.delta.table_log import TableLog, log_of
from lake_assets.errors import DamagedBackupError, LakeError, first_line
from lake_assets.model.lake_uri import LakeUri, is_address
from lake_assets.model.tables import TableRef
from lake_assets.runtime.processes import boot_id
from lake_assets.settings.schema import Settings
from lake_assets.state.backup_hold import Hold, backup_turn
from lake_assets.state.backup_notes import note_made
from lake_assets.state.backup_runs import note_run
from lake_assets.state.keep import keep_now, take_now
from lake_assets.state.lake_id import ensure_bound, lake_id, recorded
from lake_assets.storage.open_store import lake_of

_LOG = logging.getLogger(__name__)

_TRIES = 3
"""Choices of versions: files may go that a choice needs, if another engine runs VACUUM."""


def back_up(
    settings: Settings,
    place: BackupPlace,
    progress: Progress,
    *,
    keep: int | None = None,
    take_over: bool = False,
) -> Manifest:
    """Copy a lake into a place, while it is used.

    Args:
        settings: where the lake is.
        place: where the copy goes.
        progress: is told.
        keep: how many backups the place has afterwards at most; all by default.
        take_over: whether the place may have backups of another copy of the lake; it is this one's
            then.

    Raises:
        ForeignStateError: the state folder is not this lake's.
        LakeError: the lake cannot be read, a table's files are elsewhere or gone, the place cannot
            be written or is another lake's or copy's, or another backup is under way.
    """
    place.ensure_apart_from(settings.lake_root)
    if not tables_in(lake_of(settings)):
        step = "Run the streams first, or name its folder"
        raise LakeError(str(settings.lake_root), "has no tables", step)
    ensure_bound(settings)
    with backup_turn(settings.state_dir) as hold:
        place.ensure_of(lake_id(settings))
        take_now(settings)
        if not take_over:
            ensure_made_here(place, settings.state_dir)  # before what it has under way is deleted
        with place_turn(place, boot_id()) as turn:
            if not take_over:
                ensure_made_here(place, settings.state_dir)  # one may have ended meanwhile
            keep_in(place, settings)  # before a backup counts that may be older than some
            manifest = _copied(settings, turn, hold, progress)
            note_made(settings.state_dir, str(place), manifest.number, manifest.made_at_s)
            if keep is not None:
                turn.ensure_alone()
                prune(place, keep)
    keep_now(settings)
    return manifest


def _copied(settings: Settings, turn: PlaceTurn, hold: Hold, progress: Progress) -> Manifest:
    lake = lake_of(settings)
    for tries_left in reversed(range(_TRIES)):
        made_at = datetime.now(UTC).isoformat(timespec="seconds")
        erasures = read_files(lake)  # before: what is erased by then is in no version
        cut = choose_versions(lake)
        read = read_until(lake, cut.versions)
        hold({table.relative: read.get(table, at) for table, at in cut.versions.items()})
        try:
            return _Run(settings, turn, cut, read, progress).copy(made_at, erasures)
        except FileNotFoundError as problem:
            turn = replace(turn, can_resume=True)  # what was copied just now
            if not tries_left:
                raise LakeError(
                    str(problem.filename or problem),
                    "is missing, and a table's log names it",
                    "Put it back, or derive the table again (`lake-assets rebuild`)",
                ) from problem
    raise AssertionError


class _Run:
    """One copy of one choice of versions."""

    def __init__(
        self,
        settings: Settings,
        turn: PlaceTurn,
        cut: Cut,
        read: Mapping[TableRef, int],
        progress: Progress,
    ) -> None:
        place = turn.place
        self._settings, self._turn, self._place = settings, turn, place
        self._lake, self._cut, self._read, self._progress = lake_of(settings), cut, read, progress
        self._last = place.last()
        self._number = max(place.numbers(), default=0) + 1
        self._folder = folder_name(self._number, turn.run)
        self._further = self._files_of_journals()

    def copy(self, made_at: str, erasures: Mapping[str, bytes]) -> Manifest:
        """Copy all; raises as `back_up`, and FileNotFoundError for a file that is gone."""
        self._progress.of_tables, self._progress.tables = len(self._cut.versions), 0
        target = self._place.store
        target.delete_folder(self._place.folder_of(self._folder))
        with ThreadPoolExecutor(THREADS) as pool:
            tables = []
            for table, version in self._cut.versions.items():
                tables.append(self._table(pool, table, version))
                self._progress.add(tables=1)
            state = copy_state(self._settings.state_dir, self._place, self._folder)
            erased = copy_files(self._place, self._folder, erasures)
        target.flush()
        manifest = Manifest(
            number=self._number,
            run=self._turn.run,
            made_at=made_at,
            lake=recorded(self._settings),
            tables=tuple(tables),
            state=state,
            notes=(*self._cut.notes, *map(_left_out, other_tables_in(self._lake))),
            erasures=erased,
        )
        note_run(self._settings.state_dir, self._turn.run)
        keep_now(self._settings)
        self._turn.end(manifest)
        return manifest

    def _table(self, pool: ThreadPoolExecutor, table: TableRef, version: int) -> TableSummary:
        log = log_of(self._lake, table)
        try:
            handle = log.open(version)
        except DeltaError as problem:
            fact = f"its version {version} cannot be read any more ({first_line(problem)})"
            raise FileNotFoundError(2, fact, str(log.folder)) from problem
        known = self._known(table)
        unread = files_gained(log, self._read.get(table, version), version)
        wanted = _files(log, handle) | unread | self._further.get(table.relative, {})
        files = pool.map(lambda one: self._file(log, table, one, known.get(one[0])), wanted.items())
        part = TablePart(
            table=table.relative,
            version=version,
            log=self._log(log, table, version),
            files=tuple(files),
            journal=self._cut.journals.get(table),
            lost=self._cut.losses.get(table),
        )
        content = part.as_json()
        target = self._place.part_file(self._folder, table.relative)
        with self._place.store.open_for_writing(target) as stream:
            stream.write(content)
        return TableSummary(
            table=table.relative,
            version=version,
            rows=rows_of(handle),
            files=len(part.files),
            size_bytes=sum(file.size for file in part.files),
            digest=digest_of(content),
        )

    def _known(self, table: TableRef) -> Mapping[str, CopiedFile]:
        """By path, what the backup before has of the table."""
        last = self._last
        if last is None or all(one.table != table.relative for one in last.tables):
            return {}
        try:
            return {file.path: file for file in self._place.part(last, table.relative).files}
        except DamagedBackupError as problem:
            _LOG.warning("%s; all of the table is copied again", problem)
            return {}

    def _file(
        self, log: TableLog, table: TableRef, one: tuple[str, int | None], known: CopiedFile | None
    ) -> CopiedFile:
        path, size = one
        to, target = self._place.data_file(table.relative, path), self._place.store
        there = target.stat(to)
        if known is not None and there is not None and there.size == known.size == size:
            self._progress.add(kept=1)
            return known
        if known is None and self._turn.can_resume and there is not None and there.size == size:
            self._progress.add(kept=1)
            return CopiedFile(path, there.size, digest_of_file(target, to))
        got, digest = copy_file(
            self._lake, log.data_file(path), target, to, lambda n: self._progress.add(size=n)
        )
        if size is not None and got != size:
            fact = f"has {got} bytes, and its table's log says {size}: it is torn"
            step = "Put it back, or derive the table again (`lake-assets rebuild`)"
            raise LakeError(str(log.data_file(path)), fact, step)
        self._progress.add(copied=1)
        return CopiedFile(path, got, digest)

    def _log(self, log: TableLog, table: TableRef, version: int) -> CopiedFile:
        content = io.BytesIO()
        with tarfile.open(fileobj=content, mode="w:gz", compresslevel=1) as archive:
            write_log(log, version, archive)
        archived = content.getvalue()
        file = self._place.log_file(self._folder, table.relative)
        with self._place.store.open_for_writing(file) as stream:
            stream.write(archived)
        return CopiedFile(file.name, len(archived), digest_of(archived))

    def _files_of_journals(self) -> dict[str, dict[str, int | None]]:
        """By table, what journals name and no commit does yet, as far as it is there."""
        found: dict[str, dict[str, int | None]] = {}
        for journal in self._cut.journals.values():
            for table, paths in files_in(journal).items():
                log = TableLog(self._lake, self._lake.root / table)
                stats = ((path, self._lake.stat(log.data_file(path))) for path in paths)
                sizes = {path: stat.size for path, stat in stats if stat is not None}
                found.setdefault(table, {}).update(sizes)
        return found


def _left_out(table: str) -> str:
    named = "tables of a lake are called by letters, digits, _ and - alone"
    return f"{table} is not in the backup: {named}; copy it yourself, or give it another name"


def _files(log: TableLog, handle: DeltaTable) -> dict[str, int | None]:
    """By path, the size of each file that a table's version needs.

    Raises:
        LakeError: some lie elsewhere.
    """
    files: dict[str, int | None] = {file.path: file.size for file in active_files(handle)}
    away = next((path for path in files if is_address(path)), None)
    if away is not None:
        fact = f"has files that lie elsewhere ({away}), as a shallow clone's do"
        raise LakeError(str(log.folder), fact, "Make a whole copy of the table, or drop it")
    if features_of(handle).may_have_deletion_vectors:
        # All there are: a vector's file may be of any version, and never changes.
        files |= dict.fromkeys(_vectors(log, log.folder, ""), None)
    return files


def _vectors(log: TableLog, folder: LakeUri, below: str) -> Iterator[str]:
    for name in log.store.list_from(folder):
        if name.startswith("deletion_vector") and name.endswith(".bin"):
            yield f"{below}{name}"
    for name in log.store.folders(folder):
        if not name.startswith(("_", ".")):
            yield from _vectors(log, folder / name, f"{below}{name}/")
