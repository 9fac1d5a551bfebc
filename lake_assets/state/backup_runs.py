"""Which backups this copy of a lake has made, wherever they lie, each by the id of its run.

Another copy, restored elsewhere with the same id, has made others. What follows for a place is
`backup.made_here`'s.
"""

from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from lake_assets.runtime.atomic_write import replace_bytes

_RUNS = TypeAdapter(tuple[str, ...])

_MOST = 1000
"""Runs that are kept, the newest. With fewer one that became a place's newest again, since all
after it were deleted, would not be known; each is 15 bytes of a file that a backup reads."""


def note_run(state_dir: Path, run: str, *, most: int = _MOST) -> None:
    """Note a backup before it counts, in the turn of the lake's one backup.

    Raises:
        OSError: the state folder cannot be written.
    """
    runs = (*(own_runs(state_dir) or ()), run)[-most:]
    replace_bytes(_file(state_dir), _RUNS.dump_json(runs))


def own_runs(state_dir: Path) -> tuple[str, ...] | None:
    """The runs of its backups, the oldest first; None if nothing was ever noted.

    None that can be read of a damaged file: who goes by it asks its user then.
    """
    try:
        return _RUNS.validate_json(_file(state_dir).read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError:
        return ()


def _file(state_dir: Path) -> Path:
    return state_dir / "backup_runs.json"
