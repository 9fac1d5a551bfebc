"""Where backups lie: a folder or a bucket, with any number of backups of one lake.

* `_backup.json`: which lake's, and the format
* `_erasures/`: whose rows are erased, as far as any backup of it knows (`kept_erasures`)
* `_unfinished.json`: there while a backup is being made
* `backups/000007.json`: a whole backup's manifest, written last
* `backups/000007-3f…/silver/x.json`: a table's part; its log beside it, as `x.tar.gz`
* `data/silver/x/part-….parquet`: data files, which never change; backups share them
"""

import json
import logging
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath

from pydantic import ValidationError

from lake_assets.backup.manifest import (
    FORMAT,
    WITHOUT_ERASURES,
    Manifest,
    TablePart,
    digest_of,
)
from lake_assets.delta.table_log import TableLog
from lake_assets.errors import DamagedBackupError, LakeError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.state.erasure_ledger import FOLDER as ERASURES
from lake_assets.storage.store import Store

_LOG = logging.getLogger(__name__)

_MARK = "_backup.json"
UNFINISHED = "_unfinished.json"


@dataclass(frozen=True, slots=True)
class BackupPlace:
    """A place; `store`'s root is its folder."""

    store: Store

    def __str__(self) -> str:
        """For messages."""
        return str(self.store.root)

    def ensure_apart_from(self, lake: LakeUri) -> None:
        """Make sure that neither lies in the other: each deletes what it does not know.

        Raises:
            LakeError: one does.
        """
        root = self.store.root
        if (root.scheme, root.bucket) != (lake.scheme, lake.bucket):
            return
        ours, theirs = _path_of(lake), _path_of(root)
        if ours == theirs or ours in theirs.parents or theirs in ours.parents:
            fact = f"lies in the lake {lake}, or the lake in it"
            raise LakeError(str(self), fact, "Name a folder on another disk, or beside the lake")

    def ensure_of(self, lake: str) -> None:
        """Make sure that backups of a lake may be put here, and make the place if it is empty.

        Raises:
            LakeError: it is another lake's, or has something else.
        """
        root, mark = self.store.root, self.store.root / _MARK
        if (found := self.lake_id()) is None:
            if any(True for _ in self.store.list_from(root)) or self.store.folders(root):
                fact = "has files, and is no place of backups"
                raise LakeError(str(self), fact, "Name a folder that is empty, or not there yet")
            self.store.make_folder(root)
            self.store.put_if_absent(mark, _mark_of(WITHOUT_ERASURES, lake))
            self.store.flush()
            found = self.lake_id()
        if found != lake:
            fact = f"has backups of lake {found}, and this is lake {lake}"
            raise LakeError(str(self), fact, "Name another place")

    def raise_format(self) -> None:
        """Keep releases away that do not obey erasures, of which the place is to have some."""
        lake = self.lake_id()
        if lake is not None:
            with self.store.open_for_writing(self.store.root / _MARK, durable=True) as stream:
                stream.write(_mark_of(FORMAT, lake))

    def lake_id(self) -> str | None:
        """Whose backups it has; None if it is no place of backups.

        Raises:
            LakeError: its format is not known, or it is damaged or cannot be read.
        """
        try:
            noted = json.loads(self.store.get(self.store.root / _MARK))
            if noted["format"] > FORMAT:
                fact = f"has backups of format {noted['format']}, and this release knows {FORMAT}"
                raise LakeError(str(self), fact, "Use a newer release")
            return str(noted["lake"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as problem:
            raise _damaged(self.store.root / _MARK, problem) from problem

    def put(self, manifest: Manifest) -> None:
        """Make a backup count: all that it names must be durable.

        Raises:
            LakeError: the place has a backup of that number, or cannot be written.
        """
        file, content = self.manifest_file(manifest.number), manifest.as_json()
        if self.store.root.is_local:
            with self.store.open_for_writing(file, durable=True) as stream:
                stream.write(content)
        elif not self.store.put_if_absent(file, content):
            fact = f"has a backup {manifest.number} by now, which this one would be"
            raise LakeError(str(self), fact, "Back up again")
        self.store.flush()

    def delete_strays(self) -> None:
        """Delete what backups that were cut off had for themselves; nobody may be making one."""
        numbers, folders = self.numbers(), self.store.folders(self.store.root / "backups")
        of_number = Counter(name.partition("-")[0] for name in folders)
        for name in folders:
            number = name.partition("-")[0]
            try:
                if not number.isdecimal() or int(number) not in numbers:
                    is_stray = True
                else:
                    # Manifests are read only where another one was begun under the same number.
                    is_stray = of_number[number] > 1 and self.manifest(int(number)).folder != name
            except DamagedBackupError:
                continue
            if is_stray:
                self.store.delete_folder(self.folder_of(name))

    def is_unfinished(self) -> bool:
        """Whether one is being made, or was cut off."""
        return self.store.stat(self.store.root / UNFINISHED) is not None

    def numbers(self) -> list[int]:
        """Of the whole backups, the oldest first.

        Raises:
            LakeError: the place is none, or cannot be read.
        """
        if self.lake_id() is None:
            raise LakeError(str(self), "is no place of backups", "Name the folder of a backup")
        names = self.store.list_from(self.store.root / "backups")
        stems = (name.removesuffix(".json") for name in names if name.endswith(".json"))
        return sorted(int(stem) for stem in stems if stem.isdecimal())

    def manifest(self, number: int | None = None) -> Manifest:
        """A whole backup, the newest by default.

        Raises:
            LakeError: there is none, or it is damaged.
        """
        numbers = self.numbers()
        if not numbers:
            is_cut = " (one was begun, and is not whole)" if self.is_unfinished() else ""
            fact, step = f"has no whole backup{is_cut}", "Run `lake-assets backup` to its end"
            raise LakeError(str(self), fact, step)
        number = numbers[-1] if number is None else number
        if number not in numbers:
            fact = f"has no backup {number}"
            raise LakeError(str(self), fact, f"It has {', '.join(map(str, numbers))}")
        try:
            return Manifest.model_validate_json(self.store.get(self.manifest_file(number)))
        except ValidationError as problem:
            raise _damaged(self.manifest_file(number), problem) from problem

    def last(self) -> Manifest | None:
        """The newest whole backup that is not damaged; None if there is none yet."""
        for number in reversed(self.numbers()):
            try:
                return self.manifest(number)
            except DamagedBackupError as problem:
                _LOG.warning("%s", problem)
        return None

    def drop(self, number: int) -> None:
        """Delete a backup; its data files stay, which others may have."""
        self.store.delete(self.manifest_file(number))
        for name in self.store.folders(self.store.root / "backups"):
            if name.partition("-")[0] == f"{number:06}":
                self.store.delete_folder(self.folder_of(name))

    def part(self, manifest: Manifest, table: str) -> TablePart:
        """What a backup has of a table.

        Raises:
            LakeError: the backup has no such table, or its part is gone or damaged.
        """
        summary = next((one for one in manifest.tables if one.table == table), None)
        file = self.part_file(manifest.folder, table)
        if summary is None:
            raise LakeError(str(self), f"has no table {table}", "Name one that it has")
        try:
            content = self.store.get(file)
        except FileNotFoundError as problem:
            raise _damaged(file, problem) from problem
        if digest_of(content) != summary.digest:
            raise _damaged(file, ValueError("its checksum is another one"))
        return TablePart.model_validate_json(content)

    def parts(self, manifest: Manifest) -> Iterator[TablePart]:
        """All tables' parts, one at a time; raises as `part`."""
        return (self.part(manifest, summary.table) for summary in manifest.tables)

    def part_file(self, folder: str, table: str) -> LakeUri:
        """Where a table's part lies; `folder` is the manifest's."""
        return self.folder_of(folder) / f"{table}.json"

    def log_file(self, folder: str, table: str) -> LakeUri:
        """Where the archive of a table's log lies."""
        return self.folder_of(folder) / f"{table}.tar.gz"

    def state_file(self, folder: str, path: str) -> LakeUri:
        """Where a file of the state lies."""
        return self.folder_of(folder) / "state" / path

    def erasures_of(self, folder: str) -> LakeUri:
        """Where a backup's files of erasures lie."""
        return self.folder_of(folder) / ERASURES

    def folder_of(self, folder: str) -> LakeUri:
        """What one backup has for itself; as its manifest calls it."""
        return self.store.root / "backups" / folder

    def data_file(self, table: str, path: str) -> LakeUri:
        """Where a data file lies, which any number of backups may have."""
        return TableLog(self.store, self.store.root / "data" / table).data_file(path)

    def manifest_file(self, number: int) -> LakeUri:
        """Where a whole backup's manifest lies."""
        return self.store.root / "backups" / f"{number:06}.json"


def _damaged(file: LakeUri, problem: Exception) -> DamagedBackupError:
    reason = "is missing" if isinstance(problem, FileNotFoundError) else str(problem)
    return DamagedBackupError(
        str(file),
        f"is damaged ({reason.splitlines()[0]})",
        "Use another backup of this place (`--backup NUMBER`), or make one",
    )


def _mark_of(number: int, lake: str) -> bytes:
    return json.dumps({"format": number, "lake": lake}).encode()


def _path_of(place: LakeUri) -> PurePath:
    return place.as_path().resolve() if place.is_local else PurePath("/", place.path)
