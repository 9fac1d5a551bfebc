"""Files that are replaced in one step: the one way in which files outside the lake are written."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def replace_text(path: Path, text: str, *, mode: int = 0o644) -> None:
    """As `replace_bytes`, of a text in UTF-8."""
    replace_bytes(path, text.encode(), mode=mode)


def replace_bytes(path: Path, content: bytes, *, mode: int = 0o644) -> None:
    """Write a file so that a reader sees the old or the new content, also after a crash.

    Folders above it are made. Safe between threads and processes: the last one stays.

    Raises:
        OSError: the file cannot be written; the old one is as it was.
    """
    with replacing(path, mode=mode) as staged:
        staged.write_bytes(content)


@contextmanager
def replacing(path: Path, *, mode: int = 0o644) -> Iterator[Path]:
    """A file beside, to be written in the block; it replaces `path` unless that raises.

    Promises and errors are those of `replace_bytes`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    staged = Path(name)
    try:
        yield staged
        staged.chmod(mode)
        with staged.open("rb") as file:
            os.fsync(file.fileno())
        staged.replace(path)
    finally:
        staged.unlink(missing_ok=True)
