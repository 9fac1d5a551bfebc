"""Dropping a place's older backups, and the data files that only they had."""

from collections.abc import Iterator

from lake_assets.backup.place import BackupPlace
from lake_assets.errors import DamagedBackupError, LakeError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.model.tables import Layer


def prune(place: BackupPlace, keep: int) -> tuple[int, int]:
    """Keep the newest backups of a place; nobody may make one meanwhile.

    What a process that dies on its way leaves goes with the next call.

    Args:
        place: where they are.
        keep: how many stay, one at least.

    Returns:
        How many backups, and how many data files, are gone.

    Raises:
        LakeError: one that is to stay is damaged, so that nobody can tell what it needs: nothing
            was deleted then; or the place cannot be written.
    """
    numbers = place.numbers()
    old, kept = numbers[:-keep], numbers[-keep:]
    needed: dict[str, set[str]] = {}
    for number in kept:
        try:
            for part in place.parts(place.manifest(number)):
                needed.setdefault(part.table, set()).update(file.path for file in part.files)
        except DamagedBackupError as problem:
            fact = f"no older backup was deleted, since {problem.thing} {problem.fact}"
            step = f"Bring it back; or delete {place.manifest_file(number)}, and so this backup"
            raise LakeError(str(place), fact, step) from problem
    for number in old:
        place.drop(number)
    place.store.flush()
    files = 0
    for table in _tables(place):
        for path in _files(place, place.store.root / "data" / table, ""):
            if path not in needed.get(table, ()):
                place.store.delete(place.data_file(table, path))
                files += 1
    return len(old), files


def _tables(place: BackupPlace) -> Iterator[str]:
    for layer in Layer:
        for name in place.store.folders(place.store.root / "data" / layer.value):
            yield f"{layer}/{name}"


def _files(place: BackupPlace, folder: LakeUri, below: str) -> Iterator[str]:
    # Read to the end before any of them is deleted: a list goes on from where it was.
    for name in [*place.store.list_from(folder), *place.store.staged(folder)]:
        yield f"{below}{name}"
    for name in place.store.folders(folder):
        yield from _files(place, folder / name, f"{below}{name}/")
