"""What a backup has of the state folder: what is not made again from the lake's commits."""

from pathlib import Path

from lake_assets.backup.manifest import CopiedFile, digest_of
from lake_assets.backup.place import BackupPlace

STATE = ("failing", "schemas")
"""Folders of the state that are copied: which expectations fail, and schemas that are known while
the registry is away. All else is remade, or is about processes."""


def copy_state(state_dir: Path, place: BackupPlace, folder: str) -> tuple[CopiedFile, ...]:
    """Copy it into a backup that is being made.

    Raises:
        LakeError: the place cannot be written.
        OSError: the state folder cannot be read.
    """
    copied = []
    for file in sorted(path for name in STATE for path in (state_dir / name).rglob("*")):
        if not file.is_file() or file.suffix == ".lock" or file.name.startswith("."):
            continue
        path, content = file.relative_to(state_dir).as_posix(), file.read_bytes()
        with place.store.open_for_writing(place.state_file(folder, path)) as stream:
            stream.write(content)
        copied.append(CopiedFile(path, len(content), digest_of(content)))
    return tuple(copied)
