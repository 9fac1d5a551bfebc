"""Whether all that a backup needs is there. Reads only."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from lake_assets.backup.manifest import CopiedFile, Manifest
from lake_assets.backup.place import BackupPlace
from lake_assets.backup.transfer import THREADS, is_copied
from lake_assets.errors import LakeError
from lake_assets.model.lake_uri import LakeUri

Check = tuple[LakeUri, CopiedFile]


def verify(
    place: BackupPlace,
    manifest: Manifest,
    *,
    read: bool,
    on_table: Callable[[], None] = lambda: None,
) -> list[str]:
    """What is wrong with a backup, in words; nothing if all is there.

    Args:
        place: where it lies.
        manifest: of it.
        read: whether to read all files and compare their checksums, or to look at sizes alone.
        on_table: called after each table.
    """
    wrong: list[str] = []
    with ThreadPoolExecutor(THREADS) as pool:
        for summary in manifest.tables:
            try:
                files = list(_files(place, manifest, summary.table))
            except LakeError as problem:
                wrong.append(str(problem))
                continue
            told = pool.map(lambda one: _wrong(place, one, read=read), files)
            wrong += [words for words in told if words]
            on_table()
        state = [(place.state_file(manifest.folder, file.path), file) for file in manifest.state]
        folder = place.erasures_of(manifest.folder)
        state += [(folder / file.path, file) for file in manifest.erasures]
        told = pool.map(lambda one: _wrong(place, one, read=read), state)
        wrong += [words for words in told if words]
    return wrong


def _files(place: BackupPlace, manifest: Manifest, table: str) -> Iterator[Check]:
    part = place.part(manifest, table)
    yield place.log_file(manifest.folder, table), part.log
    for file in part.files:
        yield place.data_file(table, file.path), file


def _wrong(place: BackupPlace, one: Check, *, read: bool) -> str:
    at, file = one
    stat = place.store.stat(at)
    if stat is None:
        return f"{at} is missing"
    if stat.size != file.size:
        return f"{at} has {stat.size} bytes, and should have {file.size}"
    if read and not is_copied(place.store, at, file):
        return f"{at} is not what was copied: its checksum is another one"
    return ""
