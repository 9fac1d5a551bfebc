"""A table's log up to a version, as an archive that `tar` reads, and a log of it again.

Commits are kept byte by byte: positions in other tables know them by their digests.
"""

import io
import json
import tarfile
import zlib
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from lake_assets.delta.table_log import LAST_CHECKPOINT, TableLog
from lake_assets.errors import LakeError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.storage.store import Store

_SIDECARS = "_sidecars"
"""Folder of a log, with what checkpoints of version 2 name."""

_CLASSIC = ".checkpoint.parquet"


def write_log(log: TableLog, version: int, archive: tarfile.TarFile) -> None:
    """Put what a log has up to a version into an archive.

    Raises:
        FileNotFoundError: a part of it was swept away meanwhile.
        LakeError: the store cannot be read.
    """
    folder = log.folder / "_delta_log"
    names = [n for n in log.names_from() if _version(n) is not None and _version(n) <= version]  # type: ignore[operator]
    for name in names:
        _add(archive, name, log.store.get(log.file(name)))
    for name in log.store.list_from(folder / _SIDECARS):
        _add(archive, f"{_SIDECARS}/{name}", log.store.get(folder / _SIDECARS / name))
    hint = _hint(log, names)
    if hint is not None:
        _add(archive, LAST_CHECKPOINT, hint)


def _version(name: str) -> int | None:
    """Which version a file of a log is about; None of others, and of parts not yet whole."""
    number = name.partition(".")[0]
    return int(number) if number.isdecimal() and not name.endswith(".tmp") else None


def _hint(log: TableLog, names: list[str]) -> bytes | None:
    """What names the newest checkpoint of the archive; readers that have none list the log."""
    found = [name for name in names if name.endswith(_CLASSIC) and name.count(".") == 2]  # noqa: PLR2004 - neither in parts nor of version 2
    if not found:
        return None
    newest = max(found)
    try:
        with log.store.open_for_reading(log.file(newest)) as source:
            rows = pq.read_metadata(source).num_rows
    except pa.ArrowException:
        return None  # torn: commits tell the same
    return json.dumps({"version": int(newest.removesuffix(_CLASSIC)), "size": rows}).encode()


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


def read_log(archived: bytes) -> Iterator[tuple[str, bytes]]:
    """The files of a log that an archive has: names and contents, the oldest versions first.

    Raises:
        LakeError: it is no such archive.
    """
    try:
        with tarfile.open(fileobj=io.BytesIO(archived), mode="r:gz") as archive:
            for entry in archive:
                stream = archive.extractfile(entry)
                if stream is not None and ".." not in entry.name.split("/"):
                    yield entry.name, stream.read()
    except (tarfile.TarError, EOFError, OSError, zlib.error) as problem:
        fact = f"cannot be read ({problem})"
        raise LakeError("the archive of a log", fact, "Use another backup") from problem


def put_log(store: Store, folder: LakeUri, archived: bytes) -> None:
    """Write the log of the table in `folder`, in place of what is there of it.

    Raises:
        LakeError: it cannot be written, or the archive cannot be read.
    """
    log, put = folder / "_delta_log", set()
    for name, content in read_log(archived):
        with store.open_for_writing(log / name) as stream:
            stream.write(content)
        put.add(name)
    for name in list(store.list_from(log)):
        if name not in put:
            store.delete(log / name)  # of another backup, whose restore was cut off
