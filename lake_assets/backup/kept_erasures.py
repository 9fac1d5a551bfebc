"""The erasures that backups have: a copy with each, and a ledger of the place, which knows most.

A backup's own copy tells which erasures it was made after. The place's ledger tells of later ones
as well: whoever restores an older backup obeys them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lake_assets.backup.manifest import CopiedFile, Manifest, digest_of
from lake_assets.backup.place import BackupPlace
from lake_assets.errors import LakeError
from lake_assets.model.erasures import Erasure
from lake_assets.settings.schema import Settings
from lake_assets.state.erasure_ledger import FOLDER, ROWS, ErasureLedger
from lake_assets.state.united_erasures import unite
from lake_assets.storage.open_store import lake_of
from lake_assets.storage.store import Store


def ledger_at(store: Store, settings: Settings) -> ErasureLedger:
    """The ledger in the folder that is a store's root: a lake's, a place's or a backup's."""
    return ErasureLedger(store, settings.state_dir, settings.erasure.key_bytes)


def read_files(lake: Store) -> Mapping[str, bytes]:
    """The files of a lake's erasures, by their paths; nothing if it has none.

    Who was erased is read before where rows were, as it is written after it.

    Raises:
        LakeError: the lake cannot be read.
    """
    folder = lake.root / FOLDER
    found = {}
    try:
        for name in ("ledger.json", "key"):
            found[name] = lake.get(folder / name)
    except FileNotFoundError:
        if "ledger.json" not in found:
            return {}  # the key may be one of the settings
    for feed in lake.folders(folder / ROWS):
        for name in lake.list_from(folder / ROWS / feed):
            found[f"{ROWS}/{feed}/{name}"] = lake.get(folder / ROWS / feed / name)
    return found


def copy_files(
    place: BackupPlace, folder: str, files: Mapping[str, bytes]
) -> tuple[CopiedFile, ...]:
    """Put files of erasures into a backup that is being made, as its manifest tells of them."""
    for path, content in files.items():
        with place.store.open_for_writing(place.erasures_of(folder) / path) as stream:
            stream.write(content)
    return tuple(CopiedFile(path, len(its), digest_of(its)) for path, its in files.items())


def keep_in(place: BackupPlace, settings: Settings) -> None:
    """Have a place know all erasures of a lake; the turn of the lake's one backup is held.

    Raises:
        LakeError: the lake's ledger or the place's is damaged or of another key, or the place
            cannot be written.
    """
    ledger = ledger_at(lake_of(settings), settings)
    if ledger.read():
        place.raise_format()
        unite(ledger_at(place.store, settings), [ledger])


def ledgers_of(
    place: BackupPlace, manifest: Manifest, settings: Settings
) -> tuple[ErasureLedger, ...]:
    """What holds in a lake that a backup is put back to: the backup's ledger and the place's.

    Raises:
        LakeError: the backup's is not what was copied.
    """
    for file in manifest.erasures:
        at = place.erasures_of(manifest.folder) / file.path
        try:
            content = place.store.get(at)
        except FileNotFoundError:
            content = b""
        if digest_of(content) != file.digest:
            fact = "is gone, or not what was copied: it cannot be told whose rows are erased"
            raise LakeError(str(at), fact, "Name another backup (`--backup NUMBER`)")
    own = place.store.below(place.folder_of(manifest.folder))
    return ledger_at(own, settings), ledger_at(place.store, settings)


@dataclass(frozen=True, kw_only=True, slots=True)
class OlderBackup:
    """A backup that has rows of an erasure, or may have."""

    number: int
    made_at: str


def older_backups(
    place: BackupPlace, settings: Settings, erasure: Erasure
) -> Iterator[OlderBackup]:
    """Those of a place that were not made after all rows of an erasure had gone.

    Raises:
        LakeError: the place or the lake cannot be read, or a backup is damaged.
    """
    files = read_files(lake_of(settings))
    for number in place.numbers():
        manifest = place.manifest(number)
        if not is_after(place, manifest, settings, erasure, files):
            yield OlderBackup(number=number, made_at=manifest.made_at)


def is_after(
    place: BackupPlace,
    manifest: Manifest,
    settings: Settings,
    erasure: Erasure,
    files: Mapping[str, bytes],
) -> bool:
    """Whether a backup was begun when nothing of a lake told of an erasure's rows any more.

    Args:
        place: of the backup.
        manifest: of it.
        settings: where the lake is.
        erasure: which.
        files: of the lake's erasures now: rows that were found since may be in the backup.
    """
    if not manifest.erasures:
        return False
    own, _ = ledgers_of(place, manifest, settings)
    known = {file.path: file.digest for file in manifest.erasures}
    mine = {path: its for path, its in files.items() if path.endswith(f"/{erasure.id}.json")}
    if erasure.id in ended_in(own):
        return all(known.get(path) == digest_of(content) for path, content in mine.items())
    # The same person may have been erased before, so that this time no rows were found.
    return not mine and any(
        other.is_ended and other.column == erasure.column and other.digests == erasure.digests
        for other in own.read().every
    )


def ended_in(ledger: ErasureLedger) -> frozenset[str]:
    """Ids of erasures of which nothing is left in the lake, as a ledger knows them."""
    return frozenset(one.id for one in ledger.read().every if one.is_ended)
