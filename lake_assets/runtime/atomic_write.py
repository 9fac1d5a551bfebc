"""Files that are replaced in one step: the one way in which small files are written."""

import os
import tempfile
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
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    staged = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        staged.chmod(mode)
        staged.replace(path)
    finally:
        staged.unlink(missing_ok=True)
