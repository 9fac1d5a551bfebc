"""Which versions of tables a backup under way still reads, for whoever deletes files meanwhile.

Noted in the state folder, beside a lock: a note whose writer is dead holds nothing. One backup or
restore of a lake is under way at a time.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from lake_assets.errors import LakeError
from lake_assets.runtime.atomic_write import replace_text
from lake_assets.runtime.file_lock import is_locked, try_lock
from lake_assets.state.files import ensure_writable

Hold: TypeAlias = Callable[[Mapping[str, int]], None]
"""Notes by table (`TableRef.relative`) the version that is read; it replaces what was noted."""


@contextmanager
def backup_turn(state_dir: Path) -> Iterator[Hold]:
    """Be the one backup or restore of a lake while the block runs.

    Raises:
        LakeError: another is under way, or the folder cannot be written.
    """
    ensure_writable(state_dir)
    file = _file(state_dir)
    # A look at the lock holds it for a moment.
    with try_lock(_lock(state_dir), within_s=1.0) as is_ours:
        if not is_ours:
            raise LakeError(
                str(state_dir),
                "another backup or restore of this lake is under way",
                "Wait until it is done",
            )
        replace_text(file, "{}")
        try:
            yield lambda versions: replace_text(file, json.dumps(dict(versions)))
        finally:
            file.unlink(missing_ok=True)


def held_versions(state_dir: Path) -> dict[str, int]:
    """By table, the version that a living backup reads; nothing if there is none.

    Raises:
        LakeError: a backup is under way, and what it noted cannot be read.
    """
    if not is_locked(_lock(state_dir)):
        return {}
    try:
        noted = json.loads(_file(state_dir).read_text())
        return {str(table): int(version) for table, version in noted.items()}
    except FileNotFoundError:
        return {}
    except (ValueError, AttributeError, TypeError) as problem:
        raise LakeError(
            str(_file(state_dir)),
            f"is damaged ({problem}), and a backup is under way",
            "Wait until the backup is done",
        ) from problem


def _file(state_dir: Path) -> Path:
    return state_dir / "backup.json"


def _lock(state_dir: Path) -> Path:
    return state_dir / "backup.lock"
