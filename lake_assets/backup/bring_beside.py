"""Bringing all of a backup beside a lake's tables, with its checksums."""

from concurrent.futures import ThreadPoolExecutor

from lake_assets.backup.consistent_cut import JOURNAL
from lake_assets.backup.log_archive import put_log
from lake_assets.backup.manifest import CopiedFile, Manifest, TablePart, digest_of
from lake_assets.backup.place import BackupPlace
from lake_assets.backup.progress import Progress
from lake_assets.backup.restored_tables import RestoredTables
from lake_assets.backup.transfer import THREADS, copy_file, is_copied
from lake_assets.delta.table_log import TableLog
from lake_assets.errors import LakeError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.silver.lost_rows import note_lost_in
from lake_assets.storage.store import Store


class BringBeside:
    """Copies a backup's tables; a file that is there already, as a backup has it, stays."""

    def __init__(
        self,
        tables: RestoredTables,
        place: BackupPlace,
        lake: Store,
        manifest: Manifest,
        progress: Progress,
    ) -> None:
        """Copy nothing yet."""
        self._tables, self._place, self._lake = tables, place, lake
        self._manifest, self._progress = manifest, progress

    def run(self) -> None:
        """Copy them.

        Raises:
            LakeError: a file is not what was copied, or a store cannot be read or written.
        """
        self._tables.drop_others({summary.table for summary in self._manifest.tables})
        self._progress.of_tables = len(self._manifest.tables)
        with ThreadPoolExecutor(THREADS) as pool:
            for part in self._place.parts(self._manifest):
                self._table(pool, part)
                self._progress.add(tables=1)
        self._lake.flush()

    def _table(self, pool: ThreadPoolExecutor, part: TablePart) -> None:
        folder = self._tables.beside / part.table
        log = TableLog(self._lake, folder)
        list(pool.map(lambda file: self._file(log, part.table, file), part.files))
        archive = self._place.log_file(self._manifest.folder, part.table)
        archived = self._place.store.get(archive)
        if digest_of(archived) != part.log.digest:
            raise altered(archive)
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
            raise altered(source) from problem
        if got != (file.size, file.digest):
            self._lake.delete(to)
            raise altered(source)
        self._progress.add(copied=1)


def altered(file: LakeUri) -> LakeError:
    """The error of a file of a backup that is not what its manifest tells of."""
    fact = "is gone, or not what was copied"
    return LakeError(str(file), fact, "Name another backup (`--backup NUMBER`)")
