"""An unpacked archive that knows its own files, so that a damaged one is noticed."""

import hashlib
import shutil
import tarfile
from pathlib import Path

_LIST = "files.sha256"


def unpack(archive: Path, target: Path) -> None:
    """Replace `target` by the archive's content; the archive was checked before."""
    target.parent.mkdir(parents=True, exist_ok=True)
    staged = archive.parent / "unpacked"
    with tarfile.open(archive) as tar:
        tar.extractall(staged, filter="data")
    listed = (f"{_digest(path)} {path.relative_to(staged)}" for path in _files(staged))
    (staged / _LIST).write_text("\n".join(listed) + "\n")
    if target.exists():
        target.rename(archive.parent / "damaged")
    staged.rename(target)
    shutil.rmtree(archive.parent / "damaged", ignore_errors=True)


def is_intact(target: Path) -> bool:
    """Whether every file of an unpacked archive is there and unchanged."""
    listing = target / _LIST
    if not listing.is_file():
        return False
    for line in listing.read_text().splitlines():
        digest, name = line.split(" ", 1)
        path = target / name
        if not path.is_file() or _digest(path) != digest:
            return False
    return True


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
