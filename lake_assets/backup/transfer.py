"""Copying files between stores, with a checksum of what was read, in bounded memory."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from lake_assets.backup.manifest import CopiedFile, new_digest
from lake_assets.errors import LakeError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.storage.store import Store

THREADS = 8
"""Files at once: they wait for disks and networks, each holds a piece."""

_PIECE = 1 << 20
"""Bytes that are read at once."""

OnBytes = Callable[[int], None]
"""Called with the bytes that were copied since the last call; from several threads."""


@contextmanager
def _opened(store: Store, file: LakeUri) -> Iterator[BinaryIO]:
    with store.open_for_reading(file) as source:
        if isinstance(source, str):
            with Path(source).open("rb") as stream:
                yield stream
        else:
            yield source


def copy_file(
    source: Store, file: LakeUri, target: Store, to: LakeUri, on_bytes: OnBytes
) -> tuple[int, str]:
    """Copy a file; what has that name gives way when all is there. Its size and checksum.

    Raises:
        FileNotFoundError: there is no such file.
        LakeError: a store cannot be read or written.
    """
    digest, size = new_digest(), 0
    with _reading(file), _opened(source, file) as stream, target.open_for_writing(to) as written:
        while piece := stream.read(_PIECE):
            digest.update(piece)
            written.write(piece)
            size += len(piece)
            on_bytes(len(piece))
    return size, digest.hexdigest()


def digest_of_file(store: Store, file: LakeUri) -> str:
    """The checksum of a file; raises as `copy_file`."""
    digest = new_digest()
    with _reading(file), _opened(store, file) as stream:
        while piece := stream.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


def is_copied(store: Store, at: LakeUri, file: CopiedFile) -> bool:
    """Whether a file is there, whole; it is read if it has the right size."""
    stat = store.stat(at)
    if stat is None or stat.size != file.size:
        return False
    return digest_of_file(store, at) == file.digest


@contextmanager
def _reading(file: LakeUri) -> Iterator[None]:
    """What a disk says while a file is read, as an error that names it."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as problem:
        raise LakeError(
            str(file), f"cannot be read ({problem.strerror or problem})", "Check the disk"
        ) from problem
