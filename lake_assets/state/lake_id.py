"""A lake's id: what is the lake's in a Dagster instance that several lakes share.

It is kept in `lake.json` in the lake's state folder, with the place it was made for. Data never
depends on it: a lake that loses the file gets another id, and Dagster shows its former runs as
somebody else's.
"""

import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from lake_assets.runtime.atomic_write import replace_text
from lake_assets.state.files import turn


@dataclass(frozen=True, kw_only=True, slots=True)
class _Place:
    """A folder by its path and by what its file system calls it; either may change, not both."""

    path: str
    device: int
    inode: int

    def is_same(self, other: "_Place") -> bool:
        is_same_folder = (self.device, self.inode) == (other.device, other.inode)
        return self.path == other.path or is_same_folder


@dataclass(frozen=True, kw_only=True, slots=True)
class _Entry:
    id: str
    place: _Place


_ENTRIES = TypeAdapter(tuple[_Entry, ...])


def lake_id(state_dir: Path) -> str:
    """The id of the lake in whose state folder this is, made when it is first asked for.

    A lake that is moved, restored or mounted elsewhere keeps its id; a copy beside the original is
    another lake and gets its own, which is added to the file and so leaves the original's alone if
    both share it.

    Raises:
        LakeError: the lake has no id yet and its folder cannot be written.
    """
    existing_id = _find(state_dir)
    if existing_id is not None:
        return existing_id
    with turn(state_dir, "lake-id"):
        # Another process may have been first.
        return _find(state_dir) or _make(state_dir)


def _find(state_dir: Path) -> str | None:
    with suppress(FileNotFoundError, NotADirectoryError):
        here = _place_of(state_dir)
        return next((entry.id for entry in _read(state_dir) if entry.place.is_same(here)), None)
    return None


def _make(state_dir: Path) -> str:
    made = _Entry(id=secrets.token_hex(4), place=_place_of(state_dir))
    entries = (*_read(state_dir), made)
    replace_text(_file(state_dir), _ENTRIES.dump_json(entries, indent=1).decode())
    return made.id


def _read(state_dir: Path) -> tuple[_Entry, ...]:
    """All entries; none of a file that is not there or damaged, since an id is easily made."""
    try:
        return _ENTRIES.validate_json(_file(state_dir).read_bytes())
    except (FileNotFoundError, ValidationError):
        return ()


def _place_of(state_dir: Path) -> _Place:
    status = state_dir.stat()
    path = os.path.realpath(state_dir)
    return _Place(path=path, device=status.st_dev, inode=status.st_ino)


def _file(state_dir: Path) -> Path:
    return state_dir / "lake.json"
